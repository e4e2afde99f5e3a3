"""Digests of results: made once on a GPU, compared with the emulator in CI.

``python tests/digests.py cuda tests/data/digests.json`` writes the table; ``tests/test_digests.py`` reads it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import warpfold as wf
from warpfold.compiler.dtypes import ALL, dtype

EXACT = ("sum", "prod", "min", "max", "argmin", "argmax")
ROUNDED = ("mean", "var", "norm", "logsumexp")
LAYOUTS: tuple[tuple[tuple[int, ...], int | tuple[int, ...] | None], ...] = (
    ((4096,), None),
    ((300_007,), None),
    ((129, 1001), 1),
    ((2001, 257), 0),
    ((4096, 64), 0),
    ((9, 130, 33), 1),
    ((5, 6, 7, 8), (0, 2)),
)


def values(shape: tuple[int, ...], name: str, op: str, *, special: bool) -> np.ndarray:
    """The input of a case: the same on every machine."""
    rng = np.random.default_rng([len(op), len(name), *shape])
    t = dtype(name)
    if t.kind == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if t.is_integer:
        return np.frombuffer(rng.bytes(t.itemsize * int(np.prod(shape))), t.numpy).reshape(shape)
    x = 1 + rng.standard_normal(shape) * 0.001 if op == "prod" else rng.standard_normal(shape) * 3
    if special:
        flat = x.reshape(-1)
        flat[rng.integers(0, flat.size, 7)] = [np.inf, -np.inf, -0.0, 0.0, np.inf, 1e-40, -1e-40]
        flat[rng.integers(0, flat.size)] = np.nan
    return x.astype(t.numpy)


def cases() -> Iterator[tuple[str, str, np.ndarray, int | tuple[int, ...] | None]]:
    """(name, operation, input, axis) of every digest."""
    for shape, axis in LAYOUTS:
        size = "x".join(map(str, shape))
        where = "all" if axis is None else str(axis).replace(" ", "")
        for t in ALL:
            floats = t.is_float
            for op in (*EXACT, *(ROUNDED if floats and t.bits >= 32 else ())):
                for special in (False, True) if floats and op in EXACT else (False,):
                    label = f"{op}-{size}-{where}-{t.name}" + ("-special" if special else "")
                    yield label, op, values(shape, t.name, op, special=special), axis


def digest(op: str, x: np.ndarray, axis: int | tuple[int, ...] | None, device: str) -> str:
    """The first 16 hex digits of the SHA-256 of the result's bytes.

    A NaN counts as a NaN: which one of two an operation passes on depends on the order in which the assembler puts
    its operands, and the ISA leaves it open.
    """
    result = np.array(getattr(wf, op)(x, axis, device=device))
    if result.dtype.kind not in "biu":
        result[np.isnan(result)] = np.nan
    return hashlib.sha256(result.tobytes()).hexdigest()[:16]


def _numpy(op: str, x: np.ndarray, axis: int | tuple[int, ...] | None) -> np.ndarray:
    """NumPy's argmin or argmax; over several axes those are made the last one first."""
    x = x.astype(np.float64) if x.dtype.kind not in "biu" else x
    if isinstance(axis, tuple):
        kept = [a for a in range(x.ndim) if a not in axis]
        x = x.transpose(*kept, *axis).reshape(*(x.shape[a] for a in kept), -1)
        axis = -1
    return np.asarray(getattr(np, op)(x, axis=axis))


def table(device: str) -> dict[str, str]:
    """Every digest on a device; a case is run twice and must give the same bits."""
    found = {}
    for name, op, x, axis in cases():
        first, second = digest(op, x, axis, device), digest(op, x, axis, device)
        if first != second:
            raise AssertionError(f"{name} gave different bits on two runs")
        if op.startswith("arg") and not np.array_equal(getattr(wf, op)(x, axis, device=device), _numpy(op, x, axis)):
            raise AssertionError(f"{name} is not what NumPy finds")
        found[name] = first
    return found


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(table(sys.argv[1]), indent=0))
