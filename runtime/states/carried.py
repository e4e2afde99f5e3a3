"""Reductions and states that go to other processes: as what they were made of, of which each process makes its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from typing import Any

from ...compiler.program.states import Cut
from ..arrays.dask_arrays import from_code, to_code
from .parts import cut_of
from .state import State


def reduced(state: State) -> tuple[Callable[..., State], tuple[Any, ...]]:
    """What ``State.__reduce__`` returns."""
    own = [getattr(state, f.name) for f in fields(State) if f.name != "cut"]
    return _state, (_made_of(state.cut), *own)


def _state(made_of: tuple[Any, ...], *own: Any) -> State:
    names = [f.name for f in fields(State) if f.name != "cut"]
    return State(cut=_cut(*made_of), **dict(zip(names, own, strict=True)))


def _made_of(cut: Cut) -> tuple[Any, ...]:
    return cut.what, cut.arrays, cut.params, cut.masked, cut.nan


def _cut(what: Any, arrays: tuple[Any, ...], params: tuple[Any, ...], masked: bool, nan: str) -> Cut:
    given = {name: value for name, value, _ in params}
    return cut_of(what, arrays[: len(arrays) - masked], given, masked=masked, nan=nan)


def packed(cut: Cut) -> bytes:
    """A reduction as bytes for a worker of Dask."""
    return to_code(_made_of(cut))


@lru_cache(maxsize=256)
def unpacked(data: bytes) -> Cut:
    """The reduction of ``packed``; equal bytes give the same one, whose kernels are then known."""
    return _cut(*from_code(data))
