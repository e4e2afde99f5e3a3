"""Digests of results: made once on a GPU, compared with the emulator in CI.

``python tests/digests.py cuda tests/data/digests.json`` writes the table: the machine, and for each plan the digests of
the results that it gave there. ``tests/test_digests.py`` has the emulator run those plans, so that the comparison holds
when the planner has learned better ones.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import warpfold as wf
from warpfold.commands.bench import provenance
from warpfold.compiler.dtypes import ALL, C64, C128, F8E4M3FN, F8E5M2, F32, F64, dtype
from warpfold.runtime import tuned_plans
from warpfold.runtime.backends.select import backend_for
from warpfold.runtime.programs.reductions import prepared

EXACT = ("sum", "prod", "min", "max", "argmin", "argmax")
ROUNDED = ("mean", "var", "norm", "logsumexp")
MERGED = ("describe", "minmax", "mean_var", "nansum", "nanmean", "nanargmax", "compensated")
COMPLEX = ("sum", "prod", "mean", "norm")
LAYOUTS: tuple[tuple[tuple[int, ...], int | tuple[int, ...] | None], ...] = (
    ((4096,), None),
    ((300_007,), None),
    ((129, 1001), 1),
    ((2001, 257), 0),
    ((4096, 64), 0),
    ((9, 130, 33), 1),
    ((5, 6, 7, 8), (0, 2)),
)
LARGE: tuple[tuple[tuple[int, ...], int | tuple[int, ...]], ...] = (
    ((9, 467, 1001), (0, 2)),
    ((11, 700, 577), 1),
    ((6, 700_001), 0),
)
"""Arrays so large that runs, and rows of several kept dims, begin anywhere and are read so."""
FUNCTIONS = (
    "exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tanh", "erf", "sqrt", "rsqrt", "floor", "ceil",
)  # fmt: skip


@wf.monoid(identity=0)
def XOR(a: Any, b: Any) -> Any:  # noqa: N802
    """One wrong bit in any element changes it."""
    return a ^ b


def bits(function: str) -> Callable[[Any], Any]:
    """The bits of all values of an elementwise function, folded into one word."""

    def folded(x: Any) -> Any:
        y = x**1.7 if function == "pow" else getattr(wf, function)(x)
        word = wf.bitcast(wf.where(wf.isnan(y), 0.0, y), "u32" if x.dtype == F32 else "u64")
        return wf.fold(XOR, word * (2 * wf.index(word.dtype) + 1))

    folded.__name__ = function
    return folded


@dataclass(frozen=True)
class Case:
    """One digest: its name, its group, what is computed of which input, and the arguments."""

    name: str
    group: str
    what: str | Callable[[Any], Any]
    x: np.ndarray
    axis: int | tuple[int, ...] | None = None
    determinism: str = "run"
    shift: int = 0

    @property
    def same(self) -> str:
        """What has one digest whatever the alignment: the name up to the shift under ``portable``."""
        return self.name.partition("+")[0]


def values(shape: tuple[int, ...], name: str, op: str, *, special: bool) -> np.ndarray:
    """The input of a case: the same on every machine."""
    rng = np.random.default_rng([len(op), len(name), *shape])
    t = dtype(name)
    if t.kind == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if t.is_integer:
        return np.frombuffer(rng.bytes(t.itemsize * int(np.prod(shape))), t.numpy).reshape(shape)
    x = 1 + rng.standard_normal(shape) * 0.001 if op == "prod" else rng.standard_normal(shape) * 3
    if t.kind == "complex":
        return (x + 0.001j * x[::-1]).astype(t.numpy)
    if special:
        flat = x.reshape(-1)
        flat[rng.integers(0, flat.size, 7)] = [np.inf, -np.inf, -0.0, 0.0, np.inf, 1e-40, -1e-40]
        flat[rng.integers(0, flat.size)] = np.nan
    return x.astype(t.numpy)


def patterns(name: str) -> np.ndarray:
    """Floats of every sign and exponent, special ones among them."""
    t = dtype(name)
    rng = np.random.default_rng(len(name))
    word = np.frombuffer(rng.bytes(t.itemsize << 14), f"u{t.itemsize}")
    near = (rng.standard_normal(1 << 13) * 4).astype(t.numpy)
    return np.concatenate([word.view(t.numpy), near, np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1], t.numpy)])


def cases() -> Iterator[Case]:
    """Every digest."""
    for shape, axis in LAYOUTS:
        size = "x".join(map(str, shape)) + "-" + ("all" if axis is None else str(axis).replace(" ", ""))
        yield from _plain(size, shape, axis)
        for op in MERGED:
            yield Case(f"{op}-{size}", "merged", op, values(shape, "f32", op, special=False), axis)
        for op, t in ((op, t) for op in COMPLEX for t in (C64, C128)):
            yield Case(f"{op}-{size}-{t.name}", "complex", op, values(shape, t.name, op, special=False), axis)
        for t in (F8E4M3FN, F8E5M2):
            yield Case(f"sum-{size}-{t.name}", "f8", "sum", values(shape, t.name, "sum", special=False), axis)
        for op in ("sum", "mean", "var", "logsumexp"):
            x = values(shape, "f32", op, special=False)
            for shift in (0, 1, 3):
                yield Case(f"{op}-{size}-portable+{shift}", "portable", op, x, axis, "portable", shift)
    for shape, axis in LARGE:
        size = "x".join(map(str, shape)) + "-" + str(axis).replace(" ", "")
        for op, name in (
            ("sum", "bf16"),
            ("mean", "f32"),
            ("sum", "i8"),
            ("any", "bool"),
            ("argmax", "f16"),
            ("max", "u8"),
        ):
            yield Case(f"{op}-{size}-{name}", "large", op, values(shape, name, op, special=False), axis)
    for function, t in ((f, t) for f in (*FUNCTIONS, "pow") for t in (F32, F64)):
        yield Case(f"{function}-{t.name}", "functions", bits(function), patterns(t.name))


def _plain(size: str, shape: tuple[int, ...], axis: int | tuple[int, ...] | None) -> Iterator[Case]:
    """The reductions of every element type."""
    for t in ALL:
        for op in (*EXACT, *(ROUNDED if t.is_float and t.bits >= 32 else ())):
            for special in (False, True) if t.is_float and op in EXACT else (False,):
                label = f"{op}-{size}-{t.name}" + ("-special" if special else "")
                yield Case(label, op, op, values(shape, t.name, op, special=special), axis)


def digest(case: Case, device: str, plan: str = "") -> str:
    """The first 16 hex digits of the SHA-256 of the results' bytes under a plan, the planner's own if none is named.

    A NaN counts as a NaN: which one of two an operation passes on depends on the order in which the assembler puts
    its operands, and the ISA leaves it open.
    """
    found = hashlib.sha256()
    for result in results(case, device, plan):
        flat = np.atleast_1d(np.array(result, order="C"))
        if flat.dtype.kind == "c":
            flat = flat.view(f"f{flat.itemsize // 2}")
        if flat.dtype.kind not in "biu":
            flat[np.isnan(flat)] = np.nan
        found.update(flat.tobytes())
    return found.hexdigest()[:16]


def results(case: Case, device: str, plan: str = "") -> tuple[Any, ...]:
    """The results of a case, as a tuple."""
    what, params = request(case)
    how: dict[str, Any] = {"axis": case.axis, "device": device, "determinism": case.determinism, "plan": plan}
    got = wf.reduce(shifted(case.x, case.shift), what, **how, **params)
    return got if isinstance(got, tuple) else (got,)


def request(case: Case) -> tuple[str | Callable[[Any], Any], dict[str, Any]]:
    """What ``reduce`` is asked for, and with what parameters."""
    return ("sum", {"accumulate": "compensated"}) if case.what == "compensated" else (case.what, {})


def own_plan(case: Case, device: str) -> str:
    """The fields of the planner's own plan for a case, as ``plan=`` takes them."""
    what, params = request(case)
    x = shifted(case.x, case.shift)
    found = prepared([x], what, case.axis, params, determinism=case.determinism, device=device)[1]  # type: ignore[arg-type]
    return tuned_plans.words(found.steps[0].prepared.choice.plan)


def shifted(x: np.ndarray, by: int) -> np.ndarray:
    """A copy of ``x`` that begins ``by`` elements after a boundary of 64 bytes."""
    memory = np.empty(x.size + 64, x.dtype)
    start = -memory.ctypes.data % 64 // x.itemsize + by
    copy = memory[start : start + x.size].reshape(x.shape)
    copy[...] = x
    return copy


def _numpy(op: str, x: np.ndarray, axis: int | tuple[int, ...] | None) -> np.ndarray:
    """NumPy's argmin or argmax; over several axes those are made the last one first."""
    x = x.astype(np.float64) if x.dtype.kind not in "biu" else x
    if isinstance(axis, tuple):
        kept = [a for a in range(x.ndim) if a not in axis]
        x = x.transpose(*kept, *axis).reshape(*(x.shape[a] for a in kept), -1)
        axis = -1
    return np.asarray(getattr(np, op)(x, axis=axis))


def table(device: str) -> dict[str, dict[str, str]]:
    """For each plan every digest on a device; a case is run twice and must give the same bits, its own plan's."""
    found: dict[str, dict[str, str]] = {}
    seen: dict[str, str] = {}
    for case in cases():
        plan = own_plan(case, device)
        bits = {digest(case, device), digest(case, device), digest(case, device, plan)}
        if bits != {seen.setdefault(case.same, min(bits))}:
            raise AssertionError(f"{case.name} gave different bits on two runs")
        if case.what in ("argmin", "argmax"):
            (at,) = results(case, device)
            if not np.array_equal(at, _numpy(str(case.what), case.x, case.axis)):
                raise AssertionError(f"{case.name} is not what NumPy finds")
        found.setdefault(plan, {})[case.name] = seen[case.same]
    return found


def written(device: str) -> str:
    """The file: where the digests were made, and the digests."""
    machine = provenance.machine(backend_for((), device))  # type: ignore[arg-type]
    kept = {key: machine[key] for key in ("gpu", "driver", "cuda", "commit", "dirty", "date")}
    return json.dumps({"machine": kept, "digests": table(device)}, indent=0)


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(written(sys.argv[1]))
