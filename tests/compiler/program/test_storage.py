"""Elements of arrays as values of kernels: 8-bit floats against ml_dtypes, complex numbers as pairs."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from graph_numpy import evaluate

from warpfold.compiler.dtypes import ALL, C64, C128, F8E4M3FN, F8E5M2, F32, F64, STORED, U8, DType
from warpfold.compiler.program.complexes import Complex
from warpfold.compiler.program.graph import ELEMENT, SCALAR, Expr
from warpfold.compiler.program.storage import decoded, encoded, parts
from warpfold.compiler.program.symbols import Sym
from warpfold.compiler.program.values import join, split


def inputs(t: DType) -> list[Expr]:
    return [Expr("input", (), p, ELEMENT, i) for i, p in enumerate(parts(t))]


@pytest.mark.parametrize(
    ("t", "theirs"), [(F8E4M3FN, ml_dtypes.float8_e4m3fn), (F8E5M2, ml_dtypes.float8_e5m2)], ids=str
)
def test_every_byte_of_an_8_bit_float_decodes_to_its_f32(t: DType, theirs: Any) -> None:
    """Zeros of both signs, subnormals and infinities bit for bit; a NaN becomes a NaN of either sign."""
    codes = np.arange(256, dtype=np.uint8)
    (byte,) = inputs(t)
    found = decoded(t, [byte])
    assert isinstance(found, Sym)
    assert found.dtype == F32
    (values,) = evaluate((found.expr,), {byte.digest: codes})
    expected = codes.view(theirs).astype(np.float32)
    nan = np.isnan(expected)
    assert nan.sum() == {"f8e4m3fn": 2, "f8e5m2": 6}[t.name]
    assert np.array_equal(np.isnan(values), nan)
    assert np.array_equal(values.view(np.uint32)[~nan], expected.view(np.uint32)[~nan])
    assert np.array_equal(np.signbit(values), np.signbit(expected))


@pytest.mark.parametrize(
    ("t", "theirs"), [(F8E4M3FN, ml_dtypes.float8_e4m3fn), (F8E5M2, ml_dtypes.float8_e5m2)], ids=str
)
def test_an_f32_encodes_to_the_nearest_8_bit_float(t: DType, theirs: Any) -> None:
    """All floats that differ in their upper 20 bits, and those beside them, so all that lie halfway; NaN is 0x7f."""
    upper = np.arange(1 << 20, dtype=np.uint32) << 12
    values = np.concatenate([upper, upper + 1, upper - 1]).view(np.float32)
    x = Expr("input", (), F32, ELEMENT, 0)
    (codes,) = evaluate((encoded(Sym(x), t).expr,), {x.digest: values})
    largest = np.float32(ml_dtypes.finfo(theirs).max)
    with np.errstate(all="ignore"):
        expected = np.clip(values, -largest, largest).astype(theirs).view(np.uint8)
    expected = np.where(np.isnan(values), 0x7F, expected)
    assert codes.dtype == np.uint8
    assert np.array_equal(codes, expected)


def test_the_parts_of_an_array_in_a_kernel() -> None:
    assert parts(C64) == (F32, F32)
    assert parts(C128) == (F64, F64)
    assert parts(F8E4M3FN) == parts(F8E5M2) == (U8,)
    assert all(parts(t) == (t,) for t in ALL)


@pytest.mark.parametrize("t", [*ALL, *STORED], ids=str)
def test_a_value_survives_splitting_and_joining(t: DType) -> None:
    exprs = inputs(t)
    found = decoded(t, exprs)
    assert found.dtype == (F32 if t in (F8E4M3FN, F8E5M2) else t)
    assert isinstance(found, Complex) == (t.kind == "complex")
    (again,) = join([found.dtype], split(found))
    assert [s.expr for s in split(again)] == [s.expr for s in split(found)]


def test_several_values_are_joined_in_order() -> None:
    symbols = [Sym(Expr("param", (), t, SCALAR, i)) for i, t in enumerate((F32, F64, F64, U8))]
    a, z, b = join([F32, C128, U8], symbols)
    assert [s.expr.value for v in (a, z, b) for s in split(v)] == [0, 1, 2, 3]
    assert isinstance(z, Complex)
