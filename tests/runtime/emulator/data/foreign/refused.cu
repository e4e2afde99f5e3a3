// What the emulator refuses, with the line that asks for it: recursion, function pointers, the driver's functions.
#include <cstdio>

#ifdef RECURSION
__device__ __noinline__ int ackermann(int m, int n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
extern "C" __global__ void kernel(int *out, int m, int n) { *out = ackermann(m, n); }
#elif defined(POINTERS)
__device__ __noinline__ int one(int x) { return x + 1; }
__device__ __noinline__ int two(int x) { return x * 2; }
__device__ int (*const table[2])(int) = {one, two};
extern "C" __global__ void kernel(int *out, int k) { *out = table[k](5); }
#elif defined(PRINTF)
extern "C" __global__ void kernel(int *out) { printf("%d\n", *out); }
#elif defined(MALLOC)
extern "C" __global__ void kernel(int **out) { out[threadIdx.x] = (int *)malloc(4); }
#endif
