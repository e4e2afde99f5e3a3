"""The planner's finer classes: rows of long combines, and few rows of very many columns."""

from __future__ import annotations

import pytest
from tasks import simple

from warpfold.compiler.access import WIDEST, ceil2
from warpfold.compiler.columns import FEW_ROWS, HALF, SHORT, WRITES, WRITTEN
from warpfold.compiler.cost import operations
from warpfold.compiler.dtypes import dtype
from warpfold.compiler.limits import FEW
from warpfold.compiler.planner import choose
from warpfold.compiler.rows import LONG_COMBINE, THREADS_A_ROW, THREADS_A_ROW_OF_LONG
from warpfold.compiler.split import THREADS
from warpfold.compiler.target import DEFAULT
from warpfold.compiler.task import Choice

MANY = 2 * FEW * DEFAULT.sms
"""Results that fill the machine with a warp each."""
COLUMNS = 1 << 22
"""Columns that fill it with a thread each."""


# --- rows of long combines ---
def positions(what: str, t: str, accesses: int) -> int:
    task = simple(what, (MANY, accesses * (WIDEST // dtype(t).itemsize)), (1,), t)
    return choose(task).plan.positions


@pytest.mark.parametrize(("what", "t"), [("sum", "i8"), ("argmax", "f16"), ("var", "f32"), ("logsumexp", "f32")])
def test_threads_of_a_long_combine_have_more_accesses_each(what: str, t: str) -> None:
    """By the operations of one, where those of an access are many."""
    code = operations(simple(what, (4, 4), (1,), t).monoid)
    assert code * WIDEST // dtype(t).itemsize >= LONG_COMBINE
    steps = THREADS_A_ROW_OF_LONG[LONG_COMBINE if code >= LONG_COMBINE else 1]
    for at, (most, threads) in enumerate(steps):
        above = steps[at + 1][1] if at + 1 < len(steps) else THREADS
        assert [positions(what, t, n) for n in (most, most + 1)] == [threads, above]


@pytest.mark.parametrize(("what", "t"), [("max", "f32"), ("sum", "f16"), ("minmax", "f64")])
def test_short_combines_have_the_threads_of_all_others(what: str, t: str) -> None:
    code = operations(simple(what, (4, 4), (1,), t).monoid)
    assert code * WIDEST // dtype(t).itemsize < LONG_COMBINE
    assert [positions(what, t, most) for most, _ in THREADS_A_ROW] == [threads for _, threads in THREADS_A_ROW]


# --- few rows ---
def columns(what: str, t: str, rows: int, n: int = COLUMNS) -> Choice:
    choice = choose(simple(what, (rows, n), (0,), t))
    assert (choice.plan.fast, choice.plan.positions) == ("kept", 1)
    return choice


@pytest.mark.parametrize("t", ["i8", "f16", "f32", "f64"])
@pytest.mark.parametrize("what", ["max", "sum", "mean", "argmax"])
def test_a_thread_of_aligned_columns_writes_so_many_bytes_at_most(what: str, t: str) -> None:
    """As many columns as an access has, or as it writes well: of bytes half an access."""
    item = dtype(t).itemsize
    for rows in (FEW_ROWS, FEW_ROWS + 1, SHORT):
        task = simple(what, (rows, COLUMNS), (0,), t)
        if rows * item <= WRITTEN * task.result_bytes:
            continue  # another class
        choice = columns(what, t, rows)
        most = HALF if item == 1 else WIDEST // item
        assert choice.facts.access == ("aligned",)
        assert choice.plan.vector == min(most, WRITES // task.result_bytes)


@pytest.mark.parametrize(("t", "few", "many"), [("f16", 4, 8), ("f32", 2, 4)])
def test_of_few_rows_of_columns_that_begin_anywhere_accesses_are_half_as_wide(t: str, few: int, many: int) -> None:
    item = dtype(t).itemsize
    for rows in (WRITTEN + 1, FEW_ROWS):
        choice = columns("max", t, rows, COLUMNS + 1)
        assert (choice.plan.vector, choice.facts.access) == (few, ("unaligned",))
    assert few * item == HALF
    assert columns("max", t, FEW_ROWS + 1, COLUMNS + 1).plan.vector == many
    assert columns("max", t, FEW_ROWS).plan.vector == many


@pytest.mark.parametrize("rows", [3, 4, 5, 8, 9, 16])
def test_of_few_rows_half_are_in_flight(rows: int) -> None:
    """What is not there is read as well: of whole groups there is at most one more."""
    unroll = columns("max", "f32", rows).plan.unroll
    assert unroll == min(4, max(1, ceil2(rows) // 2))
