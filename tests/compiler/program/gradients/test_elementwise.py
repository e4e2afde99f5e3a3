"""The adjoint of each elementwise operation beside differences in f64, and what is taken where there is none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from differences import assert_agrees, derived

import warpfold as wf
from warpfold.compiler.program.gradients.reverse import CONSTANT, RULES

X = np.array([-2.3, -0.7, -0.2, 0.3, 0.9, 1.6])
UNIT = np.array([-0.9, -0.4, -0.1, 0.2, 0.6, 0.8])
POSITIVE = np.array([0.1, 0.5, 0.9, 1.3, 2.0, 7.0])
SINGLE = {
    "neg": (lambda x: -x, X), "abs": (wf.abs, X), "cast": (lambda x: wf.cast(wf.cast(x, "f64"), "f64"), X),
    "sqrt": (wf.sqrt, POSITIVE), "rsqrt": (wf.rsqrt, POSITIVE), "exp": (wf.exp, X), "exp2": (wf.exp2, X),
    "expm1": (wf.expm1, X), "log": (wf.log, POSITIVE), "log2": (wf.log2, POSITIVE), "log10": (wf.log10, POSITIVE),
    "log1p": (wf.log1p, POSITIVE), "sin": (wf.sin, X), "cos": (wf.cos, X), "tan": (wf.tan, X), "asin": (wf.asin, UNIT),
    "acos": (wf.acos, UNIT), "atan": (wf.atan, X), "sinh": (wf.sinh, X), "cosh": (wf.cosh, X), "tanh": (wf.tanh, X),
    "erf": (wf.erf, X), "round": (wf.round, X), "floor": (wf.floor, X), "ceil": (wf.ceil, X),
}  # fmt: skip
PAIRS = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    "mod": lambda x, y: x % y, "floordiv": lambda x, y: x // y, "max": wf.maximum, "min": wf.minimum,
    "atan2": wf.atan2, "where": lambda x, y: wf.where(x > y, x * 2, y), "fma": lambda x, y: wf.fma(x, y, x),
    "pow": lambda x, y: wf.exp(x) ** y,
}  # fmt: skip


@pytest.mark.parametrize("name", SINGLE)
def test_the_adjoint_of_a_function_is_its_difference(name: str) -> None:
    assert_agrees(*SINGLE[name])


@pytest.mark.parametrize("name", PAIRS)
def test_the_adjoints_of_a_function_of_two_values_are_its_differences(name: str) -> None:
    assert_agrees(PAIRS[name], X, X[::-1] * 0.7)


def test_every_rule_is_compared_with_differences() -> None:
    assert {*SINGLE, *PAIRS} == {*RULES, *CONSTANT}


def test_a_function_of_magnitudes_has_its_derivative_at_both_zeros() -> None:
    zeros = np.array([0.0, -0.0])
    derivatives = {"sigmoid": 0.25, "asinh": 1.0, "atanh": 1.0}
    for name, expected in derivatives.items():
        found = derived(lambda x, name=name: getattr(x.__array_namespace__(), name)(x), [np.ones(2)], [zeros])[0]
        assert found.tolist() == [expected, expected], name


def test_what_is_taken_where_there_is_no_derivative() -> None:
    one, zero, two = np.ones(1), np.zeros(1), np.full(1, 2.0)
    assert derived(wf.abs, [one], [zero]) == [0.0]
    assert derived(wf.maximum, [one], [two, two]) == [0.5, 0.5]
    assert derived(wf.minimum, [one], [two, zero]) == [0.0, 1.0]
    assert derived(wf.clip, [one], [two, two, two]) == [1.0, 0.0, 0.0]
    assert derived(lambda x: wf.clip(x, -1.0, 1.0), [one], [np.full(1, math.nan)]) == [0.0]
    assert derived(lambda x: x**2.5, [one], [zero]) == [0.0]
    assert derived(lambda x, y: x**y, [one], [zero, two]) == [0.0, 0.0]
    assert derived(lambda x: wf.where(x > 0, x, 0.0), [one], [zero]) == [0.0]
    assert math.isnan(derived(wf.abs, [one], [np.full(1, math.nan)])[0][0])
    nan = np.full(1, math.nan)
    assert derived(wf.sign, [one], [nan]) == [0.0]
    assert derived(wf.maximum, [one], [nan, two]) == [1.0, 0.0]
    assert derived(wf.minimum, [one], [nan, nan]) == [0.5, 0.5]
