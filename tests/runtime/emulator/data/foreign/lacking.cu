// What the emulator does not run, each in a kernel of its own beside kernels that it does; and printf and assert.
#include <cassert>
#include <cstdio>

extern "C" __global__ void plain(int *out) { out[threadIdx.x] = 3 * threadIdx.x; }

extern "C" __global__ void prints(int *out, double d) {
  int t = threadIdx.x;
  printf("thread %d of %u: %5.2f %s %lld %c\n", t, blockDim.x, d * t, t & 1 ? "odd" : "even", (long long)t << 40, 'a' + t);
  out[t] = printf("%d%%\n", t);
}

extern "C" __global__ void asserts(int *out, int n) {
  assert(threadIdx.x < n && "a thread for each");
  out[threadIdx.x] = n;
}

extern "C" __global__ void sometimes(int *out, int n) {
  if (n > 3) asm volatile("wgmma.fence.sync.aligned;");
  out[threadIdx.x] = n;
}

extern "C" __global__ void textures(int *out, cudaTextureObject_t t) { out[0] = (int)tex2D<float>(t, 1.5f, 2.5f); }

extern "C" __global__ void surfaces(int *out, cudaSurfaceObject_t s) { surf2Dread(out, s, 4, 5); }

__device__ __noinline__ int ackermann(int m, int n) {
  return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
extern "C" __global__ void recursive(int *out, int n) { *out = ackermann(n, n); }

__device__ __noinline__ int one(int x) { return x + 1; }
__device__ __noinline__ int two(int x) { return x * 2; }
__device__ int (*const table[2])(int) = {one, two};
extern "C" __global__ void pointers(int *out, int n) { *out = table[n](5); }

__device__ int value, *address = &value;
extern "C" __global__ void addresses(int *out, int n) { *out = n + *address; }

extern "C" __global__ void heap(int **out) { out[threadIdx.x] = (int *)malloc(4); }
