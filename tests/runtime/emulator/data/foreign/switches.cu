// Dense switches, which become branch tables (brx.idx), with fall-through and a default.

extern "C" __global__ void dispatch(const int *x, const float *y, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = y[i];
  switch (x[i]) {
    case 0: v = v + 1.0f; break;
    case 1: v = v * v; break;
    case 2: v = -v; [[fallthrough]];
    case 3: v = v - 0.5f; break;
    case 4: v = fabsf(v); break;
    case 5: v = 1.0f / v; break;
    case 6: v = sqrtf(fabsf(v)); break;
    case 7: v = fminf(v, 0.25f); break;
    case 8: v = v > 0 ? 2.0f : 3.0f; break;
    default: v = 99.0f;
  }
  out[i] = v;
}

// A little stack machine: every thread runs its own program of eight instructions.
extern "C" __global__ void interpret(const unsigned char *code, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int a = i, b = 1;
  for (int pc = 0; pc < 8; ++pc) {
    switch (code[8 * i + pc]) {
      case 0: a += b; break;
      case 1: a -= b; break;
      case 2: a *= 3; break;
      case 3: b = a; break;
      case 4: a ^= b << 2; break;
      case 5: b += 7; break;
      case 6: if (a > b) pc += 1; break;
      case 7: out[i] = a; return;
    }
  }
  out[i] = a + b;
}
