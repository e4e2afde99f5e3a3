"""Calls of programs on shards, without their arrays: what is found out once, and repeated for calls that are alike.

What ranks say of their calls of a program before any state travels, so that a mistake is an error on every rank.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

import torch

from ...compiler.errors import WarpfoldError, error
from ...compiler.program.arrays.trace import ArrayArg
from ...compiler.program.frames import caller
from ...compiler.space.geometry import normalize_axes
from ..options import check_options
from ..programs.arguments import Arguments, arguments_of
from ..programs.function import DEFAULTS, ArrayFunction
from ..programs.saved import Place, array_arg
from ..programs.traces import Traces, names_of
from .group import MOST_DIMS, PROGRAM, Ranks, Words, check_tensors, two_words
from .known_calls import KnownCall, KnownCalls, key_of
from .staged import Extents, Staged, whole_of

MOST_ARRAYS = 24
"""The greatest number of arrays of a program."""
NO_AXIS = -1
"""In place of the axis of an array that every rank has."""
_WIDTH = MOST_DIMS + 2
"""Integers for each array: its axis, its rank and its extents."""
_HEAD = 5
"""Integers before those: the digest, the number of arrays, which require gradients, and for how many results arrays are
given."""


@dataclass(frozen=True)
class Offer:
    """A call of a program on one rank.

    Attributes:
        digest: of the program, its parameters and the types of its arrays.
        shapes: the shape of each array.
        axes: the axis along which each is cut, or None.
        needed: which of them require gradients, as bits.
        given: for how many results ``out=`` has a place.
    """

    digest: str
    shapes: tuple[tuple[int, ...], ...]
    axes: tuple[int | None, ...]
    needed: int = 0
    given: int = 0

    def words(self) -> list[int]:
        """As integers, always as many."""
        found = [*two_words(self.digest), len(self.shapes), self.needed, self.given]
        for shape, axis in zip(self.shapes, self.axes, strict=True):
            found += [NO_AXIS if axis is None else axis, len(shape), *shape, *[0] * (MOST_DIMS - len(shape))]
        return found

    def extents(self, ranks: Ranks, xs: Iterable[object]) -> tuple[tuple[int, ...], ...]:
        """For each array its extents on all ranks along the axis that is cut, nothing for a whole one.

        It waits for the device.

        Raises:
            ArgumentError: on every rank, WF169 where a rank cannot make its call, which its own error says, and WF171
                where the call of a rank is not that of rank 0 but for the extents of shards.
        """
        rows = ranks.meet(PROGRAM, self.words(), _difference, ranks.device(xs))
        return tuple(
            () if axis is None else tuple(row[_HEAD + i * _WIDTH + 2 + axis] for row in rows)
            for i, axis in enumerate(self.axes)
        )


def _difference(first: Words, other: Words) -> str:
    """How the words of two ranks differ; nothing where only the extents of cut axes do."""
    if first[2] != other[2]:
        return f"is one of {other[2]} arrays: expected {first[2]}"
    for i in range(first[2]):
        a, b = (row[_HEAD + i * _WIDTH : _HEAD + (i + 1) * _WIDTH] for row in (first, other))
        if a[0] != b[0]:
            cut = [f"cut along axis {x[0]}" if x[0] != NO_AXIS else "whole" for x in (b, a)]
            return f"has array {i} {cut[0]}: expected it {cut[1]}"
        shapes = [tuple(x[2 : 2 + x[1]]) for x in (b, a)]
        rest = [[n for axis, n in enumerate(s) if axis != a[0]] for s in shapes]
        if a[1] != b[1] or rest[0] != rest[1]:
            but = f" but for axis {a[0]}" if a[0] != NO_AXIS else ""
            return f"has array {i} of shape {shapes[0]}: expected {shapes[1]}{but}"
    if first[:2] != other[:2]:
        return "is of another program, of other parameters or of other element types: expected the same"
    if first[3] != other[3]:
        return f"requires gradients of arrays {_numbers(other[3])}: expected {_numbers(first[3])}"
    if first[4] != other[4]:
        return f"is of a call with {other[4]} array(s) in out=: expected {first[4]}"
    return ""


def _numbers(bits: int) -> tuple[int, ...]:
    return tuple(i for i in range(MOST_ARRAYS) if bits >> i & 1)


Shards = int | Mapping[str, int] | Sequence[int | None]
"""The axis of the first array that is cut; or for each array by its name, or for all in order, its axis or None."""
USUAL = 1 << 10
"""The extent of a cut axis in the trace that ranks compare."""


class Kind(NamedTuple):
    """A kind of call of a program on one rank: everything but the elements of its arrays.

    Attributes:
        function: the function of arrays.
        arguments: the arguments without the arrays.
        arrays: the element type and the shape of each array.
        axes: the axis along which each is cut; None for one that every rank has.
        options: the arguments of every call.
    """

    function: Callable[..., Any]
    arguments: Arguments
    arrays: tuple[ArrayArg, ...]
    axes: tuple[int | None, ...]
    options: Mapping[str, Any]

    @property
    def places(self) -> list[Place]:
        """For each array its position, or the keyword by which it was given."""
        own: dict[object, Place] = {slot: name for name, slot in self.arguments.named}
        own |= {slot: i for i, slot in enumerate(self.arguments.positional)}
        return [own[i] for i in range(len(self.arrays))]

    @property
    def digest(self) -> str:
        """Names the program, its parameters and the types of its arrays, whatever extents shards have."""
        usual = [
            a if axis is None else a._replace(shape=(*a.shape[:axis], USUAL, *a.shape[axis + 1 :]))
            for a, axis in zip(self.arrays, self.axes, strict=True)
        ]
        try:
            return _traces(self.function).get(self.arguments, usual).digest
        except WarpfoldError as e:  # the whole arrays may do, and an error of theirs is one on every rank
            return blake2b(e.code.encode(), digest_size=16).hexdigest()

    def alike(self, count: int) -> Extents:
        """The extents of shards that are all as those of this rank."""
        pairs = zip(self.arrays, self.axes, strict=True)
        return tuple(() if axis is None else (a.shape[axis],) * count for a, axis in pairs)

    def whole(self, extents: Extents) -> list[ArrayArg]:
        """The arrays as if one rank had all of them."""
        return [whole_of(a, axis, own) for a, axis, own in zip(self.arrays, self.axes, extents, strict=True)]

    def staged(self, extents: Extents, ranks: Ranks, *, late: bool = False) -> Staged:
        """What runs it where all ranks have these extents; see ``stages_of`` for ``late``."""
        program = _traces(self.function).get(self.arguments, self.whole(extents), apart=True)
        return Staged(program, self.axes, self.arrays, extents, ranks, self.options, late=late)


class Known(KnownCall):
    """A kind of call of a program, and what was found out about it.

    Attributes:
        kind: the kind of call.
        places: for each array its position, or the keyword by which it is given.
    """

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind.function)
        self.kind, self.places = kind, kind.places

    def arrays(self, xs: Sequence[Any], how: Mapping[str, Any]) -> list[Any]:
        """The arrays of a call that is written alike."""
        return [xs[p] if isinstance(p, int) else how[p] for p in self.places]

    def offer(self, needed: tuple[bool, ...], given: int) -> Offer:
        """What this rank says of it, where some arrays require gradients, and so many results have arrays."""
        return self.once(("offer", needed, given), lambda: self._offer(needed, given))

    def _offer(self, needed: tuple[bool, ...], given: int) -> Offer:
        kind, bits = self.kind, sum(own << i for i, own in enumerate(needed))
        return Offer(kind.digest, tuple(a.shape for a in kind.arrays), kind.axes, bits, given)

    def staged(self, extents: Extents, ranks: Ranks, *, late: bool) -> Staged:
        """What runs it where all ranks have these extents."""
        return self.once((extents, ranks, late), lambda: self.kind.staged(extents, ranks, late=late))


def needed_of(arrays: Sequence[Any]) -> tuple[bool, ...]:
    """Which arrays require gradients."""
    return tuple(getattr(x, "requires_grad", False) for x in arrays)


def known(
    what: Callable[..., Any], xs: Sequence[Any], how: Mapping[str, Any], name: Hashable, lying: Callable[[], Shards]
) -> Known:
    """What is known of a call.

    Args:
        what: the program.
        xs: its arguments by position.
        how: those by keyword.
        name: what tells how its shards lie, beside the shapes of the arguments; None for nothing that has a hash.
        lying: says how they lie.

    Raises:
        ArgumentError: as a call of the program, and WF173 for shards that it has not.
    """
    key = None if name is None else key_of(what, xs, how, name)
    return _calls.of(key, lambda: Known(_kind(what, xs, how, lying)))


_calls: KnownCalls[Known] = KnownCalls()


def _kind(what: Callable[..., Any], xs: Sequence[Any], how: Mapping[str, Any], lying: Callable[[], Shards]) -> Kind:
    """The kind of a call, checked."""
    function = what.function if isinstance(what, ArrayFunction) else what
    options = {name: value for name, value in how.items() if name in DEFAULTS}
    check_options(determinism=options.get("determinism", "run"))
    own = {name: value for name, value in how.items() if name not in DEFAULTS}
    arguments, arrays = arguments_of(function, xs, own)
    check_tensors(str(getattr(function, "__name__", "the program")), arrays, options.get("device", "auto"))
    with torch.no_grad():
        kinds = tuple(map(array_arg, arrays))
    return Kind(function, arguments, kinds, _axes(function, arguments, kinds, lying()), options)


@lru_cache(maxsize=1024)
def _traces(function: Callable[..., Any]) -> Traces:
    return Traces(function)


def _axes(
    function: Callable[..., Any], arguments: Arguments, arrays: Sequence[ArrayArg], shards: Any
) -> tuple[int | None, ...]:
    """The axis along which each array is cut."""
    name, n = str(getattr(function, "__name__", "the program")), len(arrays)
    ranks = [len(a.shape) for a in arrays]
    if n > MOST_ARRAYS or max(ranks) > MOST_DIMS:
        problem = f"it has {n} arrays of up to {max(ranks)} axes: expected at most {MOST_ARRAYS} of {MOST_DIMS}"
        raise error("WF173", name=name, problem=problem, where=caller())
    given: list[Any] = [None] * n
    if isinstance(shards, Mapping):
        names = names_of(function, arguments, n)
        for key, axis in shards.items():
            if key not in names:
                problem = f"shards= names {key!r}, and its arrays are {', '.join(names)}"
                raise error("WF173", name=name, problem=problem, where=caller())
            given[names.index(key)] = axis
    elif isinstance(shards, Sequence) and not isinstance(shards, str):
        if len(shards) != n:
            problem = f"shards= has {len(shards)} entries for {n} arrays"
            raise error("WF173", name=name, problem=problem, where=caller())
        given = [*shards]
    elif shards is None:
        problem = "shards= is None: expected an axis of the first array, a dict from names of arrays to axes, or a list"
        raise error("WF173", name=name, problem=problem, where=caller())
    else:
        given[0] = shards
    for a in given:
        if isinstance(a, tuple | list):
            problem = f"shards= names axes {a!r} of one array: expected one axis"
            raise error("WF173", name=name, problem=problem, where=caller())
    return tuple(None if a is None else normalize_axes(a, r)[0] for a, r in zip(given, ranks, strict=True))
