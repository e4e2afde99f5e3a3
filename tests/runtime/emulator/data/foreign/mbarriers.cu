// mbarriers: arrivals counted in shared memory, phases told by a token or by their parity, bytes that are expected.
#include <cstdint>

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(uint64_t *b, int n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared(b)), "r"(n)); }
__device__ void inval(uint64_t *b) { asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(shared(b))); }
__device__ uint64_t arrive(uint64_t *b) {
  uint64_t state;
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(shared(b)) : "memory");
  return state;
}
__device__ int test_wait(uint64_t *b, uint64_t state) {
  int done;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.s32 %0, 1, 0, p; }"
               : "=r"(done) : "r"(shared(b)), "l"(state) : "memory");
  return done;
}

// Every thread arrives; nobody goes on before all have written.
extern "C" __global__ void all_arrive(const int *x, int *out, int rounds) {
  __shared__ uint64_t b;
  __shared__ int s[128];
  int t = threadIdx.x, v = x[t];
  if (t == 0) init(&b, 128);
  __syncthreads();
  for (int k = 0; k < rounds; ++k) {
    s[t] = v;
    uint64_t state = arrive(&b);
    while (!test_wait(&b, state)) {}
    v += s[(t + 37) % 128];
    state = arrive(&b);
    while (!test_wait(&b, state)) {}
  }
  out[t] = v;
  __syncthreads();
  if (t == 0) inval(&b);
}

#if __CUDA_ARCH__ >= 800
// Bytes of cp.async, whose arrival the barrier counts: with .noinc the count of init includes it.
extern "C" __global__ void copies_arrive(const int *x, int *out) {
  __shared__ uint64_t b[2];
  __shared__ int s[2][64];
  int t = threadIdx.x;
  s[0][t] = s[1][t] = -1;
  if (t == 0) init(&b[0], 64), init(&b[1], 64);
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared(&s[0][t])), "l"(x + t) : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared(&b[0])) : "memory");
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared(&s[1][t])), "l"(x + 64 + t) : "memory");
  asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(shared(&b[1])) : "memory");
  uint64_t state = arrive(&b[1]);
  int done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.s32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(shared(&b[0])) : "memory");
  out[t] = s[0][63 - t];
  while (!test_wait(&b[1], state)) {}
  out[64 + t] = s[1][63 - t];
}

// The counts that can be read off a state, arrivals that do not complete a phase, and arrivals that leave for good.
extern "C" __global__ void counted(int *out) {
  __shared__ uint64_t b;
  if (threadIdx.x) return;
  init(&b, 10);
  uint64_t state;
  int pending;
#define PENDING \
  asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state)); \
  *out++ = pending;
  asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], 3;" : "=l"(state) : "r"(shared(&b)) : "memory");
  PENDING  // 10
  state = arrive(&b);
  PENDING  // 7
  asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];" : "=l"(state) : "r"(shared(&b)) : "memory");
  PENDING  // 6
  asm volatile("mbarrier.arrive_drop.noComplete.shared.b64 %0, [%1], 2;" : "=l"(state) : "r"(shared(&b)) : "memory");
  PENDING  // 5
  *out++ = test_wait(&b, state);
  asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], 2;" : "=l"(state) : "r"(shared(&b)) : "memory");
  PENDING  // 3
  uint64_t last = arrive(&b);  // completes: the next phase expects 10 - 3
  *out++ = test_wait(&b, last);
  state = arrive(&b);
  PENDING  // 7
  *out++ = test_wait(&b, state);
}
#endif

#if __CUDA_ARCH__ >= 900
// One warp fills a ring of tiles with bulk copies whose bytes the barrier expects; another adds them up.
extern "C" __global__ void ring(const int *x, int *out, int tiles) {
  __shared__ __align__(128) int s[2][256];
  __shared__ uint64_t full[2], empty[2];
  int t = threadIdx.x;
  if (t == 0) {
    for (int k = 0; k < 2; ++k) init(&full[k], 1), init(&empty[k], 32);
    asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async;" ::: "memory");
  }
  __syncthreads();
#define TRY(b, phase)                                                                                               \
  asm volatile("{ .reg .pred p; WAIT: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%0], %1, 1000;"      \
               " @p bra DONE; bra WAIT; DONE: }" ::"r"(shared(&b)), "r"(phase) : "memory")
  if (t < 32) {
    if (t == 0)
      for (int k = 0; k < tiles; ++k) {
        int at = k % 2;
        if (k >= 2) TRY(empty[at], (k / 2 - 1) & 1);
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(&full[at])), "r"(1024));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         shared(s[at])), "l"(x + 256 * k), "r"(1024), "r"(shared(&full[at])) : "memory");
      }
  } else {
    int v = 0;
    for (int k = 0; k < tiles; ++k) {
      int at = k % 2;
      TRY(full[at], (k / 2) & 1);
      for (int j = t - 32; j < 256; j += 32) v += s[at][j] * (k + 1);
      asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(shared(&empty[at])) : "memory");
    }
    out[t - 32] = v;
  }
}

// Bytes announced and delivered by hand.
extern "C" __global__ void transactions(int *out) {
  __shared__ uint64_t b;
  if (threadIdx.x) return;
  init(&b, 2);
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 100;" ::"r"(shared(&b)));
  uint64_t state = arrive(&b);
  arrive(&b);
  *out++ = test_wait(&b, state);  // both have arrived, the bytes have not
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 60;" ::"r"(shared(&b)));
  *out++ = test_wait(&b, state);
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 40;" ::"r"(shared(&b)));
  *out++ = test_wait(&b, state);
}

// Shared memory back to global memory in one bulk copy of 16-byte units, waited for as a group.
extern "C" __global__ void bulk_store(const int *x, int *out) {
  __shared__ __align__(128) int s[128];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 128 + t] * 2;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out + blockIdx.x * 128),
                 "r"(shared(s)), "r"(512) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
#endif
