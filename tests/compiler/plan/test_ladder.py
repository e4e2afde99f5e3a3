"""The named plans: each can be served, and its name is accepted wherever options are."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tasks import simple

from warpfold.compiler.errors import PlanError
from warpfold.compiler.plan.checks import check
from warpfold.compiler.plan.ladder import MASK_RUNGS, PROGRAM_RUNGS, RUNGS, Rung, expand
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.target import TARGETS

PINNED = [rung for rung in RUNGS if rung.options]


def test_the_rungs_are_those_of_the_two_sources() -> None:
    assert [rung.name for rung in RUNGS] == [
        "serial", "simple", "fix-divergence", "shared", "segmented", "coarsened", "two-pass-simple",
        "two-pass-interleaved", "two-pass-shared", "two-pass-warp-sync", "two-pass-unroll", "single-pass-merged",
        "single-pass-atomic", "shuffle", "default",
    ]  # fmt: skip
    assert all(rung.idea and rung.source for rung in RUNGS)


def test_the_rungs_of_a_program_say_where_rows_wait() -> None:
    waits = [expand(rung.name).get("resident") for rung in PROGRAM_RUNGS]
    assert waits == ["none", "memory", "l2", "shared", "shared", "registers", "registers", None]
    assert [expand(rung.name).get("cluster") for rung in PROGRAM_RUNGS] == [None, "1", "1", "1", "2", "1", "1", None]
    assert all(rung.idea and rung.source for rung in PROGRAM_RUNGS)


def test_the_rungs_of_a_mask_say_how_lanes_make_words() -> None:
    ways = [expand(rung.name).get("word") for rung in MASK_RUNGS]
    assert ways == ["byte", "shuffle", "ballot", "ballot", "redux", None]
    assert expand("byte-per-thread")["accesses"] == "single"
    assert all(rung.idea and rung.source for rung in MASK_RUNGS)


def test_every_rung_has_a_name_of_its_own() -> None:
    ladders = (RUNGS, PROGRAM_RUNGS, MASK_RUNGS)
    names = [rung.name for rungs in ladders for rung in rungs if rung.name != "default"]
    assert len(set(names)) == len(names)
    assert [rungs[-1].name for rungs in ladders] == ["default"] * 3


@pytest.mark.parametrize("rung", PINNED, ids=lambda r: r.name)
def test_a_rung_is_the_same_plan_on_every_target(rung: Rung) -> None:
    plan = Plan().with_options(rung.name)
    for target in TARGETS.values():
        check(plan, target, 8)
    other = Plan("reduced", "blocked", 4, 8, 8, 2, 4, 1024, 8, "serial", "global", 16, "two_kernels")
    assert other.with_options(rung.name) == plan


def test_each_rung_differs_from_the_one_before() -> None:
    plans = [Plan().with_options(rung.name) for rung in PINNED]
    assert all(a != b for a, b in pairwise(plans))


def test_the_default_is_what_the_planner_chooses() -> None:
    task = simple("sum", (2**20,), (0,))
    assert choose(task, "default").plan == choose(task).plan


def test_a_name_may_be_followed_by_other_options() -> None:
    assert Plan().with_options("simple,warps=4") == Plan().with_options("simple").with_options("warps=4")
    assert Plan().with_options(" simple , unroll = 2").unroll == 2
    assert expand(" warps=2 ,unroll = 4") == {"warps": "2", "unroll": "4"}
    assert expand("") == expand(" ") == expand("default") == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("warps=8,simple", "WF419: 'simple' is no key=value: only the first of a plan's options may be a name"),
        ("simple,shared", "WF419: 'shared' is no key=value"),
        ("warps=8,,lanes=4", "WF419: '' is no key=value"),
        ("warps=8,", "WF419: '' is no key=value"),
        ("warps=8,warps=4", "WF420: plan field warps is given twice: '8' and '4'\n  help: give it once"),
        ("simple,warps=8, warps = 8", "WF420: plan field warps is given twice"),
    ],
)
def test_options_that_a_rung_would_drop_are_refused(text: str, message: str) -> None:
    with pytest.raises(PlanError, match=f"^{message}"):
        Plan().with_options(text)


@pytest.mark.parametrize("text", ["simpel", "warps", "Simple", ",warps=2"])
def test_an_unknown_rung_is_refused(text: str) -> None:
    with pytest.raises(
        PlanError, match=r"WF410: no plan is called '.*'.*: expected one of serial simple .* shuffle default"
    ):
        Plan().with_options(text)
