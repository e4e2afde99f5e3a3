"""The planner: its plans fit every target, serve the layout they are made for, and own every element once."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import Layout, offsets_of, strides_of
from ownership import (
    check_columns,
    check_launch,
    check_periods,
    check_reduced,
    check_threads,
    owners,
    period_owners,
)
from tasks import BEYOND, BOUNDARIES, WIDE, simple, task_of, tasks, traced
from tiling import check_tile, results_of

import warpfold as wf
from warpfold.compiler.abi import Facts
from warpfold.compiler.access import WIDEST, ceil2
from warpfold.compiler.atomic import exact
from warpfold.compiler.columns import WRITES
from warpfold.compiler.dtypes import F32, dtype
from warpfold.compiler.errors import PlanError
from warpfold.compiler.geometry import Dim
from warpfold.compiler.ladder import RUNGS
from warpfold.compiler.limits import FEW, SHIFTED
from warpfold.compiler.narrow import narrowed
from warpfold.compiler.plan import LARGEST_CLUSTER, Plan, check
from warpfold.compiler.planner import INDEX_LIMIT, choose, facts
from warpfold.compiler.rows import (
    FOUR,
    MOST_OF_A_WARP,
    ONE,
    ROW,
    THREADS_A_ROW,
    THREADS_A_ROW_OF_LONG,
    THREADS_OF_BYTES,
    WARP_TO,
)
from warpfold.compiler.split import CLUSTER_FROM, CLUSTER_TO, CLUSTER_WARPS, THREADS
from warpfold.compiler.target import DEFAULT, TARGETS, WARP
from warpfold.compiler.task import Choice, Task

LADDER = [rung.name for rung in RUNGS]
OPTIONS = [
    "", "unroll=1", "warps=1", "warps=4,warps_kept=1", "finish=two_kernels", "finish=last_block,unroll=1", "finish=cta",
    "fast=kept", "fast=reduced", "walk=blocked", "lanes=1", "lanes=8,warps=2", "fast=kept,lanes=4,finish=two_kernels",
    "walk=blocked,fast=reduced,finish=last_block", "warps_kept=8,warps=4", "cta=sequential", "coarsening=2",
    "walk=period", "walk=period,warps_kept=1,unroll=1", "walk=period,vector=2,finish=cta", "walk=staggered",
    "cta=serial,exchange=global", "cta=unrolled,coarsening=16,finish=two_kernels", "tile_bytes=1024", "tile_bytes=0",
    "tile_bytes=16384,lanes=4", *LADDER,
]  # fmt: skip


# --- the oracle ---
def check_choice(task: Task, choice: Choice) -> None:
    """Everything that must hold of an answer, for sizes that can be enumerated."""
    g, plan, run = task.geometry, choice.plan, choice.run
    check_target(task, plan)
    if plan.walk == "period":
        return check_rows(task, choice)
    check_threads(plan)
    check_launch(plan, run, g.n_kept, g.n_reduced, results_of(task, choice))
    for lead in leads(choice):
        check_reduced(plan, run, g.n_reduced, lead)
    assert task.monoid.commutative or plan.walk == "blocked"
    check_index_bits(task, choice)
    if g.n_kept * g.n_reduced:
        check_tile(task, choice) if plan.tile_bytes else check_access(task, choice)
        check_stores(task, choice)
    return None


def check_rows(task: Task, choice: Choice) -> None:
    """The same where rows without gaps are read as one."""
    g, plan, run = task.geometry, choice.plan, choice.run
    check_periods(plan, run, g.columns, g.n_kept, g.n_reduced)
    for lead in range(plan.vector):
        check_columns(plan, run, g.columns, g.n_reduced, lead)
    assert task.monoid.commutative
    assert task.determinism != "portable"
    check_index_bits(task, choice)
    assert set(choice.facts.access) == {"period"}
    assert not choice.facts.store_vector
    starts = [task.addresses[i] + g.offsets[i] * t.itemsize for i, t in enumerate(task.program.inputs)]
    leads = [divmod(at, t.itemsize) for at, t in zip(starts, task.program.inputs, strict=True)]
    assert {rest for _, rest in leads} == {0}
    assert len({lead % plan.vector for lead, _ in leads}) == 1
    for i, t in enumerate(task.program.inputs):
        assert plan.vector * t.itemsize <= WIDEST
        rows = offsets_of(g.reduced, i)[:, None] + np.arange(g.columns)
        assert np.array_equal(rows.ravel(), np.arange(g.n_reduced * g.columns))


def check_target(task: Task, plan: Plan) -> None:
    """Whatever the task's target, the plan is one for all of them; or with clusters, for all that have some."""
    for target in TARGETS.values():
        if target.has_clusters or plan.cluster == 1 or target == task.target:
            check(plan, target, task.state_bytes)


def leads(choice: Choice) -> range:
    return range(choice.plan.vector if choice.cut == "shifted" else 1)


def check_index_bits(task: Task, choice: Choice) -> None:
    """64 bits exactly when a size, a partial's number or an offset from the walk's start needs them."""
    g = task.geometry
    reach = [abs(bound - g.offsets[i]) for i in range(len(g.offsets)) for bound in g.span(i)]
    largest = max(g.n_reduced, g.n_kept * choice.run.split, *reach)
    assert choice.facts.index_bits == (32 if largest < INDEX_LIMIT else 64)


def check_workspace(task: Task, choice: Choice) -> None:
    """Partial states of a plan that nobody asked for fit in what a stream allocates once."""
    plan, width = choice.plan, choice.plan.vector_kept
    if plan.finish == "last_block":
        results = -(-task.geometry.n_kept // width) * width
        assert results * plan.parts(choice.run.split) * task.state_bytes <= 1 << 20


def check_cluster(task: Task, plan: Plan) -> None:
    """Clusters are chosen where there are some, and where neither the bits nor the order forbid it."""
    if plan.cluster > 1:
        assert task.target.has_clusters
        assert task.determinism != "portable"
        assert task.monoid.commutative
        assert (plan.fast, plan.cluster, plan.finish) == ("reduced", LARGEST_CLUSTER, "cta")


def check_access(task: Task, choice: Choice) -> None:
    """Each vector access is a run of neighbouring elements that begins at a boundary of its own size."""
    g, plan = task.geometry, choice.plan
    for i in range(len(task.program.inputs)):
        kind = choice.facts.access[i]
        if kind == "strided":
            continue
        item = task.operand_type(i).itemsize
        assert plan.vector > 1
        assert plan.vector * item <= 16
        fast, slow = (g.reduced, g.kept) if plan.fast == "reduced" else (g.kept, g.reduced)
        rows = offsets_of(slow, i) + g.offsets[i]
        along = offsets_of(fast, i)
        for first in range(0, len(along), plan.vector):
            run = along[first : first + plan.vector]
            assert np.array_equal(run, run[0] + np.arange(len(run)))
            cut = (plan.fast == "reduced" and len(g.reduced) == 1) or (kind == "unaligned" and len(g.kept) == 1)
            assert len(run) == plan.vector or cut
        if kind == "unaligned":
            check_unaligned(task, choice, i)
        elif kind == "aligned":
            starts = task.addresses[i] + (rows[:, None] + along[None, :: plan.vector]) * item
            assert not (starts % (plan.vector * item)).any()
        else:
            assert (len(g.reduced), plan.fast, len(task.program.inputs)) == (1, "reduced", 1)
            assert task.determinism != "portable"
            assert task.addresses[i] % item == 0
            assert np.array_equal(along, np.arange(len(along)))


def check_unaligned(task: Task, choice: Choice, i: int) -> None:
    """Both aligned accesses that hold a vector lie in the array, but for the reduced axis' first and last element."""
    g, vector, item = task.geometry, choice.plan.vector, task.operand_type(i).itemsize
    assert choice.plan.fast == "kept"
    assert task.determinism != "portable"
    assert task.addresses[i] % item == 0
    lowest, highest = (task.addresses[i] + bound * item for bound in g.span(i))
    kept = offsets_of(g.kept, i) + g.offsets[i]
    for reduced in offsets_of(g.reduced, i)[1:-1]:
        at = task.addresses[i] + (kept + reduced) * item
        ends = np.minimum(np.arange(0, len(at), vector) + vector, len(at)) - 1
        assert (at[::vector] // WIDEST * WIDEST >= lowest).all()
        assert (at[ends] // WIDEST * WIDEST + WIDEST <= highest + item).all()


def check_stores(task: Task, choice: Choice) -> None:
    if not choice.facts.store_vector:
        return
    g, plan, inputs = task.geometry, choice.plan, len(task.program.inputs)
    assert plan.vector_kept > 1
    for o in range(inputs, len(g.offsets)):
        item = task.operand_type(o).itemsize
        at = (offsets_of(g.kept, o) + g.offsets[o]).reshape(-1, plan.vector)
        assert np.array_equal(at, at[:, :1] + np.arange(plan.vector))
        assert not ((task.addresses[o] + at[:, 0] * item) % min(WIDEST, plan.vector * item)).any()


# --- the planner's own choices ----------------------------------------------------------------------------------------
@settings(max_examples=1000)
@given(tasks())
def test_every_plan_fits_and_owns_every_element_once(task: Task) -> None:
    choice = choose(task)
    check_choice(task, choice)
    check_workspace(task, choice)
    check_cluster(task, choice.plan)


@settings(max_examples=300)
@given(tasks())
def test_what_is_for_teaching_is_never_chosen(task: Task) -> None:
    plan = choose(task).plan
    assert (plan.cta, plan.exchange, plan.coarsening) == ("shuffle", "shared", 0)


@settings(max_examples=700)
@given(tasks(), st.lists(st.sampled_from(OPTIONS), min_size=1, max_size=2))
def test_options_give_a_plan_that_holds_or_an_error(task: Task, options: list[str]) -> None:
    try:
        choice = choose(task, ",".join(options))
    except PlanError as e:
        assert e.code in {"WF404", "WF405", "WF408", "WF409", "WF412", "WF415", "WF416", "WF417", "WF418"}  # noqa: PT017 (an error is one of the two right answers)
    else:
        check_choice(task, choice)


@settings(max_examples=250)
@given(tasks(sizes=tuple(BOUNDARIES[1:] + BEYOND), most=2**34), st.data())
def test_plans_for_arrays_that_nobody_enumerates(task: Task, data: st.DataObject) -> None:
    choice, g = choose(task), task.geometry
    check_target(task, choice.plan)
    check_workspace(task, choice)
    check_cluster(task, choice.plan)
    check_index_bits(task, choice)
    if choice.plan.walk == "period":
        check_periods(choice.plan, choice.run, g.columns, g.n_kept, g.n_reduced)
        last = g.n_reduced * g.columns - 1
        for element in {0, last, data.draw(st.integers(0, last))}:
            for lead in range(choice.plan.vector):
                assert period_owners(choice.plan, choice.run, g.columns, g.n_reduced, element, lead) == 1
        return
    check_threads(choice.plan)
    check_launch(choice.plan, choice.run, g.n_kept, g.n_reduced, results_of(task, choice))
    check_index_bits(task, choice)
    for lead in leads(choice):
        for element in {0, g.n_reduced - 1, data.draw(st.integers(0, g.n_reduced - 1))}:
            assert owners(choice.plan, choice.run, g.n_reduced, element, lead) == 1


@pytest.mark.parametrize("n", sorted({*BOUNDARIES, 12_345, 40_000, 2**17 + 1}))
@pytest.mark.parametrize("start", [0, 1])
def test_full_reductions_around_every_boundary(n: int, start: int) -> None:
    for what, t in (("sum", "f32"), ("argmax", "f16"), ("any", "bool"), ("affine", "f64"), ("powers", "f32")):
        task = simple(what, (n,), (0,), t, start)
        check_choice(task, choose(task))


def test_one_cta_when_it_may_not_split() -> None:
    task = simple("sum", (2**20,), (0,))
    assert choose(task).run.split > 1
    assert choose(task).plan.finish == "last_block"
    alone = choose(task, split=False)
    assert (alone.run.split, alone.plan.finish) == (1, "cta")


def test_a_wide_state_gets_fewer_warps() -> None:
    """Eight warps of 32 results of 40 doubles would need 80 KiB."""
    task = simple("powers", (4096, 64), (0,), "f64")
    choice = choose(task)
    assert task.state_bytes == 8 * WIDE
    assert choice.plan.fast == "kept"
    assert choice.plan.warps < 8
    assert any("do not fit shared memory" in why for _, why in choice.rejected)
    check(choice.plan, DEFAULT, task.state_bytes)


# --- what layouts give ---
def test_the_classic_cases() -> None:
    full = choose(simple("sum", (2**24,), (0,)))
    assert (full.plan.vector, full.plan.lanes, full.plan.warps, full.plan.finish) == (4, 32, 8, "last_block")
    assert full.facts == Facts(1, 1, 32, ("aligned",), False)
    row = choose(simple("sum", (2**14, 32), (1,)))
    assert (row.plan.fast, row.plan.lanes, row.plan.warps, row.plan.finish) == ("reduced", 4, 1, "cta")
    column = choose(simple("sum", (1024, 2**14), (0,)))
    assert (column.plan.fast, column.plan.lanes, column.plan.vector) == ("kept", 4, 4)
    assert column.facts == Facts(1, 1, 32, ("aligned",), True)


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


def test_an_address_between_elements_allows_no_vectors() -> None:
    task = simple("sum", (4096,), (0,))
    odd = Task(task.program, task.geometry, (2, 0), task.target, task.sms)
    assert choose(odd).facts.access == ("strided",)


def test_a_reversed_array_is_read_in_vectors_again() -> None:
    """Its first element is the last in memory: alignment counts from where the flipped walk starts."""
    for n, last, kind in ((4096, 3, "aligned"), (4096, 0, "shifted"), (4095, 2, "aligned")):
        task = task_of(traced("sum", F32), Layout((n,), (0,), ((-1,),), ((),)), (last, 0), DEFAULT, 132)
        assert task.geometry.offsets == (1 - n, 0)
        assert choose(task).facts.access == (kind,)


def test_offsets_count_from_where_a_flipped_walk_starts() -> None:
    """Half the rows lie below the first element and half above: both ways fit 32 bits, the whole reach does not."""
    n = 3 * 2**29
    layout = Layout((2, 2), (0, 1), ((n, -n),), ((),))
    task = task_of(traced("sum", F32), layout, (0, 0), DEFAULT, 132)
    assert task.geometry.span(0) == (-n, n)
    assert facts(task, Plan()).index_bits == 64


@pytest.mark.parametrize(
    ("shape", "axes", "bits"),
    [((INDEX_LIMIT,), (0,), 64), ((INDEX_LIMIT - 1,), (0,), 32), ((2**31 - 1, 1), (1,), 64), ((2**16, 2**16), (0,), 64),
     ((2**20, 2), (1,), 32)],
)  # fmt: skip
def test_64_bit_indexing_where_the_array_needs_it(shape: tuple[int, ...], axes: tuple[int, ...], bits: int) -> None:
    assert choose(simple("sum", shape, axes)).facts.index_bits == bits


def test_many_results_shared_by_many_ctas_stay_32_bit_while_their_partials_do() -> None:
    choice = choose(simple("sum", (2**10, 2**19), (0,), "i8"))
    assert choice.facts.index_bits == 32


@pytest.mark.parametrize("what", ["sum", "affine"])
def test_an_array_that_is_one_value_everywhere_has_a_plan(what: str) -> None:
    task = task_of(traced(what, F32), Layout((100, 7), (0,), ((0, 0),), ((1,),)), (0, 0), DEFAULT, 132)
    choice = choose(task)
    check_choice(task, choice)
    assert not any("inf" in reason for reason in choice.reasons)


@pytest.mark.parametrize("what", ["sum", "argmin", "affine", "any"])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
def test_a_single_element_has_a_plan(what: str, shape: tuple[int, ...]) -> None:
    task = simple(what, shape, tuple(range(len(shape))))
    choice = choose(task)
    check_choice(task, choice)
    assert (choice.facts.kept_rank, choice.facts.reduced_rank) == (1, 1)
    assert task.geometry.kept == task.geometry.reduced == ()


# --- clusters, and partial states ---
@pytest.mark.parametrize("arch", TARGETS)
def test_a_cluster_reads_what_is_too_long_for_a_cta_where_the_target_has_them(arch: str) -> None:
    def plan(nbytes: int, what: str = "sum", **changes: str) -> Plan:
        return choose(replace(simple(what, (nbytes // 4,), (0,), arch=arch), **changes)).plan

    target = TARGETS[arch]
    for nbytes, within in (
        (CLUSTER_FROM, False),
        (CLUSTER_FROM + 4, True),
        (CLUSTER_TO, True),
        (CLUSTER_TO + 4, False),
    ):
        chosen = within and target.has_clusters
        assert plan(nbytes).cluster == (LARGEST_CLUSTER if chosen else 1)
        assert plan(nbytes).warps == (CLUSTER_WARPS if chosen else THREADS // WARP)
        assert plan(nbytes, determinism="portable").cluster == 1
        assert plan(nbytes, "affine").cluster == 1


def test_clusters_are_for_results_so_few_that_all_clusters_are_resident() -> None:
    most = DEFAULT.sms // LARGEST_CLUSTER
    clusters = [choose(simple("sum", (n, CLUSTER_TO // 4), (1,))).plan.cluster for n in (1, most, most + 1)]
    assert clusters == [LARGEST_CLUSTER, LARGEST_CLUSTER, 1]


@pytest.mark.parametrize("what", ["sum", "var", "powers"])
@pytest.mark.parametrize("n_reduced", [2**20, 2**24, 2**28, 2**31 + 7])
def test_partial_states_fit_the_workspace(what: str, n_reduced: int) -> None:
    """Along either axis, and where the last vector of results is not full."""
    for n_kept in (1, 2, 3, 5, 9, 100, 257, 1000):
        for shape, axis in (((n_kept, n_reduced), 1), ((n_reduced, n_kept), 0)):
            for t in ("f64", "f32"):
                task = simple(what, shape, (axis,), t)
                check_workspace(task, choose(task))


# --- threads of a row ---
MANY = 2 * FEW * DEFAULT.sms
"""Results that fill the machine with a warp each."""


def steps_of(t: str) -> Steps:
    """The threads of rows of which the largest element is asked: of bytes an access takes 16 operations to join."""
    return THREADS_A_ROW_OF_LONG[1] if t == "i8" else THREADS_A_ROW


Steps = tuple[tuple[int, int], ...]


@pytest.mark.parametrize("t", ["i8", "f16", "f32", "f64"])
def test_a_row_gets_threads_by_its_accesses(t: str) -> None:
    wide, steps = WIDEST // dtype(t).itemsize, steps_of(t)
    for (most, threads), (_, above) in pairwise([*steps, (0, THREADS)]):
        found = [choose(simple("max", (MANY, n * wide), (1,), t)).plan for n in (most, most + 1)]
        assert [p.positions for p in found] == [threads, above]
        assert {p.vector for p in found} == {wide}


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
    wide = WIDEST // item
    shortest = SHIFTED[item] * wide
    for n, kind in ((shortest - 1, "strided"), (shortest + 1, "shifted")):
        choice = choose(simple("max", (MANY, n), (1,), t))
        assert choice.facts.access == (kind,)
        assert choice.plan.vector == (wide if kind == "shifted" else 1)


@pytest.mark.parametrize("t", ["i8", "f16", "f32", "f64"])
def test_a_row_that_begins_anywhere_gets_few_threads_where_it_is_short(t: str) -> None:
    """The more elements an access has, the more of it is masked."""
    wide = WIDEST // dtype(t).itemsize
    shortest = SHIFTED[dtype(t).itemsize]
    longest = steps_of(t)[-1][0] if t == "i8" else MOST_OF_A_WARP
    more = WARP // 2 if t == "i8" else WARP
    for most, threads, above in ((ONE * wide, 1, 4), (FOUR * wide, 4, more), (longest, WARP, THREADS)):
        if most > shortest:
            accesses = int(most)
            found = [choose(simple("max", (MANY, n * wide - 1), (1,), t)) for n in (accesses, accesses + 1)]
            assert [c.plan.positions for c in found] == [threads, above]
            assert {c.facts.access for c in found} == {("shifted",)}


# --- results that take many bytes ---
def columns(what: str, t: str, rows: int, n: int = 1 << 22) -> Choice:
    """The choice for so many rows of columns that fill the machine."""
    task = simple(what, (rows, n), (0,), t)
    return choose(replace(task, program=narrowed(task.program)[0]))


@pytest.mark.parametrize(
    ("what", "t", "most", "vector"),
    [("sum", "i8", 16, 2), ("sum", "i16", 8, 2), ("sum", "i32", 4, 2), ("argmax", "f32", 4, 2), ("mean", "u8", 16, 2)],
)
def test_a_few_rows_are_read_by_as_many_columns_as_a_thread_writes_at_once(
    what: str, t: str, most: int, vector: int
) -> None:
    for rows in (1, 2, 3, most):
        choice = columns(what, t, rows)
        assert (choice.plan.fast, choice.plan.vector, choice.facts.store_vector) == ("kept", vector, True)
        assert choice.plan.unroll == max(1, ceil2(rows) // 2)
    assert columns(what, t, most + 1).plan.vector > vector
    assert columns(what, t, 2, 1 << 12).plan.vector > vector


@pytest.mark.parametrize(("rows", "vector", "unroll"), [(64, 4, 8), (100_000, 16, 2)])
def test_columns_of_bytes_are_read_by_16_at_a_time_or_as_many_as_a_thread_writes(
    rows: int, vector: int, unroll: int
) -> None:
    choice = columns("sum", "i8", rows, 1 << (20 if rows < 256 else 10))
    assert (choice.plan.vector, choice.plan.unroll, choice.facts.access) == (vector, unroll, ("aligned",))
    assert choice.facts.store_vector == (choice.plan.positions == 1)
    assert vector == 16 or vector * choice.plan.positions * dtype("i64").itemsize == WRITES


@settings(max_examples=300)
@given(tasks())
def test_reasons_are_words(task: Task) -> None:
    choice = choose(task)
    assert len(choice.reasons) >= 3
    for text in (*choice.reasons, *(w for pair in choice.rejected for w in pair)):
        assert text
        assert not {"inf", "None", "nan"} & set(text.replace(",", " ").split())


@pytest.mark.parametrize(
    ("options", "kept", "gone"),
    [
        ("simple", ["lanes lie along"], ["CTAs share", "element(s) an access", "thread(s) a result", "finish="]),
        ("finish=two_kernels", ["lanes lie", "4 element(s)", "thread(s) a result", "CTAs share"], ["finish="]),
        ("warps=4", ["lanes lie", "4 element(s)"], ["thread(s) a result", "CTAs share"]),
        ("warps=8", ["lanes lie", "4 element(s)", "thread(s) a result", "CTAs share", "finish="], ["asked"]),
    ],
)
def test_reasons_that_do_not_hold_for_what_is_asked_for_are_not_told(
    options: str, kept: list[str], gone: list[str]
) -> None:
    choice = choose(simple("sum", (1 << 20,), (0,)), options)
    told = "\n".join([*choice.reasons, *(what for what, _ in choice.rejected)])
    told = "\n".join(line for line in told.splitlines() if not line.startswith("asked for: "))
    own = choose(simple("sum", (1 << 20,), (0,))).plan.to_dict()
    asked = ", ".join(f"{k}={v}" for k, v in choice.plan.to_dict().items() if v != own[k])
    assert [r for r in choice.reasons if r.startswith("asked")] == ([f"asked for: {asked}"] if asked else [])
    assert [word for word in kept if word not in told] == []
    assert [word for word in gone if word in told] == []


@pytest.mark.parametrize(
    ("shape", "strides", "start", "whole"),
    [((64,), (1,), 0, True), ((64,), (2,), 0, False), ((64,), (1,), 1, False), ((3, 64), (66, 1), 0, False)],
)
def test_results_are_stored_in_vectors_where_they_lie_side_by_side(
    shape: tuple[int, ...], strides: tuple[int, ...], start: int, whole: bool
) -> None:
    layout = Layout((50, *shape), (0,), (strides_of((50, *shape), range(len(shape) + 1), [1] * 3),), (strides,))
    if len(shape) == 2:
        layout = Layout((3, 50, 64), (1,), ((3200, 64, 1),), (strides,))
    choice = choose(task_of(traced("sum", F32), layout, (0, start), DEFAULT, 132))
    assert (choice.plan.fast, choice.plan.vector, choice.facts.access) == ("kept", 4, ("aligned",))
    assert choice.facts.store_vector == whole


# --- options ---
def test_an_option_that_was_not_given_gives_way() -> None:
    """``walk=blocked`` alone works: the vectors that the planner chose are dropped, not refused."""
    task = simple("sum", (2**18,), (0,))
    own = choose(task).plan
    assert own.vector == 4
    wanted = Plan("reduced", "blocked", 1, own.unroll, 32, THREADS // 32, 1, finish="last_block")
    assert choose(task, "walk=blocked").plan == wanted
    assert choose(simple("sum", (64, 66), (1,)), "fast=kept").plan.vector == 1


def test_parts_follow_the_plan_that_was_asked_for() -> None:
    task = simple("sum", (2**18,), (0,))
    own = choose(task)
    assert own.run.split == 2**18 // own.plan.tile > 1
    assert choose(task, "unroll=1").run.split == 2**18 // (4 * THREADS)
    assert choose(task, "finish=cta").run.split == 1
    assert choose(simple("sum", (100,), (0,)), "finish=two_kernels").run.split == 1


@pytest.mark.parametrize("options", ["vector=8", "vector=4,fast=kept", " vector = 8"])
def test_a_vector_that_the_layout_has_not_is_refused(options: str) -> None:
    with pytest.raises(
        PlanError, match=r"WF407: vector=[48] along the (reduced|kept) axis does not fit this layout: it "
    ):
        choose(simple("sum", (64, 4096), (1,)), options)


def test_an_atomic_whose_bits_would_depend_on_the_order_is_refused() -> None:
    with pytest.raises(
        PlanError, match=r"WF408: finish=atomic is not exact for .*: its result would depend on the order"
    ):
        choose(simple("sum", (4096,), (0,)), "finish=atomic")


@pytest.mark.parametrize(("what", "t"), [("max", "f64"), ("argmax", "i32"), ("var", "f32"), ("any", "bool")])
def test_a_monoid_without_an_atomic_is_told_so(what: str, t: str) -> None:
    with pytest.raises(
        PlanError, match=r"WF408: finish=atomic is not exact for .*: no atomic instruction combines its states"
    ):
        choose(simple(what, (4096,), (0,), t), "finish=atomic")


@pytest.mark.parametrize(("what", "t"), [("sum", "i32"), ("max", "i64"), ("min", "u32"), ("sum", "bool")])
def test_an_atomic_on_one_integer_is_exact(what: str, t: str) -> None:
    choice = choose(simple(what, (2**16,), (0,), t), "finish=atomic")
    assert choice.plan.finish == "atomic"
    assert choice.run.split > 1


def test_bools_products_and_floats_have_no_atomic() -> None:
    graphs = [traced(w, dtype(t)).reduces[0].value for w, t in (("any", "bool"), ("prod", "i32"), ("sum", "f32"))]
    assert not any(exact(g) for g in graphs)  # type: ignore[arg-type]


def test_an_order_that_matters_is_kept() -> None:
    task = simple("affine", (2**16,), (0,))
    choice = choose(task)
    assert (choice.plan.walk, choice.plan.vector) == ("blocked", 1)
    with pytest.raises(
        PlanError, match="WF409: AFFINE is not commutative: walk=interleaved would reorder its elements"
    ):
        choose(task, "walk=interleaved")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("wraps=2", "WF402: a plan has no field 'wraps' .did you mean warps"),
        ("warps=3", "WF403: plan field warps cannot be '3'"),
        ("lanes=64", "WF403: plan field lanes cannot be 64: expected at most 32"),
        ("fast=diagonal", "WF403: plan field fast cannot be 'diagonal'"),
        ("finish=", "WF403: plan field finish cannot be ''"),
        ("warps=64", "WF404: the plan needs 2048 threads"),
        ("walk=blocked,vector=4", "WF406: a blocked walk"),
        ("cta=butterfly", "WF403: plan field cta cannot be 'butterfly': expected one of shuffle serial interleaved"),
        ("exchange=local", "WF403: plan field exchange cannot be 'local': expected one of shared global"),
        ("coarsening=3", "WF403: plan field coarsening cannot be '3': expected 0, or a power of two from 1 to 1024"),
        ("cluster=16", "WF403: plan field cluster cannot be 16: expected at most 8"),
        ("simpel", "WF410: no plan is called 'simpel' .did you mean simple..: expected one of serial simple"),
        ("exchange=global", "WF411: cta=shuffle exchanges registers"),
        ("coarsening=2,finish=cta", "WF412: coarsening=2 says when more CTAs share a result"),
        ("coarsening=2,unroll=4", "WF413: a CTA takes whole unrolled steps: coarsening=2 is less than unroll=4"),
    ],
)
def test_options_that_no_plan_can_have_are_refused(options: str, text: str) -> None:
    with pytest.raises(PlanError, match=text):
        choose(simple("sum", (64, 4096), (1,)), options)


def test_too_much_shared_memory_is_refused_and_says_how_much() -> None:
    task = simple("powers", (4096, 64), (0,), "f64")
    with pytest.raises(PlanError, match=r"WF405: the plan needs \d+ bytes of shared memory a CTA: sm_90a gives 49152"):
        choose(task, "warps=32,warps_kept=1")


# --- how many kernels a program asks for ---
KERNELS = 40
"""Of one function and element type, for a thousand arrays of any shape and layout."""
ASKED = (("sum", "f32"), ("max", "bf16"), ("argmax", "f32"), ("var", "f64"), ("sum", "i8"), ("affine", "f32"))


def random_task(source: random.Random, what: str, t: str, ranks: int, plain: bool) -> Task:
    """Arrays as users have them: sizes from one to a million, any axes; permuted, stepped through, cut out."""
    rank = source.randint(1, ranks)
    shape = tuple(int(2 ** source.uniform(0, 20 / rank)) + source.randint(0, 1) for _ in range(rank))
    axes = tuple(a for a in range(rank) if source.random() < 0.5) or (rank - 1,)
    if plain:
        return simple(what, shape, axes, t)
    order, steps, room = list(range(rank)), [1] * rank, list(shape)
    if source.random() < 0.5:
        source.shuffle(order)
    if source.random() < 0.5:
        steps = [source.choice([1, 1, 1, 1, 2, 3, -1]) for _ in shape]
    if source.random() < 0.4:
        room = [n + source.choice([0, 0, 1, 5]) for n in shape]
    kept = [n for a, n in enumerate(shape) if a not in axes]
    results = strides_of(kept, range(len(kept)), [1] * len(kept))
    layout = Layout(shape, axes, (strides_of(room, order, steps),), (results,))
    return task_of(traced(what, dtype(t)), layout, (source.choice([0, 0, 0, 1, 2, 3]), 0), DEFAULT, DEFAULT.sms)


@pytest.mark.parametrize(("what", "t"), ASKED)
@pytest.mark.parametrize(("ranks", "plain"), [(4, True), (6, True), (8, True), (4, False), (6, False), (8, False)])
def test_a_thousand_arrays_ask_for_a_bounded_number_of_kernels(what: str, t: str, ranks: int, plain: bool) -> None:
    """The compile key of one program is (plan, facts)."""
    source = random.Random(ranks)
    choices = [choose(random_task(source, what, t, ranks, plain)) for _ in range(1000)]
    keys = {(c.plan, c.facts) for c in choices}
    assert len(keys) <= KERNELS, f"{len(keys)} kernels for 1000 arrays"


@settings(max_examples=300)
@given(tasks())
def test_a_kernel_has_as_many_dims_as_the_array_or_more(task: Task) -> None:
    g, found = task.geometry, choose(task).facts
    padded = g.padded(found.kept_rank, found.reduced_rank)
    assert (len(padded.kept), len(padded.reduced)) == (found.kept_rank, found.reduced_rank)
    assert padded.kept[found.kept_rank - len(g.kept) :] == g.kept
    assert (padded.n_kept, padded.n_reduced, padded.offsets) == (g.n_kept, g.n_reduced, g.offsets)


# --- determinism ---
def test_a_portable_plan_depends_on_the_array_alone() -> None:
    """Not on the device, and not on addresses; what these decide is only how the same elements are read."""
    source = random.Random(7)
    for _ in range(400):
        what, t = source.choice(ASKED)
        task = replace(random_task(source, what, t, 5, plain=False), determinism="portable")
        found = choose(task)
        check_portable(task, found)
        for target in TARGETS.values():
            for sms in (1, 56, target.sms):
                item = task.operand_type(0).itemsize
                addresses = tuple(source.randint(0, 16 // item) * item for _ in task.addresses)
                other = choose(replace(task, target=target, sms=sms, addresses=addresses))
                assert (other.plan, other.run) == (found.plan, found.run)
                check_portable(task, other)


def check_portable(task: Task, choice: Choice) -> None:
    assert not {"shifted", "unaligned"} & set(choice.facts.access)
    assert any(reason.startswith("portable: ") for reason in choice.reasons)
    check_threads(choice.plan)
    check_launch(choice.plan, choice.run, task.geometry.n_kept, task.geometry.n_reduced, results_of(task, choice))


@pytest.mark.parametrize(
    ("t", "width", "access"),
    [("i8", 257, "unaligned"), ("f16", 257, "unaligned"), ("f32", 257, "unaligned"), ("f64", 257, "strided"),
     ("f32", 256, "aligned"), ("f64", 256, "aligned"), ("f32", 3, "strided")],
)  # fmt: skip
def test_columns_that_begin_anywhere_are_read_in_vectors_where_that_is_faster(t: str, width: int, access: str) -> None:
    """A warp's single elements of 8 bytes fill whole sectors; of 3 f32 the next row lies in the same 16 bytes."""
    assert choose(simple("max", (MANY, width), (0,), t)).facts.access == (access,)


@pytest.mark.parametrize(("width", "lanes"), [(5, 2), (8, 2), (9, 4), (16, 4), (17, 8), (257, 8)])
def test_few_columns_get_few_lanes(width: int, lanes: int) -> None:
    """Where an element lies between rows, which cannot be read as one."""
    assert choose(sliced("max", (MANY, width))).plan.lanes_kept == lanes


LONG = 2_000_000


def sliced(what: str, shape: tuple[int, int], t: str = "f32") -> Task:
    """Columns of an array that has four more."""
    width = shape[1]
    layout = Layout(shape, (0,), ((width + 4 - width % 4, 1),), ((1,),))
    return task_of(traced(what, dtype(t)), layout, (0, 0), DEFAULT, DEFAULT.sms)


@pytest.mark.parametrize(
    ("t", "width", "warps"),
    [("f32", 2, 8), ("f32", 9, 8), ("f32", 32, 0), ("f32", 33, 16), ("f32", 48, 0), ("f32", 40, 16), ("f32", 64, 0),
     ("f32", 255, 16),
     ("f32", 257, 0), ("i8", 9, 8), ("i8", 16, 8), ("f16", 8, 8), ("f64", 9, 8), ("f64", 4, 0), ("bool", 129, 16)],
)  # fmt: skip
def test_narrow_rows_without_gaps_are_walked_by_periods(t: str, width: int, warps: int) -> None:
    """But for columns that fill all lanes with whole accesses, and those that a CTA has no threads for."""
    plan = choose(simple("max", (LONG, width), (0,), t)).plan
    other = "staggered" if width % 2 else "interleaved"
    assert (plan.walk, plan.warps_kept) == (("period", warps) if warps else (other, 1))
    apart = "staggered" if width > 250 or t == "bool" else "interleaved"
    assert choose(sliced("max", (LONG, width), t)).plan.walk == apart
    assert choose(simple("affine", (LONG, width), (0,), "f32")).plan.walk == "blocked"


@pytest.mark.parametrize(
    ("t", "shape", "warps"),
    [("f32", (2000, 300, 7), 2), ("f32", (2000, 1000, 7), 8), ("f32", (6000, 100, 7), 0), ("f32", (2000, 1000, 17), 0),
     ("bf16", (40, 10_000, 33), 16), ("bf16", (2000, 300, 33), 8)],
)  # fmt: skip
def test_a_cta_walks_no_more_than_a_few_periods_at_least(t: str, shape: tuple[int, ...], warps: int) -> None:
    """Of a middle axis the rows of each outer index are a CTA's own: short ones get few warps, or the ordinary plan.

    So do rows whose single elements fill sectors. The machine is too large for copies of the elements.
    """
    choice = choose(replace(simple("sum", shape, (1,), t), sms=200))
    assert choice.plan.tile_bytes == 0
    assert (choice.plan.walk == "period", choice.plan.warps_kept) == (warps > 0, warps or choice.plan.warps_kept)
    assert choice.run.split == (1 if shape[0] > 40 else 6)


def test_a_small_array_is_walked_as_ever() -> None:
    assert choose(simple("sum", (28_000, 9), (0,))).plan.walk == "interleaved"
    assert choose(simple("sum", (30_000, 9), (0,))).plan.walk == "period"


@pytest.mark.parametrize(
    "options", ["fast=reduced", "lanes=4", "warps=2", "finish=two_kernels", "walk=interleaved", "simple"]
)
def test_what_periods_do_not_have_is_asked_of_the_ordinary_plan(options: str) -> None:
    task = simple("sum", (LONG, 9), (0,))
    assert choose(task).plan.walk == "period"
    assert choose(task, options).plan.walk == "interleaved"
    assert choose(task, options).plan == choose(sliced("sum", (LONG, 9)), options).plan


def test_a_walk_by_periods_that_is_asked_for_has_all_it_needs() -> None:
    task = simple("sum", (1000, 9), (0,))
    choice = choose(task, "walk=period")
    assert choice.plan == Plan("kept", "period", 4, 4, 1, 1, 8)
    assert choose(simple("sum", (9000, 9), (0,)), "walk=period").plan.finish == "last_block"
    assert choose(task, "walk=period,warps_kept=2,vector=1,finish=cta").plan.threads == 64
    with pytest.raises(PlanError, match=r"(?s)WF415: .*set lanes=1, or walk=interleaved"):
        choose(task, "walk=period,lanes=2")
    with pytest.raises(PlanError, match="WF416: walk=period does not fit this layout"):
        choose(simple("sum", (1000, 40), (0,)), "walk=period,warps_kept=1")
    with pytest.raises(PlanError, match="WF416"):
        choose(replace(task, determinism="portable"), "walk=period")
    with pytest.raises(PlanError, match="WF416"):
        choose(task, "walk=period,vector=8")
    with pytest.raises(PlanError, match="WF409: AFFINE is not commutative: walk=period would reorder"):
        choose(simple("affine", (1000, 9), (0,)), "walk=period")


def test_a_portable_plan_has_vectors_where_the_address_allows_none() -> None:
    def portable(start: int, options: str = "", n: int = 4096) -> Choice:
        return choose(replace(simple("sum", (64, n), (1,), "f32", start), determinism="portable"), options)

    assert (portable(0).plan.vector, portable(0).facts.access) == (4, ("aligned",))
    assert (portable(1).plan.vector, portable(1).facts.access) == (4, ("strided",))
    assert portable(1, "vector=2").facts.access == ("strided",)
    assert portable(0, n=4097).plan.vector == portable(1, n=4097).plan.vector == 1


@pytest.mark.parametrize("t", ["f32", "f64"])
def test_a_float_atomic_is_for_those_who_need_no_fixed_order(t: str) -> None:
    task = replace(simple("sum", (2**18,), (0,), t), determinism="none")
    assert choose(task).plan.finish == "last_block"
    assert choose(task, "finish=atomic").plan.finish == "atomic"
    for determinism in ("run", "portable"):
        with pytest.raises(PlanError, match=r'WF408: .*\n(.*\n)*.*or finish=two_kernels, or determinism="none"'):
            choose(replace(task, determinism=determinism), "finish=atomic")


@pytest.mark.parametrize(("what", "t"), [("max", "f32"), ("prod", "f64"), ("var", "f32"), ("argmax", "f32")])
def test_what_has_no_atomic_has_none_in_any_order(what: str, t: str) -> None:
    task = replace(simple(what, (2**16,), (0,), t), determinism="none")
    with pytest.raises(PlanError, match="WF408") as caught:
        choose(task, "finish=atomic")
    assert "determinism" not in caught.value.remedy


def test_kept_dims_of_a_task_are_sorted() -> None:
    assert simple("sum", (4, 5, 6), (1,)).geometry.kept == (Dim(4, (30, 6)), Dim(6, (1, 1)))


@pytest.mark.filterwarnings("ignore::warpfold.compiler.errors.WarpfoldWarning")
def test_a_combine_that_only_picks_a_value_has_a_plan() -> None:
    last = wf.monoid(identity=0.0, has_identity=False, commutative=False)(lambda a, b: b)  # noqa: ARG005
    assert wf.compile(last, (4096, 300), axis=1).plan.walk == "blocked"


# --- the ladder's fields ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("n", "parts"), [(1, 1), (2048, 1), (2049, 2), (2**22, 2048), (2**28, 65535)])
def test_a_plan_that_coarsens_says_how_many_ctas_share_a_result(n: int, parts: int) -> None:
    """2 accesses for each of 1024 threads, on a machine of any size; a grid has 65535 CTAs along the reduced axis."""
    options = "lanes=32,warps=32,warps_kept=1,vector=1,unroll=1,cta=sequential,coarsening=2,finish=two_kernels"
    for sms in (1, 132):
        choice = choose(replace(simple("sum", (n,), (0,)), sms=sms), options)
        assert choice.run.split <= parts
        assert choice.run.chunk >= -(-n // parts)
        assert (choice.run.split == parts) or n > 2**22
        assert n > 2**22 or choice.run.chunk <= 2048


def test_what_was_not_asked_for_gives_way_to_coarsening() -> None:
    plan = choose(simple("sum", (4096,), (0,)), "coarsening=1").plan
    assert (plan.coarsening, plan.unroll, plan.finish) == (1, 1, "last_block")


@pytest.mark.parametrize(
    ("n", "options", "finish", "split"),
    [
        (5, "cluster=8", "cta", 8),
        (2**16, "cluster=8,warps=16", "cta", 8),
        (2**16, "cluster=2,warps=16", "last_block", 8),
        (2**20, "cluster=8,finish=cta", "cta", 8),
        (2**16, "cluster=8,warps=16,unroll=2,coarsening=8", "last_block", 8),
        (65528 * 256, "cluster=8,vector=1,unroll=1,coarsening=1", "last_block", 65528),
        (65535 * 256, "cluster=8,vector=1,unroll=1,coarsening=1", "last_block", 32768),
    ],
)
def test_a_cluster_that_is_asked_for_does_all_where_one_is_enough(
    n: int, options: str, finish: str, split: int
) -> None:
    """The grid is one of whole clusters, and no longer than a grid can be."""
    choice = choose(simple("sum", (n,), (0,)), options)
    assert (choice.plan.finish, choice.run.split) == (finish, split)


def test_a_target_without_clusters_says_so() -> None:
    with pytest.raises(PlanError, match="WF414: the plan has cluster=2: sm_89 has no clusters of CTAs"):
        choose(replace(simple("sum", (2**16,), (0,)), target=TARGETS["sm_89"]), "cluster=2")


def test_warps_give_way_to_what_a_cluster_gathers() -> None:
    """40 doubles a state, for 8 results: a second round needs as many as one CTA's warps leave."""
    task = simple("powers", (2**16,), (0,))
    found = {n: choose(task, f"cluster={n},lanes=4").plan.warps for n in (2, 8)}
    assert found == {2: 4, 8: 2}


def test_warps_give_way_to_what_a_cta_exchanges() -> None:
    """40 doubles a state: 1024 threads exchange them in global memory, in shared memory fewer do."""
    task = simple("powers", (2**16,), (0,))
    assert choose(task, "simple").plan.warps == 32
    assert choose(task, "shared").plan.warps < 32
    with pytest.raises(PlanError, match="WF405: the plan needs"):
        choose(task, "shared,warps=32")


def test_partials_of_a_plan_that_coarsens_may_need_64_bits() -> None:
    """Every element of a broadcast array is the same one, but every CTA of every result leaves a state."""
    layout = Layout((2**20, 2**22), (1,), ((0, 0),), ((1,),))
    task = task_of(traced("sum", F32), layout, (0, 0), DEFAULT, 132)
    assert choose(task).facts.index_bits == 32
    assert choose(task, "coarsening=2,vector=1,unroll=1,warps=32,warps_kept=1").facts.index_bits == 64
