// f16 and bf16 intrinsics, one value or two at a time.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define PUT(value)                          \
  {                                         \
    auto r = (value);                       \
    out[i] = *(unsigned *)&r, out += n;     \
  }
#define PUT1(value)                         \
  {                                         \
    auto r = (value);                       \
    out[i] = *(unsigned short *)&r, out += n; \
  }

extern "C" __global__ void half_pairs(const unsigned *x, const unsigned *y, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half2 a = *(const __half2 *)&x[i], b = *(const __half2 *)&y[i];
  PUT(__hadd2(a, b)) PUT(__hsub2(a, b)) PUT(__hmul2(a, b)) PUT(__hfma2(a, b, a)) PUT(__hadd2_sat(a, b)) PUT(__habs2(a))
  PUT(__hneg2(b)) PUT(__hgt2(a, b)) PUT(__lowhigh2highlow(a)) PUT(__heq2_mask(a, b)) PUT(__hadd2_rn(a, b))
#if __CUDA_ARCH__ >= 800
  PUT(__hmin2(a, b)) PUT(__hmax2_nan(a, b)) PUT(__hfma2_relu(a, b, b))
#endif
}

extern "C" __global__ void half_scalars(const unsigned short *x, const unsigned short *y, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half a = *(const __half *)&x[i], b = *(const __half *)&y[i];
  float f = __half2float(a), g = __half2float(b);
  PUT1(__hadd(a, b)) PUT1(__hmul_sat(a, b)) PUT1(__hfma(a, b, b)) PUT1(__float2half_rz(f * g)) PUT1(__float2half_ru(f + g))
  PUT1(__float2half_rd(f - g)) PUT(f * g) PUT(__half2int_rz(a)) PUT(__hlt(a, b)) PUT(__hisnan(b)) PUT1(__int2half_rn(i * 37))
  PUT1(__hdiv(a, b)) PUT1(hfloor(a)) PUT1(hrint(b)) PUT1(hsqrt(__habs(a)))
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void bfloats(const unsigned *x, const unsigned *y, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __nv_bfloat162 a = *(const __nv_bfloat162 *)&x[i], b = *(const __nv_bfloat162 *)&y[i];
  float2 f = __bfloat1622float2(a), g = __bfloat1622float2(b);
  PUT(__hadd2(a, b)) PUT(__hmul2(a, b)) PUT(__hfma2(a, b, a)) PUT(__hmax2(a, b)) PUT(__hneg2(a))
  PUT(__floats2bfloat162_rn(f.x * g.y, f.y + g.x)) PUT1(__float2bfloat16_rz(f.x * 1.3f)) PUT(f.y)
}
#endif

// A sum of halves kept in f32.
extern "C" __global__ void half_sum(const __half2 *x, float *out, int n) {
  float v = 0;
  for (int i = threadIdx.x; i < n; i += 32) {
    float2 f = __half22float2(x[i]);
    v += f.x + f.y;
  }
  for (int o = 16; o; o /= 2) v += __shfl_xor_sync(~0u, v, o);
  out[threadIdx.x] = v;
}
