// Bit fields, counts, permutations, funnel shifts, dot products of bytes, SIMD in a word, three-input logic.

extern "C" __global__ void words(const unsigned *x, const unsigned *y, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned a = x[i], b = y[i], c = a ^ b >> 3, r;
#define PUT(value) out[i] = (value), out += n;
  PUT(__popc(a)) PUT(__clz(a)) PUT(__ffs(b)) PUT(__brev(a)) PUT(__byte_perm(a, b, c & 0x7777))
  PUT(__funnelshift_l(a, b, c)) PUT(__funnelshift_r(a, b, c)) PUT(__funnelshift_lc(a, b, c & 63)) PUT(__funnelshift_rc(a, b, c & 63))
  PUT(__dp4a((int)a, (int)b, (int)c)) PUT(__dp4a(a, b, c)) PUT(__dp2a_lo((int)a, (int)b, (int)c)) PUT(__dp2a_hi(a, b, c))
  PUT(a & b | ~c) PUT(a ^ b ^ c) PUT((a & b) | (b & c) | (a & c)) PUT(__fns(a, 0, 1 + (b & 3)))
  asm("bfe.u32 %0, %1, 5, 9;" : "=r"(r) : "r"(a)); PUT(r)
  asm("bfe.s32 %0, %1, 3, 6;" : "=r"(r) : "r"(a)); PUT(r)
  asm("bfi.b32 %0, %1, %2, 4, 11;" : "=r"(r) : "r"(a), "r"(b)); PUT(r)
  asm("bfind.u32 %0, %1;" : "=r"(r) : "r"(a >> 3)); PUT(r)
  asm("{ .reg .pred p, q; setp.lt.u32 q, %1, %2; lop3.or.b32 %0|p, %1, %2, %3, 0x80, q; @p add.u32 %0, %0, 1; }"
      : "=r"(r) : "r"(a), "r"(b), "r"(c)); PUT(r)
  asm("{ .reg .pred p, q; setp.lt.u32 q, %1, %2; lop3.and.b32 _|p, %1, %2, %3, 0x96, q; selp.u32 %0, 7, 9, p; }"
      : "=r"(r) : "r"(a), "r"(b), "r"(c)); PUT(r)
}

extern "C" __global__ void long_words(const unsigned long long *x, unsigned long long *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long a = x[i], r;
  PUT(__popcll(a)) PUT(__clzll(a)) PUT(__ffsll(a)) PUT(__brevll(a)) PUT(a << (a & 63) | a >> 5)
  asm("bfe.s64 %0, %1, 17, 30;" : "=l"(r) : "l"(a)); PUT(r)
  asm("bfi.b64 %0, %1, %2, 20, 33;" : "=l"(r) : "l"(a), "l"(~a)); PUT(r)
}

// Four bytes or two halfwords at a time.
extern "C" __global__ void simd(const unsigned *x, const unsigned *y, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned a = x[i], b = y[i];
  PUT(__vadd4(a, b)) PUT(__vsub2(a, b)) PUT(__vmaxs4(a, b)) PUT(__vmaxs2(a, b)) PUT(__vminu2(a, b))
  PUT(__vabsdiffu4(a, b)) PUT(__vabsdiffs2(a, b)) PUT(__vcmpgtu4(a, b)) PUT(__vseteq2(a, b)) PUT(__vaddss2(a, b)) PUT(__vavgu4(a, b))
  PUT(__vsadu4(a, b))
}
