"""Indexing of symbolic arrays: ``x[:, None]`` adds an axis, ``x[:, 0]`` and ``x[:, 1::2]`` choose along one.

Slices of symbolic arrays: the same value, computed from slices of the arrays that it reads.

An elementwise operation on slices gives the slice of its result. What was folded along the axis is of all its elements.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod
from operator import index as integer
from typing import Any

from ...dtypes import BOOL
from ...errors import WarpfoldError, error
from ...postorder import postorder
from ..array_program import Fold, Scan
from ..frames import caller
from ..graph import SCALAR, Expr, Space, union
from ..symbols import Sym, constant, is_array
from .dims import Dims, bits
from .sym_array import SymArray, spelled


def sliced(x: SymArray, place: int, by: slice) -> SymArray:
    """The elements of ``x`` that a slice chooses along an axis of more than one.

    Raises:
        TraceError: WF286 for an axis that a reshape joined of several of an array.
    """
    found = _sliced(x, place, by)
    if found is None:
        facts = {"index": spelled(by), "axis": place, "value": x.described()}
        raise error("WF286", reason="a reshape joined it of several", where=caller(), **facts)
    return found


def entry(x: SymArray, place: int, k: int) -> SymArray:
    """``x`` at index ``k`` of an axis of more than one, which stays with size 1.

    The program serves all sizes, unless a reshape joined the axis of several, and the index is neither 0 nor -1.
    """
    found = _sliced(x, place, slice(k, k + 1 or None))
    if found is not None:
        return found
    parts = x.dims.parts(x.axes[place])
    split = x.relabeled((*x.axes[:place], *parts, *x.axes[place + 1 :]))
    for i, own in enumerate(_indices(k, parts, x.dims)):
        split = sliced(split, place + i, slice(own, own + 1 or None))
    return split.relabeled((*split.axes[: place + 1], *split.axes[place + len(parts) :]))


def _indices(k: int, parts: Sequence[int], dims: Dims) -> list[int]:
    """The indices along each of the parts of an axis at index ``k`` of it."""
    if k in (0, -1):
        return [k] * len(parts)
    dims.looked_at.update(parts)
    sizes = [dims.sizes[p] for p in parts]
    number = k % prod(sizes)
    return [number // prod(sizes[i + 1 :]) % n for i, n in enumerate(sizes)]


def _sliced(x: SymArray, place: int, by: slice) -> SymArray | None:
    """A slice of ``x``; None where an array that it reads has no axis along the same dims."""
    dims = x.dims
    parts = dims.parts(x.axes[place])
    try:
        to = dims.slice_dim(parts, by)
        expr = _Sliced(dims, parts, by, to).of(x.expr)
    except ValueError:
        return None
    return SymArray(expr, (*x.axes[:place], to, *x.axes[place + 1 :]), dims, x.dtype).sharing(x)


class _Sliced:
    """The slices of values along an axis.

    Attributes:
        dims: the dims of the tracing.
        parts: the dims along which the axis lies.
        by: what is chosen along it.
        to: the dim of the slice; None if it has one element.
    """

    def __init__(self, dims: Dims, parts: tuple[int, ...], by: slice, to: int | None) -> None:
        self.dims, self.parts, self.by, self.to = dims, parts, by, to

    def of(self, root: Expr) -> Expr:
        """The slice of a value."""
        made: dict[str, Expr] = {}
        for e in postorder((root,), lambda e: e.args if self._varies(e) else ()):
            made[e.digest] = self._node(e, tuple(made[a.digest] for a in e.args)) if self._varies(e) else e
        return made[root.digest]

    def _varies(self, e: Expr) -> bool:
        return bool(self.dims.space(e.space) & bits(self.parts))

    def _node(self, e: Expr, args: tuple[Expr, ...]) -> Expr:
        """A node that varies along the axis, of slices of its operands.

        Raises:
            ValueError: it varies along some of the axis' dims alone, as a fold of each part of it does.
        """
        if bits(self.parts) & ~self.dims.space(e.space):
            raise ValueError
        if e.op == "iota":
            return self._numbers(e)
        value, space = e.value, self._space(e.space)
        if e.op == "input":
            array, axes = self.dims.views[e.value]  # type: ignore[call-overload]
            value = self.dims.view(*self.dims.sliced_view(array, axes, self.parts, self.by, self.to))
        elif e.op == "variable":
            value = e.value.sliced(self.dims, self.parts, self.by, self.to)  # type: ignore[attr-defined]
        elif isinstance(e.value, Scan) and bits(self.dims.parts_of(e.value.along)) & bits(self.parts):
            raise error("WF290", index=spelled(self.by), where=caller())
        elif isinstance(e.value, Fold):
            self.dims.vary(union(a.space for a in args) | e.value.over)
        self.dims.vary(space)
        return replace(e, args=args, space=space, value=value)

    def _space(self, space: Space) -> Space:
        return self.dims.space(space) & ~bits(self.parts) | bits((self.to,))

    def _numbers(self, e: Expr) -> Expr:
        """The numbers of the elements of a slice in an order of several dims, among which the axis lies."""
        order = self.dims.parts_of(e.value)  # type: ignore[arg-type]
        start = self.dims.place_of(self.parts, order)
        number = Sym(constant(0, e.dtype).expr)
        for i, own in enumerate((*order[:start], None, *order[start + len(self.parts) :])):
            inner = bits(order[i + (1 if i < start else len(self.parts)) :])
            places = self._places(e) if own is None else self._iota(own, e)
            number = number + (places * Sym(Expr("count", (), e.dtype, SCALAR, inner)) if inner else places)
        return number.expr

    def _places(self, e: Expr) -> Sym:
        """The numbers that the elements of the slice have along the axis."""
        start, _, step = self.by.indices(prod(self.dims.sizes[p] for p in self.parts))
        if (self.by.start or 0) < 0 or step < 0:
            self.dims.looked_at.update(self.parts)
        return self._iota(self.to, e) * constant(step, e.dtype) + constant(start, e.dtype)

    def _iota(self, dim: int | None, e: Expr) -> Sym:
        if dim is None:
            return constant(0, e.dtype)
        return Sym(Expr("iota", (), e.dtype, bits((dim,)), (dim,), e.where))


def indexed(x: SymArray, index: object) -> SymArray:
    """``x[index]`` for None, ``...``, slices and integers.

    Raises:
        TraceError: WF262 for another index, WF257 for more axes than there are, WF284 for an integer that is no index
            of its axis, WF286 for a slice that an axis does not have.
    """
    keys = _keys(x, index)
    of_axes = [k for k in keys if k is not None]
    for place, k in enumerate(of_axes):
        if not isinstance(k, slice) and not -(size := x.sizes[place]) <= k < size:
            raise error("WF284", index=k, axis=place, value=x.described(), size=size, where=caller())
    for place, k in enumerate(of_axes):
        x = _slice(x, place, k) if isinstance(k, slice) else x if x.axes[place] is None else entry(x, place, k)
    rest = iter(x.axes)
    axes = [(k, None if k is None else next(rest)) for k in keys]
    return x.relabeled(tuple(d for k, d in axes if k is None or isinstance(k, slice)))


def _slice(x: SymArray, place: int, by: slice) -> SymArray:
    """``x`` sliced along an axis."""
    size = x.sizes[place]
    if by in (slice(None), slice(0, None), slice(None, None, 1), slice(0, None, 1)):
        return x
    if x.axes[place] is not None:
        return sliced(x, place, by)
    if len(range(*by.indices(size))) == 1:
        return x
    facts = {"index": spelled(by), "axis": place, "value": x.described()}
    raise error("WF286", reason="it has size 1, and the slice no element", where=caller(), **facts)


def _keys(x: SymArray, index: object) -> list[Any]:
    """What an index says, with a full slice for each axis that it does not name, and Python's integers."""
    keys = [_key(k) for k in (index if isinstance(index, tuple) else (index,))]
    named = sum(k is not None and k is not ... for k in keys)
    if named > x.ndim or sum(k is ... for k in keys) > 1:
        raise error("WF257", what="x[...]", rank=x.ndim, expected=f"at least {named}", where=caller())
    at = keys.index(...) if ... in keys else len(keys)
    return [*keys[:at], *(slice(None),) * (x.ndim - named), *keys[at + 1 :]]


def _key(key: Any) -> Any:
    """One entry of an index: None, ``...``, an int, or a slice by ints and None."""
    if key is None or key is ...:
        return key
    if _is_integer(key):
        return integer(key)
    if not isinstance(key, slice):
        raise _refused(key)
    ends = (key.start, key.stop, key.step)
    if not all(k is None or _is_integer(k) for k in ends) or (found := _slice_of(ends)).step == 0:
        raise _refused(key)
    return found


def _slice_of(ends: Iterable[Any]) -> slice:
    return slice(*(None if k is None else integer(k) for k in ends))


def _refused(key: object) -> WarpfoldError:
    """The error for a key that selects several elements."""
    if not is_array(key):
        remedy = "index by integers, which a slice may have three of: x[1:-1], x[::2]; its step is not 0"
        if hasattr(key, "__len__") and not isinstance(key, str):
            remedy = "pass the indices as an argument i, and write x.__array_namespace__().take(x, i, axis=0)"
        return error("WF262", index=spelled(key), remedy=remedy, where=caller())
    chosen: Any = key
    if chosen.dtype == BOOL:
        return error("WF262", index="an array of bools", remedy="write wf.where(mask, x, 0)", where=caller())
    remedy = "write x.__array_namespace__().take(x, indices, axis=0)"
    return error("WF262", index="an array", remedy=remedy, where=caller())


def _is_integer(key: Any) -> bool:
    """Whether a key is one index of an axis, and no array of them."""
    if isinstance(key, bool) or is_array(key) or not hasattr(key, "__index__"):
        return False
    return not hasattr(key, "dtype") or (key.ndim == 0 and key.dtype.kind != "b")
