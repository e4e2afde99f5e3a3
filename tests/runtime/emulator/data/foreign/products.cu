// mma: D = A B + C of one warp. A, B and C lie in memory row by row; the lanes take their fragments as the ISA lays
// them out, so that a wrong layout gives a wrong product.
#include <cstdint>

// The two (or four) neighbouring elements of a lane's register, as one word.
template <typename T>
__device__ uint32_t word(const T *a, int row, int col, int ld, bool down) {
  constexpr int per = 4 / sizeof(T);
  uint32_t w = 0;
  for (int e = 0; e < per; ++e) {
    T v = down ? a[(row + e) * ld + col] : a[row * ld + col + e];
    w |= (uint32_t)v << (8 * sizeof(T) * e);
  }
  return w;
}

#define LANE int g = threadIdx.x / 4, t = threadIdx.x % 4
#define C4 "f"(c[g * 8 + 2 * t]), "f"(c[g * 8 + 2 * t + 1]), "f"(c[g * 8 + 64 + 2 * t]), "f"(c[g * 8 + 64 + 2 * t + 1])
#define D4 "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
#define PUT4 out[g * 8 + 2 * t] = d[0], out[g * 8 + 2 * t + 1] = d[1], \
             out[g * 8 + 64 + 2 * t] = d[2], out[g * 8 + 64 + 2 * t + 1] = d[3]

#define PRODUCT_K8(name, shape, types)                                                                     \
  extern "C" __global__ void name(const uint16_t *a, const uint16_t *b, const float *c, float *out) {      \
    LANE;                                                                                                  \
    float d[4];                                                                                            \
    asm volatile("mma.sync.aligned." shape ".row.col." types " {%0,%1,%2,%3}, {%4,%5}, {%6}, {%7,%8,%9,%10};" \
                 : D4 : "r"(word(a, g, 2 * t, 8, false)), "r"(word(a, g + 8, 2 * t, 8, false)),            \
                   "r"(word(b, 2 * t, g, 8, true)), C4);                                                   \
    PUT4;                                                                                                  \
  }
#define PRODUCT_K16(name, types)                                                                           \
  extern "C" __global__ void name(const uint16_t *a, const uint16_t *b, const float *c, float *out) {      \
    LANE;                                                                                                  \
    float d[4];                                                                                            \
    asm volatile("mma.sync.aligned.m16n8k16.row.col." types                                                \
                 " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"                              \
                 : D4 : "r"(word(a, g, 2 * t, 16, false)), "r"(word(a, g + 8, 2 * t, 16, false)),          \
                   "r"(word(a, g, 2 * t + 8, 16, false)), "r"(word(a, g + 8, 2 * t + 8, 16, false)),       \
                   "r"(word(b, 2 * t, g, 8, true)), "r"(word(b, 2 * t + 8, g, 8, true)), C4);              \
    PUT4;                                                                                                  \
  }

PRODUCT_K8(f16_k8, "m16n8k8", "f32.f16.f16.f32")
#if __CUDA_ARCH__ >= 800
PRODUCT_K8(bf16_k8, "m16n8k8", "f32.bf16.bf16.f32")
PRODUCT_K16(f16_k16, "f32.f16.f16.f32")
PRODUCT_K16(bf16_k16, "f32.bf16.bf16.f32")

extern "C" __global__ void f16_into_f16(const uint16_t *a, const uint16_t *b, const uint16_t *c, uint32_t *out) {
  LANE;
  uint32_t d[2];
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%8,%9};"
               : "=r"(d[0]), "=r"(d[1])
               : "r"(word(a, g, 2 * t, 16, false)), "r"(word(a, g + 8, 2 * t, 16, false)),
                 "r"(word(a, g, 2 * t + 8, 16, false)), "r"(word(a, g + 8, 2 * t + 8, 16, false)),
                 "r"(word(b, 2 * t, g, 8, true)), "r"(word(b, 2 * t + 8, g, 8, true)),
                 "r"(word(c, g, 2 * t, 8, false)), "r"(word(c, g + 8, 2 * t, 8, false)));
  out[g * 4 + t] = d[0];
  out[g * 4 + 32 + t] = d[1];
}

extern "C" __global__ void tf32_k8(const uint32_t *a, const uint32_t *b, const float *c, float *out) {
  LANE;
  float d[4];
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
               "{%10,%11,%12,%13};"
               : D4 : "r"(a[g * 8 + t]), "r"(a[g * 8 + 64 + t]), "r"(a[g * 8 + t + 4]), "r"(a[g * 8 + 68 + t]),
                 "r"(b[t * 8 + g]), "r"(b[(t + 4) * 8 + g]), C4);
  PUT4;
}

extern "C" __global__ void s8_k32(const uint8_t *a, const uint8_t *b, const int *c, int *out) {
  LANE;
  int d[4];
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
               "{%10,%11,%12,%13};"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(word(a, g, 4 * t, 32, false)), "r"(word(a, g + 8, 4 * t, 32, false)),
                 "r"(word(a, g, 4 * t + 16, 32, false)), "r"(word(a, g + 8, 4 * t + 16, 32, false)),
                 "r"(word(b, 4 * t, g, 8, true)), "r"(word(b, 4 * t + 16, g, 8, true)),
                 "r"(c[g * 8 + 2 * t]), "r"(c[g * 8 + 2 * t + 1]), "r"(c[g * 8 + 64 + 2 * t]),
                 "r"(c[g * 8 + 65 + 2 * t]));
  PUT4;
}

extern "C" __global__ void f64_k4(const double *a, const double *b, const double *c, double *out) {
  LANE;
  double d[2];
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%4,%5};"
               : "=d"(d[0]), "=d"(d[1])
               : "d"(a[g * 4 + t]), "d"(b[t * 8 + g]), "d"(c[g * 8 + 2 * t]), "d"(c[g * 8 + 2 * t + 1]));
  out[g * 8 + 2 * t] = d[0];
  out[g * 8 + 2 * t + 1] = d[1];
}
#endif
