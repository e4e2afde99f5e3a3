"""``partial``, ``merge``, ``finish``, ``update`` and ``reduce_stream``: reductions that are cut into parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from ...compiler.dtypes import DType, dtype
from ...compiler.errors import WarpfoldError, error
from ...compiler.program.closures import captured
from ...compiler.program.frames import caller, outermost
from ...compiler.program.spelling import irreducible
from ...compiler.program.states import Cut
from ...compiler.space.geometry import normalize_axes
from ..api import Axis
from ..arrays.dask_arrays import in_dask
from ..arrays.torch_compile import opaque
from ..options import check_options
from ..programs.reductions import kinds_of
from ..resolve import function_of, objects_of
from .folds import as_array, finished, merged
from .parts import cut_of, elements_before, how_of, partial_of
from .state import State

_REMEDY = "reduce the array to a state first: wf.partial(x, what, axis=axis)"


@opaque
@outermost
def partial(
    *xs: Any, what: Any = None, axis: Axis = None, where: Any = None, nan: str = "propagate", determinism: str = "run",
    device: str = "auto", plan: str = "", start: int = 0, **params: Any,
) -> State:  # fmt: skip
    """Reduces one or several arrays to the state of the reduction, which other elements may join later.

    >>> import warpfold as wf
    >>> left, right = wf.partial([3.0, 1.0], "mean"), wf.partial([5.0], "mean", start=2)
    >>> wf.finish(wf.merge(left, right))
    np.float64(3.0)

    Args:
        xs: as in ``wf.reduce``; ``what`` may follow them as the last positional argument.
        what: as in ``wf.reduce``.
        axis: the axes to reduce. Parts of an array are cut along the first of them.
        where: as in ``wf.reduce``.
        nan: as in ``wf.reduce``.
        determinism: as in ``wf.reduce``, for this call and all that use its state.
        device: as in ``wf.reduce``.
        plan: as in ``wf.reduce``.
        start: how many elements of each result come before these. It counts for reductions that look at positions, such
            as ``argmax``.
        params: keyword parameters of the tensor program.

    Raises:
        ArgumentError: WF104 for no elements, where the reduction has no value for none; WF157 for a ``start`` that is
            no number of elements; else as ``wf.reduce``.
    """
    if what is None:
        if len(xs) < 2:
            raise irreducible(None, "nothing", where=caller())
        *xs, what = xs  # type: ignore[assignment]
    check_options(nan=nan, determinism=determinism)
    types, shape = _kinds(xs, device)
    masked = where is not None and where is not True
    cut = cut_of(what, types, params, masked=masked, nan=nan)
    return partial_of(xs, cut, shape, axis, where, nan, start, how_of(determinism, device, plan))


def _kinds(xs: Sequence[Any], device: str) -> tuple[tuple[DType, ...], tuple[int, ...]]:
    """The element types of arrays, and the shape that they have together; of Dask's, whose elements stay unread."""
    if in_dask(xs):
        from .dask_graphs import alike  # not imported without Dask

        chunked = alike(xs)
        return tuple(dtype(x.dtype) for x in chunked), chunked[0].shape
    return kinds_of(xs, device)


@opaque
@outermost
def merge(*states: State) -> State:
    """Combines states, whose elements follow each other in this order, to the state of all of them.

    Returns:
        A state in the library and on the device of the last one.

    Raises:
        ArgumentError: WF158 for what is no state, WF159 for states of different reductions or shapes, or where
            positions count, of parts of different extents along the other reduced axes; WF161 where positions count
            and a state does not begin where the one before ends; WF157 for states of 2^63 elements or more.
    """
    check_states(states)
    first = states[0]
    if len(states) == 1:
        return first
    return merged(states, [s.start - first.start for s in states])


def check_states(states: Sequence[Any]) -> None:
    """Whether ``states`` are of one reduction, and follow each other."""
    for s in states:
        if not isinstance(s, State):
            several = isinstance(s, list | tuple) and s and all(isinstance(m, State) for m in s)
            remedy = "pass them one by one: wf.merge(*states)" if several else _REMEDY
            raise error("WF158", kind=type(s).__name__, remedy=remedy, where=caller())
    if not states:
        raise error("WF158", kind="nothing", remedy=_REMEDY, where=caller())
    first, placed, seen = states[0], states[0].cut.numbers, states[0].count
    for number, (left, right) in enumerate(pairwise(states), 1):
        own = first.cut.name
        other = right.cut.name if right.cut.name != own else f"{own} with other parameters, types or functions"
        facts = [
            ("a reduction", own, other, first.cut.digest == right.cut.digest),
            ("axes", first.axes, right.axes, first.axes == right.axes),
            ("results of shape", first.shape, right.shape, first.shape == right.shape),
            (
                "parts with other reduced axes of extents",
                first.inner,
                right.inner,
                not placed or first.inner == right.inner,
            ),
        ]
        for what, expected, found, same in facts:
            if not same:
                raise error("WF159", number=number, what=what, expected=expected, found=found, where=caller())
        elements_before(first.start + seen, right.count)
        seen += right.count
        if placed and left.stop != right.start:
            raise error(
                "WF161", number=number, name=first.cut.name, expected=left.stop, found=right.start, where=caller()
            )


@opaque
@outermost
def finish(state: State, what: Any = None, *, keepdims: bool = False) -> Any:
    """The results of the elements that a state has seen; the state remains.

    Args:
        state: a state of ``wf.partial``, or of what combines such.
        what: the reduction, where it is to be checked that the state is of this one.
        keepdims: keep the reduced axes in the result, with size 1.

    Raises:
        ArgumentError: WF158 for what is no state, WF159 for a state of another reduction.
    """
    check_states((state,))
    if what is not None:
        own = Cut(
            function_of(what), state.cut.arrays, state.cut.params, state.cut.masked, state.cut.nan,
            captured(what, *objects_of(state.cut.params)),
        )  # fmt: skip
        if own.digest != state.cut.digest:
            raise error("WF159", number=0, what="a reduction", expected=own.name, found=state.cut.name, where=caller())
    shape = state.shape
    if keepdims:
        rest = iter(shape)
        shape = tuple(1 if a in state.axes else next(rest) for a in range(state.rank))
    values = [as_array(v).reshape((1, *shape)) for v in state.values]
    return finished(state, values, [state.start], state.count)


@opaque
@outermost
def update(state: State, *more: Any, where: Any = None) -> State:
    """The state of the elements that ``state`` has seen, and of those of ``more``, which come after them.

    Args:
        state: the state so far, which remains.
        more: arrays like those of the first part, of any extent along the axis that is cut.
        where: as in ``wf.partial``; it is needed if the first part had one.
    """
    check_states((state,))
    return _updated(state, more, where)


def _updated(state: State, more: Sequence[Any], where: Any) -> State:
    """``update`` of what is a state."""
    types, shape = _kinds(more, state.options["device"])
    cut, masked = state.cut, where is not None and where is not True
    own = (*types, *cut.arrays[len(cut.arrays) - cut.masked :])
    if own != cut.arrays or masked != cut.masked:
        expected, found = _types(cut.arrays, cut.masked), _types((*types, *[None] * masked), masked)
        raise error("WF159", number=1, what="arrays of", expected=expected, found=found, where=caller())
    axes = state.axes
    if not cut.monoid.has_identity and any(shape[a] == 0 for a in normalize_axes(axes, len(shape))):
        kept = tuple(n for a, n in enumerate(shape) if a not in axes)
        nothing = replace(state, values=tuple(np.empty(kept) for _ in state.values), count=0, start=state.stop)
        check_states((state, replace(nothing, inner=tuple(shape[a] for a in axes[1:]))))
        return state
    return merge(state, partial_of(more, cut, shape, axes, where, cut.nan, state.stop, state.how))


def _types(types: Sequence[Any], masked: bool) -> str:
    names = [t.name for t in (types[:-1] if masked else types)]
    return " and ".join([*names, *(["a mask"] if masked else [])])


@opaque
@outermost
def reduce_stream(chunks: Iterable[Any], what: Any, *, axis: Axis = None, **how: Any) -> Any:
    """Reduces arrays that come one after another, each of which is read once and may then go.

    Args:
        chunks: arrays that follow each other along the first reduced axis; for a reduction of several arrays tuples
            of them.
        what: as in ``wf.reduce``.
        axis: as in ``wf.reduce``.
        how: all keywords of ``wf.partial``, and ``keepdims``; a ``where`` is broadcast to each array.

    Raises:
        ArgumentError: WF162 where no array comes; WF104 where all are empty, and the reduction has no value for none.
    """
    keepdims, where = how.pop("keepdims", False), how.get("where")
    state: State | None = None
    if not (hasattr(chunks, "__iter__") or hasattr(chunks, "__getitem__")):
        raise error("WF162", found=f", since chunks is a {type(chunks).__name__}", where=caller())
    empty: list[tuple[Any, ...]] = []  # without an identity they have no state, and are looked at behind the first one
    for chunk in chunks:
        xs = chunk if isinstance(chunk, tuple) else (chunk,)
        if state is not None:
            state = _updated(state, xs, where)
            continue
        try:
            state = partial(*xs, what=what, axis=axis, **how)
        except WarpfoldError as e:
            if e.code != "WF104":
                raise
            empty.append(xs)
            continue
        for before in empty:
            state = _updated(state, before, where)
    if state is None and empty:
        state = partial(*empty[0], what=what, axis=axis, **how)
    if state is None:
        raise error("WF162", found="", where=caller())
    return finish(state, keepdims=keepdims)
