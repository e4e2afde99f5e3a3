"""Reductions of your own, as ordinary Python.

    warpfold run examples/monoids.py:span --input temperature.npy --axis 0,1
    warpfold run examples/monoids.py:degree_hours --input temperature.npy --axis 0,1 --param base=15
    warpfold check examples/monoids.py:larger --dtype f32,i64
    python examples/monoids.py

A monoid is a combine function of two states with an identity. Its *lift* turns an element into a state, its *finish*
turns the last state into results; keyword-only parameters of both are parameters of the reduction. A tensor program
maps elements, folds them, and maps the results. Either becomes one kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import warpfold as wf


# --- monoids -------------------------------------------------------------------------------------------------------
@wf.monoid(identity=0)
def total(a: Any, b: Any) -> Any:
    """The sum: the shortest monoid."""
    return a + b


@wf.monoid(identity=lambda low, high: (low.highest, high.lowest), has_identity=False)
def extremes(a: Any, b: Any) -> Any:
    """Two values at once: the least and the greatest."""
    return wf.minimum(a[0], b[0]), wf.maximum(a[1], b[1])


@wf.monoid(
    identity=(0.0, 0.0),
    lift=lambda x, *, base=18.0: (wf.maximum(base - x, 0.0), wf.maximum(x - base, 0.0)),
    finish=lambda heating, cooling: {"heating": heating, "cooling": cooling, "both": heating + cooling},
)
def degree_hours(a: Any, b: Any) -> Any:
    """The degrees below and above ``base``, summed over the hours: three named results."""
    return a[0] + b[0], a[1] + b[1]


@wf.monoid(identity=lambda _, at: (-1.0, at.highest), has_identity=False)
def larger(a: Any, b: Any) -> Any:
    """The greatest value and its index; NaN is greatest; of equals the first, in whatever order states meet."""
    (x, i), (y, j) = a, b
    left = wf.where((x == y) | (wf.isnan(x) & wf.isnan(y)), i < j, (x > y) | wf.isnan(x))
    return wf.where(left, x, y), wf.where(left, i, j)


@wf.monoid(identity=(1.0, 0.0), commutative=False)
def affine(a: Any, b: Any) -> Any:
    """The map x -> s x + t followed by x -> u x + v, as one such map: their order matters, and is kept."""
    (s, t), (u, v) = a, b
    return s * u, t * u + v


# --- tensor programs -----------------------------------------------------------------------------------------------
def rms(x: Any) -> Any:
    """The root mean square; each element is squared where it is read."""
    return wf.sqrt(wf.fold(total, x * x) / wf.count(x.dtype))


def span(x: Any) -> Any:
    """The distance from the least element to the greatest, in one pass over the data."""
    low, high = wf.fold(extremes, x, x)
    return high - low


def peak(x: Any) -> Any:
    """The index of the element of greatest magnitude among the reduced ones."""
    return wf.fold(larger, abs(x), wf.index("i64"))[1]


def moving_level(x: Any, *, keep: float = 0.9) -> Any:
    """Exponential smoothing y = 0.9 y + 0.1 x from the first element to the last: a fold that keeps the order."""
    return wf.fold(affine, wf.cast(keep, x.dtype), (1 - keep) * x)[1]


def frost(x: Any) -> Any:
    """Three named reductions from one read: the hours below zero, their mean, and the least of all values."""
    below = x < 0.0
    hours = wf.fold(wf.SUM, wf.cast(below, "i64"))
    depth = wf.fold(wf.SUM, wf.where(below, x, 0.0))
    return {"hours": hours, "mean": depth / wf.cast(hours, x.dtype), "least": wf.fold(wf.MIN, x)}


def _main() -> None:
    """Reduces from Python: a tuple of reductions takes one read, and ``where=`` leaves elements out."""
    x = np.random.default_rng(0).normal(10, 8, (24, 100)).astype(np.float32)
    highest, place, hours = wf.reduce(x, (wf.MAX, wf.ARGMAX, degree_hours), base=15.0)
    print(f"highest {highest:.2f} at {place}, {hours.heating:.1f} degree hours below 15")
    without = wf.reduce(x, degree_hours, axis=0, where=x > 0, nan="ignore")
    print(f"{without.heating.sum():.1f} below 18, without the frost")


if __name__ == "__main__":
    _main()
