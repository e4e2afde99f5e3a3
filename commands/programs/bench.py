"""``warpfold bench PROGRAM``: the device time of a program's steps, beside a copy of the bytes that it must move."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiler.dtypes import U8
from ...compiler.errors import error
from ...runtime.programs.run import operands_of
from ...runtime.tuning.measure import Timing, timed
from ...runtime.view import Device, View, contiguous
from .. import levels, terminal
from ..bench.gpu import gpu
from ..output_file import Output
from ..requests.choose import AnyRequest
from ..requests.inputs import aligned
from ..requests.program_request import ProgramRequest
from ..timing import StepTimer
from . import run, traffic
from .words import Words

RUNS = 20
"""Timed runs of each step and of the copy, each with a flushed L2 cache before."""


def bench(request: AnyRequest, *, out: str | None) -> bool:
    """Measures and prints, and writes the numbers to ``out``; returns whether the results are right.

    Raises:
        ArgumentError: WF836 for arrays without elements, WF848 for a reduction, which the cases of the benchmark name.
        BackendError: WF742 without a GPU.
    """
    if not isinstance(request, ProgramRequest):
        raise error("WF848", name=request.name)
    output = Output(out, request.paths) if out else None
    _ = request.program  # errors of the request are raised on any machine
    request.expect_elements()
    backend: Any = gpu("warpfold bench", "what kernels do there, warpfold profile counts anywhere")
    operands = operands_of([aligned(x) for x in request.arrays], "cuda")
    timer: Any = StepTimer(backend, RUNS)
    operands.backend = timer
    with terminal.progress(f"timing {request.title()}"):
        outcome = run.perform(request, operands, timed=False)
        must = sum(traffic.least(Words(request, outcome.prepared)))
        copy = _copy(backend, must)
    with terminal.progress("checking against f64"):
        outcome.checks = run.checks(request, outcome)
    report = _facts(request, outcome, timer.timings, copy, must, backend.device_name)
    if output is not None:
        output.write(lambda f: f.write(terminal.as_json(report).encode() + b"\n"))
    _show(report)
    return outcome.passed


def _copy(backend: Any, must: int) -> Timing:
    """A copy that reads and writes ``must`` bytes in all, of random bytes: equal ones may be copied faster."""
    n = max(1, must // 2)
    with backend.memory(n) as source, backend.memory(n) as target:
        view = View(source, (n,), contiguous((n,)), U8, Device("cuda"))
        backend.put(view, np.random.default_rng(0).integers(0, 256, n, np.uint8), 0)
        return timed(backend, [lambda: backend.copy(target, source, n)], runs=RUNS)


def _facts(
    request: ProgramRequest, outcome: run.Ran, timings: dict[int, Timing], copy: Timing, must: int, device: str
) -> dict[str, Any]:
    """All that was measured, as plain values."""
    steps = [
        {
            "name": own.step.program.name, "plan": levels.plan_words(own.prepared.choice.plan),
            "microseconds": timings[i].median, "quartiles": [timings[i].low, timings[i].high],
        }
        for i, own in enumerate(outcome.prepared.steps)
    ]  # fmt: skip
    total = sum(t.median for t in timings.values())
    return {
        "title": request.title(), "device": device, "passed": outcome.passed, "bytes": must, "microseconds": total,
        "gbs": must / total / 1e3, "copy_microseconds": copy.median, "of_copy": copy.median / total, "steps": steps,
    }  # fmt: skip


def _show(report: dict[str, Any]) -> None:
    terminal.show(f"{report['title']}, on {report['device']}\n")
    lines = []
    for step in report["steps"]:
        low, high = step["quartiles"]
        spent = terminal.duration(step["microseconds"] / 1e6)
        lines.append((step["name"], spent, f"{low:.2f} to {high:.2f} us", step["plan"]))
    terminal.table(("step", "time", "quartiles", "plan"), lines)
    terminal.show()
    spent = terminal.duration(report["microseconds"] / 1e6)
    terminal.facts([
        ("check", "passed" if report["passed"] else "FAILED: see warpfold run"),
        ("time", f"{spent}, {report['gbs']:.4g} GB/s of the bytes that must move"),
        ("a copy", f"of {terminal.size(report['bytes'])} in all: "
                   f"{terminal.duration(report['copy_microseconds'] / 1e6)}, {report['of_copy']:.1%} of its speed"),
    ])  # fmt: skip
