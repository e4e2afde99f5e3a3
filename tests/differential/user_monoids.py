"""Monoids and programs as users write them, each with its meaning as a loop over the elements in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import warpfold as wf

Array = np.ndarray[Any, Any]
Step = Callable[[tuple[Array, ...], tuple[Array, ...]], tuple[Array, ...]]


# --- as users write them -------------------------------------------------------------------------------------------
@wf.monoid(identity=(1, 0), commutative=False)
def affine(a: Any, b: Any) -> Any:
    """First x -> s x + t, then x -> u x + v."""
    (s, t), (u, v) = a, b
    return s * u, t * u + v


@wf.monoid(identity=(1, 0, 0, 1), commutative=False, lift=lambda x, y: (x, y, wf.cast(1, x.dtype), wf.cast(0, x.dtype)))
def matrix(a: Any, b: Any) -> Any:
    """The product of 2x2 matrices, rows first."""
    return (
        a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3],
    )  # fmt: skip


@wf.monoid(identity=(False, 0), commutative=False, lift=lambda x: (True, x), finish=lambda _, x: x)
def first(a: Any, b: Any) -> Any:
    return a[0] | b[0], wf.where(a[0], a[1], b[1])


@wf.monoid(identity=(False, 0), commutative=False, lift=lambda x: (True, x), finish=lambda _, x: x)
def last(a: Any, b: Any) -> Any:
    return a[0] | b[0], wf.where(b[0], b[1], a[1])


@wf.monoid(
    identity=(0, 0, 0, 0), commutative=False, lift=lambda x: (x, *3 * (wf.maximum(x, 0),)), finish=lambda *s: s[3]
)
def best_run(a: Any, b: Any) -> Any:
    """(total, best prefix, best suffix, best run): the greatest sum of neighbours."""
    across = a[2] + b[1]
    return (
        a[0] + b[0], wf.maximum(a[1], a[0] + b[1]), wf.maximum(b[2], b[0] + a[2]),
        wf.maximum(wf.maximum(a[3], b[3]), across),
    )  # fmt: skip


@wf.monoid(identity=(0, 0), commutative=False, lift=lambda x: (wf.maximum(-x, 0), wf.maximum(x, 0)))
def brackets(a: Any, b: Any) -> Any:
    """(closing, opening) brackets that find no partner; x opens that many, or closes -x."""
    met = wf.minimum(a[1], b[0])
    return a[0] + b[0] - met, a[1] + b[1] - met


def _power_sums(x: Any) -> Any:
    return wf.cast(1, "i64"), x, x * x


def _central(n: Any, s: Any, q: Any, *, about: float = 0.0) -> Any:
    return {"count": n, "second": q - 2.0 * about * s + about * about * wf.cast(n, q.dtype)}


@wf.monoid(identity=(0, 0, 0), lift=_power_sums, finish=_central)
def moments(a: Any, b: Any) -> Any:
    """Power sums, and from them the second moment about a given number."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


@wf.monoid(identity=0)
def parity(a: Any, b: Any) -> Any:
    return a ^ b


def weighted(x: Any, y: Any) -> Any:
    """A program: two folds of one array each, and one of both."""
    return {"total": wf.fold(wf.SUM, x * y), "peak": wf.fold(wf.MAX, x), "low": wf.fold(wf.MIN, y - x)}


def places(x: Any) -> Any:
    """A program that numbers its elements."""
    return wf.fold(wf.SUM, wf.where(x > 0, wf.index("i64"), wf.cast(0, "i64")))


# --- as loops ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Subject:
    """One reduction and what it means.

    Attributes:
        what: the argument of ``wf.reduce``.
        inputs: how many arrays it takes.
        dtypes: types that its arrays may have; on ``whole`` elements (or ``factors``) nothing rounds.
        start: the state before the first element.
        step: the state after one more element.
        finish: the results of a state.
        params: keyword arguments.
        elements: what the arrays hold.
        empty: whether the reduction of nothing has a value.
        masks: whether the loop may skip elements: not where it numbers them.
        selects: whether its combine only selects, and so keeps the elements' type.
    """

    what: Any
    inputs: int
    dtypes: tuple[str, ...]
    start: tuple[Any, ...]
    step: Step
    finish: Callable[..., tuple[Any, ...]] = lambda *s: s
    params: tuple[tuple[str, Any], ...] = ()
    elements: str = "whole"
    empty: bool = True
    masks: bool = True
    selects: bool = False


_INTEGERS = ("i32", "i64", "u32", "u64")
_SIGNED = ("i32", "i64", "f32", "f64")


def _affine(s: Any, e: Any) -> Any:
    return s[0] * e[0], s[1] * e[0] + e[1]


def _matrix(s: Any, e: Any) -> Any:
    (a, b, c, d), (x, y) = s, e
    return a * x + b, a * y, c * x + d, c * y


def _first(s: Any, e: Any) -> Any:
    return np.ones_like(s[0]), np.where(s[0], s[1], e[0])


def _best_run(s: Any, e: Any) -> Any:
    ending = np.maximum(s[0] + e[0], 0)
    return ending, np.maximum(s[1], ending)


def _brackets(s: Any, e: Any) -> Any:
    opened = s[1] + e[0]
    return s[0] + np.maximum(-opened, 0), np.maximum(opened, 0)


def _moments(s: Any, e: Any) -> Any:
    return s[0] + 1, s[1] + e[0], s[2] + e[0] * e[0]


def _extremes(s: Any, e: Any) -> Any:
    x = e[0]
    return s[0] + x, np.maximum(s[1], x), np.minimum(s[2], x), np.where(x < s[2], s[4], s[3]), s[4] + 1


def _weighted(s: Any, e: Any) -> Any:
    return s[0] + e[0] * e[1], np.maximum(s[1], e[0]), np.minimum(s[2], e[1] - e[0])


def _places(s: Any, e: Any) -> Any:
    return s[0] + np.where(e[0] > 0, s[1], 0), s[1] + 1


SUBJECTS: dict[str, Subject] = {
    "affine": Subject(affine, 2, ("i32", "i64", "u32", "u64"), (1, 0), _affine),
    "affine of signs": Subject(affine, 2, ("f32", "f64", "i8"), (1, 0), _affine, elements="signs"),
    "matrix": Subject(matrix, 2, _INTEGERS, (1, 0, 0, 1), _matrix),
    "first": Subject(first, 1, ("i32", "u64", "f32", "f64"), (False, 0), _first, lambda _, x: (x,), selects=True),
    "last": Subject(last, 1, ("i32", "u64", "f32", "f64"), (0,), lambda _, e: (e[0],), selects=True),
    "best run": Subject(best_run, 1, _SIGNED, (0, 0), _best_run, lambda _, x: (x,)),
    "brackets": Subject(brackets, 1, _SIGNED, (0, 0), _brackets),
    "moments": Subject(
        moments, 1, ("f32", "f64"), (0, 0, 0), _moments,
        lambda n, s, q: (n.astype(np.int64), q - 2 * 3.0 * s + 9.0 * n), (("about", 3.0),),
    ),
    "parity": Subject(
        parity, 1, (*_INTEGERS, "i8", "u16"), (0,), lambda s, e: (s[0] ^ e[0],), elements="spread", selects=True
    ),
    "names": Subject(
        ("sum", wf.MAX, "argmin"), 1, ("f32", "f64", "i64"), (0, -100, 100, 0, 0), _extremes,
        lambda s, high, _low, at, _i: (s, high, at.astype(np.int64)), empty=False,
    ),
    "weighted": Subject(weighted, 2, ("f32", "f64", "i64"), (0, -100, 100), _weighted, empty=False),
    "places": Subject(
        places, 1, ("f32", "i32", "i64"), (0, 0), _places, lambda s, _: (s.astype(np.int64),), masks=False
    ),
}  # fmt: skip
