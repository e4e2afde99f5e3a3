"""NumPy's answers to the built-in reductions, and what each of these needs beside its function.

``test_layout.py`` names what a built-in lacks. All other tests walk ``COMPLETE``, so that one which lacks something
fails there and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import warpfold as wf
from warpfold.compiler.program.library.reductions import FUNCTIONS

ROOT = Path(__file__).parent.parent
Answer = Callable[..., Any]


def logsumexp(x: np.ndarray) -> Any:
    """The logarithm of the sum of exponentials, the greatest taken out."""
    high = x.astype(np.float64).max()
    return high + np.log(np.exp(x - high).sum()) if np.isfinite(high) else high


def minmax(x: np.ndarray) -> dict[str, Any]:
    return {"min": x.min(), "max": x.max()}


def mean_var(x: np.ndarray) -> dict[str, Any]:
    return {"mean": x.mean(), "var": x.var()}


def describe(x: np.ndarray) -> dict[str, Any]:
    return {
        "count": np.int64(x.size), "nonzero": np.int64(np.count_nonzero(x)), **minmax(x), "argmin": np.argmin(x),
        "argmax": np.argmax(x), **mean_var(x), "std": x.std(), "norm": np.linalg.norm(x.astype(np.float64)),
    }  # fmt: skip


def norm(x: np.ndarray) -> Any:
    return np.linalg.norm(x if x.dtype.kind == "c" else x.astype(np.float64))


OWN: dict[str, Answer] = {f.__name__: f for f in (logsumexp, minmax, mean_var, describe, norm)} | {
    "count_nonzero": lambda x: np.int64(np.count_nonzero(x)),
    "vecdot": lambda x, y: np.dot(np.conj(x) if x.dtype.kind == "c" else x, y),
    "allclose": lambda x, y: np.bool_(np.allclose(x, y)),
    "array_equal": lambda x, y: np.bool_(np.array_equal(x, y)),
}
"""What NumPy has under another name, or not at all; all others are NumPy's own."""


def answer(name: str) -> Answer:
    """NumPy's function for a built-in reduction of one dim: it returns a value, or a dict of them by name."""
    found: Answer = OWN.get(name) or getattr(np, name)
    return found


def lacking(name: str) -> list[str]:
    """The entries that the built-in reduction ``name`` lacks: the file, and what belongs there."""
    own, stub = name in wf.__all__, _text("__init__.pyi")
    entries = [
        (own, "compiler/program/public_names.py: its name in REDUCTIONS"),
        (not own or re.search(rf"^def {name}\(| as {name},$", stub, re.M), "__init__.pyi: run tests/interface.py"),
        (f"`{name}`" in _text("docs/types.md"), "docs/types.md: run tests/types_page.py"),
        (
            f"`{name}`" in _text("docs/semantics.md"),
            "docs/semantics.md: what it means, in a sentence with its test",
        ),
        (f"`{name}`" in _text("docs/functions.md"), "docs/functions.md: its name and what it gives"),
        (name in OWN or hasattr(np, name), "tests/numpys.py: NumPy's answer in OWN"),
    ]
    return [entry for there, entry in entries if not there]


def _text(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


COMPLETE = [name for name in FUNCTIONS if not lacking(name)]
"""The built-in reductions that lack nothing."""
