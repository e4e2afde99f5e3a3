// ldmatrix, stmatrix and movmatrix: 8x8 matrices of 16-bit elements between shared memory and the lanes of a warp.

__device__ unsigned shared(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

// Rows lie 24 elements apart, so that the matrices are no dense block; out gets each lane's registers.
extern "C" __global__ void loads(const unsigned short *x, unsigned *out) {
  __shared__ __align__(16) unsigned short s[32 * 24];
  unsigned t = threadIdx.x, r[4];
  for (int k = t; k < 32 * 24; k += 32) s[k] = x[k];
  __syncthreads();
  unsigned row = shared(&s[t * 24 + 8 * (t / 8 % 2)]);
#define PUT(count)                                     \
  for (int k = 0; k < count; ++k) out[k * 32 + t] = r[k]; \
  out += 32 * count;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(row));
  PUT(1)
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(row));
  PUT(2)
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row));
  PUT(4)
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(row));
  PUT(1)
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(row));
  PUT(2)
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row));
  PUT(4)
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r[0]) : "r"(r[0]));
  PUT(1)
}

#if __CUDA_ARCH__ >= 900
extern "C" __global__ void stores(const unsigned *x, unsigned short *out, int n) {
  __shared__ __align__(16) unsigned short s[32 * 24];
  unsigned t = threadIdx.x, row = shared(&s[t * 24 + 8 * (t / 8 % 2)]);
  unsigned a = x[t], b = x[32 + t], c = x[64 + t], d = x[96 + t];
#define PASS(instruction, ...)                                         \
  for (int k = t; k < 32 * 24; k += 32) s[k] = 0;                      \
  __syncthreads();                                                     \
  asm volatile("stmatrix.sync.aligned.m8n8." instruction ::"r"(row), __VA_ARGS__); \
  __syncthreads();                                                     \
  for (int k = t; k < 32 * 24; k += 32) out[k] = s[k];                 \
  __syncthreads();                                                     \
  out += 32 * 24;
  PASS("x1.shared.b16 [%0], {%1};", "r"(a))
  PASS("x2.shared.b16 [%0], {%1, %2};", "r"(a), "r"(b))
  PASS("x4.shared.b16 [%0], {%1, %2, %3, %4};", "r"(a), "r"(b), "r"(c), "r"(d))
  PASS("x1.trans.shared.b16 [%0], {%1};", "r"(a))
  PASS("x2.trans.shared.b16 [%0], {%1, %2};", "r"(a), "r"(b))
  PASS("x4.trans.shared.b16 [%0], {%1, %2, %3, %4};", "r"(a), "r"(b), "r"(c), "r"(d))
}
#endif
