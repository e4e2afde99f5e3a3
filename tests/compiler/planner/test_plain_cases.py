"""The benchmark's plain cases, without a GPU: their plans, their code, and the bytes that they fetch."""

from __future__ import annotations

import re
from math import prod

import numpy as np
import plain_plans
import pytest

from warpfold.commands.bench.cases import PLAIN, Case
from warpfold.commands.levels import plan_words
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.planner.columns import SEVERAL_REGISTERS
from warpfold.runtime import api
from warpfold.runtime.backends.emulator_backend import emulator
from warpfold.runtime.emulator.counters import Profile
from warpfold.runtime.emulator.profiler import Profiler
from warpfold.runtime.emulator.traffic import SECTOR

SMALL = 1 << 16
"""Elements that are profiled of a case, at most about."""
CASES = list(PLAIN.values())


@pytest.fixture(scope="module")
def recorded() -> dict[str, str]:
    return plain_plans.recorded()


def test_the_page_has_every_case(recorded: dict[str, str]) -> None:
    assert list(recorded) == list(PLAIN)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_plan_code_and_registers_are_those_of_the_page(case: Case, recorded: dict[str, str]) -> None:
    """``python tests/plain_plans.py`` writes the page anew."""
    assert plain_plans.block(case).splitlines() == recorded[case.name].splitlines()


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_the_main_loop_reads_16_bytes_at_a_time_and_nothing_spills(case: Case, recorded: dict[str, str]) -> None:
    """Whatever the page says. Without vectors only where the layout has none: then the reason stands there.

    Half as wide only along columns whose states are large (``narrowest``).
    """
    text = recorded[case.name]
    steps = [line.partition(";")[0] for line in text.splitlines() if ": step " in line]
    assert steps
    bits = [int(n) for step in steps for n in re.findall(r" x (\d+) bits", step)]
    assert "not     vector=" in text or min(bits) >= narrowest(case)
    assert all(" 0 spilled" in line for line in text.splitlines() if "sm_90a:" in line)


def narrowest(case: Case) -> int:
    """Bits of an access in the main loop, at least.

    A thread has a state for each element of an access along the kept axis. Where a state takes SEVERAL_REGISTERS and
    more, as a variance's do, wide accesses leave room for few in flight; then more of them are worth more than their
    width.
    """
    ready = plain_plans.planned(case)
    large_states = ready.choice.plan.fast == "kept" and ready.task.state_registers >= SEVERAL_REGISTERS
    return 64 if large_states else 128


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_every_byte_fetched_is_used(case: Case) -> None:
    """Smaller arrays under the same plan: every byte of every sector is used, and each is fetched once.

    Warps past the end of a row ask for one sector each, which another warp has already. Rows that begin between
    boundaries share sectors with their neighbours, and so do the warps of a row; heads and ends are read one by one,
    which 16 warps do for a whole step.
    """
    choice = plain_plans.planned(case).choice
    shape = smaller(case, choice.plan)
    profile = profiled(case, shape, plan_words(choice.plan))
    loads = [line for line in profile.lines.values() if line.text.startswith("ld.global.nc")]
    fetched, least = (sum(getattr(line, name) for line in loads) for name in ("sectors", "ideal_sectors"))
    needed = prod(shape) * case.dtype.itemsize / SECTOR
    if set(choice.facts.access) == {"aligned"}:
        assert fetched == least
        assert needed <= fetched <= needed + sum(line.warp_instructions for line in loads)
    else:
        assert needed <= fetched <= (1.3 if choice.plan.warps == 16 else 1.2) * needed


def smaller(case: Case, plan: Plan) -> tuple[int, ...]:
    """The shape with its sizes halved, the largest first, until few elements are left.

    A CTA keeps its results, and a row four steps of the main loop, or what it had.
    """
    shape = list(case.shape)
    while prod(shape) > SMALL:
        kept, reduced = (prod(n for a, n in enumerate(shape) if (a in case.axis) is r) for r in (False, True))
        room = [a for a, n in enumerate(shape) if a in case.axis and n % 128 == 0 and reduced >= 8 * plan.tile]
        room += [a for a, n in enumerate(shape) if a not in case.axis and n > 1 and kept >= 2 * plan.slots]
        if not room:
            break
        shape[max(room, key=lambda a: shape[a])] //= 2
    return tuple(shape)


def profiled(case: Case, shape: tuple[int, ...], plan: str) -> Profile:
    """The profile of the kernel that reads the array."""
    x = np.ones(prod(shape) * case.dtype.itemsize + 64, np.uint8)
    first = -x.ctypes.data % 32
    x = x[first : first + prod(shape) * case.dtype.itemsize].view(case.dtype.numpy).reshape(shape)
    tool = Profiler()
    backend = emulator()
    backend.tool = tool
    try:
        api.reduce(x, case.what, axis=case.axis, plan=plan, device="emulator")
    finally:
        backend.tool = None
    return tool.profiles[0]


def test_a_smaller_case_has_the_same_plan() -> None:
    assert smaller(PLAIN["row.max.f32.8191x8191"], Plan(warps=8)) == (7, 8191)
    assert smaller(PLAIN["full.sum.f32.268435456"], Plan(warps=8)) == (SMALL,)
    assert smaller(PLAIN["col.sum.f32.8192x8192"], Plan("kept", vector=4, lanes=4, warps=8)) == (256, 256)
