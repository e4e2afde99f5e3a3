"""What only a GPU can show, in one run: the catalogue against float64, the bandwidth, compile times. Writes JSON."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from catalogue import CATALOGUE, Case, affine, moments

import warpfold as wf
from warpfold.compiler.driver.compile import compile_program
from warpfold.compiler.dtypes import dtype
from warpfold.compiler.space.geometry import normalize_axes
from warpfold.passes import steps
from warpfold.runtime import api

REFERENCE = {
    "norm": lambda x: [np.sqrt(np.sum(np.square(x), -1))],
    "logsumexp": lambda x: [np.log(np.sum(np.exp(x), -1))],
    "mean_var": lambda x: [np.mean(x, -1), np.var(x, -1)],
}
"""Of the last axis, along which alone NumPy adds in pairs."""


def make(case: Case) -> Any:
    """A random CUDA tensor of the case's kind."""
    import torch

    t = dtype(case.dtype)
    generator = torch.Generator("cuda").manual_seed(1)
    if case.what is affine:  # signs keep every composition exact, so that an element out of order shows
        return torch.randint(0, 2, case.shape, device="cuda", generator=generator).float() * 2 - 1
    if t.is_float:
        kind = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}[t.name]
        scale, shift = (1e-4, 1) if case.what == "prod" or callable(case.what) else (1, 0.5)
        return (torch.randn(case.shape, device="cuda", generator=generator) * scale + shift).to(kind)
    kind = getattr(torch, t.numpy_name)
    return torch.randint(0, 2 if t.kind == "bool" else 100, case.shape, device="cuda", generator=generator).to(kind)


def expected(case: Case, x: Any) -> list[np.ndarray]:
    """The results in float64 by NumPy."""
    host = x.double().cpu().numpy() if x.dtype.is_floating_point else x.cpu().numpy()
    axes = normalize_axes(case.axis, host.ndim)
    kept = [a for a in range(host.ndim) if a not in axes]
    rows = np.ascontiguousarray(host.transpose(*kept, *axes)).reshape(*(host.shape[a] for a in kept), -1)
    if case.what is affine:  # t -> t x + 1 for each x in turn: 1 plus the products of the last 1, 2, ... elements
        return [1 + np.cumprod(rows[..., :0:-1], -1).sum(-1)]
    if case.what is moments:
        return [np.sum(rows**k, -1) for k in (1, 2, 3)]
    if case.what in REFERENCE:
        return REFERENCE[case.what](rows.astype(np.float64))
    return [np.asarray(getattr(np, case.what)(rows, axis=-1))]


def off(case: Case, x: Any, got: Any, wanted: np.ndarray) -> tuple[float, float]:
    """(largest error, most that it may be): exact for integers, else roundings of the result and of the accumulator.

    The accumulator's part is measured against the sum of magnitudes, which a sum that cancels is small beside.
    """
    value = got.double().cpu().numpy() if got.dtype.is_floating_point else got.cpu().numpy()
    if not got.dtype.is_floating_point:
        return float(np.max(value != wanted)), 0.0
    with np.errstate(over="ignore"):
        rounded = wanted.astype(dtype(str(got.dtype).removeprefix("torch.")).numpy).astype(np.float64)
    if not np.array_equal(np.isfinite(value), np.isfinite(rounded)):
        return float("inf"), 0.0
    finite = np.isfinite(rounded)
    magnitude = np.max(np.abs(wanted[finite]), initial=0)
    if case.what == "sum" or callable(case.what):
        magnitude = max(
            magnitude, float(x.double().abs().sum(case.axis).max() if case.axis is not None else x.double().abs().sum())
        )
    eps = {"torch.float16": 2**-11, "torch.bfloat16": 2**-8, "torch.float32": 2**-24, "torch.float64": 2**-53}
    accumulator = 2**-53 if got.dtype.itemsize == 8 else 2**-24
    if case.what == "prod":  # every factor adds a rounding, in any order
        magnitude *= x.numel() ** 0.5
    error = np.max(np.abs(value[finite] - wanted[finite]), initial=0)
    return float(error), float(
        eps[str(got.dtype)] * np.max(np.abs(wanted[finite]), initial=0) + 16 * accumulator * magnitude
    )


def check(case: Case) -> dict[str, Any]:
    """Runs one case twice and says how far it is off, and whether both runs gave the same bits."""
    x = make(case)
    runs = [wf.reduce(x, what=case.what, axis=case.axis, plan=case.plan) for _ in range(2)]
    got, again = (r if isinstance(r, tuple) else (r,) for r in runs)
    pairs = [off(case, x, g, w) for g, w in zip(got, expected(case, x), strict=True)]
    found: dict[str, Any] = {
        "off": max(e for e, _ in pairs),
        "allowed": max(a for _, a in pairs),
        "same": all(bool((g == a).all()) for g, a in zip(got, again, strict=True)),
    }
    found["right"] = found["same"] and all(e <= a for e, a in pairs)
    if case.what == "sum" and case.dtype == "f32":
        numpy = np.sum(x.cpu().numpy(), axis=case.axis).astype(np.float64)
        found["off of numpy"] = float(np.max(np.abs(numpy - expected(case, x)[0])))
    return found


def bandwidth() -> dict[str, float]:
    """Median GB/s of reducing a gibibyte of f32, the L2 flushed in between."""
    import torch

    x = torch.randn(1 << 28, device="cuda")
    out = torch.empty((), device="cuda")
    flush = torch.empty(1 << 29, dtype=torch.uint8, device="cuda")
    found = {}
    runs = {
        "warpfold": lambda: wf.sum(x, out=out),
        "torch": lambda: torch.sum(x, 0, out=out),
        "warpfold max": lambda: wf.max(x, out=out),
    }
    for name, run in runs.items():
        times = []
        for _ in range(30):
            for _ in range(4):  # long enough for the host to queue what is timed
                flush.zero_()
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            run()
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end))
        found[name] = (4 << 28) / (float(np.median(times)) * 1e-3) / 1e9
    exact = x.double().sum().item()
    found["relative error"] = abs(wf.sum(x).item() - exact) / abs(exact)
    found["relative error of numpy"] = abs(float(np.sum(x.cpu().numpy())) - exact) / abs(exact)
    return found


def compile_times() -> dict[str, float]:
    """Milliseconds from a planned program to PTX, the best of three."""
    found = {}
    for case in CATALOGUE:
        r = api.plan_for(case.what, case.shape, case.dtype, axis=case.axis, plan=case.plan)
        times = []
        for _ in range(3):
            start = time.perf_counter()
            compile_program(r.program, r.choice.facts, r.choice.plan, r.target, steps(r.target))
            times.append(time.perf_counter() - start)
        found[case.name] = round(min(times) * 1e3, 1)
    return found


def main(path: str) -> None:
    """Writes everything to ``path`` and prints the short of it."""
    import torch

    report: dict[str, Any] = {"gpu": torch.cuda.get_device_name(), "cases": {}}
    for case in CATALOGUE:
        try:
            report["cases"][case.name] = check(case)
        except Exception as e:  # one failing case must not hide the others
            report["cases"][case.name] = {"failed": f"{type(e).__name__}: {e}"[:600]}
        torch.cuda.empty_cache()
    report["bandwidth"] = bandwidth()
    report["compile_ms"] = compile_times()
    Path(path).write_text(json.dumps(report, indent=1))
    for name, r in report["cases"].items():
        print(f"{name:60s} {r}")
    print(report["bandwidth"])
    wrong = [name for name, r in report["cases"].items() if not r.get("right")]
    print(f"{len(report['cases']) - len(wrong)} of {len(report['cases'])} right; wrong: {wrong}")
    print(sorted(report["compile_ms"].items(), key=lambda i: i[1])[-8:])
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(sys.argv[1])
