"""``warpfold run`` of a program: compiles and runs its steps, checks the results against f64, and shows all of it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from ...compiler.errors import error
from ...compiler.laws.check import warn_thoroughly
from ...compiler.planner.resident.residency import is_far
from ...compiler.program.array_program import ArrayProgram, Fold, Scan
from ...compiler.program.cuts.cut import rewritten
from ...compiler.program.graph import Expr
from ...compiler.program.tracing import leaf_names
from ...runtime.calls.operands import Operands
from ...runtime.prepare import artifact, cached
from ...runtime.programs import run as runtime
from ...runtime.programs.plans import PreparedProgram, PreparedStep
from .. import emit, levels, terminal
from ..checking import program_bounds, reference
from ..outcome import Outcome, device_time
from ..requests.inputs import Array, aligned, empty
from ..requests.program_request import ProgramRequest
from ..results import NPZ, ResultFile, result_facts, result_lines
from ..timing import why
from .cut_rows import owned
from .words import Words

Ran = Outcome[PreparedProgram]
"""One run of a program."""


def run(request: ProgramRequest, *, output: str | None, device: str, json: bool, check: bool) -> bool:
    """Runs, checks, shows and writes the results; returns whether all checks passed. Wrong results are not written.

    Raises:
        WarpfoldError: whatever is wrong with the request; nothing is written then.
    """
    target = ResultFile(output, request.paths) if output is not None else None
    shapes = dict.fromkeys(request.result_shape(i) for i in range(len(request.results)))
    if target is not None and len(shapes) > 1 and target.path.suffix != NPZ:
        raise error("WF845", name=request.name, shapes=" ".join(map(str, shapes)), path=output)
    outcome = perform(request, runtime.operands_of(request.arrays, device))
    if check:
        with terminal.progress("checking against f64"):
            outcome.checks = checks(request, outcome)
        for m, types in request.program.used:
            warn_thoroughly(m, types)
    if target is not None and outcome.passed:
        target.save(request.name, _labels(outcome), outcome.results)
    if json:
        terminal.show(terminal.as_json(_facts(request, outcome, device, output)))
    else:
        _show(request, outcome, device, output)
    return outcome.passed


def perform(
    request: ProgramRequest, operands: Operands, out: tuple[Array, ...] | None = None, *, timed: bool = True
) -> Ran:
    """Compiles and runs on the backend of ``operands``, into ``out`` if that is given, without checks.

    With ``timed`` the kernels run again to be timed, if the backend has a clock.
    """
    with terminal.progress("compiling"):
        started = time.perf_counter()
        runtime.allocate(operands, request.program, out)
        prepared = runtime.prepare(operands, request.program, request.plan, request.determinism)
        known = all(cached(s.prepared) is not None for s in prepared.steps)
        for step in prepared.steps:
            artifact(step.prepared)
        compile_s = time.perf_counter() - started
    with terminal.progress(f"running on the {operands.backend.name}"):
        started = time.perf_counter()
        results = launched(operands, prepared)
        run_s = time.perf_counter() - started
    outcome = Ran(prepared, operands, results, known, compile_s, run_s)
    if timed:
        outcome.device_us = device_time(operands, lambda: launched(operands, prepared))
    return outcome


def on_backend(request: ProgramRequest, backend: Any) -> Ran:
    """Compiles and runs on a backend of the emulator, with arrays and results that lie as on a GPU."""
    operands = runtime.operands_of([aligned(x) for x in request.arrays], "emulator")
    operands.backend = backend
    out = (empty(request.result_shape(i), o.stored.numpy) for i, o in enumerate(request.program.outputs))
    return perform(request, operands, tuple(out))


def launched(operands: Operands, prepared: PreparedProgram) -> list[Array]:
    """The results, one after another.

    Raises:
        ArgumentError: a check of the program failed, with its code.
    """
    program = prepared.program
    results = range(len(program.results) - len(program.checks))
    flat = replace(program, structure=("results", (), tuple(results)))
    return [np.asarray(r) for r in runtime.run(operands, prepared._replace(program=flat))]


def launching(prepared: PreparedProgram) -> list[PreparedStep]:
    """The steps that launch kernels: those that have rows, and elements if they fold nothing."""
    sized = [(s, s.prepared.geometry) for s in prepared.steps]
    return [s for s, g in sized if g.n_kept and (g.n_reduced or s.step.program.reduces)]


def checks(request: ProgramRequest, outcome: Ran) -> list[reference.Check]:
    """How each result compares with the program evaluated in f64."""
    prepared = outcome.prepared
    program = as_cut(prepared)
    found = program_bounds.bounded(program, request.arrays, depth_of(prepared, program), random=not request.paths)
    return [
        reference.compare(got, known, o.stored)
        for got, known, o in zip(outcome.results, found, request.results, strict=False)
    ]


def as_cut(prepared: PreparedProgram) -> ArrayProgram:
    """The program with its folds as the steps have them."""
    rows, portable = owned(prepared), any(s.prepared.task.is_portable for s in prepared.steps)
    far = {(s.step.kept, s.step.reduced) for s in prepared.steps if is_far(s.prepared.choice.plan)}
    return rewritten(prepared.program, lambda *dims: dims in rows, lambda *dims: dims in far, portable=portable)


def depth_of(prepared: PreparedProgram, program: ArrayProgram) -> program_bounds.Depth:
    """The most combines that an element passes through in each fold of ``program``, by the plan of its step."""
    depths: dict[tuple[tuple[int, ...], frozenset[int]], int] = {}
    scans: dict[tuple[tuple[int, ...], frozenset[int]], int] = {}
    for own in prepared.steps:
        choice, geometry = own.prepared.choice, own.prepared.geometry
        left = geometry.after.n_reduced if geometry.after else 1
        rows = own.step.kept, frozenset(own.step.reduced)
        if own.step.program.scan:
            scans[rows] = reference.depth_of_scan(choice.plan, choice.run)
        else:
            depths[rows] = reference.depth(choice.plan, choice.run, geometry.times, left)

    def of_fold(e: Expr) -> int:
        assert isinstance(e.value, Fold | Scan)
        if isinstance(e.value, Scan):
            return scans[program.dims_of(e.space & ~e.value.over), frozenset(e.value.along)]
        return depths[program.dims_of(e.space), frozenset(program.dims_of(e.value.over))]

    return of_fold


def _labels(outcome: Ran) -> list[str]:
    """The name of each result; empty for a single one."""
    return leaf_names(outcome.prepared.program.structure)


def _show(request: ProgramRequest, outcome: Ran, device: str, output: str | None) -> None:
    lines: list[tuple[str, object]] = [
        ("run", f"{request.title()} ({request.source})"),
        ("on", why(outcome.operands.backend, device)),
    ]
    lines += result_lines(_labels(outcome), [o.stored for o in request.results], outcome.results, outcome.checks)
    for number, own in enumerate(outcome.prepared.steps, 1):
        tail = f" {number}" if len(outcome.prepared.steps) > 1 else ""
        choice = own.prepared.choice
        lines.append((f"plan{tail}", levels.plan_words(choice.plan)))
        lines.append((f"stages{tail}", levels.stage_words(own.prepared)))
        grid = f"{choice.run.grid[0]} x {choice.run.grid[1]} CTA(s) of {choice.plan.threads} threads"
        lines.append((f"grid{tail}", grid))
    lines += [*outcome.times(request.arrays), *outcome.written(output)]
    terminal.facts(lines)


def _facts(request: ProgramRequest, outcome: Ran, device: str, output: str | None) -> dict[str, object]:
    """All output as plain values."""
    types = [o.stored for o in request.results]
    return {
        "op": request.op, "name": request.name, "title": request.title(), "source": request.source,
        "results": result_facts(_labels(outcome), types, outcome.results, outcome.checks),
        **emit.program_facts(Words(request, outcome.prepared)),
        **outcome.facts(device, output),
    }  # fmt: skip
