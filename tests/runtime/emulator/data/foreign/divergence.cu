// Branches that part a warp: nested, uneven, with early returns, and a tree whose idle threads lie between busy ones.

extern "C" __global__ void nested(const int *x, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = x[i], r = 0;
  if (v & 1) {
    if (v & 2) r = v * 3;
    else if (v & 4) r = v - 7;
    else return;  // leaves the caller's value in out
  } else {
    if (v > 50) r = v / 3;
    else r = -v;
    if (threadIdx.x & 8) r ^= 0x55;
  }
  out[i] = r + (int)threadIdx.x;
}

extern "C" __global__ void interleaved_tree(const int *x, int *out) {
  __shared__ int s[256];
  unsigned t = threadIdx.x;
  s[t] = x[blockIdx.x * blockDim.x + t];
  for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
    __syncthreads();
    if (t % (2 * stride) == 0) s[t] += s[t + stride];
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
