"""Sums of one element of a row become gathers, with the same results, where all elements of a row have one index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from tests.compiler.program import steps_numpy
from warpfold.commands.checking.array_values import evaluate
from warpfold.compiler.dtypes import dtype
from warpfold.compiler.program.array_program import ArrayProgram
from warpfold.compiler.program.arrays.trace import ArrayArg, trace_arrays
from warpfold.compiler.program.cuts.cut import cut
from warpfold.compiler.program.graph import walk
from warpfold.compiler.program.rewrites.one_hot import gathered

RNG = np.random.default_rng(11)
X, W = RNG.standard_normal((6, 5)), RNG.standard_normal(5)
X[0, 1], X[2, 2], X[3, 0] = np.nan, np.inf, -np.inf
T = np.array([2, 0, 1, 3, -1, 5])


def _numbers(x: Any, axis: int = -1) -> Any:
    numbers = x.__array_namespace__().arange(x.shape[axis])
    return numbers if axis == -1 else numbers[:, None]


def _one(x: Any, t: Any) -> Any:
    return wf.sum(wf.where(_numbers(x) == t[:, None], x, 0), axis=-1)


def _other_way_round(x: Any, t: Any) -> Any:
    return wf.sum(wf.where(t[:, None] == _numbers(x), x, 0), axis=-1)


def _of_all_rows(x: Any, t: Any) -> Any:
    return wf.sum(wf.where(_numbers(x) == t[:, None], x, 0))


def _computed(x: Any, t: Any, w: Any) -> Any:
    return wf.sum(wf.where(_numbers(x) == t[:, None], wf.exp(x) * w + 1, 0), axis=-1)


def _of_weights(x: Any, t: Any, w: Any) -> Any:
    return wf.sum(wf.where(_numbers(x) == t[:, None], w, 0), axis=-1) + x[:, :].sum(axis=-1) * 0


def _of_its_number(x: Any, t: Any) -> Any:
    return wf.sum(wf.where(_numbers(x) == t[:, None], _numbers(x) * 2, 0), axis=-1)


def _of_what_does_not_vary(x: Any, t: Any) -> Any:
    return wf.sum(wf.where(_numbers(x) == t[:, None], wf.max(x, axis=-1, keepdims=True), 0), axis=-1)


def _of_a_softmax(x: Any, t: Any) -> Any:
    e = wf.exp(x - wf.max(x, axis=-1, keepdims=True))
    share = e / wf.sum(e, axis=-1, keepdims=True)
    return wf.sum(wf.where(_numbers(x) == t[:, None], share, 0), axis=-1)


def _under_a_mask(x: Any, t: Any) -> Any:
    return wf.sum(wf.where(_numbers(x) == t[:, None], x, 0), axis=-1, where=x > -0.5)


def _at_a_folded_index(x: Any, t: Any) -> Any:
    best = wf.argmin(wf.where(x == x, x, 9), axis=-1, keepdims=True)
    return wf.sum(wf.where(_numbers(x) == best, x, 0), axis=-1) + t * 0


def _of_columns(x: Any, t: Any) -> Any:
    return wf.sum(wf.where(_numbers(x, 0) == wf.max(t), x, 0), axis=0)


def _of_a_gathered_index(x: Any, t: Any) -> Any:
    inner = wf.sum(wf.where(_numbers(x) == t[:, None], x, 0), axis=-1)
    rows = x.__array_namespace__().arange(x.shape[0])
    return wf.sum(wf.where(rows == wf.max(t), inner, 0))


GATHERED: list[Callable[..., Any]] = [
    _one, _other_way_round, _of_all_rows, _computed, _of_weights, _of_its_number, _of_what_does_not_vary, _of_a_softmax,
    _under_a_mask, _at_a_folded_index, _of_columns, _of_a_gathered_index,
]  # fmt: skip

NOTHING_TO_READ = [_of_its_number, _of_what_does_not_vary]


def _traced(function: Callable[..., Any]) -> tuple[ArrayProgram, list[Any]]:
    arrays = [X, T, W][: function.__code__.co_argcount]
    return trace_arrays(function, [ArrayArg(dtype(a.dtype), a.shape) for a in arrays], {}), arrays


@pytest.mark.parametrize("function", GATHERED)
def test_one_element_is_gathered(function: Callable[..., Any]) -> None:
    program, arrays = _traced(function)
    found = gathered(program)
    assert len(found.folds) < len(program.folds) or function is _of_all_rows
    assert any(e.op == "gather" for e in walk(found.roots)) == (function not in NOTHING_TO_READ)
    for got, expected in zip(evaluate(found, arrays), evaluate(program, arrays), strict=True):
        np.testing.assert_allclose(got, expected, rtol=0 if function is not _of_all_rows else 1e-12)


@pytest.mark.parametrize("function", GATHERED)
@pytest.mark.parametrize("owned", [True, False])
def test_the_steps_compute_the_same(function: Callable[..., Any], owned: bool) -> None:
    program, arrays = _traced(function)
    found = gathered(program)
    steps = cut(found, lambda *_: owned)
    for got, expected in zip(steps_numpy.run(steps, found, arrays), evaluate(program, arrays), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12)


def _varying_index(x: Any, t: Any) -> Any:
    return wf.sum(wf.where(_numbers(x) == wf.cast(x, "i64"), x, 0), axis=-1) + t


def _float_index(x: Any, t: Any) -> Any:
    return wf.sum(wf.where(_numbers(x) == t[:, None] * 1.0, x, 0), axis=-1)


def _narrow_numbers(x: Any, t: Any) -> Any:
    """The numbers 2 and 258 are the same in a byte."""
    return wf.sum(wf.where(wf.cast(_numbers(x), "int8") == t[:, None], x, 0), axis=-1)


def _no_sum(x: Any, t: Any) -> Any:
    return wf.max(wf.where(_numbers(x) == t[:, None], x, 0), axis=-1)


def _not_zero_elsewhere(x: Any, t: Any) -> Any:
    return wf.sum(wf.where(_numbers(x) == t[:, None], x, 1), axis=-1)


def _of_folded_columns(x: Any, t: Any) -> Any:
    return wf.sum(wf.where(_numbers(x) == t[:, None], x - wf.mean(x, axis=0), 0), axis=-1)


@pytest.mark.parametrize(
    "function", [_varying_index, _float_index, _narrow_numbers, _no_sum, _not_zero_elsewhere, _of_folded_columns]
)
def test_other_sums_stay(function: Callable[..., Any]) -> None:
    program, _ = _traced(function)
    assert gathered(program) == program


def test_a_gathering_step_of_rows_that_nobody_owns_has_a_map_before_it() -> None:
    program = gathered(_traced(_of_all_rows)[0])
    assert [bool(s.program.reduces) for s in cut(program, lambda *_: True).steps] == [True]
    assert [bool(s.program.reduces) for s in cut(program, lambda *_: False).steps] == [False, True]
