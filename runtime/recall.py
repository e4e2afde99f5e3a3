"""Calls of a kind seen before: one look in a table, then addresses into packed buffers and the launches.

Everything between a call and its kernels follows from what is asked and from the kinds of the arrays (``kinds.py``).
So the long way is gone once for each kind and stream, and what it queued is kept as a recipe (``recipe.py``). What a
user's functions read from outside is looked at in each call (``watch.py``). Only calls whose results stay on the
device, and that wait for nothing, have recipes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from ..compiler.dtypes import DType
from ..compiler.programs import Structure
from .kinds import Check, kinds_of, reader_of
from .recipe import MISS, Call, Recipe, recipe_of
from .watch import Watch, watch_of

if TYPE_CHECKING:
    from .execute import Arrays
    from .packed import Packed

KEPT = 1024
"""Kinds of calls that one function remembers; the oldest goes first."""
STREAMS = 64
"""Streams for which a kind has recipes."""


@dataclass(slots=True)
class Entry:
    """One kind of call.

    Attributes:
        check: whether arrays are of this kind, but for their addresses.
        stream: the stream that a call would use now.
        what: the functions of the call; kept, since their ids stand in the question.
        watch: what they read.
        recipes: by stream.
    """

    check: Check
    stream: Callable[[], int]
    what: Any
    watch: Watch
    recipes: dict[int, Recipe] = field(default_factory=dict)

    def again(self, arrays: tuple[Any, ...]) -> Any:
        """What the call gives for arrays of this kind; ``MISS`` where the long way must be gone."""
        if self.watch.empty or self.watch.same():
            recipe = self.recipes.get(self.stream())
            if recipe is not None:
                return recipe(*arrays)
        return MISS


class Memo:
    """What one function remembers of its calls.

    Attributes:
        last: the latest entry for each question, with whose kinds those of the next call are quickly compared.
    """

    def __init__(self) -> None:
        self.last: dict[Hashable, Entry] = {}
        self._table: dict[Hashable, Entry] = {}
        self._lock = threading.Lock()
        _memos.add(self)

    def __call__(self, ask: Hashable, what: Any, arrays: tuple[Any, ...], slow: Callable[[], Any]) -> Any:
        """What ``slow`` gives, from a recipe where there is one.

        Args:
            ask: all that decides besides ``arrays`` and ``what``; ``UNASKED`` where that cannot be said.
            what: the functions that are traced.
            arrays: the inputs, the mask, then what takes the results.
            slow: goes the long way.
        """
        if ask is UNASKED:
            return slow()
        entry = self.last.get(ask)
        if entry is not None and entry.check(*arrays):
            found = entry.again(arrays)
            if found is not MISS:
                return found
        kinds = kinds_of(arrays)
        if kinds is None:
            return slow()  # not inside an except, which would stand before the user's own errors
        key = (ask, *kinds)
        entry = self._table.get(key)
        if entry is not None:
            self.last[ask] = entry
            found = entry.again(arrays)
            if found is not MISS:
                return found
        return self._learn(key, what, arrays, slow)

    def clear(self) -> None:
        """Forgets all."""
        with self._lock:
            self.last.clear()
            self._table.clear()

    def _learn(self, key: tuple[Hashable, ...], what: Any, arrays: tuple[Any, ...], slow: Callable[[], Any]) -> Any:
        """Goes the long way and keeps what it queued."""
        watch = watch_of(what)
        if watch is None:
            return slow()
        outer, _ear.heard = _ear.heard, []
        try:
            found = slow()
            calls = _ear.heard
        finally:
            _ear.heard = outer
        recipe = recipe_of(calls[0], arrays) if len(calls) == 1 and watch.same() else None
        if recipe is not None:
            self._keep(key, what, watch, arrays, calls[0].arrays.stream, recipe)
        return found

    def _keep(
        self, key: tuple[Hashable, ...], what: Any, watch: Watch, arrays: tuple[Any, ...], stream: int, recipe: Recipe
    ) -> None:
        with self._lock:
            entry = self._table.pop(key, None)
            if entry is None or not entry.watch.same() or len(entry.recipes) >= STREAMS:
                entry = Entry(*_checks(arrays), what, watch)
            entry.recipes[stream] = recipe
            self._table[key] = self.last[key[0]] = entry
            for kept in (self._table, self.last):
                if len(kept) > KEPT:
                    kept.pop(next(iter(tuple(kept))), None)  # in one step: a call may add to it meanwhile


_memos: WeakSet[Memo] = WeakSet()


def forget() -> None:
    """Forgets all calls, as when other plans are to be chosen from now on."""
    for memo in list(_memos):
        memo.clear()


def _checks(arrays: Sequence[Any]) -> tuple[Check, Callable[[], int]]:
    """The quick comparison with the kinds of ``arrays``, and what gives the stream of the first one's library."""
    readers = [reader_of(x) for x in arrays]
    first = readers[0]
    assert first is not None
    check = first.check(arrays) if all(r is first for r in readers) else None
    return check or _unknown, first.stream(arrays[0])


def _unknown(*_: object) -> bool:
    return False


# --- questions -----------------------------------------------------------------------------------------------------
UNASKED: Hashable = object()
"""In place of a question that may change its meaning."""
_FIXED = (bool, int, float, complex, str, type(None), type, DType, np.dtype)
"""Types of which equal values mean the same, but for floats; PyTorch's element types are another."""
_AXES = {int, type(None)}


def asked(what: Hashable, inputs: int, axis: Any, out: Any, where: Any, how: Mapping[str, Any]) -> Hashable:
    """A question: all that decides besides the arrays.

    The types of values belong to it, since 1, 1.0 and True are equal, and the text of floats, since 0.0 and -0.0 are.
    """
    types = tuple(map(type, how.values()))
    fixed, spelled = _are_fixed(types)
    if not fixed or (axis is not None and type(axis) is not int and not _are_axes(axis)):
        return UNASKED
    results = -1 if out is None else len(out) if type(out) is tuple else None
    mask = where if where is None or where is True else False
    values = tuple(map(repr, how.values())) if spelled else tuple(how.values())
    return what, inputs, axis, results, mask, types, tuple(how), values


@lru_cache(maxsize=256)
def _are_fixed(types: tuple[type, ...]) -> tuple[bool, bool]:
    """Whether equal values of these types mean the same, and whether their text must be compared."""
    exact = all(
        t in _FIXED or issubclass(t, np.dtype) or (t.__module__, t.__name__) == ("torch", "dtype") for t in types
    )
    return exact, float in types or complex in types


def _are_axes(axis: Any) -> bool:
    return type(axis) is tuple and _AXES.issuperset(map(type, axis))


def named(what: Any) -> Hashable:
    """``what`` in a question: its name, or which object it is."""
    if type(what) is str:
        return what
    return tuple(map(named, what)) if type(what) is tuple else id(what)


def arrays_of(xs: tuple[Any, ...], out: Any, where: Any) -> tuple[Any, ...]:
    """The arrays of a call: the inputs, a mask if there is one, and what takes the results."""
    if where is None and type(out) is not tuple:
        return xs if out is None else (*xs, out)
    mask = () if where is None or where is True else (where,)
    outs = () if out is None else out if type(out) is tuple else (out,)
    return (*xs, *mask, *outs)


# --- what the long way did -----------------------------------------------------------------------------------------
class _Ear(threading.local):
    """The calls heard in this thread since one of them began to be learnt."""

    def __init__(self) -> None:
        self.heard: list[Call] | None = None


_ear = _Ear()


def heard(arrays: Arrays, launches: Sequence[Packed], structure: Structure, *, shared: bool) -> None:
    """Says that a call queued ``launches``, and waits for nothing."""
    if _ear.heard is not None:
        _ear.heard.append(Call(arrays, launches, structure, shared))
