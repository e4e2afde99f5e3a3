// Cooperative groups: a grid that meets, a tile of two warps, groups by label, and one thread that is elected.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void grid_meets(const int *x, int *part, int *out, int n) {
  auto grid = cg::this_grid();
  int sum = 0;
  for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += x[i];
  part[grid.thread_rank()] = sum;
  grid.sync();
  int seen = 0;
  for (int i = 0; i < grid.size(); i++) seen += part[i];
  out[grid.thread_rank()] = seen;
}

extern "C" __global__ void two_warps(const int *x, int *out) {
  __shared__ cg::block_tile_memory<128> scratch;
  auto tile = cg::tiled_partition<64>(cg::this_thread_block(scratch));
  out[threadIdx.x] = cg::reduce(tile, x[threadIdx.x], cg::plus<int>());
}

extern "C" __global__ void labels(const int *x, int *out) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int v = x[threadIdx.x];
  auto alike = cg::labeled_partition(warp, v & 3);
  cg::invoke_one(warp, [&] { atomicAdd(out + 64, 1); });
  out[threadIdx.x] = cg::reduce(alike, v, cg::plus<int>());
}

// 128 bits by 64: the library's division reads the borrow of a subtraction as a carry
extern "C" __global__ void wide_quotients(const unsigned long long *x, unsigned long long *out) {
  unsigned __int128 a = (unsigned __int128)x[3 * threadIdx.x] << 64 | x[3 * threadIdx.x + 1];
  unsigned long long b = x[3 * threadIdx.x + 2];
  unsigned __int128 q = a / b;
  out[3 * threadIdx.x] = (unsigned long long)(q >> 64);
  out[3 * threadIdx.x + 1] = (unsigned long long)q;
  out[3 * threadIdx.x + 2] = (unsigned long long)(a % b);
}
