"""States along an axis: how they are laid there, and what they fold to."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...compiler.program.states import Cut
from ..api import reduce
from ..arrays.conversion import from_numpy, to_numpy, view
from ..arrays.dask_arrays import in_dask
from .numbers import numbers_beside
from .parts import programs_of
from .state import State


def finished(state: State, values: Sequence[Any], befores: Sequence[int], count: int) -> Any:
    """The results of states along a first axis, which so many elements come before, of ``count`` elements in all."""
    taken = (*values, *starts(state.cut, values[0], befores), numbers_beside(values[0], (count,), ()))
    return reduce(*taken, what=programs_of(state.cut)[2], axis=0, **state.options)


def merged(states: Sequence[State], befores: Sequence[int]) -> State:
    """The state of all of ``states``, of whose elements so many come before those of each."""
    first = states[0]
    values = [stacked(parts) for parts in zip(*(s.values for s in states), strict=True)]
    taken = (*values, *starts(first.cut, values[0], befores))
    found = reduce(*taken, what=programs_of(first.cut)[1], axis=0, **first.options)
    return replace(first, values=tuple(found), count=sum(s.count for s in states))


def starts(cut: Cut, like: Any, befores: Sequence[int]) -> tuple[Any, ...]:
    """The number of elements before each state along the first axis of ``like``, where a program takes it."""
    shape = (len(befores), *(1 for _ in like.shape[1:]))
    return (numbers_beside(like, tuple(befores), shape),) if cut.chosen else ()


def as_array(value: Any) -> Any:
    """A value of a state as an array; results of rank 0 are NumPy's scalars."""
    return np.asarray(value) if isinstance(value, np.generic) else value


def stacked(parts: Sequence[Any]) -> Any:
    """Arrays of one shape as one, along a new first axis, in the library and on the device of the last.

    Where any is an array of Dask, so is the whole.
    """
    if in_dask(parts):
        return sys.modules["dask.array"].stack([p if in_dask([p]) else to_numpy(p) for p in parts])
    last = parts[-1]
    place = _place(last)
    own = [as_array(p if _place(p) == place else from_numpy(last, to_numpy(p))) for p in parts]
    return sys.modules[place[0]].stack(own)


def _place(value: Any) -> tuple[str, Any]:
    """The library that stacks arrays like ``value``, and the device."""
    library = type(value).__module__.partition(".")[0]
    return "jax.numpy" if library.startswith("jax") else library, view(value).device
