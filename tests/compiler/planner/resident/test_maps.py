"""Plans of programs without a fold: accesses in flight, lanes across an array, and threads along few columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.plan.plan import Plan


def plan_of(function: Any, *arrays: Any) -> Plan:
    (found,) = wf.program(function)._planned(arrays, {}, "sm_90a").prepared.steps
    return found.prepared.choice.plan


def scaled(x: Any, w: Any) -> Any:
    return x * w


def added(x: Any, y: Any) -> Any:
    return x + y


def zeros(*shape: int, t: str = "f4") -> Any:
    return np.zeros(shape, t)


@pytest.mark.parametrize(("rows", "columns", "first"), [(4, 1 << 22, True), (4, 1 << 16, False), (1, 1 << 22, False)])
def test_rows_that_share_large_weights_follow_each_other_in_the_grid(rows: int, columns: int, first: bool) -> None:
    shapes = ((rows, columns), "f32"), ((columns,), "f32")
    (found,) = wf.program(scaled)._planned(shapes, {}, "sm_90a").prepared.steps
    assert found.prepared.choice.facts.rows_first is first


def test_wide_accesses_are_two_in_flight() -> None:
    plan = plan_of(added, zeros(1 << 16), zeros(1 << 16))
    assert (plan.vector, plan.warps * plan.lanes, plan.held) == (4, 256, 2)


@pytest.mark.parametrize(("t", "held"), [("f8", 2), ("f4", 4), ("f2", 8)])
def test_narrow_accesses_are_more(t: str, held: int) -> None:
    x = zeros(1 << 16, t=t)[::2]
    plan = plan_of(added, x, x)
    assert (plan.vector, plan.held) == (1, held)


@pytest.mark.parametrize(("n", "threads", "held"), [(49, 16, 4), (7, 2, 4), (3, 1, 3)])
def test_narrow_accesses_to_short_rows_have_fewer_threads(n: int, threads: int, held: int) -> None:
    plan = plan_of(scaled, zeros(64, n), zeros(64, 1))
    assert (plan.lanes * plan.warps, plan.held) == (threads, held)


@pytest.mark.parametrize("t", ["f8", "f4", "f2"])
def test_lanes_stand_along_both_axes_where_an_array_lies_across(t: str) -> None:
    plan = plan_of(added, zeros(3, 55, 256, t=t), zeros(3, 256, 55, t=t).mT)
    assert (plan.lanes, plan.warps, plan.vector) == (8, 1, 16 // np.dtype(t).itemsize)
    plan = plan_of(added, zeros(2, 999, 63, t=t), zeros(2, 63, 999, t=t).mT)
    assert (plan.lanes, plan.warps, plan.warps_kept) == (16, 1, 16)


@pytest.mark.parametrize(("t", "vector"), [("f2", 8), ("i1", 16), ("f4", 4), ("f8", 1)])
def test_results_are_written_at_once_where_arrays_begin_anywhere(t: str, vector: int) -> None:
    plan = plan_of(added, zeros(512, 513, t=t)[:, 1:], zeros(512, 513, t=t)[:, :-1])
    assert (plan.vector, plan.held) == (vector, 1 if vector > 1 else 2)


@pytest.mark.parametrize(("t", "tile"), [("f2", True), ("i1", True), ("f4", False)])
def test_narrow_rows_that_are_no_whole_accesses_go_through_a_tile(t: str, tile: bool) -> None:
    x = zeros(1 << 16, 256, t=t)[:, 1:]
    assert bool(plan_of(added, x, x).tile_bytes) == tile


def test_accesses_to_wider_results_are_as_wide_as_memory_allows() -> None:
    plan = plan_of(lambda x: wf.cast(x, "f32"), zeros(1 << 16, t="f2"))
    assert (plan.vector, plan.held) == (4, 2)


@pytest.mark.parametrize("t", ["f8", "f4", "f2"])
def test_rows_backwards_are_read_by_vectors(t: str) -> None:
    x = zeros(64, 1024, t=t)
    assert plan_of(added, x, x[:, ::-1]).vector == 16 // x.itemsize
    assert plan_of(added, x, zeros(64, 1040, t=t)[:, 1023::-1]).vector == 16 // x.itemsize
    assert plan_of(added, x, zeros(64, 1025, t=t)[:, :0:-1]).vector == 1


@pytest.mark.parametrize(
    ("columns", "fast", "beside", "held", "vector"),
    [(64, "kept", 1, 4, 4), (512, "kept", 2, 8, 8), (4104, "reduced", 1, 2, 8)],
)
def test_many_weights_of_narrow_elements_are_read_once_for_several_rows(
    columns: int, fast: str, beside: int, held: int, vector: int
) -> None:
    def normed(x: Any, mean: Any, scale: Any) -> Any:
        return wf.cast((x - mean) * scale, "float16")

    plan = plan_of(normed, zeros(8192, columns, t="f2"), zeros(columns), zeros(columns))
    assert (plan.fast, plan.warps_kept, plan.held, plan.vector) == (fast, beside, held, vector)


@pytest.mark.parametrize(("columns", "fast"), [(10, "kept"), (256, "kept"), (260, "reduced"), (7, "reduced")])
def test_threads_read_few_weights_once(columns: int, fast: str) -> None:
    plan = plan_of(scaled, zeros(4096, columns), zeros(columns))
    assert plan.fast == fast
    assert plan_of(scaled, zeros(columns - 1, columns), zeros(columns)).fast == "reduced"
    assert plan_of(added, zeros(4096, columns), zeros(4096, columns)).fast == "reduced"
