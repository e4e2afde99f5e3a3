"""The sectors that each array of a launch takes, for ``warpfold profile``: those of bits apart from those of elements.

An allocation of the emulator has the name of its role, ``input 0`` or ``result 1``; a program calls its arrays
otherwise, and says which of them hold bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..compiler.dtypes import BIT, dtype
from ..runtime.emulator.counters import Profile
from ..runtime.programs.plans import PreparedProgram
from . import terminal
from .emulated import Watched, Work
from .programs.words import Words
from .requests.program_request import ProgramRequest

COLUMNS = ("array", "elements", "access", "requests", "sectors", "ideal", "useful bytes", "bytes used")


BITS = "bits"
"""The elements of an array of which each word holds 32."""


@dataclass(frozen=True)
class Label:
    """What is known of an allocation.

    Attributes:
        name: what the program calls the array.
        elements: their type; ``bits`` of truth values that lie as bits. Empty if unknown.
    """

    name: str
    elements: str = ""


def labels(work: Work, watched: Watched) -> dict[str, Label]:
    """The arrays of a run by the names of their allocations."""
    if isinstance(work.request, ProgramRequest) and isinstance(watched.prepared, PreparedProgram):
        return of_program(work.request, watched.prepared)
    return {name: Label(name, dtype(x.dtype).name) for name, x in watched.arrays.items()}


def of_program(request: ProgramRequest, prepared: PreparedProgram) -> dict[str, Label]:
    """The arrays of a program by the names of their allocations."""
    program, words = prepared.program, Words(request, prepared)
    packed = {program.argument(v.array) for v in program.views if program.is_bits(v.array)}
    inputs = [BITS if i in packed else a.dtype.name for i, a in enumerate(request.kinds)]
    results = [BITS if o.dtype == BIT else o.stored.name for o in program.outputs]
    found = {f"input {i}": Label(*own) for i, own in enumerate(zip(request.names, inputs, strict=True))}
    return found | {f"result {i}": Label(words.results[i], t) for i, t in enumerate(results)}


def show(profile: Profile, known: Mapping[str, Label]) -> None:
    """Prints a row for each array and kind of access, if a launch accesses arrays in global memory."""
    lines = [
        [label.name, label.elements or "-", what.removeprefix("global "), f"{one.requests:,}", f"{one.sectors:,}",
         f"{one.ideal:,}", f"{one.nbytes:,}", f"{100 * one.used:.2f} %"]
        for array, own in sorted(profile.arrays.items())
        for label in [known.get(array, Label(array))]
        for what, one in sorted(own.items())
    ]  # fmt: skip
    if lines:
        terminal.show()
        terminal.table(COLUMNS, lines)


def facts(profile: Profile, known: Mapping[str, Label]) -> list[dict[str, object]]:
    """The same as plain values."""
    return [
        {"array": label.name, "elements": label.elements or None, "access": what, **vars(one)}
        for array, own in sorted(profile.arrays.items())
        for label in [known.get(array, Label(array))]
        for what, one in sorted(own.items())
    ]


def sectors_of_bits(profile: Profile, known: Mapping[str, Label]) -> int:
    """The sectors that arrays of bits take."""
    of_bits = (own for array, own in profile.arrays.items() if known.get(array, Label(array)).elements == BITS)
    return sum(one.sectors for own in of_bits for one in own.values())
