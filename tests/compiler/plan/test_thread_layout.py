"""The layout of a plan: its modes give every element to one thread, and say which stages join threads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ownership import plans

from warpfold.compiler.plan.arithmetic import INTEGERS
from warpfold.compiler.plan.launch import launch, pieces
from warpfold.compiler.plan.layout import layout_of
from warpfold.compiler.plan.modes import Layout, Level, Mode
from warpfold.compiler.plan.plan import Plan


def everything(layout: Layout, unknown: dict[Any, int], sizes: dict[Any, int]) -> dict[Any, np.ndarray]:
    """The places of all numbers of all levels; modes of unknown extent have those of ``unknown``."""
    extents: dict[Level, int] = {}
    for m in layout.modes:
        extents[m.level] = extents.get(m.level, 1) * (m.extent or unknown[m.level, m.axis])
    grid = np.meshgrid(*(np.arange(n) for n in extents.values()), indexing="ij")
    return layout.place(dict(zip(extents, grid, strict=True)), INTEGERS, sizes)


def assert_covers(found: dict[Any, np.ndarray], shape: dict[Any, int]) -> None:
    """Every element of a box has one place."""
    flat = np.ravel_multi_index([found[axis].ravel() for axis in shape], tuple(shape.values()))
    assert np.array_equal(np.sort(flat), np.arange(math.prod(shape.values())))


@settings(max_examples=150)
@given(plans(most_threads=256), st.integers(1, 300), st.integers(1, 3))
def test_every_element_of_all_chunks_has_one_place(plan: Plan, n: int, split: int) -> None:
    run, layout = launch(plan, 1, n, split), layout_of(plan)
    each = run.chunk // (plan.positions * plan.vector_reduced)
    piece = layout.piece(run.chunk, INTEGERS) if layout.ordered else 0
    unknown = {("step", "reduced"): each, ("grid_y", "reduced"): run.split // plan.cluster, ("grid_x", "kept"): 2}
    unknown["turn", "kept"] = 3
    sizes = {"chunk": run.chunk, "piece": piece, "results": 3 * plan.slots}
    turns = 3 if plan.tile_bytes else 1
    found = everything(layout, unknown, sizes)
    assert_covers(found, {"reduced": run.chunk * run.split, "kept": 2 * turns * plan.slots})


@pytest.mark.parametrize(("lanes", "warps", "warps_kept", "vector"), [(4, 2, 2, 4), (32, 4, 1, 1), (1, 1, 8, 2)])
def test_every_element_of_all_runs_has_one_place(lanes: int, warps: int, warps_kept: int, vector: int) -> None:
    plan = Plan("reduced", "runs", vector=vector, lanes=lanes, warps=warps, warps_kept=warps_kept)
    unknown = {("step", "reduced"): 3, ("turn", "piece"): 2, ("grid_y", "piece"): 2, ("grid_x", "kept"): 2}
    found = everything(layout_of(plan), unknown, {"chunk": 2 * warps})
    assert_covers(found, {"reduced": 3 * lanes * vector, "piece": 4 * warps, "kept": 2 * plan.slots})
    assert pieces(plan, 10) == (1, 10)


def test_every_element_of_a_period_has_one_place() -> None:
    """Three rows of 24 columns are 18 accesses of four elements."""
    layout = layout_of(Plan("kept", "period", 4, lanes=1, warps_kept=2))
    for thread in range(18):
        at = layout.place(
            {"lane": thread % 32, "warp": thread // 32, "step": 2, "grid_y": 1, "grid_x": 5},
            INTEGERS,
            {"period": 72, "chunk": 720, "columns": 24},
        )
        assert at == {"flat": 720 + 2 * 72 + 4 * thread, "kept": 120}


def test_the_example_of_the_docstring() -> None:
    layout = layout_of(Plan(vector=4, lanes=8))
    assert layout.modes[:4] == (
        Mode("vector", 4, "reduced", 1), Mode("lane", 8, "reduced", 4), Mode("lane", 4, "kept", 1),
        Mode("warp", 1, "reduced", 32),
    )  # fmt: skip
    assert layout.place({"lane": 13, "step": 2}, INTEGERS) == {"reduced": 84, "kept": 1}
    assert (layout.shared("lane"), layout.distance("lane", "reduced")) == (8, 1)


@settings(max_examples=150)
@given(plans())
def test_numbers_that_share_results_are_one_distance_apart(plan: Plan) -> None:
    layout = layout_of(plan)
    assert layout.ordered == (plan.walk == "blocked")
    shared: dict[Level, int] = {"vector": plan.vector_reduced, "lane": plan.lanes, "warp": plan.warps}
    assert all(layout.shared(level) == extent for level, extent in shared.items())
    lanes = {lane: layout.place({"lane": lane}, INTEGERS, {"piece": 9})["kept"] for lane in range(32)}
    apart, first = layout.distance("lane", "reduced"), [lane for lane, kept in lanes.items() if kept == 0]
    assert first == [k * apart for k in range(plan.lanes)]


def test_positions_number_the_threads_that_share_results() -> None:
    """Also where warps are along the pieces of runs, and lanes are along a run."""
    for plan in (Plan(lanes=8, warps=4, warps_kept=2), Plan("kept", lanes=8, warps=4), Plan(walk="runs", warps=4)):
        layout, found = layout_of(plan), set()
        for thread in range(plan.threads):
            digits = layout.digits({"lane": thread % 32, "warp": thread // 32}, INTEGERS)
            found.add((layout.position(digits, INTEGERS), layout.offset("kept", digits, INTEGERS)))
        assert found == {(p, k) for p in range(plan.positions) for k in range(plan.slots)}


def test_a_level_without_a_digit_along_an_axis_has_no_distance_there() -> None:
    layout = layout_of(Plan())
    with pytest.raises(KeyError):
        layout.distance("lane", "flat")
    with pytest.raises(KeyError):
        layout.mode("turn", "kept")
