"""Kernels whose accesses go on from one column in the next: any number of rows lie abreast. Run under the sanitizer."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import kernel_programs
import numpy as np
import pytest
from covering import covering
from kernel_programs import operand, placed, run, softmax, three_phases, total, untouched_around

from warpfold.compiler.dtypes import F16, F32
from warpfold.compiler.errors import PlanError
from warpfold.compiler.program.graph import Program
from warpfold.compiler.target import DEFAULT
from warpfold.runtime.emulator.sanitizer import Sanitizer

ABREAST = "resident=grid,fast=kept,abreast=1"
PERIODS = f"{ABREAST},lanes=1,warps=1"
KEPT = "held=1,unroll=1,in_registers=2", "held=2,unroll=2"


@pytest.fixture(autouse=True)
def _few_ctas(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of few SMs, so that a CTA has several wide rows of a small array."""
    few = partial(kernel_programs.task_of, target=DEFAULT._replace(sms=40))
    monkeypatch.setattr(kernel_programs, "task_of", few)


def _array(shape: tuple[int, ...], dtype: Any, begin: int = 0) -> tuple[Any, Any]:
    """An array that begins at a boundary, and the memory around it."""
    found, memory = placed(1, int(np.prod(shape)), int(np.prod(shape)), begin, dtype)
    return found.reshape(shape), memory


@covering(
    ("kept", KEPT),
    (
        ("shape", "warps", "vector", "dtype"),
        [
            ((12031, 3), 1, 4, np.float32),  # the last access lacks elements
            ((9001, 3), 2, 4, np.float32),  # and so does the last strip
            ((2701, 7), 1, 8, np.float16),
            ((90, 129), 1, 4, np.float32),  # more columns than a strip has elements
            ((5, 16, 49), 1, 4, np.float32),  # columns are runs, of which a strip has three, or parts of four
            ((150, 3, 25), 1, 8, np.float16),  # and several images
            ((10, 8, 132), 1, 4, np.float32),  # runs longer than a strip
        ],
    ),
)
def test_accesses_go_on_from_one_column_in_the_next(
    shape: tuple[int, ...], warps: int, vector: int, dtype: Any, kept: str
) -> None:
    x, _ = _array(shape, dtype)
    y, memory = _array(shape, dtype)
    x[:] = np.random.default_rng(0).standard_normal(shape)
    tool = Sanitizer()
    plan = f"{PERIODS},warps_kept={warps},vector={vector},{kept}"
    choice = run(softmax({np.float32: F32, np.float16: F16}[dtype]), [x], [y], (1,), plan=plan, tool=tool)
    assert not list(tool.findings), list(tool.findings)[:3]
    assert choice.facts.access == ("aligned",)
    axes = (0, 2)[: x.ndim - 1]
    e = np.exp(x.astype(np.float64) - x.max(axes, keepdims=True))
    want = e / e.sum(axes, keepdims=True)
    np.testing.assert_allclose(y, want, rtol=12 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny)
    assert untouched_around(y, memory)


@pytest.mark.parametrize(
    ("shape", "shared", "dtype"),
    [
        ((99, 257), f"lanes=1,warps=2,warps_kept=1,vector=4,{KEPT[0]}", np.float32),  # the last wide row lacks rows
        ((61, 129), f"lanes=2,warps=1,warps_kept=1,vector=8,{KEPT[1]}", np.float16),  # a period less an element
        ((160, 520), f"lanes=1,warps=2,warps_kept=2,vector=4,{KEPT[1]}", np.float16),  # the last strip lacks elements
    ],
)
def test_threads_share_the_columns_of_a_strip(shape: tuple[int, ...], shared: str, dtype: Any) -> None:
    (x, _), (y, memory), tool = _array(shape, dtype), _array(shape, dtype), Sanitizer()
    x[:] = np.random.default_rng(0).standard_normal(shape)
    program = softmax({np.float32: F32, np.float16: F16}[dtype])
    run(program, [x], [y], (1,), plan=f"{ABREAST},{shared}", tool=tool)
    assert not list(tool.findings), list(tool.findings)[:3]
    e = np.exp(x.astype(np.float64) - x.max(0))
    np.testing.assert_allclose(y, e / e.sum(0), rtol=12 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny)
    assert untouched_around(y, memory)


def test_a_strip_that_threads_share_is_less_than_a_period() -> None:
    a = np.zeros((99, 124), np.float32)
    with pytest.raises(PlanError, match=r"WF425: .*abreast=1"):
        run(softmax(F32), [a], [a], (1,), plan=f"{ABREAST},lanes=1,warps=2,warps_kept=1,vector=4")


def test_two_inputs_and_a_result_in_the_place_of_one() -> None:
    y, d = operand(0), operand(1)
    program = Program("two", (F32, F32), ((y * (d - total(y * d))).expr,))
    (a, memory), (c, _) = (_array((1500, 5), np.float32) for _ in range(2))
    for seed, x in enumerate((a, c)):
        x[:] = np.random.default_rng(seed).standard_normal(x.shape)
    wide, other = a.astype(np.float64), c.astype(np.float64)
    run(program, [a, c], [a], (1,), plan=f"{PERIODS},warps_kept=1,vector=4,{KEPT[0]}")
    np.testing.assert_allclose(a, wide * (other - (wide * other).sum(0)), rtol=1e-4, atol=1e-4)
    assert untouched_around(a, memory)


def test_three_phases() -> None:
    (a, _), (c, _), (y, _) = (_array((1500, 5), np.float32) for _ in range(3))
    for seed, x in enumerate((a, c)):
        x[:] = np.random.default_rng(seed).standard_normal(x.shape)
    program, tool = three_phases(), Sanitizer()
    program = replace(program, outputs=program.outputs[:1])
    run(program, [a, c], [y], (1,), plan=f"{PERIODS},warps_kept=1,vector=4,{KEPT[1]}", tool=tool)
    assert not list(tool.findings)
    wide = np.maximum(a.astype(np.float64) - a.max(0), -1)
    np.testing.assert_allclose(y, wide - wide.mean(0) + c, rtol=1e-5, atol=1e-6)


def test_columns_with_values_of_their_own_are_not_read_so() -> None:
    a, y, square = np.zeros((99, 5), np.float32), np.zeros((99, 5), np.float32), np.zeros((1, 5), np.float32)
    with pytest.raises(PlanError, match=r"WF425: .*abreast=1"):
        run(three_phases(), [a, a], [y, square], (1,), plan=f"{PERIODS},warps_kept=1,vector=1")
