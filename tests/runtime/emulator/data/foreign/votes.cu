// Votes, matches, warp and block reductions of predicates, named barriers.

extern "C" __global__ void votes(const int *x, unsigned *out) {
  int t = threadIdx.x, v = x[t];
  unsigned r = __ballot_sync(~0u, v & 1);
  out[t] = r, out += 128;
  out[t] = __any_sync(~0u, v == 5) + 2 * __all_sync(~0u, v < 60) + 4 * __uni_sync(~0u, v & 4), out += 128;
  out[t] = __popc(r & ((1u << (t & 31)) - 1)), out += 128;  // the rank of an odd value: stream compaction
  if (v & 1) out[t] = __ballot_sync(r, v > 20) ^ __match_any_sync(r, v & 6);
  else out[t] = __any_sync(~r, v == 0);
  out += 128;
  __syncwarp();
  out[t] = __match_any_sync(~0u, v & 7), out += 128;
  out[t] = __match_any_sync(~0u, (unsigned long long)(v & 3) << 40), out += 128;
  int same;
  out[t] = __match_all_sync(~0u, t >> 5, &same) + same;
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void reduces(const int *x, unsigned *out) {
  int t = threadIdx.x, v = x[t];
  out[t] = __reduce_add_sync(~0u, v), out += 128;
  out[t] = __reduce_min_sync(~0u, v), out += 128;
  out[t] = __reduce_max_sync(~0u, (unsigned)v), out += 128;
  out[t] = __reduce_and_sync(~0u, (unsigned)v) | __reduce_or_sync(~0u, (unsigned)v) << 16, out += 128;
  out[t] = __reduce_xor_sync(~0u, (unsigned)v), out += 128;
  unsigned low = __ballot_sync(~0u, (t & 31) < 11);
  if ((t & 31) < 11) out[t] = __reduce_add_sync(low, (unsigned)v);
  else out[t] = __reduce_min_sync(~low, v);
}
#endif

extern "C" __global__ void blocks(const int *x, int *out) {
  int t = threadIdx.x, v = x[t];
  int r = __syncthreads_count(v & 1);
  r += 1000 * __syncthreads_or(v == 63) + 2000 * __syncthreads_and(v >= 0);
  if (t < 64) asm volatile("bar.sync 3, 64;" ::: "memory");
  else asm volatile("barrier.sync 4, 64;" ::: "memory");
  out[t] = r;
}

// A producer warp arrives and goes on, a consumer warp waits: named barriers with a count.
extern "C" __global__ void handed_over(const int *x, int *out) {
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t < 32) {
    s[t] = x[t] * 2;
    asm volatile("bar.arrive 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[t - 32] = s[63 - t];
  }
}

// The lanes that are there: all of them once a warp has met again.
extern "C" __global__ void active(unsigned *out) {
  int t = threadIdx.x;
  unsigned r = __activemask();
  if (t & 1) out[t] = 1;
  __syncwarp();
  out[t] = r;
}
