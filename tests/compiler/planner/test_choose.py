"""The planner: its plans fit every target, serve their layout, and give every element one owner."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from covering import covering
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import Layout, strides_of
from oracle import check_choice, check_cluster, check_index_bits, check_target, check_workspace, leads
from ownership import (
    check_launch,
    check_periods,
    check_run,
    check_threads,
    owners,
    period_owners,
)
from tasks import BEYOND, BOUNDARIES, WIDE, simple, task_of, tasks, traced
from tiling import results_of

import warpfold as wf
from warpfold.compiler.dtypes import F32, dtype
from warpfold.compiler.errors import PlanError
from warpfold.compiler.plan.checks import check
from warpfold.compiler.plan.facts import Facts
from warpfold.compiler.plan.ladder import RUNGS
from warpfold.compiler.plan.launch import shared
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.planner.choose import INDEX_LIMIT, choose, facts
from warpfold.compiler.planner.limits import CTA_THREADS
from warpfold.compiler.planner.split import CLUSTER_BYTES_FROM, CLUSTER_BYTES_TO, CLUSTER_WARPS
from warpfold.compiler.planner.task import Choice, Task
from warpfold.compiler.space.geometry import Dim
from warpfold.compiler.target import DEFAULT, PORTABLE_CLUSTER, TARGETS, WARP

MANY = 1 << 20
"""Results, of which each thread has some of its own."""
LADDER = [rung.name for rung in RUNGS]


OPTIONS = [
    "", "unroll=1", "warps=1", "warps=4,warps_kept=1", "finish=two_kernels", "finish=last_block,unroll=1", "finish=cta",
    "fast=kept", "fast=reduced", "walk=blocked", "lanes=1", "lanes=8,warps=2", "fast=kept,lanes=4,finish=two_kernels",
    "walk=blocked,fast=reduced,finish=last_block", "warps_kept=8,warps=4", "cta=sequential", "coarsening=2",
    "walk=period", "walk=period,warps_kept=1,unroll=1", "walk=period,vector=2,finish=cta", "walk=staggered",
    "cta=serial,exchange=global", "cta=unrolled,coarsening=16,finish=two_kernels", "tile_bytes=1024", "tile_bytes=0",
    "tile_bytes=16384,lanes=4", *LADDER,
]  # fmt: skip
REFUSED = [f"WF4{n:02}" for n in (4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 18, 21)]
"""What two of them may be refused with."""


def together(options: list[str]) -> str:
    """Several option strings as one: a rung first, and the later of two values of a field."""
    names = [name for name in options if name in LADDER][:1]
    items = [item for some in options for item in some.split(",") if "=" in item]
    fields = {key: value for key, _, value in (item.partition("=") for item in items)}
    return ",".join([*names, *(f"{key}={value}" for key, value in fields.items())])


@settings(max_examples=200)
@given(tasks())
def test_every_plan_fits_and_owns_every_element_once(task: Task) -> None:
    choice = choose(task)
    check_choice(task, choice)
    check_workspace(task, choice)
    check_cluster(task, choice.plan)


@settings(max_examples=120)
@given(tasks())
def test_options_for_teaching_are_never_chosen(task: Task) -> None:
    plan = choose(task).plan
    assert (plan.cta, plan.exchange, plan.coarsening) == ("shuffle", "shared", 0)


@settings(max_examples=150)
@given(tasks(), st.lists(st.sampled_from(OPTIONS), min_size=1, max_size=2))
def test_options_give_a_plan_that_holds_or_an_error(task: Task, options: list[str]) -> None:
    try:
        choice = choose(task, together(options))
    except PlanError as e:
        assert e.code in REFUSED  # noqa: PT017 (an error is one of the two right answers)
    else:
        check_choice(task, choice)


@settings(max_examples=100)
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
    check_launch(
        choice.plan, choice.run, g.n_kept, shared(choice.plan, g), results_of(task, choice), choice.facts.row(g)
    )
    check_index_bits(task, choice)
    if choice.plan.walk == "runs":
        count = shared(choice.plan, g)
        for number in {0, count - 1, data.draw(st.integers(0, count - 1))}:
            check_run(choice.plan, choice.run, count, number)
        return
    for lead in leads(choice):
        for element in {0, g.n_reduced - 1, data.draw(st.integers(0, g.n_reduced - 1))}:
            assert owners(choice.plan, choice.run, g.n_reduced, element, lead) == 1


@covering(("n", sorted({*BOUNDARIES, 12_345, 40_000, 2**17 + 1})), ("start", [0, 1]))
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


def test_the_classic_cases() -> None:
    full = choose(simple("sum", (2**24,), (0,)))
    assert (full.plan.vector, full.plan.lanes, full.plan.warps, full.plan.finish) == (4, 32, 16, "last_block")
    assert full.facts == Facts(1, 1, 32, ("aligned",), False)
    row = choose(simple("sum", (2**14, 32), (1,)))
    assert (row.plan.fast, row.plan.lanes, row.plan.warps, row.plan.finish) == ("reduced", 4, 1, "cta")
    column = choose(simple("sum", (1024, 2**14), (0,)))
    assert (column.plan.fast, column.plan.lanes, column.plan.vector) == ("kept", 2, 4)
    assert column.facts == Facts(1, 1, 32, ("aligned",), False)


def test_few_elements_have_no_loop() -> None:
    """As many as all threads have in flight: of one CTA, of a cluster, and of CTAs that meet at the end."""

    def once(n: int, what: str = "sum", start: int = 0) -> bool:
        return choose(simple(what, (n,), (0,), "f32", start)).facts.once

    assert [once(n) for n in (100, 4096, 8192, 2**16, 2**20, 2**20 + 1, 2**24)] == [True] * 6 + [False]
    assert "no loop: 2 accesses in flight are all that a thread makes" in choose(simple("sum", (4096,), (0,))).reasons
    assert not once(4096, "var")  # of a long combine what is left of a walk is read one by one
    assert not once(4096, start=1)  # a row that begins anywhere has ends of its own
    assert not choose(simple("sum", (4096, 9), (0,), "i8")).facts.once


def test_an_address_between_elements_allows_no_vectors() -> None:
    task = simple("sum", (4096,), (0,))
    odd = Task(task.program, task.geometry, (2, 0), task.target, task.sms)
    assert choose(odd).facts.access == ("strided",)


def test_a_reversed_array_is_read_in_vectors_again() -> None:
    """Its first element is last in memory: alignment counts from where the flipped walk starts."""
    for n, last, kind in ((4096, 3, "aligned"), (4096, 0, "shifted"), (4095, 2, "aligned")):
        task = task_of(traced("sum", F32), Layout((n,), (0,), ((-1,),), ((),)), (last, 0), DEFAULT, 132)
        assert task.geometry.offsets == (1 - n, 0)
        assert choose(task).facts.access == (kind,)


def test_offsets_count_from_where_a_flipped_walk_starts() -> None:
    """Half the rows are below the first element and half above: each half fits 32 bits, the whole does not."""
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


@pytest.mark.parametrize("arch", TARGETS)
def test_a_cluster_reads_what_is_too_long_for_a_cta_where_the_target_has_them(arch: str) -> None:
    def plan(nbytes: int, what: str = "sum", **changes: str) -> Plan:
        return choose(replace(simple(what, (nbytes // 4,), (0,), arch=arch), **changes)).plan

    target = TARGETS[arch]
    for nbytes, within in (
        (CLUSTER_BYTES_FROM, False),
        (CLUSTER_BYTES_FROM + 4, True),
        (CLUSTER_BYTES_TO, True),
        (CLUSTER_BYTES_TO + 4, False),
    ):
        chosen = within and target.has_clusters
        assert plan(nbytes).cluster == (PORTABLE_CLUSTER if chosen else 1)
        alone = 2 * CTA_THREADS // WARP if nbytes == CLUSTER_BYTES_FROM else CTA_THREADS // WARP
        assert plan(nbytes).warps == (CLUSTER_WARPS if chosen else alone)
        assert plan(nbytes, determinism="portable").cluster == 1
        assert plan(nbytes, "affine").cluster == plan(nbytes).cluster


def test_clusters_are_for_results_so_few_that_all_clusters_are_resident() -> None:
    most = DEFAULT.sms // PORTABLE_CLUSTER
    clusters = [choose(simple("sum", (n, CLUSTER_BYTES_TO // 4), (1,))).plan.cluster for n in (1, most, most + 1)]
    assert clusters == [PORTABLE_CLUSTER, PORTABLE_CLUSTER, 1]


@pytest.mark.parametrize("what", ["sum", "var", "powers"])
@pytest.mark.parametrize("n_reduced", [2**20, 2**24, 2**28, 2**31 + 7])
def test_partial_states_fit_the_workspace(what: str, n_reduced: int) -> None:
    """Along either axis, and where the last vector of results is cut."""
    for n_kept in (1, 2, 3, 5, 9, 100, 257, 1000):
        for shape, axis in (((n_kept, n_reduced), 1), ((n_reduced, n_kept), 0)):
            for t in ("f64", "f32"):
                task = simple(what, shape, (axis,), t)
                check_workspace(task, choose(task))


@settings(max_examples=120)
@given(tasks())
def test_reasons_are_words(task: Task) -> None:
    choice = choose(task)
    assert len(choice.reasons) >= 3
    for text in (*choice.reasons, *(w for pair in choice.rejected for w in pair)):
        assert text
        assert not {"inf", "None", "nan"} & set(text.replace(",", " ").split())


@pytest.mark.parametrize(
    ("shape", "strides", "start", "whole"),
    [
        ((MANY,), (1,), 0, True),
        ((MANY,), (2,), 0, False),
        ((MANY,), (1,), 1, False),
        ((3, MANY), (MANY + 2, 1), 0, False),
    ],
)
def test_neighbouring_results_are_stored_in_vectors(
    shape: tuple[int, ...], strides: tuple[int, ...], start: int, whole: bool
) -> None:
    layout = Layout((8, *shape), (0,), (strides_of((8, *shape), range(len(shape) + 1), [1] * 3),), (strides,))
    if len(shape) == 2:
        layout = Layout((3, 8, MANY), (1,), ((8 * MANY, MANY, 1),), (strides,))
    choice = choose(task_of(traced("sum", F32), layout, (0, start), DEFAULT, 132))
    assert (choice.plan.fast, choice.plan.vector, choice.facts.access) == ("kept", 4, ("aligned",))
    assert choice.facts.store_vector == whole


def test_an_order_that_matters_is_kept() -> None:
    task = simple("affine", (2**16,), (0,))
    choice = choose(task)
    assert (choice.plan.walk, choice.plan.meet, choice.plan.vector) == ("blocked", "steps", 4)
    with pytest.raises(
        PlanError, match="WF409: AFFINE is not commutative: walk=interleaved would reorder its elements"
    ):
        choose(task, "walk=interleaved")


KERNELS = {True: 70, False: 110}
"""Of one function and element type, for a thousand arrays of any shape, whether they are plain or of any layout."""


ASKED = (("sum", "f32"), ("max", "bf16"), ("argmax", "f32"), ("var", "f64"), ("sum", "i8"), ("affine", "f32"))


def random_task(source: random.Random, what: str, t: str, ranks: int, plain: bool) -> Task:
    """Typical arrays: sizes from one to a million, any axes; permuted, stepped or cut out."""
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


@covering(
    (("what", "t"), ASKED), (("ranks", "plain"), [(4, True), (6, True), (8, True), (4, False), (6, False), (8, False)])
)
def test_a_thousand_arrays_ask_for_a_bounded_number_of_kernels(what: str, t: str, ranks: int, plain: bool) -> None:
    """The compile key of one program is (plan, facts)."""
    source = random.Random(ranks)
    choices = [choose(random_task(source, what, t, ranks, plain)) for _ in range(1000)]
    keys = {(c.plan, c.facts) for c in choices}
    assert len(keys) <= KERNELS[plain], f"{len(keys)} kernels for 1000 arrays"


@settings(max_examples=120)
@given(tasks())
def test_a_kernel_has_as_many_dims_as_the_array_or_more(task: Task) -> None:
    g, found = task.geometry, choose(task).facts
    padded = g.padded(found.kept_rank, found.reduced_rank)
    assert (len(padded.kept), len(padded.reduced)) == (found.kept_rank, found.reduced_rank)
    assert padded.kept[found.kept_rank - len(g.kept) :] == g.kept
    assert (padded.n_kept, padded.n_reduced, padded.offsets) == (g.n_kept, g.n_reduced, g.offsets)


def test_a_portable_plan_depends_on_the_array_alone() -> None:
    """Device and addresses do not change it; they only change how the same elements are read."""
    source = random.Random(7)
    for _ in range(100):
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


def test_a_portable_plan_has_vectors_where_the_address_allows_none() -> None:
    def portable(start: int, options: str = "", n: int = 4096) -> Choice:
        return choose(replace(simple("sum", (64, n), (1,), "f32", start), determinism="portable"), options)

    assert (portable(0).plan.vector, portable(0).facts.access) == (4, ("aligned",))
    assert (portable(1).plan.vector, portable(1).facts.access) == (4, ("strided",))
    assert portable(1, "vector=2").facts.access == ("strided",)
    assert portable(0, n=4097).plan.vector == portable(1, n=4097).plan.vector == 1


def test_kept_dims_of_a_task_are_sorted() -> None:
    assert simple("sum", (4, 5, 6), (1,)).geometry.kept == (Dim(4, (30, 6)), Dim(6, (1, 1)))


@pytest.mark.filterwarnings("ignore::warpfold.compiler.errors.WarpfoldWarning")
def test_a_combine_that_only_picks_a_value_has_a_plan() -> None:
    last = wf.monoid(identity=0.0, has_identity=False, commutative=False)(lambda a, b: b)  # noqa: ARG005
    assert wf.compile(last, (4096, 300), axis=1).plan.walk == "blocked"
