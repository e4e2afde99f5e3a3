"""Reductions and states that go to other processes: as what they were made of, of which each process makes its own."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from typing import Any

from ...compiler.errors import WarpfoldError
from ...compiler.program.monoid import Monoid
from ...compiler.program.states import Cut
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
    """A reduction as bytes for a worker of Dask, which brings cloudpickle: functions of a script go as their code."""
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, found: Any) -> Any:
            if isinstance(found, Monoid) and not _has_name(found):
                return Monoid, tuple(getattr(found, f.name) for f in fields(found) if f.init)
            return super().reducer_override(found)

    out = io.BytesIO()
    Pickler(out).dump(_made_of(cut))
    return out.getvalue()


def _has_name(m: Monoid) -> bool:
    """Whether another process finds the monoid by name, or its functions."""
    try:
        return m.function.__module__ != "__main__" and bool(m.__reduce__())
    except WarpfoldError:
        return False


@lru_cache(maxsize=256)
def unpacked(data: bytes) -> Cut:
    """The reduction of ``packed``; equal bytes give the same one, whose kernels are then known."""
    return _cut(*pickle.loads(data))
