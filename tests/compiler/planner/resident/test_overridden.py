"""Options of plans by which rows are read again: those that they have, and refusals of others."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.errors import PlanError
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.program.graph import KEPT
from warpfold.compiler.target import TARGETS

sys.path.insert(0, str(Path(__file__).parents[3] / "passes"))
from kernel_programs import scaled, softmax, task_of


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("held=0", "WF403: .*held cannot be 0: expected a number from 1 to 64"),
        ("cluster=2", "WF425: .*cluster=2 is for other"),
    ],
)
def test_chunks_have_accesses_and_no_clusters(asked: str, message: str) -> None:
    x = np.zeros((4, 1024), np.float32)
    with pytest.raises(PlanError, match=message):
        choose(task_of(softmax(), [x, x], (0,), TARGETS["sm_90a"]), f"resident=l2,{asked}")


def test_the_accesses_that_threads_keep_follow_from_the_row() -> None:
    x = np.zeros((4, 1024), np.float32)
    task = task_of(softmax(), [x, x], (0,))
    assert choose(task, "lanes=32,warps=1").plan.held == 8
    with pytest.raises(PlanError, match=r"WF424: the threads of a row keep 8 access\(es\) each, and held=4 asks"):
        choose(task, "lanes=32,warps=1,held=4")


@pytest.mark.parametrize(
    ("asked", "key", "only"),
    [("finish=atomic", "finish=atomic", "cta"), ("walk=blocked", "walk=blocked", "interleaved"),
     ("fast=both", "fast=both", "reduced or kept"), ("resident=", "resident=", "registers or shared or .* or memory"),
     ("coarsening=4,finish=last_block", "coarsening=4", "0")],
)  # fmt: skip
def test_fields_that_rows_that_are_read_again_do_not_have(asked: str, key: str, only: str) -> None:
    x = np.zeros((4, 1024), np.float32)
    with pytest.raises(PlanError, match=rf"WF425: .* owns each: {key} is for other programs\n.*or set {only}"):
        choose(task_of(softmax(), [x, x], (0,), TARGETS["sm_90a"]), asked)


def test_a_residency_that_there_is_not() -> None:
    x = np.zeros((4, 1024), np.float32)
    with pytest.raises(PlanError, match=r"WF403: plan field resident cannot be 'sharde': expected one of .*shared"):
        choose(task_of(softmax(), [x, x], (0,), TARGETS["sm_90a"]), "resident=sharde")


def test_rows_of_any_length_are_walked_in_memory_if_asked_for() -> None:
    x = np.lib.stride_tricks.as_strided(np.zeros(4, np.float32), (4, 1 << 22), (4 << 22, 4))
    plan = choose(task_of(softmax(), [x, x], (0,), TARGETS["sm_90a"]), "resident=memory").plan
    assert (plan.resident, plan.held, plan.unroll) == ("memory", 0, 4)
    text = "WF426: resident=registers: a row has 16777216 bytes: a thread would keep 4096 accesses, at most 64"
    with pytest.raises(PlanError, match=text):
        choose(task_of(softmax(), [x, x], (0,), TARGETS["sm_90a"]), "resident=registers")


@pytest.mark.parametrize("asked", ["resident=memory", "cluster=2"])
def test_a_program_without_a_fold_has_no_rows_that_wait(asked: str) -> None:
    x = np.zeros((4, 1024), np.float32)
    task = task_of(scaled(KEPT), [x, x[:1], x[:, :1], x], (0,))
    assert choose(task, "lanes=8,held=4").plan.held == 4
    with pytest.raises(PlanError, match=f"WF427: scaled reads each element once, so that no row waits: {asked}"):
        choose(task, asked)


@pytest.mark.parametrize(
    ("shape", "axis", "asked", "found"),
    [((64, 3), 0, "fast=kept,vector=4", "WF407: .*needs 4 rows, and there are 3"),
     ((5, 3), 1, "accesses=single,vector=4", "WF407: .*needs 4 elements of a row, and there are 3"),
     ((5, 3), 1, "accesses=single,fast=reduced", 1), ((5, 37), 1, "accesses=single,vector=4", 4),
     ((5, 64), 1, "fast=kept", 4), ((1, 64), 1, "fast=kept", 1),
     ((64, 5), 0, "resident=l2,fast=kept,vector=4", "WF407: .*needs unit stride, whole vectors and aligned rows"),
     ((64, 5), 0, "resident=l2,fast=kept", 1), ((64, 8), 0, "resident=l2,fast=kept", 4)],
)  # fmt: skip
def test_no_access_goes_across_more_rows_than_there_are(
    shape: tuple[int, ...], axis: int, asked: str, found: int | str
) -> None:
    """Where states of rows wait in memory, an access has whole rows of its own."""
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    call = partial(wf.softmax, x, axis=axis, plan=asked, device="emulator")
    if isinstance(found, str):
        with pytest.raises(PlanError, match=found):
            call()
        return
    (step,) = wf.softmax._planned([x], {"axis": axis, "plan": asked}, "sm_90a").prepared.steps
    assert step.prepared.choice.plan.vector == found
    e = np.exp(x)
    np.testing.assert_allclose(call(), e / e.sum(axis, keepdims=True), rtol=1e-5)


def test_values_of_rows_are_written_by_whole_accesses() -> None:
    def centred(x: Any) -> Any:
        m = wf.mean(x, axis=0, keepdims=True)
        return x - m, m

    x = np.random.default_rng(0).standard_normal((8, 6)).astype(np.float32)
    rest, means = wf.program(centred)(x, plan="fast=kept,lanes=4,warps=1,warps_kept=2", determinism="portable")
    np.testing.assert_allclose(means, x.mean(0, keepdims=True), atol=1e-6)
    np.testing.assert_allclose(rest, x - x.mean(0), atol=1e-6)
    with pytest.raises(PlanError, match=r"WF407: .*whole vectors"):
        wf.program(centred)(x, plan="fast=kept,vector=4")
