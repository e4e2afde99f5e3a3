"""docs/semantics.md: layout."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from meanings import F32, greatest, normal, on_emulator, reduce, total

import warpfold as wf


def strides(result: Any) -> tuple[int, ...]:
    """In elements."""
    return tuple(s // result.itemsize for s in result.strides)


def test_results_lie_as_the_inputs() -> None:
    x = np.arange(60.0).reshape(3, 4, 5)
    turned = x.transpose(2, 0, 1)
    assert strides(total(turned, 1)) == (1, 5)
    assert strides(total(turned, 2)) == (1, 5)
    assert strides(total(turned, 0)) == (4, 1)
    assert strides(total(turned[::-1, :, ::-2], 1)) == (1, 5)
    assert strides(total(x[::-1, :, ::-1], 1)) == (5, 1)
    assert strides(on_emulator("argmax")(turned, 1)) == (1, 5)
    assert strides(total(turned * 1j, 1)) == (1, 5)
    assert strides(on_emulator("allclose")(turned, turned, axis=1)) == (1, 5)


def test_strides_of_numpy() -> None:
    x = np.broadcast_to(np.arange(60).reshape(3, 1, 4, 5), (3, 2, 4, 5))
    for order in itertools.permutations(range(4)):
        v = x.transpose(order)[::-1, :, 1:]
        for axis, keepdims in itertools.product((1, (0, 2), (), (3,)), (False, True)):
            got, wanted = total(v, axis, keepdims=keepdims), v.sum(axis, keepdims=keepdims)
            several = np.array(got.shape) > 1
            np.testing.assert_array_equal(np.array(got.strides)[several], np.array(wanted.strides)[several])


def test_axes_without_a_place() -> None:
    x = np.arange(12.0).reshape(3, 4)
    assert strides(total(x.T[:, :, None], ())) == (1, 4, 1)
    assert strides(total(np.broadcast_to(x.T[:, None], (4, 5, 3)), 0)) == (3, 1)
    assert strides(total(np.broadcast_to(x.T[:, None], (4, 5, 3)), 1)) == (1, 4)
    assert strides(total(np.lib.stride_tricks.as_strided(x, (4, 5), (8, 8)), ())) == (5, 1)


def test_layout_of_several_inputs() -> None:
    x = np.arange(60.0).reshape(3, 4, 5)
    y, z = x.transpose(2, 1, 0), np.ones((5, 4, 3))
    dot = on_emulator("vecdot")
    assert strides(dot(y, z)) == (1, 5)
    assert strides(dot(z, y)) == (4, 1)
    assert strides((z * y).sum(-1)) == (4, 1)
    assert strides(dot(np.broadcast_to(1.0, y.shape), y)) == (1, 5)
    assert strides(total(z, 2, where=y > 3)) == (4, 1)
    assert strides(total(np.broadcast_to(1.0, y.shape), 2, where=y > 3)) == (1, 5)


def test_results_lie_alike() -> None:
    x = np.arange(60.0).reshape(3, 4, 5).transpose(2, 0, 1)
    assert {strides(r) for r in on_emulator("describe")(x, 1)} == {(1, 5)}
    assert [strides(r) for r in reduce(x, what=("sum", "argmin", "any"), axis=1)] == [(1, 5)] * 3


def test_layout_of_segments() -> None:
    x = np.arange(60.0).reshape(3, 4, 5).transpose(2, 0, 1)
    for axis, expected in ((0, (1, 8, 2)), (1, (1, 20, 5)), (2, (1, 10, 5))):
        assert strides(wf.segment_reduce(x, [0, 1, 3], "sum", axis=axis, device="emulator")) == expected


def test_results_in_c_order() -> None:
    assert strides(total(np.zeros((3, 0, 4)).T, 1)) == (3, 1)
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    got = total(jax.numpy.ones((3, 4, 5)).transpose(2, 0, 1), 1)
    assert np.asarray(got).strides == np.ones((5, 4), got.dtype).strides


def test_layout_of_out() -> None:
    x = normal(64, 3, 40).transpose(2, 0, 1)
    out = np.zeros((40, 3), F32)
    total(x, 1, out=out)
    assert strides(out) == (3, 1)
    np.testing.assert_allclose(total(x, 1), out, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(greatest(x, 1), greatest(x, 1, out=out))
