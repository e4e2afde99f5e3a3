"""Findings: what is wrong in a launch, where, and the two threads that it is about.

Names for what findings are about: threads of the launch, and the array and element at an address.

Groups of races that one barrier, or one wait for a copy, would order: each group becomes one finding.

So do findings of one kind in the same source lines.

Lines of the PTX stand for the order of the program. A barrier orders two accesses if it stands after the line of the
first and before the line of the second. If a loop runs the second line before the first, the barrier may also stand
between the first line and the end of the loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ....compiler.errors import Location
from ..ptx.demangle import demangle
from ..ptx.regions import align_up
from ..ptx.types import Instruction

if TYPE_CHECKING:
    from ..machine.address_resolution import Access
    from ..machine.launch import Launch
    from ..machine.machine import Machine
    from ..machine.memory import Allocation
    from ..ptx.types import Array


class Symbolizer:
    """Numbers the threads of a launch, and names threads and memory.

    A thread's number in the launch is the position of its CTA in cluster order times ``per_cta``, plus its number in
    the CTA. ``local`` maps a CTA of the launch to its number in the batch; -1 for CTAs of other batches.
    """

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.per_cta = align_up(launch.threads, 32)
        self.local = np.full(prod(launch.grid), -1)
        self.first: Array = np.zeros(0, np.int64)

    def batch(self, machine: Machine) -> None:
        """Sets the CTAs of the batch that begins."""
        self.local[:] = -1
        self.local[machine.order] = np.arange(machine.count)
        self.first = np.asarray(machine.order, np.int64) * self.per_cta
        self.in_order = bool((np.diff(self.first) == self.per_cta).all())

    def numbers(self, threads: Array) -> Array:
        """The numbers in the launch of threads given by their numbers in the batch."""
        if self.in_order:
            return threads + int(self.first[0])
        cta = threads // self.per_cta
        result: Array = self.first[cta] + (threads - cta * self.per_cta)
        return result

    def site(self, number: int, line: int) -> Site:
        """The thread with this number in the launch, at a PTX line."""
        source = self.launch.program.module.source.origins.at(line)
        return Site(*self.launch.coordinates(*divmod(number, self.per_cta)), line, source)

    def where(self, access: Access, offset: int, home: Allocation | None) -> str:
        """The array and element at byte ``offset`` of an allocation, or of shared or local memory if there is none."""
        type_ = access.ins.mods[-1] if access.ins.mods else ""
        size = next((s for s in (8, 4, 2, 1) if access.size % s == 0 and type_.endswith(str(8 * s))), access.size)
        if home is not None:
            return f"{name_of(home)}{element(offset, size)} ({type_})"
        stride = self.launch.shared_stride if access.space == "shared" else self.launch.local_stride
        flat = self.launch.program.flat
        near = (flat.shared if access.space == "shared" else flat.local).nearest(offset % stride)
        name, start = (demangle(near[0].name), near[1]) if near else (f"{access.space} memory", 0)
        return f"{name}{element(offset % stride - start, size)} ({access.space})"


def name_of(home: Allocation) -> str:
    """The name of an array; an array without a name is named by its address."""
    return home.name or f"allocation at {home.address:#x}"


def element(offset: int, size: int) -> str:
    """``offset`` as the index of an element of ``size`` bytes, and the byte within it unless it is the first."""
    index, byte = divmod(offset, size)
    return f"[{index}] + {byte} byte" + "s" * (byte != 1) if byte else f"[{index}]"


Index = tuple[int, ...]


@dataclass(frozen=True)
class Site:
    """A thread at an instruction: the coordinates (x, y, z) of its CTA and of the thread, and the PTX line (0: none).

    ``source`` is the line of CUDA or Python from which the PTX line comes, if the PTX says so.
    """

    cta: Index
    thread: Index
    line: int
    source: Location | None = None

    def __str__(self) -> str:
        at = f"CTA {self.cta}, thread {self.thread}"
        return f"{at}, line {self.line}" if self.line else at


@dataclass(frozen=True)
class Finding:
    """One fault, and how often it was seen.

    Attributes:
        kind: out-of-bounds, misaligned, uninitialised, shared-race, cluster-race, global-race, barrier-divergence,
            deadlock, warp-mask, warp-synchrony, no-end, assertion or trap.
        line, text: the instruction in the PTX.
        threads: the thread that met the fault, and the other access or thread that it is about, if there is one.
        where: array, element and byte; empty where no memory is touched.
        words: what is wrong, and the synchronisation that is missing.
        count: occurrences with the same kind and lines.
    """

    kind: str
    line: int
    text: str
    threads: tuple[Site, ...]
    where: str
    words: str
    count: int = 1


class Findings:
    """The findings of a sanitizer in the order of their first occurrence; a fault of the same kind and lines is one."""

    def __init__(self) -> None:
        self.found: dict[tuple[object, ...], Finding] = {}

    def add(
        self,
        kind: str,
        ins: Instruction,
        threads: tuple[Site, ...],
        where: str,
        words: str,
        count: int = 1,
    ) -> None:
        """Adds a fault, or adds ``count`` to the same fault found before."""
        key = (kind, ins.line, *(p.line for p in threads[1:]))
        old = self.found.get(key)
        if old is None:
            self.found[key] = Finding(kind, ins.line, ins.text, threads, where, words, count)
        else:
            self.found[key] = replace(old, count=old.count + count)

    def again(self, kind: str, ins: Instruction, lines: tuple[int, ...], count: int) -> bool:
        """Adds ``count`` to a fault found before, with these lines of its other threads; whether there is one."""
        key = (kind, ins.line, *lines)
        if key in self.found:
            self.found[key] = replace(self.found[key], count=self.found[key].count + count)
        return key in self.found

    def has(self, kind: str, line: int) -> bool:
        """Whether there is a finding of this kind at this line."""
        return any(key[:2] == (kind, line) for key in self.found)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.found.values())


_SHOWN = 3
"""The number of further pairs of lines that a finding names."""
_RANK = ("shared-race", "global-race", "cluster-race", "warp-synchrony")
"""Kinds of races, the one that needs the widest barrier first: that barrier orders the later kinds as well."""


@dataclass
class _Race:
    """A finding that a barrier orders if it stands after line ``after`` and before line ``before``."""

    finding: Finding
    after: int
    before: int


def grouped(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, with races that one barrier would order joined to one finding, at the position of the first."""
    found = list(findings)
    joined: dict[int, Finding] = {}
    gone: set[int] = set()
    for level in ("copy", "CTA", "cluster", "grid"):
        races = [_Race(f, f.threads[1].line, f.line) for f in found if _level(f) == level]
        _around(races)
        for group in _stabbed(races):
            positions = sorted(next(k for k, f in enumerate(found) if f is race.finding) for race in group)
            joined[positions[0]] = _one(group)
            gone.update(positions[1:])
    return _of_source([joined.get(k, f) for k, f in enumerate(found) if k not in gone])


def _of_source(findings: list[Finding]) -> list[Finding]:
    """The findings, with those of one kind in the same source lines joined, as of a loop that is unrolled."""
    out: dict[object, Finding] = {}
    lines: dict[object, list[int]] = {}
    for k, finding in enumerate(findings):
        sources = tuple(place.source for place in finding.threads)
        key: object = (finding.kind, sources) if sources and sources[0] is not None else k
        first = out.setdefault(key, finding)
        lines.setdefault(key, []).append(finding.line)
        if first is not finding:
            out[key] = replace(first, count=first.count + finding.count)
    for key, finding in out.items():
        others = sorted({*lines[key]} - {finding.line})
        if others:
            shown = ", ".join(map(str, others[:_SHOWN])) + (
                f" and {len(others) - _SHOWN} more" * (len(others) > _SHOWN)
            )
            what = "so does line" if len(others) == 1 else "so do lines"
            out[key] = replace(finding, words=f"{finding.words}; {what} {shown} of the same source line")
    return list(out.values())


def _level(finding: Finding) -> str:
    """The level of the barrier that would order the two accesses; empty for findings that no barrier would resolve."""
    if finding.kind in _RANK and finding.words.startswith("the copy that"):
        return "copy"
    if finding.kind not in _RANK or not finding.words.startswith("nothing orders"):
        return ""
    if finding.threads[0].cta == finding.threads[1].cta:
        return "CTA"
    return "cluster" if finding.kind == "cluster-race" else "grid"


def _around(races: list[_Race]) -> None:
    """Extends races around a loop, whose second line comes first: their barrier may stand up to the end of the loop.

    The known end of a loop is the last line of the overlapping races.
    """
    ends: list[tuple[int, int]] = []
    for race in sorted((r for r in races if r.before <= r.after), key=lambda r: r.before):
        low, high = race.before, race.after
        if ends and low <= ends[-1][1]:
            ends[-1] = ends[-1][0], max(high, ends[-1][1])
        else:
            ends.append((low, high))
    for race in races:
        if race.before <= race.after:
            race.before = next(high for low, high in ends if low <= race.before <= high) + 1


def _stabbed(races: list[_Race]) -> list[list[_Race]]:
    """The fewest groups of races such that one line lies between the two lines of every race of a group."""
    groups: list[list[_Race]] = []
    line = -1
    for race in sorted(races, key=lambda r: r.before):
        if race.after < line:
            groups[-1].append(race)
        else:
            groups.append([race])
            line = race.before
    return groups


def _one(group: list[_Race]) -> Finding:
    """The first finding of the kind that needs the widest barrier, with the lines of the other races added."""
    kind = min((r.finding.kind for r in group), key=_RANK.index)
    first = next(r.finding for r in group if r.finding.kind == kind)
    pair = first.threads[1].line, first.line
    others = sorted({(r.finding.threads[1].line, r.finding.line) for r in group} - {pair})
    words = first.words
    if others:
        shown = ", ".join(f"{there} and {here}" for there, here in others[:_SHOWN])
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        what = "1 pair of lines" if len(others) == 1 else f"{len(others)} pairs of lines"
        words += f"; what orders them would order {what} more: {shown}{more}"
    return replace(first, words=words, count=sum(r.finding.count for r in group))
