"""How many accesses a thread keeps of rows of many lengths, and which lengths then share a kernel."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from warpfold.compiler.dtypes import F16, F32, DType
from warpfold.compiler.errors import PlanError
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.resident import held
from warpfold.compiler.planner.task import Choice
from warpfold.compiler.target import TARGETS

sys.path.insert(0, str(Path(__file__).parents[3] / "passes"))
from kernel_programs import layer_norm, softmax, task_of


def _choice(rows: int, columns: int, wanted: str = "", arch: str = "sm_90a", t: DType = F16) -> Choice:
    item = t.numpy.itemsize
    x = np.lib.stride_tricks.as_strided(np.zeros(4, t.numpy), (rows, columns), (columns * item, item))
    return choose(task_of(softmax(t), [x, x], (0,), TARGETS[arch], "run"), wanted)


@pytest.mark.parametrize(
    "lengths",
    [range(20_001, 26_000, 1000), range(60_001, 106_000, 8000)],  # in the shared memory of a CTA, and of a cluster
)
def test_rows_of_many_lengths_share_a_kernel(lengths: range) -> None:
    found = [_choice(1000, n, "warps=8") for n in lengths]
    assert len({(c.plan, c.facts) for c in found}) == 1
    assert len({c.run.chunk for c in found}) > 1


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_slots_of_a_loop_are_as_many_as_fit_a_cta(arch: str) -> None:
    found = _choice(1000, 20_001, "warps=8", arch)
    each = found.plan.threads * found.plan.vector * 2
    assert found.run.chunk == 10 * found.plan.threads * found.plan.vector  # of which a launch uses these
    assert found.plan.held * each <= TARGETS[arch].shared_per_cta < (found.plan.held + 2) * each


@pytest.mark.parametrize(("t", "walked"), [(F16, True), (F32, False)])
def test_straight_line_code_serves_words_without_weights(t: DType, walked: bool) -> None:
    assert _choice(1000, 20_001, t=t).facts.walked == walked
    assert not _choice(1000, 20_000, t=t).facts.walked  # aligned


def test_few_rows_are_not_walked() -> None:
    assert not _choice(100, 20_001).facts.walked


def test_rows_with_weights_are_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "LARGE", 0)
    x, w, mean = np.zeros((4, 1003), np.float32), np.zeros((1, 1003), np.float32), np.zeros((4, 1), np.float32)
    task = task_of(layer_norm(), [x, w, w, x, mean], (0,), TARGETS["sm_90a"])
    choice = choose(task, "lanes=32,warps=1,vector=4,resident=shared")
    assert choice.facts.walked
    assert choice.plan.held > held.needed(task, choice.plan) == -(-(1003 + 3) // 128)
    assert choice.facts.leading == (1, 2)
    w = np.zeros((1, 2007), np.float32)
    for weights in (w[:, 1:1004], w[:, :2005:2]):  # which do not begin at a boundary, or lie apart
        task = task_of(layer_norm(), [x, weights, w[:, :1003], x, mean], (0,), TARGETS["sm_90a"])
        assert choose(task, "lanes=32,warps=1,vector=4,resident=shared").facts.leading == (2,)


@pytest.mark.parametrize("asked", [10, 56])
def test_a_plan_may_name_what_its_row_needs_or_what_it_has(asked: int) -> None:
    assert _choice(1000, 20_001, f"warps=8,held={asked}").plan.held == 56
    with pytest.raises(PlanError, match=r"WF424: the threads of a row keep 10 access\(es\) each, and held=11 asks"):
        _choice(1000, 20_001, "warps=8,held=11")


@pytest.mark.parametrize(
    ("rows", "columns", "wide"),
    [
        (132, 32_768, True),
        (64, 32_768, False),  # two SMs a row
        (64, 24_576, True),  # of few accesses a thread
        (32, 24_576, False),
        (133, 24_576, False),  # an SM has two rows
        (132, 24_577, False),  # rows that begin anywhere
        (132, 40_960, False),
    ],
)
def test_rows_of_one_sm_each_wait_in_the_registers_of_a_wide_cta(rows: int, columns: int, wide: bool) -> None:
    plan = _choice(rows, columns).plan
    assert ((plan.resident, plan.positions, plan.cluster) == ("registers", 512, 1)) == wide
