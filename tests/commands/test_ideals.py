"""The ideal counts of a plan: derived by hand for a few kernels, and never above the profiler's counts."""

from __future__ import annotations

from collections import Counter

import pytest
from covering import covering

from warpfold.commands.emulated import Work, watch
from warpfold.commands.ideals import ideals
from warpfold.commands.profile import metrics
from warpfold.commands.requests.request import Request
from warpfold.compiler.plan.ladder import RUNGS
from warpfold.runtime.emulator.counters import Profile
from warpfold.runtime.emulator.instruction_classes import CLASSES
from warpfold.runtime.emulator.profiler import Profiler
from warpfold.runtime.prepare import Prepared, artifact

NARROW = ("20000x3 0", "5000x20 0")
"""Rows of 12 and 80 bytes, which sectors do not end with."""
AGAIN = {"100x16 1": 100}
"""Sectors asked for twice: a row's lanes have an access each, and their second reads what the last one read."""
Launches = list[tuple[Profile, Counter[str]]]


def _profiled(op: str, shape: str, axis: str | None = None, dtype: str = "f32", plan: str = "") -> Launches:
    tool = Profiler()
    prepared = watch(Work(Request(op, shape=shape, dtype=dtype, axis_text=axis, plan=plan)), tool).prepared
    assert isinstance(prepared, Prepared)
    return list(zip(tool.profiles, ideals(prepared, artifact(prepared)), strict=True))


def test_the_counts_of_a_sum_by_many_ctas() -> None:
    """256 CTAs of 8 warps, the last of which combines the 256 partials: all counts by hand."""
    ((found, least),) = _profiled("sum", "1048576")
    assert found.grid == (1, 256, 1)
    assert least == {
        "global load": 8192 + 2,  # 2^20 * 4 / 512, and 256 * 4 / 512
        "global store": 256 + 1,  # a partial a CTA, and the result
        "global atomic": 256,  # the tickets
        "shared store": 256 * (8 + 1) + 8,  # a state a warp and a ticket a CTA, once more the states
        "shared load": 256 * (1 + 8) + 1,  # all states by one warp, the ticket by all; once more the states
        "float": (2**20 - 2**16) // 32 + 257 * (5 * 8 + 3),  # of threads, then of lanes and warps
        "shuffle": 257 * (5 * 8 + 3),
        "barrier": 256 * 8 * 3 + 8,  # for the states, before and after the ticket; once more for the states
        "control": 256 * 8,
        "load": 8194 + 2305,
        "store": 257 + 2312,
        "atomic": 256,
    }
    for kind in ("store", "atomic", "barrier", "fence"):
        assert found.warp_instructions[kind] == least[kind]
    assert found.traffic("global load").sectors == found.traffic("global load").ideal
    assert found.warp_instructions["shuffle"] == 257 * 8 * (5 + 3)  # all warps do the second round


def test_the_counts_of_a_cluster() -> None:
    """8 CTAs of 16 warps: each stores its states in the first CTA, where one warp takes the 128."""
    ((found, least),) = _profiled("sum", "65536", plan="cluster=8,warps=16,unroll=4")
    assert found.grid == (1, 8, 1)
    assert least == {
        "global load": 512,
        "global store": 1,
        "shared store": 128,
        "shared load": 1,
        "float": (2**16 - 2**12) // 32 + 128 * 5 + 3 + 5,  # of threads, of lanes, and of four states a lane
        "shuffle": 128 * 5 + 5,
        "barrier": 2 * 128,  # states have arrived when an mbarrier has counted their bytes
        "control": 128,
        "load": 513,
        "store": 129,
        "atomic": 0,
    }
    for kind in ("store", "barrier", "shuffle"):
        assert found.warp_instructions[kind] == least[kind]


def test_the_counts_of_rows_of_four_lanes() -> None:
    """4096 rows of 16 elements, 4 lanes a row: two rounds of shuffles of two words in 512 warps."""
    ((found, least),) = _profiled("argmax", "4096x16", "1", plan="lanes=4,unroll=1")
    assert (least["shuffle"], least["barrier"], least["global load"], least["global store"]) == (2048, 0, 512, 512)
    assert (least["float"], least["integer"]) == (0, (2**16 - 2**14) // 32 + 2 * 512)
    assert found.warp_instructions["shuffle"] == least["shuffle"]
    assert found.traffic("global load").requests == least["global load"]
    assert found.traffic("global store").requests == least["global store"]


def test_the_counts_of_a_tile() -> None:
    """100 rows of 31 floats: a CTA copies 8 rows (992 bytes) and reads them in 2 turns of 4 rows."""
    ((found, least),) = _profiled("sum", "100x31", "1", plan="tile_bytes=1024,lanes=16,warps_kept=2,unroll=1")
    assert found.grid == (13, 1, 1)
    assert least == {
        "global load": 25,  # 12,400 bytes / 512
        "shared store": 25,
        "shared load": 97,  # 3,100 elements / 32
        "barrier": 13 * 2,
        "shuffle": 4 * 2 * 25,  # 2 turns in 12 CTAs, one in the last
        "float": -(-(3100 - 64 * 25) // 32) + 4 * 2 * 25,
        "global store": 50,  # a warp has two results at a time
        "control": 13 * 2,
        "load": 25 + 97,
        "store": 25 + 50,
        "atomic": 0,
    }
    for kind in ("barrier", "shuffle"):
        assert found.warp_instructions[kind] == least[kind]
    _holds(found, least)


@pytest.mark.parametrize(
    "place", ["100x31 1", "300x7 1", "40x5x7 1", "9x3 1", "100x31 1 bf16", "300x37 1 i8 vector=4", "500x3 1 f64"]
)
def test_tiles_count_no_less_than_the_ideal(place: str) -> None:
    shape, axis, *others = place.split()
    plan = ",".join(["tile_bytes=1024,lanes=2", *others[1:]])
    for op in ("sum", "argmax"):
        for found, least in _profiled(op, shape, axis, (others or ["f32"])[0], plan):
            _holds(found, least)
            assert found.thread_instructions["barrier"] == 32 * least["barrier"]


@pytest.mark.parametrize("finish", ["cta", "last_block,coarsening=2"])
@pytest.mark.parametrize(
    ("shape", "dtype", "vector"), [("70x31", "f32", 2), ("90x263", "f16", 4), ("41x1000", "i8", 8)]
)
def test_staggered_warps_count_no_less_than_the_ideal(shape: str, dtype: str, vector: int, finish: str) -> None:
    plan = f"walk=staggered,warps=8,unroll=1,vector={vector},finish={finish}"
    for op in ("sum", "argmax"):
        for found, least in _profiled(op, shape, "0", dtype, plan):
            _holds(found, least)
            assert found.thread_instructions["barrier"] == 32 * least["barrier"]


@pytest.mark.parametrize(
    ("op", "dtype", "votes", "shuffles"),
    [("max", "i32", 8, 3), ("any", "bool", 8, 3), ("max", "f32", 0, 43), ("max", "i64", 0, 86), ("sum", "f64", 0, 86)],
)
def test_redux_and_ballots_take_the_place_of_shuffles(op: str, dtype: str, votes: int, shuffles: int) -> None:
    """One row of 8 warps: 5 rounds in each warp, then 3 in one of them; ``redux`` and ballots save the first 5."""
    ((found, least),) = _profiled(op, "4096", dtype=dtype, plan="vector=1,warps=8,warps_kept=1,lanes=32,finish=cta")
    assert (least["vote"], least["shuffle"]) == (votes, shuffles)
    assert found.warp_instructions["vote"] == votes


@pytest.mark.parametrize(
    ("method", "barriers", "loads"),
    [("serial", 8, 3), ("interleaved", 64, 12), ("sequential", 64, 12), ("warp_sync", 36, 12), ("unrolled", 36, 12)],
)
def test_the_counts_of_states_that_meet_in_memory(method: str, barriers: int, loads: int) -> None:
    """256 positions and 3 values: 8 rounds of 8 warps; in the last 4 rounds only one warp works.

    The states of the first round have 512 bytes of each value, which one request stores.
    """
    pinned = f"cta={method},vector=1,unroll=1,lanes=32,warps=8,warps_kept=1,finish=cta"
    ((found, least),) = _profiled("var", "2048", plan=pinned)
    assert least["barrier"] == barriers
    assert least["shared load"] == {3: 3 * 2, 12: 3 * 8}[loads]
    assert least["shared store"] == 3 * 8 + (0 if method == "serial" else 3 * 7)
    extra = 1 if method in ("warp_sync", "unrolled") else 8
    again = 1 if method == "serial" else 0  # the warp that combines alone, split by a branch, comes twice
    assert found.warp_instructions["barrier"] == barriers + extra + again  # once more after the last round


@covering(
    ("op", ["sum", "argmax", "var", "max"]),
    ("place", ["300x1000 1", "300x1000 0", "20000x3 0", "5000x20 0", "100x16 1", "1x1 0", "70000"]),
)
def test_default_plans_count_no_less_than_the_ideal_in_as_many_rounds(op: str, place: str) -> None:
    shape, _, axis = place.partition(" ")
    for found, least in _profiled(op, shape, axis or None):
        _holds(found, least)
        for kind in ("atomic", "fence", "vote"):
            assert found.warp_instructions[kind] == least[kind], kind
        assert found.thread_instructions["barrier"] == 32 * least["barrier"]  # a warp that a branch split comes twice
        assert found.banks("store").requests == least["shared store"]
        for what in ("global load", "global store"):
            if op != "argmax" and place not in NARROW:  # positions of 8 bytes side by side are stored one by one
                again = AGAIN.get(place, 0) if what == "global load" else 0
                assert found.traffic(what).sectors <= found.traffic(what).ideal + again


@pytest.mark.parametrize("dtype", ["f16", "u8", "c64", "i16"])
def test_other_types_count_no_less_than_the_ideal(dtype: str) -> None:
    for axis in ("0", "1"):
        for found, least in _profiled("sum", "300x1000", axis, dtype):
            _holds(found, least)


@pytest.mark.parametrize("rung", [rung.name for rung in RUNGS if rung.name != "serial"])
def test_every_kernel_of_every_rung_counts_no_less_than_the_ideal(rung: str) -> None:
    launches = _profiled("sum", "65536", dtype="i32", plan=rung)
    assert len(launches) == {"two_kernels": 2, "atomic": 3}.get(_finish(rung), 1)
    for found, least in launches:
        _holds(found, least)
        assert found.warp_instructions["atomic"] == least["atomic"]


def _finish(rung: str) -> str:
    pinned = next(one.options for one in RUNGS if one.name == rung)
    return dict(item.split("=") for item in pinned.split(",") if item).get("finish", "")


def _holds(found: Profile, least: Counter[str]) -> None:
    rows = metrics(found, least)
    assert (rows[0].name, rows[0].ideal) == ("warp instructions", sum(least[kind] for kind in CLASSES))
    for metric in rows:
        if metric.ideal is not None and not metric.share and not metric.mean:
            assert metric.count >= metric.ideal, metric


def test_nothing_is_launched_for_no_results() -> None:
    assert _profiled("sum", "0x5", "1") == []
