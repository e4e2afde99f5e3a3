"""Values that the results do not change with take no gradient: programs of fewer folds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from array_programs import traced
from differences import assert_agrees, results

import warpfold as wf
from warpfold.compiler.program.analysis.atomic import operation
from warpfold.compiler.program.gradients.vjp import backward

X = np.random.default_rng(3).standard_normal((3, 5))


def kinds(function: Callable[..., Any], *arrays: Any) -> list[str]:
    """The operations of the folds of a gradient."""
    (result,) = results(function, arrays)
    return sorted(operation(e.value.monoid) for e in traced(backward(function), result, *arrays).folds)


def quotient(x: Any) -> Any:
    e = wf.exp(x - wf.max(x, axis=1, keepdims=True))
    return e / wf.sum(e, axis=1, keepdims=True)


def in_base_two(x: Any) -> Any:
    scaled = x * 1.4426950408889634
    e = wf.exp2(scaled - wf.max(scaled, axis=1, keepdims=True))
    return e * (1.0 / wf.sum(e, axis=1, keepdims=True))


def shifted_by_the_least(x: Any) -> Any:
    m = wf.min(x, axis=1, keepdims=True)
    return m + wf.log(wf.sum(wf.exp(x - m), axis=1, keepdims=True))


def root(x: Any) -> Any:
    m = wf.max(x, axis=1, keepdims=True)
    s = wf.sum(wf.exp(x - m), axis=1, keepdims=True)
    return wf.sqrt(wf.exp(x - m) * wf.exp(x - m)) / abs(s)


CANCELS = [quotient, in_base_two, shifted_by_the_least, root, wf.softmax.function, wf.log_softmax.function]


@pytest.mark.parametrize("function", CANCELS)
def test_an_extreme_that_cancels_takes_no_gradient(function: Callable[..., Any]) -> None:
    """The gradient folds what the function folds, and one sum more at most: there is no tie to count."""
    assert kinds(function, X) in (["add", "add", "max"], ["add", "min"])
    assert_agrees(function, X)


def scaled_by_its_extreme(x: Any) -> Any:
    return x / wf.max(wf.abs(x), axis=1, keepdims=True)


def beside_its_extreme(x: Any) -> Any:
    m = wf.max(x, axis=1, keepdims=True)
    return wf.exp(x - m) + m


@pytest.mark.parametrize("function", [scaled_by_its_extreme, beside_its_extreme])
def test_an_extreme_that_matters_takes_its_gradient(function: Callable[..., Any]) -> None:
    assert kinds(function, X).count("add") == 2  # the gradient of the extreme, and the ties
    assert_agrees(function, X)


def test_a_decision_about_an_extreme_has_no_gradient() -> None:
    assert_agrees(lambda x: wf.where(wf.max(x, axis=1, keepdims=True) > 0, x * x, x), X)
