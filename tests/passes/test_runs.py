"""Rows of several dims, run by run: every element once, and no access outside the array.

An array here ends where its memory ends, so the emulator refuses (WF710) a load beyond it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arrays import placed
from covering import covering

import warpfold as wf
from warpfold.compiler.driver.artifact import Artifact


def images(
    kept: tuple[int, ...], rows: int, columns: int, t: Any, offset: int = 0, cut: tuple[int, int] = (1, 1)
) -> Any:
    """Images of these rows and columns, cut out of others that begin at ``offset``.

    Reading the rest would change every result. The memory ends with the last element.
    """
    whole = (*kept, rows + 2 * cut[0], columns + 2 * cut[1])
    made = np.full(whole, 100).astype(t)
    inner = (..., slice(cut[0], cut[0] + rows), slice(cut[1], cut[1] + columns))
    made[inner] = np.random.default_rng(3).integers(-3, 4, made[inner].shape).astype(t)
    last = int(np.ravel_multi_index([n - 1 - c for n, c in zip(whole, (*(0 for _ in kept), *cut), strict=True)], whole))
    first = cut[0] * whole[-1] + cut[1]
    flat = placed(made.ravel()[first : last + 1], offset)
    return np.lib.stride_tricks.as_strided(flat, made[inner].shape, made[inner].strides)


def expected(x: Any, what: str, axes: tuple[int, ...]) -> Any:
    """NumPy's answer, over the last axes."""
    flat = x.reshape(*x.shape[: -len(axes)], -1)
    return getattr(flat.astype(np.int64) if what == "sum" else flat, what)(axis=-1)


@covering(
    ("finish", ["", ",finish=last_block,coarsening=4"]),
    (
        ("what", "t"),
        [
            ("sum", np.int8),
            ("max", np.int8),
            ("any", np.bool_),
            ("sum", np.float16),
            ("argmax", np.float32),
            ("max", np.float64),
            ("argmin", np.int16),
        ],
    ),
)
def test_every_run_is_read_wherever_it_begins(what: str, t: Any, finish: str) -> None:
    """Every place in an access; runs shorter than an access, that end inside one, or have one element too many."""
    item = np.dtype(t).itemsize
    for at, offset in enumerate(range(0, 16, item * (3 if item < 4 else 1))):
        vector, lanes, warps = 16 // item, (1, 4, 8, 32)[at % 4], (1, 2, 8)[at % 3]
        columns = (vector - 1, vector, 3 * vector + 1, lanes * vector * 4 - 1, lanes * vector + 1)[at % 5] or 1
        columns = max(columns, 2)
        rows = 5 + at
        plan = f"walk=runs,vector={vector},lanes={lanes},warps={warps},warps_kept=2,unroll={(1, 2, 4)[at % 3]}{finish}"
        x = images((5,), rows, columns, t, offset)
        found = wf.reduce(x, what, axis=(1, 2), plan=plan, device="emulator")
        np.testing.assert_array_equal(found, expected(x, what, (1, 2)), f"{offset} {x.shape} {plan}")


def test_three_reduced_dims_and_a_second_input() -> None:
    """Runs are numbered along two dims; with several inputs none may begin anywhere."""
    x = images((9, 7, 8), 5, 101, np.int8)
    plan = "walk=runs,lanes=4,warps=4,warps_kept=1"
    found = wf.sum(x, axis=(0, 2, 4), plan=plan, device="emulator")
    np.testing.assert_array_equal(found, x.sum(axis=(0, 2, 4), dtype=np.int64))
    y = images((4,), 30, 36, np.float32)
    product = wf.reduce(y, y, what="vecdot", axis=(1, 2), plan=plan, device="emulator")
    np.testing.assert_array_equal(product, (y.astype(np.float64) ** 2).sum(axis=(1, 2)))


@pytest.mark.parametrize("shape", [(3, 1400, 1001), (300, 40, 360)])
def test_a_large_array_has_the_layout_without_a_plan(shape: tuple[int, int, int], artifacts: list[Artifact]) -> None:
    x = images(shape[:1], *shape[1:], np.int8)
    np.testing.assert_array_equal(wf.argmax(x, axis=(1, 2), device="emulator"), expected(x, "argmax", (1, 2)))
    assert artifacts[0].main.plan.walk == "runs"
