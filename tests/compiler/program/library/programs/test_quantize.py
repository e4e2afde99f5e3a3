"""Quantisation beside NumPy: types, axes, saturation, and rows of zeros, tiny numbers, NaN and infinities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from library_programs import program, values

from warpfold.compiler.dtypes import BF16, F32, F64, dtype
from warpfold.compiler.errors import TraceError
from warpfold.compiler.program.library.programs.quantize import GREATEST, LEAST_SCALE, quantize

RNG = np.random.default_rng(3)
TYPES = [t.numpy_name for t in GREATEST]


def formula(x: Any, to: str, axis: Any) -> tuple[Any, Any]:
    """The 8-bit numbers as float64, and the scales, of finite elements that are no integers of two neighbours."""
    greatest = np.abs(x).max(axis, keepdims=True)
    scale = np.where(greatest == 0, 1.0, np.maximum(greatest / GREATEST[dtype(to)], LEAST_SCALE))
    scaled = x * (1 / scale)
    q = np.rint(scaled) if to == "int8" else np.asarray(scaled, np.float32).astype(dtype(to).numpy)
    return q.astype(np.float64), scale


@pytest.mark.parametrize("to", TYPES)
@given(
    shape=st.tuples(st.integers(1, 4), st.integers(1, 9)),
    axis=st.sampled_from([-1, 0, None]),
    exponent=st.integers(-140, 126),
    seed=st.integers(0, 999),
)
def test_over_any_axes_and_magnitudes(to: str, shape: Any, axis: Any, exponent: int, seed: int) -> None:
    x = np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32) * np.float32(2.0) ** exponent
    q, scale = values(quantize, {"x": x}, dtype=to, axis=axis)
    expected, scales = formula(x.astype(np.float64), to, axis)
    np.testing.assert_array_equal(scale, scales)
    np.testing.assert_array_equal(q.astype(np.float64), expected)
    assert np.isfinite(scale).all()
    assert (scale > 0).all()


@pytest.mark.parametrize("to", TYPES)
def test_rows_that_have_no_common_magnitude(to: str) -> None:
    x = np.array([[0, 0], [1e-45, 0], [-3.4e38, 1], [np.nan, 1], [np.inf, 1]], np.float32)
    q, scale = values(quantize, {"x": x}, dtype=to)
    q, scale = q.astype(np.float64), scale[:, 0]
    assert scale[:2].tolist() == [1.0, LEAST_SCALE]
    assert q[:2].tolist() == [[0, 0], [0, 0]]
    assert q[2].tolist() == [-GREATEST[dtype(to)], 0]
    assert np.isnan(scale[3])
    assert np.isposinf(scale[4])
    assert q[4, 1] == 0
    if to != "int8":
        assert np.isnan(q[3]).all()
        assert np.isnan(q[4, 0])


@pytest.mark.parametrize("to", TYPES)
@pytest.mark.parametrize("block", [1, 3, 6, 12])
def test_blocks_of_rows(to: str, block: int) -> None:
    x = RNG.standard_normal((4, 12)).astype(np.float32)
    q, scale = values(quantize, {"x": x}, dtype=to, block=block)
    expected, scales = formula(x.astype(np.float64).reshape(4, -1, block), to, -1)
    np.testing.assert_array_equal(q.astype(np.float64), expected.reshape(x.shape))
    np.testing.assert_array_equal(scale, scales[..., 0])


def test_blocks_of_several_axes() -> None:
    x = RNG.standard_normal((4, 12, 5)).astype(np.float32)
    for axis, block in (((0, 1), (2, 3)), ((1, 0), (3, 2))):
        q, scale = values(quantize, {"x": x}, axis=axis, block=block)
        expected, scales = formula(x.astype(np.float64).reshape(2, 2, 4, 3, 5), "float8_e4m3fn", (1, 3))
        np.testing.assert_array_equal(q.astype(np.float64), expected.reshape(x.shape))
        np.testing.assert_array_equal(scale, scales.reshape(2, 4, 5))


def test_blocks_that_do_not_fit() -> None:
    with pytest.raises(TraceError, match="WF276: block=4 for axis 1 of x, of size 10"):
        program(quantize, {"x": np.ones((2, 10), np.float32)}, block=4)
    with pytest.raises(TraceError, match="WF275: block= has 2 sizes: expected 1, one for each of the axes"):
        program(quantize, {"x": np.ones((2, 10), np.float32)}, block=(2, 5))


def test_types() -> None:
    for t, scales in ((BF16, F32), (F32, F32), (F64, F64)):
        found = program(quantize, {"x": RNG.standard_normal((2, 3)).astype(t.numpy)})
        assert [o.dtype for o in found.outputs] == [dtype("float8_e4m3fn"), scales]
        assert [o.axes for o in found.outputs] == [(0, 1), (0, None)]


def test_a_type_that_has_no_scale() -> None:
    with pytest.raises(TraceError, match="WF272: arrays are not quantised to float16: expected one of float8_e4m3fn"):
        program(quantize, {"x": np.ones(3)}, dtype="float16")
