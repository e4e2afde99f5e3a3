"""A planted fault: a scene with a mistake, and its correct reports."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import handmade
from scene import Report, Scene

OUT = "out-of-bounds"
MISALIGNED = "misaligned"
UNWRITTEN = "uninitialised"
SHARED = "shared-race"
CLUSTER = "cluster-race"
GLOBAL = "global-race"
DIVERGED = "barrier-divergence"
DEADLOCK = "deadlock"
TRAP = "trap"
MASK = "warp-mask"
WARP = "warp-synchrony"
ENDLESS = "no-end"
STUCK = (DEADLOCK, ENDLESS, DIVERGED)


@dataclass(frozen=True, eq=False)
class Fault:
    """A planted fault.

    Attributes:
        name: the kernel it is planted in, then the change.
        kinds: the kinds of a correct report; it is counted as the first.
        scene: makes its kernel and launch.
        lines: matches the PTX line of a correct report; for kernels written by hand, the mark of their source lines.
        source: the file with the marks, or nothing.
    """

    name: str
    kinds: tuple[str, ...]
    scene: Callable[[], Scene]
    lines: str
    source: str = ""

    def right(self, found: Sequence[Report]) -> list[Report]:
        """The reports with a correct kind and line."""
        return [r for r in found if r.kind in self.kinds and self._names(r)]

    def _names(self, report: Report) -> bool:
        if not self.source:
            line = report.ptx.splitlines()[report.line - 1]
            return re.search(self.lines, line) is not None
        file = self.source.replace(".cu", ".ptx")
        places, marked = handmade.places(file), handmade.marked(self.source)
        return report.ptx == handmade.text(file) and places[report.line] in marked[self.lines]
