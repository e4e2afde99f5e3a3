"""Reductions of symbolic arrays over axes: a function of the library, or a user's, runs on whole arrays.

Its scope says over which axes ``fold`` reduces, see ``over_axes.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from operator import index
from typing import Any

from ...dtypes import BOOL
from ...errors import WarpfoldError, error
from ..complexes import Complex
from ..dtype_names import dtype as as_dtype
from ..fold import HUGE, Scope, an_element, current_scope, fold, in_reduction, leaving_out, not_a_number, scope
from ..frames import caller
from ..library.monoids import ANY
from ..library.reductions import FUNCTIONS
from ..signatures import defined, keywords
from ..spelling import others_by_name, too_many, unknown
from ..symbols import Sym, sym
from ..tracing import nest, structure_of
from ..values import Value, cast, split
from .broadcasting import broadcast
from .dims import Axes, bits
from .over_axes import MANY, OverAxes
from .packing import truths
from .sym_array import Elements, SymArray

AxisArgument = int | Sequence[int] | None


def reduced(
    name: str,
    function: Callable[..., Any],
    arrays: Sequence[Any],
    axis: AxisArgument = None,
    *,
    keepdims: bool = False,
    where: Any = None,
    nan: str = "propagate",
    params: Mapping[str, Any],
) -> Any:
    """What ``function``, a tensor program, makes of symbolic arrays along ``axis``.

    Args:
        name: what messages call it.
        function: takes the arrays and ``params``; reduces with ``fold``.
        arrays: symbolic arrays, which broadcast; numbers stand for arrays without axes.
        axis: an axis, several, or None for all.
        keepdims: whether results have the reduced axes, with size 1.
        where: which elements take part, as bools or words of bits (``packing.truths``); None for all.
        nan: ``ignore`` leaves out elements that are NaN; ``raise`` adds a check of the program.
        params: the parameters of ``function``.

    Raises:
        TraceError: WF254 for shapes that do not broadcast, WF256 for an axis that the arrays have not.
    """
    if in_reduction():
        raise an_element()
    first = next(p for a in arrays if isinstance(a, SymArray | Complex) for p in split(a))
    assert isinstance(first, SymArray)
    own = [_operand(p, first) for a in arrays for p in (split(a) if isinstance(a, Complex) else (a,))]
    exprs, shape = broadcast(own)
    parts = (Elements(e, shape, first.dims, s.dtype) for e, s in zip(exprs, own, strict=True))
    xs = [Complex(next(parts), next(parts)) if isinstance(a, Complex) else next(parts) for a in arrays]
    over = OverAxes(first.dims, shape, frozenset(positions(axis, shape, first)), function)
    like = SymArray(exprs[0], shape, first.dims, own[0].dtype)
    mask = None if where is None else over.operand(cast(truths(where, like), BOOL))
    outer = current_scope()
    held = Scope(
        over.elements >= MANY, over.elements >= HUGE, mask, needs_initial=mask is not None, name=name,  # type: ignore[arg-type]
        takes_initial="initial" in keywords(function), checks=outer.checks, used=outer.used, over=over,
    )  # fmt: skip
    with scope(held), leaving_out(not_a_number(xs) if nan == "ignore" else None):
        got = function(*xs, **params)
        if nan == "raise" and (bad := not_a_number(xs)) is not None:
            held.checks.append(("WF135", fold(ANY, bad)))
    if held.most:
        first.dims.serve_at_most(bits(over.over), min(held.most))
    leaves: list[Value] = []
    structure = structure_of(name, got, leaves, function)
    whole = bits(over.over)
    elements = [i for i, v in enumerate(leaves) if any(first.dims.space(p.expr.space) & whole for p in split(v))]
    if elements or not leaves:
        raise error("WF212", name=name, position=elements[0] if elements else 0, where=defined(function))
    return nest(structure, [over.result(v, keepdims=keepdims) for v in leaves])


def _operand(a: Any, like: SymArray) -> SymArray:
    """An array as operations take it; a number as one without axes."""
    return a.operand() if isinstance(a, SymArray) else SymArray(sym(a, like.dtype).expr, (), like.dims)


def positions(axis: AxisArgument, shape: Axes, value: SymArray, *, one: bool = False) -> tuple[int, ...]:
    """The positions of axes, which may count from the end; with ``one`` the message names what one axis may be.

    Raises:
        TraceError: WF256 for an axis that the value has not, or that is named twice.
    """
    if axis is None:
        return tuple(range(len(shape)))
    rank, found = len(shape), list[int]()
    for a in axis if isinstance(axis, tuple | list) else (axis,):
        position = None if isinstance(a, bool | Sym) or not hasattr(a, "__index__") else index(a)
        if position is None or not -rank <= position < rank or position % rank in found:
            raise no_axis(axis, rank, value, one=one)
        found.append(position % rank)
    return tuple(found)


def no_axis(axis: object, rank: int, value: SymArray, *, one: bool = False) -> WarpfoldError:
    """The error for axes, or for the one axis, that ``value``, of so many axes, has not."""
    several = "an integer" if one else "None, or distinct integers"
    expected = f"{several} from {-rank} to {rank - 1}" if rank else "None"
    remedy = "count axes from 0, or from -1 backwards; keepdims=True keeps the axes of what was reduced before"
    if not rank:
        remedy = "pass axis=None for all elements; a number has no axes, and x.reshape(1) has one"
    if is_array := any(isinstance(a, Sym) for a in (axis if isinstance(axis, tuple | list) else (axis,))):
        remedy = "an array for the result is out=; for elements of two arrays there are wf.maximum and wf.minimum"
    return error(
        "WF256",
        axis="given as an array" if is_array else repr(axis),
        value=value.described(),
        rank=rank,
        expected=expected,
        remedy=remedy,
        where=caller(),
    )


def one_axis(name: str, axis: object, rank: int) -> WarpfoldError:
    """The error for what goes along one axis, and is given none or several, or a number."""
    remedy = "name the axis by an integer, such as axis=-1; to take all elements, pass x.reshape(-1)"
    return error(
        "WF292", name=name, axis=axis, rank=rank, remedy=remedy if rank else "pass x.reshape(1)", where=caller()
    )


def named(name: str) -> Callable[..., Any]:
    """The built-in reduction of this name, of symbolic arrays."""
    function = FUNCTIONS[name]

    @wraps(function)
    def call(x: Any, axis: AxisArgument = None, *rest: Any, **how: Any) -> Any:
        if rest:
            by_name = others_by_name([*keywords(function), "keepdims", "where", "nan"])
            raise too_many(name, "x axis", 2 + len(rest), by_name)
        return call_built_in(name, (x,), axis, how)

    return call


def call_built_in(name: str, arrays: Sequence[Any], axis: AxisArgument, how: Mapping[str, Any]) -> Any:
    """A built-in reduction of symbolic arrays, with the options and parameters that it is called with."""
    function = FUNCTIONS[name]
    own = {k: v for k, v in how.items() if k in ("keepdims", "where", "nan")}
    params = {k: v for k, v in how.items() if k not in own}
    known = keywords(function)
    for key in params:
        if key not in known:
            raise unknown(name, key, known, array=False, shared=True, where=caller())
    if params.get("dtype") is not None:
        params["dtype"] = as_dtype(params["dtype"])
    return reduced(name, function, arrays, axis, params=params, **own)
