"""How many kernels calls of a program ask for, and that rows of any length have plans."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
from program_calls import LARGE, PRACTICE, RANDOM, kernels, planned

import warpfold as wf
from warpfold.compiler.driver.compile import compile_program
from warpfold.compiler.ir import build
from warpfold.passes import steps

MOST = {
    "softmax": 170, "softmax along any axis": 215, "layer_norm": 190, "batch_norm": 197, "cross_entropy": 160,
}  # fmt: skip
"""Kernels that so many random calls ask for, at most: a change of plans that needs more of them is seen here.

``python tests/program_calls.py`` counts those of 1,000 calls.
"""
CALLS = 250
FEW = 54
"""The same with ``plan="few"``, of any size and of large arrays: 1,000 calls ask for at most 60."""
ROWS = sorted({max(1, 2**k + d) for k in range(32) for d in (-1, 0, 1) if 2**k + d <= 2**31})
WALKS = 11
"""Walks through the IR of one kernel, each of which takes time for every op."""
PTX_BYTES = 100_000
"""The most PTX of a call in practice: compiling takes 0.5 to 0.8 ms of CPU time for each KB, and 120 ms is the goal."""


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("name", RANDOM)
def test_random_calls_ask_for_no_more_kernels_than_they_did(name: str, dtype: str) -> None:
    assert len(kernels(name, dtype, CALLS)) <= MOST[name]


@pytest.mark.parametrize("least", [0, LARGE])
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("name", RANDOM)
def test_few_kernels_serve_random_calls(name: str, dtype: str, least: int) -> None:
    assert len(kernels(name, dtype, CALLS, least, "few")) <= FEW


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f64", "f8e4m3fn"])
@pytest.mark.parametrize("name", ["softmax", "layer_norm", "rms_norm", "standardize"])
def test_rows_of_every_length_have_a_plan(name: str, dtype: str) -> None:
    for n in ROWS:
        found = planned(name, ((((3, n), dtype),), {}))
        assert found.steps
        own = [s.prepared.choice for s in found.steps if s.step.program.reads_again]
        for choice in own:  # what waits covers the row
            plan = choice.plan
            waits = plan.positions * plan.cluster * plan.held * plan.vector_reduced
            assert plan.resident == "memory" or waits >= n or choice.run.split > 1


def test_rows_of_every_length_have_a_portable_plan() -> None:
    for n in ROWS:
        assert wf.softmax._planned([((3, n), "f32")], {"determinism": "portable"}, "sm_90a").prepared.steps


@pytest.mark.parametrize("name", PRACTICE)
def test_calls_in_practice_compile_in_few_walks_to_little_ptx(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    walks, walk = [0], build._walk

    def counted(operation: Any, notes: Any) -> None:
        walks[0] += operation.name == "builtin.module"
        walk(operation, notes)

    monkeypatch.setattr(build, "_walk", counted)
    nbytes = 0
    for step in planned(*PRACTICE[name]).steps:
        ready, walks[0] = step.prepared, 0
        made = compile_program(ready.program, ready.choice.facts, ready.choice.plan, ready.target, steps(ready.target))
        assert walks[0] <= WALKS
        nbytes += len(made.ptx)
    assert nbytes <= PTX_BYTES
