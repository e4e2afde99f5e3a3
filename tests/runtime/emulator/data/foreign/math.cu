// Functions of CUDA's math library as the compiler inlines them: long polynomial code, branches for large arguments,
// tables in constant and local memory.

#define PUT(value) out[i] = (value), out += n;

extern "C" __global__ void singles(const float *x, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float a = x[i], p = fabsf(a);
  PUT(expf(a)) PUT(exp2f(a)) PUT(expm1f(a)) PUT(logf(p)) PUT(log2f(p)) PUT(log1pf(p)) PUT(sinf(a)) PUT(cosf(a * 1e5f))
  PUT(tanhf(a)) PUT(erff(a)) PUT(powf(p, 1.7f)) PUT(cbrtf(a)) PUT(rsqrtf(p)) PUT(hypotf(a, 3.0f)) PUT(atan2f(a, 2.0f))
  PUT(fmodf(a, 1.25f)) PUT(lgammaf(p + 1))
}

extern "C" __global__ void fast(const float *x, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float a = x[i], p = fabsf(a);
  PUT(__expf(a)) PUT(__logf(p)) PUT(__sinf(a)) PUT(__fdividef(a, 3.0f)) PUT(__powf(p, 0.5f)) PUT(__frcp_rn(a))
}

extern "C" __global__ void doubled(const double *x, double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double a = x[i], p = fabs(a);
  PUT(exp(a)) PUT(log(p)) PUT(sin(a * 1e6)) PUT(pow(p, 1.25)) PUT(tanh(a)) PUT(erf(a)) PUT(cbrt(a)) PUT(rsqrt(p))
}
