"""The recorder: single instructions with lanes, registers and accesses, which agree with profiler and results."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from warpfold.commands.emulated import Watched, Work, watch
from warpfold.commands.requests.choose import request_of
from warpfold.runtime.emulator import recorder
from warpfold.runtime.emulator.counters import Profile
from warpfold.runtime.emulator.profiler import Profiler
from warpfold.runtime.emulator.recorder import Place, Recorder, Recording, chosen

OP = {"op": "sum", "shapes": ("8x64",), "axis_text": "1", "plan": "warps=2,warps_kept=1,lanes=32"}


@cache
def seen() -> tuple[Recording, Watched]:
    """Eight rows of two warps each, which meet in shared memory."""
    tool = Recorder()
    watched = watch(Work(request_of(**OP)), tool)
    (recording,) = tool.recordings
    return recording, watched


@cache
def counted() -> Profile:
    tool = Profiler()
    watch(Work(request_of(**OP)), tool)
    return tool.profiles[0]


def test_all_elements_are_read_once_and_all_results_are_written_once() -> None:
    recording, watched = seen()
    for where, verb, array in (("input 0", "read", "input 0"), ("result 0", "written", "result 0")):
        found = [t for t in recording.touched if (t.where, t.verb) == (where, verb)]
        each = [a + k for t in found for a in t.addresses.tolist() for k in range(t.size)]
        assert sorted(set(each)) == list(range(watched.arrays[array].nbytes)), where
    assert recording.beyond == 0


def test_the_instructions_of_a_warp_are_those_that_the_profiler_counts() -> None:
    """Each warp runs each line as often as the profiler says of all warps together: the kernel has no loop."""
    recording, _ = seen()
    warps = recording.grid[0] * recording.per_cta // 32
    assert (warps, len(recording.places)) == (16, 8)
    lines = [m.line for m in recording.moments if m.lanes]
    for line, own in counted().lines.items():
        if own.warp_instructions == warps:
            assert line in lines, own.text
    assert recording.steps == len(recording.moments)


def test_registers_hold_what_was_computed() -> None:
    """The value that is stored is the sum of the row, in the lane that stores it."""
    recording, watched = seen()
    stores = [(m, *own) for m in recording.moments for own in m.accesses.items() if own[1][0].where == "result 0"]
    m, warp, (access,) = stores[0]
    block = next(b for b in recording.program.blocks if b.items[0].ins.line == m.line)
    register = next(op for op, kind in block.items[0].op.reads if kind == "b32")
    held = [
        one.written[register.index][warp] for one in recording.moments if warp in one.written.get(register.index, {})
    ]
    value = held[-1].view(np.float32)[access.lanes[0]]
    assert value == watched.arrays["result 0"][access.addresses[0] // 4]


def test_a_shuffle_names_the_lanes_that_are_read() -> None:
    recording, _ = seen()
    distances = [int(s[0][0]) for m in recording.moments if (s := list(m.sources.values()))]
    assert distances[:5] == [1, 2, 4, 8, 16]


def test_lanes_come_to_a_barrier_and_go_on_and_end() -> None:
    recording, _ = seen()
    full = dict.fromkeys(range(8), 0xFFFFFFFF)
    (barrier,) = [m for m in recording.moments if m.arrived]
    assert (barrier.arrived, barrier.released) == (full, full)
    ended: dict[int, int] = {}
    for m in recording.moments:
        for warp, lanes in m.exited.items():
            assert not ended.get(warp, 0) & lanes
            ended[warp] = ended.get(warp, 0) | lanes
    assert ended == full


def test_costs_are_those_of_the_profiler() -> None:
    """The simple sum: its excess sectors and conflicts are found at the same lines."""
    profiler, tool = Profiler(), Recorder()
    request = request_of("sum", shapes=("2048",), plan="simple")
    watch(Work(request), profiler)
    watch(Work(request), tool)
    lines = {
        m.line
        for one in tool.recordings
        for m in one.moments
        for found in m.accesses.values()
        for a in found
        if a.where in ("input 0", "shared") and a.taken > a.ideal
    }
    (profile, *_) = profiler.profiles
    assert lines <= {n for n, own in profile.lines.items() if own.sectors > own.ideal_sectors or own.conflicts}


@pytest.mark.parametrize(
    ("ctas", "warps", "places"),
    [
        (1, 2, [(0, 0), (0, 1)]),
        (1, 32, [(0, k) for k in range(8)]),
        (2, 1, [(0, 0), (1, 0)]),
        (16, 4, [(cta, k) for cta in (0, 15) for k in range(4)]),
        (100, 1, [(cta, 0) for cta in (0, 1, 2, 3, 4, 5, 6, 99)]),
    ],
)
def test_the_chosen_warps_are_those_of_the_first_and_the_last_cta(
    ctas: int, warps: int, places: list[tuple[int, int]]
) -> None:
    assert chosen(ctas, warps) == [Place(*p) for p in places]


def test_what_is_not_kept_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "STEPS", 10)
    monkeypatch.setattr(recorder, "ACCESSES", 100)
    tool = Recorder()
    watch(Work(request_of(**OP)), tool)
    (found,) = tool.recordings
    assert len(found.moments) == 10 < found.steps == seen()[0].steps
    assert found.beyond == sum(t.threads.size for t in seen()[0].touched) - sum(t.threads.size for t in found.touched)
