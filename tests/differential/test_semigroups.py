"""Monoids without identity: no plan, layout, mask, segment or initial value shows an element that is not there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import grid_numpy
import numpy as np
import pytest
from hypothesis import strategies as st

import warpfold as wf
from warpfold.commands.bench.grid.cells import Cell
from warpfold.compiler.dtypes import I32
from warpfold.compiler.errors import PlanError
from warpfold.compiler.plan.ladder import RUNGS

from .budget import search
from .case import Case
from .layouts import axes, broadcastable, layouts, shapes
from .reference import rows
from .semigroups import WITNESSES, Witness, expected

PLANS = (
    *(r.name for r in RUNGS),
    "walk=blocked", "vector=1", "vector=2,unroll=4", "warps=1,lanes=8", "warps=4", "fast=kept", "fast=kept,warps=2",
    "fast=reduced", "cluster=2", "cluster=8,warps=2", "coarsening=1,finish=last_block",
    "coarsening=2,finish=two_kernels", "cluster=2,coarsening=1,finish=last_block", "tile_bytes=16384", "walk=period",
    "walk=whole", "walk=runs",
    "walk=staggered", "walk=padded", "fast=both", "cta=unrolled,warps=8", "cta=sequential,exchange=global",
)  # fmt: skip
"""Plans of every kind; one that does not fit a layout is refused, and another drawn."""
COUNT = 9
GRID = 50
"""Layouts of the grid that are tried without a GPU; with one, all are."""


@st.composite
def cases(draw: st.DrawFn, name: str) -> Case:
    shape = draw(shapes(most=4100))
    layout = draw(layouts("i32", shape))
    begin = WITNESSES[name].begin
    initial = begin is not None and draw(st.booleans())
    mask = draw(layouts("bool", draw(broadcastable(shape)))) if initial and draw(st.booleans()) else None
    arguments = (("plan", draw(st.sampled_from((None, *PLANS)))), ("initial", initial))
    return Case(name, (layout,), draw(axes(len(shape))), "odd", draw(st.integers(0, 2**20)), arguments, mask)


@pytest.mark.parametrize("name", WITNESSES)
def test_any_plan_and_layout_gives_what_the_elements_alone_do(name: str, device: str) -> None:
    search(f"semigroup {name}", cases(name), COUNT, lambda case: _check(case, WITNESSES[name], device))


def _check(case: Case, witness: Witness, device: str) -> None:
    x = case.arrays[0].array(case.elements, case.seed)
    mask = case.mask.array("whole", case.seed + 9) if case.mask else None
    arguments = dict(case.arguments)
    flat = rows([x], mask, case.axes)
    how = {"axis": case.axis, "device": device, "plan": arguments["plan"]}
    if arguments["initial"]:
        how |= {"initial": witness.begin[0], "where": mask}  # type: ignore[index]
    elif flat.mask.shape[1] == 0 and flat.mask.shape[0]:
        with pytest.raises(wf.WarpfoldError, match="WF104"):
            wf.reduce(x, witness.what, **how)
        return
    try:
        got = wf.reduce(x, witness.what, **how)
    except PlanError:
        got = wf.reduce(x, witness.what, **how | {"plan": None})
    _compare(got, expected(witness, flat.x.astype(np.int32), flat.mask, arguments["initial"]), case)


def _compare(got: Any, wanted: list[Any], case: Any) -> None:
    found = list(got) if isinstance(got, tuple) else [got]
    if wanted:
        assert len(found) == len(wanted)
    for g, w in zip(found, wanted, strict=False):
        assert np.array_equal(np.asarray(g).reshape(-1), w), f"{g} is not {w} for {case}"


# --- layouts of the grid, the ladder's plans ---
def _grid(*, whole: bool) -> list[Cell]:
    clones = [c for c in grid_numpy.clones() if c.dtype.name == "f32"]
    return clones if whole else clones[:: max(1, len(clones) // GRID)]


def _of_cell(cell: Cell, device: str) -> None:
    """One witness that keeps the order, and one that does not, on one layout."""
    low, high = cell.span
    memory = -2 * (np.arange(high + 1 + abs(min(low, 0)), dtype=np.int32) % 101) - 1
    x = grid_numpy.elements(memory, replace(cell, dtype=I32))
    flat = rows([x], None, cell.axes)
    for name in ("ends", "greatest"):
        witness = WITNESSES[name]
        got = wf.reduce(x, witness.what, axis=cell.axes, device=device)
        _compare(got, expected(witness, flat.x.astype(np.int32), flat.mask, False), cell)


def test_layouts_of_the_grid(device: str) -> None:
    for cell in _grid(whole=device == "cuda"):
        _of_cell(cell, device)


@pytest.mark.parametrize("rung", RUNGS, ids=lambda r: r.name)
def test_every_rung_of_the_ladder(rung: Any, device: str) -> None:
    for n in (1, 31, 33, 1025, 5000):
        x = -2 * (np.arange(n, dtype=np.int32) % 997) - 1
        for name in ("last", "tripled"):
            witness = WITNESSES[name]
            plan = rung.name if witness.what.commutative or rung.name == "default" else f"{rung.name},walk=blocked"
            try:
                got = wf.reduce(x, witness.what, plan=plan, device=device)
            except PlanError as refused:
                if refused.code != "WF408":  # no atomic combines two values
                    raise
                continue
            _compare(got, expected(witness, x[None], np.ones((1, n), bool), False), (rung.name, name, n))


# --- what leaves elements out ---
def test_segments_one_of_them_long(device: str) -> None:
    x = -2 * np.arange(5000, dtype=np.int32) - 1
    offsets = np.array([0, 1, 2, 34, 40, 4700, 5000])
    low, high = wf.segment_reduce(x, offsets, WITNESSES["ends"].what, device=device)
    assert np.array_equal(low, x[offsets[:-1]])
    assert np.array_equal(high, x[offsets[1:] - 1])


def test_numbers_that_are_ignored(device: str) -> None:
    x = -np.arange(1, 1201, dtype=np.float32).reshape(3, 400)
    x[0, 1::2], x[1, 100:], x[2] = np.nan, np.nan, np.nan
    found = wf.reduce(x, WITNESSES["last"].what, axis=1, nan="ignore", device=device)
    assert np.array_equal(found, np.array([x[0, 398], x[1, 99], np.nan], np.float32), equal_nan=True)
    with pytest.raises(wf.WarpfoldError, match="WF133: last has no identity"):
        wf.reduce(x, WITNESSES["last"].what, axis=1, where=x > 0, device=device)


def test_repeated_elements(device: str) -> None:
    x = np.broadcast_to(np.int32([-3, -5])[:, None], (2, 1000))
    assert np.array_equal(wf.reduce(x, WITNESSES["greatest"].what, axis=1, device=device), [-3, -5])
    assert wf.reduce(x, WITNESSES["last"].what, device=device) == -5
    wanted = expected(WITNESSES["tripled"], np.ascontiguousarray(x), np.ones(x.shape, bool), False)
    assert np.array_equal(wf.reduce(x, WITNESSES["tripled"].what, axis=1, device=device), wanted[0])
