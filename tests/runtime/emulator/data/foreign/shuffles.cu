// Shuffles: every mode and width, 64-bit values and pairs of halves, and the raw instruction with its predicate.
#include <cuda_fp16.h>

template <int width>
__device__ int *every_mode(int v, int *out) {
  int lane = threadIdx.x & 31;
  *out = __shfl_sync(~0u, v, lane * 7 + 3, width), out += 128;
  *out = __shfl_up_sync(~0u, v, lane & 5, width), out += 128;
  *out = __shfl_down_sync(~0u, v, 3, width), out += 128;
  *out = __shfl_xor_sync(~0u, v, 5, width), out += 128;
  return out;
}

extern "C" __global__ void widths(const int *x, int *out) {
  int v = x[threadIdx.x];
  out += threadIdx.x;
  out = every_mode<32>(v, out);
  out = every_mode<16>(v, out);
  out = every_mode<8>(v, out);
  out = every_mode<4>(v, out);
  every_mode<2>(v, out);
}

extern "C" __global__ void wide_values(const double *x, const long long *y, double *sums, long long *tops, unsigned *h) {
  int t = threadIdx.x;
  double d = x[t];
  long long q = y[t];
  __half2 p = __floats2half2_rn((float)t, (float)(t ^ 1));
  for (int o = 16; o; o /= 2) {
    d += __shfl_xor_sync(~0u, d, o);
    long long other = __shfl_down_sync(~0u, q, o);
    if (other > q) q = other;
    p = __hadd2(p, __shfl_xor_sync(~0u, p, o));
  }
  sums[t] = d;
  tops[t] = q;
  h[t] = *(unsigned *)&p;
}

// shfl.sync with any lane operand and any clamp and segment mask, one pair a row, as the ISA's pseudo-code defines it.
#define RAW(mode, k)                                                                                                  \
  asm volatile("{ .reg .pred p; shfl.sync." mode ".b32 %0|p, %2, %3, %4, -1; selp.u32 %1, 1, 0, p; }"                  \
               : "=r"(got), "=r"(in) : "r"(lane + 100), "r"(b[row * 32 + lane]), "r"(c[row * 32 + lane]));            \
  out[(row * 4 + k) * 32 + lane] = got | in << 16;

extern "C" __global__ void raw(const unsigned *b, const unsigned *c, unsigned *out, int rows) {
  unsigned lane = threadIdx.x, got, in;
  for (int row = 0; row < rows; ++row) {
    RAW("up", 0)
    RAW("down", 1)
    RAW("bfly", 2)
    RAW("idx", 3)
  }
}

// Half warps that shuffle by themselves in different branches.
extern "C" __global__ void parted(const int *x, int *out) {
  int t = threadIdx.x, v = x[t];
  if ((t & 31) < 16) {
    for (int o = 8; o; o /= 2) v += __shfl_xor_sync(0xffff, v, o);
  } else {
    for (int o = 8; o; o /= 2) v = max(v, __shfl_down_sync(0xffff0000, v, o, 16));
  }
  __syncwarp();
  out[t] = v + __shfl_sync(~0u, v, 16);
}
