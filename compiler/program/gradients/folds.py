"""The adjoint of a fold: what each folded value gains from the gradient of the state.

Sources: the pair of ``LOGSUMEXP`` stands for s exp(m), so only the product of both is differentiated; the squares of
``WELFORD`` do not change with the mean to first order. A product is divided by each factor where it has no zero.

Sums of gradients over the dims along which a value was broadcast.

A factor that does not vary along these dims is taken out of the sum, and a sum of two such products becomes two. So the
sums of a row that need no other one come first: all that a norm's gradient sums of a row is summed in one pass. So does
the sum of deviations from a mean, which leaves the sum and the count of it.

Range: floats of any value, over dims that have elements: of none a factor that is not finite would make NaN of 0. Both
sides differ by rounding, and where a sum overflows.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce

from ...errors import error
from ...postorder import postorder
from ..analysis.proofs import operation_of
from ..array_program import Fold
from ..arrays.variables import folded
from ..fold import count_of
from ..frames import Tracing
from ..functions import exp, where
from ..graph import SCALAR, Expr, MonoidGraph, Space
from ..library.monoids import COMPENSATED, LOGSUMEXP, PROD, SUM, WELFORD
from ..monoid import Monoid
from ..signatures import defined
from ..symbols import Sym, constant, node
from ..values import cast
from .detached import nesting


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


Gradients = Sequence[Sym | None]
"""One for each value of a state; None where there is none."""
Rule = Callable[[Sequence[Sym], Sequence[Sym], Gradients, Space], Gradients]
"""A function of the folded values, the state, its gradients, and the dims of the fold."""


def _of_sum(values: Sequence[Sym], state: Sequence[Sym], gradients: Gradients, over: Space) -> Gradients:
    return gradients


def _of_product(values: Sequence[Sym], state: Sequence[Sym], gradients: Gradients, over: Space) -> Gradients:
    """The product of all others: beside one zero it is not zero for that one alone, beside two for none."""
    (x,), (z,), (g,) = values, state, gradients
    assert g is not None
    return (g * _others(x, z, over, nesting() - 1),)


def _others(x: Sym, product: Sym, over: Space, again: int) -> Sym:
    """For each element the product of all others, of which ``again`` so many derivatives are taken.

    These ask how it changes with factors that are 0: then it is made of these factors, and divided by none of them.
    """
    is_zero = x == 0.0
    (zeros,) = folded(SUM.typed(x.dtype), [cast(is_zero, x.dtype)], over)
    inner = where(is_zero, 1.0, x)
    (rest,) = folded(PROD.typed(x.dtype), [inner], over)
    if not again:
        return where(is_zero, where(zeros == 1.0, rest, 0.0), where(zeros == 0.0, product / x, 0.0))
    (of_zeros,) = folded(PROD.typed(x.dtype), [where(is_zero, x, 1.0)], over)
    return where(is_zero, rest * _other_zeros(where(is_zero, x, 0.0), zeros, over, again), rest / inner * of_zeros)


def _other_zeros(x: Sym, zeros: Sym, over: Space, most: int) -> Sym:
    """For each of the ``zeros`` the product of the others, where these are at most so many; else 0.

    By Newton's identities, from the sums of powers of all others.
    """
    found = where(zeros == 1.0, 1.0, 0.0)
    products, sums, power = [constant(1.0, x.dtype)], list[Sym](), x
    for count in range(1, most + 1):
        (total,) = folded(SUM.typed(x.dtype), [power], over)
        sums.append(total - power)
        terms = [products[-i] * s * (-1.0) ** (i - 1) for i, s in enumerate(sums, 1)]
        products.append(added(terms) * (1.0 / count))
        found, power = where(zeros == count + 1.0, products[-1], found), power * x
    return found


def _of_extreme(values: Sequence[Sym], state: Sequence[Sym], gradients: Gradients, over: Space) -> Gradients:
    """The gradient in equal parts to all elements that are the extreme."""
    (x,), (z,), (g,) = values, state, gradients
    assert g is not None
    (ties,) = folded(SUM.typed(x.dtype), [cast(x == z, x.dtype)], over)
    return (where(x == z, g / ties, 0.0),)


def _of_place(values: Sequence[Sym], state: Sequence[Sym], gradients: Gradients, over: Space) -> Gradients:
    """The gradient to the one element with the number that was found."""
    g = gradients[0]
    return (None if g is None else where(values[1] == state[1], g, 0.0), None)


def _of_logsumexp(values: Sequence[Sym], state: Sequence[Sym], gradients: Gradients, over: Space) -> Gradients:
    """Nothing where the greatest exponent is infinite.

    What the results gain of the exponent alone, and not of s exp(m), goes to the greatest elements; the exponent has no
    gradient where they gain nothing.
    """
    (x, factor), (m, s), (of_m, of_s) = values, state, gradients
    infinite = abs(m) == math.inf  # not of NaN, whose gradients are NaN
    found: list[Sym | None] = [None, None]
    if of_s is not None:
        relative = exp(x - where(infinite, 0.0, m)) * where(infinite, 0.0, of_s)
        found = [relative * factor, relative]
    if of_m is not None:
        (rest,) = _of_extreme([x], [m], [of_m if of_s is None else of_m - s * of_s], over)
        assert rest is not None
        found[0] = rest if found[0] is None else found[0] + rest
    return found


def _of_welford(values: Sequence[Sym], state: Sequence[Sym], gradients: Gradients, over: Space) -> Gradients:
    (n, x, _), (count, mean, _), (_, of_mean, of_squares) = values, state, gradients
    found = None if of_mean is None else of_mean * (1.0 / count)
    if of_squares is not None:
        twice = (x - mean) * (2.0 * of_squares)
        found = twice if found is None else twice + found
    return None, None if found is None else n * found, of_squares


_BY_OPERATION: dict[str, Rule] = {"add": _of_sum, "mul": _of_product, "max": _of_extreme, "min": _of_extreme}
"""The rule of a value that is combined by one operation of both operands."""
_BY_MONOID: tuple[tuple[Monoid, Rule], ...] = (
    (LOGSUMEXP, _of_logsumexp), (WELFORD, _of_welford), (COMPENSATED, _of_sum),
)  # fmt: skip
"""The rules of warpfold's own monoids of several floats."""


def of_fold(made: Expr, state: Sequence[Sym], gradients: Gradients, used: Mapping[str, Monoid]) -> Gradients:
    """What each folded value gains.

    Args:
        made: the ``fold``.
        state: its results.
        gradients: their gradients.
        used: the monoids that have rules of their own, by ``combination``.

    Raises:
        TraceError: WF901 for a monoid without a rule, located at the line that folds.
    """
    own = made.value
    assert isinstance(own, Fold)
    values, graph = [Sym(a) for a in made.args], own.monoid
    if mine := used.get(combination(graph)):
        return _users(mine, values, state, gradients)
    if is_numbered(graph):
        return _of_place(values, state, gradients, own.over)
    for m, rule in _BY_MONOID:
        if _is(m, graph):
            return rule(values, state, gradients, own.over)
    found: list[Sym | None] = []
    for i, (v, s, g) in enumerate(zip(values, state, gradients, strict=True)):
        own_rule = _BY_OPERATION.get(operation_of(graph, i))
        if g is not None and own_rule is None:
            raise error("WF901", what=f"a fold with {graph.name}", remedy=_REMEDY, where=made.where)
        found.append(None if g is None or own_rule is None else own_rule([v], [s], [g], own.over)[0])
    return found


_REMEDY = (
    "give the monoid its rule: @wf.monoid(..., vjp=rule), where rule(values, state, gradient) is what each folded "
    "value gains from the gradient of the final state; or its structure, if it is wf.First"
)


def combination(graph: MonoidGraph) -> str:
    """Names how states are combined, whatever the identity is."""
    return " ".join((*(t.name for t in graph.state), *(e.digest for e in graph.combine)))


def is_logsumexp(graph: MonoidGraph) -> bool:
    """Whether a state is a pair (m, s) that stands for s exp(m)."""
    return _is(LOGSUMEXP, graph)


def is_numbered(graph: MonoidGraph) -> bool:
    """Whether a state is declared to be an extreme, a float, and its number."""
    return bool(graph.structure) and graph.state[0].is_float


def is_compensated(graph: MonoidGraph) -> bool:
    """Whether a state is a sum and its errors."""
    return _is(COMPENSATED, graph)


def _is(m: Monoid, graph: MonoidGraph) -> bool:
    """Whether states are combined as by a monoid of the library of several floats."""
    first = graph.state[0]
    fits = first.is_float and all(t == first for t in graph.state)
    same_size = len(graph.state) == count_of(m.identity)
    return fits and same_size and combination(m.typed(*graph.state)) == combination(graph)


def _users(m: Monoid, values: Sequence[Sym], state: Sequence[Sym], gradients: Gradients) -> Gradients:
    """What the rule of a user's monoid gives.

    Raises:
        TraceError: WF902 for another number of gradients than values.
    """
    rule = m.vjp
    assert rule is not None
    given = [0.0 if g is None else g for g in gradients]
    several = len(values) > 1
    with Tracing(m.name):
        got = rule(tuple(values), tuple(state), tuple(given)) if several else rule(values[0], state[0], given[0])
    found = got if isinstance(got, tuple | list) else (got,)
    if len(found) != len(values):
        raise error("WF902", name=m.name, expected=len(values), found=len(found), where=defined(rule))
    return [None if f is None else cast(f, v.dtype) for f, v in zip(found, values, strict=True)]
