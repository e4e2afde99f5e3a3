"""Gaps: which columns are read together with the elements between their rows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tasks import simple

from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.layouts.gapped_columns import as_read, widened
from warpfold.compiler.planner.layouts.periods import COLUMNS_WITH_GAPS
from warpfold.compiler.planner.task import Task


def cut(t: str, rows: int, columns: int, pitch: int, what: str = "sum") -> Task:
    """Columns with gaps between rows."""
    found = simple(what, (rows, columns), (0,), t)
    (reduced,) = found.geometry.reduced
    strides = (pitch, *reduced.strides[1:])
    return replace(found, geometry=replace(found.geometry, reduced=(reduced._replace(strides=strides),)))


def test_a_gap_of_a_quarter_of_a_row_is_read() -> None:
    found = widened(cut("f32", 1000, 12, 16))
    assert found is not None
    assert (found.geometry.columns, found.geometry.gap) == (16, 4)
    assert widened(found) is None
    assert widened(cut("f32", 1000, 11, 16)) is None
    assert widened(cut("f32", 1000, 16, 16)) is None
    assert widened(simple("sum", (1000, 12), (1,), "f32")) is None


def test_other_walks_skip_the_gaps() -> None:
    task = cut("f32", 1 << 20, 12, 16)
    plan = choose(task).plan
    assert plan.walk != "period"  # whole accesses, aligned
    assert as_read(task, plan) is task


@pytest.mark.parametrize(("t", "item"), [("i8", 1), ("bf16", 2), ("f32", 4), ("f64", 8)])
def test_narrow_rows_with_gaps_are_periods(t: str, item: int) -> None:
    most = COLUMNS_WITH_GAPS[item]
    for pitch in (9, 33, 65, most - 1 | 1):
        choice = choose(cut(t, (1 << 25) // pitch, pitch - 2, pitch))
        if choice.plan.walk == "staggered":
            assert (t, pitch) == ("f64", 127)  # wide rows of doubles
            continue
        if pitch > most:
            assert not choice.facts.gapped
            continue
        assert (choice.plan.walk, choice.facts.gapped) == ("period", True), pitch
        assert "the 2 column(s) between rows are read, and not written" in choice.reasons
        assert choice.run.tiles == 1
    assert not choose(cut(t, (1 << 25) // most, most, most + 1)).facts.gapped
