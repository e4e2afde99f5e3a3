"""Gaps between the rows of narrow columns: read as columns, reduced, and never written; of the last row not read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided
from test_row import facts, numbers
from test_shifted import placed

import warpfold as wf
from warpfold.compiler.errors import ArgumentError
from warpfold.compiler.plan.abi import Facts
from warpfold.runtime.backends.emulator_backend import emulator
from warpfold.runtime.emulator.profiler import Profiler, total

__all__ = ["facts"]
SPOILED = {np.float16: np.nan, np.float32: np.nan, np.int8: 100, np.bool_: True}
"""What lies in the gaps: it would spoil every result."""


def cut(rows: int, columns: int, pitch: int, t: Any, offset: int = 0) -> Any:
    """Columns with gaps, of an array that ends with the last column."""
    values = numbers((rows, columns), t) if t is not np.bool_ else numbers((rows, columns), np.int8) > 2
    memory = placed(np.full((rows - 1) * pitch + columns, SPOILED[t], t), offset * values.itemsize % 16)
    found = as_strided(memory, (rows, columns), (pitch * values.itemsize, values.itemsize))
    found[...] = values
    return found


@settings(max_examples=40, deadline=None)
@given(
    which=st.sampled_from(
        [("any", np.bool_), ("sum", np.int8), ("argmax", np.int8), ("max", np.float16), ("sum", np.float32)]
    ),
    columns=st.integers(3, 45),
    gap=st.integers(1, 15),
    rows=st.integers(300, 2000),
    offset=st.integers(0, 15),
    options=st.sampled_from(["", ",finish=cta", ",warps_kept=2"]),
)
def test_columns_with_gaps_give_what_numpy_gives(
    which: tuple[str, Any], columns: int, gap: int, rows: int, offset: int, options: str
) -> None:
    what, t = which
    x = cut(rows, columns, columns + min(gap, columns // 3), t, offset)
    found = wf.reduce(x, what, axis=0, plan=f"walk=period{options}", device="emulator")
    np.testing.assert_allclose(found, getattr(x, what)(axis=0), rtol=1e-3)


def test_several_kept_dims(facts: list[Facts]) -> None:
    big = numbers((5, 400, 12), np.float32)
    big[..., 9:] = np.nan
    x = big[..., :9]
    np.testing.assert_array_equal(wf.sum(x, axis=1, plan="walk=period", device="emulator"), x.sum(axis=1))
    assert (facts[-1].gapped, facts[-1].access) == (True, ("period",))


def test_results_are_written_for_the_columns_alone() -> None:
    x = cut(900, 5, 6, np.int8)
    memory = np.full(5 + 32, 77, np.int64)
    wf.sum(x, axis=0, plan="walk=period", out=memory[16:21], device="emulator")
    np.testing.assert_array_equal(memory[16:21], x.sum(axis=0))
    assert (np.delete(memory, range(16, 21)) == 77).all()


def test_a_large_array_is_read_so_unasked(facts: list[Facts], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line once: a fifth less than the columns' bytes, and what the finish reads."""
    tool = Profiler()
    monkeypatch.setattr(emulator(), "tool", tool)
    x = cut(1 << 19, 9, 10, np.int8)
    np.testing.assert_array_equal(wf.sum(x, axis=0, device="emulator"), x.sum(axis=0))
    assert facts[0].gapped
    sectors = total(tool.profiles).traffic("global load").sectors
    assert sectors < 1.1 * (10 << 19) / 32


def test_a_kernel_for_rows_without_gaps_serves_no_others() -> None:
    dense = wf.compile("sum", (700, 9), "f32", axis=0, plan="walk=period")
    np.testing.assert_array_equal(dense(x := cut(700, 9, 9, np.float32), device="emulator"), x.sum(axis=0))
    with pytest.raises(ArgumentError, match=r"(?s)WF123.*gaps between rows"):
        dense(cut(700, 9, 10, np.float32), device="emulator")
