"""The recipe of a call: what repeats it on other arrays of the same kinds, from what the long way queued.

Its source is written for the number of arrays and kernels: a loop over two arrays would cost as much as all the rest.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..compiler.programs import Structure, named
from .kinds import reader_of
from .launch import Start
from .packed import argument

if TYPE_CHECKING:
    from .backend import View
    from .execute import Arrays
    from .packed import Packed

MISS: Any = object()
"""What a recipe gives when it does not apply: addresses of another alignment, or that overlap, or a captured graph."""
WRONG_CONTEXT = (201, 400)
"""``CUDA_ERROR_INVALID_CONTEXT`` and ``_INVALID_HANDLE``: a launch in a thread without a context, or in another one."""
Recipe = Callable[..., Any]


@dataclass(frozen=True)
class Call:
    """What one call queued.

    Attributes:
        arrays: its arrays.
        launches: its kernels.
        structure: how its results nest.
        shared: whether its kernels use the workspace of the stream.
    """

    arrays: Arrays
    launches: Sequence[Packed]
    structure: Structure
    shared: bool


def recipe_of(call: Call, arrays: tuple[Any, ...]) -> Recipe | None:
    """What repeats ``call`` on other arrays of the kinds of ``arrays``; None where something else would be needed."""
    views = (*call.arrays.inputs, *call.arrays.outputs)
    backend: Any = call.arrays.backend
    made = [v.owner for v in views[len(arrays) :]]
    readers = [reader_of(x) for x in (*arrays, *made)]
    direct = all(v.owner is x and v.device == backend.device for v, x in zip(views, (*arrays, *made), strict=True))
    if not direct or None in readers or (call.shared and backend.captures(call.arrays.stream)):
        return None
    inputs = len(call.arrays.inputs)
    spans = [(o, *_apart(views[i], views[o]), i) for o in range(inputs, len(arrays)) for i in range(o)]
    values: dict[str, Any] = {"MISS": MISS, "IndexError": IndexError}
    result = _nested(call.structure, inputs, values)
    for i, (v, reader) in enumerate(zip(views, readers, strict=True)):
        values[f"address{i}"], values[f"offset{i}"] = reader.address, v.address & 15  # type: ignore[union-attr]
    for i, x in enumerate(made, start=len(arrays)):
        values[f"empty{i}"] = readers[i].empty(x)  # type: ignore[union-attr]
    for o, low, high, i in spans:
        values[f"low{o}_{i}"], values[f"high{o}_{i}"] = low, high
    places = [_places(p) for p in call.launches]
    for k, runs in enumerate(places):
        for r, run in enumerate(runs):
            values |= {f"added{k}_{r}_{i}": added for i, (_, _, added) in enumerate(run)}
    captures = call.shared and backend.can_capture(call.arrays.stream)
    held = _Spare(backend, call.launches, places, captures)
    values |= held.values()
    shape = tuple(tuple(tuple((array, added != 0) for _, array, added in run) for run in runs) for runs in places)
    pairs = tuple((o, i) for o, _, _, i in spans)
    aligned = tuple(v.address % 16 == 0 for v in views)
    text = _text(len(arrays), aligned, pairs, shape, captures, result)
    return _compiled(text, tuple(values))(**values)


def _nested(structure: Structure, first: int, values: dict[str, Any]) -> str:
    """The text of what the caller gets; the arrays that hold results are numbered from ``first`` on."""
    if isinstance(structure, int):
        return f"x{first + structure}"
    name, fields, members = structure
    inner = "".join(f"{_nested(m, first, values)}, " for m in members)
    if not fields:
        return f"({inner})"
    kind = f"kind{len(values)}"
    values[kind] = named(name, tuple(fields))
    return f"{kind}({inner})"


def _apart(v: View, w: View) -> tuple[int, int]:
    """Bounds of w's address less v's between which, both exclusive, the bytes that they span meet."""
    (low, high), (first, last) = v.extent, w.extent
    return (low - v.address) - (last - w.address), (high - v.address) - (first - w.address)


def _places(launch: Packed) -> list[list[tuple[int, int, int]]]:
    """The arguments that are addresses of arrays, as (position, array, bytes added), those side by side together."""
    found: list[list[tuple[int, int, int]]] = []
    for position, a in enumerate(launch.call.args):
        if isinstance(a, Start):
            if not found or found[-1][-1][0] != position - 1:
                found.append([])
            found[-1].append((position, a.array, a.added))
    return found


class _Spare:
    """The launches of a recipe in memory that nobody else uses: one set for each call under way at the same time."""

    def __init__(
        self, backend: Any, launches: Sequence[Packed], places: list[list[list[tuple[int, int, int]]]], captures: bool
    ) -> None:
        self.backend, self.launches, self.places, self.captures = backend, launches, places, captures
        self.free: list[tuple[Any, ...]] = []

    def values(self) -> dict[str, Any]:
        """What the source of a recipe names."""
        return {
            "pop": self.free.pop, "push": self.free.append, "spare": self.make, "again": self.again,
            "launch": self.backend.entries.launch, "capturing": self.backend.entries.capturing,
        }  # fmt: skip

    def make(self) -> tuple[Any, ...]:
        """What ``_text`` unpacks."""
        found: list[Any] = []
        if self.captures:
            flag = ctypes.c_int()
            found += [flag, argument(self.launches[0].stream), argument(ctypes.addressof(flag))]
        for launch, runs in zip(self.launches, self.places, strict=True):
            own = launch.copy()
            found += [own.arguments, own, *(own.writer([position for position, _, _ in run]) for run in runs)]
        return tuple(found)

    def again(self, number: int, arguments: tuple[Any, ...], status: int) -> None:
        """Launches once more, in the device's context, where the driver refused because of another one or none."""
        if status in WRONG_CONTEXT:
            self.backend.enter()
            try:
                status = self.backend.entries.launch(*arguments)
            finally:
                self.backend.leave()
        if status:
            raise self.backend.refused(self.launches[number].call.name, status)


Runs = tuple[tuple[tuple[int, bool], ...], ...]


@lru_cache(maxsize=256)
def _text(
    given: int, aligned: tuple[bool, ...], spans: tuple[tuple[int, int], ...], kernels: tuple[Runs, ...],
    captures: bool, result: str,
) -> str:  # fmt: skip
    """The source of a recipe: straight code, since a loop over two arrays costs as much as the rest.

    Args:
        given: arrays of the call.
        aligned: whether each of them, and of the results that the call allocates, begins at a multiple of 16 bytes.
        spans: pairs of an array that takes a result and one that it must not meet.
        kernels: for each, and each run of arguments, the number of the array and whether bytes are added.
        captures: whether the stream may be captured into a graph, which has a workspace of its own.
        result: what the caller gets.
    """
    arrays, every = [f"x{i}" for i in range(given)], range(len(aligned))
    moved = [f"a{i} & 15" if aligned[i] else f"a{i} & 15 != offset{i}" for i in every]
    lines = [f"a{i} = address{i}(x{i})" for i in range(given)]
    met = moved[:given]
    met += [f"low{o}_{i} < a{o} - a{i} < high{o}_{i}" for o, i in spans]
    lines.append(f"if {' or '.join(met)}: return MISS")
    lines += [f"x{i} = empty{i}(); a{i} = address{i}(x{i})" for i in every[given:]]
    if moved[given:]:
        lines.append(f"if {' or '.join(moved[given:])}: return MISS")
    if kernels:
        lines += _queueing(kernels, captures)
    body = "".join(f"    {line}\n" for line in (*lines, f"return {result}"))
    return f"def recipe({', '.join(arrays)}):\n{body}"


def _queueing(kernels: tuple[Runs, ...], captures: bool) -> list[str]:
    """The lines that queue the kernels."""
    names, lines = list[str](), list[str]()
    if captures:
        names += ["flag", "stream", "flag_argument"]
        lines += ["if capturing(stream, flag_argument) or flag.value:", "    push(held)", "    return MISS"]
    for k, runs in enumerate(kernels):
        names += [f"launch{k}", f"own{k}", *(f"write{k}_{r}" for r in range(len(runs)))]
        for r, run in enumerate(runs):
            words = (f"a{a} + added{k}_{r}_{i}" if added else f"a{a}" for i, (a, added) in enumerate(run))
            lines.append(f"write{k}_{r}({', '.join(words)})")
        lines.append(f"status = launch(*launch{k})")
        lines.append(f"if status: again({k}, launch{k}, status)")
    lines.append("push(held)")
    take = ["try: held = pop()", "except IndexError: held = spare()", f"{', '.join(names)} = held"]
    return take + lines


@lru_cache(maxsize=256)
def _compiled(text: str, names: tuple[str, ...]) -> Callable[..., Recipe]:
    """What makes a recipe of this source from the values of its names."""
    inner = text.replace("\n", "\n    ")
    held: dict[str, Any] = {}
    exec(f"def make({', '.join(names)}):\n    {inner}\n    return recipe", {}, held)
    return held["make"]  # type: ignore[no-any-return]
