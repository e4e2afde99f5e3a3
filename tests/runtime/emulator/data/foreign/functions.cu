// Device functions that stay functions: structs by value in and out, pointers, nested calls, many arguments.

struct Moments { int count; double mean, m2; };
struct Small { char a; short b; };

__device__ __noinline__ Moments merge(Moments a, Moments b) {
  int n = a.count + b.count;
  if (n == 0) return a;
  double d = b.mean - a.mean;
  return Moments{n, a.mean + d * b.count / n, a.m2 + b.m2 + d * d * a.count * b.count / n};
}

__device__ __noinline__ Moments shuffled(Moments a, int o) {
  return Moments{__shfl_xor_sync(~0u, a.count, o), __shfl_xor_sync(~0u, a.mean, o), __shfl_xor_sync(~0u, a.m2, o)};
}

// Welford's mean and squares, merged over a warp.
extern "C" __global__ void moments(const double *x, double *out, int n) {
  Moments m{0, 0, 0};
  for (int i = threadIdx.x; i < n; i += 32) m = merge(m, Moments{1, x[i], 0});
  for (int o = 1; o < 32; o *= 2) {
    Moments other = shuffled(m, o);
    m = threadIdx.x & o ? merge(other, m) : merge(m, other);
  }
  if (threadIdx.x == 0) out[0] = m.count, out[1] = m.mean, out[2] = m.m2;
}

__device__ __noinline__ int twice(int x) { return x + x; }
__device__ __noinline__ int plus(int a, short b, unsigned char c, long long d, float e, Small s, bool f) {
  if (f) return twice(a) + b;
  return a + b + c + (int)d + (int)e + s.a * s.b;
}
__device__ __noinline__ void swap(int *a, int *b) { int c = *a; *a = *b; *b = twice(c); }

extern "C" __global__ void calls(const int *x, int *out) {
  int t = threadIdx.x, v = x[t], w = plus(v, (short)v, (unsigned char)v, (long long)v << 33 >> 33, v * 0.5f,
                                          Small{(char)t, (short)-v}, v % 3 == 0);
  if (v & 1) swap(&v, &w);
  else v = twice(twice(v));
  out[t] = v * 31 + w;
}
