// A sum of 256 floats by one CTA. A barrier is missing; `warpfold sanitize` names the two lines it belongs between.
//   nvcc -ptx -lineinfo examples/race.cu -o examples/race.ptx

extern "C" __global__ void sum(const float *x, float *out) {
  __shared__ float part[256];
  int i = threadIdx.x;
  part[i] = x[i];
  for (int d = 128; d; d >>= 1) {
    if (i < d) part[i] += part[i + d];
    __syncthreads();
  }
  if (i == 0) *out = part[0];
}
