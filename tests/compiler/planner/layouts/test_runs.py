"""Rows of several reduced dims: which are read run by run, by how many threads, and which requests are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from layouts import Layout
from ownership import Thread, runs_of
from tasks import simple, task_of, traced

from warpfold.compiler.dtypes import dtype
from warpfold.compiler.errors import PlanError
from warpfold.compiler.plan.launch import Launch, pieces
from warpfold.compiler.plan.modes import PIECE
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.layouts import runs
from warpfold.compiler.planner.task import Task
from warpfold.compiler.target import DEFAULT


def cropped(what: str, count: int, side: int, t: str, edge: int = 1) -> Task:
    """Images of these rows and columns, cut out of images that are larger by ``edge`` on each side."""
    pitch = side + 2 * edge
    layout = Layout((count, side, side), (1, 2), ((pitch * pitch, pitch, 1),), ((1,),))
    return task_of(traced(what, dtype(t)), layout, (edge * pitch + edge, 0), DEFAULT, DEFAULT.sms)


@pytest.mark.parametrize(
    ("t", "side", "plan"),
    [("i8", 13, None), ("i8", 16, (8, 1, 1)), ("i8", 40, (8, 2, 1)), ("i8", 70, (8, 2, 2)), ("i8", 121, (16, 2, 4)),
     ("i8", 150, (8, 1, 4)), ("i8", 300, (8, 2, 4)), ("i8", 301, (8, 2, 8)), ("i8", 513, (8, 2, 8)),
     ("i8", 777, (8, 2, 16)), ("i8", 1201, (8, 2, 8)),
     ("i8", 2000, (8, 2, 16)), ("i8", 5001, (16, 1, 32)), ("i8", 8200, (16, 1, 32)), ("i8", 17_000, (16, 1, 32)),
     ("i8", 20_001, (16, 2, 32)),
     ("bool", 300, (8, 2, 4)), ("bool", 500, (8, 4, 4)), ("bool", 2001, (8, 4, 8)), ("bool", 5001, (16, 2, 8)),
     ("bool", 12_001, (16, 2, 16)), ("bool", 21_001, (16, 4, 32)),
     ("bf16", 149, None), ("bf16", 151, (8, 4, 4)), ("bf16", 1001, (8, 4, 8)), ("bf16", 5001, (8, 4, 32)),
     ("f32", 1001, None), ("f64", 1001, None)],
)  # fmt: skip
def test_runs_of_narrow_elements_that_begin_anywhere_are_read_as_rows(t: str, side: int, plan: object) -> None:
    """Unless they are so short that masks at their ends cost more than single elements."""
    choice = choose(cropped("any" if t == "bool" else "sum", 5_000_000 // side**2 + 9, side, t))
    found = choice.plan
    if plan is None:
        assert (found.walk, found.vector) == ("interleaved", 1)
        return
    assert (found.walk, found.fast, found.warps, found.warps_kept) == ("runs", "reduced", 8, 1)
    assert (found.vector, found.unroll, found.lanes) == plan
    assert choice.facts.access == ("shifted",)
    assert choice.run.length == (side if side < 16384 else -(-side // 2 // 512) * 512)
    assert choice.facts.pieces == (side > 16384)


def test_a_warp_reads_results_of_its_own_where_they_are_many_or_have_few_runs() -> None:
    many = runs.WARPS_PER_SM * 132 * 32 // 16
    sizes = [(7, 1000), (8, 1000), (8, many - 1), (8, many)]
    plans = [choose(simple("sum", (n, results, 777), (0, 2), "i8")).plan for n, results in sizes]
    assert [(p.walk, p.warps) for p in plans] == [("runs", 1), ("runs", 8), ("runs", 8), ("runs", 1)]
    assert {p.threads for p in plans} == {256}


@pytest.mark.parametrize(
    ("count", "length", "reading"),
    [(3, 777, (8, 2, 16)), (12, 1099, (8, 2, 16)), (3, 339, (8, 4, 4)), (14, 777, (8, 4, 8)), (3, 1101, (8, 4, 8))],
)
def test_few_runs_of_pairs_are_read_by_sixteen_lanes(count: int, length: int, reading: tuple[int, int, int]) -> None:
    plan = choose(simple("sum", (count, 60_000_000 // count // length, length), (0, 2), "bf16")).plan
    assert (plan.walk, plan.vector, plan.unroll, plan.lanes) == ("runs", *reading)


def test_runs_that_aligned_vectors_read_are_read_by_all_threads_at_once() -> None:
    choice = choose(simple("sum", (64, 60_000, 768), (0, 2), "i8"))
    assert (choice.plan.walk, choice.facts.access, choice.facts.reduced_rank) == ("interleaved", ("aligned",), 2)


@pytest.mark.parametrize(("count", "threads"), [(20_000, 32), (3000, 128), (100, 256)])
def test_other_runs_get_threads_by_their_bytes_and_number(count: int, threads: int) -> None:
    assert choose(cropped("sum", count, 60, "f32")).plan.positions == threads
    assert choose(cropped("sum", count * 100, 20, "f32")).plan.positions == 8


def test_small_arrays_and_ordered_combines_are_not_walked_by_runs() -> None:
    assert choose(cropped("affine", 3000, 200, "f32")).plan.walk == "blocked"
    assert choose(cropped("sum", 3, 200, "i8")).plan.walk == "interleaved"
    portable = choose(replace(cropped("sum", 3000, 200, "i8"), determinism="portable"))
    assert (portable.plan.walk, portable.facts.access) == ("interleaved", ("strided",))


def test_runs_on_request_have_all_they_need() -> None:
    task = cropped("sum", 3000, 200, "f32")
    choice = choose(task, "walk=runs")
    assert choice.plan == Plan("reduced", "runs", 4, 2, 16, 8, 1)
    assert "asked for: walk=runs" in "\n".join(choice.reasons)
    assert choose(task, "walk=runs,lanes=4,warps=2,vector=1").facts.access == ("strided",)
    assert choose(cropped("sum", 40, 1000, "f32"), "walk=runs").plan.finish == "last_block"
    with pytest.raises(
        PlanError, match=r"(?s)WF416: walk=runs does not fit .*several reduced dims.*help: use walk=interleaved$"
    ):
        choose(simple("sum", (3000, 40_000), (1,)), "walk=runs")
    assert choose(cropped("sum", 3, 200, "f32"), "walk=runs").plan.walk == "runs"
    with pytest.raises(PlanError, match=r"(?s)WF415: .*set fast=reduced"):
        choose(task, "walk=runs,fast=kept")
    with pytest.raises(PlanError, match="WF421"):
        choose(task, "walk=runs,vector=8")
    with pytest.raises(PlanError, match="WF409: AFFINE is not commutative: walk=runs would reorder"):
        choose(cropped("affine", 3000, 200, "f32"), "walk=runs")


@pytest.mark.parametrize("asked", ["lanes=32", "warps=4,warps_kept=2", "unroll=1", "finish=last_block,coarsening=4"])
def test_other_options_keep_the_walk_by_runs(asked: str) -> None:
    found = choose(cropped("sum", 3000, 200, "i8"), asked).plan
    assert found.walk == "runs"
    assert found == found.with_options(asked)


@pytest.mark.parametrize("options", ["fast=kept", "walk=interleaved", "simple", "cta=serial", "finish=two_kernels"])
def test_options_that_runs_lack_get_the_ordinary_plan(options: str) -> None:
    assert choose(cropped("sum", 3000, 200, "i8"), options).plan.walk == "interleaved"


def test_one_warp_of_one_cta_reads_each_run() -> None:
    plan = Plan("reduced", "runs", warps=4, warps_kept=2, lanes=8)
    for count in (1, 3, 4, 17, 100):
        for chunk in (4, 12):
            places = [Thread(0, part, 32 * warp) for part in range(-(-count // chunk)) for warp in range(8)]
            found = sorted(i for place in places for i in runs_of(plan, Launch(1, 1, chunk), place, count))
            assert found == sorted([*range(count)] * 2), (count, chunk)  # both halves of the warps: other results


@pytest.mark.parametrize("vector", [1, 4, 16])
def test_the_pieces_of_a_run_follow_each_other_and_all_but_the_last_are_equal(vector: int) -> None:
    plan, step = Plan("reduced", "runs", vector=vector), 32 * vector
    for length in (1, step * PIECE - 1, step * PIECE, step * PIECE + 1, 3 * step * PIECE, 5 * step * PIECE + 7):
        count, each = pieces(plan, length)
        assert each <= step * PIECE
        assert (count - 1) * each < length <= count * each
        assert count == 1 or each % step == 0
    for other in (replace(plan, lanes=16), replace(plan, walk="interleaved")):
        assert pieces(other, 1 << 20) == (1, 1 << 20)


def test_few_long_runs_are_shared_by_many_ctas() -> None:
    """Three results of four runs of two million bytes give every SM something to read."""
    choice = choose(simple("sum", (4, 3, 1_864_135), (0, 2), "i8"))
    assert (choice.plan.walk, choice.plan.lanes, choice.facts.pieces) == ("runs", 32, True)
    assert choice.run.tiles * choice.run.split > 132
    words = f"8 warp(s) of a CTA take the runs of a result in turn, cut into pieces of {choice.run.length}"
    assert words in choice.reasons


def test_rows_have_no_runs() -> None:
    assert runs.as_rows(simple("sum", (300, 40), (1,)).geometry) is None
    found = runs.as_rows(cropped("sum", 30, 40, "f32").geometry)
    assert found is not None
    assert ([d.size for d in found.kept], [d.size for d in found.reduced]) == ([30, 40], [40])
