"""Batch norm as it runs: running statistics are updated in place, whatever the layout and the plan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from access_picture import run_under
from covering import some

import warpfold as wf
from warpfold.compiler.errors import ArgumentError
from warpfold.runtime.emulator.sanitizer import Sanitizer

RNG = np.random.default_rng(3)
X = RNG.standard_normal((4, 6, 5, 8)).astype(np.float32) * 2 + 1
CHANNELS = RNG.random((4, 6)).astype(np.float32) + 0.5
PLANS = ["", "resident=registers,warps=2", "resident=shared,cluster=2", "resident=l2,warps=1,held=1", "resident=memory"]


def last(x: Any) -> Any:
    """An array of the same elements whose channels lie innermost in memory."""
    return np.ascontiguousarray(np.moveaxis(x, 1, -1)).transpose(0, 3, 1, 2)


@pytest.mark.parametrize("plan", [*PLANS, "resident=none"])
@pytest.mark.parametrize("lies", [np.ascontiguousarray, last], ids=["nchw", "nhwc"])
def test_running_statistics_are_updated_in_place(lies: Any, plan: str) -> None:
    mean, var, weight, bias = CHANNELS.copy()
    n, how = X.size // 6, {"plan": plan} if plan else {}
    tool, found = Sanitizer(), []
    run_under(tool, lambda: found.append(wf.batch_norm(
        lies(X), mean, var, weight, bias, training=True, momentum=0.25, activation="relu", **how
    )))  # fmt: skip
    assert not list(tool.findings)
    assert found[0].running_mean is mean
    assert found[0].running_var is var
    own_mean, own_var = X.mean((0, 2, 3), dtype=np.float64), X.var((0, 2, 3), dtype=np.float64)
    np.testing.assert_allclose(mean, CHANNELS[0] * 0.75 + own_mean * 0.25, rtol=1e-6)
    np.testing.assert_allclose(var, CHANNELS[1] * 0.75 + own_var * n / (n - 1) * 0.25, rtol=1e-6)
    np.testing.assert_allclose(found[0].mean, own_mean, rtol=1e-6)
    w, b, m, v = (a[:, None, None] for a in (weight, bias, own_mean, own_var))
    expected = np.maximum((X - m) / np.sqrt(v + 1e-5) * w + b, 0)
    np.testing.assert_allclose(found[0].output, expected, rtol=1e-5, atol=1e-5)


def test_other_results_go_into_given_arrays() -> None:
    mean, var, *_ = CHANNELS.copy()
    apart = wf.batch_norm(X, training=True)
    out = np.empty_like(X), np.empty(6, np.float32), None
    found = wf.batch_norm(X, mean, var, training=True, out=out)
    assert found.output is out[0]
    assert found.mean is out[1]
    for a, b in zip(apart, found[2:], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("plan", some([*PLANS, "resident=none"], 5))
def test_gradients_from_bits(plan: str) -> None:
    """One bit an element tells the backward what passed, whatever the residual was."""
    weight, bias, how = *CHANNELS[2:], {"plan": plan} if plan else {}
    residual, dy = RNG.standard_normal((2, *X.shape)).astype(np.float32)
    kept = wf.batch_norm(X, None, None, weight, bias, residual=residual, training=True, activation="relu", keep="bits")
    np.testing.assert_array_equal(kept.bits, np.packbits(kept.output > 0, bitorder="little").view("<u4"))
    statistics = kept.mean, kept.var
    found = wf.batch_norm_backward(dy, X, *statistics, weight, bias, kept.bits, activation="relu", residual=True, **how)
    passed = np.where(kept.output > 0, dy, 0)
    np.testing.assert_array_equal(found.dresidual, passed)
    plain = wf.batch_norm_backward(passed, X, *statistics, weight, bias)
    for name in ("dx", "dweight", "dbias"):
        np.testing.assert_allclose(getattr(found, name), getattr(plain, name), rtol=1e-4, atol=1e-5)


def test_without_training_they_stay() -> None:
    mean, var, *_ = CHANNELS.copy()
    wf.batch_norm(X, mean, var)
    np.testing.assert_array_equal([mean, var], CHANNELS[:2])


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        (lambda a: (a[:6], a[:6]), "WF132: running_var shares memory with running_mean"),
        (lambda a: (a[:6], a[1:7]), "WF132: running_var shares memory with running_mean"),
        (lambda a: (a[:6], a[6:12], a[6:12]), "WF186: running_var shares memory with weight: what is there is needed"),
        (lambda a: (a[:6], a[6:12], a[5:11]), "WF186: running_var shares memory with weight: "),
    ],
    ids=["each other", "in part", "a weight", "a part of a weight"],
)
def test_statistics_that_share_memory(arrays: Any, text: str) -> None:
    own = np.ones(12, np.float32)
    with pytest.raises(ArgumentError, match=text):
        wf.batch_norm(X, *arrays(own), training=True)
    assert (own == 1).all()
