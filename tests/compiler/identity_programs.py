"""Random programs in which one value may stand for another: extremes, sums and means, and what is shifted by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import warpfold as wf

Value = Any
AXES = (0, 1, (0, 1))
FOLDS: tuple[Callable[..., Value], ...] = (wf.max, wf.min, wf.sum, wf.mean)


def program(seed: int, steps: int = 6) -> Callable[..., Any]:
    """A function of a matrix and a row, whose result has the shape of the matrix or is a fold of it.

    Each value is kept with the folded axes, so that all of them broadcast.
    """

    def function(x: Value, y: Value) -> Value:
        rng = Random(seed)
        values = [x, y]
        for _ in range(steps):
            values.append(rng.choice(STEPS)(rng, values))
        return values[-1] * values[-2] if rng.random() < 0.5 else values[-1] + x

    return function


def _value(rng: Random, values: Sequence[Value]) -> Value:
    """A value, the latest more often than others."""
    return values[max(-len(values), -1 - int(rng.expovariate(0.8)))]


def _fold(rng: Random, values: Sequence[Value]) -> Value:
    return rng.choice(FOLDS)(_value(rng, values), axis=rng.choice(AXES), keepdims=True)


def _shifted(rng: Random, values: Sequence[Value]) -> Value:
    x = _value(rng, values)
    m = rng.choice(FOLDS)(x, axis=rng.choice(AXES), keepdims=True)
    return x - rng.choice((m, m, m, m / 2.0))


def _divided(rng: Random, values: Sequence[Value]) -> Value:
    x = _value(rng, values)
    return x / rng.choice((2.0, wf.sum(x, axis=rng.choice(AXES), keepdims=True), _value(rng, values)))


def _scaled(rng: Random, values: Sequence[Value]) -> Value:
    return _value(rng, values) * rng.choice((1e-10, 1.4426950408889634, 0.6931471805599453, -1.0, _value(rng, values)))


def _elementwise(rng: Random, values: Sequence[Value]) -> Value:
    x = _value(rng, values)
    return rng.choice((
        wf.exp, wf.exp, wf.exp, wf.exp2, wf.abs, lambda v: wf.log(wf.abs(v)), lambda v: wf.log2(wf.abs(v)),
        lambda v: wf.sqrt(wf.abs(v)), lambda v: v * v, lambda v: -v,
    ))(x)  # fmt: skip


def _joined(rng: Random, values: Sequence[Value]) -> Value:
    a, b = _value(rng, values), _value(rng, values)
    return rng.choice((a + b, a - b, wf.maximum(a, b), wf.where(a == float("inf"), b, a), wf.where(a > 0.0, a, b)))


def _distribution(rng: Random, values: Sequence[Value]) -> Value:
    """A softmax, or the logarithm of one, each along axes of its own."""
    x = _value(rng, values)
    m = rng.choice((wf.max, wf.min))(x, axis=rng.choice(AXES), keepdims=True)
    s = wf.sum(wf.exp(x - m), axis=rng.choice(AXES), keepdims=True)
    return rng.choice((wf.exp(x - m) / s, x - m - wf.log(s), m + wf.log(s), s))


def _refolded(rng: Random, values: Sequence[Value]) -> Value:
    """A fold, and then one of differences from it: maybe of other elements, or along other axes."""
    x, y = values[0] * rng.choice((1.0, _value(rng, values))), values[1]
    mask = rng.choice((None, None, y > 0.0))
    axis, fold = rng.choice(AXES), rng.choice(FOLDS)
    if mask is None:
        first = fold(x, axis=axis, keepdims=True)
    elif fold in (wf.max, wf.min):
        first = wf.max(wf.where(mask, x, -float("inf")), axis=axis, keepdims=True)
    else:
        first = fold(x, axis=axis, keepdims=True, where=mask)
    d = x - rng.choice((first, first, first, first / 4.0))
    own = rng.choice((*[(axis, mask)] * 4, (rng.choice(AXES), mask), (axis, y > 0.5)))
    second = wf.sum(rng.choice((d, d * d, wf.exp(d))), axis=own[0], keepdims=True, where=own[1])
    return rng.choice((second, second, d - second, first - second, d * second))


def twice(seed: int) -> Callable[..., Any]:
    """A function of a matrix and a row that folds differences from a fold, beside a step of another kind."""

    def function(x: Value, y: Value) -> tuple[Value, ...]:
        rng = Random(seed)
        values = [x, y, *rng.choice(((), (), (rng.choice(STEPS)(rng, [x, y]),)))]
        return tuple(_refolded(rng, values) for _ in range(rng.choice((1, 1, 2))))

    return function


STEPS = (_refolded, _fold, _shifted, _shifted, _divided, _scaled, _elementwise, _elementwise, _joined, _distribution)
