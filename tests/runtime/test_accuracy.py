"""Sums of f32 are as accurate as NumPy's pairwise summation, measured over many random inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warpfold as wf


def _rms(values: list[Any]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


@pytest.mark.parametrize("kind", ["normal", "uniform"])
@pytest.mark.parametrize(("shape", "axis"), [((1 << 20,), None), ((4096,), None), ((50, 10_003), 1), ((10_000, 64), 0)])
def test_the_error_is_within_four_times_that_of_pairwise_summation(
    shape: tuple[int, ...], axis: Any, kind: str
) -> None:
    ours, theirs = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = (rng.standard_normal(shape) if kind == "normal" else rng.random(shape)).astype(np.float32)
        exact = x.astype(np.float64).sum(axis)
        size = np.abs(x).sum(axis, dtype=np.float64)
        ours.append((np.asarray(wf.sum(x, axis, device="emulator"), np.float64) - exact) / size)
        theirs.append((np.sum(x, axis=axis).astype(np.float64) - exact) / size)
    assert _rms(ours) < 4 * _rms(theirs)
