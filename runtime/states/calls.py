"""``partial``, ``merge``, ``finish``, ``update`` and ``reduce_stream``: reductions that are cut into parts."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from operator import index
from typing import Any

import numpy as np

from ...compiler.dtypes import BOOL, DType
from ...compiler.errors import error
from ...compiler.program.closures import captured
from ...compiler.program.frames import caller, outermost
from ...compiler.program.spelling import irreducible
from ...compiler.program.states import Cut, Finished, Merged, Partial
from ...compiler.program.tracing import Nan
from ...compiler.space.geometry import normalize_axes
from ..api import Axis, reduce
from ..arrays.conversion import from_numpy, to_numpy, view
from ..arrays.torch_compile import opaque
from ..calls.operands import Operands
from ..options import check_options
from ..resolve import Params, What, function_of, given, hashable, params_of
from .state import State


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
    arrays = Operands.of(xs, device, None)
    masked = where is not None and where is not True
    cut = cut_of(what, tuple(arrays.types), params, masked=masked, nan=nan)
    return partial_of(xs, cut, arrays.shape, axis, where, nan, start, how_of(determinism, device, plan))


def cut_of(
    what: Any, types: Sequence[DType], params: Mapping[str, Any], *, masked: bool = False, nan: str = "propagate"
) -> Cut:
    """The reduction ``what`` of arrays of these element types, as one that may be cut."""
    if not hashable(what):
        raise irreducible(what)
    leaves_out: Nan = "ignore" if nan == "ignore" else "propagate"
    return _cut(what, tuple(types), params_of(what, params), masked, leaves_out, captured(what))


@lru_cache(maxsize=1024)
def _cut(
    what: What, types: tuple[DType, ...], params: Params, masked: bool, nan: Nan, outside: tuple[object, ...]
) -> Cut:
    function = function_of(what)
    own = tuple((name, value, repr(value)) for name, value in given(function, params, len(types)).items())
    return Cut(function, (*types, *([BOOL] if masked else [])), own, masked, nan, outside)


@lru_cache(maxsize=1024)
def programs_of(cut: Cut) -> tuple[Partial, Merged, Finished]:
    """The three programs of a reduction that may be cut, always the same ones, so that calls are seen to be alike."""
    return Partial(cut), Merged(cut), Finished(cut)


def how_of(determinism: str, device: str, plan: str) -> tuple[tuple[str, str], ...]:
    """The options of calls that states keep."""
    return (("determinism", determinism), ("device", device), ("plan", plan))


def partial_of(
    xs: Sequence[Any], cut: Cut, shape: tuple[int, ...], axis: Axis, where: Any, nan: str, start: Any,
    how: tuple[tuple[str, str], ...], out: tuple[Any, ...] | None = None,
) -> State:  # fmt: skip
    """The state of ``xs``, whose shape is ``shape``; its values are written to ``out`` if that is given."""
    axes = normalize_axes(axis, len(shape))
    before = _elements_before(start)
    count = int(np.prod([shape[a] for a in axes], dtype=object))
    taken = (*xs, numbers_beside(xs[0], (before,), ())) if cut.lifted else tuple(xs)
    options: dict[str, Any] = dict(how)
    values = reduce(*taken, what=programs_of(cut)[0], axis=axes, where=where, nan=nan, out=out, **options)
    return State(tuple(values), count, before, len(shape), axes, cut, how)


def _elements_before(start: Any) -> int:
    """``start`` as a number of elements."""
    try:
        found = index(start)
    except TypeError:
        found = -1
    if not 0 <= found < 2**63:
        raise error("WF157", start=repr(start))
    return found


@opaque
@outermost
def merge(*states: State) -> State:
    """Combines states, whose elements follow each other in this order, to the state of all of them.

    Returns:
        A state in the library and on the device of the last one.

    Raises:
        ArgumentError: WF158 for what is no state, WF159 for states of different reductions or shapes, WF161 where
            positions count and a state does not begin where the one before ends.
    """
    check_states(states)
    first = states[0]
    if len(states) == 1:
        return first
    values = [_stacked(parts) for parts in zip(*(s.values for s in states), strict=True)]
    befores = [s.start - first.start for s in states]
    taken = (*values, *starts(first.cut, values[0], befores))
    merged = reduce(*taken, what=programs_of(first.cut)[1], axis=0, **first.options)
    count = sum(s.count for s in states)
    return State(tuple(merged), count, first.start, first.rank, first.axes, first.cut, first.how)


def check_states(states: Sequence[Any]) -> None:
    """Whether ``states`` are of one reduction, and follow each other."""
    for s in states:
        if not isinstance(s, State):
            raise error("WF158", kind=type(s).__name__, where=caller())
    if not states:
        raise error("WF158", kind="nothing", where=caller())
    first = states[0]
    for number, (left, right) in enumerate(pairwise(states), 1):
        facts = [
            ("a reduction", first.cut.name, right.cut.name, first.cut.digest == right.cut.digest),
            ("axes", first.axes, right.axes, first.axes == right.axes),
            ("results of shape", first.shape, right.shape, first.shape == right.shape),
        ]
        for what, expected, found, same in facts:
            if not same:
                raise error("WF159", number=number, what=what, expected=expected, found=found, where=caller())
        if first.cut.numbers and left.stop != right.start:
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
            function_of(what), state.cut.arrays, state.cut.params, state.cut.masked, state.cut.nan, captured(what)
        )
        if own.digest != state.cut.digest:
            raise error("WF159", number=0, what="a reduction", expected=own.name, found=state.cut.name, where=caller())
    shape = state.shape
    if keepdims:
        rest = iter(shape)
        shape = tuple(1 if a in state.axes else next(rest) for a in range(state.rank))
    values = [_array(v).reshape((1, *shape)) for v in state.values]
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
    return merge(state, following(state, more, where))


def following(state: State, more: Sequence[Any], where: Any = None) -> State:
    """The state of arrays whose elements come after those of ``state``."""
    arrays = Operands.of(more, state.options["device"], None)
    cut, masked = state.cut, where is not None and where is not True
    own = (*arrays.types, *cut.arrays[len(cut.arrays) - cut.masked :])
    if own != cut.arrays or masked != cut.masked:
        expected, found = _types(cut.arrays, cut.masked), _types((*arrays.types, *[None] * masked), masked)
        raise error("WF159", number=1, what="arrays of", expected=expected, found=found, where=caller())
    return partial_of(more, cut, arrays.shape, state.axes, where, cut.nan, state.stop, state.how)


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
        how: all keywords of ``wf.partial``, and ``keepdims``.

    Raises:
        ArgumentError: WF162 where no array comes.
    """
    keepdims = how.pop("keepdims", False)
    state: State | None = None
    for chunk in chunks:
        xs = chunk if isinstance(chunk, tuple) else (chunk,)
        state = partial(*xs, what=what, axis=axis, **how) if state is None else update(state, *xs)
    if state is None:
        raise error("WF162", where=caller())
    return finish(state, keepdims=keepdims)


def finished(state: State, values: Sequence[Any], befores: Sequence[int], count: int) -> Any:
    """The results of states along a first axis, which so many elements come before, of ``count`` elements in all."""
    taken = (*values, *starts(state.cut, values[0], befores), numbers_beside(values[0], (count,), ()))
    return reduce(*taken, what=programs_of(state.cut)[2], axis=0, **state.options)


def starts(cut: Cut, like: Any, befores: Sequence[int]) -> tuple[Any, ...]:
    """The number of elements before each state along the first axis of ``like``, where a program takes it."""
    shape = (len(befores), *(1 for _ in like.shape[1:]))
    return (numbers_beside(like, tuple(befores), shape),) if cut.chosen else ()


def numbers_beside(like: Any, numbers: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """Numbers of elements as an input beside ``like``: on a GPU they lie in its memory, and are kept for later."""
    v, made = view(like), np.array(numbers, np.int64).reshape(shape)
    if v.device.kind == "cpu":
        return made[()]
    key = type(like).__module__.partition(".")[0], v.device, numbers, shape
    found = _KEPT.get(key)
    if found is None:
        found = _KEPT[key] = from_numpy(like, made)
        if len(_KEPT) > _MOST_KEPT:
            _KEPT.popitem(last=False)
    return found


_KEPT: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
_MOST_KEPT = 256


def _array(value: Any) -> Any:
    """A value of a state as an array; results of rank 0 are NumPy's scalars."""
    return np.asarray(value) if isinstance(value, np.generic) else value


def _stacked(parts: Sequence[Any]) -> Any:
    """Arrays of one shape as one, along a new first axis, in the library and on the device of the last."""
    last = parts[-1]
    place = _place(last)
    own = [_array(p if _place(p) == place else from_numpy(last, to_numpy(p))) for p in parts]
    return sys.modules[place[0]].stack(own)


def _place(value: Any) -> tuple[str, Any]:
    """The library that stacks arrays like ``value``, and the device."""
    library = type(value).__module__.partition(".")[0]
    return "jax.numpy" if library.startswith("jax") else library, view(value).device
