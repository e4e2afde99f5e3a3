"""Calls of a kind seen before: one look in a table, then addresses into packed buffers and the launches.

Everything between a call and its kernels follows from what is asked and from the kinds of the arrays
(``arrays/fast_readers.py``). So the long way is gone once for each kind and stream, and what it queued is kept as a
recipe (``recipe.py``). What a user's functions read from outside is looked at in each call (``closure_watch.py``). Only
calls whose results stay on the device, and that wait for nothing, have recipes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from ...compiler.dtypes import DType
from ...compiler.program.tracing import Structure
from ..arrays.fast_readers import Check, kinds_of, reader_of
from ..backends.backend import closing
from .closure_watch import Watch, watch_of
from .recipe import MISS, Guard, QueuedCall, Recipe, recipe_of

if TYPE_CHECKING:
    from ..backends.launch_buffers import Packed
    from .operands import Operands

KEPT = 1024
"""Kinds of calls that one function remembers; the oldest goes first."""
STREAMS = 64
"""Streams for which a kind has recipes."""


@dataclass(slots=True)
class Entry:
    """One kind of call.

    Attributes:
        check: whether arrays are of this kind, but for their addresses; None where that takes as long as the kinds.
        stream: the stream that a call would use now.
        what: the functions of the call; kept, since their ids stand in the question.
        watch: what they read.
        recipes: by stream.
    """

    check: Check | None
    stream: Callable[[], int]
    what: Any
    watch: Watch
    recipes: dict[int, Recipe] = field(default_factory=dict)

    def recipe(self) -> Recipe | None:
        """The one for the caller's stream; None where the long way must be gone."""
        return self.recipes.get(self.stream()) if self.watch.empty or self.watch.same() else None

    def again(self, *arrays: Any) -> Any:
        """What the call gives for arrays of this kind; ``MISS`` where the long way must be gone."""
        recipe = self.recipe()
        return MISS if recipe is None else recipe(*arrays, known=True)

    def guard(self, stream: int) -> Guard:
        """What the recipe for ``stream`` asks first; nothing where it is only found by the kinds."""
        if self.check is None:
            return {}
        own = {"check": self.check, "stream": self.stream, "number": stream, "elsewhere": self.again}
        return own if self.watch.empty else own | {"same": self.watch.same}


class Memo:
    """What one function remembers of its calls.

    Attributes:
        last: the latest recipe for each question, where it asks first whether it is for the arrays.
    """

    def __init__(self) -> None:
        self.last: dict[Hashable, Recipe] = {}
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
        recipe = self.last.get(ask)
        if recipe is not None:
            found = recipe(*arrays)
            if found is not MISS:
                return found
        return self.missed(ask, what, arrays, slow)

    def missed(self, ask: Hashable, what: Any, arrays: tuple[Any, ...], slow: Callable[[], Any]) -> Any:
        """The same where the latest recipe was not for these arrays."""
        if ask is UNASKED:
            return slow()
        kinds = kinds_of(arrays)
        if kinds is None:
            return slow()  # not inside an except, which would stand before the user's own errors
        key = (ask, *kinds)
        entry = self._table.get(key)
        if entry is not None and (recipe := entry.recipe()) is not None:
            found = recipe(*arrays, known=True)
            if found is not MISS:
                self._latest(ask, entry, recipe)
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
        if len(calls) == 1 and watch.same():
            self._keep(key, what, watch, arrays, calls[0])
        return found

    def _keep(
        self, key: tuple[Hashable, ...], what: Any, watch: Watch, arrays: tuple[Any, ...], call: QueuedCall
    ) -> None:
        stream = call.arrays.stream
        with self._lock:
            entry = self._table.get(key)
            if entry is None or not entry.watch.same() or len(entry.recipes) >= STREAMS:
                entry = Entry(*_checks(arrays), what, watch)
            recipe = recipe_of(call, arrays, entry.guard(stream))
            if recipe is None:
                return
            entry.recipes[stream] = recipe
            self._table.pop(key, None)
            self._table[key] = entry
            self._latest(key[0], entry, recipe)
            for kept in (self._table, self.last):
                if len(kept) > KEPT:
                    kept.pop(next(iter(tuple(kept))), None)  # in one step: a call may add to it meanwhile

    def _latest(self, ask: Hashable, entry: Entry, recipe: Recipe) -> None:
        if entry.check is not None:
            self.last[ask] = recipe


_memos: WeakSet[Memo] = WeakSet()


def forget() -> None:
    """Forgets all calls, as when other plans are to be chosen from now on."""
    for memo in list(_memos):
        memo.clear()


closing.append(forget)


def _checks(arrays: Sequence[Any]) -> tuple[Check | None, Callable[[], int]]:
    """The quick comparison with the kinds of ``arrays``, and what gives the stream of the first one's library."""
    readers = [reader_of(x) for x in arrays]
    first = readers[0]
    assert first is not None
    return first.check(arrays) if all(r is first for r in readers) else None, first.stream(arrays[0])


# --- questions -----------------------------------------------------------------------------------------------------
UNASKED: Hashable = object()
"""In place of a question that may change its meaning."""
_FIXED = (bool, int, float, complex, str, type(None), type, DType, np.dtype)
"""Types of which equal values of one type mean the same, but for floats; PyTorch's element types are another."""
_AXES = {int, type(None)}


def asked(axis: Any, out: Any, where: Any, how: Mapping[str, Any], *more: Hashable) -> Hashable:
    """A question: all that decides besides the arrays; the axis alone where nothing else is given.

    The types of values belong to it, since 1, 1.0 and True are equal, and the text of floats, since 0.0 and -0.0 are.

    ``axis``, ``out``, ``where`` and ``how`` are the arguments of a call, and ``more`` is what else decides.
    """
    if axis is not None and type(axis) is not int and not _are_axes(axis):
        return UNASKED
    given: tuple[Any, ...] = ()
    if how:
        types = tuple(map(type, how.values()))
        fixed, spelled = _are_fixed(types)
        if not fixed:
            return UNASKED
        given = *types, *(((name, repr(value)) for name, value in how.items()) if spelled else how.items())
    if type(out) is tuple or where is not None:
        more += (len(out) if type(out) is tuple else None, where is None, where is True)
    elif out is None and not given and not more:
        return axis  # type: ignore[no-any-return]
    return axis, "" if out is None else "out", *given, *more


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
        self.heard: list[QueuedCall] | None = None


_ear = _Ear()


def heard(arrays: Operands, launches: Sequence[Packed], structure: Structure, *, shared: bool) -> None:
    """Says that a call queued ``launches``, and waits for nothing."""
    if _ear.heard is not None:
        _ear.heard.append(QueuedCall(arrays, launches, structure, shared))
