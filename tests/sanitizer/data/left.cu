// Warps that a part of its lanes leaves, and barriers that are then met without them.
// Written and marked as planted.cu is; data/compile.py makes left.ptx of this.
enum Fault {
  NONE, WARP_EARLY, UNALIGNED, BOUND_IN_MEMORY,
  ODD_LANES, ODD_LANES_LAST, FIRST_LANES, RETURN_AFTER_WRITE, RETURN_AFTER_RESULT, RETURN_AFTER_BARRIER, UNEQUAL_TRIPS,
  WARP_AFTER_WRITE,
};

#define PLANT(fault) extern "C" __global__ void left_##fault(const int* x, int* out, int n) { left<fault>(x, out, n); }

template <Fault F>
__device__ __forceinline__ void left(const int* x, int* out, int n) {
  __shared__ int s[128];
  int t = threadIdx.x, last = n - 1;
  if (F == NONE && t >= n) return;
  if (F == BOUND_IN_MEMORY && t >= x[0] * n) return;
  if (F == WARP_EARLY) {
    if (t >= 64) return;
    last = 63;
  }
  s[t] = x[t];  //! WARP_AFTER_WRITE FIRST_LANES RETURN_AFTER_WRITE
  if (F == ODD_LANES) {
    if (t & 1) __syncthreads();  //! ODD_LANES
    out[t] = s[t];
    return;
  }
  if (F == ODD_LANES_LAST) {
    out[t] = t;
    if (t & 1) __syncthreads();  //! ODD_LANES_LAST
    return;
  }
  if (F == UNEQUAL_TRIPS) {
#pragma unroll 1
    for (int k = 0; k <= t % 4; ++k) __syncthreads();  //! UNEQUAL_TRIPS
    out[t] = s[t];
    return;
  }
  if (F == UNALIGNED) {
    if (t & 1) asm volatile("barrier.sync 1, 64;" ::: "memory");
    out[t] = s[t];
    return;
  }
  if (F == FIRST_LANES) {
    if (t < 65) {
      __syncthreads();  //! FIRST_LANES
      out[t] = s[127 - t];  //! FIRST_LANES
    }
    return;
  }
  if (F == RETURN_AFTER_WRITE && t >= 65) return;
  if (F == WARP_AFTER_WRITE && t >= 64) return;
  if (F == RETURN_AFTER_RESULT && t >= n) {
    out[t] = 0;
    return;
  }
  __syncthreads();  //! RETURN_AFTER_WRITE RETURN_AFTER_RESULT
  int v = s[F == WARP_AFTER_WRITE || F == RETURN_AFTER_WRITE ? 127 - t : (last - t) & 127];  //! WARP_AFTER_WRITE RETURN_AFTER_WRITE
  if (F == RETURN_AFTER_BARRIER && t >= n) return;
  __syncthreads();  //! RETURN_AFTER_BARRIER
  s[t] = v;
  out[t] = v;
}
PLANT(NONE) PLANT(WARP_EARLY) PLANT(UNALIGNED) PLANT(BOUND_IN_MEMORY)
PLANT(ODD_LANES) PLANT(ODD_LANES_LAST) PLANT(FIRST_LANES) PLANT(RETURN_AFTER_WRITE) PLANT(RETURN_AFTER_RESULT)
PLANT(RETURN_AFTER_BARRIER) PLANT(UNEQUAL_TRIPS) PLANT(WARP_AFTER_WRITE)
