// f64: arithmetic with every rounding, division, roots, comparisons, conversions, and a compensated sum.

extern "C" __global__ void arithmetic(const double *x, const double *y, double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double a = x[i], b = y[i];
#define PUT(value) out[i] = (value), out += n;
  PUT(a + b) PUT(a - b) PUT(a * b) PUT(a / b)
  PUT(fma(a, b, a)) PUT(sqrt(fabs(a))) PUT(1.0 / b)
  PUT(__dadd_rz(a, b)) PUT(__dadd_ru(a, b)) PUT(__dadd_rd(a, b)) PUT(__dmul_rz(a, b)) PUT(__dmul_ru(a, b))
  PUT(__fma_rd(a, b, b)) PUT(__ddiv_rz(a, b)) PUT(__dsqrt_ru(fabs(a))) PUT(__drcp_rd(b))
  PUT(fmin(a, b)) PUT(fmax(a, b)) PUT(floor(a)) PUT(ceil(b)) PUT(trunc(a)) PUT(rint(b)) PUT(fabs(a)) PUT(copysign(a, b))
  PUT((double)(float)a) PUT((double)__double2ll_rz(a)) PUT((double)__double2uint_rn(b)) PUT(a < b ? a : -b)
  PUT(__hiloint2double(__double2hiint(a), __double2loint(b)))
}

// Kahan's sum of a strip a thread, combined in shared memory.
extern "C" __global__ void kahan(const double *x, double *out, int n) {
  __shared__ double s[64];
  int t = threadIdx.x;
  double sum = 0, lost = 0;
  for (int i = t; i < n; i += 64) {
    double y = x[i] - lost, next = sum + y;
    lost = (next - sum) - y;
    sum = next;
  }
  s[t] = sum;
  for (int stride = 32; stride; stride /= 2) {
    __syncthreads();
    if (t < stride) s[t] += s[t + stride];
  }
  if (t == 0) *out = s[0];
}
