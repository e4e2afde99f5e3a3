"""Complex numbers of traced functions against NumPy's, and every operator that they lack."""

# ruff: noqa: SIM300 - both operand orders

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graph_numpy import evaluate
from hypothesis import given, settings
from hypothesis import strategies as st

import warpfold as wf
from warpfold.compiler.dtypes import BF16, BOOL, C64, C128, F16, F32, F64, I8, I16, I32, I64, U16, DType
from warpfold.compiler.errors import TraceError
from warpfold.compiler.program.complexes import Complex
from warpfold.compiler.program.functions import isnan, maximum, sqrt, where
from warpfold.compiler.program.graph import SCALAR, Expr
from warpfold.compiler.program.symbols import Sym
from warpfold.compiler.program.values import cast, split

PARTS = st.one_of(st.floats(-100, 100), st.sampled_from([0.0, 1.0, -1.0, 1e-300, 1e200]))
NUMBERS = st.builds(complex, PARTS, PARTS)


def param(t: DType, first: int = 0) -> Any:
    if t.kind == "complex":
        return Complex(*(Sym(Expr("param", (), t.part, SCALAR, first + i)) for i in range(2)))
    return Sym(Expr("param", (), t, SCALAR, first))


def value(made: Any, *given_values: complex) -> Any:
    """The value of ``made``, whose parameters 0, 1 (and 2, 3) are the parts of c128 numbers."""
    flat = [v for z in given_values for v in (complex(z).real, complex(z).imag)]
    known = {Expr("param", (), F64, SCALAR, i).digest: np.float64(v) for i, v in enumerate(flat)}
    found = evaluate([s.expr for s in split(made)], known)
    return complex(*(float(f) for f in found)) if isinstance(made, Complex) else found[0]


@settings(max_examples=200)
@given(NUMBERS, NUMBERS, st.sampled_from([operator.add, operator.sub, operator.mul, operator.eq, operator.ne]))
def test_operators_compute_what_numpy_computes(a: complex, b: complex, op: Callable[..., Any]) -> None:
    with np.errstate(all="ignore"):
        expected = op(np.complex128(a), np.complex128(b))
    assert np.array_equal(value(op(param(C128), param(C128, 2)), a, b), expected, equal_nan=True)
    assert np.array_equal(value(op(param(C128), b), a), expected, equal_nan=True)
    assert np.array_equal(value(op(a, param(C128)), b), expected, equal_nan=True)


@settings(max_examples=200)
@given(NUMBERS, NUMBERS.filter(bool))
def test_quotients_are_numpys(a: complex, b: complex) -> None:
    with np.errstate(all="ignore"):
        expected = np.complex128(a) / np.complex128(b)
    for found in (value(param(C128) / param(C128, 2), a, b), value(param(C128) / b, a), value(a / param(C128), b)):
        assert np.allclose(found, expected, rtol=1e-13, atol=0, equal_nan=True)


@settings(max_examples=100)
@given(NUMBERS, st.floats(-9, 9).filter(bool))
def test_real_operands_and_functions_of_them(a: complex, x: float) -> None:
    z = param(C128)
    assert value(z + x, a) == value(x + z, a) == a + x
    assert value(z - x, a) == a - x
    assert value(x - z, a) == x - a
    assert value(z / x, a) == complex(a.real / x, a.imag / x)
    assert value(-z, a) == -a
    assert value(+z, a) == a
    assert value(z.conjugate(), a) == a.conjugate()
    assert np.isclose(value(abs(z), a), np.abs(a), rtol=1e-15, atol=0)
    assert value(where(z != 0, z, x), a) == (a or x)
    assert value(where(z == 0, x, z), a) == (a or x)
    assert value(cast(z, BOOL), a) == bool(a)


@pytest.mark.parametrize("a", [1e300 + 1e300j, 1e-300 - 1e-300j, 0j, 3 - 4j, complex(0, 5e-324)])
def test_the_modulus_neither_overflows_nor_vanishes(a: complex) -> None:
    assert np.isclose(value(abs(param(C128)), a), np.abs(a), rtol=1e-15, atol=0)


@pytest.mark.parametrize("a", [complex(math.inf, math.nan), complex(math.nan, -math.inf), complex(math.inf, math.inf)])
def test_an_infinite_part_makes_an_infinite_modulus(a: complex) -> None:
    assert value(abs(param(C128)), a) == math.inf
    assert np.isnan(value(abs(param(C128)), complex(math.nan, 1)))


@pytest.mark.parametrize("other", [C64, C128, F64, F32, F16, BF16, I8, I16, U16, I32, I64, BOOL], ids=str)
def test_types_promote_as_in_numpy(other: DType) -> None:
    for t in (C64, C128):
        expected = t if other == BF16 else np.result_type(t.numpy, other.numpy)
        for made in (
            param(t) + param(other, 2),
            param(other, 2) * param(t),
            where(param(BOOL), param(t), param(other)),
        ):
            assert made.dtype.numpy == np.dtype(expected.numpy if isinstance(expected, DType) else expected)


@pytest.mark.parametrize("number", [1, 2.5, True, 1j, np.float32(2), np.float64(2), np.complex64(1j), np.int8(3)])
def test_python_numbers_are_weak_and_numpys_strong(number: Any) -> None:
    expected = np.asarray(np.ones(2, np.complex64) + number).dtype
    assert (param(C64) + number).dtype.numpy == expected
    assert (number * param(C64)).dtype.numpy == expected
    assert (param(C64) / number).dtype.numpy == expected
    assert (param(C128) == number).dtype == BOOL


def test_casts() -> None:
    assert cast(param(F32), C64).dtype == C64
    assert cast(param(C64), C128).real.dtype == F64
    assert cast(1 + 2j, "c64").imag.expr.value == 2.0
    assert cast(np.complex64(1 + 2j), C128).dtype == C128
    z = param(C64)
    assert cast(z, C64) is z


@pytest.mark.parametrize(
    ("mistake", "op"),
    [
        (lambda z: z < 1, "<, <=, > or >="), (lambda z: 1 >= z, "<, <=, > or >="), (lambda z: z**2, r"\*\*"),
        (lambda z: 2**z, r"\*\*"), (lambda z: z // 2, "//"), (lambda z: 2 % z, "%"), (lambda z: z & 1, "&"),
        (lambda z: 1 | z, r"\|"), (lambda z: z ^ z, r"\^"), (lambda z: ~z, "~"), (lambda z: z << 1, "<<"),
        (lambda z: 1 >> z, ">>"), (sqrt, "for real numbers"),
        (lambda z: maximum(z, z), "for real numbers"), (isnan, "for real numbers"),
        (lambda z: param(F32) // z, "for real numbers"), (round, "round"),
    ],
)  # fmt: skip
def test_an_operator_without_a_meaning_is_refused(mistake: Callable[..., Any], op: str) -> None:
    with pytest.raises(TraceError, match=f"WF206: operator {op} is not defined for c64"):
        mistake(param(C64))


def test_casts_to_a_real_type_are_refused() -> None:
    with pytest.raises(
        TraceError,
        match=r"(?s)WF230: there is no cast from c64 to f32: it would .*take x.real, x.imag or abs\(x\)",
    ):
        cast(param(C64), F32)


@pytest.mark.parametrize(
    ("mistake", "code"),
    [
        (lambda z: z and z, "WF201"), (lambda z: z if z == 0 else -z, "WF201"), (lambda z: [*z], "WF202"),
        (lambda z: z[0], "WF238"), (lambda z: z @ z, "WF239"), (lambda z: f"{z:.2f}", "WF240"),
        (len, "WF202"), (float, "WF203"), (int, "WF203"), (complex, "WF203"),
        (lambda z: [1, 2][z], "WF203"), (lambda z: z + "x", "WF205"), (lambda z: np.ones(2) * z, "WF205"),
        (lambda z: z == [1], "WF205"),
    ],
)  # fmt: skip
def test_a_symbol_is_not_a_python_number(mistake: Callable[..., Any], code: str) -> None:
    with pytest.raises(TraceError, match=f"{code}: ") as caught:
        mistake(param(C64))
    assert "help: " in str(caught.value)


def test_a_complex_symbol_has_no_hash_and_a_readable_repr() -> None:
    assert repr(param(C64)) == "Complex(Sym(param: f32), Sym(param: f32))"
    with pytest.raises(TypeError, match="WF252"):
        hash(param(C64))


@pytest.mark.parametrize("initial", [2**63, -(2**63) - 1, 2**100, True, 3, np.uint64(2**64 - 1)])
def test_a_whole_number_of_any_size_is_an_initial_value(initial: Any) -> None:
    x = np.array([1 + 2j, 3 - 1j], np.complex64)
    assert wf.sum(x, initial=initial) == np.complex64(4 + 1j + np.complex64(int(initial)))
