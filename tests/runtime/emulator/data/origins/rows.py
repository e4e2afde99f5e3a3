"""A Triton kernel: the sum of each row of a matrix, and the row's share of it."""

import triton
import triton.language as tl


@triton.jit
def total(x):
    return tl.sum(x, axis=0)


@triton.jit
def row_share(x, sums, shares, columns, BLOCK: tl.constexpr):  # noqa: N803
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=0.0)
    whole = total(values)
    tl.store(sums + row, whole)
    tl.store(shares + row * columns + at, values / whole, mask=inside)
