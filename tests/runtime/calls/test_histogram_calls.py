"""Repeated histograms: what they ask of the driver, and that bins, streams and callers are kept apart."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from fake_gpu import Gpu, Tensor, gpu

import warpfold as wf
from warpfold.runtime import bins, histogram_calls

__all__ = ["gpu"]
ROWS = np.arange(60, dtype=np.float32).reshape(5, 12) % 7
RANGE = (-3.0, 3.0)
LAUNCH = "cuLaunchKernelEx"


def assert_counted(found: tuple[Any, Any], a: Any, number: int, ends: Any) -> None:
    counts, edges = np.histogram(a, number, ends)
    np.testing.assert_array_equal(found[0].a, counts)
    np.testing.assert_array_equal(found[1].a, edges)


def test_a_call_like_another_launches_one_kernel(gpu: Gpu, monkeypatch: Any) -> None:
    for module, name in ((bins, "_tables"), (histogram_calls, "_known")):  # of other devices with the same names
        monkeypatch.setattr(module, name, OrderedDict())
    monkeypatch.setattr(Tensor, "clone", lambda x: gpu.tensor(x.a, x.number), raising=False)
    x, other = gpu.tensor(ROWS), gpu.tensor(ROWS[::-1] * 2)
    assert_counted(wf.histogram(x, 6, RANGE), ROWS, 6, RANGE)
    asked = []
    monkeypatch.setattr(histogram_calls, "_key_of_bins", lambda *how: asked.append(how) or KEY(*how))
    for _ in range(3):
        found, warm = gpu.launched(lambda: wf.histogram(other, 6, RANGE))
        assert_counted(found, other.a, 6, RANGE)
        assert warm == [LAUNCH] or histogram_calls.MEMO.latest is None
    assert len(asked) == (1 if histogram_calls.MEMO.latest else 6)
    for number, ends in ((6, (-3.0, 4.0)), (7, RANGE), (6, RANGE), (6, (-3, 3)), (6, [-3.0, 3.0])):
        assert_counted(wf.histogram(x, number, ends), ROWS, number, ends)
    gpu.stream.use(7)
    assert_counted(wf.histogram(x, 6, RANGE), ROWS, 6, RANGE)
    weights = gpu.tensor(np.arange(60, dtype=np.int32).reshape(5, 12))
    for _ in (1, 2):
        counts, _ = wf.histogram(x, 6, RANGE, weights=weights)
        np.testing.assert_array_equal(counts.a, np.histogram(ROWS, 6, RANGE, weights=weights.a)[0])


KEY = histogram_calls._key_of_bins


def test_copies_of_edges_know_nothing_of_each_other() -> None:
    torch = pytest.importorskip("torch")
    edges = torch.linspace(-3, 3, 65)
    first, second, *others = histogram_calls._copies(edges)
    assert len(others) == histogram_calls.COPIES - 2
    first[:] = 0
    assert torch.equal(second, edges)
    assert (first._version, second._version, second._base) == (1, 0, None)
    assert all(x.data_ptr() % 16 == 0 and x.is_contiguous() for x in others)
    (only,) = histogram_calls._copies(torch.linspace(0, 1, histogram_calls.MOST_COPIED + 1))
    assert len(only) == histogram_calls.MOST_COPIED + 1
