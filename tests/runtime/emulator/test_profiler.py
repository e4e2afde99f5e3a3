"""The profiler against an H200's own counters, a slow model of every lane, and kernels with known counts."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpfold.runtime import emulator
from warpfold.runtime.emulator import traffic
from warpfold.runtime.emulator.counters import Profile, total
from warpfold.runtime.emulator.instruction_classes import class_of
from warpfold.runtime.emulator.profiler import profile

from .emulator_harness import DATA, HEADER, module

MEASURED = json.loads((DATA / "ncu_h200.json").read_text())
SIZES = (1, 2, 4, 8, 16)


@pytest.mark.parametrize("space", ["global", "shared"])
def test_patterns_of_addresses_cost_what_an_h200_counted(space: str) -> None:
    """All of them: 30 patterns, four widths, loads, stores and atomics."""
    cases = [case for case in MEASURED["patterns"] if case["space"] == space]
    assert len(cases) == 270
    for case in cases:
        lanes, size = np.array(case["lanes"]), case["size"]
        threads = np.flatnonzero(lanes >= 0)
        addresses = lanes[threads] * size
        if space == "shared":
            found = traffic.wavefronts(addresses, threads, size, case["verb"])
            assert (found.wavefronts, found.wavefronts - found.ideal) == (case["wavefronts"], case["conflicts"]), case
        else:
            sectors = traffic.sectors(addresses, threads >> 5, size, case["verb"] == "updated")
            assert (sectors.sectors, 1) == (case["sectors"], case["requests"]), case


@pytest.mark.parametrize("kernel", ["simple", "sequential"])
def test_branches_of_the_two_classic_reductions_are_those_of_an_h200(kernel: str) -> None:
    """74 % and 99 % of 1024 threads' branches are uniform: ``tid % d == 0`` splits warps, ``tid < d`` hardly does."""
    found = _run((DATA / "branches_sm90.ptx").read_text(), kernel, np.ones(2048, np.float32), (1, 1024))
    (want,) = [one for one in MEASURED["kernels"] if one["kernel"] == kernel]
    assert (found.branches, found.divergent) == (want["branches"], want["divergent"])
    assert round(100 * found.branch_efficiency, 2) == want["branch_efficiency"]
    load, store = found.traffic("global load"), found.traffic("global store")
    assert (load.requests, load.sectors) == (want["ld_requests"], want["ld_sectors"])
    assert (store.requests, store.sectors) == (want["st_requests"], want["st_sectors"])
    assert round(found.branch_efficiency, 2) == {"simple": 0.74, "sequential": 0.99}[kernel]


def _run(text: str, kernel: str, x: np.ndarray, shape: tuple[int, int]) -> Profile:
    memory = emulator.Memory()
    address = memory.allocate(max(x.nbytes, 1))
    memory.view(address, x.nbytes)[:] = x.view(np.uint8)
    out = memory.allocate(1 << 16)
    parsed = emulator.parse(text)
    return profile(parsed, kernel, (shape[0], 1, 1), (shape[1], 1, 1), (address, out), memory)


def _body(body: str, *, threads: int = 32, ctas: int = 1, before: str = "") -> Profile:
    memory = emulator.Memory()
    out = memory.allocate(1 << 16)
    return profile(module(body, before=before), "k", (ctas, 1, 1), (threads, 1, 1), (out,), memory)


# A model of one lane after another, written from docs/profiler.md and sharing nothing with traffic.py.


def slow_sectors(lanes: dict[int, int], size: int, atomic: bool) -> tuple[int, int]:
    """Sectors and distinct bytes of one warp; ``lanes`` maps lane to address."""
    times: dict[int, dict[int, int]] = {}
    for address in lanes.values():
        held = times.setdefault(address // 32, {})
        held[address] = held.get(address, 0) + 1
    taken = sum(max(held.values()) if atomic else 1 for held in times.values())
    return taken, size * len(set(lanes.values()))


def slow_wavefronts(lanes: dict[int, int], size: int, load: bool) -> tuple[int, int]:
    """Wavefronts and conflicts of one warp."""
    per = {8: 16, 16: 8}.get(size, 32)
    groups = [[k for k in lanes if k // per == g] for g in range(32 // per)]
    if load and per < 32:
        merged = []
        for first, second in zip(groups[::2], groups[1::2], strict=True):
            both = first + second
            alike = any(all(lanes.get(k ^ bit, lanes[k]) == lanes[k] for k in both) for bit in (1, 2))
            merged += [both] if alike else [first, second]
        groups = merged
    waves = 0
    for group in groups:
        banks: dict[int, set[int]] = {}
        for k in group:
            for word in range(lanes[k] // 4, (lanes[k] + size + 3) // 4):
                banks.setdefault(word % 32, set()).add(word)
        waves += max((len(words) for words in banks.values()), default=0)
    return waves, waves - sum(bool(group) for group in groups)


WARPS = st.lists(
    st.dictionaries(st.integers(0, 31), st.integers(0, 90), min_size=1, max_size=32), min_size=1, max_size=4
)


@given(WARPS, st.sampled_from(SIZES), st.booleans())
@settings(max_examples=150, deadline=None)
def test_sectors_are_those_of_the_slow_model(warps: list[dict[int, int]], size: int, atomic: bool) -> None:
    lanes = [{k: size * one[k] for k in sorted(one)} for one in warps]
    threads = np.array([32 * w + k for w, one in enumerate(lanes) for k in one])
    addresses = np.array([a for one in lanes for a in one.values()])
    want = [slow_sectors(one, size, atomic) for one in lanes]
    found = traffic.sectors(addresses, threads >> 5, size, atomic)
    assert found[:2] == (sum(w[0] for w in want), sum(w[1] for w in want))
    assert found.ideal == sum(-(-w[1] // 32) for w in want)


@given(WARPS, st.sampled_from(SIZES), st.booleans())
@settings(max_examples=150, deadline=None)
def test_wavefronts_are_those_of_the_slow_model(warps: list[dict[int, int]], size: int, load: bool) -> None:
    lanes = [{k: size * one[k] for k in sorted(one)} for one in warps]
    threads = np.array([32 * w + k for w, one in enumerate(lanes) for k in one])
    addresses = np.array([a for one in lanes for a in one.values()])
    want = [slow_wavefronts(one, size, load) for one in lanes]
    found = traffic.wavefronts(addresses, threads, size, "read" if load else "written")
    assert (found.wavefronts, found.wavefronts - found.ideal) == tuple(map(sum, zip(*want, strict=True)))


@given(st.integers(0, 3), st.integers(1, 3), st.sampled_from(SIZES), st.integers(0, 4), st.integers(1, 32))
@settings(max_examples=150, deadline=None)
def test_strides_are_those_of_the_slow_model(start: int, count: int, size: int, stride: int, active: int) -> None:
    """The cases of the fast paths: whole and partial warps together, with every stride."""
    lanes = [{k: size * (start + stride * (32 * w + k)) for k in range(active)} for w in range(count)]
    threads = np.array([32 * w + k for w in range(count) for k in range(active)])
    addresses = np.array([a for one in lanes for a in one.values()])
    want = [slow_sectors(one, size, False) for one in lanes]
    found = traffic.sectors(addresses, threads >> 5, size, False)
    assert found[:2] == tuple(map(sum, zip(*want, strict=True)))
    if active == 32:
        assert traffic.in_rows(addresses, size) == (found if stride == 1 else None)
    for verb in ("read", "written"):
        banks = [slow_wavefronts(one, size, verb == "read") for one in lanes]
        waves = traffic.wavefronts(addresses, threads, size, verb)
        assert (waves.wavefronts, waves.wavefronts - waves.ideal) == tuple(map(sum, zip(*banks, strict=True)))


@pytest.mark.parametrize("way", [1, 2, 4, 8, 16, 32])
def test_bank_conflicts_of_a_kernel(way: int) -> None:
    """Lanes 4 * ``way`` bytes apart: ``way`` of them share a bank, in each of 2 warps of 3 CTAs."""
    body = f"""mov.u32 r1, s; and.b32 r2, r0, 31; mad.lo.u32 r2, r2, {4 * way}, r1;
    st.shared.u32 [r2], r0; bar.sync 0;
    ld.shared.u32 r3, [r2];"""
    found = _body(body, threads=64, ctas=3, before=".shared .align 16 .b8 s[8192];\n")
    assert (found.banks("store").requests, found.banks("store").wavefronts) == (6, 6 * way)
    assert (found.banks("load").conflicts, found.bank_conflicts) == (6 * (way - 1), 12 * (way - 1))
    assert found.warp_instructions["barrier"] == 6
    (line,) = [one for one in found.lines.values() if one.text.startswith("ld.shared")]
    assert (line.warp_instructions, line.conflicts) == (6, 6 * (way - 1))


@pytest.mark.parametrize(
    ("address", "guard", "requests", "sectors", "nbytes"),
    [
        ("mad.wide.u32 d2, r0, 4, d0;", "", 1, 4, 128),
        ("mad.wide.u32 d2, r0, 4, d0; add.u64 d2, d2, 4;", "", 1, 5, 128),
        ("mad.wide.u32 d2, r0, 32, d0;", "", 1, 32, 128),
        ("mov.u64 d2, d0;", "", 1, 1, 4),
        ("mad.wide.u32 d2, r0, 4, d0; setp.lt.u32 p1, r0, 8;", "@p1", 1, 1, 32),
        ("mov.u64 d2, d0; setp.lt.u32 p1, r0, 0;", "@p1", 0, 0, 0),
        ("mad.wide.u32 d2, r0, 4, d0; setp.lt.u32 p1, r0, 32;", "@p1", 1, 4, 128),
    ],
)
def test_sectors_of_a_kernel(address: str, guard: str, requests: int, sectors: int, nbytes: int) -> None:
    found = _body(f"{address} {guard} ld.global.u32 r1, [d2];").traffic("global load")
    assert (found.requests, found.sectors, found.nbytes) == (requests, sectors, nbytes)
    assert found.used == (nbytes / (32 * sectors) if sectors else 1)


@pytest.mark.parametrize(("low", "high", "requests", "sectors"), [(32, 96, 2, 8), (16, 80, 3, 8), (64, 96, 1, 4)])
def test_a_guard_leaves_whole_warps_or_pieces_of_them(low: int, high: int, requests: int, sectors: int) -> None:
    body = f"""mad.wide.u32 d2, r0, 4, d0; sub.u32 r1, r0, {low}; setp.lt.u32 p1, r1, {high - low};
    @p1 ld.global.u32 r1, [d2];"""
    found = _body(body, threads=96).traffic("global load")
    assert (found.requests, found.sectors, found.nbytes) == (requests, sectors, 4 * (high - low))


def test_vectors_atomics_and_local_memory_of_a_kernel() -> None:
    body = """mad.wide.u32 d2, r0, 16, d0; ld.global.v4.u32 {r1, r2, r3, r4}, [d2]; st.global.v2.u32 [d2], {r1, r2};
    atom.global.add.u32 r5, [d0], 1; mov.u64 d3, mine; st.local.u32 [d3], r1; ld.local.u32 r6, [d3];"""
    memory = emulator.Memory()
    parsed = module(".local .align 4 .b8 mine[64]; " + body)
    found = profile(parsed, "k", (1, 1, 1), (32, 1, 1), (memory.allocate(4096),), memory)
    assert (found.traffic("global load").sectors, found.traffic("global load").used) == (16, 1)
    assert (found.traffic("global store").sectors, found.traffic("global store").used) == (16, 0.5)
    assert found.traffic("global atomic").sectors == 32  # one after another: all lanes update one word
    assert (found.traffic("local store").sectors, found.traffic("local load").used) == (4, 1)
    assert found.accesses == {"load param": 1, "load global": 1, "load local": 1, "store global": 1, "store local": 1}


def test_instructions_branches_and_lanes_of_a_kernel() -> None:
    """40 threads, a warp and a quarter: 8 of each warp take the longer branch."""
    body = """and.b32 r1, r0, 31; setp.lt.u32 p1, r1, 8; @!p1 bra past; add.f32 r2, r2, r2;
    shfl.sync.bfly.b32 r3, r2, 1, 31, 255; past: vote.sync.ballot.b32 r4, p1, 0xffffffff;"""
    found = _body(body, threads=64)
    assert (found.branches, found.divergent, found.branch_efficiency) == (2, 2, 0)
    assert found.warp_instructions["float"] == found.warp_instructions["shuffle"] == 2
    assert (found.thread_instructions["float"], found.thread_instructions["vote"]) == (16, 64)
    assert found.instructions == found.warp_instructions.total()
    assert 8 < found.lanes_active < 32
    uniform = _body("setp.lt.u32 p1, r0, 64; @p1 bra past; mov.u32 r1, 0; past: mov.u32 r1, 1;", threads=40)
    assert (uniform.branches, uniform.divergent, uniform.branch_efficiency) == (2, 0, 1)


def test_the_total_of_launches_and_its_plain_form() -> None:
    one = _body("ld.global.u32 r1, [d1]; st.global.u32 [d1], r1;")
    both = total([one, one])
    assert both.instructions == 2 * one.instructions
    assert both.traffic("global load").sectors == 8
    plain: dict[str, Any] = json.loads(json.dumps(both.to_dict()))
    assert plain["memory"]["global load"]["sectors_per_request"] == 4
    assert plain["branch_efficiency"] == 1
    assert plain["kernel"] == "k, k"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("add.s32 r1, r1, r1;", "integer"), ("fma.rn.f32 r1, r1, r1, r1;", "float"),
        ("setp.lt.f32 p1, r1, r2;", "float"),
        ("cvt.u64.u32 d2, r1;", "convert"), ("mov.b32 r1, r2;", "move"), ("membar.gl;", "fence"),
        ("redux.sync.add.u32 r1, r2, -1;", "vote"), ("red.global.add.u32 [d0], r1;", "atomic"),
        ("bra.uni to; to: mov.b32 r1, r2;", "control"), ("nanosleep.u32 20;", "other"),
    ],
)  # fmt: skip
def test_classes(text: str, kind: str) -> None:
    code = module(text).functions["k"].code
    assert kind in {class_of(ins) for ins in code[3:4]}


def test_a_header_alone_has_no_kernel() -> None:
    assert emulator.parse(HEADER).entries == []
