"""Recipes: generated functions that repeat the launches of a call on other arrays of the same kinds.

The source is straight-line code for the given arrays and kernels: a loop over two arrays would double the cost.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from ...compiler.program.tracing import Structure, tuple_type
from ..arrays.fast_readers import NUMBERS, READERS, Check
from ..backends.kernel_calls import Start
from ..backends.launch_buffers import WORD, argument

if TYPE_CHECKING:
    from ..backends.launch_buffers import PackedLaunch
    from ..view import View
    from .operands import Operands

MISS: Any = object()
"""The result of a recipe that does not apply: another alignment, overlapping arrays, or a captured graph."""
WRONG_CONTEXT = (201, 400)
"""``CUDA_ERROR_INVALID_CONTEXT`` and ``_INVALID_HANDLE``: the thread has no context, or another one."""
FIXED = -1
"""In place of the number of an array whose address stays what it is in the launches."""
LOW = 1 << 32
"""Device memory is above this address; lower ones belong to arrays without memory, which a full call reports."""
Recipe = Callable[..., Any]
AddressWords = list[tuple[int, int, int]]


class QueuedCall(NamedTuple):
    """A call and the launches that it queued.

    Attributes:
        arrays: its operands.
        launches: its launches, in order.
        structure: the nesting of its results.
        shared: whether its kernels use the workspace of the stream.
        same: (result, input) pairs that are one array; all others must not overlap.
    """

    arrays: Operands
    launches: Sequence[PackedLaunch]
    structure: Structure
    shared: bool
    same: frozenset[tuple[int, int]] = frozenset()


class Guard(NamedTuple):
    """Tests with which a recipe starts, to know whether it applies to arrays of unknown kinds.

    Attributes:
        check: tests the kinds of the arrays, and the variables that functions read.
        stream, number: ``stream()`` must equal ``number``.
        elsewhere: repeats the call on another stream.
    """

    check: Check
    stream: Callable[[], int]
    number: int
    elsewhere: Callable[..., Any]

    @property
    def names(self) -> dict[str, Any]:
        """The names in the tests, with their values."""
        function, places = _unbound(self.stream)
        own = {"stream": function, "number": self.number, "elsewhere": self.elsewhere}
        return self.check.names | own | {f"place{i}": place for i, place in enumerate(places)}

    @property
    def current(self) -> str:
        """The caller's stream as a Python expression."""
        return f"stream({', '.join(f'place{i}' for i, _ in enumerate(_unbound(self.stream)[1]))})"


def _unbound(call: Callable[..., Any]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function and its arguments: a ``partial`` without its own call."""
    return (call.func, call.args) if type(call) is partial and not call.keywords else (call, ())


def recipe_of(call: QueuedCall, arrays: tuple[Any, ...], guard: Guard | None) -> Recipe | None:
    """The recipe that repeats ``call`` on arrays of the kinds of ``arrays``; None if launches alone do not suffice.

    Those that are fixed keep their addresses: whoever calls the recipe keeps them alive.
    """
    inputs, outputs = len(call.arrays.inputs) - call.arrays.fixed, call.arrays.outputs
    order = sorted(range(len(outputs)), key=lambda o: all(outputs[o].owner is not x for x in arrays[inputs:]))
    views = (*call.arrays.inputs[:inputs], *(outputs[o] for o in order))  # results that are made come last
    results = [inputs + order.index(o) for o in range(len(outputs))]
    numbers = [*range(inputs), *[FIXED] * call.arrays.fixed, *results]
    backend: Any = call.arrays.backend
    made = [v.owner for v in views[len(arrays) :]]
    readers = [READERS[type(x)] for x in (*arrays, *made)]
    passed = call.arrays.numbers
    direct = all(
        v.owner is x and (reader is NUMBERS if i in passed else v.device == backend.device)
        for i, (v, x, reader) in enumerate(zip(views, (*arrays, *made), readers, strict=True))
    )
    if not direct or None in readers or (call.shared and backend.captures(call.arrays.stream)):
        return None
    same = tuple(sorted((results[o], i) for o, i in call.same))
    spans = [
        (o, *_apart(views[i], views[o]), i)
        for o in range(inputs, len(arrays))
        for i in range(o)
        if (o, i) not in same and i not in passed
    ]
    values: dict[str, Any] = {"MISS": MISS, "IndexError": IndexError}
    result = _nested(call.structure, results, values)
    for i, (v, reader) in enumerate(zip(views, readers, strict=True)):
        values[f"address{i}"], values[f"offset{i}"] = reader.address, v.address & 15  # type: ignore[union-attr]
    for i, x in enumerate(made, start=len(arrays)):
        values[f"empty{i}"], values[f"like{i}"] = _unbound(readers[i].empty(x))  # type: ignore[union-attr]
    for o, low, high, i in spans:
        values[f"low{o}_{i}"], values[f"high{o}_{i}"] = low, high
    words_of = [_address_words(p, numbers) for p in call.launches]
    for k, found in enumerate(words_of):
        values |= {f"added{k}_{word}": added for word, _, added in found if added}
    captures = call.shared and backend.can_capture(call.arrays.stream)
    values |= _Spare(backend, call.launches, captures).values()
    values |= guard.names if guard else {}
    shape = tuple(tuple((word, array, added != 0) for word, array, added in found) for found in words_of)
    pairs = tuple((o, i) for o, _, _, i in spans)
    aligned = tuple(None if i in passed else v.address % 16 == 0 for i, v in enumerate(views))
    held = tuple(0 not in v.shape and i not in passed for i, v in enumerate(views[: len(arrays)]))
    tests = (guard.check.text, guard.current) if guard else ("", "")
    text = partial(_text, held, aligned, pairs, shape, captures, result, *tests, same)
    recipe = compiled(text(), tuple(values))(**values)
    if guard:
        recipe.source = text, values  # type: ignore[attr-defined]
    return recipe


def guarded(n: int, check: Check, call: Recipe) -> Recipe:
    """A recipe that makes ``call`` of so many arrays that pass a test."""
    values = check.names | {"call": call, "MISS": MISS}
    names, met = ", ".join(f"x{i}" for i in range(n)), check.text

    def text(form: Form | None = None) -> str:
        head, miss = (f"def recipe({names}):\n", "MISS") if form is None else (_heading(form), f"missed({names})")
        return f"{head}    if not ({met}): return {miss}\n    return call({names})"

    recipe = compiled(text(), tuple(values))(**values)
    recipe.source = text, values  # type: ignore[attr-defined]
    return recipe


def _nested(structure: Structure, numbers: Sequence[int], values: dict[str, Any]) -> str:
    """The source of the returned value; result arrays have these ``numbers``."""
    if isinstance(structure, int):
        return f"x{numbers[structure]}"
    name, fields, members = structure
    inner = "".join(f"{_nested(m, numbers, values)}, " for m in members)
    if not fields:
        return f"({inner})"
    kind = f"kind{len(values)}"
    values[kind] = tuple_type(name, tuple(fields))
    return f"{kind}({inner})"


def _apart(v: View, w: View) -> tuple[int, int]:
    """Exclusive bounds of w's address minus v's between which their byte ranges overlap."""
    (low, high), (first, last) = v.extent, w.extent
    return (low - v.address) - (last - w.address), (high - v.address) - (first - w.address)


def _address_words(launch: PackedLaunch, numbers: Sequence[int]) -> AddressWords:
    """The arguments that are addresses of arrays, as (index of the word, number of the array, bytes added)."""
    offsets = zip(launch.call.args, launch.function.offsets, strict=True)
    found = [(offset // WORD, numbers[a.array], a.added) for a, offset in offsets if isinstance(a, Start)]
    return [word for word in found if word[1] != FIXED]


class _Spare:
    """A pool of argument buffers for the launches of a recipe: concurrent calls need separate ones."""

    def __init__(self, backend: Any, launches: Sequence[PackedLaunch], captures: bool) -> None:
        self.backend, self.launches, self.captures = backend, launches, captures
        self.free: list[tuple[Any, ...]] = []
        self.made: list[PackedLaunch] = []  # keeps the memory alive that the driver reads

    def values(self) -> dict[str, Any]:
        """The names that the source of a recipe uses."""
        return {
            "pop": self.free.pop, "push": self.free.append, "spare": self.make, "again": self.again,
            "launch": self.backend.entries.launch, "capturing": self.backend.entries.capturing,
        }  # fmt: skip

    def make(self) -> tuple[Any, ...]:
        """A new set of buffers, in the order in which the recipe unpacks it."""
        found: list[Any] = []
        if self.captures:
            flag = ctypes.c_int()
            found += [flag, argument(self.launches[0].stream), argument(ctypes.addressof(flag))]
        for own in [launch.copy() for launch in self.launches]:
            found += [own.arguments, own.words]
            self.made.append(own)
        return tuple(found)

    def again(self, number: int, arguments: tuple[Any, ...], status: int) -> None:
        """Launches again in the device's context, if another context or none was current; else raises the error."""
        if status in WRONG_CONTEXT:
            self.backend.enter()
            try:
                status = self.backend.entries.launch(*arguments)
            finally:
                self.backend.leave()
        if status:
            raise self.backend.refused(self.launches[number].call.name, status)


Writes = tuple[tuple[int, int, bool], ...]
Form = tuple[tuple[bool, ...], tuple[tuple[str, bool], ...], bool]
"""How a call is written: whether each argument by position, and by name, is an array, and whether it has ``out``."""


@lru_cache(maxsize=512)
def _text(
    held: tuple[bool, ...], aligned: tuple[bool | None, ...], spans: tuple[tuple[int, int], ...],
    kernels: tuple[Writes, ...], captures: bool, result: str, guard: str = "", stream: str = "stream()",
    same: tuple[tuple[int, int], ...] = (), form: Form | None = None,
) -> str:  # fmt: skip
    """The source of a recipe.

    Args:
        held: whether each array of the call has elements, and so must have an address above ``LOW``.
        aligned: whether each array, also of the results that the call allocates, begins at a multiple of 16 bytes;
            None for a number.
        spans: pairs of a result array and an array that it must not overlap.
        kernels: for each kernel its address arguments: index of the word, array, and whether bytes are added.
        captures: whether a graph may capture the stream; a graph has a workspace of its own.
        result: the source of the returned value.
        guard: its test, as a Python expression; nothing without a guard.
        stream: the caller's stream, as another.
        same: pairs of a result array and the input that it must be.
        form: for a function that takes any call, see ``written.py``, how those are written that it repeats.
    """
    given, every = len(held), range(len(aligned))
    names = ", ".join(f"x{i}" for i in range(given))
    lines = _guarding(guard, stream, names, known=form is None) if guard else []
    lines += [f"a{i} = address{i}(x{i})" for i in range(given)]
    met = _moved(aligned, every[:given]) + [f"a{i} < {LOW}" for i in every[:given] if held[i]]
    met += [f"low{o}_{i} < a{o} - a{i} < high{o}_{i}" for o, i in spans] + [f"a{o} != a{i}" for o, i in same]
    lines += [f"if {' or '.join(met)}: return MISS"] if met else []
    lines += [f"x{i} = empty{i}(*like{i}); a{i} = address{i}(x{i})" for i in every[given:]]
    if every[given:]:
        lines.append(f"if {' or '.join(_moved(aligned, every[given:]))}: return MISS")
    if kernels:
        lines += _queueing(kernels, captures)
    body = "".join(f"    {line}\n" for line in (*lines, f"return {result}"))
    if form is not None:
        return _heading(form) + body.replace("return MISS", f"return missed({names})")
    return f"def recipe({names}, known=False):\n{body}"


def _heading(form: Form) -> str:
    """The first lines of a function that takes any call, and goes on for one that is written so."""
    places, named, out = form
    numbers, given = count(), count()
    xs = [f"x{next(numbers)}" if is_array else f"p{next(given)}" for is_array in places]
    own = [(name, is_array, f"x{next(numbers)}" if is_array else f"given{next(given)}") for name, is_array in named]
    met = [f"{x} is not given{x[1:]}" for x in xs if x[0] == "p"]
    met += [f"{name} is not {value}" for name, is_array, value in own if not is_array]
    first, second = ("".join(f"{name}=MISS, " for name in names) for names in (xs, (name for name, _, _ in own)))
    how = "".join(f"'{name}': {name}, " for name, _, _ in own)
    return "\n    ".join([
        f"def recipe({f'{first}/, ' if first else ''}*xs, {second}out=None, **how):",
        f"if {' or '.join([*met, 'xs', 'how', 'out is None' if out else 'out is not None'])}: "
        f"return other(({''.join(f'{x}, ' for x in xs)}*xs,), out, {{{how}**how}})",
        *(f"{x} = {name}" for name, is_array, x in own if is_array), *[f"x{next(numbers)} = out"] * out,
    ]) + "\n"  # fmt: skip


def _guarding(met: str, stream: str, names: str, known: bool) -> list[str]:
    """The lines that test the guard: ``MISS`` for other kinds, and the recipe of the right stream.

    With ``known`` they are not run for arrays of known kinds.
    """
    lines = [f"if not ({met}): return MISS", f"if {stream} != number: return elsewhere({names})"]
    return ["if not known:", *(f"    {line}" for line in lines)] if known else lines


def _moved(aligned: Sequence[bool | None], which: Sequence[int]) -> list[str]:
    """Conditions that are true if an array has another alignment, modulo 16 bytes, than in the first call."""
    even = " | ".join(f"a{i}" for i in which if aligned[i])
    return ([f"({even}) & 15"] if even else []) + [f"a{i} & 15 != offset{i}" for i in which if aligned[i] is False]


def _queueing(kernels: tuple[Writes, ...], captures: bool) -> list[str]:
    """The lines that write addresses and launch the kernels."""
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


@lru_cache(maxsize=512)
def compiled(text: str, names: tuple[str, ...]) -> Callable[..., Recipe]:
    """A function that makes a recipe with this source from the values of its names."""
    inner = text.replace("\n", "\n    ")
    held: dict[str, Any] = {}
    source = f"def make({', '.join(names)}):\n    {inner}\n    return recipe"
    exec(compile(source, f"{__file__}, generated", "exec"), {}, held)  # errors do not name its lines, as ours
    return held["make"]  # type: ignore[no-any-return]
