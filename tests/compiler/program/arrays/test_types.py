"""The types of symbolic arrays, and the types in which they are computed."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from array_programs import expect_equal, results, traced

import warpfold as wf
from warpfold.compiler.dtypes import ALL, BF16, BOOL, F8E4M3FN, F8E5M2, F16, F32, F64, NUMBER, U8, U16, DType
from warpfold.compiler.errors import TraceError
from warpfold.compiler.program.arrays.trace import ArrayArg, trace_arrays
from warpfold.compiler.program.graph import walk

EIGHT_BITS = [(F8E4M3FN, ml_dtypes.float8_e4m3fn), (F8E5M2, ml_dtypes.float8_e5m2)]
X = np.random.default_rng(1).standard_normal((3, 5)).astype(np.float32)


def operations(function: Any, *arrays: Any) -> list[str]:
    return [e.op for e in walk(traced(function, *arrays).roots)]


@pytest.mark.parametrize("t", [F16, BF16], ids=str)
def test_a_half_is_rounded_where_cast_says(t: DType) -> None:
    def rounded(x: Any) -> Any:
        return x.astype(np.float32).astype(t.numpy).astype(np.float64)

    expect_equal(lambda x: wf.cast(wf.cast(x, t) * 3, "f32"), lambda x: rounded(x) * 3, X)
    expect_equal(lambda x: wf.cast(x.astype(t) + 1, "f64"), lambda x: rounded(x) + 1, X)
    assert "cast" not in operations(lambda x: x * 2 + wf.mean(x), X)


@pytest.mark.parametrize("t", [*ALL, F8E4M3FN, F8E5M2], ids=str)
def test_the_low_bits_of_a_word_are_a_number_of_any_type(t: DType) -> None:
    numbers = [0, 1, 1] if t == BOOL else [0, 1, 3, -2 if t.kind in ("int", "float") else 5]
    for value in np.array(numbers, t.numpy):
        own = ArrayArg(t, (), number=True)
        program = trace_arrays(lambda x, c: (wf.cast(x, "f64") + c, c), [ArrayArg(F64, (2,)), own], {})
        assert [e.dtype for e in walk(program.roots) if e.op == "input"] == [F64, NUMBER]
        x, c = np.array([0.5, 2.0]), np.array(value)
        total, same = wf.program(lambda x, c: (wf.cast(x, "f64") + c, c))(x, c)
        np.testing.assert_array_equal(total, x + float(value))
        assert (same, same.dtype) == (value, t.numpy)


def test_conversions_within_f32_are_free() -> None:
    assert operations(lambda x: wf.cast(x, "f32") + 1, X.astype(np.float16)) == ["input", "cast", "const", "add"]


def test_a_constant_is_rounded_to_a_half_only_by_cast() -> None:
    half = X.astype(np.float16)
    (found,) = results(lambda x: x * 0 + 0.1, half)
    assert found[0, 0] == 0.1
    (found,) = results(lambda x: x * 0 + wf.cast(0.1, "float16"), half)
    assert found[0, 0] == np.float16(0.1)


@pytest.mark.parametrize(("t", "theirs"), EIGHT_BITS, ids=str)
def test_an_8_bit_float_is_a_byte_that_is_computed_in_f32(t: DType, theirs: Any) -> None:
    codes = np.arange(256, dtype=np.uint8).view(theirs)
    program = traced(lambda x: (x, x * 2, -x, wf.sum(x), wf.maximum(x, 1)), codes)
    assert [o.dtype for o in program.outputs] == [t, F32, F32, F32, F32]
    assert [e.dtype for e in walk(program.roots) if e.op == "input"] == [U8]
    assert program.outputs[0].expr.op == "input"
    number = codes.astype(np.float64)
    for found, expected in zip(results(lambda x: (x, x * 2, -x), codes), (number, 2 * number, -number), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("t", "theirs"), EIGHT_BITS, ids=str)
def test_a_result_saturates_at_the_range_of_an_8_bit_float(t: DType, theirs: Any) -> None:
    largest = float(ml_dtypes.finfo(theirs).max)
    x = np.array([0.3, -1e9, np.inf, 1e-9, largest, np.nan, -0.0], np.float32)
    found, again = results(lambda x: (wf.cast(x, t), wf.cast(x, t) * 1.0), x)
    expected = np.clip(x, -largest, largest).astype(theirs).astype(np.float64)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(again, expected)
    assert traced(lambda x: wf.cast(x, t), x).outputs[0].expr.dtype == U8


def test_a_value_is_encoded_once() -> None:
    once = operations(lambda x: wf.cast(x, F8E4M3FN), X)
    both = operations(lambda x: (wf.cast(x, F8E4M3FN), wf.cast(x, F8E4M3FN) * 1.0), X)
    assert once.count("shr") == both.count("shr")


def test_an_8_bit_float_converts_to_the_other_format() -> None:
    x = np.array([448.0, 0.3, 1.0], np.float32)

    def function(x: Any) -> Any:
        return wf.cast(wf.cast(x, F8E4M3FN), F8E5M2)

    expected = x.astype(ml_dtypes.float8_e4m3fn).astype(ml_dtypes.float8_e5m2).astype(np.float64)
    np.testing.assert_array_equal(results(function, x)[0], expected)


def test_bits_are_those_in_memory() -> None:
    half = X.astype(np.float16)
    expect_equal(lambda x: wf.bitcast(x, "uint16"), lambda x: x.astype(np.float16).view(np.uint16), half)
    expect_equal(lambda x: wf.bitcast(wf.bitcast(x, "uint16") ^ 0x8000, "float16"), lambda x: -x, half)
    codes = np.arange(250, dtype=np.uint8).view(ml_dtypes.float8_e5m2)
    assert traced(lambda x: wf.bitcast(x, "uint8"), codes).outputs[0].expr.op == "input"
    assert traced(lambda x: wf.bitcast(x, "uint16"), half).outputs[0].dtype == U16


def test_a_number_without_axes_has_its_type() -> None:
    assert traced(lambda x, t: x / t, X, np.zeros((), np.float64)).outputs[0].dtype == F64
    assert traced(lambda x, t: x / t, X, np.zeros((), BF16.numpy)).outputs[0].dtype == F32


def test_complex_numbers_are_refused() -> None:
    with pytest.raises(TraceError, match="WF268: z is of type c64"):
        traced(lambda z: z, X.astype(np.complex64))
    with pytest.raises(TraceError, match="WF268: x is of type c64"):
        traced(lambda x: x.astype("complex64"), X)
    with pytest.raises(TraceError, match="WF268: result 0 of <lambda> is of type c64"):
        traced(lambda x: wf.cast(x, "complex64"), X)
