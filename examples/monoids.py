"""Monoids and tensor programs of one's own, as ordinary Python.

    warpfold run examples/monoids.py:span --input temperature.npy --axis 0,1
    warpfold explain examples/monoids.py:peak --shape 365x24x100 --axis 0

A monoid is a combine function of two states with an identity. A tensor program maps elements, folds them, and maps the
results; everything in it becomes one kernel.
"""

from __future__ import annotations

from typing import Any

import warpfold as wf


@wf.monoid(identity=0)
def total(a: Any, b: Any) -> Any:
    """The sum: the shortest monoid."""
    return a + b


@wf.monoid(identity=lambda low, high: (low.highest, high.lowest), has_identity=False)
def extremes(a: Any, b: Any) -> Any:
    """Two values at once: the least and the greatest."""
    return wf.minimum(a[0], b[0]), wf.maximum(a[1], b[1])


@wf.monoid(identity=lambda _, at: (-1.0, at.highest), has_identity=False)
def larger(a: Any, b: Any) -> Any:
    """The greater size and where it is; NaN is greatest; of equals the first, in whichever order states meet."""
    (x, i), (y, j) = a, b
    left = wf.where((x == y) | (wf.isnan(x) & wf.isnan(y)), i < j, (x > y) | wf.isnan(x))
    return wf.where(left, x, y), wf.where(left, i, j)


@wf.monoid(identity=(1.0, 0.0), commutative=False)
def affine(a: Any, b: Any) -> Any:
    """First x -> s x + t, then x -> u x + v, as one such map: their order matters, and is kept."""
    (s, t), (u, v) = a, b
    return s * u, t * u + v


def sum_of_squares(x: Any) -> Any:
    """The square of every element is taken where it is read."""
    return wf.fold(total, x * x)


def rms(x: Any) -> Any:
    """The root of the mean square."""
    return wf.sqrt(wf.fold(total, x * x) / wf.count(x.dtype))


def span(x: Any) -> Any:
    """The distance from the least element to the greatest, in one pass over the data."""
    low, high = wf.fold(extremes, x, x)
    return high - low


def peak(x: Any) -> Any:
    """Where the element of greatest magnitude is: its number among the reduced ones."""
    return wf.fold(larger, abs(x), wf.index(wf.dtype("i64")))[1]


def degree_hours(x: Any) -> Any:
    """Smooth degree hours above 18: the sum of log(1 + exp(x - 18)), which does not overflow for great x."""
    over = x - 18.0
    return wf.fold(total, wf.maximum(over, 0.0) + wf.log(1.0 + wf.exp(-abs(over))))


def moving_level(x: Any) -> Any:
    """Exponential smoothing y = 0.9 y + 0.1 x from the first element to the last: a fold that keeps the order."""
    return wf.fold(affine, wf.cast(0.9, x.dtype), 0.1 * x)[1]
