// Atomics of every operation and width, in shared and in global memory, with scopes, and loops around compare-and-swap.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void integers(const unsigned *x, unsigned *u, int *s, unsigned long long *w, long long *q) {
  unsigned v = x[blockIdx.x * blockDim.x + threadIdx.x];
  atomicAdd(&u[0], v);
  atomicSub(&u[1], v);
  atomicMin(&u[2], v);
  atomicMax(&u[3], v);
  atomicAnd(&u[4], v | 0xff);
  atomicOr(&u[5], v & 0xf0f0);
  atomicXor(&u[6], v);
  atomicInc(&u[7], 100);
  atomicDec(&u[8], 70);
  atomicAdd(&s[0], (int)v);
  atomicMin(&s[1], (int)v);
  atomicMax(&s[2], (int)v);
  unsigned long long d = (unsigned long long)v * 0x100000001ull;
  atomicAdd(&w[0], d);
  atomicMin(&w[1], d);
  atomicMax(&w[2], d);
  atomicAnd(&w[3], d | 0xff00ff);
  atomicOr(&w[4], d & 0x0f0f0f0f0f0f0f0full);
  atomicXor(&w[5], d);
  atomicMin(&q[0], (long long)d);
  atomicMax(&q[1], (long long)d);
}

extern "C" __global__ void in_shared(const unsigned *x, unsigned *bins, double *sums) {
  __shared__ unsigned count[16], top, low, bits;
  __shared__ unsigned long long wide;
  __shared__ float f;
  __shared__ double d;
  unsigned t = threadIdx.x, v = x[blockIdx.x * blockDim.x + t];
  if (t < 16) count[t] = 0;
  if (t == 0) top = bits = 0, low = ~0u, wide = 0, f = 0, d = 0;
  __syncthreads();
  atomicAdd_block(&count[v & 15], 1u);
  atomicMax(&top, v);
  atomicMin(&low, v);
  atomicXor(&bits, v);
  atomicAdd(&wide, (unsigned long long)v << 20);
  atomicAdd(&f, (float)(v & 63));
  atomicAdd(&d, (double)v * 0.5);
  __syncthreads();
  if (t < 16) atomicAdd_system(&bins[t], count[t]);
  if (t == 16) atomicMax(&bins[16], top);
  if (t == 17) atomicMin(&bins[17], low);
  if (t == 18) atomicXor(&bins[18], bits);
  if (t == 19) atomicAdd(&sums[0], (double)(wide >> 20));
  if (t == 20) atomicAdd(&sums[1], (double)f);
  if (t == 21) atomicAdd(&sums[2], d);
}

// Tickets: every thread of the block gets another one, which it marks; what goes round by exchange is lost to nobody.
extern "C" __global__ void tickets(unsigned *counters, unsigned *seen) {
  unsigned mine = atomicAdd(&counters[0], 1u);
  seen[mine] += 1;
  unsigned next = atomicInc(&counters[1], ~0u);
  seen[blockDim.x + next] += 2;
  atomicAdd(&counters[3], atomicExch(&counters[2], mine + 1));
  __syncthreads();
  if (threadIdx.x == 0) counters[3] += atomicExch(&counters[2], 0u);
}

__device__ float max_by_cas(float *at, float v) {
  int *bits = (int *)at, old = *(volatile int *)bits, assumed;
  do {
    assumed = old;
    if (__int_as_float(assumed) >= v) break;
    old = atomicCAS(bits, assumed, __float_as_int(v));
  } while (assumed != old);
  return __int_as_float(old);
}

extern "C" __global__ void by_cas(const float *x, float *top, unsigned long long *product, unsigned short *narrow) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  max_by_cas(top, x[i]);
  unsigned long long old = *(volatile unsigned long long *)product, assumed;
  do {
    assumed = old;
    old = atomicCAS(product, assumed, assumed * 3 + 1);
  } while (assumed != old);
  unsigned short was = *(volatile unsigned short *)narrow, seen;
  do {
    seen = was;
    was = atomicCAS(narrow, seen, (unsigned short)(seen + 5));
  } while (seen != was);
}

// Floats whose sums are exact in any order.
extern "C" __global__ void floats(const int *x, float *f, double *d, __half2 *h, __nv_bfloat162 *b) {
  int v = x[blockIdx.x * blockDim.x + threadIdx.x] & 7;
  atomicAdd(f, (float)v);
  atomicAdd(d, (double)v * 0.25);
  atomicAdd(h, __floats2half2_rn((float)(v & 1), (float)(v & 3)));
#if __CUDA_ARCH__ >= 800
  atomicAdd(b, __floats2bfloat162_rn((float)(v & 1), 0.5f));
#endif
}
