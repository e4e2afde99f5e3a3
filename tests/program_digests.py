"""Digests of results of the library's programs: made on the emulator, and the same on every GPU.

``python tests/program_digests.py emulator tests/data/programs.json`` writes the table. Plans are ``portable``: the bits
depend on the arrays alone. Those by which the grid shares rows cannot be; rows so short have few parts on any machine.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import library_programs
import numpy as np
from library_programs import Case

import warpfold as wf


def digest(results: tuple[np.ndarray, ...]) -> str:
    """The first 16 hex digits of the SHA-256 of the results' bytes; a NaN counts as a NaN, whichever it is."""
    found = hashlib.sha256()
    for result in results:
        flat = np.atleast_1d(np.array(result, order="C"))
        if flat.dtype.kind not in "biu":
            flat[np.isnan(flat)] = np.nan
        found.update(flat.tobytes())
    return found.hexdigest()[:16]


def results(case: Case, device: str) -> tuple[np.ndarray, ...]:
    """The results of a case, as a tuple."""
    how = {"plan": case.plan} if case.plan else {}
    function = getattr(wf, case.function)
    if case.gradient:
        function = wf.value_and_grad(function) if "target" in case.arrays else partial(wf.vjp(function), given(case))
    determinism = "run" if "resident=grid" in case.plan else "portable"
    got = function(**case.arrays, **case.params, **how, device=device, determinism=determinism)
    return got if isinstance(got, tuple) else (got,)


def given(case: Case) -> np.ndarray:
    """The gradient of the result of a program whose result is like ``x``."""
    x = case.arrays["x"]
    return np.random.default_rng(9).standard_normal(x.shape).astype(np.float32).astype(x.dtype)


def gradients() -> Iterator[Case]:
    """Gradients: rows and columns, halves, weights, groups, and a loss with its gradient."""
    rng = np.random.default_rng(8)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((6, 352), 352))
    half, channels = x.astype(library_programs.HALF["bf16"]), x.reshape(3, 8, 88)
    yield Case("gradient-softmax", "softmax", {"x": x}, gradient=True)
    yield Case("gradient-softmax-columns", "softmax", {"x": half}, {"axis": 0}, gradient=True)
    yield Case("gradient-layer_norm", "layer_norm", {"x": x[:, :333], "weight": w[:333], "bias": w[19:]}, gradient=True)
    yield Case("gradient-rms_norm-bf16", "rms_norm", {"x": half, "weight": w}, gradient=True)
    own = {"x": channels, "weight": w[:8], "bias": w[8:16]}
    yield Case("gradient-group_norm", "group_norm", own, {"num_groups": 4}, gradient=True)
    target = {"x": x, "target": rng.integers(0, 352, 6)}
    yield Case("gradient-cross_entropy", "cross_entropy", target, {"label_smoothing": 0.1}, gradient=True)


def bits() -> Iterator[Case]:
    """Arrays of bits, made by a ballot, by lanes with several elements, of rows that begin inside a word; and masks."""
    mask = np.random.default_rng(5).random((6, 352)) < 0.5
    yield Case("pack", "pack", {"mask": mask})
    yield Case("pack-odd", "pack", {"mask": mask[:, :333]})
    yield Case("pack-flat", "pack", {"mask": mask[:, 1:]}, {"flat": True})
    words = np.random.default_rng(6).integers(0, 2**32, (6, 11), np.uint32)
    yield Case("unpack-odd", "unpack", {"bits": words}, {"shape": (6, 333)})
    yield Case("unpack-flat", "unpack", {"bits": words.reshape(-1)}, {"shape": (9, 234), "flat": True})
    x = np.random.default_rng(7).standard_normal((6, 352)).astype(np.float32)
    masked, odd = {"x": x, "where": words}, {"x": x[:, :333], "where": words}
    yield Case("sum-where-bits", "sum", masked, {"axis": 1})
    yield Case("sum-where-bits-of-all", "sum", {"x": x, "where": words.reshape(-1)})
    yield Case("sum-where-bits-odd", "sum", odd, {"axis": 1})
    yield Case("mean_var-where-bits-columns", "mean_var", masked | {"x": x.astype(np.float16)}, {"axis": 0})
    yield Case("max-where-bits-columns-odd", "max", odd, {"axis": 0, "initial": -1})
    yield Case("softmax-where-bits", "softmax", odd)


def cases() -> Iterator[Case]:
    """All cases."""
    yield from (*library_programs.cases(), *library_programs.residencies(), *bits(), *gradients())


def written(device: str) -> str:
    """The file: the digest of each case."""
    return json.dumps({case.name: digest(results(case, device)) for case in cases()}, indent=0)


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(written(sys.argv[1]))
