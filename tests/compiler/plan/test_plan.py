"""The plan: its extents, the options that change it, and the plans that are refused."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from ownership import plans

from warpfold.compiler.errors import PlanError
from warpfold.compiler.plan.checks import check
from warpfold.compiler.plan.fields import Walk
from warpfold.compiler.plan.layout import layout_of
from warpfold.compiler.plan.plan import STATIC_SHARED, Plan
from warpfold.compiler.plan.shared_memory import exchanged, gathered, global_states, shared_bytes
from warpfold.compiler.target import DEFAULT, TARGETS


@pytest.mark.parametrize(("vector", "warps", "state"), [(2, 2, 4), (4, 8, 4), (8, 4, 12)])
def test_staggered_warps_reserve_room_beside_their_states(vector: int, warps: int, state: int) -> None:
    """An access on either side of the columns that a warp owns, in both rounds."""
    plan = Plan("kept", "staggered", vector, lanes=1, warps=warps)
    assert plan.slots == 31 * vector
    assert exchanged(plan) == warps * 33 * vector
    assert shared_bytes(plan, state) == warps * 33 * vector * state
    last = shared_bytes(replace(plan, finish="last_block"), state)
    assert last == shared_bytes(plan, state) + warps * 32 * vector * state + 16


@pytest.mark.parametrize(
    ("change", "mended"),
    [({"fast": "reduced"}, "fast=kept"), ({"vector": 1}, "vector=2"), ({"warps": 1}, "warps=2"),
     ({"warps_kept": 2}, "warps_kept=1"), ({"lanes": 2}, "lanes=1"), ({"cta": "serial"}, "cta=shuffle"),
     ({"finish": "two_kernels"}, "finish=last_block"), ({"cluster": 2}, "cluster=1")],
)  # fmt: skip
def test_fields_that_staggered_warps_fix_are_refused(change: dict[str, Any], mended: str) -> None:
    plan = Plan("kept", "staggered", 4, lanes=1, warps=8)
    check(plan, DEFAULT, 4)
    with pytest.raises(PlanError, match=f"WF415: walk=staggered fixes how the threads .*\\n.*set {mended}, or"):
        check(replace(plan, **change), DEFAULT, 4)


def test_both_rounds_of_a_period_use_one_buffer() -> None:
    plan = Plan("kept", "period", 4, lanes=1, warps_kept=8)
    assert (exchanged(plan), plan.slots, plan.vector_kept) == (1024, 256, 1)
    assert shared_bytes(plan, 8) == 8192
    assert shared_bytes(replace(plan, finish="last_block"), 8) == 8192 + 16


def test_options_replace_fields() -> None:
    plan = Plan().with_options(" vector=4 , unroll = 2,finish=two_kernels,walk=blocked,fast=kept ")
    assert plan == Plan("kept", "blocked", 4, 2, finish="two_kernels")
    assert Plan().with_options("") == Plan()


@pytest.mark.parametrize("option", ["tree=tree-v7", "wraps=2", "=2", "threads=32", "Vector=2"])
def test_an_unknown_field_is_refused(option: str) -> None:
    with pytest.raises(
        PlanError,
        match=r"WF402: a plan has no field '.*'.*: expected one of fast .* persistent reads abreast arrivals\n",
    ):
        Plan().with_options(option)


@pytest.mark.parametrize("value", ["0", "3", "-1", "64", "x", "", "1.0", "²", "٤", "+2", "9" * 5000])
def test_an_extent_is_a_power_of_two(value: str) -> None:
    with pytest.raises(
        PlanError, match=r"WF403: plan field unroll cannot be '.*': expected a power of two from 1 to 32\n"
    ):
        Plan().with_options(f"unroll={value}")


@pytest.mark.parametrize("value", ["0", "33", "-1", "x", "", "1.0", "²", "٤", "9" * 5000])
def test_warps_are_a_power_of_two_or_of_persistent_ctas(value: str) -> None:
    with pytest.raises(
        PlanError,
        match=r"WF403: plan field warps cannot be '.*': expected a .*, or any number up to 32 where persistent CTAs",
    ):
        Plan().with_options(f"warps={value}")


@pytest.mark.parametrize("value", [0, 1, 1024, 32768, 65536, 66560, 131072, 229376])
def test_a_tile_is_larger_than_other_extents(value: int) -> None:
    """A tile may fill shared memory; 0 means no tile, and is a choice like others."""
    assert Plan(tile_bytes=64).with_options(f"tile_bytes={value}").tile_bytes == value


@pytest.mark.parametrize("value", ["3", "-1", "65537", "230400", "16K", ""])
def test_a_tile_has_a_power_of_two_of_bytes_or_of_units(value: str) -> None:
    expected = "0, or a power of two from 1 to 65536, or a multiple of 1024 up to 229376"
    with pytest.raises(PlanError, match=rf"WF403: plan field tile_bytes .*: expected {expected}\n"):
        Plan().with_options(f"tile_bytes={value}")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"fast": "x"}, "WF403: plan field fast cannot be 'x': expected one of reduced kept"),
        ({"walk": ""}, "WF403: plan field walk cannot be '': expected one of interleaved blocked period"),
        ({"finish": "x"}, "WF403: plan field finish cannot be 'x': expected one of cta last_block two_kernels atomic"),
        ({"lanes": 64}, "WF403: plan field lanes cannot be 64: expected a power of two from 1 to 32"),
        ({"lanes": 3}, "WF403: plan field lanes cannot be 3: expected a power of two from 1 to 32"),
        ({"warps_kept": 0}, "WF403: plan field warps_kept cannot be 0: expected a power of two"),
        ({"unroll": -4}, "WF403: plan field unroll cannot be -4: expected a power of two"),
        ({"vector": 32}, "WF403: plan field vector cannot be 32: expected a power of two from 1 to 16"),
        ({"unroll": 64}, "WF403: plan field unroll cannot be 64: expected a power of two from 1 to 32"),
        ({"warps": 64}, "WF403: plan field warps cannot be 64: expected a power of two from 1 to 32"),
        ({"warps": 32, "warps_kept": 2}, "WF404: the plan needs 2048 threads a CTA: sm_90a holds 1024"),
        ({"cta": ""}, "WF403: .* expected one of shuffle serial interleaved sequential warp_sync unrolled"),
        ({"exchange": "registers"}, "WF403: plan field exchange cannot be 'registers': expected one of shared global"),
        ({"coarsening": -2}, "WF403: plan field coarsening cannot be -2: expected 0, or a power of two"),
        ({"exchange": "global"}, "WF411: cta=shuffle exchanges registers, but the plan has exchange=global"),
        (
            {"coarsening": 2},
            "WF412: coarsening=2 says when more CTAs share a result, but finish=cta has one CTA a result",
        ),
        ({"coarsening": 2, "unroll": 4, "finish": "atomic"}, "WF413: .* coarsening=2 is less than unroll=4"),
        ({"cluster": 3}, "WF403: plan field cluster cannot be 3: expected a power of two"),
        ({"cluster": 32}, "WF403: plan field cluster cannot be 32: expected a power of two from 1 to 16"),
        ({"walk": "period"}, "(?s)WF415: .* has other extents.*set fast=kept,lanes=1, or walk=interleaved"),
        ({"walk": "period", "fast": "kept", "lanes": 1, "finish": "atomic"}, "(?s)WF415: .*set finish=last_block"),
        ({"tile_bytes": 1000}, "WF403: plan field tile_bytes cannot be 1000: expected 0, or a power of two"),
        ({"tile_bytes": 1 << 18}, "WF403: .* expected 0, or a power of two from 1 to 65536, or a multiple of 1024"),
        ({"tile_bytes": 1 << 17}, "WF405: the plan needs 131072 bytes of shared memory a CTA: sm_90a gives 49152"),
        ({"tile_bytes": 1 << 16}, "WF405: the plan needs 65536 bytes of shared memory a CTA: sm_90a gives 49152"),
        *[
            ({"tile_bytes": 1024, field: value}, "WF417: with tile_bytes=1024 one warp reads all elements of a result")
            for field, value in (
                ("fast", "kept"),
                ("warps", 2),
                ("cluster", 2),
                ("cta", "serial"),
                ("finish", "last_block"),
            )
        ],
        ({"walk": "blocked", "vector": 4}, "WF406: a blocked walk reads single elements .* the plan has vector=4"),
    ],
)
def test_a_plan_that_no_pass_serves_is_refused(change: dict[str, Any], text: str) -> None:
    with pytest.raises(PlanError, match=text):
        check(replace(Plan(), **change), DEFAULT, 4)


@pytest.mark.parametrize("target", TARGETS.values(), ids=str)
def test_a_plan_that_shared_memory_cannot_hold_is_refused(target: Any) -> None:
    wide = Plan("kept", vector=16, lanes=1, warps=8)
    assert shared_bytes(wide, 4) == 8 * 32 * 16 * 4
    check(wide, target, 8)
    with pytest.raises(
        PlanError, match=rf"WF405: the plan needs 65536 bytes .*: {target.arch} gives {STATIC_SHARED}\n"
    ):
        check(wide, target, 16)


@pytest.mark.parametrize("target", TARGETS.values(), ids=str)
def test_rows_that_wait_may_have_all_the_shared_memory_of_a_target(target: Any) -> None:
    plan = Plan("kept", vector=16, lanes=1, warps=8)
    rest = target.shared_per_cta - shared_bytes(plan, 4)
    check(plan, target, 4, rest)
    text = rf"WF429: .* need {target.shared_per_cta + 4} bytes .*: {target.arch} gives {target.shared_per_cta}\n"
    with pytest.raises(PlanError, match=text):
        check(plan, target, 4, rest + 4)


def test_the_last_cta_has_a_round_of_its_own() -> None:
    """The kernel declares the partials of both rounds, and the flag by which a CTA knows that it is the last."""
    one = Plan("kept", lanes=1, warps=8)
    assert shared_bytes(replace(one, finish="last_block"), 8) == 2 * shared_bytes(one, 8) + 16
    assert shared_bytes(Plan(), 8) == 0


@pytest.mark.parametrize("target", TARGETS.values(), ids=str)
def test_a_cluster_needs_a_target_that_has_them(target: Any) -> None:
    plan = Plan(warps=4, cluster=8)
    if target.has_clusters:
        return check(plan, target, 8)
    with pytest.raises(PlanError, match=f"WF414: the plan has cluster=8: {target.arch} has no clusters of CTAs"):
        check(plan, target, 8)
    check(replace(plan, cluster=1), target, 8)
    return None


def test_how_states_arrive_is_for_clusters() -> None:
    check(Plan(warps=4, cluster=8, arrivals="barrier"), DEFAULT, 8)
    with pytest.raises(
        PlanError, match="WF444: arrivals=barrier is for CTAs of a cluster: the plan has cluster=1"
    ) as e:
        check(Plan(warps=4, arrivals="barrier"), DEFAULT, 8)
    assert "leave out arrivals, or set cluster" in str(e.value)


def test_large_clusters_need_a_target_that_has_them() -> None:
    plan = Plan(warps=4, cluster=16)
    check(plan, TARGETS["sm_90a"], 8)
    with pytest.raises(PlanError, match="WF414: the plan has cluster=16: sm_120 has clusters of up to 8 CTAs") as e:
        check(plan, TARGETS["sm_120"], 8)
    assert "set cluster=8, or compile for sm_90a" in str(e.value)


def test_the_first_cta_of_a_cluster_holds_the_states_of_all_its_warps() -> None:
    """Warps do not meet in their own CTA; they meet in the second round of the cluster that finishes last."""
    plan = Plan(warps=4, cluster=8, warps_kept=2)
    assert (gathered(plan), shared_bytes(plan, 8)) == (8 * 4 * 2, 8 * 64 + 16)
    assert shared_bytes(replace(plan, finish="last_block"), 8) == 8 * (64 + 8) + 2 * 16
    assert gathered(replace(plan, cluster=1)) == 0
    in_memory = replace(plan, cta="serial")
    assert (gathered(in_memory), shared_bytes(in_memory, 8)) == (8 * 2, 8 * (16 + 4 * 32 * 2) + 16)
    assert shared_bytes(replace(in_memory, exchange="global", arrivals="barrier"), 8) == 8 * 16


def test_threads_that_meet_in_memory_store_a_state_each() -> None:
    plan = Plan(warps=8, warps_kept=2, cta="serial")
    assert exchanged(plan) == 8 * 32 * 2
    assert shared_bytes(plan, 8) == 8 * exchanged(plan)
    assert global_states(plan) == 0
    far = replace(plan, exchange="global")
    assert (global_states(far), shared_bytes(far, 8)) == (exchanged(plan), 0)
    assert shared_bytes(replace(far, finish="last_block"), 8) == 16
    assert global_states(Plan(lanes=1, cta="serial", exchange="global")) == 0


def test_a_tile_fits_shared_memory_as_a_whole() -> None:
    tile = Plan(lanes=4, warps_kept=8, tile_bytes=16384)
    check(tile, DEFAULT, 8)
    assert shared_bytes(tile, 8) == 16384


@settings(max_examples=200)
@given(plans())
def test_a_plan_survives_a_round_trip_through_a_dict_and_is_hashable(plan: Plan) -> None:
    again = Plan(**plan.to_dict())  # type: ignore[arg-type]
    assert (again, hash(again)) == (plan, hash(plan))
    text = ",".join(f"{k}={v}" for k, v in plan.to_dict().items() if k != "tree")
    assert Plan().with_options(text) == plan


@settings(max_examples=200)
@given(plans())
def test_extents_multiply_to_the_size_of_a_cta(plan: Plan) -> None:
    assert plan.lanes * plan.lanes_kept == 32
    assert plan.threads * plan.vector == plan.slots * plan.positions * plan.vector_reduced
    assert plan.vector_kept * plan.vector_reduced == plan.vector
    assert plan.tile % layout_of(plan).step == 0
    extents = (plan.lanes, plan.warps, plan.warps_kept, plan.slots, plan.tile, layout_of(plan).step)
    assert all(np.log2(e) % 1 == 0 for e in extents)


def test_the_set_of_walks_is_closed() -> None:
    """A new way to assign elements to threads is a view, an origin, an order of modes or a relay, and no new walk."""
    assert get_args(Walk) == ("interleaved", "blocked", "period", "staggered", "runs", "padded", "whole")


def test_every_combination_of_option_words_is_served() -> None:
    for fast, walk, finish in itertools.product(
        ("reduced", "kept"), ("interleaved", "blocked"), ("cta", "last_block", "two_kernels", "atomic")
    ):
        check(Plan(fast, walk, finish=finish), DEFAULT, 8)  # type: ignore[arg-type]
