// Matrices of a warp through the wmma header, and a product of 8-bit floats (sm_89).
#include <mma.h>
using namespace nvcuda::wmma;

template <int M, int N, int K, class T, class Out, class RowA, class RowB>
__device__ void product(const T *a, int lda, const T *b, int ldb, Out *d, int ldd, layout_t layout) {
  fragment<matrix_a, M, N, K, T, RowA> fa;
  fragment<matrix_b, M, N, K, T, RowB> fb;
  fragment<accumulator, M, N, K, Out> sum;
  fill_fragment(sum, Out(1));
  load_matrix_sync(fa, a, lda);
  load_matrix_sync(fb, b, ldb);
  mma_sync(sum, fa, fb, sum);
  for (int k = 0; k < sum.num_elements; k++) sum.x[k] = sum.x[k] + sum.x[k];
  store_matrix_sync(d, sum, ldd, layout);
}

// rows of a (16 x 32, two steps of k) by columns of b, split over two warps' halves of k
extern "C" __global__ void split_k(const half *a, const half *b, float *out) {
  int k = 16 * blockIdx.x;
  product<16, 16, 16, half, float, row_major, col_major>(a + k, 32, b + k, 32, out + 256 * blockIdx.x, 16,
                                                         mem_row_major);
}

extern "C" __global__ void tall_halves(const half *a, const half *b, half *out) {
  __shared__ half tile[512];
  for (int k = threadIdx.x; k < 512; k += 32) tile[k] = a[k];
  __syncwarp();
  product<32, 8, 16, half, half, col_major, row_major>(tile, 32, b, 8, out, 32, mem_col_major);
}

extern "C" __global__ void wide_bytes(const signed char *a, const signed char *b, int *out) {
  product<8, 32, 16, signed char, int, row_major, col_major>(a, 16, b, 16, out, 32, mem_row_major);
}

extern "C" __global__ void doubles(const double *a, const double *b, double *out) {
  product<8, 8, 4, double, double, row_major, col_major>(a, 4, b, 4, out, 8, mem_row_major);
}

// e4m3 times e5m2; the registers are loaded and stored as they are
extern "C" __global__ void small_floats(const unsigned *a, const unsigned *b, float *out) {
  int t = threadIdx.x;
  float d[4] = {0, 0, 0, 0};
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[t]), "r"(a[t + 32]), "r"(a[t + 64]), "r"(a[t + 96]), "r"(b[t]), "r"(b[t + 32]));
  for (int k = 0; k < 4; k++) out[32 * k + t] = d[k];
}
