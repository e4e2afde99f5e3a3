"""``warpfold ladder PROGRAM``: a program under named plans, timed and profiled.

The rows of one that reads them again wait in one place after another. One without a fold whose result is a mask puts
the words of its bits together in one way after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

from ...compiler.dtypes import BIT
from ...compiler.errors import PlanError, error
from ...compiler.plan.ladder import MASK_RUNGS, PROGRAM_RUNGS, Rung
from ...compiler.postorder import postorder
from ...runtime.backends.emulator_backend import EmulatorBackend
from ...runtime.backends.select import backend_for
from ...runtime.emulator.counters import total
from ...runtime.emulator.profiler import Profiler
from ...runtime.emulator.traffic import SECTOR
from ...runtime.programs.run import operands_of
from .. import array_traffic, terminal
from ..ladder import COUNTS, PROFILED, Columns, Row, chosen, machine, reported, rows
from ..ladder_runs import LAUNCHES, SECONDS, Counts, Step, counts_of
from ..requests.choose import AnyRequest
from ..requests.inputs import aligned
from ..requests.program_request import ProgramRequest
from ..timing import Timed
from . import run, traffic
from .words import Words

COLUMNS: Columns = {"moved": ("bytes moved", "{:.2f} x"), **COUNTS}
"""The columns: first the bytes that global memory moves, as a multiple of those that must move."""
MASK_COLUMNS: Columns = {
    "moved": COLUMNS["moved"],
    "sectors_per_request": ("sectors per load", "{:.2f}"),
    "sectors_per_store": ("sectors per store", "{:.2f}"),
    "bytes_used": ("bytes used", "{:.1f} %"),
    "shuffles": ("shuffles", "{:,}"),
    "votes": ("votes", "{:,}"),
    "ballots": ("ballots", "{:,}"),
    "bits_sectors": ("sectors of bits", "{:,}"),
    "element_sectors": ("sectors of elements", "{:,}"),
    "instructions_per_element": COUNTS["instructions_per_element"],
}
"""The columns where lanes put the words of a mask together."""


@dataclass(frozen=True)
class ProgramCounts(Counts):
    """The profile of a rung.

    Attributes:
        moved: bytes of the sectors of global memory, as a multiple of those of arrays and results.
        bits_sectors, element_sectors: the sectors of arrays of bits, and of all others.
    """

    moved: float = 0.0
    bits_sectors: int = 0
    element_sectors: int = 0


def ladder(request: AnyRequest, *, device: str, names: Sequence[str], plot: str | None, json: bool) -> bool:
    """Runs, shows and draws the rungs; returns whether every result was right.

    A function of the library without a fold that can keep a mask keeps it.

    Raises:
        ArgumentError: WF832 for a name that no rung has, WF836 for arrays without elements, WF847 for a reduction.
        FileError: WF505, WF830 or WF831 for a picture that cannot be written, before anything runs.
    """
    request, every, columns = rungs_of(request)
    rungs = chosen(names, every)
    return reported(lambda: climbed(request, device, rungs, columns), columns, plot, json=json)


def counted(request: AnyRequest) -> tuple[Row, Columns]:
    """What the profiler counts for each rung of a program, and the columns that show it.

    Raises:
        ArgumentError: as ``ladder`` does.
    """
    request, rungs, columns = rungs_of(request)
    return climbed(request, "emulator", rungs, columns), columns


def rungs_of(request: AnyRequest) -> tuple[ProgramRequest, Sequence[Rung], Columns]:
    """The request as the ladder runs it, with its rungs and the columns of their profile."""
    if not isinstance(request, ProgramRequest):
        raise error("WF847", name=request.name, op=request.op)
    request = with_mask(request)
    request.expect_elements()
    return request, *((MASK_RUNGS, MASK_COLUMNS) if makes_mask(request) else (PROGRAM_RUNGS, COLUMNS))


def with_mask(request: ProgramRequest) -> ProgramRequest:
    """The request with ``keep="bits"``, if its function takes that and the program has no fold."""
    keeps = "keep" in signature(request.function).parameters and "keep" not in request.params
    if not keeps or _folds(request):
        return request
    return replace(request, param_texts=(*request.param_texts, "keep=bits"))


def makes_mask(request: ProgramRequest) -> bool:
    """Whether a program without a fold has a result of bits."""
    return not _folds(request) and any(o.dtype == BIT for o in request.program.outputs)


def _folds(request: ProgramRequest) -> bool:
    """Whether a program has a fold."""
    ends = [o.expr for o in request.program.outputs]
    return any(e.op == "reduce" for e in postorder(ends, lambda e: e.args))


def climbed(request: ProgramRequest, device: str, rungs: Sequence[Rung], columns: Columns = COLUMNS) -> Row:
    """All that the command found, as plain values."""
    backend: Any = backend_for((), device)
    on_gpu = backend.name == "cuda"
    profiles = not on_gpu or max(x.size for x in request.arrays) <= PROFILED
    steps = []
    for rung in rungs:
        with terminal.progress(rung.name):
            steps.append(_climb(request, rung, device if on_gpu else "", profiles=profiles))
    nbytes = sum(traffic.least(Words(request, request.planned(backend.target.arch).prepared)))
    found = rows(steps, nbytes if on_gpu else None, columns)
    profiled = request.title() if profiles else "nothing"
    return {"op": request.op, "title": request.title(), **machine(backend), "profiled": profiled, "rungs": found}


def _climb(request: ProgramRequest, rung: Rung, device: str, *, profiles: bool) -> Step:
    """One rung: profiled on the emulator, and timed on ``device``, if there is one."""
    asked = replace(request, plan="" if rung.name == "default" else rung.name)
    step = Step(rung)
    try:
        if profiles:
            step = _profiled(asked, step)
        if device:
            step = _timed(asked, step, device)
    except PlanError as e:
        return Step(rung, refused=e.message)
    return step


def _profiled(request: ProgramRequest, step: Step) -> Step:
    backend = EmulatorBackend()
    backend.tool = tool = Profiler()
    outcome = run.on_backend(request, backend)
    found = counts_of(tool.profiles, max(x.size for x in request.arrays))
    must = sum(traffic.least(Words(request, outcome.prepared)))
    of_bits = array_traffic.sectors_of_bits(total(tool.profiles), array_traffic.of_program(request, outcome.prepared))
    counts = ProgramCounts(
        **vars(found), moved=found.sectors * SECTOR / max(1, must), bits_sectors=of_bits,
        element_sectors=found.sectors - of_bits,
    )  # fmt: skip
    return _with(step, request, outcome, counts=counts)


def _timed(request: ProgramRequest, step: Step, device: str) -> Step:
    operands = operands_of([aligned(x) for x in request.arrays], device)
    timer: Any = Timed(operands.backend, runs=LAUNCHES, seconds=SECONDS)
    operands.backend = timer
    outcome = run.perform(request, operands, timed=False)
    return _with(step, request, outcome, microseconds=timer.microseconds)


def _with(step: Step, request: ProgramRequest, outcome: run.Ran, **more: Any) -> Step:
    """A step with the plan, the checks and what else one run found."""
    plans = [s.prepared.choice.plan for s in outcome.prepared.steps]
    checks = (*step.checks, *run.checks(request, outcome))
    return replace(step, plan=plans[0], checks=checks, **more)
