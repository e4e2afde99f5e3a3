// Constant memory and initialised globals: scalars, tables, structs, an index that differs from lane to lane.

struct Row { short key; float weight; };
__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__constant__ double scale = 0.125;
__constant__ Row rows[3] = {{-1, 0.5f}, {2, 1.5f}, {7, -2.25f}};
__device__ int calls = 40;
__device__ float weights[4] = {1.0f, 0.5f, 0.25f};

extern "C" __global__ void lookups(const int *x, double *out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, v = x[t];
  Row r = rows[(v >> 3) % 3];
  out[t] = table[v & 7] * scale + r.key + r.weight + weights[v & 3];
}

extern "C" __global__ void counted(int *out) {
  int before = atomicAdd(&calls, 2);
  if (before == 40 + 2 * (int)(gridDim.x * blockDim.x - 1)) *out = calls;
}
