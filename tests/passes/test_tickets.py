"""Kernels whose rows wait in the L2 cache: CTAs take chunks of rows by tickets. Run under the emulator's sanitizer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from covering import covering, some
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_programs import count, greatest, layer_norm, operand, run, softmax, total

from warpfold.compiler.dtypes import F16, F32
from warpfold.compiler.planner.resident import l2
from warpfold.compiler.program import functions
from warpfold.compiler.program.graph import Program
from warpfold.runtime.emulator.profiler import Profiler
from warpfold.runtime.emulator.sanitizer import Sanitizer

GUARD = 99.0
ROWS = "resident=l2,warps=2,held=2"
STRIPS = "resident=l2,fast=kept,warps=2,held=2"


@pytest.fixture(autouse=True, params=["many", "few"])
def _ctas(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """CTAs for all tickets at once, or three, each of which takes many."""
    if request.param == "few":
        monkeypatch.setattr(l2, "THREADS_PER_SM", 1)


def _softmax(x: Any, axis: int) -> Any:
    e = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _placed(shape: tuple[int, int], pitch: int, begin: int, dtype: Any) -> tuple[Any, Any]:
    """An array that begins ``begin`` elements after a boundary, with rows ``pitch`` apart; and the memory around it."""
    memory = np.full(64 + shape[0] * pitch + 64, GUARD, dtype)
    first = (-memory.ctypes.data // memory.itemsize) % 16 + 16 + begin
    return memory[first : first + shape[0] * pitch].reshape(shape[0], pitch)[:, : shape[1]], memory


def _check(
    shape: tuple[int, int], axis: int, plan: str, spare: int = 0, begin: int = 0, dtype: Any = np.float32
) -> Any:
    """Runs a softmax: the elements, the memory around them, and that the sanitizer finds nothing."""
    t = {np.float32: F32, np.float16: F16}[dtype]
    x, _ = _placed(shape, shape[1] + spare, begin, dtype)
    y, memory = _placed(shape, shape[1] + spare, begin, dtype)
    x[:] = np.random.default_rng(0).standard_normal(shape)
    tool = Sanitizer()
    choice = run(softmax(t), [x], [y], (1 - axis,), plan=plan, tool=tool)
    assert not list(tool.findings), list(tool.findings)[:3]
    np.testing.assert_allclose(y, _softmax(x, axis), rtol=12 * np.finfo(dtype).eps, atol=np.finfo(dtype).tiny)
    y[:] = GUARD
    assert (memory == GUARD).all()
    assert choice.plan.resident == "l2"
    return choice


@covering(
    ("columns", [2, 7, 64, 127, 128, 129, 1000, 1001]),
    (("spare", "begin"), [(0, 0), (3, 1)]),
    ("dtype", [np.float32, np.float16]),
)
def test_rows_that_begin_and_end_anywhere(columns: int, spare: int, begin: int, dtype: Any) -> None:
    vector = 16 // np.dtype(dtype).itemsize
    choice = _check((5, columns), 1, f"{ROWS},vector={vector}", spare, begin, dtype)
    if begin:
        assert choice.facts.access == ("shifted",)


@pytest.mark.parametrize("shape", some([(300, 40), (301, 40), (64, 8), (1, 4), (77, 36)], 4))
def test_strips_of_columns(shape: tuple[int, int]) -> None:
    choice = _check(shape, 0, f"{STRIPS},vector=4,lanes=8")
    assert choice.facts.access == ("aligned",)


@pytest.mark.parametrize("shape", some([(300, 41), (5, 3), (1, 1), (129, 70)], 3))
def test_strips_of_odd_columns(shape: tuple[int, int]) -> None:
    _check(shape, 0, f"{STRIPS},vector=1,lanes=4", 3, 1)


@settings(max_examples=4, deadline=None)
@given(st.data())
def test_any_shape_and_any_plan(data: Any) -> None:
    shape = data.draw(st.integers(2, 40)), data.draw(st.integers(2, 400))
    axis = data.draw(st.integers(0, 1))
    fast = data.draw(st.sampled_from(["reduced", "kept"]))
    lanes = data.draw(st.sampled_from([1, 4, 32]))
    extents = {k: data.draw(st.sampled_from([1, 2, 4])) for k in ("vector", "warps", "warps_kept")}
    words = ",".join(f"{k}={v}" for k, v in extents.items())
    plan = f"resident=l2,fast={fast},lanes={lanes},{words},held={data.draw(st.integers(1, 5))}"
    spare, begin = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    if fast == "kept" and (axis or spare or begin or shape[1 - axis] % extents["vector"]):
        plan = plan.replace(f"vector={extents['vector']}", "vector=1")
    _check(shape, axis, plan, spare, begin)


@pytest.mark.parametrize(("shape", "plan"), [((4, 999), ROWS), ((5, 1024), f"{ROWS},warps_kept=2")])
def test_weights_along_the_row_and_a_result_of_each_row(shape: tuple[int, int], plan: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal(shape).astype(np.float32) + 3
    w, b = (rng.standard_normal((1, shape[1])).astype(np.float32) for _ in range(2))
    y, mean = np.empty_like(x), np.empty((shape[0], 1), np.float32)
    run(layer_norm(), [x, w, b], [y, mean], plan=plan)
    wide = x.astype(np.float64)
    d = wide - wide.mean(1, keepdims=True)
    np.testing.assert_allclose(mean, wide.mean(1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(y, d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * w + b, rtol=1e-5, atol=1e-5)


def test_three_phases() -> None:
    """Each phase waits for the one before it, and reads the states of all."""
    x = operand(0)
    far = functions.maximum(x - greatest(x), -1.0)
    mean = total(far) / count()
    program = Program("three", (F32,), ((far - mean).expr, total((far - mean) * (far - mean)).expr))
    a = np.random.default_rng(2).standard_normal((3, 1111)).astype(np.float32)
    y, square = np.empty_like(a), np.empty((3, 1), np.float32)
    tool = Sanitizer()
    run(program, [a], [y, square], plan=ROWS, tool=tool)
    assert not list(tool.findings)
    wide = np.maximum(a.astype(np.float64) - a.max(1, keepdims=True), -1)
    d = wide - wide.mean(1, keepdims=True)
    np.testing.assert_allclose(y, d, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(square, (d * d).sum(1, keepdims=True), rtol=1e-5)


def test_a_row_may_be_its_own_result() -> None:
    """Nobody reads an element after the thread that writes it has read it."""
    x = np.random.default_rng(3).standard_normal((5, 1000)).astype(np.float32)
    want = np.empty_like(x)
    run(softmax(), [x], [want], plan=ROWS)
    run(softmax(), [x], [x], plan=ROWS)
    np.testing.assert_array_equal(x, want)


def test_bits_depend_neither_on_the_number_of_ctas_nor_on_their_order() -> None:
    x = np.random.default_rng(4).standard_normal((4, 2001)).astype(np.float32)
    results = []
    for threads in (1, 64, 2048):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(l2, "THREADS_PER_SM", threads)
            results.append(np.empty_like(x))
            run(softmax(), [x], results[-1:], plan=ROWS)
    assert all((y == results[0]).all() for y in results)


def test_a_phase_reads_one_state_of_a_row_however_many_chunks_it_has() -> None:
    def loaded(chunks: int) -> int:
        x, tool = np.zeros((1, 128 * chunks), np.float32), Profiler()
        run(softmax(), [x], [np.empty_like(x)], plan=f"{ROWS},vector=1", tool=tool)
        return tool.profiles[0].traffic("global load").nbytes

    assert loaded(64) < 8.2 * loaded(8)


@settings(max_examples=2, deadline=None)
@given(st.data())
def test_portable_bits_of_a_long_row_depend_on_that_row_alone(data: Any) -> None:
    """Whatever the number of rows, their place, strides and alignment are."""
    rows, columns = data.draw(st.integers(2, 5)), data.draw(st.integers(17_000, 20_000))
    x, _ = _placed((rows, columns), columns + data.draw(st.integers(0, 5)), data.draw(st.integers(0, 3)), np.float32)
    x[:] = np.random.default_rng(5).standard_normal(x.shape)
    row = data.draw(st.integers(0, rows - 1))
    alone = x[row : row + 1].copy()
    by_columns = np.asfortranarray(x)
    y, z, want = np.empty_like(x), np.empty_like(by_columns), np.empty_like(alone)
    for a, out in ((alone, want), (x, y), (by_columns, z)):
        assert run(softmax(), [a], [out], determinism="portable").plan.resident == "l2"
    np.testing.assert_array_equal(y[row], want[0])
    np.testing.assert_array_equal(z[row], want[0])
