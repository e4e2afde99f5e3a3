"""Kernels that read their rows again, run on the emulator under its sanitizer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from covering import covering
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_programs import greatest, layer_norm, operand, placed, run, scaled, softmax, untouched_around

from warpfold.compiler.dtypes import F16, F32
from warpfold.compiler.program import functions
from warpfold.compiler.program.graph import KEPT, SCALAR, Program
from warpfold.runtime.emulator.sanitizer import Sanitizer


def _softmax(x: Any, axis: int) -> Any:
    e = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _checked(program: Any, x: Any, y: Any, memory: Any, want: Any, kept: Any, ulps: float, **how: Any) -> Any:
    """Runs a program of one array, and checks the elements, the memory around them, and the sanitizer's findings."""
    tool = Sanitizer()
    choice = run(program, [x], [y], kept, tool=tool, **how)
    assert not list(tool.findings), list(tool.findings)[:3]
    error = np.abs(y.astype(np.float64) - want) / np.maximum(want, np.finfo(y.dtype).tiny)
    assert error.max(initial=0) < ulps * np.finfo(y.dtype).eps
    assert untouched_around(y, memory)
    return choice


@settings(max_examples=24, deadline=None)
@given(st.data())
def test_a_softmax_of_any_rows_writes_their_elements_and_nothing_beside(data: Any) -> None:
    dtype, t = data.draw(st.sampled_from([(np.float32, F32), (np.float16, F16)]))
    rows, columns = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 300))
    pitch, begin = columns + data.draw(st.integers(0, 9)), data.draw(st.integers(0, 7))
    axis = data.draw(st.integers(0, 1))
    x, _ = placed(rows, columns, pitch, data.draw(st.sampled_from([begin, 0])), dtype)
    y, memory = placed(rows, columns, pitch, begin, dtype)
    x[:] = np.random.default_rng(0).standard_normal(x.shape)
    _checked(softmax(t), x, y, memory, _softmax(x, axis), (1 - axis,), 8 if dtype == np.float32 else 2)


@pytest.mark.parametrize(("rows", "columns"), [(2, 1000), (1, 4096), (1, 8191), (3, 2304)])
def test_a_softmax_of_long_rows(rows: int, columns: int) -> None:
    x, _ = placed(rows, columns, columns, 0, np.float32)
    y, memory = placed(rows, columns, columns, 0, np.float32)
    x[:] = np.random.default_rng(1).standard_normal(x.shape)
    choice = _checked(softmax(), x, y, memory, _softmax(x, 1), (0,), 8)
    assert choice.plan.resident == "registers"


@covering(
    ("columns", [10, 77, 100, 333, 1001]),
    ("begin", [0, 1]),
    (
        "how",
        [
            {"plan": "tile_bytes=0"},
            {"plan": "tile_bytes=0,vector=4,lanes=32,warps=1,warps_kept=4"},
            {"plan": "tile_bytes=0,vector=4,lanes=32,warps=1,warps_kept=4,resident=shared"},
            {"plan": "tile_bytes=32768"},
            {"determinism": "portable"},
        ],
    ),
)
def test_a_row_may_be_its_own_result(columns: int, begin: int, how: Any) -> None:
    """Each element is read by the thread that writes it, and by no other, if all threads have rows."""
    x, _ = placed(128 if columns == 10 else 8, columns, columns, begin, np.float32)
    x[:] = np.random.default_rng(2).standard_normal(x.shape)
    want, tool = _softmax(x, 1), Sanitizer()
    run(softmax(), [x], [x], tool=tool, **how)
    np.testing.assert_allclose(x, want, rtol=1e-6)
    assert not list(tool.findings), list(tool.findings)[:3]


@pytest.mark.parametrize("kept", [(0,), (1,)])
@pytest.mark.parametrize("shape", [(5, 1000), (3, 7), (200, 12), (2, 1001)])
def test_weights_along_the_row_and_a_result_of_each_row(shape: tuple[int, int], kept: tuple[int]) -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal(shape).astype(np.float32) + 3
    axis = 1 - kept[0]
    along = tuple(n if i == axis else 1 for i, n in enumerate(shape))
    per_row = tuple(1 if i == axis else n for i, n in enumerate(shape))
    w, b = (rng.standard_normal(along).astype(np.float32) for _ in range(2))
    y, mean = np.empty_like(x), np.empty(per_row, np.float32)
    run(layer_norm(), [x, w, b], [y, mean], kept)
    wide = x.astype(np.float64)
    d = wide - wide.mean(axis, keepdims=True)
    np.testing.assert_allclose(mean, wide.mean(axis, keepdims=True), rtol=1e-6)
    want = d / np.sqrt((d * d).mean(axis, keepdims=True) + 1e-5) * w + b
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kept", [(0,), (1,)])
@pytest.mark.parametrize("shape", [(5, 1000), (3, 7), (1, 20000), (300, 3), (2, 1001)])
@pytest.mark.parametrize("space", [KEPT, SCALAR])
def test_a_program_without_a_fold(shape: tuple[int, int], kept: tuple[int], space: int) -> None:
    rng = np.random.default_rng(4)
    x = rng.standard_normal(shape).astype(np.float32)
    along = tuple(1 if i in kept else n for i, n in enumerate(shape))
    other = tuple(n if i in kept and space == KEPT else 1 for i, n in enumerate(shape))
    w, k = (rng.standard_normal(s).astype(np.float32) for s in (along, other))
    y = np.empty_like(x)
    run(scaled(space), [x, w, k], [y], kept)
    np.testing.assert_array_equal(y, x * w + k)


@settings(max_examples=10, deadline=None)
@given(st.data())
def test_the_bits_of_a_row_depend_on_that_row_alone(data: Any) -> None:
    """Portable plans: whatever the number of rows, their place, strides and alignment are."""
    rows, columns = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 400))
    x, _ = placed(rows, columns, columns + data.draw(st.integers(0, 5)), data.draw(st.integers(0, 3)), np.float32)
    x[:] = np.random.default_rng(5).standard_normal(x.shape)
    row = data.draw(st.integers(0, rows - 1))
    alone = x[row : row + 1].copy()
    y, want = np.empty_like(x), np.empty_like(alone)
    run(softmax(), [alone], [want], determinism="portable")
    run(softmax(), [x], [y], determinism="portable")
    np.testing.assert_array_equal(y[row], want[0])
    by_columns = np.asfortranarray(x)
    z = np.empty_like(by_columns)
    run(softmax(), [by_columns], [z], determinism="portable")
    np.testing.assert_array_equal(z[row], want[0])


@pytest.mark.parametrize(
    ("columns", "plan"),
    [
        (20000, ""),
        (2500, ""),
        (999, "cluster=2,warps=1"),
        (4096, "cluster=8,warps=2"),
        (130, "cluster=4,lanes=8,warps=1"),
    ],
)
def test_the_ctas_of_a_cluster_share_a_row(columns: int, plan: str) -> None:
    x, _ = placed(3, columns, columns, 0, np.float32)
    y, memory = placed(3, columns, columns, 0, np.float32)
    x[:] = np.random.default_rng(6).standard_normal(x.shape)
    choice = _checked(softmax(), x, y, memory, _softmax(x, 1), (0,), 10, plan=plan)
    assert choice.plan.cluster > 1 or columns in (2500, 20000)


def test_the_ctas_of_a_cluster_share_columns() -> None:
    x, _ = placed(5000, 12, 12, 0, np.float32)
    y, memory = placed(5000, 12, 12, 0, np.float32)
    x[:] = np.random.default_rng(7).standard_normal(x.shape)
    choice = _checked(softmax(), x, y, memory, _softmax(x, 0), (1,), 10)
    assert choice.plan.fast == "kept"
    assert choice.plan.cluster > 1


def test_an_exponential_below_the_maximum_has_the_bits_of_any_other() -> None:
    """It is computed by fewer instructions, since its argument is known to be at most zero."""
    x = operand(0)
    m = greatest(x)
    program = Program("exponentials", (F32,), (functions.exp(x - m).expr, functions.exp(x + -m).expr))
    rng = np.random.default_rng(8)
    values = np.concatenate([np.linspace(-120, 0, 3000), rng.uniform(-1, 0, 1000), -rng.exponential(20, 1000)])
    special = np.array([-np.inf, -1e30, -0.0, -103.97, -104.0, -87.3], np.float32)
    a = np.concatenate([values.astype(np.float32), special])[None]
    nan = a.copy()
    nan[0, 5] = np.nan
    for given_row in (a, nan, np.full_like(a, np.inf), np.full_like(a, -np.inf)):
        below, usual = np.empty_like(a), np.empty_like(a)
        run(program, [given_row], [below, usual])
        np.testing.assert_array_equal(below, usual)
    assert below.shape == a.shape


@covering(
    ("rows", [1, 5]),
    ("columns", [1, 7, 64, 1000, 1001, 5000]),
    ("axis", [0, 1]),
    ("plan", ["resident=memory", "resident=memory,unroll=2,cluster=2"]),
)
def test_a_row_that_waits_in_memory_is_read_again(rows: int, columns: int, axis: int, plan: str) -> None:
    shape = (rows, columns) if axis else (columns, rows)
    x, _ = placed(*shape, shape[1], 1, np.float32)
    y, memory = placed(*shape, shape[1], 1, np.float32)
    x[:] = np.random.default_rng(9).standard_normal(x.shape)
    choice = _checked(softmax(), x, y, memory, _softmax(x, axis), (1 - axis,), 12, plan=plan)
    assert choice.plan.held == 0


def test_weights_of_a_row_in_memory() -> None:
    rng = np.random.default_rng(10)
    x = rng.standard_normal((4, 999)).astype(np.float32)
    w, b = (rng.standard_normal((1, 999)).astype(np.float32) for _ in range(2))
    y, mean = np.empty_like(x), np.empty((4, 1), np.float32)
    run(layer_norm(), [x, w, b], [y, mean], plan="resident=memory")
    again, mean_again = np.empty_like(x), np.empty((4, 1), np.float32)
    run(layer_norm(), [x, w, b], [again, mean_again])
    np.testing.assert_allclose(y, again, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(mean, mean_again, rtol=1e-5, atol=1e-7)


@covering(
    ("rows", [1, 5]),
    ("columns", [1, 7, 64, 1000, 1001, 5000]),
    ("axis", [0, 1]),
    ("plan", ["resident=shared", "resident=shared,warps=16,warps_kept=1,cluster=2"]),
)
def test_a_row_waits_in_shared_memory(rows: int, columns: int, axis: int, plan: str) -> None:
    shape = (rows, columns) if axis else (columns, rows)
    for t, dtype, ulps in ((F32, np.float32, 12), (F16, np.float16, 2)):
        x, _ = placed(*shape, shape[1], 1, dtype)
        y, memory = placed(*shape, shape[1], 1, dtype)
        x[:] = np.random.default_rng(11).standard_normal(x.shape)
        choice = _checked(softmax(t), x, y, memory, _softmax(x, axis), (1 - axis,), ulps, plan=plan)
        assert choice.facts.waiting == (0,)


def test_a_row_in_shared_memory_has_the_bits_of_one_in_registers() -> None:
    x = np.random.default_rng(12).standard_normal((3, 3000)).astype(np.float32)
    kept, waiting = np.empty_like(x), np.empty_like(x)
    run(softmax(), [x], [kept])
    run(softmax(), [x], [waiting], plan="resident=shared")
    np.testing.assert_array_equal(kept, waiting)
