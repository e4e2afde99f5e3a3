"""Padded rows: reads beside a row do not count, and writes are within the row.

That results are NumPy's in any layout and plan is tested in ``test_layouts.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from arrays import numbers, placed
from covering import covering

import warpfold as wf
from warpfold.runtime.emulator.counters import total
from warpfold.runtime.emulator.profiler import Profiler

PLAN = "walk=padded,unroll=2"
TYPES = [
    ("any", np.bool_),
    ("all", np.bool_),
    ("max", np.int8),
    ("sum", np.int8),
    ("sum", np.float16),
    ("sum", np.float32),
]


@covering((("what", "t"), TYPES), ("columns", [16, 33, 37, 129]), ("offset", range(0, 16, 3)))
def test_results_may_begin_anywhere(what: str, t: Any, columns: int, offset: int) -> None:
    """Results of two bytes at every second byte, and so on; the memory around them is unchanged."""
    x = numbers((5, 3, columns), t, offset)
    right = getattr(x, what)(axis=1)
    item = right.itemsize
    memory = placed(np.full(right.size + 40, 77).astype(right.dtype), offset * item % 16)
    before, out = memory.copy(), memory[20 : 20 + right.size].reshape(right.shape)
    for vector in (4, 8, 16):
        if 8 <= vector * x.itemsize <= 16 and (columns - 1) * x.itemsize >= 32:
            wf.reduce(x, what, axis=1, plan=f"{PLAN},vector={vector}", out=out, device="emulator")
            np.testing.assert_allclose(out, right, rtol=1e-3)
    memory[20 : 20 + right.size] = 77
    np.testing.assert_array_equal(memory, before)


def test_whole_accesses_are_written_except_at_the_ends_of_rows(profiler: Profiler) -> None:
    """A warp stores all its vectors with one instruction, and its single elements with one for each place."""
    rows, columns, vector = 9, 1001, 16
    x = numbers((rows, 3, columns), np.int8)
    np.testing.assert_array_equal(wf.max(x, axis=1, plan=f"{PLAN},vector={vector}", device="emulator"), x.max(axis=1))
    warps = -(-rows * 1024 // (32 * vector))
    stores = total(profiler.profiles).traffic("global store")
    assert warps < stores.requests <= warps + 2 * vector * rows


def test_a_mask_and_code_after_the_reduction() -> None:
    x, mask = numbers((3, 12, 77), np.float32), numbers((3, 12, 77), np.int8, 9) > 0
    plan = f"{PLAN},vector=4"
    np.testing.assert_allclose(wf.mean(x, axis=1, plan=plan, device="emulator"), x.mean(axis=1), rtol=1e-6)
    mask = np.broadcast_to(mask[..., :1], mask.shape).copy()
    found = wf.sum(x.astype(np.int8), axis=1, where=mask, plan=f"{PLAN},vector=8", device="emulator")
    np.testing.assert_array_equal(found, x.astype(np.int8).sum(axis=1, where=mask, dtype=np.int64))
