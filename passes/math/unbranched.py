"""Quotients, reciprocals and roots, rounded once, by approximations and steps of Newton's method.

``div.rn``, ``rcp.rn`` and ``sqrt.rn`` branch for operands that their short form does not serve. Here the range of an
operand is known, or brought there by a power of two, so that the short form is all there is: the approximation y of
1 / d, y - y (d y - 1), then q = a y and q + y (a - q d) (P. Markstein, "Computation of elementary functions on the IBM
RISC System/6000 processor", 1990). Where a row has few elements, three branches were a tenth of its time. Where weights
are read behind a root, single elements of rows in shared memory, a branch before them is faster.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import enclosing
from ...compiler.ir.combine import elements, fragment
from ...compiler.ir.mlir import arith
from .arithmetic import Builder, fma, intrinsic

FUNCTIONS = ("gpu.func", "func.func", "llvm.func")
UNBRANCHED = "unbranched"
"""The attribute of kernels whose rows wait in registers: roots and means have no branch, meetings fewer shuffles."""
_LEAST, _SCALE = 2.0**-100, 2.0**32
_SUFFIX, _STEPS = {32: "f", 64: "d"}, {32: 1, 64: 2}
"""The approximation of 1 / x has 23 bits in f32 and 20 in f64; each step of Newton's method doubles them."""


def is_unbranched(op: Any) -> bool:
    """Whether the kernel around ``op`` is to have few steps between the row and its results."""
    return UNBRANCHED in enclosing(op, *FUNCTIONS).attributes


def reciprocal(x: Any) -> Any:
    """1 / x of magnitudes from 2^-100 to 2^100; NaN for 0 and infinity."""
    b = Builder(x.type)
    near = _each(f"llvm.nvvm.rcp.approx.ftz.{_SUFFIX[b.format.bits]}", x)
    for _ in range(_STEPS[b.format.bits]):
        excess = fma(x, near, b.number(-1.0))
        near = fma(near, arith.negf(excess), near)
    return near


def quotient(x: Any, y: Any) -> Any:
    """x / y where the magnitudes of y, and of x if it is not 0, are from 2^-30 to 2^30, or counts from 1 to 2^64."""
    near, back = reciprocal(y), arith.negf(y)
    rough = arith.mulf(x, near)
    return fma(fma(back, rough, x), near, rough)


def reciprocal_root(x: Any) -> Any:
    """1 / sqrt(x), each rounded, of any number. A small one is multiplied by 2^64, so that no step leaves the range."""
    b = Builder(x.type)
    small = b.test(x, "olt", _LEAST)
    scaled = arith.select(small, arith.mulf(x, b.number(_SCALE * _SCALE)), x)
    near = _each("llvm.nvvm.rsqrt.approx.ftz.f", scaled)
    rough, half = arith.mulf(scaled, near), arith.mulf(near, b.number(0.5))
    root = fma(fma(arith.negf(rough), rough, scaled), half, rough)
    found = reciprocal(root)
    found = arith.select(small, arith.mulf(found, b.number(_SCALE)), found)
    has_root = arith.andi(b.test(scaled, "ogt", 0.0), b.test(scaled, "olt", float("inf")))
    return arith.select(has_root, found, near)


def rounded_root(x: Any) -> Any:
    """1 / sqrt(x), each rounded."""
    return arith.divf(Builder(x.type).number(1.0), intrinsic(x.type, "llvm.sqrt", x))


def _each(name: str, x: Any) -> Any:
    """An instruction on each element of a fragment."""
    return fragment([intrinsic(e.type, name, e) for e in elements(x)])
