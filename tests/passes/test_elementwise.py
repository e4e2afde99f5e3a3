"""Elementwise operations, emitted and lowered as in a program: NumPy's values on every type, even where it warns."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_harness import elementwise, elementwise_ptx

import warpfold as wf
from warpfold.compiler.dtypes import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, DType
from warpfold.compiler.program.function_table import TABLE
from warpfold.compiler.program.numeric import FUNCTIONS as NUMPYS
from warpfold.compiler.program.numeric import fma, integer_power, rsqrt, to_integer

INTEGERS = [I8, I16, I32, I64, U8, U16, U32, U64]
FLOATS = [F16, BF16, F32, F64]


def numbers(t: DType) -> list[Any]:
    """Values of an integer type at which operations change their behaviour."""
    low, high = int(t.lowest), int(t.highest)
    around = [
        0,
        1,
        2,
        3,
        7,
        8,
        31,
        32,
        63,
        64,
        100,
        -1,
        -2,
        -3,
        -7,
        -64,
        low,
        low + 1,
        low // 2,
        high,
        high - 1,
        high // 2,
    ]
    return sorted({n for n in around if low <= n <= high})


def pairs(values: list[Any], t: DType) -> tuple[Any, Any]:
    """Every pair of them, as two arrays."""
    a, b = zip(*itertools.product(values, values), strict=True)
    with np.errstate(all="ignore"):
        return np.array(a).astype(t.numpy), np.array(b).astype(t.numpy)


def same(found: Any, expected: Any) -> None:
    """Equal in type and value, including the signs of zeros; NaN equals NaN."""
    assert found.dtype == expected.dtype
    if found.dtype.kind in "iub":
        np.testing.assert_array_equal(found, expected)
        return
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    np.testing.assert_array_equal(found, expected)
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))


# --- integers ---
BINARY = [
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.and_, operator.or_,
    operator.xor, operator.lshift, operator.rshift, operator.lt, operator.ge, operator.eq,
]  # fmt: skip


@pytest.mark.parametrize("t", INTEGERS, ids=str)
@pytest.mark.parametrize("op", BINARY, ids=lambda f: f.__name__)
def test_integers_are_numpys(op: Callable[..., Any], t: DType) -> None:
    """Also division by zero and of the least number by -1, and shifts beyond the width or by a negative number."""
    a, b = pairs(numbers(t), t)
    with np.errstate(all="ignore"):
        expected = op(a, b)
    same(elementwise(op, a, b), expected)


@pytest.mark.parametrize("t", INTEGERS, ids=str)
def test_powers_of_integers_wrap(t: DType) -> None:
    a, b = pairs(numbers(t), t)
    with np.errstate(all="ignore"):
        same(elementwise(operator.pow, a, b), integer_power(a, b))
        for n in (0, 1, 2, 3, 10):
            same(elementwise(lambda x, n=n: x**n, a), a**n)


@pytest.mark.parametrize("t", INTEGERS, ids=str)
def test_one_operand(t: DType) -> None:
    a = np.array(numbers(t), t.numpy)
    for op in (operator.invert, operator.neg, operator.abs):
        same(elementwise(op, a), op(a))


# --- floats ---
AWKWARD = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -3.0, 7.0, 0.1, -0.7, 1e-3, 250.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("t", [F16, F32, F64], ids=str)
@pytest.mark.parametrize("op", [operator.floordiv, operator.mod, operator.truediv], ids=lambda f: f.__name__)
def test_divisions_of_floats_are_numpys(op: Callable[..., Any], t: DType) -> None:
    a, b = pairs(AWKWARD, t)
    with np.errstate(all="ignore"):
        same(elementwise(op, a, b), op(a, b))


@pytest.mark.parametrize("t", [F32, F64], ids=str)
@pytest.mark.parametrize("op", [operator.floordiv, operator.mod], ids=lambda f: f.__name__)
def test_quotients_of_any_magnitude_are_exact(op: Callable[..., Any], t: DType) -> None:
    """Random bits: quotients far beyond the precision, subnormal divisors."""
    bits = np.dtype(f"u{t.itemsize}")
    rng = np.random.default_rng(5)
    a, b = (rng.integers(0, np.iinfo(bits).max, 4000, bits, endpoint=True).view(t.numpy) for _ in range(2))
    with np.errstate(all="ignore"):
        same(elementwise(op, a, b), op(a, b))


FUNCTIONS = [
    *((getattr(wf, row.name), NUMPYS[row.name]) for row in TABLE if row.operands == ("x",)),
    (wf.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
]


@pytest.mark.parametrize("t", [F16, BF16], ids=str)
@pytest.mark.parametrize(("function", "reference"), FUNCTIONS, ids=lambda f: f.__name__)
def test_functions_of_half_types_are_rounded_once(function: Any, reference: Any, t: DType) -> None:
    """Every bit pattern, against f64: the error of f32 can only matter at the midpoint of two neighbours."""
    x = np.arange(1 << 16, dtype=np.uint16).view(t.numpy)[:: 1 if t == F16 else 3]
    found = elementwise(function, x)
    with np.errstate(all="ignore"):
        exact = reference(x.astype(np.float64))
        expected = exact.astype(np.float32).astype(t.numpy)
        off = found.astype(np.float64) != expected.astype(np.float64)
    off &= ~(np.isnan(found.astype(np.float64)) & np.isnan(exact))
    assert off.mean() < 2e-3
    gap = np.abs(found[off].astype(np.float64) - exact[off]) / np.spacing(expected[off].astype(np.float32))
    assert (gap <= 0.5001 * 2 ** (13 if t == F16 else 16)).all()


@pytest.mark.parametrize("t", [F32, F64], ids=str)
def test_a_fused_product_is_rounded_once(t: DType) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((2, 4000)).astype(t.numpy)
    c = -(a * b)
    same(elementwise(wf.fma, a, b, c), fma(a, b, c))


@pytest.mark.parametrize(("source", "target"), [(F32, U32), (F64, I64), (F16, U16), (I16, BF16)], ids=str)
def test_bits_are_kept(source: DType, target: DType) -> None:
    bits = np.arange(0, 1 << 16, 7, dtype=np.uint64) * ((1 << source.bits) // (1 << 16))
    x = bits.astype(f"u{source.itemsize}").view(source.numpy)
    x = x[x == x]  # without NaN
    found = elementwise(lambda v: wf.bitcast(v, target), x)
    np.testing.assert_array_equal(found.view(np.uint8), x.view(np.uint8))


# --- functions of NumPy that are made of others ---
MADE: list[tuple[Any, Any]] = [
    (wf.abs, np.abs), (wf.sign, np.sign), (wf.square, np.square), (wf.isfinite, np.isfinite), (wf.round, np.rint),
    (round, np.rint), (lambda x: wf.clip(x, 1, 3), lambda x: np.clip(x, 1, 3)),
    (lambda x: wf.clip(x, high=2), lambda x: np.minimum(x, 2)), (lambda x: wf.clip(x, 2), lambda x: np.maximum(x, 2)),
    (wf.clip, lambda x: x), (lambda x: wf.clip(x, 3, 1), lambda x: np.clip(x, 3, 1)),
]  # fmt: skip
HARD = [*AWKWARD, 0.49999997, 1.5, 2.5, -2.5, -0.3, 1e-40, -1e-40, 3e38, 8388609.0, 65504.0]


@pytest.mark.parametrize("t", [*FLOATS, *INTEGERS], ids=str)
@pytest.mark.parametrize(("function", "reference"), MADE)
def test_functions_made_of_others_are_numpys(function: Any, reference: Any, t: DType) -> None:
    """NaN, infinities, signs of zeros, subnormals and halves for floats; for integers the least and the greatest."""
    with np.errstate(all="ignore"):
        x = np.array(HARD).astype(t.numpy) if t.is_float else np.array(numbers(t), t.numpy)
        known = x.astype(np.float32) if t == BF16 else x  # ml_dtypes has a sign for zero
        expected = reference(known) if t.is_float or reference is not np.rint else x
        same(elementwise(function, x), np.asarray(expected).astype(bool if function is wf.isfinite else t.numpy))


@pytest.mark.parametrize("t", [F16, F32, F64, I32], ids=str)
def test_reciprocals_are_rounded_once(t: DType) -> None:
    x = np.array(HARD).astype(t.numpy) if t.is_float else np.array(numbers(t), t.numpy)
    with np.errstate(all="ignore"):
        same(elementwise(wf.reciprocal, x), (1 / x).astype(t.numpy if t.is_float else np.float64))


@pytest.mark.parametrize(("t", "wider"), [(F32, np.float64), (F64, np.longdouble)], ids=str)
def test_the_logistic_function_is_within_its_limit(t: DType, wider: Any) -> None:
    """Far below zero, too, where exp(-x) overflows and the result is subnormal, and where it is one."""
    low = {F32: 103.0, F64: 745.0}[t]
    rng = np.random.default_rng(6)
    x = np.concatenate([rng.uniform(a, b, 4000) for a, b in ((-low, 60), (-1, 1), (-low, -low / 1.2), (-1e-3, 1e-3))])
    x = np.concatenate([x, [0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30]]).astype(t.numpy)
    with np.errstate(all="ignore"):
        exact = 1 / (1 + np.exp(-x.astype(wider)))
    found = elementwise(wf.sigmoid, x)
    number = ~np.isnan(x)
    assert np.isnan(found[~number]).all()
    ulp = np.spacing(exact[number].astype(t.numpy))
    assert (np.abs(found[number].astype(wider) - exact[number]) / ulp).max() <= 3.0


@pytest.mark.parametrize("t", [*FLOATS, *INTEGERS], ids=str)
def test_arctan2_in_every_type(t: DType) -> None:
    a, b = pairs(AWKWARD if t.is_float else numbers(t), t)
    wide = t.numpy if t in (F32, F64) else np.float32 if t.is_float else np.float64
    expected = np.arctan2(a.astype(np.float64), b.astype(np.float64)).astype(t.numpy if t.is_float else np.float64)
    found = elementwise(wf.atan2, a, b)
    assert found.dtype == expected.dtype
    eps = float(np.finfo(wide).eps) if t not in (F16, BF16) else 2.0**-7
    np.testing.assert_allclose(found.astype(np.float64), expected.astype(np.float64), 2 * eps)
    zero = np.asarray(expected == 0)
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))


# --- conversions ---
@pytest.mark.parametrize("source", FLOATS, ids=str)
@pytest.mark.parametrize("target", INTEGERS, ids=str)
def test_floats_saturate_in_integers(source: DType, target: DType) -> None:
    low, high = float(target.lowest), float(target.highest)
    edges = [v + d for v in (low, high) for d in (-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5)]
    values = [*edges, 0.0, -0.0, 0.9, -0.9, 1.5, -1.5, 100.7, 3e38, -3e38, np.inf, -np.inf, np.nan]
    with np.errstate(all="ignore"):
        x = np.array(values).astype(source.numpy)
    same(elementwise(lambda v: wf.cast(v, target), x), to_integer(x, target.numpy))


@pytest.mark.parametrize("source", [*INTEGERS, BOOL], ids=str)
@pytest.mark.parametrize("target", [*INTEGERS, *FLOATS, BOOL], ids=str)
def test_integers_are_converted_as_in_numpy(source: DType, target: DType) -> None:
    x = np.array([False, True] if source == BOOL else numbers(source), source.numpy)
    with np.errstate(all="ignore"):
        expected = x.astype(target.numpy)
    same(elementwise(lambda v: wf.cast(v, target), x), expected)


@pytest.mark.parametrize("source", FLOATS, ids=str)
def test_floats_are_true_unless_zero(source: DType) -> None:
    x = np.array([0.0, -0.0, 1.0, 1e-7, -3.0, np.inf, np.nan]).astype(source.numpy)
    same(elementwise(lambda v: wf.cast(v, bool), x), np.array([False, False, True, True, True, True, True]))


# --- approximations ---
FAST = [
    (wf.sqrt, np.sqrt, "sqrt"), (wf.rsqrt, rsqrt, "rsqrt"), (wf.exp, np.exp, "ex2"), (wf.exp2, np.exp2, "ex2"),
    (wf.log, np.log, "lg2"), (wf.log2, np.log2, "lg2"), (wf.sin, np.sin, "sin"), (wf.cos, np.cos, "cos"),
    (wf.tanh, np.tanh, "tanh"), (lambda x, fast: wf.divide(x, 3, fast=fast), lambda x: x / np.float32(3), "div"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "reference", "instruction"), FAST)
def test_fast_functions_are_approximate_instructions(function: Any, reference: Any, instruction: str) -> None:
    def instructions(t: DType, fast: bool) -> str:
        return elementwise_ptx(lambda v: function(v, fast=fast), t)

    flush = ".ftz" if instruction == "ex2" else ""
    assert f"{instruction}.approx{flush}.f32" in instructions(F32, True)
    assert f"{instruction}.approx" not in instructions(F32, False)
    assert "approx" not in instructions(F64, True)
    x = np.random.default_rng(4).uniform(0.1, 3, 500).astype(np.float32)
    np.testing.assert_allclose(elementwise(lambda v: function(v, fast=True), x), reference(x), rtol=1e-3, atol=1e-5)


def test_a_fast_quotient_is_approximate() -> None:
    a, b = np.random.default_rng(4).uniform(0.1, 3, (2, 500)).astype(np.float32)
    np.testing.assert_allclose(elementwise(lambda x, y: wf.divide(x, y, fast=True), a, b), a / b, rtol=1e-6)
