"""Views: strides of contiguous arrays, and memory as NumPy arrays."""

from __future__ import annotations

import numpy as np

from warpfold.runtime.arrays import conversion
from warpfold.runtime.view import as_array, contiguous, dense, is_contiguous


def test_strides_of_contiguous_arrays() -> None:
    assert dense((2, 3, 4), (1, 2, 0)) == (1, 8, 2)
    assert dense((2, 0, 4), (2, 1, 0)) == (1, 2, 2)
    assert contiguous((2, 0, 4)) == (4, 4, 1)
    assert contiguous(()) == ()


def test_memory_as_an_array() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for view in (x, x[::-1, :, ::-2].T, x[0, 0, 0], x[:, :0], np.broadcast_to(x[:1], (5, 3, 4))):
        assert np.array_equal(as_array(conversion.view(view)), view)
    as_array(conversion.view(x[:, ::2, 1]))[...] = -1
    assert np.argwhere(x == -1).tolist() == [[0, 0, 1], [0, 2, 1], [1, 0, 1], [1, 2, 1]]


def test_contiguous() -> None:
    x = np.zeros((3, 4))
    assert all(is_contiguous(conversion.view(v)) for v in (x, x[1], x[:, :0], x[:1, :2], x[0, 0]))
    assert not any(is_contiguous(conversion.view(v)) for v in (x.T, x[:, ::2], x[::-1], x[:, 0]))
