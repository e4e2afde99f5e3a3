"""Accesses of a row in flight: few are unneeded, and few are masked."""

from __future__ import annotations

import pytest
from layouts import Layout
from tasks import MANY, simple, task_of, traced

from warpfold.compiler.dtypes import dtype
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.limits import CTA_THREADS
from warpfold.compiler.planner.rows.half_accesses import FOUR_WARPS
from warpfold.compiler.planner.rows.unroll import (
    LONG_ROW_BYTES,
    UNROLL_OF_LONG_ROWS,
    UNROLL_OF_MASKED,
    UNROLL_OF_SHIFTED,
)
from warpfold.compiler.target import DEFAULT, WARP
from warpfold.runtime.api import plan_for


def plan(n: int, t: str, what: str = "max") -> Plan:
    """The plan of very many rows of ``n`` elements, read where they are."""
    return choose(simple(what, (MANY, n), (1,), t), "tile_bytes=0").plan


def test_short_rows_have_one_access_in_flight_where_more_would_be_masked_off() -> None:
    for accesses, lanes, unroll in ((7, 4, 1), (8, 4, 2), (12, 4, 1), (13, 8, 1), (16, 8, 2), (28, 8, 1)):
        assert (plan(4 * accesses, "f32").lanes, plan(4 * accesses, "f32").unroll) == (lanes, unroll)


def test_long_rows_that_begin_anywhere_have_more_in_flight_unless_they_are_bytes() -> None:
    for t in ("f16", "f32", "f64", "i8"):
        n = LONG_ROW_BYTES // dtype(t).itemsize
        found = [plan(k, t).unroll for k in (n - 1, n + 1)]
        short = UNROLL_OF_MASKED if t in {"f16", "f64"} else UNROLL_OF_SHIFTED[dtype(t).itemsize]
        assert found == [short, UNROLL_OF_MASKED if t == "i8" else UNROLL_OF_LONG_ROWS]


@pytest.mark.parametrize(
    ("t", "n", "threads", "unroll"),
    [("bf16", 200, 8, 4), ("bf16", 264, 16, 4), ("f16", 400, 16, 4), ("bf16", 520, 16, 2), ("bf16", 2048, WARP, 4),
     ("bf16", 5600, FOUR_WARPS, 4), ("bf16", 6000, CTA_THREADS, 4), ("f32", 1024, FOUR_WARPS, 4)],
)  # fmt: skip
def test_two_byte_elements_have_few_masked_accesses(t: str, n: int, threads: int, unroll: int) -> None:
    """Unpacking a masked access costs as much as unpacking one with elements."""
    plan = choose(simple("sum", (1 << 15, n), (1,), t), "tile_bytes=0").plan
    assert (plan.positions, plan.unroll) == (threads, unroll)


def test_few_rows_of_two_byte_elements_have_all_accesses_in_flight() -> None:
    """Threads wait less where rows are few; single elements need no unpacking."""
    assert choose(simple("sum", (513,), (0,), "bf16")).plan.unroll == 4
    layout = Layout((MANY, 1000), (1,), ((3000, 3),), ((1,),))
    assert choose(task_of(traced("sum", dtype("bf16")), layout, (0, 0), DEFAULT, DEFAULT.sms)).plan.unroll == 8


@pytest.mark.parametrize(("n", "threads", "unroll"), [(640, 16, 1), (1000, 16, 1), (1024, 16, 4), (2000, 32, 1)])
def test_numbered_two_byte_elements_have_a_warp_and_no_masked_access(n: int, threads: int, unroll: int) -> None:
    """Value and number share a word, so the state has one register, but an access costs as much as with several."""
    plan = plan_for("argmax", (60_000, n), "bf16", axis=1).choice.plan
    assert (plan.vector, plan.positions, plan.unroll) == (8, threads, unroll)


@pytest.mark.parametrize("t", ["i8", "u8", "bool"])
@pytest.mark.parametrize(
    ("n", "vector", "threads", "unroll"),
    [(16, 16, 1, 1), (192, 16, 4, 4), (400, 16, 4, 8), (1000, 8, 8, 4), (1024, 16, 8, 4), (8192, 16, 128, 4)],
)
def test_a_step_of_numbered_bytes_has_all_accesses_of_a_thread_or_four(
    t: str, n: int, vector: int, threads: int, unroll: int
) -> None:
    plan = plan_for("argmax", ((1 << 27) // n, n), t, axis=1).choice.plan
    assert (plan.vector, plan.positions, plan.unroll) == (vector, threads, unroll)


def test_a_warp_of_a_row_that_begins_anywhere_has_as_many_in_flight_as_words_are_wide() -> None:
    assert choose(simple("sum", (MANY, 701), (1,))).plan.unroll == 1
    assert choose(simple("sum", (MANY, 1001), (1,))).plan.unroll == 2
    assert choose(simple("argmax", (MANY, 1001), (1,))).plan.unroll == 2
    assert choose(simple("sum", (MANY, 1001), (1,), "f64")).plan.unroll == UNROLL_OF_SHIFTED[8]
