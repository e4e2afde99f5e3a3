// Clusters: blocks that read, write and update one another's shared memory (sm_90).
#include <cstdint>

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned rank() { unsigned r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
__device__ unsigned mapa(unsigned at, unsigned rank) {
  unsigned r;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(at), "r"(rank));
  return r;
}
#define ARRIVE asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory")
#define WAIT asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory")

// Each block reduces a quarter, and every block adds the four up.
extern "C" __global__ void __cluster_dims__(4, 1, 1) gathered(const int *x, int *out) {
  __shared__ int own;
  int t = threadIdx.x;
  if (t == 0) own = 0;
  __syncthreads();
  atomicAdd(&own, x[blockIdx.x * blockDim.x + t]);
  ARRIVE; WAIT;
  int sum = 0;
  for (int k = 0; k < 4; ++k) {
    int v;
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(v) : "r"(mapa(shared(&own), k)) : "memory");
    sum += v * (k + 1);
  }
  ARRIVE; WAIT;  // nobody leaves while its memory is read
  if (t == 0) out[blockIdx.x] = sum * 10 + rank();
}

// A histogram spread over the shared memory of two blocks, by atomics on each other's.
extern "C" __global__ void __cluster_dims__(2, 1, 1) histogram(const unsigned *x, unsigned *bins, int n) {
  __shared__ unsigned s[64];
  unsigned t = threadIdx.x;
  if (t < 64) s[t] = 0;
  ARRIVE; WAIT;
  unsigned cluster = blockIdx.x / 2, clusters = gridDim.x / 2;
  for (unsigned i = (cluster * 2 + rank()) * blockDim.x + t; i < (unsigned)n; i += clusters * 2 * blockDim.x) {
    unsigned bin = x[i] & 127;
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], 1;" ::"r"(mapa(shared(&s[bin & 63]), bin >> 6)));
  }
  ARRIVE; WAIT;
  if (t < 64) atomicAdd(&bins[rank() * 64 + t], s[t]);
}

// Generic pointers into a neighbour's shared memory: a ring in which each block writes to the next.
extern "C" __global__ void __cluster_dims__(4, 1, 1) ring_of_blocks(const int *x, int *out) {
  __shared__ int inbox[32];
  int t = threadIdx.x;
  unsigned next = (rank() + 1) % 4;
  uint64_t at, mine = (uint64_t)&inbox[t];
  asm("mapa.u64 %0, %1, %2;" : "=l"(at) : "l"(mine), "r"(next));
  ARRIVE; WAIT;
  *(int *)at = x[blockIdx.x * 32 + t];
  ARRIVE; WAIT;
  unsigned owner;
  asm("getctarank.u64 %0, %1;" : "=r"(owner) : "l"(at));
  out[blockIdx.x * 32 + t] = inbox[31 - t] * 4 + (int)owner;
}

// An mbarrier in the first block's shared memory that threads of both blocks arrive at.
extern "C" __global__ void __cluster_dims__(2, 1, 1) remote_arrivals(int *out) {
  __shared__ uint64_t b;
  __shared__ int total;
  int t = threadIdx.x;
  if (t == 0 && rank() == 0) {
    total = 0;
    asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(shared(&b)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  ARRIVE; WAIT;
  asm volatile("red.relaxed.cluster.shared::cluster.add.s32 [%0], %1;" ::"r"(mapa(shared(&total), 0)), "r"(t + 1));
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapa(shared(&b), 0)) : "memory");
  if (rank() == 0) {
    int done = 0;
    while (!done)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;"
                   " selp.s32 %0, 1, 0, p; }" : "=r"(done) : "r"(shared(&b)) : "memory");
    out[blockIdx.x / 2 * 32 + t] = total;
  }
  ARRIVE; WAIT;
}
