"""``warpfold run``: compiles and runs a reduction, checks the result against NumPy, and shows all of it."""

from __future__ import annotations

import time
from typing import Any

from ..compiler.dtypes import I64, DType
from ..compiler.errors import error
from ..compiler.laws.check import warn_thoroughly
from ..compiler.program.array_program import ArrayProgram
from ..compiler.program.tracing import leaf_names
from ..compiler.space.geometry import normalize_axes
from ..runtime.calls.operands import Operands
from ..runtime.prepare import Prepared, artifact, cached
from . import emit, levels, terminal
from .checking import reference
from .checking.evaluate import Evaluator, parts
from .checking.running_error import Known
from .outcome import Outcome, device_time
from .programs.run import launched
from .programs.run import run as run_program
from .requests.count_request import CountRequest
from .requests.program_request import ProgramRequest
from .requests.request import Request
from .results import ResultFile, result_facts, result_lines
from .timing import why


def run(
    request: Request | ProgramRequest,
    *,
    keepdims: bool,
    output: str | None,
    device: str,
    json: bool,
    check: bool = True,
) -> bool:
    """Runs, checks, shows and writes the results; returns whether all checks passed. Wrong results are not written.

    Raises:
        WarpfoldError: whatever is wrong with the request, such as WF844 for ``keepdims`` of a program; nothing is
            written then.
    """
    if isinstance(request, ProgramRequest):
        if keepdims:
            remedy = "a program keeps axes as it says: give it a parameter, --param keepdims=True"
            raise error("WF844", name=request.name, option="--keepdims", remedy=remedy)
        return run_program(request, output=output, device=device, json=json, check=check)
    target = ResultFile(output, request.files) if output is not None else None
    if keepdims and isinstance(request, CountRequest):
        raise request.without("--keepdims")
    outcome = perform(request, request.operands(request.arrays, device), keepdims)
    if check:
        with terminal.progress("checking against NumPy"):
            outcome.checks = checks(request, outcome)
        for m, types in _whole(outcome).used:
            warn_thoroughly(m, types)
    if target is not None and outcome.passed:
        target.save(request.name, _labels(outcome), outcome.results)
    if json:
        terminal.show(terminal.as_json(_facts(request, outcome, device, output)))
    else:
        _show(request, outcome, device, output)
    return outcome.passed


def perform(request: Request, arrays: Operands, keepdims: bool, out: Any = None) -> Outcome[Prepared]:
    """Compiles and runs on the backend of ``arrays``, into ``out`` if that is given, without checks."""
    with terminal.progress("compiling"), request.users_code():
        started = time.perf_counter()
        whole = request.prepared(arrays, keepdims=keepdims, out=out)
        ready = whole.steps[0].prepared
        known = cached(ready) is not None
        artifact(ready)
        compile_s = time.perf_counter() - started
    with terminal.progress(f"running on the {arrays.backend.name}"):
        started = time.perf_counter()
        results = launched(arrays, whole)
        run_s = time.perf_counter() - started
    outcome = Outcome(ready, arrays, results, known, compile_s, run_s, whole=whole)
    outcome.device_us = device_time(arrays, lambda: launched(arrays, whole))
    return outcome


def checks(request: Request, outcome: Outcome[Prepared]) -> list[reference.Check]:
    """How each result compares with NumPy's."""
    ready = outcome.prepared
    if isinstance(request, CountRequest):
        pairs = zip(outcome.results, request.expected(), strict=True)
        return [reference.compare(got, Known(wanted), I64) for got, wanted in pairs]
    axes = normalize_axes(request.axis, request.arrays[0].ndim)
    inputs = [p for x in request.arrays for p in parts(x)]
    evaluator = Evaluator(ready.program, inputs, axes, random=not request.files)
    levels_ = _depth(ready)
    got = [p for r in outcome.results for p in parts(r)]
    plain = len(inputs) == len(request.arrays) and not request.params
    name = request.what if plain else None
    found = iter(reference.check(name, evaluator, request.arrays, axes, got, levels_))
    return [reference.worst([next(found) for _ in parts(r)]) for r in outcome.results]


def _depth(ready: Prepared) -> int:
    """The greatest number of combines that an element passes through."""
    left = ready.geometry.after
    return reference.depth(ready.choice.plan, ready.choice.run, ready.geometry.times, left.n_reduced if left else 1)


def _labels(outcome: Outcome[Prepared]) -> list[str]:
    """The name of each result; empty for a single one."""
    return leaf_names(_whole(outcome).structure)


def _whole(outcome: Outcome[Prepared]) -> ArrayProgram:
    """The program that a reduction is."""
    assert outcome.whole is not None
    return outcome.whole.program


def _types(outcome: Outcome[Prepared]) -> list[DType]:
    """The element type of each result."""
    program = _whole(outcome)
    return [t for _, t in program.results[: len(program.results) - len(program.checks)]]


def _show(request: Request, outcome: Outcome[Prepared], device: str, output: str | None) -> None:
    plan, run_ = outcome.prepared.choice.plan, outcome.prepared.choice.run
    lines: list[tuple[str, object]] = [
        ("run", f"{request.title()} ({request.kind()[2]})"),
        ("on", why(outcome.operands.backend, device)),
    ]
    lines += result_lines(_labels(outcome), _types(outcome), outcome.results, outcome.checks)
    lines.append(("plan", levels.plan_words(plan)))
    lines.append(("stages", levels.stage_words(outcome.prepared)))
    lines.append(("grid", f"{run_.tiles} x {run_.split} CTA(s) of {plan.threads} threads"))
    lines += [*outcome.times(request.arrays), *outcome.written(output)]
    terminal.facts(lines)


def _facts(request: Request, outcome: Outcome[Prepared], device: str, output: str | None) -> dict[str, object]:
    """All output as plain values."""
    shape, types, source = request.kind()
    results = result_facts(_labels(outcome), _types(outcome), outcome.results, outcome.checks)
    return {
        "op": request.op, "name": request.name, "shape": list(shape), "dtypes": [t.name for t in types],
        "source": source, "axis": None if request.axis is None else list(request.axis),
        "results": results, **emit.plan_facts(outcome.prepared),
        **outcome.facts(device, output),
    }  # fmt: skip
