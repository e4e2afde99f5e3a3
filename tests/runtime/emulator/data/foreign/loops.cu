// Loops that threads leave at different times: break, continue, nested, endless with a break, and backwards gotos.

extern "C" __global__ void collatz(const unsigned *x, unsigned *steps, int limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned v = x[i], s = 0;
  while (v != 1) {
    if ((int)s >= limit) break;
    v = v & 1 ? 3 * v + 1 : v / 2;
    ++s;
  }
  steps[i] = s;
}

extern "C" __global__ void primes(const unsigned *x, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned count = 0;
  for (unsigned p = 2; p < x[i]; ++p) {
    bool prime = true;
    for (unsigned d = 2; d * d <= p; ++d)
      if (p % d == 0) {
        prime = false;
        break;
      }
    if (!prime) continue;
    if (p % 10 == 3) continue;
    ++count;
    if (count == 20) break;
  }
  out[i] = count;
}

extern "C" __global__ void retries(const unsigned *x, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned v = x[i], turns = 0;
again:
  for (;;) {
    v = v * 1664525u + 1013904223u;
    ++turns;
    if (v >> 29 == 3) break;
    if (v >> 28 == 1) goto again;
    if (turns > 40) break;
  }
  if (turns < 5) goto again;
  out[i] = v ^ turns;
}
