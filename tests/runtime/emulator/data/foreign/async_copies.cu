// cp.async: bytes that reach shared memory only once their group is waited for.

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) asm volatile("cp.async.wait_group " #n ";" ::: "memory")

extern "C" __global__ void sizes(const int *x, int *out) {
  __shared__ __align__(16) int s[7 * 64];
  int t = threadIdx.x;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared(&s[t])), "l"(x + t));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared(&s[64 + 2 * t])), "l"(x + 64 + 2 * t));
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(shared(&s[192 + 4 * t])), "l"(x + 192 + 4 * t));
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  for (int k = t; k < 7 * 64; k += 64) out[k] = s[448 - 1 - k];
}

// The source size cuts a copy short, and zeros follow; a predicate leaves the source alone.
extern "C" __global__ void zeros(const int *x, int *out) {
  __shared__ __align__(16) int s[2 * 128];
  int t = threadIdx.x;
  for (int k = 0; k < 8; ++k) s[t + 32 * k] = -1;
  __syncthreads();
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared(&s[4 * t])), "l"(x + 4 * t), "r"(t % 17));
  asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; cp.async.ca.shared.global [%0], [%1], 4, p; }" ::"r"(
                   shared(&s[128 + t])), "l"(x + t), "r"(t & 1));
  COMMIT;
  WAIT(0);
  __syncthreads();
  for (int k = 0; k < 8; ++k) out[t + 32 * k] = s[t + 32 * k];
}

// Four stages in flight: what a reduction over a long row does to hide the latency of its loads.
extern "C" __global__ void pipelined(const float *x, float *out, int tiles) {
  __shared__ __align__(16) float s[4][128 * 4];
  int t = threadIdx.x;
  x += (long long)blockIdx.x * tiles * 512;
  for (int k = 0; k < 3; ++k) {
    if (k < tiles)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared(&s[k][4 * t])), "l"(x + 512 * k + 4 * t));
    COMMIT;
  }
  float v = 0;
  for (int k = 0; k < tiles; ++k) {
    WAIT(2);
    __syncthreads();
    float *row = s[k % 4];
    v += row[t] + row[128 + t] + row[256 + t] + row[384 + t];
    int next = k + 3;
    if (next < tiles)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared(&s[next % 4][4 * t])),
                   "l"(x + 512 * next + 4 * t));
    COMMIT;
  }
  atomicAdd(out + blockIdx.x, v);
}

// Two groups, of which only the first is waited for before the first look; without any wait nothing has come.
extern "C" __global__ void too_early(const int *x, int *out) {
  __shared__ int s[3][32];
  int t = threadIdx.x;
  for (int k = 0; k < 3; ++k) s[k][t] = -1 - k;
  for (int k = 0; k < 2; ++k) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared(&s[k][t])), "l"(x + 32 * k + t) : "memory");
    COMMIT;
  }
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared(&s[2][t])), "l"(x + 64 + t) : "memory");
  volatile int(*v)[32] = s;
  for (int k = 0; k < 3; ++k) out[32 * k + t] = v[k][t];
  WAIT(1);
  for (int k = 0; k < 3; ++k) out[96 + 32 * k + t] = v[k][t];
  WAIT(0);
  for (int k = 0; k < 3; ++k) out[192 + 32 * k + t] = v[k][t];
  asm volatile("cp.async.wait_all;" ::: "memory");
  for (int k = 0; k < 3; ++k) out[288 + 32 * k + t] = v[k][t];
}
