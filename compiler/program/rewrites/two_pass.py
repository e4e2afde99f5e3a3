"""Variances in two passes: where a row waits on chip, its mean is folded first, and then the squares relative to it.

One pass over the elements (``WELFORD``) takes some ten instructions an element and a division a combine. Two passes
over elements that need not be read again take four, and are more accurate. The mean is the sum of elements that are
divided first, so that it does not overflow where none of them does. It is the reverse of a rule of ``online.py``.

Range: a fold of ``WELFORD`` of single elements, of which a mask may leave out some, in floats. Elements so small that
their quotient by the number of elements is denormal lose digits of the mean, and sums of squares overflow as in one
pass. Beside an infinity the squares are NaN, and the mean is an infinity or NaN as the sum is. Of no elements all three
values are 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from ...dtypes import DType
from ..array_program import ArrayProgram, Fold
from ..functions import where
from ..graph import SCALAR, Expr, MonoidGraph, Space, rewrite
from ..library.monoids import SUM, WELFORD
from ..symbols import Sym, constant
from .online import Swaps, masked


def two_pass(program: ArrayProgram, owned: Callable[[Space, Space], bool]) -> ArrayProgram:
    """``program`` with folds of ``WELFORD`` as two folds, where a CTA or a cluster owns the elements of a row.

    Args:
        program: the program.
        owned: whether the elements of a fold with these kept and reduced dims wait on chip.
    """
    while swaps := next(filter(None, (_split(e, owned) for e in program.folds)), None):
        roots = rewrite(program.roots, swaps)
        outputs = tuple(o._replace(expr=e) for o, e in zip(program.outputs, roots, strict=True))
        program = replace(program, outputs=outputs)
    return program


def _split(e: Expr, owned: Callable[[Space, Space], bool]) -> Swaps | None:
    """What takes the place of the results of a fold of ``WELFORD`` of single elements."""
    assert isinstance(e.value, Fold)
    if e.value.monoid.digest != _welford(e.dtype) or not owned(e.space, e.value.over):
        return None
    (mask, one), (own, x), (_, zero) = (masked(a, 0) for a in e.args)
    if not (_is(one, 1) and _is(zero, 0)) or own != mask:
        return None
    ones = e.args[0] if mask is not None else None
    n = _sum(ones, e) if ones is not None else Sym(Expr("count", (), e.dtype, SCALAR, e.value.over))
    element = Sym(x)
    mean = _sum(_inside(mask, element * (1.0 / n)), e)
    d = element - mean
    found = (n, mean, _sum(_inside(mask, d * d), e))
    return {Expr("result", (e,), e.dtype, e.space, i).digest: s.expr for i, s in enumerate(found)}


@lru_cache(maxsize=8)
def _welford(t: DType) -> str:
    """The digest of the monoid for a type; empty where it has none."""
    return WELFORD.typed(t, t, t).digest if t.is_float else ""


def _is(e: Expr, value: float) -> bool:
    return e.op == "const" and e.value == value


def _inside(mask: Expr | None, value: Sym) -> Expr:
    """``value`` where a mask holds, else 0."""
    if mask is None:
        return value.expr
    return where(Sym(mask), value, constant(0.0, value.dtype)).expr


def _sum(x: Expr, e: Expr) -> Sym:
    """The sum of ``x`` over the dims of the fold ``e``."""
    assert isinstance(e.value, Fold)
    graph: MonoidGraph = SUM.typed(x.dtype)
    fold = Expr("fold", (x,), x.dtype, e.space, Fold(graph, e.value.over), e.where)
    return Sym(Expr("result", (fold,), x.dtype, e.space, 0))
