"""Plans of programs without a fold: accesses in flight, lanes across an array, and threads along few columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.plan.plan import Plan


def plan_of(function: Any, *arrays: Any) -> Plan:
    (found,) = wf.program(function)._planned(arrays, {}, "sm_90a").prepared.steps
    return found.prepared.choice.plan


def scaled(x: Any, w: Any) -> Any:
    return x * w


def added(x: Any, y: Any) -> Any:
    return x + y


def zeros(*shape: int, t: str = "f4") -> Any:
    return np.zeros(shape, t)


def test_wide_accesses_are_two_in_flight() -> None:
    plan = plan_of(added, zeros(1 << 16), zeros(1 << 16))
    assert (plan.vector, plan.warps * plan.lanes, plan.held) == (4, 256, 2)


@pytest.mark.parametrize(("t", "held"), [("f8", 2), ("f4", 4), ("f2", 8)])
def test_narrow_accesses_are_more(t: str, held: int) -> None:
    x = zeros(1 << 16, t=t)[::2]
    plan = plan_of(added, x, x)
    assert (plan.vector, plan.held) == (1, held)


@pytest.mark.parametrize(("n", "threads", "held"), [(49, 16, 4), (7, 2, 4), (3, 1, 3)])
def test_narrow_accesses_to_short_rows_have_fewer_threads(n: int, threads: int, held: int) -> None:
    plan = plan_of(scaled, zeros(64, n), zeros(64, 1))
    assert (plan.lanes * plan.warps, plan.held) == (threads, held)


@pytest.mark.parametrize("t", ["f8", "f4", "f2"])
def test_lanes_stand_along_both_axes_where_an_array_lies_across(t: str) -> None:
    plan = plan_of(added, zeros(256, 256, t=t), zeros(256, 256, t=t).T)
    assert (plan.lanes, plan.warps, plan.vector) == (8, 1, 16 // np.dtype(t).itemsize)


@pytest.mark.parametrize(("columns", "fast"), [(10, "kept"), (256, "kept"), (260, "reduced"), (7, "reduced")])
def test_threads_read_few_weights_once(columns: int, fast: str) -> None:
    plan = plan_of(scaled, zeros(4096, columns), zeros(columns))
    assert plan.fast == fast
    assert plan_of(scaled, zeros(columns - 1, columns), zeros(columns)).fast == "reduced"
    assert plan_of(added, zeros(4096, columns), zeros(4096, columns)).fast == "reduced"
