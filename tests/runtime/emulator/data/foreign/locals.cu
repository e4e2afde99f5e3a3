// Local memory: arrays indexed at run time, addresses that escape, structs, and a little sort.

extern "C" __global__ void histogram_of_own(const unsigned *x, unsigned *out, int each) {
  unsigned count[16] = {}, i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < each; ++k) count[x[i * each + k] & 15]++;
  unsigned r = 0;
  for (int k = 0; k < 16; ++k) r = r * 5 + count[(k * 7) & 15];
  out[i] = r;
}

// The median of nine by insertion sort.
extern "C" __global__ void median(const float *x, float *out) {
  float v[9];
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
  for (int k = 0; k < 9; ++k) {
    float new_one = x[i * 9 + k];
    int at = k;
#pragma unroll 1
    while (at > 0 && v[at - 1] > new_one) v[at] = v[at - 1], --at;
    v[at] = new_one;
  }
  out[i] = v[4];
}

struct Node { short key; double weight; unsigned char flag; };

__device__ __noinline__ void touch(Node *node, double *elsewhere, int k) {
  node->key += k;
  node->weight *= 0.5;
  node->flag ^= 1;
  *elsewhere += node->weight;
}

// One function gets pointers to local, shared and global memory.
extern "C" __global__ void pointers(double *out) {
  __shared__ Node s[32];
  int t = threadIdx.x;
  Node own[3];
  double sum = 0;
  for (int k = 0; k < 3; ++k) own[k] = Node{(short)k, t + 0.25 * k, 0};
  s[t] = Node{(short)-t, t * 2.0, 1};
  for (int k = 0; k < 5; ++k) touch(k & 1 ? &s[t] : &own[(k + t) % 3], k & 2 ? &sum : &out[32 + t], k);
  out[t] = sum + s[t].key + own[t % 3].key * 100 + own[0].flag;
}
