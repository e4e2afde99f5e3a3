// Reductions of 2048 elements by one CTA of 1024 threads: interleaved, whose warps diverge, and sequential, whose do not.
// nvcc -arch=sm_90 -O3 -ptx branches.cu -o branches_sm90.ptx
extern "C" __global__ void __launch_bounds__(1024) simple(float* x, float* out) {
  unsigned i = 2 * threadIdx.x;
  for (unsigned d = 1; d <= blockDim.x; d *= 2) {
    if (threadIdx.x % d == 0) x[i] += x[i + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[0] = x[0];
}

extern "C" __global__ void __launch_bounds__(1024) sequential(float* x, float* out) {
  unsigned i = threadIdx.x;
  for (unsigned d = blockDim.x; d >= 1; d /= 2) {
    if (threadIdx.x < d) x[i] += x[i + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[0] = x[0];
}
