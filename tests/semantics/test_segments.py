"""docs/semantics.md: segments."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from meanings import F64, f32, normal, on_emulator, reduce, segments, total

import warpfold as wf


def test_segments_are_slices() -> None:
    x, offsets = normal(400), [3, 3, 4, 10, 390]
    got = segments(x, offsets, "sum")
    pairs = itertools.pairwise(offsets)
    np.testing.assert_allclose(got, [x[a:b].sum(dtype=F64) for a, b in pairs], rtol=1e-5, atol=1e-5)


def test_empty_segments() -> None:
    assert segments(f32(1, 2), [0, 0, 2], "sum").tolist() == [0, 3]
    with pytest.raises(ValueError, match="WF144"):
        segments(f32(1, 2), [0, 0, 2], "max")


def test_segments_begin_at_zero() -> None:
    assert segments(f32(1, 5, 2, 9, 3), [0, 2, 5], "argmax").tolist() == [1, 1]
    assert segments(f32(1, 5, 2, 9, 4), [0, 2, 5], "mean").tolist() == [3, 5]


def test_segments_by_id() -> None:
    assert segments(f32(1, 2, 4), None, "sum", ids=[0, 0, 2]).tolist() == [3, 0, 4]
    assert segments(f32(1, 2, 4), None, "sum", ids=[1, 1, 1], num_segments=3).tolist() == [0, 7, 0]


def test_ids_rise() -> None:
    x, ids = normal(50), np.random.default_rng(2).integers(0, 4, 50)
    with pytest.raises(ValueError, match="WF180"):
        segments(x, None, "sum", ids=ids)
    order = np.argsort(ids, kind="stable")
    got = segments(x[order], None, "argmax", ids=ids[order])
    assert got.tolist() == [int(x[ids == k].argmax()) for k in range(4)]


def test_offsets_like_ids() -> None:
    with pytest.warns(wf.WarpfoldWarning, match="WF178"):
        assert segments(f32(1, 2, 4, 8), [0, 0, 1, 3], "sum").tolist() == [0, 1, 6]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert segments(f32(1, 2, 4, 8), [0, 0, 1, 4], "sum").tolist() == [0, 1, 14]


def test_several_at_once() -> None:
    x = normal(3, 500)
    got = reduce(x, what=("sum", "max", wf.ARGMIN, "mean_var"), axis=1)
    np.testing.assert_allclose(got[0], total(x, 1), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(got[1], x.max(1))
    np.testing.assert_array_equal(got[2], x.argmin(1))
    np.testing.assert_allclose(got[3].var, on_emulator("var")(x, 1), rtol=1e-5)
