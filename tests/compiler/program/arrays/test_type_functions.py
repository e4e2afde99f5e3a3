"""Functions of the standard about element types."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from array_programs import traced

from warpfold.compiler.dtypes import BF16, BOOL, F16, F32, F64, I8, I64, U8, DType
from warpfold.compiler.errors import ArgumentError
from warpfold.compiler.program.arrays.type_functions import can_cast, finfo, iinfo, isdtype, result_type

X = np.ones((2, 3), np.float32)


@pytest.mark.parametrize("t", [F16, BF16, F32, F64], ids=str)
def test_limits_of_floats(t: DType) -> None:
    theirs: Any = ml_dtypes.finfo(t.numpy)
    found = finfo(t)
    assert (found.bits, found.dtype) == (t.bits, t)
    for name in ("eps", "max", "min", "smallest_normal"):
        value = getattr(found, name)
        assert isinstance(value, float)
        assert value == float(getattr(theirs, name))


def test_limits_of_integers_and_of_arrays() -> None:
    assert (iinfo("int8").min, iinfo(U8).max) == (-128, 255)
    traced(lambda x: x * finfo(x).eps, X)


@pytest.mark.parametrize(
    ("t", "kind", "expected"),
    [
        (F32, "real floating", True), (F32, "integral", False), (I8, "signed integer", True), (U8, "integral", True),
        (U8, ("bool", "unsigned integer"), True), (BOOL, "numeric", False), (F32, F32, True), (F32, "bool", False),
        (BF16, "numeric", True), (F32, "complex floating", False),
    ],
)  # fmt: skip
def test_kinds(t: DType, kind: Any, expected: bool) -> None:
    assert isdtype(t, kind) is expected


def test_an_unknown_kind() -> None:
    with pytest.raises(ArgumentError, match="WF138"):
        isdtype(F32, "floating")


def test_common_types() -> None:
    assert result_type(F16, F32) == F32
    assert result_type(I8, 2.0) == F64
    assert result_type(F32, 2, True) == F32
    assert result_type(2) == I64
    assert result_type(BOOL, 1) == I64
    assert can_cast(F16, F32)
    assert not can_cast(F64, F32)
    seen: list[DType] = []
    traced(lambda x: seen.append(result_type(x, 2.0, "float16")) or x, X)
    assert seen == [F32]
