"""Repeats the launches of earlier calls: one look-up in a table, then a recipe writes addresses and launches.

The launches of a call follow from its key (the reduction and all options) and from the kinds of its arrays
(``arrays/fast_readers.py``). The first call of each kind on a stream runs in full, and its launches are kept as a
recipe (``recipe.py``). Each call compares the variables that a user's functions read (``closure_watch.py``). Only calls
whose results stay on the device, and that wait for nothing, have recipes.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from ...compiler.program.exact import EQUAL, FIXED, IN_C, exactly, is_torch_type, never_changes
from ...compiler.program.tracing import Structure
from ..arrays.fast_readers import NUMBERS, READERS, Check, check_of, kinds_of
from ..arrays.pytorch import are_tracked
from ..backends.backend import closing
from .closure_watch import Watch, watch_of
from .recipe import MISS, Guard, QueuedCall, Recipe, guarded, recipe_of

if TYPE_CHECKING:
    from ..backends.launch_buffers import PackedLaunch
    from .operands import Operands

KEPT = 1024
"""Greatest number of kinds of calls that one function remembers; the oldest is dropped first."""
STREAMS = 64
"""Greatest number of streams for which a kind of call has recipes."""
Parameters = tuple[tuple[str, Any], ...]
"""Parameters of a call, by name."""
Latest = tuple[int, Parameters, Recipe, Hashable]
"""How a call was written, the number of arrays and the parameters; its recipe, and its key."""


@dataclass(slots=True)
class Entry:
    """One kind of call.

    Attributes:
        check: tests whether arrays are of this kind; None if that is not faster than reading their kinds.
        stream: returns the stream that a call would use now.
        what: the functions of the call, kept alive since their ids are in the key.
        watch: the variables that they read.
        recipes: the recipes by stream.
    """

    check: Check | None
    stream: Callable[[], int]
    what: Any
    watch: Watch
    recipes: dict[int, Recipe] = field(default_factory=dict)

    def recipe(self) -> Recipe | None:
        """The recipe for the caller's stream; None if there is none, or a variable changed."""
        return self.recipes.get(self.stream()) if self.watch.empty or self.watch.same() else None

    def again(self, *arrays: Any) -> Any:
        """Repeats the call on arrays of this kind; ``MISS`` if that is impossible."""
        recipe = self.recipes.get(self.stream()) if self.watch.empty or self.watch.same() else None
        return MISS if recipe is None else recipe(*arrays, known=True)

    def guard(self, stream: int) -> Guard | None:
        """The tests that the recipe for ``stream`` starts with; None if it is only found by kinds."""
        return self.check and Guard(self.check + self.watch.check, self.stream, stream, self.again)


class Memo:
    """The calls that one function remembers.

    Attributes:
        last: the latest recipe for each key, if it can test whether arrays are of its kinds.
        latest: a recipe and how the latest call that it repeated was written: the number of arrays, all of which were
            given by position, and the parameters, all by name. A call like that is found without a key.
        repeated, again: told of a call that is written like the latest one, and of one that is found by its key.
        tried: the call or the recipe for which a function was looked for last.
        entries: for recipes the parameters and the functions that they made, see ``programs/entering.py``.
        left: told that all calls are forgotten.
    """

    def __init__(self) -> None:
        self.last: dict[Hashable, Recipe] = {}
        self.latest: Latest | None = None
        self.tried: Any = None
        self.entries: dict[Recipe, tuple[Parameters, Recipe | None]] = {}
        self.repeated: Callable[[Latest], None] = self._repeated
        self.again: Callable[..., Any] = self._again
        self.left: Callable[[], Any] = tuple
        self._of_shape: dict[Hashable, Recipe] = {}
        self._of_tracked: dict[Hashable, Recipe] = {}
        self._table: dict[Hashable, Entry] = {}
        self._lock = threading.Lock()
        _memos.add(self)

    def __call__(self, key: Hashable, what: Any, arrays: tuple[Any, ...], slow: Callable[[], Any]) -> Any:
        """The result of ``slow``, or of a recipe that repeats it.

        Args:
            key: everything besides ``arrays`` and ``what`` that the launches depend on, or ``NO_KEY``.
            what: the functions that are traced.
            arrays: the inputs, the mask, then the arrays for results.
            slow: runs the call in full.
        """
        recipe = self.last.get(key)
        if recipe is not None:
            found = recipe(*arrays)
            if found is not MISS:
                return found
        return self.missed(key, what, arrays, slow)

    def missed(self, key: Hashable, what: Any, arrays: tuple[Any, ...], slow: Callable[[], Any]) -> Any:
        """The result of a call for which the latest recipe does not apply; takes the arguments of ``__call__``."""
        if key is NO_KEY:
            return slow()
        if are_tracked(arrays):
            return self._tracked(key, what, arrays, slow)
        kinds = kinds_of(arrays)
        if kinds is None:
            return slow()  # not inside an except, which would chain to the user's own errors
        full = (key, *kinds)
        entry = self._table.get(full)
        if entry is not None and (recipe := entry.recipe()) is not None:
            found = recipe(*arrays, known=True)
            if found is not MISS:
                self._latest(key, arrays, entry, recipe)
                return found
        return self._learn(full, what, arrays, slow)

    def recent(self, key: Hashable, arrays: Sequence[Any]) -> Any:
        """The result of the latest recipe for arrays of this shape and type; ``MISS`` if it does not apply.

        So layers of several shapes may take turns: a shape is read faster than a kind.
        """
        recipe = self.of_shape(key, arrays)
        if recipe is None or recipe is self.last.get(key):
            return MISS
        found = recipe(*arrays)
        if found is not MISS:
            self.last[key] = recipe
        return found

    def of_shape(self, key: Hashable, arrays: Sequence[Any]) -> Recipe | None:
        """The latest recipe for the shape and the type of the first array; None without one."""
        try:
            return self._of_shape.get((key, arrays[0].shape, arrays[0].dtype))
        except RuntimeError:  # a nested tensor, which has no shape
            return None

    def clear(self) -> None:
        """Forgets all calls."""
        with self._lock:
            self.latest = self.tried = None
            self.left()
            self.entries.clear()
            self.last.clear()
            self._of_shape.clear()
            self._of_tracked.clear()
            self._table.clear()

    def _repeated(self, latest: Latest) -> None:
        self.tried = latest

    def _again(self, _xs: Any, _out: Any, _how: Any, recipe: Recipe, _key: Hashable) -> None:
        self.tried = recipe

    def _tracked(self, key: Hashable, what: Any, arrays: tuple[Any, ...], slow: Callable[[], Any]) -> Any:
        """The result of a call that PyTorch records.

        What repeats it takes the tensors past all that ``slow`` finds out, to PyTorch's record of the call.
        """
        if not all(READERS[type(x)] and not getattr(x, "is_nested", False) for x in arrays):
            return slow()
        kind = key, arrays[0].shape, arrays[0].dtype, *map(_requires_gradient, arrays)
        recipe: Recipe | None = self._of_tracked.get(kind)
        found = MISS if recipe is None else recipe(*arrays)
        if found is MISS:
            watch = watch_of(what)
            found, call = _tracked(slow)
            check = call and check_of(arrays, recorded=True)
            if check is None or watch is None or not watch.same():
                return found
            with sys.modules["torch"].no_grad():
                entry = (call.memo or self)._table.get((key, *(kinds_of(arrays) or ())))
            call.recipe = entry and entry.again
            again = guarded(len(arrays), check + watch.check, call.entered)
            with self._lock:
                self._of_tracked.pop(kind, None)
                self._of_tracked[kind] = recipe = again
                if len(self._of_tracked) > KEPT:
                    self._of_tracked.pop(next(iter(self._of_tracked)))
        if recipe is not None:
            self.last[key] = recipe
        return found

    def _learn(self, key: tuple[Hashable, ...], what: Any, arrays: tuple[Any, ...], slow: Callable[[], Any]) -> Any:
        """Runs the call in full and keeps its launches."""
        watch = watch_of(what)
        if watch is None:
            return slow()
        outer, _recording.calls = _recording.calls, []
        try:
            found = slow()
            calls = _recording.calls
        finally:
            _recording.calls = outer
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
            self._latest(key[0], arrays, entry, recipe)
            for kept in (self._table, self.last, self._of_shape):
                if len(kept) > KEPT:
                    kept.pop(next(iter(tuple(kept))), None)  # in one step: a call may add to it meanwhile

    def _latest(self, key: Hashable, arrays: Sequence[Any], entry: Entry, recipe: Recipe) -> None:
        if entry.check is not None:
            self.last[key] = recipe
            self._of_shape[key, arrays[0].shape, arrays[0].dtype] = recipe


_memos: WeakSet[Memo] = WeakSet()


def forget() -> None:
    """Forgets the calls of all functions, as when plans may change."""
    for memo in list(_memos):
        memo.clear()


closing.append(forget)


def _checks(arrays: Sequence[Any]) -> tuple[Check | None, Callable[[], int]]:
    """The fast test for the kinds of ``arrays``, and the function that returns the stream of the first of a device."""
    first = next((x for x in arrays if READERS[type(x)] is not NUMBERS), arrays[0])
    reader = READERS[type(first)]
    assert reader is not None
    return check_of(arrays), reader.stream(first)


# --- keys -----------------------------------------------------------------------------------------------------
NO_KEY: Hashable = object()
"""In place of a key whose meaning could change."""
_AXES = {int, type(None)}


def call_key(axis: Any, out: Any, where: Any, how: Mapping[str, Any], *more: Hashable) -> Hashable:
    """The key of a call: everything that its launches depend on besides the arrays; often the axis alone.

    The key contains the types of values, since 1, 1.0 and True are equal, and the bits of floats, since 0.0 == -0.0.
    ``axis``, ``out``, ``where`` and ``how`` are the arguments of the call; ``more`` is added to the key.
    """
    if axis is not None and type(axis) is not int and not _are_axes(axis):
        return NO_KEY
    given: tuple[Any, ...] = ()
    if how:
        types = tuple(map(type, how.values()))
        asked, apart = _asked(types)
        if asked:
            values = tuple(how.values())
            for i in asked:
                in_c = types[i] is type and values[i].__flags__ & IN_C
                if not in_c and not never_changes(values[i]):
                    return NO_KEY
        own = how.items() if apart else [(n, v if type(v) in EQUAL else exactly(v)) for n, v in how.items()]
        given = *types, *own
    if type(out) is tuple or where is not None:
        more += (len(out) if type(out) is tuple else None, where is None, where is True)
    elif out is None and not given and not more:
        return axis  # type: ignore[no-any-return]
    return axis, "" if out is None else "out", *given, *more


@lru_cache(maxsize=256)
def _asked(types: tuple[type, ...]) -> tuple[tuple[int, ...], bool]:
    """Which values of these types may change; whether those that do not are the same if they are equal."""
    asked = [i for i, t in enumerate(types) if not (t in FIXED or issubclass(t, np.dtype) or is_torch_type(t))]
    return tuple(asked), {types[i] for i in asked} <= {type} and float not in types and complex not in types


def _are_axes(axis: Any) -> bool:
    return type(axis) is tuple and _AXES.issuperset(map(type, axis))


def named(what: Any) -> Hashable:
    """``what`` in a key: its name, or its identity."""
    if type(what) is str:
        return what
    return tuple(map(named, what)) if type(what) is tuple else id(what)


def arrays_of(xs: tuple[Any, ...], out: Any, where: Any) -> tuple[Any, ...]:
    """The arrays of a call: the inputs, the mask if there is one, and those of ``out``."""
    if where is None and type(out) is not tuple:
        return xs if out is None else (*xs, out)
    mask = () if where is None or where is True else (where,)
    outs = () if out is None else out if type(out) is tuple else (out,)
    return (*xs, *mask, *outs)


# --- recording -----------------------------------------------------------------------------------------
class _Recording(threading.local):
    """The calls recorded in this thread while one of them is being learnt.

    Attributes:
        calls: those that queued launches.
        tracked: the latest that PyTorch records.
    """

    def __init__(self) -> None:
        self.calls: list[QueuedCall] | None = None
        self.tracked: Any = None


_recording = _Recording()


def record(
    arrays: Operands,
    launches: Sequence[PackedLaunch],
    structure: Structure,
    *,
    shared: bool,
    same: frozenset[tuple[int, int]] = frozenset(),
) -> None:
    """Records that a call queued ``launches`` and did not wait; see ``QueuedCall``."""
    if _recording.calls is not None:
        _recording.calls.append(QueuedCall(arrays, launches, structure, shared, same))


def _requires_gradient(x: Any) -> bool:
    return getattr(x, "requires_grad", False)


def _tracked(slow: Callable[[], Any]) -> tuple[Any, Any]:
    """The result of a call, and what repeats it if PyTorch recorded it."""
    outer, _recording.tracked = _recording.tracked, None
    try:
        return slow(), _recording.tracked
    finally:
        _recording.tracked = outer


def record_tracked(call: Any) -> None:
    """Records what repeats a call that PyTorch records, on other tensors of the same kinds."""
    _recording.tracked = call
