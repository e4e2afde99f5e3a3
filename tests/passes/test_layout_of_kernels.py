"""Each thread of a compiled kernel reads and writes on the emulator what the plan's layout gives it."""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from typing import Any

import numpy as np
import pytest
from covering import some

import warpfold as wf
from warpfold.compiler.plan.arithmetic import INTEGERS
from warpfold.compiler.plan.layout import layout_of
from warpfold.compiler.plan.modes import Layout
from warpfold.compiler.target import WARP
from warpfold.runtime.backends.emulator_backend import emulator
from warpfold.runtime.emulator import Tool
from warpfold.runtime.programs.reductions import prepared

Touched = dict[tuple[int, int, int], set[int]]


class Watcher(Tool):
    """For each thread (CTA along x, along y, number), the elements of an array that it accesses in the first launch."""

    def __init__(self, array: str, item: int, tiles: int) -> None:
        self.array, self.item, self.tiles = array, item, tiles
        self.found: Touched = defaultdict(set)
        self.launches = 0

    def launch(self, launch: Any) -> None:  # noqa: ARG002
        self.launches += 1

    def touch(self, touch: Any) -> None:
        home = touch.pieces[0].home
        if self.launches > 1 or home is None or home.name != self.array:
            return
        addresses = np.broadcast_to(touch.addresses + touch.access.offset, touch.threads.shape) - home.address
        for number, at in zip(touch.threads.tolist(), addresses.tolist(), strict=True):
            cta, thread = touch.machine.first + number // touch.lanes.per_cta, number % touch.lanes.per_cta
            elements = range(at // self.item, (at + touch.access.size) // self.item)
            self.found[cta % self.tiles, cta // self.tiles, thread].update(elements)


def touched(x: np.ndarray, axis: Any, plan: str, array: str = "input 0") -> tuple[Any, Touched]:
    """The choice for a sum, and the elements that each thread accesses."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    choice = prepared([x], "sum", axes, plan=plan, device="emulator")[1].steps[0].prepared.choice
    watcher, machine = Watcher(array, x.itemsize, choice.run.tiles), emulator()
    machine.tool = watcher
    try:
        wf.sum(x, axis=axis, plan=plan)
    finally:
        machine.tool = None
    return choice, {thread: elements for thread, elements in watcher.found.items() if elements}


def threads_of(choice: Any) -> Any:
    return product(range(choice.run.tiles), range(choice.run.split), range(choice.plan.threads))


def numbers(layout: Layout, thread: tuple[int, int, int], cluster: int = 1) -> dict[Any, int]:
    """The number of a thread at each level."""
    tile, part, own = thread
    found = {"lane": own % WARP, "warp": own // WARP, "cluster": part % cluster, "grid_y": part // cluster}
    found |= {"grid_x": tile}
    return {level: n for level, n in found.items() if any(m.level == level for m in layout.modes)}


@pytest.mark.parametrize(
    "plan",
    some(["fast=reduced,vector=4,lanes=8,warps=2", "fast=reduced,vector=1,lanes=32,warps=4,warps_kept=2",
     "fast=reduced,walk=blocked,vector=1,lanes=16,warps=2", "fast=kept,vector=4,lanes=8,warps=2",
     "fast=reduced,walk=blocked,meet=steps,vector=2,lanes=2,warps=2",
     "fast=kept,vector=1,lanes=4,warps=4", "fast=kept,walk=blocked,vector=4,lanes=1,warps=4",
     "fast=reduced,vector=4,lanes=32,warps=2,finish=two_kernels,coarsening=1",
     "fast=kept,vector=2,lanes=2,warps=2,finish=last_block,coarsening=2"], 4),
)  # fmt: skip
def test_threads_read_what_the_layout_gives_them(plan: str) -> None:
    """Vectors fit rows and columns; with one access in flight, threads read only the elements that they reduce."""
    along_rows = "fast=reduced" in plan
    x = np.ones((16, 1032) if along_rows else (520, 96), np.float32)
    choice, found = touched(x, 1 if along_rows else 0, f"{plan},unroll=1")
    p, run, layout = choice.plan, choice.run, layout_of(choice.plan)
    n_kept, n_reduced = (16, 1032) if along_rows else (96, 520)
    each = layout.piece(run.chunk, INTEGERS) if layout.ordered else run.chunk
    expected: Touched = defaultdict(set)
    for thread in threads_of(choice):
        limit = min((thread[1] + 1) * run.chunk, n_reduced)
        for step in range(-(-each // layout.step)):
            at = layout.place(numbers(layout, thread) | {"step": step}, INTEGERS, {"chunk": run.chunk, "piece": each})
            for j in range(p.vector):
                kept, reduced = at["kept"] + j * (not along_rows), at["reduced"] + j * along_rows
                if kept < n_kept and reduced < limit:
                    expected[thread].add(kept * n_reduced + reduced if along_rows else reduced * n_kept + kept)
    assert found == expected


def test_warps_read_the_pieces_of_runs_that_the_layout_gives_them() -> None:
    """Images of 5 by 33 elements, cut out of wider ones: a warp reads one row of an image after another."""
    whole = np.ones((9, 5, 40), np.float32)
    choice, found = touched(whole[:, :, :33], (1, 2), "walk=runs,vector=1,lanes=8,warps=2,unroll=1")
    p, run, layout = choice.plan, choice.run, layout_of(choice.plan)
    expected: Touched = defaultdict(set)
    for thread, turn, step in ((t, n, s) for t in threads_of(choice) for n in range(3) for s in range(5)):
        at = layout.place(numbers(layout, thread) | {"turn": turn, "step": step}, INTEGERS, {"chunk": run.chunk})
        if at["kept"] < 9 and at["piece"] < 5 and at["reduced"] < 33:
            expected[thread].add(at["kept"] * 200 + at["piece"] * 40 + at["reduced"])
    assert p.walk == "runs"
    assert found == expected


def test_threads_read_the_periods_that_the_layout_gives_them() -> None:
    x = np.ones((1000, 12), np.float32)
    choice, found = touched(x, 0, "walk=period,vector=4,unroll=1,warps_kept=2,finish=cta")
    p, run, layout = choice.plan, choice.run, layout_of(choice.plan)
    period, expected = run.rows * 12, defaultdict(set)
    sizes: Any = {"period": period, "chunk": run.chunk * 12, "columns": 12}
    for thread in threads_of(choice):
        if layout.place(numbers(layout, thread), INTEGERS, sizes)["flat"] < period:
            for step in range(-(-12_000 // period)):
                at = layout.place(numbers(layout, thread) | {"step": step}, INTEGERS, sizes)["flat"]
                expected[thread].update(range(at, min(at + p.vector, 12_000)))
    assert p.walk == "period"
    assert found == {thread: elements for thread, elements in expected.items() if elements}


def test_threads_write_the_padded_rows_that_the_layout_gives_them() -> None:
    """Rows of 37 results begin anywhere; a thread owns up to four results from a boundary on."""
    x = np.ones((6, 3, 37), np.float32)
    choice, found = touched(x, 1, "walk=padded,vector=4,warps_kept=1", "result 0")
    p, layout = choice.plan, layout_of(choice.plan)
    expected: Touched = defaultdict(set)
    for thread in threads_of(choice):
        kept = layout.place(numbers(layout, thread), INTEGERS, {"chunk": 0})["kept"]
        row, at = divmod(kept, layout.rows.places(37, INTEGERS))
        begin = at - row * 37 % p.vector
        if row < 6:
            expected[thread].update(range(row * 37 + max(0, begin), row * 37 + min(begin + p.vector, 37)))
    assert p.walk == "padded"
    assert found == {thread: elements for thread, elements in expected.items() if elements}


def test_staggered_warps_read_the_rows_and_columns_that_the_layout_gives_them() -> None:
    """Each warp reads whole rows, and each thread only columns from a vector before its own on."""
    x = np.ones((64, 301), np.float32)
    choice, found = touched(x, 0, "walk=staggered,vector=4,warps=4,unroll=1,finish=cta")
    p, run, layout = choice.plan, choice.run, layout_of(choice.plan)
    pitch = layout.pitch(301, run.tiles, INTEGERS)
    assert p.walk == "staggered"
    for thread, elements in found.items():
        at = layout.place(numbers(layout, thread), INTEGERS, {"pitch": pitch, "chunk": run.chunk})
        lead = (at["kept"] + at["reduced"] * 301) % p.vector
        first = at["kept"] - lead
        wanted = {r * 301 + first + j for r in range(at["reduced"], 64, layout.step) for j in range(p.vector)}
        within = thread[0] * pitch <= first and at["kept"] + p.vector <= min(301, (thread[0] + 1) * pitch)
        assert elements == wanted if within else elements <= wanted
    assert set().union(*found.values()) == set(range(x.size))


def test_threads_read_all_elements_of_the_results_that_the_layout_gives_them() -> None:
    """Threads beyond the last result read elements that they do not reduce."""
    choice, found = touched(np.ones((600, 6), np.float32), 1, "walk=whole,vector=4,warps_kept=2")
    p, layout = choice.plan, layout_of(choice.plan)
    expected: Touched = {}
    for thread in threads_of(choice):
        kept = layout.place(numbers(layout, thread), INTEGERS, {"chunk": 0})["kept"]
        expected[thread] = set(range(kept * 6, min(kept + p.vector, 600) * 6))
    assert p.walk == "whole"
    assert {t: found[t] for t, elements in expected.items() if elements} == {t: e for t, e in expected.items() if e}
