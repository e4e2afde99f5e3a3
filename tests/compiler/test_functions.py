"""Elementwise functions: the types of their results, what NumPy computes, and every mistake at the user's line."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from graph_numpy import evaluate
from hypothesis import given
from hypothesis import strategies as st

from warpfold.compiler import functions, numeric
from warpfold.compiler.dtypes import BF16, BOOL, F16, F32, F64, I16, I32, I64, U8, U32, DType
from warpfold.compiler.errors import TraceError
from warpfold.compiler.graph import Expr
from warpfold.compiler.trace import Sym


def sym(t: DType, number: int = 0) -> Sym:
    return Sym(Expr("param", (), t, "scalar", number))


def value(made: Sym, *known: tuple[Sym, Any]) -> Any:
    """What NumPy computes for ``made``."""
    return evaluate((made.expr,), {s.expr.digest: np.asarray(v, s.dtype.numpy) for s, v in known})[0]


# --- fused multiply-add ---
def test_a_fused_product_meets_its_addend_in_their_common_type() -> None:
    assert functions.fma(2, sym(F32), 0.5).dtype == F32
    assert functions.fma(2, 3.0, sym(F16)).dtype == F16
    assert functions.fma(sym(F32), sym(BF16), sym(F64)).dtype == F64
    assert functions.fma(300, sym(U8), sym(I32)).expr.op == "add"


floats = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e100, max_value=1e100)


@given(floats, floats)
def test_a_fused_product_holds_what_rounding_lost(a: float, b: float) -> None:
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
def test_bits_go_there_and_back(source: DType, target: DType) -> None:
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
