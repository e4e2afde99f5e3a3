"""Kernels whose rows the grid shares: registers and shared memory of all CTAs keep a part. Run under the sanitizer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from covering import covering
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_programs import layer_norm, operand, placed, run, softmax, three_phases, total, untouched_around

from warpfold.compiler.dtypes import F16, F32
from warpfold.compiler.planner.resident import grid, grid_bounds, grid_facts
from warpfold.compiler.program.graph import KEPT, Program
from warpfold.runtime.emulator.sanitizer import Sanitizer

PARTS = "in_registers=2,unroll=1,held=1", "in_registers=0,unroll=2,held=2,in_cache=3", "in_registers=4,unroll=2,held=1"
"""How many accesses of a thread wait in registers, are walked at a time, and wait in shared memory and in the cache."""
ROWS = f"resident=grid,warps=2,{PARTS[0]}"
STRIPS = "resident=grid,fast=kept,warps=2"


@pytest.fixture(autouse=True)
def _ctas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few CTAs, so that a part of a short row is long."""
    for module in (grid, grid_bounds, grid_facts):
        monkeypatch.setattr(module, "ctas", lambda _: 8)


def _check(
    shape: tuple[int, int], axis: int, plan: str, spare: int = 0, begin: int = 0, dtype: Any = np.float32
) -> Any:
    """Runs a softmax: the elements, the memory around them, and that the sanitizer finds nothing."""
    t = {np.float32: F32, np.float16: F16}[dtype]
    x, _ = placed(*shape, shape[1] + spare, begin, dtype)
    y, memory = placed(*shape, shape[1] + spare, begin, dtype)
    x[:] = np.random.default_rng(0).standard_normal(shape)
    tool = Sanitizer()
    choice = run(softmax(t), [x], [y], (1 - axis,), plan=plan, tool=tool)
    assert not list(tool.findings), list(tool.findings)[:3]
    e = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    want = e / e.sum(axis, keepdims=True)
    np.testing.assert_allclose(y, want, rtol=12 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny)
    assert untouched_around(y, memory)
    assert choice.plan.resident == "grid"
    return choice


def test_rows_in_pairs_of_which_the_last_lacks_one() -> None:
    choice = _check((3, 5000), 1, "resident=grid,warps=1,warps_kept=2,held=1,in_registers=2,unroll=1")
    assert (choice.plan.slots, choice.run.tiles) == (2, 2)


@covering(
    ("parts", PARTS),
    ("columns", [2, 9001]),
    (("spare", "begin", "dtype"), [(0, 0, np.float32), (3, 1, np.float32), (3, 1, np.float16)]),
)
def test_rows_that_begin_and_end_anywhere(columns: int, spare: int, begin: int, dtype: Any, parts: str) -> None:
    """A short row has one part, which waits as a whole; of a long one each CTA also walks some accesses again."""
    vector = 16 // np.dtype(dtype).itemsize
    choice = _check((2, columns), 1, f"resident=grid,warps=1,{parts},vector={vector}", spare, begin, dtype)
    if begin:
        assert choice.facts.access == ("shifted",)
    if columns > 9000:
        assert choice.run.chunk > (choice.plan.held + choice.plan.in_registers) * 32 * vector


@covering(("parts", PARTS), ("shape", [(1, 4), (300, 40), (601, 36)]))
def test_strips_of_columns(shape: tuple[int, int], parts: str) -> None:
    choice = _check(shape, 0, f"{STRIPS},{parts},vector=4,lanes=8")
    assert choice.facts.access == ("aligned",)


@pytest.mark.parametrize("shape", [(1, 1), (601, 41)])
def test_strips_of_odd_columns(shape: tuple[int, int]) -> None:
    _check(shape, 0, f"{STRIPS},{PARTS[0]},vector=1,lanes=4", 3, 1)


@pytest.mark.parametrize(
    ("shape", "abreast", "dtype"),
    [((601, 36), 4, np.float32), ((9, 10), 8, np.float32), ((515, 12), 16, np.float16), ((133, 4), 8, np.float32)],
)
def test_rows_abreast(shape: tuple[int, int], abreast: int, dtype: Any) -> None:
    """The last wide row lacks some columns, and some columns have their rows in strips of several CTAs."""
    for parts in ("held=1,unroll=2", PARTS[0]):
        choice = _check(shape, 0, f"{STRIPS},lanes=4,{parts},abreast={abreast}", dtype=dtype)
        assert choice.run.tiles * choice.run.split > 1


def test_rows_abreast_with_weights_of_columns_and_a_result_of_each() -> None:
    rng = np.random.default_rng(6)
    x = rng.standard_normal((333, 36)).astype(np.float32) + 3
    w, b = (rng.standard_normal((1, 36)).astype(np.float32) for _ in range(2))
    y, mean, tool = np.empty_like(x), np.empty((1, 36), np.float32), Sanitizer()
    run(layer_norm(weights=KEPT), [x, w, b], [y, mean], (1,), plan=f"{STRIPS},lanes=4,held=2,abreast=4", tool=tool)
    assert not list(tool.findings)
    wide = x.astype(np.float64)
    d = wide - wide.mean(0)
    np.testing.assert_allclose(mean[0], wide.mean(0), rtol=1e-6)
    np.testing.assert_allclose(y, d / np.sqrt((d * d).mean(0) + 1e-5) * w + b, rtol=1e-5, atol=1e-5)


@settings(max_examples=5, deadline=None)
@given(st.data())
def test_any_shape_and_any_plan(data: Any) -> None:
    axis, few, many = data.draw(st.integers(0, 1)), data.draw(st.integers(1, 8)), data.draw(st.integers(1, 900))
    shape = (few, many) if axis else (many, few)
    fast = data.draw(st.sampled_from(["reduced", "kept"]))
    lanes = 32 if fast == "reduced" else data.draw(st.sampled_from([1, 4, 32]))
    extents = {k: data.draw(st.sampled_from([1, 2, 4])) for k in ("vector", "warps", "unroll")}
    words = ",".join(f"{k}={v}" for k, v in extents.items())
    kept = data.draw(st.integers(0, 3)) * extents["unroll"]
    plan = f"resident=grid,fast={fast},lanes={lanes},{words},held={data.draw(st.integers(1, 3))},in_registers={kept}"
    spare, begin = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    if fast == "kept" and (axis or spare or begin or shape[1 - axis] % extents["vector"]):
        plan = plan.replace(f"vector={extents['vector']}", "vector=1")
    _check(shape, axis, plan, spare, begin)


def test_weights_along_the_row_and_a_result_of_each_row() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((3, 2000)).astype(np.float32) + 3
    w, b = (rng.standard_normal((1, 2000)).astype(np.float32) for _ in range(2))
    y, mean = np.empty_like(x), np.empty((3, 1), np.float32)
    choice = run(layer_norm(), [x, w, b], [y, mean], plan=ROWS)
    assert choice.facts.waiting == (0,)
    wide = x.astype(np.float64)
    d = wide - wide.mean(1, keepdims=True)
    np.testing.assert_allclose(mean, wide.mean(1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(y, d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * w + b, rtol=1e-5, atol=1e-5)


def test_three_phases_and_an_input_that_one_of_them_reads() -> None:
    """Each phase waits for the one before it. What only the results need does not wait."""
    rng = np.random.default_rng(2)
    a, c = (rng.standard_normal((3, 1111)).astype(np.float32) for _ in range(2))
    y, square = np.empty_like(a), np.empty((3, 1), np.float32)
    tool = Sanitizer()
    choice = run(three_phases(), [a, c], [y, square], plan=ROWS, tool=tool)
    assert not list(tool.findings)
    assert choice.facts.waiting == (0,)
    wide = np.maximum(a.astype(np.float64) - a.max(1, keepdims=True), -1)
    d = wide - wide.mean(1, keepdims=True)
    np.testing.assert_allclose(y, d + c, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(square, (d * d).sum(1, keepdims=True), rtol=1e-5)


def test_the_slots_of_two_inputs_of_short_rows() -> None:
    """A thread has fewer accesses to a part than there is room for: the slots of the second input lie behind that."""
    y, d = operand(0), operand(1)
    program = Program("two", (F32, F32), ((y * (d - total(y * d))).expr,))
    a, c = (np.random.default_rng(seed).standard_normal((3, 700)).astype(np.float32) for seed in (4, 5))
    found, tool = np.empty_like(a), Sanitizer()
    choice = run(program, [a, c], [found], plan="resident=grid,warps=1,held=8", tool=tool)
    assert not list(tool.findings)
    assert choice.run.chunk < 8 * 128
    wide, other = a.astype(np.float64), c.astype(np.float64)
    np.testing.assert_allclose(found, wide * (other - (wide * other).sum(1, keepdims=True)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("begin", [0, 1])
def test_a_row_may_be_its_own_result(begin: int) -> None:
    """Nobody reads an element after the thread that writes it has read it."""
    x, memory = placed(3, 2001, 2005, begin, np.float32)
    x[:] = np.random.default_rng(3).standard_normal(x.shape)
    want = np.empty_like(x)
    run(softmax(), [x.copy()], [want], plan=f"{ROWS},vector=1")
    run(softmax(), [x], [x], plan=ROWS)
    np.testing.assert_allclose(x, want, rtol=1e-5)
    assert untouched_around(x, memory)
