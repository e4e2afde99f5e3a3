"""Which indices lie in a row, and which elements of an array can be read beside it."""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import integer
from ...compiler.ir.mlir import arith


def is_inside(r: Any, first: Any, end: Any, lanes: int) -> Any:
    """Whether ``lanes`` elements from ``r`` on are in [first, end)."""
    low = arith.cmpi(arith.CmpIPredicate.sge, r, first)
    last = arith.addi(r, integer(r.type, lanes - 1)) if lanes > 1 else r
    return arith.andi(low, arith.cmpi(arith.CmpIPredicate.slt, last, end))


def is_readable(at: Any, lanes: int, readable: Any) -> Any:
    """Whether ``lanes`` elements from offset ``at`` of an array on are among its first ``readable`` elements."""
    after = arith.addi(at, integer(at.type, lanes))
    early = arith.cmpi(arith.CmpIPredicate.sge, at, integer(at.type, 0))
    return arith.andi(early, arith.cmpi(arith.CmpIPredicate.sle, after, readable))


def clamped(r: Any, first: Any, end: Any) -> Any:
    """The index in [first, end) that is nearest to ``r``."""
    return arith.minsi(arith.maxsi(r, first), arith.subi(end, integer(end.type, 1)))
