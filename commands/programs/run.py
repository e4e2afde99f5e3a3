"""``warpfold run`` of a program: compiles and runs its steps, checks the results against f64, and shows all of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import IO, Any

import numpy as np

from ...compiler.errors import error
from ...compiler.laws.check import warn_thoroughly
from ...compiler.program.array_program import ArrayProgram, Fold
from ...compiler.program.cuts.cut import rewritten
from ...compiler.program.graph import Expr
from ...compiler.program.tracing import leaf_names
from ...runtime.calls.operands import Operands
from ...runtime.prepare import artifact, cached
from ...runtime.programs import run as runtime
from ...runtime.programs.plans import PreparedProgram, PreparedStep
from .. import emit, levels, terminal
from ..checking import program_bounds, reference
from ..output_file import Output
from ..requests.inputs import Array, aligned, empty
from ..requests.program_request import ProgramRequest
from ..results import result_facts, result_lines, save_results
from ..timing import REPEATS, Timed, why
from .cut_rows import owned
from .words import Words

NPZ = ".npz"


@dataclass
class Outcome:
    """One run.

    Attributes:
        prepared: the steps and their plans.
        operands: the arrays, with the backend.
        results: NumPy arrays.
        cached: whether all kernels came from the cache.
        compile_s, run_s: host times in seconds; the second includes copies and the wait for the results.
        device_us: device time of the kernels in microseconds; None on the emulator.
        checks: one per result; empty with ``--no-check``.
    """

    prepared: PreparedProgram
    operands: Operands
    results: list[Array]
    cached: bool
    compile_s: float
    run_s: float
    device_us: float | None = None
    checks: list[reference.Check] = field(default_factory=list)

    @property
    def launched(self) -> list[PreparedStep]:
        """The steps that launch kernels: those that have rows, and elements if they fold nothing."""
        sized = [(s, s.prepared.geometry) for s in self.prepared.steps]
        return [s for s, g in sized if g.n_kept and (g.n_reduced or s.step.program.reduces)]

    @property
    def passed(self) -> bool:
        """Whether every result is right."""
        return all(c.passed for c in self.checks)


def run(request: ProgramRequest, *, output: str | None, device: str, json: bool, check: bool) -> bool:
    """Runs, checks, shows and writes the results; returns whether all checks passed. Wrong results are not written.

    Raises:
        WarpfoldError: whatever is wrong with the request; nothing is written then.
    """
    target = Output(output, request.paths) if output is not None else None
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
        target.write(lambda f: _save(f, target.path.suffix == NPZ, request, outcome))
    if json:
        terminal.show(terminal.as_json(_facts(request, outcome, device, output)))
    else:
        _show(request, outcome, device, output)
    return outcome.passed


def perform(
    request: ProgramRequest, operands: Operands, out: tuple[Array, ...] | None = None, *, timed: bool = True
) -> Outcome:
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
    outcome = Outcome(prepared, operands, results, known, compile_s, run_s)
    outcome.device_us = _device_time(outcome) if timed else None
    return outcome


def on_backend(request: ProgramRequest, backend: Any) -> Outcome:
    """Compiles and runs on a backend of the emulator, with arrays and results that lie as on a GPU."""
    operands = runtime.operands_of([aligned(x) for x in request.arrays], "emulator")
    operands.backend = backend
    out = (empty(request.result_shape(i), o.dtype.numpy) for i, o in enumerate(request.program.outputs))
    return perform(request, operands, tuple(out))


def launched(operands: Operands, prepared: PreparedProgram) -> list[Array]:
    """The results, one after another.

    Raises:
        ArgumentError: a check of the program failed, with its code.
    """
    program = prepared.program
    results = range(len(program.outputs) - len(program.checks))
    flat = replace(program, structure=("results", (), tuple(results)))
    return [np.asarray(r) for r in runtime.run(operands, prepared._replace(program=flat))]


def _device_time(outcome: Outcome) -> float | None:
    """The device time of all steps, each the least of a few runs; None for a backend without a clock."""
    operands = outcome.operands
    if not hasattr(operands.backend, "elapsed") or any(0 in v.shape for v in operands.inputs):
        return None
    backend: Any = operands.backend
    timed: Any = Timed(backend)
    operands.backend = timed
    launched(operands, outcome.prepared)
    operands.backend = backend
    return float(timed.microseconds)


def checks(request: ProgramRequest, outcome: Outcome) -> list[reference.Check]:
    """How each result compares with the program evaluated in f64."""
    prepared = outcome.prepared
    program = as_cut(prepared)
    found = program_bounds.bounded(program, request.arrays, depth_of(prepared, program), random=not request.paths)
    return [
        reference.compare(got, known, o.dtype)
        for got, known, o in zip(outcome.results, found, request.results, strict=False)
    ]


def as_cut(prepared: PreparedProgram) -> ArrayProgram:
    """The program with its folds as the steps have them."""
    rows = owned(prepared)
    return rewritten(prepared.program, lambda kept, reduced: (kept, reduced) in rows)


def depth_of(prepared: PreparedProgram, program: ArrayProgram) -> program_bounds.Depth:
    """The most combines that an element passes through in each fold of ``program``, by the plan of its step."""
    depths = {}
    for own in prepared.steps:
        choice, geometry = own.prepared.choice, own.prepared.geometry
        left = geometry.after.n_reduced if geometry.after else 1
        rows = own.step.kept, frozenset(own.step.reduced)
        depths[rows] = reference.depth(choice.plan, choice.run, geometry.times, left)

    def of_fold(e: Expr) -> int:
        assert isinstance(e.value, Fold)
        return depths[program.dims_of(e.space), frozenset(program.dims_of(e.value.over))]

    return of_fold


def _labels(outcome: Outcome) -> list[str]:
    """The name of each result; empty for a single one."""
    return leaf_names(outcome.prepared.program.structure)


def _save(f: IO[bytes], several: bool, request: ProgramRequest, outcome: Outcome) -> None:
    """The results: in an ``.npz`` file an array each, else as ``save_results`` writes them."""
    if several:
        names = [label or request.name for label in _labels(outcome)]
        np.savez(f, **dict(zip(names, outcome.results, strict=True)))  # type: ignore[arg-type]
    else:
        save_results(f, _labels(outcome), outcome.results)


def _show(request: ProgramRequest, outcome: Outcome, device: str, output: str | None) -> None:
    lines: list[tuple[str, object]] = [
        ("run", f"{request.title()} ({request.source})"),
        ("on", why(outcome.operands.backend, device)),
    ]
    lines += result_lines(_labels(outcome), [o.dtype for o in request.results], outcome.results, outcome.checks)
    for number, own in enumerate(outcome.prepared.steps, 1):
        tail = f" {number}" if len(outcome.prepared.steps) > 1 else ""
        choice = own.prepared.choice
        lines.append((f"plan{tail}", levels.plan_words(choice.plan)))
        lines.append((f"stages{tail}", levels.stage_words(own.prepared)))
        grid = f"{choice.run.tiles} x {choice.run.split} CTA(s) of {choice.plan.threads} threads"
        lines.append((f"grid{tail}", grid))
    made = "found in the cache" if outcome.cached else "made now"
    lines.append(("compile", f"{terminal.duration(outcome.compile_s)} ({made})"))
    lines.append(("run", f"{terminal.duration(outcome.run_s)} (host clock, from arrays to result)"))
    if outcome.device_us:
        moved = sum(x.nbytes for x in (*request.arrays, *outcome.results)) / outcome.device_us / 1e3
        spent = terminal.duration(outcome.device_us / 1e6)
        lines.append(("kernels", f"{spent} (device clock, least of {REPEATS}), {moved:.4g} GB/s"))
    if output:
        lines.append(("written", output if outcome.passed else "nothing, since the check failed"))
    terminal.facts(lines)


def _facts(request: ProgramRequest, outcome: Outcome, device: str, output: str | None) -> dict[str, object]:
    """All output as plain values."""
    types = [o.dtype for o in request.results]
    return {
        "op": request.op, "name": request.name, "title": request.title(), "source": request.source,
        "backend": outcome.operands.backend.name, "why": why(outcome.operands.backend, device),
        "passed": outcome.passed if outcome.checks else None,
        "results": result_facts(_labels(outcome), types, outcome.results, outcome.checks),
        **emit.program_facts(Words(request, outcome.prepared)),
        "compile_ms": outcome.compile_s * 1e3, "cached": outcome.cached, "run_ms": outcome.run_s * 1e3,
        "kernels_us": outcome.device_us, "output": output if outcome.passed else None,
    }  # fmt: skip
