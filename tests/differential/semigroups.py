"""Semigroups that show a made-up element, and what they come to by definition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

import warpfold as wf

Array = np.ndarray[Any, Any]


# --- as users write them -------------------------------------------------------------------------------------------
@wf.monoid(has_identity=False, commutative=False)
def first(a: Any, _b: Any) -> Any:
    return a


@wf.monoid(identity=0, has_identity=False, commutative=False)
def last(_a: Any, b: Any) -> Any:
    return b


@wf.monoid(has_identity=False, commutative=False, lift=lambda x: (x, x))
def ends(a: Any, b: Any) -> Any:
    """The first element and the last."""
    return a[0], b[1]


@wf.monoid(identity=0, has_identity=False)
def greatest(a: Any, b: Any) -> Any:
    """Of negative elements: zero, which pads, would show."""
    return wf.maximum(a, b)


@wf.monoid(identity=1, has_identity=False)
def tripled(a: Any, b: Any) -> Any:
    """The product of n elements times 3 ** (n - 1), modulo 2 ** 64: neither 1 nor any other whole number is neutral."""
    return a * b * 3


@wf.monoid(has_identity=False, commutative=False, lift=lambda x: (x, x), finish=lambda low, step: step - low)
def span(a: Any, b: Any) -> Any:
    """The last element less the first."""
    return a[0], b[1]


# --- by definition -------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Witness:
    """One semigroup.

    Attributes:
        what: the monoid.
        of: its results for the elements of one result, one at least, as an array of int32.
        begin: a state to begin with, and what ``of`` takes in its place, as a first element.
    """

    what: Any
    of: Callable[[Array], tuple[int, ...]]
    begin: tuple[Any, int] | None = None


def _tripled(row: Array) -> tuple[int, ...]:
    product = reduce(lambda a, b: a * b * 3 % 2**64, [int(v) for v in row]) % 2**64
    return (product - 2**64 if product >= 2**63 else product,)


WITNESSES = {
    "first": Witness(first, lambda row: (row[0],), (-7, -7)),
    "last": Witness(last, lambda row: (row[-1],), (-7, -7)),
    "ends": Witness(ends, lambda row: (row[0], row[-1]), ((-7, -7), -7)),
    "greatest": Witness(greatest, lambda row: (row.max(),), (-500, -500)),
    "tripled": Witness(tripled, _tripled, (-7, -7)),
    "span": Witness(span, lambda row: (row[-1] - row[0],), None),
}


def expected(witness: Witness, rows: Array, mask: Array, initial: bool) -> list[Array]:
    """Each result of ``rows`` [results][elements], those outside ``mask`` left out."""
    begin = [witness.begin[1]] if initial and witness.begin else []
    found = [witness.of(np.concatenate([np.array(begin, np.int32), r[m]])) for r, m in zip(rows, mask, strict=True)]
    return [np.array(v, np.int64) for v in zip(*found, strict=True)]
