// f32 with every rounding, saturation, extremes and conversions; compiled once more with --ftz=true.

extern "C" __global__ void roundings(const float *x, const float *y, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float a = x[i], b = y[i];
#define PUT(value) out[i] = (value), out += n;
  PUT(a + b) PUT(a - b) PUT(a * b) PUT(fmaf(a, b, a)) PUT(__fadd_rz(a, b)) PUT(__fadd_ru(a, b)) PUT(__fadd_rd(a, b))
  PUT(__fmul_rz(a, b)) PUT(__fmul_ru(a, b)) PUT(__fmul_rd(a, b)) PUT(__fmaf_rz(a, b, a)) PUT(__fmaf_ru(a, b, b))
  PUT(__fmaf_rd(a, b, a)) PUT(__fdiv_rn(a, b)) PUT(__fdiv_rz(a, b)) PUT(__fsqrt_rn(fabsf(a))) PUT(__fsqrt_rd(fabsf(b)))
  PUT(__frcp_ru(a)) PUT(__saturatef(a)) PUT(fminf(a, b)) PUT(fmaxf(a, b)) PUT(floorf(a)) PUT(rintf(b)) PUT(truncf(a))
  PUT(__int_as_float(__float2int_rz(a))) PUT(__int_as_float(__float2uint_rn(b))) PUT((float)(long long)a)
  PUT(__ll2float_rz(((long long)__float_as_int(a) << 20) + 1)) PUT(copysignf(a, b)) PUT(a != a ? 1.0f : b)
}
