// Kernels as they are written by hand, each with the mistakes that are made in it. A family is one kernel; its template
// parameter F is the fault planted in it, NONE for none. `//! FAULT` marks the lines that a report of FAULT may name.
// data/compile.py makes planted.ptx of this.
constexpr unsigned FULL = 0xffffffffu;
constexpr int T = 128;  // threads of a CTA

enum Fault {
  NONE,
  NO_FIRST_BARRIER, NO_LOOP_BARRIER, BARRIER_IN_BRANCH, BARRIER_IN_BOUND, TAIL_OFF_BY_ONE, NO_BOUND, STRIDE_FROM_BLOCK,
  LESS_OR_EQUAL, EARLY_RETURN, OUT_PER_THREAD, TWO_CTAS_ONE_OUT, ONE_WARP_SHORT,
  VOLATILE_TAIL, PLAIN_TAIL, HALF_SYNCED_TAIL, TAIL_OF_TWO_WARPS,
  NO_BARRIER_BEFORE_ROUND_TWO, SLOTS_PAST_LAST_WARP, SLOT_PER_LANE, SLOTS_REUSED, MASK_ONE_SHORT, LANES_RETURNED,
  ROUND_TWO_BY_FEW_LANES, SOURCE_OUTSIDE_MASK, ACTIVEMASK_AFTER_BRANCH, FULL_MASK_IN_BRANCH, MASK_OF_OTHER_HALF,
  BALLOT_IN_BRANCH, SYNCWARP_WITHOUT_ONESELF, REDUCE_OF_HALF, ANY_AFTER_RETURN, SHUFFLE_ON_BOTH_SIDES, STALE_BALLOT,
  EXCHANGED_WITHOUT_SYNC, WRITTEN_WITHOUT_SYNC, EXCHANGED_BY_TWO_WARPS,
  NO_BARRIER_AFTER_FILL, NO_BARRIER_AFTER_USE, BARRIERS_AROUND_LOOP, TRIPS_BY_THREAD, BUFFER_NOT_TOGGLED,
  OTHER_BUFFER_READ, NO_BARRIER_DOUBLED,
  IN_PLACE_ONE_BARRIER, LEFT_OF_FIRST,
  PLAIN_INCREMENT, NOT_ZEROED, NO_BARRIER_AFTER_ZEROING, NO_BARRIER_BEFORE_MERGE, MERGE_WITHOUT_ATOMIC, BIN_PAST_END,
  NO_FENCE_BEFORE_TICKET, NO_FENCE_AFTER_TICKET, FENCES_OF_CTA_SCOPE, FENCE_ABOVE_STORE, TICKET_BY_LOAD_STORE,
  TICKET_OF_CTA_SCOPE, WRITERS_NOT_WAITED_FOR, LAST_FLAG_NO_BARRIER, ONE_PARTIAL_TOO_MANY, TICKET_NOT_RESET,
  RESET_BY_STORE,
  NO_FENCE_BEFORE_FLAG, NO_FENCE_AFTER_FLAG, FLAG_FENCES_OF_CTA_SCOPE, FLAG_READ_ONCE, FLAG_BEFORE_WRITERS,
  FLAG_NEVER_SET, RELEASE_ACQUIRE, RELAXED_FLAG, ACQUIRE_OF_CTA_SCOPE,
  NO_FENCE_BEFORE_UNLOCK, NO_FENCE_AFTER_LOCK, NEVER_UNLOCKED, LOCK_BY_LOAD_STORE,
  NO_LEFT_BOUND, UNSIGNED_UNDERFLOW, NEIGHBOUR_WRITTEN, ROWS_FOR_COLUMNS, OUT_ACCUMULATED_PLAIN,
  VECTOR_OVER_TAIL, SHARED_PAIR_AT_ODD, DOUBLE_AT_ODD,
  LOCAL_PAST_END, LOCAL_UNWRITTEN, LOCAL_MISALIGNED,
  NO_FIRST_CLUSTER_BARRIER, NO_LAST_CLUSTER_BARRIER, CTA_BARRIER_ONLY, RANK_PAST_END, ONE_CTA_SKIPS, READ_BEFORE_WAIT,
  RELAXED_ARRIVE, ONE_SLOT_FOR_ALL, REMOTE_INDEX_PAST_END,
  COUNT_TOO_SHORT, COUNT_TOO_LONG, DIFFERENT_BARRIERS, PRODUCER_RETURNS, CONSUMER_DOES_NOT_WAIT, HALF_A_WARP_WAITS,
  BARRIER_ON_BOTH_SIDES,
};

#define PLANT(family, fault, PARAMETERS, ARGUMENTS) \
  extern "C" __global__ void __launch_bounds__(256) family##_##fault PARAMETERS { family<fault> ARGUMENTS; }

// A tree in shared memory: one result a CTA.
template <Fault F>
__device__ __forceinline__ void tree(const float* x, float* out, int n) {
  __shared__ float s[T];
  int t = threadIdx.x, i = blockIdx.x * T + t;
  if (F == EARLY_RETURN && i >= n) return;
  if (F == BARRIER_IN_BOUND) {
    s[t] = 0;
    if (i < n) {
      s[t] = x[i];
      __syncthreads();  //! BARRIER_IN_BOUND
    }
  } else if (F == TAIL_OFF_BY_ONE) {
    s[t] = i <= n ? x[i] : 0;  //! TAIL_OFF_BY_ONE
  } else if (F == NO_BOUND) {
    s[t] = x[i];  //! NO_BOUND
  } else if (F != ONE_WARP_SHORT || t < T - 32) {
    s[t] = i < n ? x[i] : 0;  //! NO_FIRST_BARRIER
  }
  if (F != NO_FIRST_BARRIER && F != BARRIER_IN_BOUND) __syncthreads();
#pragma unroll 1
  for (int o = F == STRIDE_FROM_BLOCK ? T : T / 2; o > 0; o >>= 1) {
    if (F == LESS_OR_EQUAL ? t <= o : t < o) {
      s[t] += s[t + o];  //! NO_FIRST_BARRIER NO_LOOP_BARRIER STRIDE_FROM_BLOCK LESS_OR_EQUAL EARLY_RETURN ONE_WARP_SHORT
      if (F == BARRIER_IN_BRANCH) __syncthreads();  //! BARRIER_IN_BRANCH
    }
    if (F != NO_LOOP_BARRIER && F != BARRIER_IN_BRANCH) __syncthreads();  //! BARRIER_IN_BOUND
  }
  if (F == OUT_PER_THREAD) out[i] = s[0];  //! OUT_PER_THREAD
  if (t == 0) out[F == TWO_CTAS_ONE_OUT ? blockIdx.x / 2 : blockIdx.x] = s[0];  //! TWO_CTAS_ONE_OUT NO_LOOP_BARRIER
}
#define TREE(f) PLANT(tree, f, (const float* x, float* out, int n), (x, out, n))
TREE(NONE)
TREE(NO_FIRST_BARRIER) TREE(NO_LOOP_BARRIER) TREE(BARRIER_IN_BRANCH) TREE(BARRIER_IN_BOUND)
TREE(TAIL_OFF_BY_ONE) TREE(NO_BOUND) TREE(STRIDE_FROM_BLOCK) TREE(LESS_OR_EQUAL) TREE(EARLY_RETURN)
TREE(OUT_PER_THREAD) TREE(TWO_CTAS_ONE_OUT) TREE(ONE_WARP_SHORT)

// The same with the last steps within one warp.
template <Fault F>
__device__ __forceinline__ void tail(const float* x, float* out, int n) {
  __shared__ float s[T];
  int t = threadIdx.x, i = blockIdx.x * T + t;
  s[t] = i < n ? x[i] : 0;  //! TAIL_OF_TWO_WARPS
  __syncthreads();
  if (F != TAIL_OF_TWO_WARPS) {
    if (t < 64) s[t] += s[t + 64];
    __syncthreads();
  }
  if (F == VOLATILE_TAIL) {
    if (t < 32) {
      volatile float* v = s;
      v[t] += v[t + 32];  //! VOLATILE_TAIL
      v[t] += v[t + 16];  //! VOLATILE_TAIL
      v[t] += v[t + 8];   //! VOLATILE_TAIL
      v[t] += v[t + 4];   //! VOLATILE_TAIL
      v[t] += v[t + 2];   //! VOLATILE_TAIL
      v[t] += v[t + 1];   //! VOLATILE_TAIL
    }
  } else if (F == PLAIN_TAIL) {
    if (t < 32) {
      s[t] += s[t + 32];  //! PLAIN_TAIL
      s[t] += s[t + 16];  //! PLAIN_TAIL
      s[t] += s[t + 8];   //! PLAIN_TAIL
      s[t] += s[t + 4];   //! PLAIN_TAIL
      s[t] += s[t + 2];   //! PLAIN_TAIL
      s[t] += s[t + 1];   //! PLAIN_TAIL
    }
  } else if (t < (F == TAIL_OF_TWO_WARPS ? 64 : 32)) {
#pragma unroll 1
    for (int o = F == TAIL_OF_TWO_WARPS ? 64 : 32; o > 0; o >>= 1) {
      float y = s[t + o];  //! HALF_SYNCED_TAIL TAIL_OF_TWO_WARPS
      if (F != HALF_SYNCED_TAIL) __syncwarp();
      s[t] += y;  //! HALF_SYNCED_TAIL TAIL_OF_TWO_WARPS
      __syncwarp();
    }
  }
  if (t == 0) out[blockIdx.x] = s[0];  //! PLAIN_TAIL VOLATILE_TAIL
}
#define TAIL(f) PLANT(tail, f, (const float* x, float* out, int n), (x, out, n))
TAIL(NONE) TAIL(VOLATILE_TAIL) TAIL(PLAIN_TAIL) TAIL(HALF_SYNCED_TAIL) TAIL(TAIL_OF_TWO_WARPS)

// Shuffles within a warp, a slot a warp, shuffles again; twice, with the same slots.
template <Fault F>
__device__ __forceinline__ float of_warp(float v) {
  int lane = threadIdx.x % 32;
  if (F == MASK_ONE_SHORT) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(FULL >> 1, v, o);  //! MASK_ONE_SHORT
  } else if (F == SOURCE_OUTSIDE_MASK) {
    unsigned half = lane < 16 ? 0xffffu : 0xffff0000u;
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(half, v, o);  //! SOURCE_OUTSIDE_MASK
  } else if (F == MASK_OF_OTHER_HALF) {
    unsigned half = lane < 16 ? 0xffff0000u : 0xffffu;
    for (int o = 8; o > 0; o >>= 1) v += __shfl_xor_sync(half, v, o);  //! MASK_OF_OTHER_HALF
  } else if (F == ACTIVEMASK_AFTER_BRANCH) {
    if (lane < 20) {
      for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(__activemask(), v, o);  //! ACTIVEMASK_AFTER_BRANCH
    }
  } else if (F == FULL_MASK_IN_BRANCH) {
    for (int o = 16; o > 0; o >>= 1)
      if (lane < o) v += __shfl_down_sync(FULL, v, o);  //! FULL_MASK_IN_BRANCH
  } else {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(FULL, v, o);  //! LANES_RETURNED
  }
  return v;
}
template <Fault F>
__device__ __forceinline__ float of_cta(float v, float* s) {
  int t = threadIdx.x, lane = t % 32, warp = t / 32;
  v = of_warp<F>(v);
  if (lane == 0) s[warp] = v;  //! NO_BARRIER_BEFORE_ROUND_TWO SLOTS_REUSED
  if (F != NO_BARRIER_BEFORE_ROUND_TWO) __syncthreads();
  if (F == ROUND_TWO_BY_FEW_LANES) {
    if (t < T / 32) {
      v = s[t];
      for (int o = 2; o > 0; o >>= 1) v += __shfl_xor_sync(FULL, v, o);  //! ROUND_TWO_BY_FEW_LANES
    }
  } else {
    int slots = F == SLOTS_PAST_LAST_WARP ? 8 : F == SLOT_PER_LANE ? 32 : T / 32;
    v = lane < slots ? s[lane] : 0;  //! NO_BARRIER_BEFORE_ROUND_TWO SLOTS_PAST_LAST_WARP SLOT_PER_LANE SLOTS_REUSED
    v = of_warp<NONE>(v);
  }
  if (F != SLOTS_REUSED) __syncthreads();
  return v;
}
template <Fault F>
__device__ __forceinline__ void shuffled(const float* x, float* out, int n) {
  __shared__ float s[F == SLOTS_PAST_LAST_WARP ? 32 : T / 32];
  int t = threadIdx.x, i = blockIdx.x * T + t;
  if (F == LANES_RETURNED && i >= n) return;
  float v = i < n ? x[i] : 0;
  float sum = of_cta<F>(v, s), squares = of_cta<F>(v * v, s);
  if (t == 0) {
    out[2 * blockIdx.x] = sum;
    out[2 * blockIdx.x + 1] = squares;
  }
}
#define SHUFFLED(f) PLANT(shuffled, f, (const float* x, float* out, int n), (x, out, n))
SHUFFLED(NONE)
SHUFFLED(NO_BARRIER_BEFORE_ROUND_TWO) SHUFFLED(SLOTS_PAST_LAST_WARP) SHUFFLED(SLOT_PER_LANE) SHUFFLED(SLOTS_REUSED)
SHUFFLED(MASK_ONE_SHORT) SHUFFLED(LANES_RETURNED) SHUFFLED(ROUND_TWO_BY_FEW_LANES) SHUFFLED(SOURCE_OUTSIDE_MASK)
SHUFFLED(ACTIVEMASK_AFTER_BRANCH) SHUFFLED(FULL_MASK_IN_BRANCH) SHUFFLED(MASK_OF_OTHER_HALF)

// Counts by votes, within parts of a warp.
template <Fault F>
__device__ __forceinline__ void votes(const int* x, int* out, int n) {
  int lane = threadIdx.x % 32, i = blockIdx.x * blockDim.x + threadIdx.x;
  if (F == ANY_AFTER_RETURN && i >= n) return;
  int v = i < n ? x[i] : 0, found = 0;
  if (F == ANY_AFTER_RETURN) found += __any_sync(FULL, v > 3);  //! ANY_AFTER_RETURN
  if (F == BALLOT_IN_BRANCH) {
    if (v & 1) found += __popc(__ballot_sync(FULL, v > 3));  //! BALLOT_IN_BRANCH
  } else {
    unsigned odd = __ballot_sync(FULL, v & 1);
    if (v & 1) found += __popc(__ballot_sync(odd, v > 3));
    if (F == STALE_BALLOT && lane > 2) {
      if (v & 1) found += __shfl_sync(odd, v, __ffs(odd) - 1);  //! STALE_BALLOT
    }
  }
  if (F != ANY_AFTER_RETURN) {
    if (lane < 16) {
      found += __reduce_add_sync(0xffffu, v);
      __syncwarp(F == SYNCWARP_WITHOUT_ONESELF ? 0xfffeu : 0xffffu);  //! SYNCWARP_WITHOUT_ONESELF
    } else if (F == REDUCE_OF_HALF) {
      found += __reduce_add_sync(0xff000000u, v);  //! REDUCE_OF_HALF
    }
    if (F == SHUFFLE_ON_BOTH_SIDES) {
      if (v & 1) found += __shfl_xor_sync(FULL, found, 1);  //! SHUFFLE_ON_BOTH_SIDES
      else found -= __shfl_xor_sync(FULL, v, 1) * 3;        //! SHUFFLE_ON_BOTH_SIDES
    }
  }
  if (i < n) out[i] = found;
}
#define VOTES(f) PLANT(votes, f, (const int* x, int* out, int n), (x, out, n))
VOTES(NONE) VOTES(BALLOT_IN_BRANCH) VOTES(SYNCWARP_WITHOUT_ONESELF) VOTES(REDUCE_OF_HALF) VOTES(ANY_AFTER_RETURN)
VOTES(SHUFFLE_ON_BOTH_SIDES) VOTES(STALE_BALLOT)

// The lanes of a warp exchange values through shared memory, turn by turn.
template <Fault F>
__device__ __forceinline__ void exchanged(const float* x, float* out) {
  __shared__ float s[T];
  int t = threadIdx.x;
  float v = x[t];
#pragma unroll 1
  for (int o = 16; o > 0; o >>= 1) {
    s[t] = v;  //! EXCHANGED_WITHOUT_SYNC WRITTEN_WITHOUT_SYNC EXCHANGED_BY_TWO_WARPS
    if (F != EXCHANGED_WITHOUT_SYNC) __syncwarp();
    v += s[t ^ (F == EXCHANGED_BY_TWO_WARPS ? 2 * o : o)];  //! EXCHANGED_WITHOUT_SYNC WRITTEN_WITHOUT_SYNC EXCHANGED_BY_TWO_WARPS
    if (F != WRITTEN_WITHOUT_SYNC) __syncwarp();
  }
  out[t] = v;
}
#define EXCHANGED(f) PLANT(exchanged, f, (const float* x, float* out), (x, out))
EXCHANGED(NONE) EXCHANGED(EXCHANGED_WITHOUT_SYNC) EXCHANGED(WRITTEN_WITHOUT_SYNC) EXCHANGED(EXCHANGED_BY_TWO_WARPS)

// Tiles of the input pass through one buffer in shared memory.
template <Fault F>
__device__ __forceinline__ void tiles(const float* x, float* out, int n) {
  __shared__ float s[T];
  int t = threadIdx.x;
  float v = 0;
  if (F == BARRIERS_AROUND_LOOP) __syncthreads();
#pragma unroll 1
  for (int k = F == TRIPS_BY_THREAD ? t : 0; k < (F == TRIPS_BY_THREAD ? n - 2 * t : n); k += T) {
    s[t] = x[F == TRIPS_BY_THREAD ? k : k + t];  //! NO_BARRIER_AFTER_FILL NO_BARRIER_AFTER_USE BARRIERS_AROUND_LOOP
    if (F != NO_BARRIER_AFTER_FILL && F != BARRIERS_AROUND_LOOP) __syncthreads();  //! TRIPS_BY_THREAD
    v += s[(t + 33) % T];  //! NO_BARRIER_AFTER_FILL NO_BARRIER_AFTER_USE BARRIERS_AROUND_LOOP
    if (F != NO_BARRIER_AFTER_USE && F != BARRIERS_AROUND_LOOP) __syncthreads();  //! TRIPS_BY_THREAD
  }
  if (F == BARRIERS_AROUND_LOOP || F == TRIPS_BY_THREAD) __syncthreads();  //! TRIPS_BY_THREAD
  out[t] = v;
}
#define TILES(f) PLANT(tiles, f, (const float* x, float* out, int n), (x, out, n))
TILES(NONE) TILES(NO_BARRIER_AFTER_FILL) TILES(NO_BARRIER_AFTER_USE) TILES(BARRIERS_AROUND_LOOP) TILES(TRIPS_BY_THREAD)

// Tiles pass through two buffers in turn, with one barrier each.
template <Fault F>
__device__ __forceinline__ void doubled(const float* x, float* out, int n) {
  __shared__ float s[2][T];
  int t = threadIdx.x;
  float v = 0;
#pragma unroll 1
  for (int k = 0; k < n / T; ++k) {
    int b = F == BUFFER_NOT_TOGGLED ? 0 : k & 1;
    s[b][t] = x[k * T + t];  //! BUFFER_NOT_TOGGLED NO_BARRIER_DOUBLED OTHER_BUFFER_READ
    if (F != NO_BARRIER_DOUBLED) __syncthreads();
    v += s[F == OTHER_BUFFER_READ ? b ^ 1 : b][(t + 33) % T];  //! BUFFER_NOT_TOGGLED OTHER_BUFFER_READ NO_BARRIER_DOUBLED
  }
  out[t] = v;
}
#define DOUBLED(f) PLANT(doubled, f, (const float* x, float* out, int n), (x, out, n))
DOUBLED(NONE) DOUBLED(BUFFER_NOT_TOGGLED) DOUBLED(OTHER_BUFFER_READ) DOUBLED(NO_BARRIER_DOUBLED)

// Prefix sums in place; the results are exclusive.
template <Fault F>
__device__ __forceinline__ void scan(const int* x, int* out) {
  __shared__ int s[T];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
#pragma unroll 1
  for (int o = 1; o < T; o *= 2) {
    if (F == IN_PLACE_ONE_BARRIER) {
      if (t >= o) s[t] += s[t - o];  //! IN_PLACE_ONE_BARRIER
    } else {
      int y = t >= o ? s[t - o] : 0;
      __syncthreads();
      s[t] += y;
    }
    __syncthreads();
  }
  out[t] = F != LEFT_OF_FIRST && t == 0 ? 0 : s[t - 1];  //! LEFT_OF_FIRST
}
#define SCAN(f) PLANT(scan, f, (const int* x, int* out), (x, out))
SCAN(NONE) SCAN(IN_PLACE_ONE_BARRIER) SCAN(LEFT_OF_FIRST)

// A histogram of values below 64: a CTA's in shared memory, then everyone's.
template <Fault F>
__device__ __forceinline__ void histogram(const unsigned char* x, unsigned* bins, int n) {
  __shared__ unsigned s[64];
  int t = threadIdx.x;
  if (F != NOT_ZEROED && t < 64) s[t] = 0;  //! NO_BARRIER_AFTER_ZEROING
  if (F != NO_BARRIER_AFTER_ZEROING) __syncthreads();
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
    int b = F == BIN_PAST_END ? x[i] + 1 : x[i];
    if (F == PLAIN_INCREMENT) s[b]++;  //! PLAIN_INCREMENT
    else atomicAdd(&s[b], 1u);  //! NOT_ZEROED NO_BARRIER_AFTER_ZEROING BIN_PAST_END NO_BARRIER_BEFORE_MERGE
  }
  if (F != NO_BARRIER_BEFORE_MERGE) __syncthreads();
  if (t < 64) {
    unsigned sum = s[t];  //! NO_BARRIER_BEFORE_MERGE
    if (F == MERGE_WITHOUT_ATOMIC) bins[t] += sum;  //! MERGE_WITHOUT_ATOMIC
    else atomicAdd(&bins[t], sum);
  }
}
#define HISTOGRAM(f) PLANT(histogram, f, (const unsigned char* x, unsigned* bins, int n), (x, bins, n))
HISTOGRAM(NONE) HISTOGRAM(PLAIN_INCREMENT) HISTOGRAM(NOT_ZEROED) HISTOGRAM(NO_BARRIER_AFTER_ZEROING)
HISTOGRAM(NO_BARRIER_BEFORE_MERGE) HISTOGRAM(MERGE_WITHOUT_ATOMIC) HISTOGRAM(BIN_PAST_END)

// The CTA that is done last adds the partial sums of all.
template <Fault F>
__device__ __forceinline__ void fence() {
  if (F == FENCES_OF_CTA_SCOPE || F == FLAG_FENCES_OF_CTA_SCOPE) __threadfence_block();
  else __threadfence();
}
template <Fault F>
__device__ __forceinline__ void last(const float* x, float* partial, unsigned* count, float* out, int n) {
  __shared__ float s[T / 32];
  __shared__ bool done;
  int t = threadIdx.x, i = blockIdx.x * T + t;
  constexpr bool each = F == WRITERS_NOT_WAITED_FOR;  // every thread leaves its own partial sum
  float v = i < n ? x[i] : 0;
  if (each) partial[i] = v;  //! WRITERS_NOT_WAITED_FOR
  else v = of_cta<NONE>(v, s);
  if (t == 0) {
    if (F == FENCE_ABOVE_STORE) fence<F>();
    if (!each) partial[blockIdx.x] = v;  //! NO_FENCE_BEFORE_TICKET FENCES_OF_CTA_SCOPE FENCE_ABOVE_STORE TICKET_OF_CTA_SCOPE NO_FENCE_AFTER_TICKET TICKET_BY_LOAD_STORE SCRATCH_TOO_SMALL
    if (F != NO_FENCE_BEFORE_TICKET && F != FENCE_ABOVE_STORE) fence<F>();
    unsigned ticket;
    if (F == TICKET_BY_LOAD_STORE) {
      ticket = *(volatile unsigned*)count;  //! TICKET_BY_LOAD_STORE
      *(volatile unsigned*)count = ticket + 1 == gridDim.x ? 0 : ticket + 1;  //! TICKET_BY_LOAD_STORE
    } else if (F == TICKET_OF_CTA_SCOPE) {
      ticket = atomicInc_block(count, gridDim.x - 1);  //! TICKET_OF_CTA_SCOPE
    } else if (F == TICKET_NOT_RESET || F == RESET_BY_STORE) {
      ticket = atomicAdd(count, 1u);
    } else {
      ticket = atomicInc(count, gridDim.x - 1);  //! TICKET_NEVER_SET
    }
    done = ticket == gridDim.x - 1;  //! LAST_FLAG_NO_BARRIER
    if (F != NO_FENCE_AFTER_TICKET) fence<F>();
  }
  if (F != LAST_FLAG_NO_BARRIER) __syncthreads();
  if (!done) return;  //! LAST_FLAG_NO_BARRIER
  v = 0;
  int cells = each ? n : F == ONE_PARTIAL_TOO_MANY ? gridDim.x + 1 : gridDim.x;
  for (int k = t; k < cells; k += T)
    v += partial[k];  //! NO_FENCE_BEFORE_TICKET FENCES_OF_CTA_SCOPE FENCE_ABOVE_STORE TICKET_OF_CTA_SCOPE NO_FENCE_AFTER_TICKET WRITERS_NOT_WAITED_FOR ONE_PARTIAL_TOO_MANY TICKET_BY_LOAD_STORE
  v = of_cta<NONE>(v, s);
  if (t == 0) {
    out[0] = v;
    if (F == RESET_BY_STORE) *count = 0;
  }
}
#define LAST(f) \
  PLANT(last, f, (const float* x, float* partial, unsigned* count, float* out, int n), (x, partial, count, out, n))
LAST(NONE) LAST(RESET_BY_STORE)
LAST(NO_FENCE_BEFORE_TICKET) LAST(NO_FENCE_AFTER_TICKET) LAST(FENCES_OF_CTA_SCOPE) LAST(FENCE_ABOVE_STORE)
LAST(TICKET_BY_LOAD_STORE) LAST(TICKET_OF_CTA_SCOPE) LAST(WRITERS_NOT_WAITED_FOR) LAST(LAST_FLAG_NO_BARRIER)
LAST(ONE_PARTIAL_TOO_MANY) LAST(TICKET_NOT_RESET)
extern "C" __global__ void copy(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i];  //! TICKET_NOT_RESET SCRATCH_NEVER_WRITTEN
}

// The first CTA hands data to the second and says so with a flag.
template <Fault F>
__device__ __forceinline__ void flagged(const float* x, float* data, unsigned* flag, float* out) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    data[t] = x[t] * 2;  //! NO_FENCE_BEFORE_FLAG NO_FENCE_AFTER_FLAG FLAG_FENCES_OF_CTA_SCOPE FLAG_BEFORE_WRITERS RELAXED_FLAG ACQUIRE_OF_CTA_SCOPE
    if (F != FLAG_BEFORE_WRITERS) __syncthreads();
    if (t == 0 && F != FLAG_NEVER_SET) {
      if (F == RELEASE_ACQUIRE || F == ACQUIRE_OF_CTA_SCOPE) {
        asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
      } else if (F == RELAXED_FLAG) {
        asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
      } else if (F == FLAG_READ_ONCE) {
        __threadfence();
        *flag = 1;  //! FLAG_READ_ONCE
      } else {
        if (F != NO_FENCE_BEFORE_FLAG) fence<F>();
        *(volatile unsigned*)flag = 1;
      }
    }
  } else {
    if (t == 0) {
      if (F == RELEASE_ACQUIRE || F == RELAXED_FLAG || F == ACQUIRE_OF_CTA_SCOPE) {
        unsigned seen;
        do {
          if (F == RELEASE_ACQUIRE) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
          else if (F == ACQUIRE_OF_CTA_SCOPE) asm volatile("ld.acquire.cta.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");  //! ACQUIRE_OF_CTA_SCOPE
          else asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
        } while (!seen);
      } else if (F == FLAG_READ_ONCE) {
        while (!*flag) {  //! FLAG_READ_ONCE
        }
        __threadfence();
      } else {
        while (!*(volatile unsigned*)flag) {  //! FLAG_NEVER_SET
        }
        if (F != NO_FENCE_AFTER_FLAG) fence<F>();
      }
    }
    __syncthreads();
    out[t] = data[T - 1 - t];  //! NO_FENCE_BEFORE_FLAG NO_FENCE_AFTER_FLAG FLAG_FENCES_OF_CTA_SCOPE FLAG_BEFORE_WRITERS RELAXED_FLAG ACQUIRE_OF_CTA_SCOPE
  }
}
#define FLAGGED(f) \
  PLANT(flagged, f, (const float* x, float* data, unsigned* flag, float* out), (x, data, flag, out))
FLAGGED(NONE) FLAGGED(RELEASE_ACQUIRE)
FLAGGED(NO_FENCE_BEFORE_FLAG) FLAGGED(NO_FENCE_AFTER_FLAG) FLAGGED(FLAG_FENCES_OF_CTA_SCOPE) FLAGGED(FLAG_READ_ONCE)
FLAGGED(FLAG_BEFORE_WRITERS) FLAGGED(FLAG_NEVER_SET) FLAGGED(RELAXED_FLAG) FLAGGED(ACQUIRE_OF_CTA_SCOPE)

// CTAs take turns with a lock.
template <Fault F>
__device__ __forceinline__ void locked(unsigned* lock, float* sum, const float* x) {
  if (threadIdx.x) return;
  if (F == LOCK_BY_LOAD_STORE) {
    while (*(volatile unsigned*)lock) {  //! LOCK_BY_LOAD_STORE
    }
    *(volatile unsigned*)lock = 1;  //! LOCK_BY_LOAD_STORE
  } else {
    while (atomicCAS(lock, 0u, 1u)) {  //! NEVER_UNLOCKED
    }
  }
  if (F != NO_FENCE_AFTER_LOCK) __threadfence();
  *sum += x[blockIdx.x];  //! NO_FENCE_BEFORE_UNLOCK NO_FENCE_AFTER_LOCK LOCK_BY_LOAD_STORE
  if (F != NO_FENCE_BEFORE_UNLOCK) __threadfence();
  if (F != NEVER_UNLOCKED) atomicExch(lock, 0u);
}
#define LOCKED(f) PLANT(locked, f, (unsigned* lock, float* sum, const float* x), (lock, sum, x))
LOCKED(NONE) LOCKED(NO_FENCE_BEFORE_UNLOCK) LOCKED(NO_FENCE_AFTER_LOCK) LOCKED(NEVER_UNLOCKED)
LOCKED(LOCK_BY_LOAD_STORE)

// Differences of neighbours.
template <Fault F>
__device__ __forceinline__ void stencil(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float left;
  if (F == UNSIGNED_UNDERFLOW) left = x[unsigned(i) - 1u];  //! UNSIGNED_UNDERFLOW
  else if (F == NO_LEFT_BOUND) left = x[i - 1];  //! NO_LEFT_BOUND
  else left = i ? x[i - 1] : 0;
  out[i] = x[i] - left;  //! NEIGHBOUR_WRITTEN
  if (F == NEIGHBOUR_WRITTEN && i % 8 == 7 && i + 1 < n) out[i + 1] = 0;  //! NEIGHBOUR_WRITTEN
}
#define STENCIL(f) PLANT(stencil, f, (const float* x, float* out, int n), (x, out, n))
STENCIL(NONE) STENCIL(NO_LEFT_BOUND) STENCIL(UNSIGNED_UNDERFLOW) STENCIL(NEIGHBOUR_WRITTEN)

// Sums of rows, a warp each.
template <Fault F>
__device__ __forceinline__ void rows(const float* x, float* out, int height, int width) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= height) return;
  float v = 0;
#pragma unroll 1
  for (int k = lane; k < width; k += 32) v += x[row * (F == ROWS_FOR_COLUMNS ? height : width) + k];  //! ROWS_FOR_COLUMNS SIZE_IN_BYTES ARRAY_TOO_SMALL NULL_POINTER
  v = of_warp<NONE>(v);
  if (F == OUT_ACCUMULATED_PLAIN) {
    if (lane == 0) out[0] += v;  //! OUT_ACCUMULATED_PLAIN
  } else if (lane == 0) {
    out[row] = v;  //! RESULTS_TOO_SMALL
  }
}
#define ROWS(f) PLANT(rows, f, (const float* x, float* out, int height, int width), (x, out, height, width))
ROWS(NONE) ROWS(ROWS_FOR_COLUMNS) ROWS(OUT_ACCUMULATED_PLAIN)

// Four elements an access, and pairs in shared memory.
template <Fault F>
__device__ __forceinline__ void vectors(const float* x, float* out, int n) {
  __shared__ __align__(16) float s[2 * T + 2];
  int t = threadIdx.x;
  float v = 0;
#pragma unroll 1
  for (int i = 4 * t; F == VECTOR_OVER_TAIL ? i < n : i + 4 <= n; i += 4 * T) {
    float4 q = *reinterpret_cast<const float4*>(x + i);  //! VECTOR_OVER_TAIL START_BETWEEN_VECTORS
    v += (q.x + q.y) + (q.z + q.w);
  }
  if (F != VECTOR_OVER_TAIL && n / 4 * 4 + t < n) v += x[n / 4 * 4 + t];
  int at = 2 * t + (F == SHARED_PAIR_AT_ODD ? 1 : 0);
  *reinterpret_cast<float2*>(s + at) = make_float2(v, -v);  //! SHARED_PAIR_AT_ODD
  __syncthreads();
  if (F == DOUBLE_AT_ODD) v += (float)*reinterpret_cast<const double*>(x + t);  //! DOUBLE_AT_ODD
  out[t] = s[F == SHARED_PAIR_AT_ODD ? 2 * (T - 1 - t) + 1 : 2 * (T - 1 - t)] + v;
}
#define VECTORS(f) PLANT(vectors, f, (const float* x, float* out, int n), (x, out, n))
VECTORS(NONE) VECTORS(VECTOR_OVER_TAIL) VECTORS(SHARED_PAIR_AT_ODD) VECTORS(DOUBLE_AT_ODD)

// Arrays of one thread.
template <Fault F>
__device__ __forceinline__ void locals(const int* x, int* out) {
  int t = threadIdx.x, v = x[t] & 7;
  __align__(8) int a[8];
#pragma unroll 1
  for (int k = 0; k < (F == LOCAL_UNWRITTEN ? 7 : 8); ++k) a[(k * 3 + v) % 8] = k * x[t + k];
  int at = F == LOCAL_PAST_END ? v + 1 : v;
  if (F == LOCAL_MISALIGNED) out[t] = *reinterpret_cast<int*>(reinterpret_cast<char*>(a) + v);  //! LOCAL_MISALIGNED
  else out[t] = a[at];  //! LOCAL_PAST_END
  if (F == LOCAL_UNWRITTEN) {
    int sum = 0;
#pragma unroll 1
    for (int k = 0; k < 8; ++k) sum += a[k];  //! LOCAL_UNWRITTEN
    out[t] = sum;
  }
}
#define LOCALS(f) PLANT(locals, f, (const int* x, int* out), (x, out))
LOCALS(NONE) LOCALS(LOCAL_PAST_END) LOCALS(LOCAL_UNWRITTEN) LOCALS(LOCAL_MISALIGNED)

// A cluster of four CTAs adds up through distributed shared memory.
__device__ __forceinline__ void arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ __forceinline__ void arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
__device__ __forceinline__ float* of_rank(float* s, int rank) { return (float*)__cluster_map_shared_rank(s, rank); }
__device__ __forceinline__ void wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
template <Fault F>
__device__ __forceinline__ void clustered(const float* x, float* out) {
  __shared__ float s[T], pushed[4];
  int t = threadIdx.x, rank = __clusterRelativeBlockRank();
  arrive();
  wait();  // all CTAs have begun
  s[t] = x[blockIdx.x * T + t];  //! NO_FIRST_CLUSTER_BARRIER CTA_BARRIER_ONLY READ_BEFORE_WAIT RELAXED_ARRIVE ONE_CTA_SKIPS
  if (t == 0) of_rank(pushed, 0)[F == ONE_SLOT_FOR_ALL ? 0 : rank] = rank;  //! ONE_SLOT_FOR_ALL
  if (F == CTA_BARRIER_ONLY) __syncthreads();
  else if (F == ONE_CTA_SKIPS) {
    if (rank != 3) arrive(), wait();  //! ONE_CTA_SKIPS
  } else if (F == RELAXED_ARRIVE) arrive_relaxed(), wait();
  else if (F == READ_BEFORE_WAIT) arrive();
  else if (F != NO_FIRST_CLUSTER_BARRIER) arrive(), wait();
  float v = 0;
#pragma unroll 1
  for (int k = 0; k < 4; ++k) {
    int other = F == RANK_PAST_END ? rank + k : (rank + k) % 4;
    v += of_rank(s, other)[F == REMOTE_INDEX_PAST_END ? t + T : t];  //! NO_FIRST_CLUSTER_BARRIER NO_LAST_CLUSTER_BARRIER CTA_BARRIER_ONLY RANK_PAST_END READ_BEFORE_WAIT RELAXED_ARRIVE REMOTE_INDEX_PAST_END ONE_CTA_SKIPS
  }
  if (F == READ_BEFORE_WAIT) wait();
  if (F == NO_FIRST_CLUSTER_BARRIER || F == CTA_BARRIER_ONLY) arrive(), wait();
  if (rank == 0 && t < 4) v += pushed[t];  //! ONE_SLOT_FOR_ALL
  if (F != NO_LAST_CLUSTER_BARRIER) arrive(), wait();  //! ONE_CTA_SKIPS
  out[blockIdx.x * T + t] = v;
}
#define CLUSTERED(f) \
  extern "C" __global__ void __cluster_dims__(4, 1, 1) clustered_##f(const float* x, float* out) { clustered<f>(x, out); }
CLUSTERED(NONE)
CLUSTERED(NO_FIRST_CLUSTER_BARRIER) CLUSTERED(NO_LAST_CLUSTER_BARRIER) CLUSTERED(CTA_BARRIER_ONLY)
CLUSTERED(RANK_PAST_END) CLUSTERED(ONE_CTA_SKIPS) CLUSTERED(READ_BEFORE_WAIT) CLUSTERED(RELAXED_ARRIVE)
CLUSTERED(ONE_SLOT_FOR_ALL) CLUSTERED(REMOTE_INDEX_PAST_END)

// Two warps hand data to two others through a named barrier.
template <Fault F>
__device__ __forceinline__ void handed(const float* x, float* out) {
  __shared__ float s[64];
  int t = threadIdx.x;
  constexpr int count = F == COUNT_TOO_SHORT ? 64 : F == COUNT_TOO_LONG ? 160 : 128;
  if (t < 64) {
    s[t] = x[t];  //! CONSUMER_DOES_NOT_WAIT COUNT_TOO_SHORT
    if (F == PRODUCER_RETURNS && t >= 32) return;
    if (F == HALF_A_WARP_WAITS && t % 32 >= 16) return;
    asm volatile("bar.arrive 1, %0;" ::"n"(count) : "memory");  //! COUNT_TOO_LONG DIFFERENT_BARRIERS PRODUCER_RETURNS HALF_A_WARP_WAITS
  } else {
    if (F == DIFFERENT_BARRIERS) asm volatile("bar.sync 2, %0;" ::"n"(count) : "memory");  //! DIFFERENT_BARRIERS
    else if (F == BARRIER_ON_BOTH_SIDES) {
      if (x[t - 64] > 4) asm volatile("bar.sync 1, 128; // greater" ::: "memory");  //! BARRIER_ON_BOTH_SIDES
      else asm volatile("bar.sync 1, 128; // less" ::: "memory");  //! BARRIER_ON_BOTH_SIDES
    } else if (F != CONSUMER_DOES_NOT_WAIT) {
      asm volatile("bar.sync 1, %0;" ::"n"(count) : "memory");  //! COUNT_TOO_LONG PRODUCER_RETURNS HALF_A_WARP_WAITS
    }
    out[t - 64] = s[127 - t];  //! CONSUMER_DOES_NOT_WAIT COUNT_TOO_SHORT
  }
}
#define HANDED(f) PLANT(handed, f, (const float* x, float* out), (x, out))
HANDED(NONE) HANDED(COUNT_TOO_SHORT) HANDED(COUNT_TOO_LONG) HANDED(DIFFERENT_BARRIERS) HANDED(PRODUCER_RETURNS)
HANDED(CONSUMER_DOES_NOT_WAIT) HANDED(HALF_A_WARP_WAITS) HANDED(BARRIER_ON_BOTH_SIDES)
