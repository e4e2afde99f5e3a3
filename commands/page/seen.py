"""What the emulator shows of an operation: counts, who touches which elements, and what the player goes through."""

from __future__ import annotations

from math import prod
from typing import Any

from ...compiler.errors import error
from ...compiler.program.tracing import leaf_names
from ...runtime.emulator.counters import Line as Counted
from ...runtime.emulator.counters import Profile
from ...runtime.emulator.profiler import Profiler
from ...runtime.emulator.recorder import ACCESSES, STEPS, Recorder, Recording
from ...runtime.prepare import artifact
from ...runtime.programs.plans import PreparedProgram
from .. import array_traffic, profile, run
from ..emulated import Watched, Work, watch
from ..programs import run as program_run
from ..requests.choose import AnyRequest
from ..requests.program_request import ProgramRequest
from ..results import verdict
from .model import Fact, Grid, Launched, Owned, Table
from .owned import owned
from .play import play

MOST = 1 << 20
"""The most elements of all arrays together that the emulator runs for a page."""
FAULTS = ("divergent", "sectors", "bank conflicts", "global bytes moved")
"""The counters that are a fault of branches and accesses where they are above their ideals."""


class Seen:
    """A run on the emulator under both of its instruments."""

    def __init__(self, request: AnyRequest, max_steps: int | None) -> None:
        self.request = request
        count = _elements(request)
        if count > MOST:
            raise error("WF857", count=count, most=MOST)
        profiler, recorder = Profiler(), Recorder()
        self.watched = watch(Work(request, max_steps=max_steps), profiler)
        watch(Work(request, max_steps=max_steps), recorder)
        self.seen = profile.launches(self.watched, profiler.profiles)[: len(profiler.profiles)]
        self.recordings = recorder.recordings
        self.labels = array_traffic.labels(Work(request), self.watched)
        self.parts = _parts(self.watched, profiler.profiles)

    def lines(self, part: int) -> dict[int, Counted]:
        """What is counted at the lines of the PTX of a part, over all of its launches."""
        found: dict[int, Counted] = {}
        for number, one in zip(self.parts, self.seen, strict=True):
            if number == part:
                found |= one.profile.lines
        return found

    def bounds(self) -> list[Fact]:
        """The results, and how far they are from NumPy's beside how far they may be."""
        outcome: Any = self.watched.outcome
        if isinstance(self.request, ProgramRequest):
            checks, structure = program_run.checks(self.request, outcome), outcome.prepared.program.structure
        else:
            checks, structure = run.checks(self.request, outcome), outcome.whole.program.structure
        names = leaf_names(structure)
        pairs = zip(names, outcome.results, checks, strict=False)
        return [(f"check {_result(name)}".rstrip(), verdict(result, check)) for name, result, check in pairs]

    def launches(self) -> list[Launched]:
        """Each launch: counts, drawings and what the player shows."""
        items = {name: x.dtype.itemsize for name, x in self.watched.arrays.items()}
        found = []
        rows = zip(self.parts, self.seen, self.recordings, strict=True)
        for part, one, recording in rows:
            drawings = list(owned(recording, self.watched.arrays, self.labels))
            cluster = prod(recording.cluster)
            grid = Grid(recording.per_cta, prod(recording.grid), cluster)
            found.append(
                Launched(one.title, part, _counts(one, self.watched.elements), self._traffic(one.profile), grid,
                         drawings, play(recording, self.labels, items), _sampled(recording, drawings))
            )  # fmt: skip
        return found

    def _traffic(self, one: Profile) -> Table:
        rows = [
            tuple(f"{cell:,}" if isinstance(cell, int) else str(cell or "-") for cell in row.values())
            for row in array_traffic.facts(one, self.labels)
        ]
        poor = [i for i, row in enumerate(array_traffic.facts(one, self.labels)) if row["sectors"] != row["ideal"]]
        columns = ("array", "elements", "access", "requests", "sectors", "useful bytes", "ideal")
        return Table(columns, rows, columns[3:], poor=poor)


def _result(name: str) -> str:
    """A result by its name, or by its position among several."""
    return f"of result {name}" if name.isdigit() else f"of {name}" * bool(name)


def _elements(request: AnyRequest) -> int:
    """The elements of all arrays."""
    if isinstance(request, ProgramRequest):
        return sum(prod(a.shape) for a in request.kinds)
    shape, types, _ = request.kind()
    return prod(shape) * len(types)


def _parts(watched: Watched, profiles: list[Profile]) -> list[int]:
    """The part that each launch belongs to: kernels are named in the PTX of the parts that launch."""
    if not isinstance(watched.prepared, PreparedProgram):
        return [0] * len(profiles)
    steps = watched.prepared.steps
    launching = program_run.launching(watched.prepared)
    numbers = [n for n, step in enumerate(steps) if step in launching]
    each = [len(artifact(steps[n].prepared).kernels) for n in numbers]
    return [n for n, count in zip(numbers, each, strict=True) for _ in range(count)]


def _counts(one: profile.Seen, elements: int) -> Table:
    """The counters of a launch beside their ideals."""
    rows = profile.metrics(one.profile, one.ideal, one.nbytes)
    cells = [
        (m.name, profile.number(m, m.count), profile.each(m, elements), profile.number(m, m.ideal), m.nsight)
        for m in rows
    ]
    poor = [i for i, m in enumerate(rows) if m.name.strip() in FAULTS and m.ideal is not None and m.count > m.ideal]
    columns = ("metric", "count", "per element", "ideal", "Nsight Compute")
    return Table(columns, cells, columns[1:4], columns[4:], poor)


def _sampled(recording: Recording, drawings: list[Owned]) -> list[str]:
    """What is not shown, in words."""
    found = []
    warps = prod(recording.grid) * recording.per_cta // 32
    if warps > len(recording.places):
        ctas = sorted({p.cta for p in recording.places})
        of = f"CTA {ctas[0]}" if len(ctas) == 1 else f"CTAs {', '.join(map(str, ctas[:-1]))} and {ctas[-1]}"
        found.append(f"The player shows {len(recording.places)} of {warps:,} warps, those of {of}.")
    if recording.steps > len(recording.moments):
        found.append(f"It shows the first {STEPS:,} of {recording.steps:,} instructions.")
    if recording.beyond:
        found.append(
            f"The drawings show the first {ACCESSES:,} accesses of single threads; {recording.beyond:,} follow."
        )
    for one in drawings:
        count = prod(one.shape)
        if count > one.elements:
            found.append(f"Of {one.name} the first {one.elements:,} of {count:,} elements are drawn.")
    return list(dict.fromkeys(found))
