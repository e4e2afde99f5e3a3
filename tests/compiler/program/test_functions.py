"""Elementwise functions: the types of their results, NumPy's values, and every mistake at the user's line."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from graph_numpy import evaluate
from hypothesis import given
from hypothesis import strategies as st

from warpfold.compiler.dtypes import ALL, BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U32, DType
from warpfold.compiler.errors import TraceError
from warpfold.compiler.program import functions, numeric
from warpfold.compiler.program.function_table import TABLE
from warpfold.compiler.program.graph import SCALAR, Expr
from warpfold.compiler.program.symbols import Sym


def sym(t: DType, number: int = 0) -> Sym:
    return Sym(Expr("param", (), t, SCALAR, number))


def value(made: Sym, *known: tuple[Sym, Any]) -> Any:
    """What NumPy computes for ``made``."""
    return evaluate((made.expr,), {s.expr.digest: np.asarray(v, s.dtype.numpy) for s, v in known})[0]


# --- fused multiply-add ---
def test_a_fused_product_and_its_addend_have_a_common_type() -> None:
    assert functions.fma(2, sym(F32), 0.5).dtype == F32
    assert functions.fma(2, 3.0, sym(F16)).dtype == F16
    assert functions.fma(sym(F32), sym(BF16), sym(F64)).dtype == F64
    assert functions.fma(300, sym(U8), sym(I32)).expr.op == "add"


floats = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e100, max_value=1e100)


@given(floats, floats)
def test_a_fused_product_recovers_the_rounding_error(a: float, b: float) -> None:
    if abs(a * b) < 1e-280 and a != 0 != b:  # what is lost may lie below the least subnormal
        return
    lost = Fraction(a) * Fraction(b) - Fraction(a * b)
    assert Fraction(float(numeric.fma(np.float64(a), np.float64(b), np.float64(-(a * b))))) == lost


def test_a_fused_product_of_infinite_and_missing_values() -> None:
    inf, nan = np.inf, np.nan
    a, b, c = [inf, inf, 1e308, nan, 2.0], [2.0, 0.0, 10.0, 1.0, 3.0], [1.0, 1.0, 0.0, 1.0, -inf]
    with np.errstate(all="ignore"):
        found = numeric.fma(np.array(a), np.array(b), np.array(c))
    np.testing.assert_array_equal(found, [inf, nan, inf, nan, -inf])


# --- bits ---
@pytest.mark.parametrize(("source", "target"), [(F32, U32), (F32, I32), (F64, I64), (F16, I16), (BF16, F16)], ids=str)
def test_bits_survive_a_round_trip(source: DType, target: DType) -> None:
    x = sym(source)
    made = functions.bitcast(x, target)
    assert made.dtype == target
    numbers = np.array([1.5, -0.0, np.inf, 3e-5]).astype(source.numpy)
    np.testing.assert_array_equal(value(made, (x, numbers)), numbers.view(target.numpy))
    back = value(functions.bitcast(made, source), (x, numbers))
    assert back.tobytes() == numbers.tobytes()
    assert functions.bitcast(x, source) is x


@pytest.mark.parametrize(("source", "target"), [(F32, F64), (F16, F32), (BOOL, U8)], ids=str)
def test_bits_of_another_width_are_refused(source: DType, target: DType) -> None:
    expected = f"WF215: bitcast from {source} of {source.bits} bits to {target} of {target.bits}"
    with pytest.raises(TraceError, match=expected) as found:
        functions.bitcast(sym(source), target)
    assert found.value.location is not None
    assert found.value.location.file == __file__


# --- functions of floats ---
FUNCTIONS = tuple(row.name for row in TABLE if row.operands == ("x",))
WITH_FAST = tuple(row.name for row in TABLE if row.fast)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("t", ALL, ids=str)
def test_functions_take_integers_as_f64(name: str, t: DType) -> None:
    x = sym(t)
    made = getattr(functions, name)(x)
    assert made.dtype == (t if t.is_float else F64)
    reference = {
        "rsqrt": lambda v: 1 / math.sqrt(v),
        "erf": math.erf,
        "asin": np.arcsin,
        "acos": np.arccos,
        "atan": np.arctan,
    }.get(name, getattr(np, name, None))
    assert reference is not None
    tolerance = {2: 1e-2, 4: 1e-6}.get(made.dtype.itemsize, 1e-12)
    np.testing.assert_allclose(float(value(made, (x, 1))), float(reference(1.0)), rtol=tolerance)


@pytest.mark.parametrize("name", WITH_FAST)
def test_a_fast_function_is_a_node_of_its_own_where_there_is_one(name: str) -> None:
    function = getattr(functions, name)
    for t in (F32, F16, BF16):
        assert function(sym(t), fast=True).expr.value == "fast"
        assert function(sym(t), fast=True).expr.digest != function(sym(t)).expr.digest
    assert function(sym(F64), fast=True).expr.digest == function(sym(F64)).expr.digest
    assert function(sym(F32), fast=False).expr.digest == function(sym(F32)).expr.digest


def test_a_fast_quotient_is_a_quotient_of_f32() -> None:
    a, b = sym(F32), sym(F32, 1)
    assert functions.divide(a, b).expr.digest == (a / b).expr.digest
    assert functions.divide(a, b, fast=True).expr.value == "fast"
    assert functions.divide(1, a, fast=True).dtype == F32
    assert functions.divide(sym(F16), 3, fast=True).expr.value is None
    assert functions.divide(sym(I32), 3, fast=True).dtype == F64


@pytest.mark.parametrize("name", [*WITH_FAST, "divide"])
def test_fast_is_a_bool(name: str) -> None:
    operands = (sym(F32), 2) if name == "divide" else (sym(F32),)
    with pytest.raises(TraceError, match="WF216: fast must be a bool, got 1") as found:
        getattr(functions, name)(*operands, fast=1)
    assert found.value.location is not None
    assert found.value.location.file == __file__


# --- powers ---
def test_small_powers_are_products() -> None:
    x = sym(F32)
    assert (x**2).expr.digest == (x * x).expr.digest
    assert (x**4.0).expr.digest == ((x * x) * (x * x)).expr.digest
    assert (x**1).expr.digest == x.expr.digest
    assert (x**0).expr.op == "const"
    assert [(x**n).expr.op for n in (5, -1, 0.5, x)] == ["pow"] * 4
    assert [(2**x).expr.op, (sym(I32) ** 0.5).dtype, (sym(I32) ** sym(F32)).dtype] == ["pow", F64, F64]
    assert (sym(I32) ** sym(I8)).expr.op == "ipow"


@given(st.integers(-20, 20), st.integers(0, 70), st.sampled_from([I8, I32, I64, U8, U32]))
def test_whole_powers_wrap_as_in_numpy(base: int, exponent: int, t: DType) -> None:
    if base < 0 and t.kind == "uint":
        return
    x, n = sym(t), sym(t, 1)
    with np.errstate(all="ignore"):
        expected = np.asarray(base, t.numpy) ** np.asarray(exponent, t.numpy)
    for made in (x**exponent, x**n):
        found = value(made, (x, base), (n, exponent))
        assert (found, found.dtype) == (expected, t.numpy)


def test_a_negative_exponent_that_is_not_known_when_traced() -> None:
    base, exponent = np.array([1, -1, -1, 2, -3, 0]), np.array([-5, -5, -4, -1, -2, -1])
    np.testing.assert_array_equal(numeric.integer_power(base, exponent), [1, -1, 1, 0, 0, 0])


@pytest.mark.parametrize("t", [I32, U8], ids=str)
@pytest.mark.parametrize("exponent", [-1, np.int32(-3)])
def test_a_negative_power_of_an_integer_is_refused(t: DType, exponent: Any) -> None:
    with pytest.raises(TraceError, match=r"WF214: the exponent -. of a power of .* is negative: expected 0 or more"):
        sym(t) ** exponent


def test_a_power_of_a_bool_is_refused() -> None:
    with pytest.raises(TraceError, match=r"WF206: operator \*\* is not defined for bool"):
        sym(BOOL) ** sym(BOOL)


# --- divisions ---
@pytest.mark.parametrize("op", [operator.floordiv, operator.mod])
@pytest.mark.parametrize("t", [I32, F32, F64], ids=str)
def test_divisions_are_one_node_of_the_common_type(op: Callable[..., Any], t: DType) -> None:
    x = sym(t)
    made = op(x, 3)
    assert made.expr.op == op.__name__
    assert op(7, x).dtype == t
    assert value(made, (x, -7)) == op(-7, 3)
