"""What a combine costs, roughly, in instructions."""

from __future__ import annotations

from .graph import MonoidGraph, walk

COST = {
    "exp": 18, "exp2": 17, "log": 28, "log2": 36, "rsqrt": 16, "div": 8, "sqrt": 8, "floordiv": 20, "mod": 20,
    "pow": 10, "ipow": 10, "expm1": 8, "log1p": 8, "sin": 8, "cos": 8, "tanh": 8, "erf": 8,
}  # fmt: skip
"""Operations that stand for several instructions; those of long code for a call."""


def operations(monoid: MonoidGraph) -> int:
    """Those of one combine; a combine that only picks a value counts as one."""
    return max(1, sum(COST.get(e.op, 1) for e in walk(monoid.combine) if e.op not in ("param", "const")))
