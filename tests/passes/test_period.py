"""Narrow rows read as one: every element once, and no access outside the array.

An array here ends where its memory ends, so the emulator refuses (WF710) a load beyond it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arrays import numbers, placed
from covering import covering

import warpfold as wf
from warpfold.compiler.errors import PlanError
from warpfold.compiler.planner.alignment import WIDEST

TYPES = [np.int8, np.float16, np.float32, np.float64]
WALK = "walk=period,warps_kept=1"
COLUMNS = [2, 3, 5, 7, 8, 9, 13, 16, 17, 31, 32]
"""What one warp can own: those that divide an access, fill several, or have nothing in common with one."""


@covering(
    (("what", "t"), [*(("sum", t) for t in TYPES), ("max", np.int8), ("argmax", np.float32)]),
    ("finish", ["cta", "last_block"]),
)
def test_every_column_is_read_wherever_the_array_begins(what: str, t: Any, finish: str) -> None:
    """Every offset, with rows that fill no period or a few, or end inside an access."""
    item = np.dtype(t).itemsize
    for at, offset in enumerate(range(0, WIDEST, item)):
        for n in COLUMNS:
            rows = (1 + (at + n) % 3) * 512 // n + (at * n) % 11 + 2
            plan = f"{WALK},unroll={(1, 2, 4)[(at + n) % 3]},finish={finish},vector={WIDEST // item}"
            values = numbers((rows, n), t, at)
            found = wf.reduce(placed(values, offset), what, axis=0, plan=plan, device="emulator")
            np.testing.assert_array_equal(found, getattr(values, what)(axis=0), f"{offset} {rows} {n} {plan}")


@covering(("t", TYPES), ("finish", ["cta", "last_block"]))
def test_the_rows_of_a_middle_axis_begin_anywhere(t: Any, finish: str) -> None:
    """Rows of an odd number of elements; those of each outer index begin at another place of their first access."""
    item = np.dtype(t).itemsize
    for offset in range(0, WIDEST, item):
        for n in (2, 3, 7, 31):
            values = numbers((3, 301, n), t, offset)
            plan = f"{WALK},unroll=2,finish={finish},vector={WIDEST // item}"
            found = wf.sum(placed(values, offset), axis=1, plan=plan, device="emulator")
            np.testing.assert_array_equal(found, values.sum(axis=1, dtype=found.dtype))


def test_inputs_of_equal_alignment_are_read_together() -> None:
    x, y = numbers((700, 9), np.float32, 1), numbers((700, 9), np.float32, 2)
    plan = f"{WALK},finish=last_block"
    found = wf.vecdot(placed(x, 4), placed(y, 4), axis=0, plan=plan, device="emulator")
    np.testing.assert_array_equal(found, (x * y).sum(axis=0))
    with pytest.raises(PlanError, match="WF416: walk=period does not fit this layout"):
        wf.vecdot(placed(x, 4), placed(y, 8), axis=0, plan=plan, device="emulator")


@pytest.mark.parametrize(
    ("x", "axis"),
    [
        (np.zeros((300, 40), np.float32), 0),
        (np.zeros((40, 300), np.float32), 1),
        (np.zeros((300, 8), np.float32)[:, ::2], 0),
        (np.zeros((300, 8), np.float32)[:, :5], 0),
        (np.zeros(300, np.float32), 0),
    ],
)
def test_arrays_without_narrow_contiguous_rows_are_refused(x: Any, axis: int) -> None:
    """More columns than threads, reduced rows, elements or rows with others between them, or no rows."""
    with pytest.raises(PlanError, match="WF416"):
        wf.sum(x, axis=axis, plan=WALK, device="emulator")
