"""The recipe of a call: what repeats it on other arrays of the same kinds, from what the long way queued.

Its source is written for the number of arrays and kernels: a loop over two arrays would cost as much as all the rest.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ...compiler.program.tracing import Structure, named
from ..arrays.fast_readers import reader_of
from ..backends.kernel_calls import Start
from ..backends.launch_buffers import WORD, argument

if TYPE_CHECKING:
    from ..backends.launch_buffers import Packed
    from ..view import View
    from .operands import Operands

MISS: Any = object()
"""What a recipe gives when it does not apply: addresses of another alignment, or that overlap, or a captured graph."""
WRONG_CONTEXT = (201, 400)
"""``CUDA_ERROR_INVALID_CONTEXT`` and ``_INVALID_HANDLE``: a launch in a thread without a context, or in another one."""
LOW = 1 << 32
"""No device has memory below: there lie the addresses of arrays that have none, which the long way tells apart."""
Recipe = Callable[..., Any]
Places = list[tuple[int, int, int]]


class QueuedCall(NamedTuple):
    """What one call queued.

    Attributes:
        arrays: its arrays.
        launches: its kernels.
        structure: how its results nest.
        shared: whether its kernels use the workspace of the stream.
    """

    arrays: Operands
    launches: Sequence[Packed]
    structure: Structure
    shared: bool


Guard = Mapping[str, Any]
"""What a recipe asks unless the arrays are known to be of its kinds, so that it can be tried on any; by name.

- ``check``: whether they are of these kinds.
- ``same``, where functions read from outside: whether that is what it was.
- ``stream`` and ``number``: what the caller's must be.
- ``elsewhere``: what gives the result on another stream.
"""


def recipe_of(call: QueuedCall, arrays: tuple[Any, ...], guard: Guard) -> Recipe | None:
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
    for k, found in enumerate(places):
        values |= {f"added{k}_{word}": added for word, _, added in found if added}
    captures = call.shared and backend.can_capture(call.arrays.stream)
    values |= _Spare(backend, call.launches, captures).values()
    values |= guard
    shape = tuple(tuple((word, array, added != 0) for word, array, added in found) for found in places)
    pairs = tuple((o, i) for o, _, _, i in spans)
    aligned = tuple(v.address % 16 == 0 for v in views)
    held = tuple(0 not in v.shape for v in views[: len(arrays)])
    asks = tuple(question for question in ("check", "same") if question in guard)
    text = _text(held, aligned, pairs, shape, captures, result, asks)
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


def _places(launch: Packed) -> Places:
    """The arguments that are addresses of arrays, as (number of the word, array, bytes added)."""
    offsets = zip(launch.call.args, launch.function.offsets, strict=True)
    return [(offset // WORD, a.array, a.added) for a, offset in offsets if isinstance(a, Start)]


class _Spare:
    """The launches of a recipe in memory that nobody else uses: one set for each call under way at the same time."""

    def __init__(self, backend: Any, launches: Sequence[Packed], captures: bool) -> None:
        self.backend, self.launches, self.captures = backend, launches, captures
        self.free: list[tuple[Any, ...]] = []
        self.made: list[Packed] = []  # whose memory the driver is given

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
        for own in [launch.copy() for launch in self.launches]:
            found += [own.arguments, own.words]
            self.made.append(own)
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


Writes = tuple[tuple[int, int, bool], ...]


@lru_cache(maxsize=256)
def _text(
    held: tuple[bool, ...], aligned: tuple[bool, ...], spans: tuple[tuple[int, int], ...], kernels: tuple[Writes, ...],
    captures: bool, result: str, asks: tuple[str, ...] = (),
) -> str:  # fmt: skip
    """The source of a recipe: straight code, since a loop over two arrays costs as much as the rest.

    Args:
        held: whether each array of the call has elements, and so an address that is not near 0.
        aligned: whether each of them, and of the results that the call allocates, begins at a multiple of 16 bytes.
        spans: pairs of an array that takes a result and one that it must not meet.
        kernels: for each, the words of its arguments that are addresses: which, of what array, whether bytes are added.
        captures: whether the stream may be captured into a graph, which has a workspace of its own.
        result: what the caller gets.
        asks: the questions that come first, ``check`` and ``same``; none without a guard.
    """
    given, every = len(held), range(len(aligned))
    names = ", ".join(f"x{i}" for i in range(given))
    lines = _guarding(asks, names) if asks else []
    lines += [f"a{i} = address{i}(x{i})" for i in range(given)]
    met = _moved(aligned, every[:given]) + [f"a{i} < {LOW}" for i in every[:given] if held[i]]
    met += [f"low{o}_{i} < a{o} - a{i} < high{o}_{i}" for o, i in spans]
    lines.append(f"if {' or '.join(met)}: return MISS")
    lines += [f"x{i} = empty{i}(); a{i} = address{i}(x{i})" for i in every[given:]]
    if every[given:]:
        lines.append(f"if {' or '.join(_moved(aligned, every[given:]))}: return MISS")
    if kernels:
        lines += _queueing(kernels, captures)
    body = "".join(f"    {line}\n" for line in (*lines, f"return {result}"))
    return f"def recipe({names}, known=False):\n{body}"


def _guarding(asks: tuple[str, ...], names: str) -> list[str]:
    """The lines that leave arrays of other kinds to the long way, and those of another stream to its recipe."""
    found = " or ".join({"check": f"not check({names})", "same": "not same()"}[ask] for ask in asks)
    return ["if not known:", f"    if {found}: return MISS", f"    if stream() != number: return elsewhere({names})"]


def _moved(aligned: Sequence[bool], which: Sequence[int]) -> list[str]:
    """What is true where one of the arrays does not begin where the first call's began, modulo 16 bytes."""
    even = " | ".join(f"a{i}" for i in which if aligned[i])
    return ([f"({even}) & 15"] if even else []) + [f"a{i} & 15 != offset{i}" for i in which if not aligned[i]]


def _queueing(kernels: tuple[Writes, ...], captures: bool) -> list[str]:
    """The lines that queue the kernels."""
    names, lines = list[str](), list[str]()
    if captures:
        names += ["flag", "stream_argument", "flag_argument"]
        lines += ["if capturing(stream_argument, flag_argument) or flag.value:", "    push(held)", "    return MISS"]
    for k, writes in enumerate(kernels):
        names += [f"launch{k}", f"words{k}"]
        lines += [f"words{k}[{w}] = a{a}{f' + added{k}_{w}' if added else ''}" for w, a, added in writes]
        lines.append(f"if status := launch(*launch{k}): again({k}, launch{k}, status)")
    held = f"{', '.join(names)} = held"
    return [f"try: {held} = pop()", f"except IndexError: {held} = spare()", *lines, "push(held)"]


@lru_cache(maxsize=256)
def _compiled(text: str, names: tuple[str, ...]) -> Callable[..., Recipe]:
    """What makes a recipe of this source from the values of its names."""
    inner = text.replace("\n", "\n    ")
    held: dict[str, Any] = {}
    exec(f"def make({', '.join(names)}):\n    {inner}\n    return recipe", {}, held)
    return held["make"]  # type: ignore[no-any-return]
