"""Values that the results do not change with take no gradient: programs of fewer folds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from array_programs import traced
from covering import some
from differences import assert_agrees, derived, results
from identity_programs import program

import warpfold as wf
from warpfold.compiler.program.analysis.atomic import operation
from warpfold.compiler.program.gradients import reverse
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


def of_row_minima(x: Any) -> Any:
    return wf.log_softmax(wf.min(x, axis=1), axis=0)


def shares_of_row_extremes(x: Any) -> Any:
    e = wf.exp(wf.max(x, axis=1))
    return e / wf.sum(e)


def below_the_greatest(x: Any) -> Any:
    m = wf.max(x, axis=1)
    return m - wf.max(m)


def along_columns_of_shifted_rows(x: Any) -> Any:
    return wf.softmax(x - wf.max(x, axis=1, keepdims=True), axis=0)


def of_extremes_so_far(x: Any) -> Any:
    return wf.softmax(wf.cummax(x, axis=1), axis=1)


def chosen_beside_another_infinity(x: Any) -> Any:
    m = wf.max(x, axis=1, keepdims=True)
    endless = wf.where(x > 0.0, np.inf, x)  # the choice asks whether this is infinite, and not the extreme
    return wf.where(endless == np.inf, m, x - x)


SEVERAL = [of_row_minima, shares_of_row_extremes, below_the_greatest, along_columns_of_shifted_rows, of_extremes_so_far]
"""Programs that fold over values with extremes of their own."""


@pytest.mark.parametrize("function", [*SEVERAL, chosen_beside_another_infinity])
def test_an_extreme_that_does_not_cancel_everywhere_takes_its_gradient(function: Callable[..., Any]) -> None:
    assert_agrees(function, X)


def test_a_small_factor_is_no_zero() -> None:
    assert derived(lambda x: 1e-10 * wf.max(x, axis=1), [np.ones(3)], [X])[0].sum() == pytest.approx(3e-10, abs=0)


def test_division_by_zero_is_no_error() -> None:
    assert kinds(lambda x: (x - wf.max(x, axis=1, keepdims=True)) / 0.0, X)


@pytest.mark.parametrize("seed", some(range(0, 120, 20), 4))
def test_gradients_of_random_programs_are_those_with_every_extreme(monkeypatch: Any, seed: int) -> None:
    """Where an extreme takes no gradient, that which it would take vanishes."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((3, 4)), rng.standard_normal((1, 4))
    for function in map(program, range(seed, seed + 20)):
        left_out: set[str] = set()
        monkeypatch.setattr(reverse, "unchanging", lambda *given, own=left_out: own.update(UNCHANGING(*given)) or own)
        (result,) = results(function, (x, y))
        seeds = [rng.standard_normal(result.shape)]
        found = derived(function, seeds, (x, y))
        monkeypatch.setattr(reverse, "unchanging", lambda *_: set())
        if left_out:
            every = derived(function, seeds, (x, y))
            scale = max(1.0, abs(result).max(), *(abs(v).max() for v in every))
            for a, b in zip(found, every, strict=True):
                assert not np.isfinite(b).all() or scale > 1e6 or np.allclose(a, b, rtol=1e-9, atol=1e-12 * scale)


UNCHANGING = reverse.unchanging


@pytest.mark.parametrize("function", [scaled_by_its_extreme, beside_its_extreme])
def test_an_extreme_that_matters_takes_its_gradient(function: Callable[..., Any]) -> None:
    assert kinds(function, X).count("add") == 2  # the gradient of the extreme, and the ties
    assert_agrees(function, X)


def test_a_decision_about_an_extreme_has_no_gradient() -> None:
    assert_agrees(lambda x: wf.where(wf.max(x, axis=1, keepdims=True) > 0, x * x, x), X)
