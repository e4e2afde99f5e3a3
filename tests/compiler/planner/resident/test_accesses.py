"""How programs that read rows again access arrays whose rows begin at other places between two boundaries."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warpfold.compiler.dtypes import F16, F32
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.target import TARGETS

sys.path.insert(0, str(Path(__file__).parents[3] / "passes"))
from kernel_programs import softmax, task_of

TYPES = {"f32": (np.float32, F32), "f16": (np.float16, F16)}


def _rows(columns: int, pitch: int, t: Any, rows: int = 1 << 14) -> Any:
    item = np.dtype(t).itemsize
    return np.lib.stride_tricks.as_strided(np.zeros(4, t), (rows, columns), (pitch * item, item))


def _chosen(t: str, columns: int, pitch: int, result: int, determinism: str = "run") -> tuple[int, tuple[str, ...]]:
    """The elements of an access, and the accesses, of rows ``pitch`` apart with results ``result`` apart."""
    numpy, own = TYPES[t]
    task = task_of(
        softmax(own), [_rows(columns, pitch, numpy), _rows(columns, result, numpy)], (0,), TARGETS["sm_90a"],
        determinism=determinism,
    )  # fmt: skip
    choice = choose(task, "tile_bytes=0" if determinism == "run" else "")
    return choice.plan.vector, (*choice.facts.access, *choice.facts.stores)


@pytest.mark.parametrize(
    ("t", "columns", "pitch", "result", "vector", "found"),
    [
        ("f16", 1024, 1024, 1024, 8, ("aligned", "aligned")),
        ("f16", 1024, 1025, 1024, 8, ("unaligned", "aligned")),
        ("f32", 1024, 1025, 1024, 4, ("strided", "aligned")),
        ("f16", 8191, 8191, 8191, 8, ("shifted", "shifted")),
        ("f16", 8191, 8192, 8191, 8, ("strided", "shifted")),
        ("f32", 8191, 8192, 8191, 4, ("strided", "shifted")),
        ("f16", 64, 65, 64, 1, ("strided", "strided")),
        ("f32", 20000, 20001, 20000, 1, ("strided", "strided")),
    ],
)
def test_accesses_follow_the_results(
    t: str, columns: int, pitch: int, result: int, vector: int, found: tuple[str, ...]
) -> None:
    """Inputs that begin elsewhere are read otherwise, in rows that wait in registers and have accesses enough."""
    assert _chosen(t, columns, pitch, result) == (vector, found)


@pytest.mark.parametrize(
    ("t", "columns", "found"),
    [("f16", 1001, "unaligned"), ("f16", 1000, "strided"), ("f32", 1001, "strided")],
)
def test_portable_plans_put_narrow_accesses_together_where_rows_cut_them(t: str, columns: int, found: str) -> None:
    assert _chosen(t, columns, columns + 2, columns + 2, "portable")[1] == (found, found)
