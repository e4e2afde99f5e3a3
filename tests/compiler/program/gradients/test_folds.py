"""The adjoint of each fold beside differences in f64: ties, zeros, infinities, monoids of users."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from differences import assert_agrees, derived

import warpfold as wf
from warpfold.compiler.errors import TraceError
from warpfold.compiler.program.gradients.vjp import backward

X = np.random.default_rng(5).standard_normal((3, 4)) * 2
REDUCTIONS = ("sum", "prod", "max", "min", "mean", "var", "std", "logsumexp", "nansum", "ptp")


@pytest.mark.parametrize("axis", [0, 1, (0, 1)])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_the_adjoint_of_a_reduction_is_its_difference(name: str, axis: object) -> None:
    assert_agrees(lambda x: getattr(wf, name)(x, axis=axis, keepdims=True) * x, X)


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, math.inf, -math.inf])
def test_norms(order: float) -> None:
    assert_agrees(lambda x: wf.norm(x, axis=1, ord=order), X)


def test_several_arrays_and_compensated_sums() -> None:
    assert_agrees(lambda x, y: wf.vecdot(x, y, axis=1), X, X[::-1] + 1)
    assert_agrees(lambda x, y: wf.vecdot(x, y, axis=0, accumulate="compensated"), X, X[::-1] + 1)
    assert_agrees(lambda x: wf.sum(x * x, axis=1, accumulate="compensated"), X)


def test_masks() -> None:
    assert_agrees(lambda x: wf.sum(x * x, axis=1, where=x > 0), X)
    assert_agrees(lambda x: wf.logsumexp(x, axis=1, where=x > -3), X)


def test_further_gradients_of_a_product_know_its_zeros() -> None:
    """Rows of no, one, two and three zeros: how a product of others changes with those of its factors that are 0."""
    x = np.random.default_rng(0).standard_normal((4, 3))
    x[1, 2] = x[2, :2] = x[3] = 0.0

    def first(x: Any) -> Any:
        return backward(lambda x: wf.prod(x, axis=1))(1.0, x) * wf.exp(x * 0.1)

    assert_agrees(first, x)
    assert_agrees(lambda x: backward(first)(1.0, x), x, tolerance=1e-5)


def test_a_product_with_zeros_has_the_product_of_all_others() -> None:
    x = np.array([[2.0, 3.0, 5.0], [2.0, 0.0, 5.0], [0.0, 0.0, 5.0]])
    (found,) = derived(lambda x: wf.prod(x, axis=1), [np.ones(3)], [x])
    np.testing.assert_array_equal(found, [[15, 10, 6], [0, 10, 0], [0, 0, 0]])


def test_ties_share_the_gradient_of_an_extreme() -> None:
    x = np.array([[1.0, 3.0, 3.0, 0.0]])
    (found,) = derived(lambda x: wf.max(x, axis=1), [np.ones(1)], [x])
    np.testing.assert_array_equal(found, [[0, 0.5, 0.5, 0]])


def test_the_element_that_argmax_finds_has_all_of_it() -> None:
    x = np.array([[1.0, 3.0, 3.0, 0.0]])
    xp = lambda x: x.__array_namespace__()  # noqa: E731
    chosen = lambda x: xp(x).take_along_axis(x, wf.argmax(x, axis=1, keepdims=True), axis=1)  # noqa: E731
    (found,) = derived(chosen, [np.ones((1, 1))], [x])
    np.testing.assert_array_equal(found, [[0, 1, 0, 0]])


def test_rows_of_infinities_have_no_gradient_of_a_logsumexp() -> None:
    x = np.array([[-math.inf, -math.inf], [-math.inf, 0.0]])
    (found,) = derived(lambda x: wf.logsumexp(x, axis=1), [np.ones(2)], [x])
    np.testing.assert_array_equal(found, [[0, 0], [0, 1]])


def test_the_exponent_of_a_pair_alone_goes_to_the_greatest_elements() -> None:
    assert_agrees(lambda x: wf.fold(wf.LOGSUMEXP, x, 1.0, axis=1)[0], X)
    assert_agrees(lambda x: wf.fold(wf.LOGSUMEXP, x, x * x, axis=1)[1], X)


@wf.monoid(identity=(0.0, 1.0, 0.0))
def sum_product_greatest(a: Any, b: Any) -> Any:
    return b[0] + a[0], a[1] * b[1], wf.maximum(b[2], a[2])


@wf.monoid(identity=(1.0, 0.0), commutative=False)
def affine(a: Any, b: Any) -> Any:
    return a[0] * b[0], a[1] * b[0] + b[1]


def _of_mean(values: Any, state: Any, gradient: Any) -> Any:  # noqa: ARG001
    return gradient[0] + gradient[1] * 2.0 * values[0], None


@wf.monoid(identity=(0.0, 0.0), vjp=_of_mean)
def sum_and_squares(a: Any, b: Any) -> Any:
    return a[0] + b[0], a[1] + b[1]


def test_values_that_a_users_monoid_combines_one_by_one() -> None:
    assert_agrees(lambda x: wf.fold(sum_product_greatest, x, x, abs(x), axis=1), X)


def test_a_monoids_own_rule_takes_precedence() -> None:
    (found,) = derived(lambda x: wf.fold(sum_and_squares, x, x * x, axis=1), [np.ones(3), np.ones(3)], [X])
    np.testing.assert_allclose(found, 1 + 2 * X)


def test_a_monoid_without_a_rule_is_refused_at_the_line_that_folds() -> None:
    with pytest.raises(TraceError, match="WF901: a fold with affine has no gradient") as e:
        derived(lambda x: wf.fold(affine, x, x, axis=1)[1], [np.ones(3)], [X])
    assert "give the monoid its rule: @wf.monoid(..., vjp=rule)" in str(e.value)
    assert e.value.location is not None
    assert "wf.fold(affine, x, x, axis=1)[1]" in e.value.location.text


def test_a_rule_that_gives_too_few_gradients_is_refused() -> None:
    @wf.monoid(identity=(0.0, 0.0), vjp=lambda values, state, gradient: gradient[0])
    def short(a: Any, b: Any) -> Any:
        return a[0] + b[0], a[1] + b[1]

    with pytest.raises(TraceError, match=r"WF902: the vjp of monoid short gives 1 gradient\(s\): expected 2"):
        derived(lambda x: wf.fold(short, x, x, axis=1)[0], [np.ones(3)], [X])
