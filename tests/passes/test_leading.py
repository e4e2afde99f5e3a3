"""Weights of rows that begin anywhere and are walked: two aligned accesses for each distance from a boundary."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.planner.resident import held

RNG = np.random.default_rng(21)
BF16 = ml_dtypes.bfloat16


@pytest.mark.parametrize(
    ("of_rows", "of_weights", "length", "cluster"),
    [(BF16, BF16, 2051, 2), (np.float32, np.float32, 1031, 1), (BF16, np.float32, 1021, 1)],
)
def test_weights_beside_rows_that_begin_anywhere(
    monkeypatch: pytest.MonkeyPatch, of_rows: Any, of_weights: Any, length: int, cluster: int
) -> None:
    """Each distance from a boundary. Weights that begin elsewhere are read otherwise, and give the same bits."""
    monkeypatch.setattr(held, "LARGE", 0)  # small arrays have the kernels of large ones
    x = RNG.standard_normal((9, length)).astype(of_rows)
    w, b = RNG.standard_normal((2, length)).astype(of_weights)
    elsewhere = [np.concatenate([v[:1], v])[1:] for v in (w, b)]
    plan = f"resident=shared,cluster={cluster},warps=1"
    made, other = (wf.layer_norm.compile(x, *weights, plan=plan) for weights in ((w, b), elsewhere))
    assert made.plans == other.plans
    assert made.ptx != other.ptx
    np.testing.assert_array_equal(made(x, w, b), other(x, *elsewhere))
