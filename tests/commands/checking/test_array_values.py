"""Array programs in NumPy: the reference for their results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.commands.checking.array_values import evaluate
from warpfold.compiler.dtypes import BF16, dtype
from warpfold.compiler.program.arrays.trace import ArrayArg, trace_arrays

X = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)


def results(function: Any, *arrays: Any, floats: Any = np.float64) -> list[Any]:
    program = trace_arrays(function, [ArrayArg(dtype(a.dtype), a.shape) for a in arrays], {})
    return evaluate(program, arrays, floats)


@pytest.mark.parametrize("floats", [np.float64, np.longdouble])
def test_floats_are_computed_in_the_wide_type(floats: Any) -> None:
    (found,) = results(lambda x: wf.logsumexp(x, axis=0), X, floats=floats)
    assert found.dtype == floats
    np.testing.assert_allclose(found, np.log(np.exp(X.astype(floats)).sum(0)), rtol=1e-13)


def test_integers_are_exact() -> None:
    x = np.array([2**62, 2**62, 1], np.int64)
    (found,) = results(lambda x: wf.sum(x), x)
    assert found.dtype == np.int64
    assert found == np.sum(x)


def test_a_result_is_not_rounded_to_its_half_type() -> None:
    x = X.astype(BF16.numpy)
    unrounded, rounded = results(lambda x: (x * 3, wf.cast(x * 3, x.dtype)), x)
    exact = x.astype(np.float64) * 3
    np.testing.assert_array_equal(unrounded, exact)
    np.testing.assert_array_equal(rounded, exact.astype(BF16.numpy).astype(np.float64))


def test_folds_of_nothing_give_the_identity() -> None:
    total, least = results(lambda x: (wf.sum(x, axis=1), wf.fold(wf.SUM, x, axis=0, initial=2.0)), X[:, :0])
    np.testing.assert_array_equal(total, np.zeros(3))
    assert least.shape == (0,)


def test_an_order_that_matters_is_that_of_the_program() -> None:
    @wf.monoid(identity=0, commutative=False)
    def digits(a: Any, b: Any) -> Any:
        """The digits of two numbers behind each other, for numbers of one digit."""
        return a * wf.where(b > 0, 10 ** wf.ceil(wf.log10(b + 1.0)), 1) + b

    x = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    first, second = results(lambda x: (wf.fold(digits, x), wf.fold(digits, x.T)), x)
    assert (first, second) == (123456.0, 142536.0)
