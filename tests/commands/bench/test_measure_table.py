"""``python benchmarks/measure_table.py``: what a table decides and where its bounds move; all but the timing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

import measure_table
from planner_page import tables

from warpfold.commands.bench.grid.run import chosen
from warpfold.compiler.planner.limits import CTA_THREADS
from warpfold.compiler.planner.rows.threads import THREADS_OF_SHIFTED_WORDS, THREADS_OF_WORDS
from warpfold.compiler.planner.table import Sitting, Table
from warpfold.compiler.target import DEFAULT


def test_every_table_can_be_measured() -> None:
    assert measure_table.tables() == tables()
    listed = CliRunner().invoke(measure_table.main, ["--list"], catch_exceptions=False).stdout
    assert "threads.THREADS_OF_WORDS: threads by 16-byte accesses of a row; set 2026-11-27, 590a8bfd: CTAs" in listed


def test_a_table_decides_where_its_neighbours_give_another_plan() -> None:
    found = measure_table.decided(THREADS_OF_WORDS, chosen("short.*", "f32"), DEFAULT, DEFAULT.sms)
    assert found
    for cell, size, plans in found:
        threads = THREADS_OF_WORDS.at(size)
        assert size == -(-cell.shape[1] // 4)
        assert next(iter(plans)) == threads
        assert [p.plan.positions for p in plans.values()] == [choice or CTA_THREADS for choice in plans]
        assert len(plans) in (2, 3)
    assert not measure_table.decided(THREADS_OF_SHIFTED_WORDS, chosen("short.1", "f32"), DEFAULT, DEFAULT.sms)


def test_bounds_move_to_where_the_next_choice_is_faster() -> None:
    table = Table("accesses", "threads", Sitting("2026-11-25", "0000000"), ((10, 1), (20, 2), (30, 4)))
    slow = [
        (8.0, {1: 30.0, 2: 10.0}),
        (10.0, {1: 30.0, 2: 10.0}),
        (7.0, {1: 10.0, 2: 30.0}),
        (25.0, {4: 10.0, 2: 10.05}),
    ]
    assert measure_table.refitted(table, slow) == ((7.0, 1), (20, 2), (30, 4))
    assert measure_table.refitted(table, []) == table.rows


def test_the_report_has_the_time_of_each_choice_and_the_new_rows() -> None:
    found = measure_table.decided(THREADS_OF_WORDS, chosen("short.*", "f32"), DEFAULT, DEFAULT.sms)
    *lines, now, fitted = measure_table.report(
        THREADS_OF_WORDS, found, lambda _, choices: [float(c.plan.positions) for c in choices]
    )
    assert len(lines) == len(found)
    assert lines[0].startswith("f32 short.")
    assert now == f"rows now:      {THREADS_OF_WORDS.rows}"
    assert fitted != f"as timed here: {THREADS_OF_WORDS.rows}", "fewer threads were said to be faster"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["threads.THREADS_OF_WORDS"], "WF742"), (["no.TABLE"], "no.TABLE is no table"), ([], "name a TABLE"),
     (["threads.THREADS_OF_WORDS", "--dtypes", "i3"], "WF754")],
)  # fmt: skip
def test_a_table_that_cannot_be_measured_is_refused(
    arguments: list[str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    result = CliRunner().invoke(measure_table.main, arguments)
    assert result.exit_code != 0
    assert words in result.output
    assert "Traceback" not in result.output
