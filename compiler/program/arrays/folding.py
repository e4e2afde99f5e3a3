"""Folds over axes of symbolic arrays: a reduction of the library, or a user's, runs on the whole arrays.

Its scope says over which axes ``fold`` reduces, ``index`` numbers and ``count`` counts. Inside it the reduced axes
stay, with size 1, so that results broadcast against elements. The caller gets results without them, or with
``keepdims`` with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from math import prod
from operator import index
from typing import Any

from ...dtypes import BOOL, I32, DType
from ...errors import Location, error
from ..array_program import Fold
from ..dtype_names import dtype as as_dtype
from ..fold import HUGE, Scope, current_scope, fold, leaving_out, not_a_number, scope
from ..frames import caller
from ..graph import SCALAR, Expr, MonoidGraph, union
from ..library.monoids import ANY
from ..library.reductions import FUNCTIONS
from ..monoid import Monoid
from ..signatures import keywords
from ..spelling import unknown
from ..symbols import Sym, constant, sym
from ..tracing import nest, structure_of
from ..values import Value, cast
from .broadcasting import along, broadcast
from .dims import Axes, Dims, bits
from .sym_array import SymArray
from .types import computed

MANY = 1 << 31
"""From this number of elements on, numbers of elements have 64 bits."""
AxisArgument = int | Sequence[int] | None


@dataclass(frozen=True)
class Outside:
    """What ``fold``, ``index`` and ``count`` mean in a program of arrays outside of every reduction: nothing.

    Attributes:
        dims: the dims of the tracing.
    """

    dims: Dims
    reduces = False

    def operand(self, value: Value) -> Value:
        return value

    def fold(self, graph: MonoidGraph, _: Sequence[Sym], at: Location | None) -> list[Sym]:
        raise error("WF267", what=f"wf.fold of numbers with {graph.name}", where=at)

    def index(self, _: DType) -> Sym:
        raise error("WF267", what="wf.index", where=caller())

    def count(self, _: DType) -> Sym:
        raise error("WF267", what="wf.count", where=caller())


@dataclass(frozen=True)
class OverAxes:
    """What ``fold``, ``index`` and ``count`` mean in a reduction of arrays over axes.

    Attributes:
        dims: the dims of the tracing.
        shape: the axes of the arrays, which have one shape.
        reduced: the positions of the axes that the reduction takes away.
    """

    dims: Dims
    shape: Axes
    reduced: frozenset[int]
    reduces = True

    @property
    def over(self) -> tuple[int, ...]:
        """The dims that are reduced, in the order of the axes."""
        axes = self.dims.axes(self.shape)
        return tuple(p for i, d in enumerate(axes) if i in self.reduced for p in self.dims.parts(d))

    @property
    def kept(self) -> Axes:
        """The axes of a result, the reduced ones with size 1."""
        return tuple(None if i in self.reduced else d for i, d in enumerate(self.dims.axes(self.shape)))

    @property
    def elements(self) -> int:
        """How many elements are reduced, in this tracing."""
        return prod(self.dims.sizes[d] for d in self.over)

    def operand(self, value: Value) -> Value:
        """A value of each element, in the type in which it is computed."""
        if isinstance(value, SymArray):
            expr = along(value, self.dims.axes(self.shape))
            return SymArray(expr, self.dims.axes(self.shape), self.dims)
        return cast(value, computed(value.dtype))

    def fold(self, graph: MonoidGraph, flat: Sequence[Sym], at: Location | None) -> list[Sym]:
        """The values of the state that elements fold to; the elements themselves where there is one of each."""
        over, order = bits(self.over), () if graph.commutative else self.over
        exprs = tuple(s.expr for s in flat)
        if not over:
            return [SymArray(e, self.kept, self.dims) for e in exprs]
        self.dims.vary(union(self.dims.space(e.space) for e in exprs) | over)
        space = union(self.dims.space(e.space) for e in exprs) & ~over
        made = Expr("fold", exprs, exprs[0].dtype, space, Fold(graph, over, order), at)
        results = [Expr("result", (made,), e.dtype, space, i) for i, e in enumerate(exprs)]
        return [SymArray(e, self.kept, self.dims) for e in results]

    def index(self, t: DType) -> Sym:
        """The position of an element among the reduced ones, in row-major order."""
        over = self.over
        if t == I32:
            self.dims.serve_at_most(bits(over), MANY - 1)
        if not over:
            return SymArray(constant(0, t).expr, self.dims.axes(self.shape), self.dims)
        return SymArray(Expr("iota", (), t, bits(over), over), self.dims.axes(self.shape), self.dims)

    def count(self, t: DType) -> Sym:
        """How many elements are reduced."""
        over = bits(self.over)
        return Sym(Expr("count", (), t, SCALAR, over)) if over else constant(1, t)

    def result(self, value: Any, *, keepdims: bool) -> Any:
        """A result as the caller gets it."""
        if not isinstance(value, SymArray):
            value = SymArray(value.expr, self.kept, self.dims)
        axes = tuple(d for i, d in enumerate(value.axes) if keepdims or i not in self.reduced)
        return SymArray(value.expr, axes, value.dims, value.dtype)


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
        where: which elements take part; None for all.
        nan: ``ignore`` leaves out elements that are NaN; ``raise`` adds a check of the program.
        params: the parameters of ``function``.

    Raises:
        TraceError: WF254 for shapes that do not broadcast, WF256 for an axis that the arrays have not.
    """
    first = next(a for a in arrays if isinstance(a, SymArray))
    own = [
        a.operand() if isinstance(a, SymArray) else SymArray(sym(a, first.dtype).expr, (), first.dims) for a in arrays
    ]
    exprs, shape = broadcast(own)
    xs = [SymArray(e, shape, first.dims, s.dtype) for e, s in zip(exprs, own, strict=True)]
    over = OverAxes(first.dims, shape, frozenset(positions(axis, shape, first)))
    mask = None if where is None else over.operand(cast(where, BOOL))
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
    return nest(structure, [over.result(v, keepdims=keepdims) for v in leaves])


def positions(axis: AxisArgument, shape: Axes, value: SymArray) -> tuple[int, ...]:
    """The positions of axes, which may count from the end.

    Raises:
        TraceError: WF256 for an axis that the value has not, or that is named twice.
    """
    if axis is None:
        return tuple(range(len(shape)))
    rank, found = len(shape), list[int]()
    for a in axis if isinstance(axis, tuple | list) else (axis,):
        position = None if isinstance(a, bool) or not hasattr(a, "__index__") else index(a)
        if position is None or not -rank <= position < rank or position % rank in found:
            facts = {"axis": axis, "value": value.described(), "rank": rank}
            raise error("WF256", where=caller(), **facts)
        found.append(position % rank)
    return tuple(found)


def fold_over(m: Monoid, values: Sequence[Any], initial: Any, axis: AxisArgument, *, keepdims: bool) -> Any:
    """``wf.fold`` of symbolic arrays over axes."""
    from ..accumulation import fold as fold_elements

    given = [i for i, v in enumerate(values) if isinstance(v, SymArray)]

    def program(*xs: Any) -> Any:
        own = dict(zip(given, xs, strict=True))
        return fold_elements(m, *(own.get(i, v) for i, v in enumerate(values)), initial=initial)

    return reduced(m.name, program, [values[i] for i in given], axis, keepdims=keepdims, params={})


def named(name: str) -> Callable[..., Any]:
    """The built-in reduction of this name, of symbolic arrays."""
    function = FUNCTIONS[name]

    @wraps(function)
    def call(x: Any, axis: AxisArgument = None, **how: Any) -> Any:
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
            raise unknown(name, key, known, array=False, where=caller())
    if params.get("dtype") is not None:
        params["dtype"] = as_dtype(params["dtype"])
    return reduced(name, function, arrays, axis, params=params, **own)
