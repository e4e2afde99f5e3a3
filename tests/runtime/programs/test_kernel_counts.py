"""How many kernels calls of a program ask for, and that rows of any length have plans."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from covering import covering

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))
from program_calls import LARGE, PRACTICE, RANDOM, kernels, planned
from program_kernels import Call, gradient, whole

import warpfold as wf
from warpfold.compiler.driver.compile import compile_program, session
from warpfold.compiler.driver.pipeline import lowered, op_names
from warpfold.compiler.dtypes import BF16, F32
from warpfold.compiler.ir import build
from warpfold.compiler.ir.emit import emit
from warpfold.compiler.plan.kernels import kernels as kernels_of
from warpfold.passes import steps

MOST = {
    "softmax": 170, "softmax along any axis": 215, "layer_norm": 190, "batch_norm": 197, "cross_entropy": 160,
}  # fmt: skip
"""Kernels that so many random calls ask for, at most: a change of plans that needs more of them is seen here.

``python tests/program_calls.py`` counts those of 1,000 calls.
"""
CALLS = 250
FEW = 54
"""The same with ``plan="few"``, of any size and of large arrays."""
MANY_CALLS, FEW_OF_MANY = 1000, 60
"""So many calls with ``plan="few"`` ask for so many kernels at most, of programs and arrays that ask for most."""
ROWS = sorted({max(1, 2**k + d) for k in range(32) for d in (-1, 0, 1) if 2**k + d <= 2**31})
WALKS = 11
"""Walks through the IR of one kernel, each of which takes time for every op."""
PTX_BYTES = 100_000
"""The most PTX of a call in practice: compiling takes 0.5 to 0.8 ms of CPU time for each KB, and 120 ms is the goal."""

LONG, IMAGES = whole((4, 2**20), BF16), whole((2, 10, 999, 1001), BF16)
LONG_ROW, SINGLE = whole(LONG.shape[1:], BF16), whole(LONG.shape, F32)
ODD = whole((3, 2**22 + 3), BF16)
SLOW = {
    "rows of the grid": (
        Call("", "add_layer_norm", {"x": LONG, "residual": LONG, "weight": LONG_ROW, "bias": LONG_ROW}, 2),
        4_700, 5_000, 8_700,
    ),
    "rows of the grid that begin anywhere": (Call("", "softmax", {"x": ODD}), 5_900, 6_800, 8_400),
    "exponentials": (Call("", "softmax", {"x": SINGLE}), 4_400, 3_800, 6_200),
    "cut chunks in the L2 cache": (Call("", "instance_norm", {"x": IMAGES}), 5_200, 6_700, 8_300),
}  # fmt: skip
"""Gradients whose kernels take longest to compile. For each: the ops that our passes make at most, which cost Python's
time, those that LLVM is given, and the instructions that it selects, 4 us each."""


@covering(("dtype", ["f32", "bf16"]), ("name", RANDOM))
def test_random_calls_ask_for_no_more_kernels_than_they_did(name: str, dtype: str) -> None:
    assert len(kernels(name, dtype, CALLS)) <= MOST[name]


@covering(("least", [0, LARGE]), ("dtype", ["f32", "bf16"]), ("name", RANDOM))
def test_few_kernels_serve_random_calls(name: str, dtype: str, least: int) -> None:
    assert len(kernels(name, dtype, CALLS, least, "few")) <= FEW


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("name", ["softmax along any axis", "batch_norm"])
def test_few_kernels_serve_many_calls(name: str, dtype: str) -> None:
    assert len(kernels(name, dtype, MANY_CALLS, LARGE, "few")) <= FEW_OF_MANY


@covering(("dtype", ["f32", "bf16", "f64", "f8e4m3fn"]), ("name", ["softmax", "layer_norm", "rms_norm", "standardize"]))
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


@pytest.mark.parametrize("name", SLOW)
def test_the_largest_kernels_have_few_ops(name: str) -> None:
    call, *most = SLOW[name]
    ready = gradient(call)[0].prepared
    choice, lowering = ready.choice, steps(ready.target, ready.choice.plan)
    labels = [label for label, _ in lowering]
    with session():
        module = emit([k for _, k in kernels_of(ready.program, choice.facts, choice.plan)], ready.target)
        parts = [lowering[: labels.index(label)] for label in ("unroll-loops", "ptx")]
        counts = [sum(op_names(lowered(part, module)).values()) for part in parts]
    made = compile_program(ready.program, choice.facts, choice.plan, ready.target, lowering)
    counts.append(len(re.findall(r"^\t(?!\.)", made.ptx, re.MULTILINE)))
    assert all(count <= limit for count, limit in zip(counts, most, strict=True)), (counts, most)
