"""Two reductions in Triton: of rows, and of the parts of a long array. Sums accumulate in f32."""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, N803 - Triton reads the annotations, and constants are in capitals

import triton
import triton.language as tl


@triton.jit
def rows(x, out, columns, BLOCK: tl.constexpr, MAX: tl.constexpr):
    """Program i reduces row i."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    neutral = float("-inf") if MAX else 0.0
    state = tl.full((BLOCK,), neutral, tl.float32)
    for start in range(0, columns, BLOCK):
        inside = start + at < columns
        values = tl.load(x + row * columns + start + at, inside, neutral).to(tl.float32)
        state = tl.maximum(state, values) if MAX else state + values
    result = tl.max(state, 0) if MAX else tl.sum(state, 0)
    tl.store(out + row, result.to(out.dtype.element_ty))


@triton.jit
def parts(x, out, n, BLOCK: tl.constexpr, MAX: tl.constexpr):
    """Program i of n reduces blocks i, i + n, i + 2 n, ..."""
    first, step = tl.program_id(0).to(tl.int64), tl.num_programs(0)
    at = tl.arange(0, BLOCK)
    neutral = float("-inf") if MAX else 0.0
    state = tl.full((BLOCK,), neutral, tl.float32)
    for start in range(first * BLOCK, n, step * BLOCK):
        inside = start + at < n
        values = tl.load(x + start + at, inside, neutral).to(tl.float32)
        state = tl.maximum(state, values) if MAX else state + values
    result = tl.max(state, 0) if MAX else tl.sum(state, 0)
    tl.store(out + first, result)
