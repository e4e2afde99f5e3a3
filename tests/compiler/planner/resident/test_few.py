"""``plan="few"``: programs that read rows again, and programs without a fold, from the menu that serves all sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warpfold as wf
from warpfold.compiler.planner.resident import tiled
from warpfold.compiler.planner.resident.few import CLUSTER, TILE

SIZES = st.integers(1, 12) | st.sampled_from([31, 33, 64, 127, 130, 257, 1003])


def softmax(x: Any, axis: int) -> Any:
    e = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def layer_norm(x: Any, w: Any) -> Any:
    wide = x.astype(np.float64)
    mean, var = wide.mean(-1, keepdims=True), wide.var(-1, keepdims=True)
    return (wide - mean) / np.sqrt(var + 1e-5) * w + w


def close(found: Any, expected: Any, dtype: Any) -> bool:
    return np.allclose(found, expected, atol=4e-3 if dtype == np.float16 else 1e-4, rtol=1e-2)


@settings(max_examples=16, deadline=None, derandomize=True)
@given(
    shape=st.lists(SIZES, min_size=1, max_size=3).filter(lambda s: np.prod(s) < 20_000), data=st.data(),
    dtype=st.sampled_from([np.float32, np.float16, np.float64]), begin=st.integers(0, 3),
)  # fmt: skip
def test_results_are_right(shape: list[int], data: Any, dtype: Any, begin: int) -> None:
    axis = data.draw(st.integers(0, len(shape) - 1))
    order = data.draw(st.permutations(range(len(shape))))
    whole = np.random.default_rng(1).standard_normal([*shape[:-1], shape[-1] + begin]).astype(dtype)
    x = whole[..., begin:].transpose(order)
    w = np.random.default_rng(2).standard_normal(x.shape[-1]).astype(dtype)
    assert close(wf.softmax(x, axis=axis, plan="few"), softmax(x, axis), dtype)
    assert close(wf.layer_norm(x, w, w, plan="few"), layer_norm(x, w), dtype)
    assert close(wf.program(lambda x, w: x * w + 1)(x, w, plan="few"), x * w + 1, dtype)


@pytest.mark.parametrize("shape", [(300, 47), (130, 113), (21, 750), (7, 3, 47), (70, 21, 6)])
def test_rows_of_a_tile_are_right(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiled, "pays", lambda *_, **__: True)
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    (step,) = wf.softmax._planned((x,), {"axis": 1, "plan": "few"}, "sm_90a").prepared.steps
    assert step.prepared.choice.plan.tile_bytes == TILE
    assert close(wf.softmax(x, axis=1, plan="few"), softmax(x, 1), np.float32)


def test_one_kernel_serves_all_long_rows() -> None:
    keys, clusters = set(), set()
    for n in range(2100, 60_000, 1300):
        (step,) = wf.softmax._planned((((4000, 4 * (n // 4)), "f32"),), {"plan": "few"}, "sm_90a").prepared.steps
        keys.add(step.prepared.key)
        clusters.add(step.prepared.choice.plan.cluster)
    assert len(keys) == 2
    assert clusters == {1, CLUSTER}


def test_several_inputs_wait_in_slots_that_alternate() -> None:
    rng = np.random.default_rng(3)
    x, w, b = (rng.standard_normal(n).astype(np.float32) for n in ((1, 5000), 5000, 5000))
    (step,) = wf.layer_norm._planned((x[0], w, b), {"plan": "few"}, "sm_90a").prepared.steps
    assert len(step.prepared.choice.facts.waiting) == 3
    wide = x.astype(np.float64)
    expected = (wide - wide.mean()) / np.sqrt(wide.var() + 1e-5) * w + b
    assert close(wf.layer_norm(x[0], w, b, plan="few"), expected[0], np.float32)


def test_a_compiled_program_serves_rows_of_other_lengths() -> None:
    made = wf.softmax.compile(((4, 1000), "f32"), plan="few")
    for n in (1000, 1004, 760):
        x = np.random.default_rng(n).standard_normal((4, n)).astype(np.float32)
        assert close(made(x), softmax(x, 1), np.float32)


def test_bits_have_plans_as_ever() -> None:
    x = np.random.default_rng(0).standard_normal((40, 96)).astype(np.float32)
    made = wf.program(lambda x: wf.pack(x > wf.mean(x, axis=-1, keepdims=True)))
    assert (made(x, plan="few") == made(x)).all()
