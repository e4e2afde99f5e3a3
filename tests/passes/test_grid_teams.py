"""Kernels whose teams of CTAs take tile after tile of rows. Run under the sanitizer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_programs import layer_norm, placed, run, softmax, three_phases, untouched_around

from warpfold.compiler.dtypes import F16, F32
from warpfold.compiler.errors import PlanError
from warpfold.compiler.planner.resident import grid, grid_bounds, grid_facts
from warpfold.runtime.emulator.sanitizer import Sanitizer

STRIPS = "resident=grid,persistent=2,fast=kept,warps=2,vector=4,lanes=8"
"""A tile has 16 columns, and an access of a CTA 16 rows of them."""
ROWS = "resident=grid,persistent=2,warps=2,vector=4"


@pytest.fixture(autouse=True)
def _ctas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few SMs, so that teams take several tiles."""
    for module in (grid, grid_bounds, grid_facts):
        monkeypatch.setattr(module, "ctas", lambda _: 6)


def _check(shape: tuple[int, int], axis: int, plan: str, spare: int = 0, begin: int = 0, t: Any = np.float32) -> Any:
    """Runs a softmax: the elements, the memory around them, and that the sanitizer finds nothing."""
    x, _ = placed(*shape, shape[1] + spare, begin, t)
    y, memory = placed(*shape, shape[1] + spare, begin, t)
    x[:] = np.random.default_rng(0).standard_normal(shape)
    tool = Sanitizer()
    choice = run(softmax({np.float32: F32, np.float16: F16}[t]), [x], [y], (1 - axis,), plan=plan, tool=tool)
    assert not list(tool.findings), list(tool.findings)[:3]
    e = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(axis, keepdims=True), rtol=12 * np.finfo(t).eps, atol=np.finfo(t).tiny)
    assert untouched_around(y, memory)
    assert choice.plan.in_teams
    return choice


@pytest.mark.parametrize(
    ("shape", "held", "split", "teams"),
    [((1, 4), 1, 1, 1), ((96, 80), 2, 3, 4), ((97, 84), 2, 4, 3), ((192, 36), 2, 6, 2), ((190, 36), 1, 12, 1)],
)
def test_strips_of_columns(shape: tuple[int, int], held: int, split: int, teams: int) -> None:
    """The columns of the last tile may be fewer, and so may the rows of the last part."""
    choice = _check(shape, 0, f"{STRIPS},held={held},unroll=2")
    assert (choice.run.split, choice.run.teams) == (split, teams)
    assert choice.run.tiles == -(-shape[1] // 16)
    assert choice.facts.full == (shape[0] % (16 * held) == 0)


def test_rows_that_begin_anywhere() -> None:
    choice = _check((7, 1501), 1, f"{ROWS},held=2,unroll=1", 3, 1)
    assert (choice.run.split, choice.run.teams) == (3, 4)


@settings(max_examples=5, deadline=None)
@given(st.data())
def test_any_shape_and_any_plan(data: Any) -> None:
    axis, few, many = data.draw(st.integers(0, 1)), data.draw(st.integers(1, 40)), data.draw(st.integers(1, 300))
    shape = (few, many) if axis else (many, few)
    fast, lanes = data.draw(st.sampled_from([("reduced", 32), ("kept", 4), ("kept", 16)]))
    extents = {k: data.draw(st.sampled_from([1, 2])) for k in ("warps", "unroll", "persistent")}
    extents["vector"] = data.draw(st.sampled_from([1, 4])) if fast == "reduced" or shape[1 - axis] % 4 == 0 else 1
    words = ",".join(f"{k}={v}" for k, v in extents.items())
    spare = 0 if fast == "kept" else data.draw(st.integers(0, 3))
    _check(shape, axis, f"resident=grid,fast={fast},lanes={lanes},held=64,{words}", spare, 0)


def test_weights_along_the_column_and_a_result_of_each() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((150, 40)).astype(np.float32) + 3
    w, b = (rng.standard_normal((150, 1)).astype(np.float32) for _ in range(2))
    y, mean = np.empty_like(x), np.empty((1, 40), np.float32)
    run(layer_norm(), [x, w, b], [y, mean], (1,), plan=STRIPS)
    wide = x.astype(np.float64)
    d = wide - wide.mean(0)
    np.testing.assert_allclose(mean[0], wide.mean(0), rtol=1e-6)
    np.testing.assert_allclose(y, d / np.sqrt((d * d).mean(0) + 1e-5) * w + b, rtol=1e-5, atol=1e-5)


def test_three_phases_and_an_input_that_one_of_them_reads() -> None:
    """Each phase waits for the one before it. What only the results need does not wait."""
    rng = np.random.default_rng(2)
    a, c = (rng.standard_normal((100, 36)).astype(np.float32) for _ in range(2))
    y, square = np.empty_like(a), np.empty((1, 36), np.float32)
    tool = Sanitizer()
    choice = run(three_phases(), [a, c], [y, square], (1,), plan=STRIPS, tool=tool)
    assert not list(tool.findings)
    assert choice.facts.waiting == (0,)
    wide = np.maximum(a.astype(np.float64) - a.max(0), -1)
    d = wide - wide.mean(0)
    np.testing.assert_allclose(y, d + c, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(square[0], (d * d).sum(0), rtol=1e-5)


def test_columns_may_be_their_own_result() -> None:
    """Nobody reads an element after the thread that writes it has read it."""
    x = np.random.default_rng(3).standard_normal((100, 40)).astype(np.float32)
    want = np.empty_like(x)
    run(softmax(), [x.copy()], [want], (1,), plan=STRIPS)
    run(softmax(), [x], [x], (1,), plan=STRIPS)
    np.testing.assert_array_equal(x, want)


def test_a_tile_that_needs_more_ctas_than_run_at_a_time() -> None:
    x = np.zeros((300, 16), np.float32)
    with pytest.raises(PlanError, match=r"WF437: resident=grid: softmax has 19 parts of a tile, .*: 12 run at a time"):
        run(softmax(), [x], [x.copy()], (1,), plan=f"{STRIPS},held=1")
