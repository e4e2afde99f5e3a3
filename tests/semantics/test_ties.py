"""docs/semantics.md: zeros and ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from meanings import BF16, F16, F32, F64, f32, greatest, least, on_emulator, product, total


@pytest.mark.parametrize("dtype", [F16, BF16, F32, F64])
def test_zeros_are_ordered(dtype: Any) -> None:
    for values in ([0.0, -0.0], [-0.0, 0.0], [0.0, 0.0, -0.0]):
        x = np.array(values, dtype)
        assert np.signbit(least(x).astype(F64))
        assert not np.signbit(greatest(x).astype(F64))


def test_zeros_are_equal() -> None:
    assert on_emulator("argmin")(f32(0.0, -0.0)) == 0
    assert on_emulator("argmax")(f32(-0.0, 0.0)) == 0
    assert on_emulator("array_equal")(f32(0.0), f32(-0.0))
    assert on_emulator("count_nonzero")(f32(0.0, -0.0)) == 0


def test_the_first_of_equals_wins() -> None:
    x = np.zeros(5000, F32)
    x[[17, 4321]] = 1
    assert on_emulator("argmax")(x) == 17
    assert on_emulator("argmin")(x) == 0
    assert on_emulator("argmin")(np.full((3, 700), np.iinfo(np.int8).max, np.int8), 1).tolist() == [0, 0, 0]


def test_signs_of_zero() -> None:
    assert not np.signbit(total(f32(-0.0, -0.0)))
    assert not np.signbit(np.sum(f32(-0.0, -0.0)))
    assert np.signbit(product(f32(-0.0, 2)))
