"""Threads of a row, by the accesses that it takes and by what a combine costs."""

from __future__ import annotations

from itertools import pairwise

import pytest
from layouts import Layout
from tasks import MANY, simple, task_of, traced

from warpfold.compiler.access import WIDEST
from warpfold.compiler.cost import operations
from warpfold.compiler.dtypes import F32, dtype
from warpfold.compiler.halves import HALF, ROW
from warpfold.compiler.limits import SHIFTED
from warpfold.compiler.plan import Plan
from warpfold.compiler.planner import choose
from warpfold.compiler.rows import (
    FOUR,
    LONG_COMBINE,
    LONG_ROWS_FROM,
    MOST_OF_A_WARP,
    OF_ONE_WARP,
    ONE,
    THREADS_A_ROW,
    THREADS_A_ROW_OF_LONG,
    THREADS_A_ROW_OF_LONGER,
    THREADS_A_ROW_OF_SIMPLE_PAIRS,
    THREADS_OF_BYTES,
    THREADS_OF_SHIFTED,
    UNROLL_OF_LONG_ROWS,
    UNROLL_OF_SHIFTED,
    WARP_TO,
)
from warpfold.compiler.split import THREADS
from warpfold.compiler.target import DEFAULT, WARP
from warpfold.runtime.api import plan_for


@pytest.mark.parametrize(
    ("shape", "start", "kind"),
    [((64, 4096), 0, "aligned"), ((64, 4096), 1, "shifted"), ((64, 4097), 0, "shifted"), ((4097,), 3, "shifted")],
)
def test_rows_that_start_anywhere_are_read_from_the_boundary_before(
    shape: tuple[int, ...], start: int, kind: str
) -> None:
    choice = choose(simple("sum", shape, (len(shape) - 1,), "f32", start))
    assert choice.facts.access == (kind,)
    assert choice.plan.vector == 4


Steps = tuple[tuple[float, int], ...]


def steps_of(t: str) -> Steps:
    """The threads of rows of which the largest element is asked: one of 64 bits takes two registers."""
    if t == "f16":
        return THREADS_A_ROW_OF_SIMPLE_PAIRS
    return tuple((OF_ONE_WARP if t == "f64" and threads == WARP else most, threads) for most, threads in THREADS_A_ROW)


def plan(n: int, t: str, what: str = "max") -> Plan:
    """The plan of very many rows of ``n`` elements, read where they are."""
    return choose(simple(what, (MANY, n), (1,), t), "tile_bytes=0").plan


@pytest.mark.parametrize("t", ["f16", "f32", "f64"])
def test_a_row_gets_threads_by_its_accesses(t: str) -> None:
    wide, steps = WIDEST // dtype(t).itemsize, steps_of(t)
    for (most, threads), (_, above) in pairwise([*steps, (0, THREADS)]):
        found = [plan(int(n) * wide, t) for n in (most, most + 1)]
        assert [p.positions for p in found] == [threads, above]
        assert {p.vector for p in found} == {wide}


@pytest.mark.parametrize("t", ["f16", "f64"])
def test_rows_of_longer_combines_have_threads_of_their_own(t: str) -> None:
    wide = WIDEST // dtype(t).itemsize
    for (most, threads), (_, above) in pairwise(THREADS_A_ROW_OF_LONGER[dtype(t).itemsize]):
        found = [plan(int(n) * wide, t, "logsumexp") for n in (most, most + 1)]
        assert [p.positions for p in found] == [threads, above]


@pytest.mark.parametrize(
    ("rows", "n", "threads"),
    [(16384, 1024, 8), (32768, 1024, 16), (65536, 1024, 8), (4096, 4096, WARP), (8192, 4096, 16), (16384, 4096, WARP)],
)
def test_rows_of_words_are_not_a_few_more_than_are_resident(rows: int, n: int, threads: int) -> None:
    """Eight threads, or a warp, but for what is between one and LITTLE_MORE times as many as a machine has room for."""
    assert plan_for("logsumexp", (rows, n), "f32", axis=1).choice.plan.positions == threads


def test_rows_that_are_aligned_for_half_an_access_are_read_so() -> None:
    """And not from the boundary before, whatever their length."""
    for n, t in ((1002, "f32"), (20_004, "f16"), (20_008, "i8")):
        choice = choose(simple("max", (MANY, n), (1,), t))
        assert (choice.plan.vector * dtype(t).itemsize, choice.facts.access) == (HALF, ("aligned",))


def test_short_rows_have_one_access_in_flight_where_more_would_be_in_vain() -> None:
    for accesses, unroll in ((7, 1), (8, 2), (13, 1), (16, 2), (32, 2)):
        assert (plan(4 * accesses, "f32").lanes, plan(4 * accesses, "f32").unroll) == (4, unroll)


def test_rows_of_a_few_steps_get_four_warps() -> None:
    for accesses in (225, 1000, 4096):
        plan = choose(simple("sum", (MANY, 4 * accesses), (1,))).plan
        assert (plan.lanes, plan.warps, plan.warps_kept) == (WARP, ROW // WARP, 1)


@pytest.mark.parametrize(("most", "threads"), THREADS_OF_BYTES)
@pytest.mark.parametrize("t", ["i8", "f16", "f32", "f64"])
def test_a_row_of_single_elements_gets_threads_by_its_bytes(most: int, threads: int, t: str) -> None:
    """Every other element of a row."""
    classes = [*(threads for _, threads in THREADS_OF_BYTES), WARP]
    above = classes[classes.index(threads) + 1]
    n = most // dtype(t).itemsize
    for size, wanted in ((n, threads), (n + 1, above)):
        layout = Layout((MANY, size), (1,), ((3 * size, 2),), ((1,),))
        plan = choose(task_of(traced("max", dtype(t)), layout, (0, 0), DEFAULT, DEFAULT.sms)).plan
        assert (plan.fast, plan.vector, plan.lanes, plan.warps) == ("reduced", 1, wanted, 1)


def test_a_row_of_single_elements_gets_a_cta_where_a_warp_would_read_long() -> None:
    layouts = [Layout((MANY, n), (1,), ((3 * n, 2),), ((1,),)) for n in (WARP_TO, WARP_TO + 1)]
    plans = [choose(task_of(traced("max", F32), layout, (0, 0), DEFAULT, DEFAULT.sms)).plan for layout in layouts]
    assert [plan.positions for plan in plans] == [WARP, THREADS]


@pytest.mark.parametrize("t", ["i8", "f16", "f32", "f64"])
def test_a_row_that_begins_anywhere_is_read_in_vectors_where_it_is_long_enough(t: str) -> None:
    item = dtype(t).itemsize
    wide = (HALF if item <= 2 else WIDEST) // item
    shortest = SHIFTED[item] * wide
    for n, kind in ((shortest - 1, "strided"), (shortest + 1, "shifted")):
        choice = choose(simple("max", (MANY, n), (1,), t))
        assert choice.facts.access == (kind,)
        assert choice.plan.vector == (wide if kind == "shifted" else 1)


@pytest.mark.parametrize("t", ["f32", "f64"])
def test_a_row_that_begins_anywhere_gets_few_threads_where_it_is_short(t: str) -> None:
    """The more elements an access has, the more of it is masked."""
    item = dtype(t).itemsize
    wide, shortest = WIDEST // item, SHIFTED[item]
    for what, steps in (("max", THREADS_OF_SHIFTED[item]), ("minmax", ((MOST_OF_A_WARP[item], WARP), (2048, ROW)))):
        classes = [(ONE * wide, 1), (FOUR * wide, 4), *steps, (0, THREADS)]
        for (most, threads), (_, above) in pairwise(classes):
            if most > shortest:
                accesses = int(most)
                found = [choose(simple(what, (MANY, n * wide - 1), (1,), t)) for n in (accesses, accesses + 1)]
                assert [c.plan.positions for c in found] == [threads, above]
                assert {c.facts.access for c in found} == {("shifted",)}


def test_long_rows_that_begin_anywhere_have_more_in_flight_but_for_bytes() -> None:
    for t in ("f16", "f32", "f64", "i8"):
        n = LONG_ROWS_FROM // dtype(t).itemsize
        found = [plan(k, t).unroll for k in (n - 1, n + 1)]
        assert found == [UNROLL_OF_SHIFTED[dtype(t).itemsize], 2 if t == "i8" else UNROLL_OF_LONG_ROWS]


def positions(what: str, t: str, accesses: int) -> int:
    task = simple(what, (MANY, accesses * (WIDEST // dtype(t).itemsize)), (1,), t)
    return choose(task).plan.positions


@pytest.mark.parametrize(("what", "t"), [("var", "f32"), ("logsumexp", "f32")])
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
    assert [positions(what, t, int(most)) for most, _ in steps_of(t)] == [threads for _, threads in steps_of(t)]


@pytest.mark.parametrize(
    ("t", "n", "threads", "unroll"),
    [("bf16", 264, 8, 2), ("f16", 400, 8, 4), ("bf16", 520, 16, 2), ("bf16", 2048, WARP, 4), ("bf16", 6000, ROW, 4),
     ("f32", 1024, ROW, 4)],
)  # fmt: skip
def test_pairs_of_bytes_have_few_accesses_in_vain(t: str, n: int, threads: int, unroll: int) -> None:
    """To take such an access apart costs as much as it does of one that finds something."""
    plan = choose(simple("sum", (1 << 15, n), (1,), t), "tile_bytes=0").plan
    assert (plan.positions, plan.unroll) == (threads, unroll)


@pytest.mark.parametrize(("n", "threads", "unroll"), [(640, 16, 1), (1000, 16, 1), (1024, 16, 4), (2000, 32, 1)])
def test_numbered_pairs_of_bytes_have_a_warp_and_no_access_in_vain(n: int, threads: int, unroll: int) -> None:
    """Value and number are one word: the state has one register, but an access takes as much work as with several."""
    plan = plan_for("argmax", (60_000, n), "bf16", axis=1).choice.plan
    assert (plan.vector, plan.positions, plan.unroll) == (8, threads, unroll)


@pytest.mark.parametrize(("t", "vector", "unroll"), [("bf16", 8, 4), ("f32", 4, 4), ("i8", 4, 8)])
def test_what_all_elements_share_takes_no_registers_of_each(t: str, vector: int, unroll: int) -> None:
    """Of the three values of a variance two count, in large arrays: so accesses are as wide as they can be."""
    large = choose(simple("var", (MANY, 8192), (1,), t)).plan
    assert (large.vector, large.unroll) == (vector, unroll)
    assert choose(simple("var", (4, 8192), (1,), "bf16")).plan.vector == 4


@pytest.mark.parametrize("t", ["i8", "u8", "bool"])
@pytest.mark.parametrize(
    ("n", "vector", "threads", "unroll"),
    [(16, 16, 1, 1), (192, 16, 4, 4), (400, 16, 4, 8), (1000, 8, 8, 4), (1024, 16, 8, 4), (8192, 16, 128, 4)],
)
def test_a_step_of_numbered_bytes_has_all_that_a_thread_reads_or_four_accesses(
    t: str, n: int, vector: int, threads: int, unroll: int
) -> None:
    plan = plan_for("argmax", ((1 << 27) // n, n), t, axis=1).choice.plan
    assert (plan.vector, plan.positions, plan.unroll) == (vector, threads, unroll)


@pytest.mark.parametrize("t", ["i8", "bool"])
@pytest.mark.parametrize(("n", "threads"), [(1555, 8), (5051, 16), (46977, 128), (188_989, 256)])
def test_numbered_bytes_that_begin_anywhere_have_few_masked(t: str, n: int, threads: int) -> None:
    """Half an access, but of truth values, of which a mask is a comparison a word. Few rows keep whole ones."""
    plan = plan_for("argmax", ((1 << 28) // n, n), t, axis=1).choice.plan
    assert (plan.vector, plan.positions, plan.unroll) == (16 if t == "bool" else 8, threads, 2)
    few = plan_for("argmax", (64, n), t, axis=1).choice.plan
    assert (few.vector, few.unroll) == (16, 2 if t == "bool" else 1)


@pytest.mark.parametrize(("n", "lanes", "unroll"), [(30, 1, 1), (100, 1, 4), (300, 1, 4), (1001, 4, 4), (1201, 4, 0)])
def test_short_rows_of_numbered_bytes_are_copied(n: int, lanes: int, unroll: int) -> None:
    """And read by half an access, if they are long enough for that, in steps of as many as there are."""
    plan = plan_for("argmax", ((1 << 27) // n, n), "i8", axis=1).choice.plan
    assert bool(plan.tile_bytes) == bool(unroll)
    if plan.tile_bytes:
        assert (plan.vector, plan.lanes, plan.unroll) == (8 if n > 30 else 4, lanes, unroll)


@pytest.mark.parametrize(("n", "threads", "unroll"), [(448, 16, 4), (452, 32, 4), (508, 32, 4), (512, 16, 4)])
def test_rows_of_words_have_no_threads_of_two_steps_beside_some_of_less(n: int, threads: int, unroll: int) -> None:
    plan = choose(simple("sum", (MANY, n), (1,))).plan
    assert (plan.positions, plan.unroll) == (threads, unroll)


def test_a_warp_of_a_row_that_begins_anywhere_has_as_many_in_flight_as_words_are_wide() -> None:
    assert choose(simple("sum", (MANY, 1001), (1,))).plan.unroll == 1
    assert choose(simple("argmax", (MANY, 1001), (1,))).plan.unroll == 2
    assert choose(simple("sum", (MANY, 1001), (1,), "f64")).plan.unroll == UNROLL_OF_SHIFTED[8]


@pytest.mark.parametrize(
    ("what", "t", "warps"),
    [("sum", "f32", 16), ("sum", "bf16", 16), ("sum", "f64", 16), ("norm", "f32", 16), ("any", "bool", 16),
     ("max", "i8", 16), ("argmax", "f32", 16), ("sum", "i32", 8), ("var", "f32", 8), ("logsumexp", "f32", 8),
     ("mean", "i32", 8), ("norm", "i8", 8), ("nansum", "f32", 8), ("sum", "f8e4m3fn", 8), ("count_nonzero", "f64", 8)],
)  # fmt: skip
def test_ctas_that_share_rows_are_large_where_states_are_light(what: str, t: str, warps: int) -> None:
    """A state of one register, or as wide as elements are, made of these by no more than one operation."""
    assert [plan_for(what, (n,), t).choice.plan.warps for n in (1 << 26, (1 << 26) + 64)] == [warps, warps]
    assert plan_for(what, (1 << 19,), t).choice.plan.warps == 8, "a small array"
