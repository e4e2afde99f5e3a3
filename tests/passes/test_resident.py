"""The number of CTAs that a kernel asks an SM to hold; ``test_catalogue.py`` tests that nothing spills then."""

from __future__ import annotations

import re
from typing import Any

import pytest

import warpfold as wf
from warpfold.compiler.driver.compile import compile_program
from warpfold.passes import steps
from warpfold.runtime import api
from warpfold.runtime.prepare import artifact


def asked(what: str, shape: tuple[int, ...], t: str, axis: int, arch: str, plan: str = "") -> int:
    """The CTAs that the PTX asks for; 0 where it asks for none."""
    ready = api.plan_for(what, shape, t, axis=axis, arch=arch, plan=plan)
    choice = ready.choice
    text = compile_program(ready.program, choice.facts, choice.plan, ready.target, steps(ready.target)).ptx
    found = re.findall(r"\.minnctapersm (\d+)", text)
    assert len(found) <= 1
    return int(found[0]) if found else 0


@pytest.mark.parametrize(
    ("what", "t", "shape", "ctas"),
    [
        ("sum", "f32", (1 << 14, 4096), 4),  # half the threads: 16 values in flight
        ("sum", "f32", (1 << 25, 512), 3),  # offsets of 64 bits take registers of their own
        ("max", "i32", (1 << 14, 4096), 3),  # integers that are compared
        ("max", "i16", (1 << 14, 4096), 3),  # short ones are taken apart first
        ("sum", "i16", (1 << 14, 4096), 3),  # as they are
        ("sum", "i16", (1 << 17, 512), 0),  # eight sums of 64 bits, which 32 might not hold
        ("sum", "f32", (1 << 16, 257), 4),  # staggered warps, as aligned columns
        ("argmax", "f16", (1 << 16, 257), 3),
        ("var", "f32", (1 << 14, 4096), 2),  # states of several values
        ("sum", "f32", (1 << 20, 9), 2),  # periods, of twice the threads
        ("mean_var", "f16", (1 << 20, 9), 1),  # three values for each of eight places
        ("logsumexp", "bool", (1 << 20, 9), 2),  # two values of 64 bits for each of four
    ],
)
def test_columns_get_the_registers_that_their_states_need(what: str, t: str, shape: tuple[int, ...], ctas: int) -> None:
    """8 CTAs of 256 threads fill an SM of 2048."""
    assert asked(what, shape, t, 0, "sm_90a") == ctas


@pytest.mark.parametrize(("arch", "ctas"), [("sm_75", 2), ("sm_80", 4), ("sm_86", 3), ("sm_90a", 4), ("sm_120", 3)])
def test_the_bound_follows_the_threads_of_the_target(arch: str, ctas: int) -> None:
    assert asked("sum", (1 << 14, 4096), "f32", 0, arch) == ctas


@pytest.mark.parametrize(
    ("what", "t", "n", "ctas"), [("sum", "f32", 1024, 16), ("argmax", "f32", 1024, 0), ("mean_var", "f16", 100_001, 2)]
)
def test_rows_fill_an_sm_or_have_no_bound_except_many_masked_states(what: str, t: str, n: int, ctas: int) -> None:
    assert asked(what, ((1 << 30) // n, n), t, 1, "sm_90a") == ctas


def test_a_large_cta_gets_half_an_sm() -> None:
    assert asked("var", (4096, 300), "f64", 0, "sm_90a", "simple") == 1


@pytest.mark.parametrize(
    ("program", "n", "ctas"), [(wf.log_softmax, 131_071, 2), (wf.log_softmax, 80_001, 0), (wf.standardize, 131_071, 0)]
)
def test_an_sm_holds_two_ctas_of_long_straight_line_code(program: Any, n: int, ctas: int) -> None:
    """Without a number a thread of the first has 191 registers. Less code has fewer, and gets more by a number."""
    (step,) = program._planned(((((1 << 24) // n, n), "f32"),), {}, "sm_90a").prepared.steps
    found = re.findall(r"\.minnctapersm (\d+)", artifact(step.prepared).ptx)
    assert found == [str(ctas)] * (ctas > 0)
