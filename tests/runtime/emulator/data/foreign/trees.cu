// Trees in shared memory: strided indices, sequential addressing, dynamic shared memory, and a state of two values.

extern "C" __global__ void strided_tree(const int *x, int *out) {
  __shared__ int s[256];
  unsigned t = threadIdx.x;
  s[t] = x[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
    unsigned at = 2 * stride * t;
    if (at < blockDim.x) s[at] += s[at + stride];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

extern "C" __global__ void sequential_tree(const float *x, float *out, int n) {
  extern __shared__ float s[];
  unsigned t = threadIdx.x;
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) v += x[i];
  s[t] = v;
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride >>= 1) {
    if (t < stride) s[t] += s[t + stride];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}

struct Best { float value; int index; };

extern "C" __global__ void argmax(const float *x, int *out) {
  __shared__ Best s[128];
  unsigned t = threadIdx.x;
  s[t] = Best{x[blockIdx.x * blockDim.x + t], (int)t};
  __syncthreads();
  for (unsigned stride = blockDim.x / 2; stride > 0; stride >>= 1) {
    if (t < stride) {
      Best a = s[t], b = s[t + stride];
      s[t] = b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
    }
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0].index;
}
