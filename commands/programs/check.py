"""``warpfold check`` of a program: its results beside those in f64, with bounds, for arrays of several kinds.

A bound comes from running error analysis of the program as its steps compute it: each operation adds its rounding, and
a fold those of a tree as deep as its plan's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...compiler.dtypes import DType, dtype
from ...compiler.laws.check import warn_thoroughly
from ...runtime.programs.run import operands_of
from .. import terminal
from ..checking import reference
from ..checking.program_bounds import bounded
from ..checking.running_error import Known
from ..checking.ulps import in_ulps
from ..requests.inputs import Array
from ..requests.program_request import ProgramRequest
from ..timing import why
from . import run
from .words import Words

FAR, LARGE = 1000.0, 1e4
INPUTS: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "as given": ("", lambda x: x),
    "far from zero": (f"the largest arrays plus {FAR:g}", lambda x: x + FAR),
    "large": (f"the largest arrays times {LARGE:g}", lambda x: x * LARGE),
    "equal": ("one number in the largest arrays", lambda x: np.full_like(x, x.reshape(-1)[0])),
}
"""What is done to the largest arrays of floats, in words and as a function of f64."""


@dataclass(frozen=True)
class Checked:
    """One result for one input.

    Attributes:
        inputs: which input, by its name in ``INPUTS``.
        result, dtype: the result.
        check: how it compares with the program in f64.
        bound: the greatest bound.
        ulps, mean_ulps: the greatest and the mean error in ulps of the result's type; None for other than floats.
    """

    inputs: str
    result: str
    dtype: DType
    check: reference.Check
    bound: float
    ulps: float | None
    mean_ulps: float | None


def check(request: ProgramRequest, *, device: str, json: bool) -> bool:
    """Runs the program on its arrays and variants of them, and shows how far the results are from f64.

    Returns:
        Whether every result is within its bound.
    """
    found: list[Checked] = []
    where = ""
    with request.users_code():
        for m, types in request.program.used:
            warn_thoroughly(m, types)
    for name in INPUTS if _varies(request) else ["as given"]:
        with terminal.progress(f"checking with inputs {name}"):
            arrays = changed(request.arrays, INPUTS[name][1]) if name != "as given" else request.arrays
            operands = operands_of(arrays, device)
            outcome = run.perform(request, operands)
            where = why(operands.backend, device)
            found += _checked(request, outcome, arrays, name)
    passed = all(c.check.passed for c in found)
    if json:
        facts = {"name": request.name, "title": request.title(), "on": where, "passed": passed}
        terminal.show(terminal.as_json({**facts, "results": [_plain(c) for c in found]}))
    else:
        _show(request, found, where)
    return passed


def _varies(request: ProgramRequest) -> bool:
    """Whether there are elements of floats to change."""
    return any(_is_float(x) and x.size for x in request.arrays)


def _is_float(x: Array) -> bool:
    return dtype(x.dtype).is_float


def changed(arrays: list[Array], change: Callable[[Array], Array]) -> list[Array]:
    """The arrays, of which the largest ones of floats are changed, in their own types."""
    most = max((x.size for x in arrays if _is_float(x)), default=0)
    largest = [_is_float(x) and x.size == most > 0 for x in arrays]
    return [change(x.astype(np.float64)).astype(x.dtype) if own else x for x, own in zip(arrays, largest, strict=True)]


def _checked(request: ProgramRequest, outcome: run.Ran, arrays: list[Array], name: str) -> list[Checked]:
    """How each result of one run compares with f64."""
    program = run.as_cut(outcome.prepared)
    likely = name == "as given" and not request.paths
    known = bounded(program, arrays, run.depth_of(outcome.prepared, program), random=likely)
    labels = Words(request, outcome.prepared).results
    return [
        _of_result(name, label, o.dtype, got, k)
        for label, o, got, k in zip(labels, request.results, outcome.results, known, strict=False)
    ]


def _of_result(inputs: str, label: str, t: DType, got: Array, known: Known) -> Checked:
    errors = in_ulps(got.reshape(-1), known.value.reshape(-1), t)
    finite = np.zeros(1) if known.error is None else known.error[np.isfinite(known.error)]
    return Checked(
        inputs, label, t, reference.compare(got, known, t), float(finite.max(initial=0.0)),
        None if errors is None else float(errors.max(initial=0.0)),
        None if errors is None or not errors.size else float(errors.mean()),
    )  # fmt: skip


def _show(request: ProgramRequest, found: list[Checked], where: str) -> None:
    terminal.facts([("check", f"{request.title()} ({request.source})"), ("on", where)])
    terminal.show()
    columns = ("input", "result", "type", "greatest error", "allowed there", "ulps", "mean ulps", "verdict")
    terminal.table(columns, [_line(c) for c in found])
    terminal.section("inputs", terminal.columns([(n, w) for n, (w, _) in INPUTS.items() if w and _used(n, found)]))
    terminal.section("bounds", [
        "the reference is the program in f64, with folds as its steps have them",
        "each operation adds its rounding, and a fold those of a tree as deep as its plan's",
    ])  # fmt: skip


def _used(name: str, found: list[Checked]) -> bool:
    return any(c.inputs == name for c in found)


def _line(c: Checked) -> tuple[str, ...]:
    k = c.check
    ulps = ("-", "-") if c.ulps is None or c.mean_ulps is None else (f"{c.ulps:.3g}", f"{c.mean_ulps:.3g}")
    verdict = "passed" if k.passed else "FAILED"
    if k.unknown:
        verdict += f"; {k.unknown:,} without a bound"
    elif k.exact and k.passed:
        verdict += ": equal"
    allowed = "equal" if k.exact else f"{k.allowed:.3g}"
    return c.inputs, c.result, c.dtype.name, f"{k.error:.3g}", allowed, *ulps, verdict


def _plain(c: Checked) -> dict[str, object]:
    """A result as plain values, for JSON."""
    k = c.check
    return {
        "inputs": c.inputs, "result": c.result, "dtype": c.dtype.name, "passed": k.passed, "exact": k.exact,
        "error": k.error, "allowed": k.allowed, "greatest_bound": c.bound, "ulps": c.ulps, "mean_ulps": c.mean_ulps,
        "unknown": k.unknown,
    }  # fmt: skip
