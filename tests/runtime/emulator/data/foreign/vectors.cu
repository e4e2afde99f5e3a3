// Loads and stores of 8 and 16 bytes, through every cache hint that CUDA C++ names.

extern "C" __global__ void quads(const float4 *x, const double2 *d, const short4 *h, const uchar4 *b, float4 *out, double2 *out2) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 v = __ldg(x + i);
  double2 w = __ldcs(d + i);
  short4 s = h[i];
  uchar4 c = __ldca(b + i);
  __stcs(out + i, make_float4(v.w + s.x, v.z - s.y, v.y * s.z, v.x + (c.x + c.y * c.z - c.w)));
  __stwt(out2 + i, make_double2(w.y * 2, w.x + s.w));
}

extern "C" __global__ void row_sums(const int4 *x, int *out, int n) {
  int sum = 0;
  for (int i = threadIdx.x; i < n; i += 32) {
    int4 v = __ldcg(x + blockIdx.x * n + i);
    sum += v.x + v.y + v.z + v.w;
  }
  for (int o = 16; o; o /= 2) sum += __shfl_down_sync(~0u, sum, o);
  if (threadIdx.x == 0) __stcg(out + blockIdx.x, sum);
}

// Three-dimensional blocks and grids.
extern "C" __global__ void boxes(int *out) {
  int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  out[b * blockDim.x * blockDim.y * blockDim.z + t] = threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z +
                                                      1000 * blockIdx.x + 10000 * blockIdx.y + 100000 * blockIdx.z;
}
