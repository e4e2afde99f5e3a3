// Copies that the hardware makes while threads go on, and the barriers in memory that say when they are done.
// Written and marked as planted.cu is; data/compile.py makes async.ptx of this.
#include <cstdint>

constexpr int T = 128;  // threads of a CTA

enum Fault {
  NONE,
  COPY_NOT_WAITED_FOR, ONE_GROUP_TOO_FEW, COPIES_OF_OTHERS, COPY_INTO_USE, COPY_OVER_END,
  ARRIVALS_TOO_MANY, NEVER_INITIALISED, INITIALISED_UNSEEN, OTHER_PARITY, ONE_WARP_DOES_NOT_ARRIVE, NOT_WAITED_FOR,
};

#define PLANT(family, fault, PARAMETERS, ARGUMENTS) \
  extern "C" __global__ void __launch_bounds__(256) family##_##fault PARAMETERS { family<fault> ARGUMENTS; }

__device__ __forceinline__ uint32_t shared(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }

// Tiles of four floats a thread, copied one turn ahead.
template <Fault F>
__device__ __forceinline__ void fetch(float* to, const float* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared(to)), "l"(from) : "memory");  //! COPY_NOT_WAITED_FOR ONE_GROUP_TOO_FEW COPIES_OF_OTHERS COPY_INTO_USE COPY_OVER_END
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <Fault F>
__device__ __forceinline__ void copied(const float* x, float* out, int n) {
  __shared__ __align__(16) float s[2][4 * T];
  int t = threadIdx.x, turns = n / (4 * T) + (F == COPY_OVER_END ? 1 : 0);
  float v = 0;
  fetch<F>(&s[0][4 * t], x + 4 * t);
#pragma unroll 1
  for (int k = 0; k < turns; ++k) {
    if (k + 1 < turns) {
      fetch<F>(&s[(k + 1) & 1][4 * t], x + (k + 1) * 4 * T + 4 * t);
      if (F == ONE_GROUP_TOO_FEW) asm volatile("cp.async.wait_group 2;" ::: "memory");
      else if (F != COPY_NOT_WAITED_FOR) asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else if (F != COPY_NOT_WAITED_FOR) {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    if (F != COPIES_OF_OTHERS) __syncthreads();
    v += s[k & 1][(4 * t + 130) % (4 * T)];  //! COPY_NOT_WAITED_FOR ONE_GROUP_TOO_FEW COPIES_OF_OTHERS COPY_INTO_USE
    if (F != COPY_INTO_USE) __syncthreads();
  }
  out[t] = v;
}
#define COPIED(f) PLANT(copied, f, (const float* x, float* out, int n), (x, out, n))
COPIED(NONE) COPIED(COPY_NOT_WAITED_FOR) COPIED(ONE_GROUP_TOO_FEW) COPIED(COPIES_OF_OTHERS) COPIED(COPY_INTO_USE)
COPIED(COPY_OVER_END)

// Threads wait for each other at a barrier in shared memory.
template <Fault F>
__device__ __forceinline__ void met(const float* x, float* out) {
  __shared__ __align__(8) uint64_t bar;
  __shared__ float s[T];
  int t = threadIdx.x;
  if (t == 0 && F != NEVER_INITIALISED) {
    int count = F == ARRIVALS_TOO_MANY ? T + 1 : T;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(&bar)), "r"(count) : "memory");  //! INITIALISED_UNSEEN
  }
  if (F != INITIALISED_UNSEEN) __syncthreads();
  float v = 0;
#pragma unroll 1
  for (int k = 0; k < 2; ++k) {
    s[t] = x[k * T + t];  //! NOT_WAITED_FOR OTHER_PARITY
    if (F != ONE_WARP_DOES_NOT_ARRIVE || t < T - 32)
      asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" ::"r"(shared(&bar)) : "memory");  //! NEVER_INITIALISED INITIALISED_UNSEEN
    uint32_t done = F == NOT_WAITED_FOR, parity = F == OTHER_PARITY ? ~k & 1 : k & 1;
    while (!done)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(shared(&bar)), "r"(parity) : "memory");  //! ARRIVALS_TOO_MANY ONE_WARP_DOES_NOT_ARRIVE NEVER_INITIALISED INITIALISED_UNSEEN OTHER_PARITY
    v += s[(t + 33) % T];  //! NOT_WAITED_FOR OTHER_PARITY
    __syncthreads();  //! ARRIVALS_TOO_MANY ONE_WARP_DOES_NOT_ARRIVE
  }
  out[t] = v;
}
#define MET(f) PLANT(met, f, (const float* x, float* out), (x, out))
MET(NONE) MET(ARRIVALS_TOO_MANY) MET(NEVER_INITIALISED) MET(INITIALISED_UNSEEN) MET(OTHER_PARITY)
MET(ONE_WARP_DOES_NOT_ARRIVE) MET(NOT_WAITED_FOR)
