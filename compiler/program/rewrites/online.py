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
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from ..analysis.atomic import operation
from ..array_program import ArrayProgram, Fold
from ..functions import where
from ..graph import SCALAR, Expr, MonoidGraph, Space, rewrite, walk
from ..library.monoids import LOGSUMEXP, WELFORD
from ..monoid import Monoid
from ..symbols import Sym

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
    """``roots`` without what a sum that is 0 leaves: a later step would read what decides between 0 and 0."""
    found: dict[str, Expr] = {}
    for e in walk(roots):
        args = tuple(found[a.digest] for a in e.args)
        found[e.digest] = _zero_or_operand(e.op, args) or (e if args == e.args else replace(e, args=args))
    return tuple(found[r.digest] for r in roots)


def _zero_or_operand(op: str, args: tuple[Expr, ...]) -> Expr | None:
    """The operand that an operation with zeros gives: x - 0, 0 * 0, a mean of 0, and a choice between 0 and 0.

    Where there are no elements, the mean that a correction of 0 belongs to is NaN already.
    """
    zeros = [_is_zero(a) for a in args]
    if (
        (op == "sub" and zeros[1])
        or (op == "mul" and all(zeros))
        or (op == "div" and zeros[0] and args[1].op == "count")
    ):
        return args[0]
    return args[1] if op == "where" and all(zeros[1:]) else None


def _is_zero(e: Expr) -> bool:
    """Whether ``e`` is 0, and not -0."""
    return e.op == "const" and e.dtype.is_float and repr(e.value) in ("0", "0.0")


def _found(program: ArrayProgram, cut: Callable[[Space, Space], bool]) -> Iterator[Swaps]:
    """The replacements of each later fold that one of the rules serves."""
    sums = [e for e in program.folds if operation(_fold(e).monoid) == "add" and cut(e.space, _fold(e).over)]
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


def _balance(later: Expr) -> Swaps | None:
    """Of a mean and then a sum of differences from it, which would be 0 without rounding."""
    (x,) = later.args
    mask, difference = masked(x, 0)
    if difference.op != "sub" or (earlier := _of_mean(difference.args[1], later)) is None:
        return None
    own, element = masked(earlier.args[0], 0)
    if (own, element) != (mask, difference.args[0]):
        return None
    return {_result(later).digest: Expr("const", (), later.dtype, SCALAR, 0.0)}


def _of_mean(mean: Expr, later: Expr) -> Expr | None:
    """The sum of which ``mean`` is the quotient by the number of elements, if ``later`` folds the same elements."""
    return _earlier(mean.args[0], later, "add") if mean.op == "div" else None


_RULES: tuple[Callable[[Expr], Swaps | None], ...] = (_balance, _log_sum_exp, _welford)
"""In order: ``_balance`` knows a mean by its division, which ``_welford`` takes away."""


def _fold(e: Expr) -> Fold:
    """What a ``fold`` node does."""
    assert isinstance(e.value, Fold)
    return e.value


def _result(fold: Expr) -> Expr:
    """The result of a fold whose state has one value."""
    return Expr("result", (fold,), fold.dtype, fold.space, 0)


def _earlier(e: Expr, later: Expr, kind: str) -> Expr | None:
    """The fold of which ``e`` is the result, if it is of a kind and over the dims and in the type of ``later``."""
    fold = e.args[0] if e.op == "result" and e.args[0].op == "fold" else None
    if fold is None or (fold.dtype, fold.space, _fold(fold).over) != (later.dtype, later.space, _fold(later).over):
        return None
    return fold if operation(_fold(fold).monoid) == kind and later.dtype.is_float else None


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
