"""Online folds: two folds, of which the later one uses the result of the earlier one, as one fold.

A later fold can be corrected when the state of the earlier one changes. Then one monoid holds both states, and its law
checker stands behind the correction. Elements are read once less, which pays where the two folds would be two kernels.

=====================================  ==============  ===========================================================
folds                                  monoid          source
=====================================  ==============  ===========================================================
max, then sum(exp(x - max))            ``LOGSUMEXP``   Milakov and Gimelshein, "Online normalizer calculation for
                                                       softmax" (2018)
mean, then sum((x - mean)^2)           ``WELFORD``     Chan, Golub, LeVeque, "Updating formulae and a pairwise
                                                       algorithm for computing sample variances" (1979)
mean, then sum(x - mean)               none: it is 0   what a rounded mean lacks, of which Welford's has no trace
=====================================  ==============  ===========================================================

Range: both folds are of floats of one type, over the same dims, with the identities of their monoids, and of the same
elements: the same node, outside the same mask.

- A maximum that is infinite or NaN makes the sum NaN, as in two folds; elements that a mask leaves out, and rows
  without elements, count nothing. An exponential below e^-87 counts as that.
- The divisor of the mean is the count of these dims, without a mask. Beside an infinity the mean and the sum are not
  finite, either, but may be NaN where two folds give an infinity. Where the sum of finite elements overflows, the mean
  is finite.
- A sum of differences is 0 only where the program says that it corrects the mean (``marks.CORRECTION``), and that it
  does not count in rows whose squares are not finite. A sum of differences that a program asks for itself stays: it is
  NaN beside an infinity, and the rounding error of the mean else.

Variances in two passes: where a row waits on chip, its mean is folded first, and then the squares relative to it.

One pass over the elements (``WELFORD``) takes some ten instructions an element and a division a combine. Two passes
over elements that need not be read again take four, and are more accurate. The mean is the sum of elements that are
divided first, so that it does not overflow where none of them does. It is the reverse of a rule of ``online.py``.

Range: a fold of ``WELFORD`` of single elements, of which a mask may leave out some, in floats. Elements so small that
their quotient by the number of elements is denormal lose digits of the mean, and sums of squares overflow as in one
pass. Beside an infinity the squares are NaN, and the mean is an infinity or NaN as the sum is. Of no elements all three
values are 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import lru_cache

from ...dtypes import DType
from ..analysis.atomic import operation
from ..analysis.proofs import proof
from ..array_program import ArrayProgram, Fold
from ..functions import where
from ..gradients.detached import CORRECTION
from ..graph import SCALAR, Expr, MonoidGraph, Space, rewrite, walk
from ..library.monoids import LOGSUMEXP, SUM, WELFORD
from ..monoid import Monoid
from ..symbols import Sym, constant

Swaps = dict[str, Expr]
"""By the digest of a node what takes its place."""


def online(program: ArrayProgram, cut: Callable[[Space, Space], bool]) -> ArrayProgram:
    """``program`` with pairs of folds as one fold, where two folds would be two kernels.

    Args:
        program: the program.
        cut: whether a fold with these kept and reduced dims has a kernel of its own.
    """
    while swaps := next(_found(program, cut), None):
        roots = _without_zeros(rewrite(program.roots, swaps))
        outputs = tuple(o._replace(expr=e) for o, e in zip(program.outputs, roots, strict=True))
        program = replace(program, outputs=outputs)
    return program


def _without_zeros(roots: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """``roots`` without what a correction that is 0 leaves: x - 0, and 0 * 0."""
    found: dict[str, Expr] = {}
    for e in walk(roots):
        args = tuple(found[a.digest] for a in e.args)
        zeros = [_is_zero(a) for a in args]
        nothing = (e.op == "sub" and zeros[1]) or (e.op == "mul" and all(zeros))
        found[e.digest] = args[0] if nothing else e if args == e.args else replace(e, args=args)
    return tuple(found[r.digest] for r in roots)


def _is_zero(e: Expr) -> bool:
    """Whether ``e`` is 0, and not -0."""
    return e.op == "const" and e.dtype.is_float and repr(e.value) in ("0", "0.0")


def _found(program: ArrayProgram, cut: Callable[[Space, Space], bool]) -> Iterator[Swaps]:
    """The replacements of each later fold that one of the rules serves."""
    sums = [e for e in program.folds if operation(_fold(e).monoid) == "add" and cut(e.space, _fold(e).over)]
    corrections = [e for e in walk(program.roots) if e.op == "where" and e.value == CORRECTION]
    yield from filter(None, (_balance(e, sums) for e in corrections))
    for rule in _RULES:
        yield from filter(None, map(rule, sums))


def _log_sum_exp(later: Expr) -> Swaps | None:
    """Of a maximum and then a sum of exponentials relative to it; both may leave out the same elements.

    Where the maximum is not finite, differences from it are NaN, which the sum is then, too, unless it is one of no
    elements.
    """
    mask, term = masked(later.args[0], 0)
    if term.op != "exp" or term.args[0].op != "sub":
        return None
    x, greatest = term.args[0].args
    earlier = _earlier(greatest, later, "max")
    if earlier is None:
        return None
    elements = (None, earlier.args[0]) if mask is None else masked(earlier.args[0], _fold(earlier).monoid.identity[0])
    if elements != (mask, x):
        return None
    one: Expr = Expr("const", (), later.dtype, SCALAR, 1.0)
    if mask is not None:
        one = Expr("where", (mask, one, replace(one, value=0.0)), later.dtype, mask.space)
    m, s = _joined(LOGSUMEXP, (earlier.args[0], one), later)
    total = Sym(s)
    kept = where((Sym(m) - Sym(m) == 0.0) | (total == 0.0), total, math.nan)
    return {greatest.digest: m, _result(later).digest: kept.expr}


def _welford(later: Expr) -> Swaps | None:
    """Of a mean and then a sum of squared differences from it; the mean of no elements is NaN, and not Welford's 0."""
    (square,) = later.args
    if square.op != "mul" or square.args[0] != square.args[1] or square.args[0].op != "sub":
        return None
    x, mean = square.args[0].args
    if mean.op != "div" or mean.args[1].op != "count" or mean.args[1].value != _fold(later).over:
        return None
    earlier = _earlier(mean.args[0], later, "add")
    if earlier is None or earlier.args != (x,):
        return None
    zero = Expr("const", (), later.dtype, SCALAR, 0.0)
    n, m, squares = _joined(WELFORD, (replace(zero, value=1.0), x, zero), later)
    total = Expr("mul", (m, n), later.dtype, later.space)
    some = where(Sym(n) > 0.0, Sym(m), math.nan)
    return {mean.digest: some.expr, mean.args[0].digest: total, _result(later).digest: squares}


def _balance(correction: Expr, sums: Collection[Expr]) -> Swaps | None:
    """Of a mean and then the mean of differences from it, by which the program corrects the first one."""
    mean, nothing = correction.args[1:]
    later = mean.args[0].args[0] if mean.op == "div" and mean.args[0].op == "result" else None
    if later is None or later not in sums or not _is_zero(nothing):
        return None
    mask, difference = masked(later.args[0], 0)
    if difference.op != "sub" or (earlier := _of_mean(difference.args[1], later)) is None:
        return None
    own, element = masked(earlier.args[0], 0)
    if (own, element) != (mask, difference.args[0]) or difference.args[1].args[1] != mean.args[1]:
        return None
    return {correction.digest: nothing}


def _of_mean(mean: Expr, later: Expr) -> Expr | None:
    """The sum of which ``mean`` is the quotient by the number of elements, if ``later`` folds the same elements."""
    return _earlier(mean.args[0], later, "add") if mean.op == "div" else None


_RULES: tuple[Callable[[Expr], Swaps | None], ...] = (_log_sum_exp, _welford)
"""Behind ``_balance``, which knows a mean by its division: ``_welford`` takes that away."""


def _fold(e: Expr) -> Fold:
    """What a ``fold`` node does."""
    assert isinstance(e.value, Fold)
    return e.value


def _result(fold: Expr) -> Expr:
    """The result of a fold whose state has one value."""
    return Expr("result", (fold,), fold.dtype, fold.space, 0)


def _earlier(e: Expr, later: Expr, kind: str) -> Expr | None:
    """The fold of which ``e`` is the result, if it is of a kind and over the dims and in the type of ``later``.

    What a row without elements has is then known, too: the identity of both is that of the operation.
    """
    fold = e.args[0] if e.op == "result" and e.args[0].op == "fold" else None
    if fold is None or (fold.dtype, fold.space, _fold(fold).over) != (later.dtype, later.space, _fold(later).over):
        return None
    fits = operation(_fold(fold).monoid) == kind and later.dtype.is_float
    return fold if fits and all(proof(_fold(f).monoid, "identity") for f in (fold, later)) else None


def masked(e: Expr, nothing: object) -> tuple[Expr | None, Expr]:
    """The mask outside which ``e`` is ``nothing``, and its value inside; None for no mask."""
    if e.op == "where" and e.args[2].op == "const" and e.args[2].value == nothing:
        return e.args[0], e.args[1]
    return None, e


def _joined(monoid: Monoid, args: tuple[Expr, ...], later: Expr) -> list[Expr]:
    """The values of the state of a fold that takes the place of ``later``, over the same dims."""
    graph: MonoidGraph = monoid.typed(*(later.dtype for _ in args))
    fold = replace(later, args=args, value=Fold(graph, _fold(later).over))
    return [Expr("result", (fold,), later.dtype, later.space, i) for i in range(len(args))]


def two_pass(program: ArrayProgram, owned: Callable[[Space, Space], bool]) -> ArrayProgram:
    """``program`` with folds of ``WELFORD`` as two folds, where a CTA or a cluster owns the elements of a row.

    Args:
        program: the program.
        owned: whether the elements of a fold with these kept and reduced dims wait on chip.
    """
    while swaps := next(filter(None, (_split_fold(e, owned) for e in program.folds)), None):
        roots = rewrite(program.roots, swaps)
        outputs = tuple(o._replace(expr=e) for o, e in zip(program.outputs, roots, strict=True))
        program = replace(program, outputs=outputs)
    return program


def _split_fold(e: Expr, owned: Callable[[Space, Space], bool]) -> Swaps | None:
    """What takes the place of the results of a fold of ``WELFORD`` of single elements."""
    assert isinstance(e.value, Fold)
    if e.value.monoid.digest != _two_folds(e.dtype) or not owned(e.space, e.value.over):
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
def _two_folds(t: DType) -> str:
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
