"""Sums of gradients: which factors leave them, and which sums vanish."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_programs import traced
from differences import assert_agrees, derived

import warpfold as wf
from warpfold.compiler.program.cuts.cut import cut
from warpfold.compiler.program.gradients.vjp import backward

X = np.random.default_rng(4).standard_normal((3, 5))


def standard(x: Any) -> Any:
    centred = x - wf.mean(x, axis=1, keepdims=True)
    return centred * wf.rsqrt(wf.mean(centred * centred, axis=1, keepdims=True) + 1e-5)


def test_the_sums_of_a_norms_gradient_do_not_wait_for_each_other() -> None:
    """Of its mean and its variance each needs the one before; the sums of the gradient come with the variance."""
    program = traced(backward(standard), X, X)
    (step,) = cut(program, lambda *_: True).steps
    assert len(step.program.reduces) == 2
    assert_agrees(standard, X)


def test_the_sum_of_deviations_is_not_computed() -> None:
    """Mean, variance, the sum of the gradient, and that of its product with the deviations."""
    assert len(traced(backward(standard), X, X).folds) == 4


def test_the_sum_of_deviations_that_are_not_finite_is_nan() -> None:
    """The deviations are not finite beside an infinity: so the gradient of what multiplies them is NaN."""

    def scaled(x: Any, s: Any) -> Any:
        return wf.sum((x - wf.mean(x, axis=1, keepdims=True)) * s)

    x, s = X.copy(), np.ones((3, 1))
    x[1, 2] = np.inf
    dx, ds = derived(scaled, [np.ones(())], (x, s))
    np.testing.assert_allclose(ds, [[0.0], [np.nan], [0.0]], atol=1e-12)
    np.testing.assert_allclose(dx, 0.0, atol=1e-12)


def test_the_correction_of_a_mean_leaves_a_sum() -> None:
    """So a sum of products with deviations needs no meeting behind that of the correction, here 0 or not."""
    for x in (X, X + 1e3):
        (step,) = cut(traced(backward(wf.layer_norm.function), x, x), lambda *_: True).steps
        assert len(step.program.reduces) == 2
        assert_agrees(lambda x: wf.layer_norm(x), x)


def test_a_gradient_that_does_not_vary_is_multiplied_by_the_count() -> None:
    assert_agrees(lambda x, w: wf.sum(x + w, axis=(0, 1)) * wf.sum(w, axis=0), X, X[0])
    assert not [e for e in traced(backward(lambda x, w: wf.sum(x + w)), np.ones(()), X, X[0]).folds if e.space]


def test_factors_of_a_column_leave_its_sum_from_inside_of_products() -> None:
    """Of both gradients one sum of products is left, and each is that times the other factor."""

    def scaled(x: Any, w: Any, v: Any) -> Any:
        return x * w * v

    assert_agrees(scaled, X, X[1], X[2])
    (_,) = traced(backward(scaled, 1, ("w", "v")), X, X, X[1], X[2]).folds
