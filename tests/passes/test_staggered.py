"""Staggered warps: every element once, and no access outside the array.

An array here ends where its memory ends, so the emulator refuses (WF710) a load beyond it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arrays import laid, numbers, placed
from covering import covering
from numpy.lib.stride_tricks import as_strided

import warpfold as wf
from warpfold.compiler.errors import PlanError
from warpfold.compiler.planner.alignment import WIDEST
from warpfold.compiler.target import WARP

TYPES = [np.int8, np.float16, np.float32, np.float64]
WALK = "walk=staggered"


def pitch_of(columns: int, more: int, warps: int, vector: int) -> int:
    """The least distance of rows of these columns, plus ``more`` or a few elements, that these warps can read."""
    return next(p for p in range(columns + more, columns + more + vector) if warps * p % vector == 0)


@covering(
    (("what", "t"), [*(("sum", t) for t in TYPES), ("max", np.int8), ("argmax", np.float32)]),
    ("finish", ["cta", "last_block,coarsening=4"]),
)
def test_every_column_is_read_wherever_the_rows_begin(what: str, t: Any, finish: str) -> None:
    """Every offset; tiles that are just full, end inside an access, or have one column too many; rows near and far."""
    item = np.dtype(t).itemsize
    vector = WIDEST // item
    tile = (WARP - 1) * vector
    for at, offset in enumerate(range(0, WIDEST, item)):
        warps, unroll = (2, 4, 8)[at % 3], (1, 2, 4)[at % 3]
        for columns in (vector, vector + 1, tile - 1, tile, tile + 1, 2 * tile + vector - 1):
            count = 2 + (at * 7 + columns) % (3 * warps * unroll)
            values = numbers((count, columns), t, at)
            plan = f"{WALK},warps={warps},unroll={unroll},vector={vector},finish={finish}"
            array, _ = laid(values, (pitch_of(columns, at % 3, warps, vector), 1), offset)
            found = wf.reduce(array, what, axis=0, plan=plan, device="emulator")
            np.testing.assert_array_equal(found, getattr(values, what)(axis=0), f"{offset} {values.shape} {plan}")


def test_rows_that_overlap_are_read_from_the_row_before() -> None:
    """Each row begins 16 bytes after the one before, and ends far beyond the end of the next."""
    flat = placed(numbers((4 * 40 + 200,), np.float32), 4)
    array = as_strided(flat, (41, 200), (16, 4))
    for vector in (2, 4):
        found = wf.sum(array, axis=0, plan=f"{WALK},vector={vector},unroll=2", device="emulator")
        np.testing.assert_array_equal(found, array.sum(axis=0))
    with pytest.raises(PlanError, match="WF416"):
        wf.sum(as_strided(flat, (41, 200), (12, 4)), axis=0, plan=WALK, device="emulator")


@pytest.mark.parametrize(
    ("x", "axis", "more"),
    [
        (np.zeros((40, 300), np.float32), 1, {}),
        (np.zeros((300, 80), np.float32)[:, ::2], 0, {}),
        (np.zeros((3, 3, 3, 3, 40, 300), np.float32)[:2, :2, :2, :2, :, :299], 4, {}),
        (np.zeros((40, 300), np.complex64), 0, {}),
        (np.zeros((40, 3), np.float32), 0, {}),
        (np.zeros((1, 300), np.float32), 0, {}),
        (np.broadcast_to(np.zeros(300, np.float32), (40, 300)), 0, {}),
        (np.zeros((40, 300), np.float32), 0, {"where": np.ones((40, 300), bool)}),
        (np.zeros((40, 300), np.float32), 0, {"determinism": "portable"}),
        (np.zeros((40, 301), np.float32), 0, {"plan": f"{WALK},warps=2,vector=4"}),
    ],
)
def test_arrays_that_staggered_warps_cannot_read_are_refused(x: Any, axis: int, more: Any) -> None:
    """No row along the kept axis, or a row that begins anywhere, or whose place the result may not depend on.

    Rows reduced along themselves, gaps between columns, many kept dims, two inputs, less than 16 bytes from one row to
    the next, no rows, a mask; an address between elements, too many places.
    """
    with pytest.raises(PlanError, match="WF416: walk=staggered does not fit this layout"):
        wf.sum(x, axis=axis, device="emulator", **{"plan": WALK} | more)


def test_an_ordered_combine_is_refused() -> None:
    last = wf.monoid(identity=0, commutative=False)(lambda a, b: wf.where(b == 0, a, b))
    with pytest.raises(PlanError, match="WF409"):
        wf.reduce(np.zeros((40, 300), np.float32), lambda x: wf.fold(last, x), axis=0, plan=WALK, device="emulator")
