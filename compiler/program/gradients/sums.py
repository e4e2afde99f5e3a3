"""Sums of gradients over the dims along which a value was broadcast.

A factor that does not vary along these dims is taken out of the sum, and a sum of two such products becomes two. So the
sums of a row that need no other one come first: all that a norm's gradient sums of a row is summed in one pass. So does
the sum of deviations from a mean, which leaves the sum and the count of it.

Range: floats of any value, over dims that have elements: of none a factor that is not finite would make NaN of 0. Both
sides differ by rounding, and where a sum overflows.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from functools import reduce

from ...postorder import postorder
from ..array_program import Fold
from ..arrays.over_dims import folded
from ..graph import SCALAR, Expr, Space
from ..library.monoids import SUM
from ..symbols import Sym, node
from ..values import cast


def total(x: Sym, over: Space) -> Sym:
    """The sum of ``x`` over dims, along some of which it may not vary."""
    if not over:
        return x
    e = x.expr
    if not e.space & over:
        return x * cast(Sym(Expr("count", (), x.dtype, SCALAR, over)), x.dtype)
    if e.op == "mul":
        factors = list(_factors(e))
        out = [Sym(f) for f in factors if not f.space & over]
        if out:
            found = total(reduce(operator.mul, (Sym(f) for f in factors if f.space & over)), over)
            return reduce(operator.mul, out) * found
        for i, f in enumerate(factors):
            if _is_corrected(f, over):  # its rounding error is that of one sum: what is corrected is small
                others, (deviation, correction) = [Sym(g) for j, g in enumerate(factors) if j != i], f.args
                product, rest = (reduce(operator.mul, own) for own in ([*others, Sym(deviation)], others))
                return total(product, over) - total(rest, over) * Sym(correction)
    if e.op == "neg":
        return -total(Sym(e.args[0]), over)
    if e.op in ("add", "sub") and any(_has_factor(a, over) for a in e.args):
        a, b = (total(Sym(a), over) for a in e.args)
        return node(e.op, a.dtype, a, b)
    (found,) = folded(SUM.typed(x.dtype), [x], e.space & over)
    return total(found, over & ~e.space)


def _factors(e: Expr) -> Iterator[Expr]:
    """The factors of a product, and of products in it."""
    if e.op == "mul":
        for a in e.args:
            yield from _factors(a)
    else:
        yield e


def _has_factor(e: Expr, over: Space) -> bool:
    """Whether a product has a factor that does not vary along the dims, or the whole does not."""
    if e.op == "neg":
        return _has_factor(e.args[0], over)
    return not e.space & over or (e.op == "mul" and any(_has_factor(a, over) for a in e.args))


def _is_deviation(e: Expr, over: Space) -> bool:
    """Whether ``e`` is the difference of elements from their mean over these dims."""
    if e.op != "sub":
        return False
    x, mean = e.args
    if mean.op != "div" or any(a.op != op for a, op in zip(mean.args, ("result", "count"), strict=True)):
        return False
    (made,) = mean.args[0].args
    return mean.args[1].value == over and made.args == (x,) and _is_sum(made, over)


def _is_corrected(e: Expr, over: Space) -> bool:
    """Whether ``e`` is the deviations of elements from their mean, less a correction of it that is made of them."""
    if e.op != "sub" or e.args[1].space & over or not _is_deviation(e.args[0], over):
        return False
    deviation, correction = e.args
    return any(
        n.op not in ("input", "const") and deviation in n.args for n in postorder([correction], lambda n: n.args)
    )


def _is_sum(made: Expr, over: Space) -> bool:
    """Whether a fold is a plain sum over these dims."""
    own = made.value
    return isinstance(own, Fold) and own.over == over and own.monoid.digest == SUM.typed(made.dtype).digest


def added(values: Sequence[Sym]) -> Sym:
    """The sum of values; those that vary along few dims are added first."""
    return reduce(operator.add, sorted(values, key=lambda v: v.expr.space.bit_count()))
