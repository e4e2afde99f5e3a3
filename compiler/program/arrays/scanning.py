"""Scans of symbolic arrays along an axis: a reduction of which every element gets the value so far.

A reduction is a function that folds. Here ``fold`` makes a *scan* of each fold: its state at every element, of the
elements up to it, in their order. So what is folded, and what is computed of the state, is what the reduction says.

Scans whose results begin with the identity: they have one element more than their arrays.

An exclusive scan of one more element gives all of these: nothing comes before the first one, and the whole array before
the last one, whose own element nobody sees. So the arrays are read along a dim that is longer by one. There is no
element beyond their end, and a gather of none is 0.

Cumulative sums and products of symbolic arrays, with the names and the arguments of the Array API standard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from ...dtypes import I64, DType
from ...errors import Location, WarpfoldError, error
from ...postorder import postorder
from ..array_program import Scan
from ..fold import Scope, current_scope, scope
from ..frames import caller
from ..graph import Expr, MonoidGraph, rewrite, union
from ..library import reductions
from ..signatures import keywords
from ..symbols import Sym, constant, node, sym
from ..tracing import nest, structure_of
from ..values import Value, cast
from .broadcasting import broadcast
from .dims import Dims, bits
from .folding import one_axis, positions
from .over_axes import MANY, OverAxes
from .selection import taken
from .shaping import expand_dims
from .sym_array import Elements, SymArray


@dataclass
class Part:
    """A scan of some of the elements along its axis, which others come before and after.

    Attributes:
        start: the position of the first of these elements in the whole, an array of rank 0; None for 0.
        count: how many elements the whole has along the axis.
        leads: whether the identity comes before these elements, where it comes before the first one.
        before: the values of the state that all elements before fold to, without the axis; None for none.
        own: those that these elements fold to, if the scan is to join both; it then scans nothing.
        ends: whether the scan is to find those that these elements fold to.
        found: the values of states that were asked for.
        axis, reverse, longer: of the scan that went along.
    """

    start: Any
    count: int
    leads: bool = True
    before: list[Any] | None = None
    own: list[Any] | None = None
    ends: bool = False
    found: list[Any] = field(default_factory=list)
    axis: int | None = None
    reverse: bool = False
    longer: bool = False


_PART: ContextVar[Part | None] = ContextVar("part", default=None)


@contextmanager
def of_part(part: Part) -> Iterator[None]:
    """The context of a function whose one scan is of a part of the elements."""
    token = _PART.set(part)
    try:
        yield
    finally:
        _PART.reset(token)


def one_longer(name: str, xs: Sequence[SymArray], place: int, *, reverse: bool) -> list[SymArray]:
    """Arrays of one shape with one element more along an axis: behind the others, or before them in a ``reverse`` scan.

    Args:
        name: what messages call the scan.
        xs: the arrays.
        place: the position of the axis.
        reverse: whether the scan goes from the last element to the first.

    Raises:
        TraceError: WF291 for elements that were reduced, and for an axis that no array has.
    """
    first = xs[0]
    dims, parts = first.dims, first.dims.parts(first.axes[place])
    if any(_is_made(x, parts) for x in xs):
        raise refused(name, "its elements are results of folds or gathers", "reduce in one program and scan in another")
    try:
        to = dims.slice_dim(parts, slice(None), 1) if parts else _dim_of_two(first)
    except ValueError:
        raise refused(name, "no array has its axis", "reshape the array before the call") from None
    own = (to,)
    numbers: Any = SymArray(
        Expr("iota", (), I64, bits(own), own) if to is not None else constant(0, I64).expr, own, dims
    )
    at = numbers - 1 if reverse else numbers
    return [taken(x, at.relabeled((*own, *(None,) * (x.ndim - 1 - place))), place) for x in xs]


def refused(name: str, reason: str, remedy: str) -> WarpfoldError:
    """The error for a scan that cannot begin with the identity."""
    return error("WF291", name=name, reason=reason, remedy=remedy, where=caller())


def _is_made(x: SymArray, parts: Sequence[int]) -> bool:
    """Whether elements along an axis are results, or gathered, so that they lie in no array."""
    along = bits(parts)
    found = postorder((x.expr,), lambda e: e.args if x.dims.space(e.space) & along else ())
    return any(e.op in ("result", "gather") and x.dims.space(e.space) & along for e in found)


def _dim_of_two(x: SymArray) -> int | None:
    """A dim of two elements, for an axis of size 1, which is no dim.

    It is an axis of size 1 of some array and one element more; if ``x[None]`` made it and no array has it, the
    first element of another dim and one more.

    Raises:
        ValueError: there is no other dim.
    """
    dims: Dims = x.dims
    try:
        return dims.slice_dim((), slice(None), 1)
    except ValueError:
        other = next((d for d in x.axes if d is not None and dims.sizes[d]), None)
        return dims.slice_dim(dims.parts(other), slice(0, 1), 1)


@dataclass(frozen=True)
class AlongAxis(OverAxes):
    """What ``fold``, ``index`` and ``count`` mean in a scan along an axis.

    Attributes:
        exclusive, reverse: as those of ``Scan``.
        part: which part of the elements this is; None for all.
    """

    exclusive: bool = False
    reverse: bool = False
    part: Part | None = None
    scans = True

    def fold(self, graph: MonoidGraph, flat: Sequence[Sym], at: Location | None) -> list[Sym]:
        """The values of the state at every element."""
        part = self.part
        if part is None:
            return self._scan(graph, flat, at)
        if part.own is not None:
            part.found += _joined(graph, _taken(part.before, graph), _taken(part.own, graph))
            return self._scan(graph, flat, at)
        if part.ends:
            found = super().fold(_swapped(graph) if self.reverse and not graph.commutative else graph, flat, at)
            part.found += [self.result(s, keepdims=False) for s in found]
            return found
        found, (place,) = self._scan(graph, flat, at), self.reduced
        if part.before is None:
            return found
        before = [expand_dims(s, axis=place) for s in _taken(part.before, graph)]
        return [SymArray(s.expr, self.dims.axes(self.shape), self.dims) for s in _joined(graph, before, found)]

    def index(self, t: DType) -> Sym:
        """The position of an element along the axis, in the whole."""
        own = super().index(t)
        return own if self.part is None or self.part.start is None else own + cast(self.part.start, t)

    def _scan(self, graph: MonoidGraph, flat: Sequence[Sym], at: Location | None) -> list[Sym]:
        if self.exclusive and not graph.has_identity:
            raise error("WF293", name=graph.name, where=caller())
        axes, along = self.dims.axes(self.shape), self.over
        exprs = tuple(s.expr for s in flat)
        if not along:
            pairs = zip(exprs, graph.identity, strict=True)
            own = [constant(i, e.dtype).expr if self.exclusive else e for e, i in pairs]
            return [SymArray(e, axes, self.dims) for e in own]
        space = union(self.dims.space(e.space) for e in exprs) | bits(along)
        self.dims.vary(space)
        how = Scan(graph, along, self.exclusive, self.reverse)
        made = Expr("scan", exprs, exprs[0].dtype, space, how, at)
        results = [Expr("result", (made,), e.dtype, space, i) for i, e in enumerate(exprs)]
        return [SymArray(e, axes, self.dims) for e in results]

    def count(self, t: DType) -> Sym:
        """How many elements are reduced: a scan has another number at each, which it does not know."""
        del t
        raise error("WF294", where=caller())

    def result(self, value: Any, *, keepdims: bool = True) -> Any:
        """A result, with all axes."""
        if not keepdims:
            return super().result(value, keepdims=False)
        axes = self.dims.axes(self.shape)
        return SymArray(value.expr, axes, self.dims, value.dtype if isinstance(value, SymArray) else None)


def _taken(values: list[Any] | None, graph: MonoidGraph) -> list[Any]:
    """The next values of a state, which are taken from a list."""
    assert values is not None
    return [values.pop(0) for _ in graph.state]


def _swapped(graph: MonoidGraph) -> MonoidGraph:
    """The monoid whose right operand comes first."""
    n = len(graph.state)
    places: dict[str, Expr] = {}
    for e in postorder(graph.combine, lambda e: e.args):
        if e.op == "param":
            number: Any = e.value
            places[e.digest] = replace(e, value=(number + n) % (2 * n))
    return replace(graph, combine=rewrite(graph.combine, places))


def _joined(graph: MonoidGraph, left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """What a monoid makes of two states of arrays."""
    known: dict[str, Sym] = {}
    operands: Any = (*left, *right)
    for e in postorder(graph.combine, lambda e: e.args):
        if e.op == "param":
            known[e.digest] = operands[e.value]
        else:
            known[e.digest] = (
                node(e.op, e.dtype, *(known[a.digest] for a in e.args), value=e.value) if e.args else Sym(e)
            )
    return [known[e.digest] for e in graph.combine]


def check_modes(**modes: object) -> None:
    """Refuses (WF138) options of a scan that are no bools."""
    for option, value in modes.items():
        if not isinstance(value, bool):
            raise error("WF138", option=option, value=value, expected="True or False", default=False, where=caller())


def scanned(
    name: str,
    function: Callable[..., Any],
    arrays: Sequence[Any],
    axis: Any,
    *,
    exclusive: bool = False,
    reverse: bool = False,
    include_initial: bool = False,
    params: Mapping[str, Any],
) -> Any:
    """What ``function``, a reduction, makes of the elements of symbolic arrays up to each along ``axis``.

    Args:
        name: what messages call it.
        function: takes the arrays and ``params``; reduces with ``fold``.
        arrays: symbolic arrays, which broadcast; numbers stand for arrays without axes.
        axis: the axis; None for the one that the arrays have.
        exclusive: whether an element gets the value of those before it.
        reverse: whether elements are taken from the last to the first.
        include_initial: whether the identity comes before the first one, so that there is one result more.
        params: the parameters of ``function``.

    Raises:
        TraceError: WF254 for shapes that do not broadcast, WF256 for an axis that the arrays have not, WF292 for
            several axes or none of several, WF291 and WF293 for one that cannot begin with the identity, WF138 for
            options that are no bools.
    """
    check_modes(exclusive=exclusive, reverse=reverse, include_initial=include_initial)
    if exclusive and include_initial:
        raise refused(name, "an exclusive one begins with it", "leave out exclusive=True or include_initial=True")
    xs, place = _operands(name, arrays, axis)
    part = _PART.get()
    if part is not None:
        part.axis, part.reverse, part.longer = place, reverse, include_initial
        if part.ends or part.own is not None:
            exclusive = include_initial = False
        include_initial = include_initial and part.leads
    if include_initial:
        xs, exclusive = one_longer(name, xs, place, reverse=reverse), True
    along = AlongAxis(xs[0].dims, broadcast(xs)[1], frozenset((place,)), function, exclusive, reverse, part)
    outer = current_scope()
    wide = max(along.elements, part.count if part else 0) >= MANY
    held = Scope(
        wide, huge=True, name=name, takes_initial="initial" in keywords(function),
        checks=outer.checks, used=outer.used, over=along,
    )  # fmt: skip
    with scope(held):
        got = function(*(Elements(x.expr, x.axes, x.dims, x.dtype) for x in xs), **params)
    if part is not None and (part.ends or part.own is not None):
        return tuple(part.found)
    if held.most:
        along.dims.serve_at_most(bits(along.over), min(held.most))
    leaves: list[Value] = []
    structure = structure_of(name, got, leaves, function)
    return nest(structure, [along.result(v) for v in leaves])


def _operands(name: str, arrays: Sequence[Any], axis: Any) -> tuple[list[SymArray], int]:
    """The arrays of a scan, of one shape, and the position of the axis."""
    first = next(a for a in arrays if isinstance(a, SymArray))
    own = [
        a.operand() if isinstance(a, SymArray) else SymArray(sym(a, first.dtype).expr, (), first.dims) for a in arrays
    ]
    exprs, shape = broadcast(own)
    if axis is None and len(shape) == 1:
        axis = 0
    if axis is None or isinstance(axis, tuple | list) or not shape:
        raise one_axis(name, axis, len(shape))
    (place,) = positions(axis, shape, first, one=True)
    return [SymArray(e, shape, first.dims, s.dtype) for e, s in zip(exprs, own, strict=True)], place


def cumulative_sum(
    x: SymArray, *, axis: int | None = None, dtype: object = None, include_initial: bool = False, reverse: bool = False
) -> Any:
    """The sums of the elements up to each along an axis; integers and bools widen to 64 bits, halves add up in f32.

    Args:
        x: an array.
        axis: the axis; needed for arrays of several.
        dtype: the type of the result, in which elements are added.
        include_initial: whether the sum of no elements comes before the others: a result is longer by one.
        reverse: whether elements are added from the last to the first.

    Returns:
        An array of the shape of ``x``, or longer by one along the axis.
    """
    how: dict[str, Any] = {"reverse": reverse, "include_initial": include_initial, "params": {"dtype": dtype}}
    return scanned("cumulative_sum", reductions.sum, (x,), axis, **how)


def cumulative_prod(
    x: SymArray, *, axis: int | None = None, dtype: object = None, include_initial: bool = False, reverse: bool = False
) -> Any:
    """The products of the elements up to each along an axis; arguments and types as in ``cumulative_sum``."""
    how: dict[str, Any] = {"reverse": reverse, "include_initial": include_initial, "params": {"dtype": dtype}}
    return scanned("cumulative_prod", reductions.prod, (x,), axis, **how)
