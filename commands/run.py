"""``warpfold run``: compiles and runs a reduction, checks the result against NumPy, and shows all of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..compiler.driver.artifact import Artifact
from ..compiler.errors import WarpfoldError
from ..compiler.laws.check import warn_thoroughly
from ..compiler.program.tracing import leaf_names
from ..compiler.space.geometry import normalize_axes
from ..runtime.calls.operands import Operands
from ..runtime.execute import prepared, side_by_side
from ..runtime.execute import run as execute
from ..runtime.prepare import Prepared, artifact, cached
from ..runtime.prepare import Request as Wanted
from ..runtime.resolve import params_of
from . import emit, levels, terminal
from .checking import reference
from .checking.evaluate import Evaluator, parts
from .output_file import Output
from .requests.request import Array, Request

SMALL = 8
"""Greatest number of elements of a result that is shown in full."""
IN_JSON = 64
"""Greatest number of elements of a result that JSON contains."""
REPEATS = 3


@dataclass
class Outcome:
    """One run.

    Attributes:
        ready, arrays: the prepared reduction and its operands.
        results: NumPy arrays.
        cached: whether the kernels came from the cache.
        compile_s, run_s: host times in seconds; the second includes copies and the wait for the result.
        device_us: device time of the kernels in microseconds; None on the emulator.
        checks: one per result; empty with ``--no-check``.
    """

    ready: Prepared
    arrays: Operands
    results: list[Array]
    cached: bool
    compile_s: float
    run_s: float
    device_us: float | None = None
    checks: list[reference.Check] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether every result is right."""
        return all(c.passed for c in self.checks)


def run(request: Request, *, keepdims: bool, output: str | None, device: str, json: bool, check: bool = True) -> bool:
    """Runs, checks, shows and writes the results; returns whether all checks passed. Wrong results are not written.

    Raises:
        WarpfoldError: whatever is wrong with the request; nothing is written then.
    """
    target = Output(output, request.files) if output is not None else None
    outcome = perform(request, Operands.of(request.arrays, device), keepdims)
    if check:
        with terminal.progress("checking against NumPy"):
            _check(request, outcome)
        for m, types in outcome.ready.traced.used:
            warn_thoroughly(m, types)
    if target is not None and outcome.passed:
        target.write(lambda f: _save(f, outcome))
    if json:
        terminal.show(terminal.as_json(_facts(request, outcome, device, output)))
    else:
        _show(request, outcome, device, output)
    return outcome.passed


def perform(request: Request, arrays: Operands, keepdims: bool) -> Outcome:
    """Compiles and runs on the backend of ``arrays``, without checks."""
    with terminal.progress("compiling"), request.users_code():
        started = time.perf_counter()
        ready = _prepare(request, arrays, keepdims)
        compiled, cached = _compile(ready)
        compile_s = time.perf_counter() - started
    with terminal.progress(f"running on the {arrays.backend.name}"):
        started = time.perf_counter()
        got = _launch(arrays, compiled, ready)
        run_s = time.perf_counter() - started
    results = [np.asarray(r) for r in got]
    outcome = Outcome(ready, arrays, results, cached, compile_s, run_s)
    outcome.device_us = _device_time(outcome, compiled)
    return outcome


def _prepare(request: Request, arrays: Operands, keepdims: bool) -> Prepared:
    """Program, geometry and plan for the arrays, with memory for the results."""
    axes = normalize_axes(request.axis, len(arrays.shape))
    wanted = Wanted(request.what, axes, params_of(request.what, request.params), request.plan)
    return prepared(wanted, arrays, keepdims=keepdims)


def _launch(arrays: Operands, compiled: Artifact, ready: Prepared) -> Any:
    """The results in one flat sequence."""
    flat, checks = side_by_side(ready), ready.traced.checks
    return execute(arrays, compiled, ready.geometry, ready.choice.run, flat, checks)


def _compile(ready: Prepared) -> tuple[Artifact, bool]:
    """The artifact, and whether it was cached."""
    found = cached(ready) is not None
    return artifact(ready), found


class _Timed:
    """A backend that records the device time of the kernels."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self.microseconds = float("inf")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def launch(self, compiled: Artifact, calls: Any, stream: int) -> None:
        for _ in range(REPEATS):
            spent = self._backend.elapsed(lambda: self._backend.launch(compiled, calls, stream), stream)
            self.microseconds = min(self.microseconds, spent)


def _device_time(outcome: Outcome, compiled: Artifact) -> float | None:
    """The least device time of a few runs of the kernels; None for a backend without a clock."""
    arrays = outcome.arrays
    if not hasattr(arrays.backend, "elapsed") or 0 in arrays.inputs[0].shape:
        return None
    timed: Any = _Timed(arrays.backend)
    arrays.backend = timed
    _launch(arrays, compiled, outcome.ready)
    return float(timed.microseconds)


def _check(request: Request, outcome: Outcome) -> None:
    ready = outcome.ready
    axes = normalize_axes(request.axis, request.arrays[0].ndim)
    inputs = [p for x in request.arrays for p in parts(x)]
    evaluator = Evaluator(ready.program, inputs, axes, random=not request.files)
    levels_ = _depth(ready)
    got = [p for r in outcome.results for p in parts(r)]
    plain = len(inputs) == len(request.arrays) and not request.params
    name = request.what if plain else None
    checks = iter(reference.check(name, evaluator, request.arrays, axes, got, levels_))
    outcome.checks = [reference.worst([next(checks) for _ in parts(r)]) for r in outcome.results]


def _depth(ready: Prepared) -> int:
    """The greatest number of combines that an element passes through."""
    left = ready.geometry.after
    return reference.depth(ready.choice.plan, ready.choice.run, ready.geometry.times, left.n_reduced if left else 1)


def _save(f: Any, outcome: Outcome) -> None:
    """One result as an array; several as fields of a structured array, so that each keeps its type."""
    found = outcome.results
    np.save(f, found[0] if len(found) == 1 else _fields(_labels(outcome), found), allow_pickle=False)


def _fields(labels: Sequence[str], results: Sequence[Array]) -> Array:
    """Results of one shape as a structured array."""
    whole = np.empty(results[0].shape, [(label, r.dtype) for label, r in zip(labels, results, strict=True)])
    for label, result in zip(labels, results, strict=True):
        whole[label] = result
    return whole


def _labels(outcome: Outcome) -> list[str]:
    """The name of each result; empty for a single one."""
    return leaf_names(outcome.ready.traced.structure)


def why(outcome: Outcome, device: str) -> str:
    """The backend that ran, and the reason for it."""
    backend: Any = outcome.arrays.backend
    if backend.name == "cuda":
        return f"CUDA: {backend.device_name}" + (", chosen because it is there" if device == "auto" else "")
    text = f"emulator of {backend.target.arch}"
    if device != "auto":
        return text
    from ..runtime.backends.cuda_backend import backend as cuda

    try:
        cuda(0)
    except WarpfoldError as e:
        return f"{text}, chosen because {e.message.partition(':')[0]}"
    return text


def _show(request: Request, outcome: Outcome, device: str, output: str | None) -> None:
    plan, run_ = outcome.ready.choice.plan, outcome.ready.choice.run
    lines: list[tuple[str, object]] = [
        ("run", f"{request.title()} ({request.kind()[2]})"),
        ("on", why(outcome, device)),
    ]
    types = outcome.ready.traced.results
    checks: list[reference.Check | None] = [*outcome.checks] or [None] * len(types)
    for name, t, result, check in zip(_labels(outcome), types, outcome.results, checks, strict=True):
        lines.append((f"result {name}".rstrip(), f"{t.name}{list(result.shape)}"))
        lines.append((f"value {name}".rstrip(), _value(result)))
        lines.append(
            (f"check {name}".rstrip(), _verdict(result, check) if check is not None else "left out (--no-check)")
        )
    stages = [stage for level in levels.of(outcome.ready) for stage, _ in level.stages]
    lines.append(("plan", levels.plan_words(plan)))
    finish = f" ({plan.finish})" if plan.finish != "cta" else ""
    lines.append(("stages", " -> ".join(s.removeprefix("fold.") for s in stages) + finish))
    lines.append(("grid", f"{run_.tiles} x {run_.split} CTA(s) of {plan.threads} threads"))
    made = "found in the cache" if outcome.cached else "made now"
    lines.append(("compile", f"{terminal.duration(outcome.compile_s)} ({made})"))
    lines.append(("run", f"{terminal.duration(outcome.run_s)} (host clock, from arrays to result)"))
    if outcome.device_us:
        moved = sum(x.nbytes for x in (*request.arrays, *outcome.results)) / outcome.device_us / 1e3
        device_time = terminal.duration(outcome.device_us / 1e6)
        lines.append(("kernels", f"{device_time} (device clock, least of {REPEATS}), {moved:.4g} GB/s"))
    if output:
        lines.append(("written", output if outcome.passed else "nothing, since the check failed"))
    terminal.facts(lines)


def _value(result: Array) -> str:
    """A result as text, shortened if it is large."""
    return np.array2string(result, threshold=SMALL, edgeitems=3, max_line_width=100)


def _verdict(result: Array, check: reference.Check) -> str:
    """The outcome of a check in words."""
    if check.unknown == result.size:
        return "not checked: partial results overflow their type, so nothing can be said of the result"
    if check.exact or not np.isfinite(check.allowed):  # equal although it overflows
        said = "equal to NumPy's" if check.passed else "not equal to NumPy's"
    else:
        within = "within" if check.passed else "beyond"
        share = f" ({check.relative:.2g} of the greatest result)" if check.error else ""
        said = f"error {check.error:.3g}{share}, {within} the allowed {check.allowed:.3g}"
    if check.unknown:
        said += f"; nothing can be said of {check.unknown} element(s) whose partial results overflow their type"
    if check.passed:
        return f"passed: {said}"
    place = check.worst or 0
    got, expected = result.reshape(-1)[place], check.reference.reshape(-1)[place]
    index = tuple(int(i) for i in np.unravel_index(place, result.shape))
    return f"FAILED: {said}\nat {index}: got {got}, expected {expected}"


def _plain(result: Array) -> Any:
    """A result as plain values, for JSON: a complex number is a list of its two parts."""
    return np.stack(parts(result), axis=-1).tolist() if result.dtype.kind == "c" else result.tolist()


def _check_facts(c: reference.Check) -> dict[str, object]:
    """A check as plain values."""
    return {
        "passed": c.passed, "exact": c.exact, "error": c.error, "relative_error": c.relative, "allowed": c.allowed,
        "unknown": c.unknown,
    }  # fmt: skip


def _facts(request: Request, outcome: Outcome, device: str, output: str | None) -> dict[str, object]:
    """All output as plain values."""
    shape, types, source = request.kind()
    found = outcome.ready.traced.results
    checks: list[reference.Check | None] = [*outcome.checks] or [None] * len(found)
    results = [
        {
            "name": n, "dtype": t.name, "shape": list(r.shape), "value": _plain(r) if r.size <= IN_JSON else None,
            **(_check_facts(c) if c is not None else {}),
        }
        for n, t, r, c in zip(_labels(outcome), found, outcome.results, checks, strict=True)
    ]  # fmt: skip
    return {
        "op": request.op, "name": request.name, "shape": list(shape), "dtypes": [t.name for t in types],
        "source": source, "axis": None if request.axis is None else list(request.axis),
        "backend": outcome.arrays.backend.name, "why": why(outcome, device),
        "passed": outcome.passed if outcome.checks else None,
        "results": results, **emit.plan_facts(outcome.ready),
        "compile_ms": outcome.compile_s * 1e3, "cached": outcome.cached, "run_ms": outcome.run_s * 1e3,
        "kernels_us": outcome.device_us, "output": output if outcome.passed else None,
    }  # fmt: skip
