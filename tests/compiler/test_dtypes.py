"""Element types: their names, ranges, NumPy equivalents and accumulators."""

from __future__ import annotations

import re

import numpy as np
import pytest

from warpfold.compiler.dtypes import (
    ALL,
    BOOL,
    C64,
    C128,
    F32,
    F64,
    I32,
    I64,
    STORED,
    U32,
    U64,
    DType,
    accumulator,
    compute,
    dtype,
    floating,
)
from warpfold.compiler.errors import DTypeError


@pytest.mark.parametrize("t", [*ALL, *STORED], ids=str)
def test_both_names_and_the_numpy_dtype_give_the_type(t: DType) -> None:
    assert dtype(t) is t
    assert dtype(t.name) is t
    assert dtype(t.numpy_name) is t
    assert dtype(t.numpy) is t
    assert dtype(t.numpy.type) is t
    assert repr(t) == t.name
    assert t.itemsize == t.numpy.itemsize


@pytest.mark.parametrize("t", ALL, ids=str)
def test_ranges_are_those_of_numpy(t: DType) -> None:
    if t.is_float:
        assert (t.lowest, t.highest) == (-np.inf, np.inf)
    elif t == BOOL:
        assert (t.lowest, t.highest) == (0, 1)
    else:
        info = np.iinfo(t.numpy)
        assert (t.lowest, t.highest) == (info.min, info.max)
    assert t.is_integer == (t.numpy.kind in "iu")


def test_python_types_are_read_as_in_numpy() -> None:
    assert (dtype(bool), dtype(int), dtype(float)) == (BOOL, I64, F64)


@pytest.mark.parametrize("t", ALL, ids=str)
def test_types_of_pytorch_are_read_by_name(t: DType) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    assert dtype(getattr(torch, t.numpy_name)) == t


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        (np.clongdouble, "complex256"), (np.dtype(object), "object"), (np.dtype("U4"), "type <U4: "), ("f8", "f8"),
        (np.dtype("datetime64[s]"), "datetime64"), (np.dtype([("a", "i4")]), "type [('a', '<i4')]: "), (None, "None"),
        ("", ""),
        (np.dtype(np.float32).newbyteorder(), "f4"), (object(), "object"), (3, "3"), (np.longdouble, "float128"),
    ],
    ids=lambda v: v if isinstance(v, str) else type(v).__name__,
)  # fmt: skip
def test_a_type_without_a_rule_is_refused(spec: object, shown: str) -> None:
    with pytest.raises(
        DTypeError, match=r"WF105: no rule for elements of type .*: expected one of bool int8"
    ) as caught:
        dtype(spec)
    assert shown in caught.value.message


@pytest.mark.parametrize("t", [t for t in ALL if t.name != "bf16"], ids=str)
def test_sums_widen_as_numpy_widens_integers_and_halves_go_to_f32(t: DType) -> None:
    expected = np.sum(np.zeros(1, t.numpy)).dtype
    assert accumulator(t).numpy == (np.float32 if t.name == "f16" else expected)


@pytest.mark.parametrize("t", ALL, ids=str)
def test_derived_types(t: DType) -> None:
    registers = {"f16": F32, "bf16": F32, "i8": I32, "i16": I32, "u8": U32, "u16": U32}
    assert compute(t) == registers.get(t.name, t)
    assert floating(t) == (t if t.is_float else F64)
    assert accumulator(t) in (F32, F64, I64, U64)


def test_complex_types_are_pairs_of_floats_that_accumulate_as_themselves() -> None:
    assert (C64.part, C128.part) == (F32, F64)
    for t in (C64, C128):
        assert accumulator(t) == compute(t) == floating(t) == t
        assert not t.is_float
        assert not t.is_integer
    assert dtype(complex) == C128


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (">f8", "(write float64: results have the machine's byte order): expected one of bool int8"),
        (">i4", "(write int32: results have the machine's byte order)"), (np.dtype(">f4"), "(write float32: results"),
        ("double", "double (write float64): expected"),
        ("float31", "float31 (did you mean float32 or float16?): expected"),
        ("flaot32", "(did you mean float32"), ("nothing", "of type nothing: expected one of"),
        ("datetime64[s]", "of type datetime64[s]: expected"),
        ("f,f", "of type f,f"), (object, "of type object: expected"),
    ],
)  # fmt: skip
def test_an_unknown_type_suggests_similar_ones(spec: object, text: str) -> None:
    with pytest.raises(DTypeError, match=f"WF105: no rule for elements .*{re.escape(text)}"):
        dtype(spec)


@pytest.mark.parametrize("t", [*ALL, *STORED], ids=str)
def test_types_of_other_libraries_are_equal(t: DType) -> None:
    """So a function that compares ``x.dtype`` with NumPy's types branches as it does with NumPy."""
    names: list[object] = [t.numpy, t.numpy.type, t.name, t.numpy_name]
    assert all(t == name for name in names)
    assert t in (np.str_, t.numpy.type)
    assert t.numpy not in [other for other in (*ALL, *STORED) if other is not t]


def test_what_is_no_type_is_equal_to_none() -> None:
    for other in (None, 1.0, "number", object, np.dtype("U3"), np.dtype(">f4")):
        assert not F32 == other  # noqa: SIM201, SIM300 - whose method is meant
    assert BOOL == bool  # noqa: E721, SIM300
    assert len({F32, dtype("float32"), F64}) == 2
