"""Threads of a row, depending on its number of accesses and the cost of a combine."""

from __future__ import annotations

from itertools import pairwise

import pytest
from layouts import Layout
from tasks import MANY, simple, task_of, traced

from warpfold.compiler.dtypes import F32, dtype
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.planner.alignment import WIDEST
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.limits import CTA_THREADS, SHIFTED_ACCESSES
from warpfold.compiler.planner.rows.half_accesses import FOUR_WARPS, SIXTEEN_WARPS
from warpfold.compiler.planner.rows.threads import (
    FOUR_THREADS_OF_SHIFTED,
    FOUR_WARPS_OF_SHIFTED,
    ONE_THREAD_OF_SHIFTED,
    STEPS_OF_SHIFTED,
    THREADS_OF_APPROXIMATED_PAIRS,
    THREADS_OF_LONG_ACCESSES,
    THREADS_OF_LONG_COMBINES,
    THREADS_OF_SHIFTED_DOUBLES,
    THREADS_OF_SHIFTED_WORDS,
    THREADS_OF_SIMPLE_PAIRS,
    THREADS_OF_SINGLE,
    THREADS_OF_VERY_LONG_DOUBLES,
    THREADS_OF_VERY_LONG_PAIRS,
    THREADS_OF_WIDE,
    THREADS_OF_WORDS,
    WARP_OF_SHIFTED,
    WARP_OF_SINGLE,
    WARP_OF_WIDE_STATES,
    WHOLE_STEPS,
)
from warpfold.compiler.planner.task import LONG_COMBINE
from warpfold.compiler.program.analysis.cost import operations
from warpfold.compiler.target import DEFAULT, WARP
from warpfold.runtime.api import plan_for

Steps = tuple[tuple[float, int], ...]
WHOLE_STEP = min(step for step, _ in WHOLE_STEPS)


def steps_of(t: str) -> Steps:
    """The thread counts for rows that look for their largest element; one of 64 bits takes two registers."""
    if t == "f16":
        return THREADS_OF_SIMPLE_PAIRS.rows
    if t == "f32":
        return THREADS_OF_WORDS.rows
    return tuple((WARP_OF_WIDE_STATES if threads == WARP else most, threads) for most, threads in THREADS_OF_WIDE.rows)


def plan(n: int, t: str, what: str = "max") -> Plan:
    """The plan of very many rows of ``n`` elements, read where they are."""
    return choose(simple(what, (MANY, n), (1,), t), "tile_bytes=0").plan


@pytest.mark.parametrize("t", ["f16", "f32", "f64"])
def test_a_row_gets_threads_by_its_accesses(t: str) -> None:
    wide, steps = WIDEST // dtype(t).itemsize, steps_of(t)
    for (most, threads), (_, above) in pairwise([*steps, (0, CTA_THREADS)]):
        found = [plan(int(n) * wide, t) for n in (most, most + 1)]
        assert [p.positions for p in found] == [threads, above]
        assert {p.vector for p in found} == {wide}


@pytest.mark.parametrize("t", ["f16", "f64"])
def test_rows_of_longer_combines_have_threads_of_their_own(t: str) -> None:
    wide = WIDEST // dtype(t).itemsize
    for (most, threads), (_, above) in pairwise(
        (THREADS_OF_VERY_LONG_PAIRS if t == "f16" else THREADS_OF_VERY_LONG_DOUBLES).rows
    ):
        found = [plan(int(n) * wide, t, "logsumexp") for n in (most, most + 1)]
        expected = zip(found, (threads, above), strict=True)
        assert all(p.positions == n for p, n in expected if p.reads != "together")


def test_rows_of_approximate_exponentials_have_threads_of_their_own() -> None:
    for (most, threads), (_, above) in pairwise(THREADS_OF_APPROXIMATED_PAIRS.rows):
        found = [plan_for("logsumexp", (MANY, int(8 * n)), "bf16", axis=1) for n in (most, most + 1)]
        assert [p.choice.plan.positions for p in found] == [threads, above]


@pytest.mark.parametrize(
    ("rows", "n", "threads"),
    [(16384, 1024, 8), (32768, 1024, 16), (65536, 1024, 8), (32768, 1500, 16)],
)
def test_rows_of_words_do_not_slightly_exceed_the_resident_ones(rows: int, n: int, threads: int) -> None:
    """Eight threads, or a warp where the rows are one to LITTLE_MORE_THAN_RESIDENT times the resident ones."""
    assert plan_for("logsumexp", (rows, n), "f32", axis=1).choice.plan.positions == threads


def test_long_rows_get_wide_ctas() -> None:
    for accesses, warps in ((225, 4), (700, 4), (1000, 8), (4096, 16)):
        plan = choose(simple("sum", (MANY, 4 * accesses), (1,))).plan
        assert (plan.lanes, plan.warps, plan.warps_kept) == (WARP, warps, 1)


def test_rows_that_begin_anywhere_get_wide_ctas_where_their_steps_are_whole() -> None:
    """A step of 16 warps has 1024 accesses, and a row one less, as many, or one more."""
    for t, n in (("f32", 8191), ("f32", 8193), ("bf16", 16385), ("f64", 4097)):
        assert choose(simple("sum", (MANY, n), (1,), t)).plan.positions == SIXTEEN_WARPS
        assert choose(simple("sum", (MANY, n + 200), (1,), t)).plan.positions < SIXTEEN_WARPS


def test_long_rows_of_much_work_get_a_cta_where_their_steps_are_whole() -> None:
    for n, threads in ((4096, FOUR_WARPS), (4100, WARP), (16384, SIXTEEN_WARPS)):
        assert choose(simple("var", (MANY, n), (1,))).plan.positions == threads


def test_a_warp_has_its_cta_only_where_several_waves_of_them_run() -> None:
    found = [choose(simple("var", (rows, 2100), (1,))).plan for rows in (4300, 40_000)]
    assert [(plan.positions, plan.warps_kept) for plan in found] == [(WARP, 4), (WARP, 1)]


@pytest.mark.parametrize(("most", "threads"), THREADS_OF_SINGLE.rows)
@pytest.mark.parametrize("t", ["i8", "f16", "f32", "f64"])
def test_a_row_of_single_elements_gets_threads_by_its_bytes(most: int, threads: int, t: str) -> None:
    """Every other element of a row."""
    classes = [*(threads for _, threads in THREADS_OF_SINGLE.rows), WARP]
    above = classes[classes.index(threads) + 1]
    n = most // dtype(t).itemsize
    for size, wanted in ((n, threads), (n + 1, above)):
        layout = Layout((MANY, size), (1,), ((3 * size, 2),), ((1,),))
        plan = choose(task_of(traced("max", dtype(t)), layout, (0, 0), DEFAULT, DEFAULT.sms)).plan
        assert (plan.fast, plan.vector, plan.lanes, plan.warps) == ("reduced", 1, wanted, 1)


def test_a_row_of_single_elements_gets_a_cta_where_a_warp_would_read_long() -> None:
    layouts = [Layout((MANY, n), (1,), ((3 * n, 2),), ((1,),)) for n in (WARP_OF_SINGLE, WARP_OF_SINGLE + 1)]
    plans = [choose(task_of(traced("max", F32), layout, (0, 0), DEFAULT, DEFAULT.sms)).plan for layout in layouts]
    assert [plan.positions for plan in plans] == [WARP, CTA_THREADS]


@pytest.mark.parametrize("t", ["f32", "f64"])
def test_a_row_that_begins_anywhere_gets_few_threads_where_it_is_short(t: str) -> None:
    """The more elements an access has, the more of them are masked."""
    item = dtype(t).itemsize
    wide, shortest = WIDEST // item, SHIFTED_ACCESSES[item]
    for what, steps in (
        ("max", (THREADS_OF_SHIFTED_WORDS if item == 4 else THREADS_OF_SHIFTED_DOUBLES).rows),
        ("minmax", ((WARP_OF_SHIFTED[item], WARP), (FOUR_WARPS_OF_SHIFTED, FOUR_WARPS))),
    ):
        classes = [(ONE_THREAD_OF_SHIFTED * wide, 1), (FOUR_THREADS_OF_SHIFTED * wide, 4), *steps, (0, CTA_THREADS)]
        for (most, threads), (_, above) in pairwise(classes):
            if most > shortest and most % STEPS_OF_SHIFTED:
                accesses = int(most)
                found = [choose(simple(what, (MANY, n * wide - 1), (1,), t)) for n in (accesses, accesses + 1)]
                assert [c.plan.positions for c in found] == [threads, above]
                assert {c.facts.access for c in found} == {("shifted",)}


def positions(what: str, t: str, accesses: int) -> int:
    task = simple(what, (MANY, accesses * (WIDEST // dtype(t).itemsize)), (1,), t)
    return choose(task).plan.positions


@pytest.mark.parametrize(("what", "t"), [("var", "f32"), ("mean_var", "f32")])
def test_threads_of_a_long_combine_have_more_accesses_each(what: str, t: str) -> None:
    """The number depends on the operations of a combine, if accesses have many elements."""
    code = operations(simple(what, (4, 4), (1,), t).monoid)
    assert code * WIDEST // dtype(t).itemsize >= LONG_COMBINE
    steps = (THREADS_OF_LONG_COMBINES if code >= LONG_COMBINE else THREADS_OF_LONG_ACCESSES).rows
    for at, (most, threads) in enumerate(steps):
        above = steps[at + 1][1] if at + 1 < len(steps) else CTA_THREADS
        longest = int(most) - (most % WHOLE_STEP == 0)
        assert [positions(what, t, n) for n in (longest, int(most) + 1)] == [threads, above]


@pytest.mark.parametrize(("what", "t"), [("max", "f32"), ("sum", "f16"), ("minmax", "f64")])
def test_short_combines_do_not_change_the_threads(what: str, t: str) -> None:
    code = operations(simple(what, (4, 4), (1,), t).monoid)
    assert code * WIDEST // dtype(t).itemsize < LONG_COMBINE
    assert [positions(what, t, int(most)) for most, _ in steps_of(t)] == [threads for _, threads in steps_of(t)]


@pytest.mark.parametrize(("n", "threads", "unroll"), [(448, 16, 4), (452, 32, 4), (508, 32, 4), (512, 16, 4)])
def test_no_threads_of_a_row_of_words_have_two_steps_beside_some_with_less(n: int, threads: int, unroll: int) -> None:
    plan = choose(simple("sum", (MANY, n), (1,))).plan
    assert (plan.positions, plan.unroll) == (threads, unroll)
