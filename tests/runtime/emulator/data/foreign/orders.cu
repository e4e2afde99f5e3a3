// Acquire and release: the loads, stores, atomics and fences that cuda::atomic_ref becomes, and a flag passed on.
#define LAUNDER(op, constraint, value, at) asm volatile(op : : "l"(at), constraint(value) : "memory")

__device__ int load_acquire(const int *at) {
  int v;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
  return v;
}

// Block k waits for the sum of block k - 1, adds its own and passes it on.
extern "C" __global__ void chained(const int *x, int *sums, int *flags, int *ticket) {
  __shared__ int rank, own;
  if (threadIdx.x == 0) rank = atomicAdd(ticket, 1), own = 0;
  __syncthreads();
  atomicAdd(&own, x[rank * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) {
    int before = 0;
    if (rank) {
      while (!load_acquire(&flags[rank - 1])) {}
      asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(before) : "l"(sums + rank - 1));
    }
    asm volatile("st.relaxed.sys.global.s32 [%0], %1;" ::"l"(sums + rank), "r"(before + own));
    LAUNDER("st.release.gpu.global.s32 [%0], %1;", "r", 1, flags + rank);
  }
}

// A lock held by one thread of the grid at a time.
extern "C" __global__ void locked(int *lock, int *value) {
  if (threadIdx.x % 8 == 0) {
    bool done = false;
    while (!done) {
      int old;
      asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;" : "=r"(old) : "l"(lock) : "memory");
      if (old == 0) {
        value[0] = value[0] * 3 + 1;
        value[1] += 1;
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
        LAUNDER("st.release.gpu.global.s32 [%0], %1;", "r", 0, lock);
        done = true;
      }
    }
  }
}

extern "C" __global__ void fences(const int *x, int *out) {
  __shared__ int s[64];
  int t = threadIdx.x, v;
  s[t] = x[t];
  __threadfence_block();
  __syncthreads();
  asm volatile("red.release.cta.shared.add.s32 [%0], %1;" ::"r"((unsigned)__cvta_generic_to_shared(&s[t ^ 1])), "r"(t));
  __threadfence();
  asm volatile("fence.sc.sys; fence.acq_rel.cta; membar.gl;" ::: "memory");
  __threadfence_system();
  __syncthreads();
  asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], %2;" : "=r"(v) : "l"(out + t), "r"(s[t]) : "memory");
  asm volatile("ld.volatile.global.s32 %0, [%1];" : "=r"(v) : "l"(out + t));
  LAUNDER("st.volatile.global.s32 [%0], %1;", "r", v + 1, out + t);
}
