"""docs/semantics.md: indices."""

from __future__ import annotations

import numpy as np
import pytest
from meanings import NAN, f32, normal, on_emulator


def test_indices_are_row_major() -> None:
    x = normal(7, 11)
    for v in (x, x.T, x[::-1, ::-2]):
        got = on_emulator("argmax")(v)
        assert got == v.argmax()
        assert got.dtype == np.int64


def test_indices_over_several_axes() -> None:
    x = normal(3, 5, 7)
    got = on_emulator("argmin")(x, (0, 2))
    np.testing.assert_array_equal(got, x.transpose(1, 0, 2).reshape(5, 21).argmin(1))
    with pytest.raises(TypeError):
        np.argmin(x, (0, 2))  # type: ignore[call-overload]


def test_indices_count_everything() -> None:
    assert on_emulator("nanargmin")(f32(NAN, 3, NAN, 1)) == 3
    assert on_emulator("argmax")(f32(NAN, 3, NAN, 1), nan="ignore") == 1
