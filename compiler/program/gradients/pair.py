"""A forward that keeps values for its backward, and the backward that reads them: two functions of symbolic arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter
from typing import Any

from ..arrays.dims import bits
from ..arrays.packing import SymBits
from ..arrays.sym_array import SymArray
from ..arrays.types import computed, has_gradient
from ..graph import Expr, rewrite, walk
from ..signatures import parameters
from ..values import Value
from .keeping import Keep, chosen, dependent
from .vjp import Given, Unchecked, as_gradient, backward, differentiated, gradients_of, named


def kept_of(
    function: Callable[..., Any], results: int, wrt: Sequence[str] | None, own: Given, *, waits: bool = True
) -> list[Keep]:
    """What is kept of a call of ``function`` beside its arguments; dims have the names that they have now.

    ``waits`` says whether rows along the innermost axis wait on chip for the folds of the gradient.
    """
    found, values = differentiated(
        own, own.wanted(wrt), results, lambda leaves: [*map(_unknown, range(results), leaves)]
    )
    dims = found[0].dims
    roots = [named(x.expr, dims) for x in found]
    unknown = [e.digest for e in walk(tuple(roots)) if e.op == "gradient"]
    known = {
        i: r.alike(named(r.expr, dims))
        for i, r in enumerate(values)
        if isinstance(r, SymBits) or (isinstance(r, SymArray) and has_gradient(r.dtype))
    }
    arrays = [x for x in (*own.arguments.values(), *values) if isinstance(x, SymArray)]
    # Gradients of results come before the arguments, and give dims other numbers: the order is that of these arrays.
    order = tuple(dict.fromkeys(d for x in arrays for d in dims.parts_of(x.axes)))
    return chosen(roots, dependent(roots, unknown), known, dims, order, waits=waits)


def keeping(
    function: Callable[..., Any], results: int, wrt: Sequence[str] | None, *, waits: bool = True
) -> Callable[..., Any]:
    """The function that returns what ``function`` does, and then, in a tuple, what is kept beside its results."""

    def forward(*xs: Any, **how: Any) -> Any:
        own = Given.of(function, xs, how)
        value = own.call({})
        found = kept_of(function, results, wrt, own, waits=waits)
        dims = next(x for x in own.arguments.values() if isinstance(x, SymArray)).dims
        return value, tuple(k.array(dims) for k in found if k.result is None)

    return _named(forward, function, "forward", [*parameters(function)])


def reading(
    function: Callable[..., Any], results: int, wrt: Sequence[str] | None, count: int, *, waits: bool = True
) -> Callable[..., Any]:
    """The function from the gradients of results, arguments, and ``count`` kept arrays to gradients of arguments."""
    gradient = backward(function, results, wrt)

    def from_kept(*xs: Any, **how: Any) -> Any:
        own = xs[: len(xs) - count]
        found = gradient(*own, **how)
        each = found if isinstance(found, tuple) else (found,)
        given = Given.of(function, own[results:], how)
        dims = each[0].dims
        keeps = kept_of(function, results, wrt, given, waits=waits)
        read = [k.read(x, dims) for k, x in zip(keeps, xs[len(own) :], strict=True)]
        # Arrays that are given by name come behind those that were kept, so that reading these may rename dims.
        swaps = {named(k.node, dims).digest: named(e, dims) for k, e in zip(keeps, read, strict=True)}
        made = [x.alike(e) for x, e in zip(each, rewrite(tuple(named(x.expr, dims) for x in each), swaps), strict=True)]
        return made[0] if len(made) == 1 else tuple(made)

    keyword = [p.replace(kind=p.KEYWORD_ONLY, default=None) for p in parameters(function) if p.kind not in _VARIADIC]
    arrays = Parameter("arrays", Parameter.VAR_POSITIONAL)
    return as_gradient(_named(from_kept, function, "backward", [*gradients_of(function, results), arrays, *keyword]))


_VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def _named(
    made: Callable[..., Any], function: Callable[..., Any], end: str, own: Sequence[Parameter]
) -> Callable[..., Any]:
    """``made`` with a name and a signature."""
    name = str(getattr(function, "__name__", "the function"))
    made.__name__ = made.__qualname__ = f"{name}_{end}"
    made.__signature__ = Unchecked(own)  # type: ignore[attr-defined]
    made.defined = function  # type: ignore[attr-defined]
    return made


def _unknown(number: int, result: Value) -> SymArray | None:
    """A gradient that the forward does not know; None for a result that has none."""
    if not (isinstance(result, SymArray) and has_gradient(result.dtype)):
        return None
    space = bits(result.dims.parts_of(result.axes))
    return SymArray(Expr("gradient", (), computed(result.dtype), space, number), result.axes, result.dims, result.dtype)
