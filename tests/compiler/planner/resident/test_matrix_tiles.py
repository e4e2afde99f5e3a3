"""Plans of tiles that warps read in turned blocks: their extents and accesses, and what is refused."""

from __future__ import annotations

import re
from math import prod
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.commands.programs.plan_words import fragments
from warpfold.compiler.errors import PlanError
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.planner.task import Choice

TURNED = "fragments=matrix"


@wf.monoid(identity=(1, 0), commutative=False, lift=lambda x: (1 - 2 * (x & 1), x))
def affine(a: Any, b: Any) -> Any:
    """The composition of x -> k x + d, the left one first."""
    (k, d), (m, e) = a, b
    return k * m, d * m + e


@wf.program
def turned(x: Any) -> Any:
    return x.mT + 0


@wf.program
def added(x: Any, y: Any) -> Any:
    return x + y.mT


@wf.program
def signs(x: Any) -> Any:
    return wf.pack(x.mT > 0)


def choice_of(f: Any, *xs: Any, plan: str = TURNED, arch: str = "sm_90a", **how: Any) -> Choice:
    """The choice for the one step of a program."""
    (found,) = f._planned(xs, {"plan": plan, **how}, arch).prepared.steps
    return found.prepared.choice


def halves(*shape: int, t: str = "f2") -> Any:
    return np.zeros(shape, t)


def large(*shape: int, t: str = "f2") -> Any:
    """An array without memory for its elements, which nothing reads."""
    strides = [np.dtype(t).itemsize * prod(shape[k + 1 :]) for k in range(len(shape))]
    return np.lib.stride_tricks.as_strided(np.zeros(1, t), shape, strides)


def test_columns_have_a_plan_of_rows_whose_lanes_share_a_column() -> None:
    found = choice_of(wf.softmax, halves(256, 1024), axis=0)
    plan, facts = found.plan, found.facts
    assert (plan.fast, plan.lanes, plan.vector, plan.resident) == ("reduced", 4, 8, "shared")
    assert plan.held * plan.warps * 32 >= 256 > (plan.held - 1) * plan.warps * 32
    assert (facts.access, facts.stores, facts.waiting) == (("matrix",), ("matrix",), (0,))
    assert plan.slots == 8 * plan.warps_kept


@pytest.mark.parametrize(("rows", "cluster", "width"), [(256, 1, 4), (1024, 1, 4), (2048, 2, 4), (8192, 8, 4)])
def test_long_columns_are_shared_by_clusters(rows: int, cluster: int, width: int) -> None:
    plan = choice_of(wf.softmax, np.zeros((rows, 8192), "f2"), axis=0).plan
    assert (plan.cluster, plan.warps_kept, plan.threads) == (cluster, width, 256)


def test_arrays_across_the_results_are_read_turned() -> None:
    facts = choice_of(turned, halves(512, 640)).facts
    assert (facts.access, facts.stores, facts.waiting) == (("matrix",), ("aligned",), (0,))
    facts = choice_of(added, halves(512, 640), halves(640, 512)).facts
    assert (facts.access, facts.stores, facts.waiting) == (("aligned", "matrix"), ("aligned",), (1,))


@pytest.mark.parametrize(
    ("f", "x", "plan", "how", "text"),
    [
        (wf.softmax, halves(64, 64, t="f4"), TURNED, {"axis": 0}, "WF440: .* 16 bits: the arrays of softmax have f32"),
        (turned, halves(64, 64, t="i1"), TURNED, {}, "WF440: .*: the arrays of turned have i8"),
        (signs, halves(64, 64), TURNED, {}, "WF440: .*: the arrays of signs have f16 bit"),
        (wf.softmax, halves(64, 60), TURNED, {"axis": 0}, "WF438: .*: no array of softmax has such"),
        (wf.softmax, halves(64, 64), TURNED, {"axis": 1}, "WF438"),
        (wf.softmax, halves(64, 72)[:, 4:68], TURNED, {"axis": 0}, "WF438"),
        (wf.softmax, halves(64, 64), TURNED + ",lanes=8", {"axis": 0}, "WF439: .*: lanes=8, expected 4"),
        (wf.softmax, halves(64, 64), TURNED + ",vector=4", {"axis": 0}, "WF439: .*: vector=4, expected 8"),
        (wf.softmax, halves(64, 64), TURNED + ",fast=kept", {"axis": 0}, "WF439: .*: fast=kept, expected reduced"),
        (wf.softmax, halves(64, 64), TURNED + ",resident=l2", {"axis": 0}, "WF439: .*: resident=l2, expected shared"),
        (wf.softmax, halves(9000, 64), TURNED + ",cluster=1", {"axis": 0}, "WF426: .* 64"),
        (wf.softmax, halves(4096, 64), TURNED + ",cluster=1,warps_kept=8,warps=2", {"axis": 0}, "WF429: .* bytes"),
        (wf.softmax, halves(64, 64), "fragments=turned", {"axis": 0}, "WF403: .* one of words matrix"),
    ],
)
def test_other_arrays_and_fields_are_refused(f: Any, x: Any, plan: str, how: dict[str, Any], text: str) -> None:
    with pytest.raises(PlanError, match=text):
        choice_of(f, x, plan=plan, **how)


def test_elements_of_a_reduction_wait_in_a_tile_if_options_ask_for_it() -> None:
    found = wf.compile("sum", (64, 64), "float16", axis=0, plan=TURNED)
    assert (found.plan.resident, found.plan.lanes, found.artifact.kernels[0].main.facts.access) == (
        "shared",
        4,
        ("matrix",),
    )
    assert not wf.compile("sum", (64, 64), "float16", axis=0, plan="fragments=words").plan.resident


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x: wf.argmax(x, axis=0, plan=TURNED), "WF441: .* argmax needs the numbers of its elements"),
        (
            lambda x: wf.reduce(x.astype("i2"), affine, axis=0, plan=TURNED),
            "WF441: .* affine needs the order of its elements",
        ),
        (lambda x: wf.sum(x, axis=1, plan=TURNED), "WF438: .*: no array of sum has such"),
        (lambda x: wf.sum(x, axis=0, plan="resident=shared"), "WF427: sum reads each element once"),
    ],
)
def test_other_reductions_are_refused(f: Any, text: str) -> None:
    with pytest.raises(PlanError, match=text):
        f(halves(64, 64))


def test_more_warps_than_a_cta_has_are_not_chosen() -> None:
    with pytest.raises(PlanError, match=r"WF426: .* 2000000 bytes"):
        choice_of(wf.softmax, large(1_000_000, 512), axis=0)


@pytest.mark.parametrize(
    ("shape", "extents"),
    [
        ((4096, 64, 32), (1, 4, 2)),
        ((4096, 128, 16), (1, 2, 4)),
        ((4096, 256, 64), (2, 4, 4)),
        ((512, 512, 64), (2, 4, 8)),
        ((4096, 32, 64), None),  # one access, of which words have no more
        ((4096, 68, 32), None),  # a third access is nearly empty
        ((1024, 1024, 64), None),  # words are as fast
        ((4096, 128, 40), None),  # rows are no whole tiles
        ((4096, 128, 8), None),  # rows fill no sector
        ((64, 128, 64), None),  # a small array
    ],
)
def test_columns_with_several_values_in_their_states_wait_in_turned_tiles(shape: Any, extents: Any) -> None:
    plan = choice_of(wf.standardize, large(*shape), plan="", axis=1).plan
    assert (plan.fragments == "matrix") == (extents is not None)
    if extents:
        assert (plan.warps, plan.warps_kept, plan.held) == extents
    assert not choice_of(wf.softmax, large(*shape), plan="", axis=1).plan.fragments
    assert not choice_of(wf.standardize, large(*shape, t="f4"), plan="", axis=1).plan.fragments


def test_explain_draws_the_lanes_of_an_access() -> None:
    assert fragments(Plan()) == []
    head, *rows = fragments(Plan(lanes=4, vector=8, fragments="matrix"))
    assert head.split("column ")[1:] == [f"{c}  " for c in range(7)] + ["7"]
    assert [row.split("lane")[0].strip() for row in rows] == [f"rows {8 * t} to {8 * t + 7}" for t in range(4)]
    assert [int(n) for n in re.findall(r"lane (\d+)", rows[1])] == list(range(1, 32, 4))


@pytest.mark.parametrize(
    ("shape", "turns", "extents"),
    [
        ((8192, 8192), True, (2, 16, 2)),  # rows of 16 KiB
        ((64, 1000, 1000), True, (2, 8, 1)),  # rows of results begin between sectors
        ((31, 2056, 1024), True, (2, 8, 1)),
        ((31, 1024, 2056), False, (1, 8, 1)),  # rows of the input do
        ((64, 1024, 1024), False, (1, 8, 1)),
        ((99999, 40, 40), False, (2, 8, 1)),  # short rows
        ((9, 1000, 1000), False, (2, 8, 1)),  # a small array
        ((64, 1000, 1001), False, None),
    ],
)
def test_transposed_copies_are_turned_where_it_pays(shape: Any, turns: bool, extents: Any) -> None:
    x = large(*shape)
    plan = choice_of(turned, x, plan="").plan
    assert (plan.fragments == "matrix") == turns
    if extents:
        plan = choice_of(turned, x).plan
        assert (plan.warps, plan.warps_kept, plan.held) == extents


def test_other_programs_are_turned_where_options_ask_for_it() -> None:
    """Two arrays, a portable one, other types, and any option."""
    x = large(64, 1000, 1000)
    assert choice_of(turned, x, plan="").plan.fragments == "matrix"
    assert not choice_of(turned, x, plan="", determinism="portable").plan.fragments
    assert choice_of(turned, x, plan="fragments=words").plan.fragments == "words"
    assert not choice_of(turned, large(64, 1000, 1000, t="f4"), plan="").plan.fragments
    assert not choice_of(added, x, x, plan="").plan.fragments
