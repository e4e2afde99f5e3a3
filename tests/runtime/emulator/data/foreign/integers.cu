// 64-, 16- and 8-bit integers: division, remainders, high halves, carries, wrap-around, conversions.

#define PUT(value) out[i] = (long long)(value), out += n;

extern "C" __global__ void wide(const long long *x, const long long *y, long long *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long a = x[i], b = y[i] ? y[i] : 1;
  unsigned long long u = a, v = b;
  PUT(a + b) PUT(a - b) PUT(a * b) PUT(a / (b == -1 ? 3 : b)) PUT(a % (b == -1 ? 3 : b)) PUT(u / v) PUT(u % v)
  PUT(__mul64hi(a, b)) PUT(__umul64hi(u, v)) PUT(a << (b & 63)) PUT(a >> (b & 63)) PUT(u >> (v & 63))
  PUT(a < b) PUT(u < v) PUT(min(a, b)) PUT(max(u, v)) PUT(llabs(a)) PUT(-a)
  PUT(u / 10) PUT(a % 1000) PUT(u * 0x9e3779b97f4a7c15ull >> 7) PUT((__int128)a * b >> 32)
  unsigned __int128 w = ((unsigned __int128)u << 64 | v) - u;
  PUT(w >> 64) PUT(w)
}

extern "C" __global__ void narrow(const short *x, const signed char *y, long long *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  short a = x[i];
  signed char b = y[i];
  unsigned short c = a;
  unsigned char d = b;
  short e = d ? d : 5;
  PUT((short)(a + b)) PUT((short)(a * b)) PUT((unsigned short)(c * d)) PUT((signed char)(b + a)) PUT((unsigned char)(d * 7))
  PUT(a / e) PUT(a % e) PUT(c / e) PUT(c % e) PUT((short)(a >> 3)) PUT((unsigned short)(c >> 3)) PUT((signed char)(b << 2))
  PUT(a < b) PUT(c < d) PUT(min(a, (short)b)) PUT(max(c, (unsigned short)d)) PUT((short)-a) PUT((signed char)~b)
}

extern "C" __global__ void plain(const int *x, const int *y, long long *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int a = x[i], b = y[i];
  unsigned u = a, v = b;
  PUT(a + b) PUT(u + v) PUT((int)(u * v)) PUT((long long)a * b) PUT((unsigned long long)u * v) PUT(__mulhi(a, b))
  PUT(__umulhi(u, v)) PUT(b == 0 || b == -1 ? 0 : a / b) PUT(b == 0 || b == -1 ? 0 : a % b) PUT(v ? u / v : 0) PUT(v ? u % v : 0)
  PUT(a / 7) PUT(u % 12) PUT(a % -5) PUT(__mul24(a, b)) PUT(__umul24(u, v)) PUT(__sad(a, b, 9)) PUT(__usad(u, v, 9))
  PUT(__hadd(a, b)) PUT(__rhadd(a, b)) PUT(__uhadd(u, v)) PUT(abs(a)) PUT(min(a, b)) PUT(max(u, v))
  PUT(__saturatef(0.5f) * a)
}

// Sums of bytes and of 64-bit squares through a carry.
extern "C" __global__ void byte_sums(const unsigned char *x, unsigned long long *out, int n) {
  __shared__ unsigned long long total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  unsigned long long sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += (unsigned long long)x[i] * x[i] << 25;
  atomicAdd(&total, sum);
  __syncthreads();
  if (threadIdx.x == 0) *out = total;
}
