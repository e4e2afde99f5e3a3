"""The speed of the emulator: limits on processor time for a CI machine with two cores, for the better of two runs.

The limits are several times what a run takes, so they catch a step whose cost has changed its order, but not load.
"""

from __future__ import annotations

import time

import numpy as np
import pytest
from covering import some

import warpfold as wf
from warpfold.compiler.plan.ladder import RUNGS

LIMIT = 20.0
"""Seconds for 2^20 elements under any rung of the ladder."""


def seconds(plan: str, elements: int) -> float:
    """The better of two sums; the first one compiles."""
    x = np.random.default_rng(0).standard_normal(elements, dtype=np.float32)
    times = []
    for _ in range(2):
        start = time.process_time()
        wf.sum(x, plan=plan, determinism="none")
        times.append(time.process_time() - start)
    return min(times)


def test_four_million_elements_under_the_default_plan() -> None:
    assert seconds("default", 1 << 22) < 4.0


@pytest.mark.parametrize("plan", some([rung.name for rung in RUNGS if rung.name != "serial"], 10))
def test_a_million_elements_under_a_rung(plan: str) -> None:
    assert seconds(plan, 1 << 20) < LIMIT


def test_one_thread_alone() -> None:
    """The slowest rung, a sixteenth of its million elements: every step is one element's."""
    assert seconds("serial", 1 << 16) < LIMIT / 16
