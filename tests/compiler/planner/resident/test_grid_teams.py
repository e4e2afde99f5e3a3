"""Teams of CTAs that take tiles in turn: for which columns, and how much a CTA holds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warpfold.compiler.dtypes import BF16, F32, DType
from warpfold.compiler.plan.shared_memory import shared_bytes
from warpfold.compiler.planner.resident.choose import choose
from warpfold.compiler.program import functions
from warpfold.compiler.program.graph import Program
from warpfold.compiler.program.values import cast
from warpfold.compiler.target import TARGETS

sys.path.insert(0, str(Path(__file__).parents[3] / "passes"))
from kernel_programs import operand, softmax, task_of, total

H100 = TARGETS["sm_90a"]


def _backward(t: DType, *, heavy: bool = False) -> Program:
    """Two arrays wait: elements of one, and a gradient."""
    y, d = operand(0, t), operand(1, t)
    y = functions.exp(y) if heavy else y
    return Program("backward", (t, t), (cast(y * (d - total(y * d)), t).expr,))


def _choice(program: Program, shape: tuple[int, int], plan: str = "") -> Any:
    """The choice for arrays that take no memory, folded over the first axis."""
    item = program.inputs[0].itemsize
    x = np.lib.stride_tricks.as_strided(np.zeros(8, program.inputs[0].numpy), shape, (item * shape[1], item))
    return choose(task_of(program, [x] * (len(program.inputs) + 1), (1,), H100), plan)


@pytest.mark.parametrize(
    ("program", "shape", "taken"),
    [
        (_backward(F32), (16384, 8192), True),
        (_backward(F32, heavy=True), (16384, 8192), True),
        (_backward(F32), (8192, 8192), False),
        (_backward(BF16), (8192, 8192), True),
        (_backward(BF16, heavy=True), (8192, 8192), False),
        (_backward(F32), (2048, 32768), False),
        (_backward(F32), (16384, 256), False),
        (_backward(F32), (16383, 8190), False),
        (_backward(BF16), (2048, 32768), False),
        (softmax(F32), (8192, 8192), False),
    ],
)
def test_which_columns_teams_take(program: Program, shape: tuple[int, int], taken: bool) -> None:
    """Long ones of two arrays, that whole accesses read."""
    assert _choice(program, shape).plan.in_teams == taken


@pytest.mark.parametrize("shape", [(16384, 8192), (16384, 16384), (16384, 4096)])
@pytest.mark.parametrize("t", [F32, BF16])
def test_all_ctas_run_at_a_time(t: DType, shape: tuple[int, int]) -> None:
    choice = _choice(_backward(t), shape)
    plan, run = choice.plan, choice.run
    assert plan.slots * t.itemsize == 128
    assert run.split * run.teams <= H100.sms * plan.persistent
    assert run.split * run.chunk >= shape[0]
    waiting = 2 * plan.held * plan.threads * plan.vector * t.itemsize
    shared = shared_bytes(plan, 4) + waiting + H100.reserved_shared
    assert plan.persistent * shared <= H100.shared_per_sm
    turns = -(-run.tiles // run.teams) * run.chunk * plan.slots * H100.sms * plan.persistent
    assert shape[0] * shape[1] > 0.85 * turns


def test_teams_that_are_asked_for() -> None:
    plan = _choice(softmax(F32), (8192, 8192), "resident=grid,persistent=3").plan
    assert (plan.in_teams, plan.persistent) == (True, 3)
    assert _choice(softmax(F32), (8192, 8192), "resident=grid,persistent=3,held=5").plan.held == 5
