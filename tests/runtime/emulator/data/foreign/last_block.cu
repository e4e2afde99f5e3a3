// One kernel over many blocks: the last one to finish, as a counter tells, adds the partial sums up.
__device__ unsigned arrived;  // wraps back to zero, so that the next launch finds it so

extern "C" __global__ void last_block(const long long *x, long long *partials, long long *out, int n) {
  __shared__ long long s[128];
  __shared__ bool last;
  unsigned t = threadIdx.x;
  long long v = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) v += x[i];
  s[t] = v;
  for (unsigned stride = blockDim.x / 2; stride > 0; stride >>= 1) {
    __syncthreads();
    if (t < stride) s[t] += s[t + stride];
  }
  if (t == 0) {
    partials[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();  // what the others wrote before they arrived is seen from here on
  }
  __syncthreads();
  if (!last) return;
  v = 0;
  for (unsigned i = t; i < gridDim.x; i += blockDim.x) v += ((volatile long long *)partials)[i];
  s[t] = v;
  for (unsigned stride = blockDim.x / 2; stride > 0; stride >>= 1) {
    __syncthreads();
    if (t < stride) s[t] += s[t + stride];
  }
  if (t == 0) *out = s[0];
}
