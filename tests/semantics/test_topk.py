"""docs/semantics.md: top-k."""

from __future__ import annotations

import numpy as np
import pytest
from meanings import F16, INF, NAN, f32, normal, on_emulator, refused

import warpfold as wf

topk = on_emulator("topk")


def test_chosen_elements() -> None:
    values, indices = topk(np.array([[3, 1, 2], [4, 6, 5]]), 2)
    assert (values.tolist(), indices.tolist()) == ([[3, 2], [6, 5]], [[0, 2], [1, 2]])
    assert indices.dtype == np.int64
    assert topk(f32(3, 1, 2), 2, largest=False).values.tolist() == [1, 2]


def test_ties_of_chosen_elements() -> None:
    assert topk(f32(1, 2, 1, 2, 2), 4).indices.tolist() == [1, 3, 4, 0]
    assert topk(f32(1, 2, 1, 2, 2), 3, largest=False).indices.tolist() == [0, 2, 1]
    assert topk(f32(-0.0, 0.0, -0.0), 3).indices.tolist() == [0, 1, 2]


def test_nan_among_chosen_elements() -> None:
    x = f32(1, NAN, INF, NAN)
    assert topk(x, 3).indices.tolist() == [1, 3, 2]
    assert topk(x, 3, largest=False).indices.tolist() == [0, 2, 1]


def test_values_of_chosen_elements() -> None:
    x = normal(3, 40, dtype=F16)
    values, indices = topk(x, 5)
    assert np.array_equal(values.view(np.uint16), np.take_along_axis(x, indices, -1).view(np.uint16))
    assert not np.signbit(topk(f32(-0.0), 1).values).any()
    payload = np.array([0xFFC12345], np.uint32).view(np.float32)
    assert topk(payload, 1).values.view(np.uint32).tolist() == [0x7FFFFFFF]


def test_how_many_can_be_chosen() -> None:
    for k in (0, 4, 17, 2.0, True, None):
        refused("WF280", "topk", f32(1, 2, 3), k)


def test_chosen_elements_have_no_gradient() -> None:
    with pytest.raises(wf.WarpfoldError, match="WF901"):
        wf.vjp(lambda x: wf.topk(x, 2)[0])(f32(1, 1), f32(1, 2, 3), device="emulator")
