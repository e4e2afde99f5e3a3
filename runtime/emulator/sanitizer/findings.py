"""Findings: what is wrong in a launch, where, and the two threads that it is about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ....compiler.errors import Location
from ..ptx.types import Instruction

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
