"""Rows that the grid shares: which, and how much of them waits where."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warpfold.compiler.dtypes import F16, F32, DType
from warpfold.compiler.errors import PlanError
from warpfold.compiler.planner.resident.choose import choose
from warpfold.compiler.program.graph import Program
from warpfold.compiler.target import TARGETS

sys.path.insert(0, str(Path(__file__).parents[3] / "passes"))
from kernel_programs import layer_norm, operand, softmax, task_of, total

H100 = TARGETS["sm_90a"]
M = 1 << 20


def _long(shape: tuple[int, int], t: Any = np.float32) -> Any:
    """An array of zeros that takes no memory."""
    item = np.dtype(t).itemsize
    return np.lib.stride_tricks.as_strided(np.zeros(4, t), shape, (item * shape[1], item))


def _choice(program: Program, shape: tuple[int, int], t: DType = F32, kept: int = 0, plan: str = "") -> Any:
    """The choice for an array, and a result, of the size of a row each: they take no memory."""
    x = _long(shape, t.numpy)
    return choose(task_of(program, [x, x], (kept,), H100), plan)


def _scaled(t: DType = F32) -> Program:
    """An element needs few instructions."""
    x = operand(0, t)
    return Program("scaled", (t,), ((x * total(x)).expr,))


@pytest.mark.parametrize("t", [F32, F16])
@pytest.mark.parametrize(
    ("rows", "megabytes", "waits"),
    [(1, 1, False), (1, 2, True), (1, 64, True), (16, 48, True), (16, 64, False), (40, 40, True), (50, 44, False)],
)
def test_rows_of_a_few_megabytes_are_shared_by_the_grid(rows: int, megabytes: int, waits: bool, t: DType) -> None:
    """With more in all, 16 rows wait in the L2 cache; 50 rows would leave 32 of 132 CTAs without a part."""
    choice = _choice(softmax(t), (rows, megabytes * M // t.itemsize // rows // 8 * 8), t)
    assert (choice.plan.resident == "grid") == waits
    assert not waits or 0.9 * H100.sms <= choice.run.tiles * choice.run.split <= H100.sms


def test_large_arrays_wait_in_registers_too_if_an_element_needs_few_instructions() -> None:
    for megabytes, heavy, light in ((32, (16, 0), (16, 0)), (64, (16, 0), (16, 16))):
        shape = 1, megabytes * M // 4
        plans = [_choice(program, shape).plan for program in (softmax(), _scaled())]
        assert [(p.warps, p.in_registers) for p in plans] == [heavy, light]
        assert {p.resident for p in plans} == {"grid"}
    assert _choice(_scaled(F16), (1, 32 * M), F16).plan.in_registers == 8


def test_a_cta_keeps_what_its_shared_memory_has_room_for() -> None:
    choice = _choice(softmax(), (1, 16 * M), plan="resident=grid,warps=16")
    states = choice.plan.shared_bytes(8)
    assert choice.plan.held == (H100.shared_per_cta - states) // (512 * 16)
    with pytest.raises(PlanError, match=r"WF429: resident=grid: .* sm_90a gives 232448"):
        _choice(softmax(), (1, 16 * M), plan=f"resident=grid,warps=16,held={choice.plan.held + 1}")


def test_columns_are_shared_if_they_are_read_by_whole_accesses() -> None:
    for columns, waits in ((64, True), (63, False)):
        x = _long((8 * M // columns, columns))
        try:
            found = choose(task_of(_scaled(), [x, x], (1,), H100)).plan
        except PlanError:
            found = None
        assert (found is not None and found.resident == "grid") == waits
        asked = choose(task_of(_scaled(), [x, x], (1,), H100), "resident=grid").plan
        assert (asked.resident, asked.fast) == ("grid", "kept")


def test_weights_count_with_the_rows() -> None:
    for columns, waits in ((4 * M, True), (8 * M, False)):
        x, w = _long((2, columns)), _long((1, columns))
        task = task_of(layer_norm(), [x, w, w, x], (0,), H100)
        if waits:
            assert choose(task).plan.resident == "grid"
        else:
            with pytest.raises(PlanError, match="WF423"):
                choose(task)
