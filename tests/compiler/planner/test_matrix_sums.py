"""Which plans may sum by the tensor cores, and what is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from tasks import simple

from warpfold.compiler.errors import PlanError
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.plan.rounds import second_plan
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.target import TARGETS


@pytest.mark.parametrize("t", ["f16", "bf16", "i8", "u8", "bool"])
@pytest.mark.parametrize("what", ["sum", "mean"])
def test_sums_of_narrow_elements_are_served(what: str, t: str) -> None:
    if what == "mean" and t not in ("f16", "bf16"):
        return
    found = choose(simple(what, (4096, 64), (1,), t), "meet=mma,lanes=4").plan
    assert (found.meet, found.lanes_summed, second_plan(found).meet) == ("mma", 4, "")
    assert choose(simple(what, (4096, 64), (1,), t)).plan.meet == ""


@pytest.mark.parametrize(("lanes", "summed"), [(1, 1), (2, 2), (4, 4), (32, 4)])
def test_a_quad_of_lanes_is_summed_at_most(lanes: int, summed: int) -> None:
    assert Plan(lanes=lanes, meet="mma").lanes_summed == summed
    assert Plan(lanes=lanes, meet="shuffle").lanes_summed == Plan(lanes=lanes).lanes_summed == 1


ROWS: tuple[Any, ...] = ((4096, 64), (1,), "bf16")


@pytest.mark.parametrize(
    ("what", "of", "options", "changes", "text"),
    [
        (
            "max",
            ROWS,
            "",
            {},
            "WF433: meet=mma is for sums of f16 and bf16 as f32, and sums and counts of bytes: max",
        ),
        ("sum", ((4096, 64), (1,), "f32"), "", {}, "WF433: .*: sum is another reduction"),
        ("argmax", ROWS, "", {}, "WF433: .*: argmax is another reduction"),
        ("norm", ROWS, "", {}, "WF433: .*: norm is another reduction"),
        ("sum", ROWS, "", {"target": TARGETS["sm_75"]}, "WF434: meet=mma: sm_75 has no such instruction"),
        (
            "sum",
            ROWS,
            "",
            {"determinism": "portable"},
            "WF435: meet=mma rounds sums as the tensor cores of a device do",
        ),
        ("sum", ROWS, ",lanes=2", {}, "WF436: .*: lanes=2, expected 4 or more, which share a row of bf16"),
        ("sum", ROWS, ",lanes=32,vector=1", {}, "WF436: .*: vector=1, expected 2 or more, which fill a word"),
        ("sum", ROWS, ",cta=serial", {}, "WF436: .*: cta=serial, expected shuffle"),
        ("sum", ((64, 4096), (0,), "bf16"), "", {}, "WF436: .*: fast=kept, expected reduced"),
        ("sum", ROWS, ",walk=blocked", {}, "WF436: .*: walk=blocked, expected interleaved"),
        ("sum", ((4096, 33), (1,), "bf16"), ",tile_bytes=8192", {}, "WF436: .*: tile_bytes=8192, expected 0"),
    ],
)
def test_other_sums_are_refused(what: str, of: Any, options: str, changes: dict[str, Any], text: str) -> None:
    with pytest.raises(PlanError, match=text):
        choose(replace(simple(what, *of), **changes), f"meet=mma{options}")


def test_a_meeting_has_a_name() -> None:
    expected = re.escape("WF403: plan field meet cannot be 'tensor': expected one of shuffle steps mma")
    with pytest.raises(PlanError, match=expected):
        choose(simple("sum", *ROWS), "meet=tensor")
