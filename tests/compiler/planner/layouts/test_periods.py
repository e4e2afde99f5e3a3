"""Narrow rows without gaps, which are walked by periods."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tasks import simple, sliced

from warpfold.compiler.dtypes import dtype
from warpfold.compiler.errors import PlanError
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.layouts.gapped_columns import DENSE
from warpfold.compiler.planner.layouts.periods import COLUMNS_OF_WORDS, COLUMNS_WITH_GAPS, LARGEST_WARPS

LONG = 2_000_000
FULL = (("f32", 32), ("f32", 48), ("f32", 64), ("i8", 16))
"""Rows of which whole accesses fill most lanes."""


def has_narrow_gaps(width: int, pitch: int, t: str) -> bool:
    """Whether columns are read with the gaps between rows: if these are not whole accesses that fill the lanes."""
    full = (t, width) in FULL
    return DENSE * pitch <= width and pitch <= COLUMNS_WITH_GAPS[dtype(t).itemsize] and not full


@pytest.mark.parametrize(
    ("t", "width", "warps"),
    [("f32", 2, 16), ("f32", 9, 16), ("f32", 32, 0), ("f32", 33, 16), ("f32", 48, 0), ("f32", 40, 16), ("f32", 64, 0),
     ("f32", 255, 16),
     ("f32", 257, 0), ("i8", 9, 16), ("i8", 16, 0), ("i8", 12, 16), ("i8", 257, LARGEST_WARPS),
     ("u8", COLUMNS_OF_WORDS - 1, LARGEST_WARPS),
     ("i8", COLUMNS_OF_WORDS + 1, 0), ("f16", 8, 16), ("f64", 9, 16), ("f64", 4, 0),
     ("bool", 129, 16)],
)  # fmt: skip
def test_narrow_rows_without_gaps_are_walked_by_periods(t: str, width: int, warps: int) -> None:
    """Except where whole accesses fill all lanes, and where a CTA has too few threads for the columns."""
    plan = choose(simple("max", (LONG, width), (0,), t)).plan
    other = "staggered" if width % 2 else "interleaved"
    assert (plan.walk, plan.warps_kept) == (("period", warps) if warps else (other, 1))
    apart = "staggered" if width > 250 or t == "bool" or (width % 2 and width > 32) else "interleaved"
    pitch = width + 4 - width % 4
    apart = "period" if has_narrow_gaps(width, pitch, t) else apart
    assert choose(sliced("max", (LONG, width), t)).plan.walk == apart
    assert choose(simple("affine", (LONG, width), (0,), "f32")).plan.walk == "blocked"


@pytest.mark.parametrize(
    ("t", "shape", "warps"),
    [("f32", (2000, 300, 7), 2), ("f32", (2000, 1000, 7), 2), ("f32", (6000, 100, 7), 0), ("f64", (2000, 1000, 17), 0),
     ("f32", (2000, 5000, 17), 16), ("bf16", (40, 10_000, 33), 16), ("bf16", (2000, 300, 33), 2),
     ("i8", (2000, 1000, 33), 4)],
)  # fmt: skip
def test_each_cta_walks_at_least_a_few_periods(t: str, shape: tuple[int, ...], warps: int) -> None:
    """In a middle axis each outer index has its own CTAs, so short ones get few warps or the ordinary plan.

    So do rows whose single elements fill sectors. The machine is too large for copies of the elements.
    """
    choice = choose(replace(simple("sum", shape, (1,), t), sms=200))
    assert choice.plan.tile_bytes == 0
    assert (choice.plan.walk == "period", choice.plan.warps_kept) == (warps > 0, warps or choice.plan.warps_kept)
    assert choice.run.split == (1 if shape[0] > 40 else 6)


def test_a_small_array_has_the_ordinary_walk() -> None:
    assert choose(simple("sum", (28_000, 9), (0,))).plan.walk == "interleaved"
    assert choose(simple("sum", (30_000, 9), (0,))).plan.walk == "period"


@pytest.mark.parametrize(
    "options", ["fast=reduced", "lanes=4", "warps=2", "finish=two_kernels", "walk=interleaved", "simple"]
)
def test_options_that_periods_lack_get_the_ordinary_plan(options: str) -> None:
    task = simple("sum", (LONG, 9), (0,))
    assert choose(task).plan.walk == "period"
    assert choose(task, options).plan.walk == "interleaved"
    assert choose(task, options).plan == choose(sliced("sum", (LONG, 9)), options).plan


def test_periods_on_request_have_all_they_need() -> None:
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
    with pytest.raises(PlanError, match="WF421"):
        choose(task, "walk=period,vector=8")
    with pytest.raises(PlanError, match="WF409: AFFINE is not commutative: walk=period would reorder"):
        choose(simple("affine", (1000, 9), (0,)), "walk=period")
