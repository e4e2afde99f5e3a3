"""Findings: what is wrong in a launch, where, and which two threads it is about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ....compiler.errors import Location
from ..ptx.types import Instruction

Index = tuple[int, ...]


@dataclass(frozen=True)
class Site:
    """A thread at an instruction: its CTA and its place in it (x, y, z), and the PTX line; 0 is no line.

    ``source`` is the line of CUDA or Python that the PTX line comes from, where the PTX says it.
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
        threads: one or two places: who met the fault, and the other access or thread it is about.
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
    """What a sanitizer found, in the order in which it was met; the same fault in the same lines is one finding."""

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
        """Adds a fault, or counts it to one found before."""
        key = (kind, ins.line, *(p.line for p in threads[1:]))
        old = self.found.get(key)
        if old is None:
            self.found[key] = Finding(kind, ins.line, ins.text, threads, where, words, count)
        else:
            self.found[key] = replace(old, count=old.count + count)

    def has(self, kind: str, line: int) -> bool:
        """Whether this line has a finding of this kind."""
        return any(key[:2] == (kind, line) for key in self.found)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.found.values())
