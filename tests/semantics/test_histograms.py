"""docs/semantics.md: histograms."""

from __future__ import annotations

import numpy as np
from meanings import F16, INF, NAN, f32, f64, on_emulator, refused

bincount, histogram = on_emulator("bincount"), on_emulator("histogram")


def test_counts_of_values() -> None:
    found = bincount(np.array([[3, 1, 1], [0, 3, 3]], np.uint8))
    assert found.tolist() == [1, 2, 0, 3]
    assert found.dtype == np.int64
    assert bincount(np.array([1]), minlength=4).tolist() == [0, 1, 0, 0]


def test_counts_in_bins() -> None:
    counts, edges = histogram(f32(0, 1, 1, 2, 3), 3)
    assert (counts.tolist(), edges.tolist()) == ([1, 2, 2], [0, 1, 2, 3])
    assert histogram(f32(0, 1, 1, 2, 3), [0, 1, 3])[0].tolist() == [1, 4]


def test_elements_beside_bins() -> None:
    x = f32(-1, 0, 0.5, 1, 2, NAN, INF)
    assert histogram(x, 2, (0, 1))[0].tolist() == [1, 2]
    refused("WF156", "histogram", x)


def test_weights_of_counts() -> None:
    assert bincount(np.array([0, 1, 1]), np.array([5, -2, 1])).tolist() == [5, -1]
    assert histogram(f32(0, 1), 2, weights=np.array([True, True]))[0].tolist() == [1, 1]
    refused("WF117", "bincount", np.array([0, 1]), f64(0.5, 0.5))


def test_types_of_edges() -> None:
    tenth = np.float32(0.1)
    assert histogram(f32(tenth), np.array([0, 0.1, 1]))[0].tolist() == [0, 1]  # 0.1 in f32 is above that in f64
    assert histogram(f32(tenth), np.array([0, 0.1, 1], np.float32))[1].dtype == np.float32
    assert histogram(np.ones(3, F16), 2)[1].dtype == F16
