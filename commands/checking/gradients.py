"""Gradients as they are derived, beside differences of the program, both evaluated in NumPy.

Along a direction a difference to either side of the arrays is taken. Where both agree, the derivative is their mean;
where they do not, as at a tie of two elements, a gradient is right that lies between them for each element of the
results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...compiler.dtypes import DType, dtype
from ...compiler.program.array_program import ArrayProgram
from ...compiler.program.arrays.trace import ArrayArg, trace_arrays
from ...compiler.program.arrays.types import has_gradient
from ...compiler.program.gradients.vjp import backward
from ...compiler.program.numeric import Array
from .array_values import evaluate

STEP = 2.0**-24
"""How far elements are moved, of their size or 1: the rounding of long doubles is 2^-40 of that."""
STEPS = (STEP, STEP * 2.0**-24, STEP * 2.0**-48)
"""Lesser steps are taken where a gradient is none in the first: a norm that is bounded by 1e-12 bends within it."""
PRECISION = float(np.finfo(np.longdouble).eps)
TOLERANCE = 2.0**-20
"""The difference that is allowed, of the sum of the sizes of all terms."""
ROUNDED = 2.0**-16
"""What the rounding of the results counts beside the terms of a gradient."""
CHOSEN = 12
"""Elements that are moved alone: those with the greatest gradients, and as many others."""


@dataclass(frozen=True)
class Compared:
    """The gradient of one array along one direction.

    Attributes:
        array: the number of the array.
        at: the element that is moved; None for all.
        derived: what the gradient gives.
        left, right: the differences to either side.
        low, high: the sums of the lesser and of the greater one of each element of the results.
        size: the sum of the sizes of all terms of ``derived``, and of what the rounding of the results makes of them.
    """

    array: int
    at: tuple[int, ...] | None
    derived: float
    left: float
    right: float
    low: float
    high: float
    size: float

    @property
    def known(self) -> bool:
        """Whether there is a finite difference to compare with."""
        return bool(np.isfinite(self.left) and np.isfinite(self.right))

    @property
    def smooth(self) -> bool:
        """Whether the differences to both sides agree, so that there is a derivative."""
        return abs(self.left - self.right) <= 64 * TOLERANCE * max(self.size, abs(self.left), abs(self.right))

    @property
    def error(self) -> float:
        """How far the gradient is from the derivative, or from what lies between both sides, of ``size``."""
        low, high = self.low, self.high
        if self.smooth:
            low = high = (self.left + self.right) / 2
        off = max(low - self.derived, self.derived - high, 0.0)
        return off / max(self.size, abs(low), abs(high), TOLERANCE) if np.isfinite(self.derived) else math.inf

    @property
    def passed(self) -> bool:
        """Whether the gradient is right."""
        return not self.known or self.error <= TOLERANCE


def compared(function: Callable[..., Any], program: ArrayProgram, arrays: Sequence[Array], seed: int) -> list[Compared]:
    """The gradients of all arrays of floats along several directions each.

    Args:
        function: the function of symbolic arrays that ``program`` was traced of.
        program: the program.
        arrays: its arrays.
        seed: of the gradients of the results, and of the directions.
    """
    rng = np.random.default_rng(seed)
    wide = [x.astype(np.float64) if has_gradient(dtype(x.dtype)) else x for x in arrays]
    results = evaluate(program, wide)[: len(program.outputs) - len(program.checks)]
    of_results: list[Array | None] = [
        np.asarray(rng.standard_normal(r.shape)) if has_gradient(o.dtype) else None
        for r, o in zip(results, program.outputs, strict=False)
    ]
    own = [i for i, x in enumerate(arrays) if has_gradient(dtype(x.dtype))]
    of_types = [o.dtype for o, s in zip(program.outputs, of_results, strict=False) if s is not None]
    derived = _derived(function, of_results, wide, [*of_types, *(dtype(x.dtype) for x in arrays)])

    def value(moved: Sequence[Array]) -> Any:
        found = evaluate(program, moved, np.longdouble)
        terms = [np.ravel(s * r) for s, r in zip(of_results, found, strict=False) if s is not None]
        return np.concatenate(terms or [np.zeros(0)])

    with np.errstate(all="ignore"):
        middle = value(wide)
    found = []
    for i, gradient in zip(own, derived, strict=True):
        for at, direction in _directions(rng, wide[i], gradient):
            with np.errstate(all="ignore"):
                tried = (_moved(value, middle, wide, (i, at), direction, gradient, step) for step in STEPS)
                first, _ = next(tried)
                found.append(first if first.passed else next((c for c, seen in tried if seen and c.passed), first))
    return found


def _moved(
    value: Callable[[Sequence[Array]], Any], middle: Any, arrays: Sequence[Array], at: tuple[int, Any],
    direction: Array, gradient: Array, step: float,
) -> tuple[Compared, bool]:  # fmt: skip
    """The gradient of the array ``at[0]`` along a direction beside differences of this step, and whether they show it.

    They do not where the rounding of the results that move hides what the gradient changes in such a step.
    """
    i = at[0]
    terms = np.where(direction == 0.0, 0.0, gradient * direction)
    size = np.sum(np.abs(terms)) + ROUNDED * abs(np.sum(middle))
    ends, rounded = [], 0.0
    for sign in (-1, 1):
        moved = list(arrays)
        moved[i] = arrays[i].astype(np.longdouble) + sign * step * direction
        there = value(moved)
        ends.append(sign * (there - middle) / step)
        rounded += np.sum(np.where(there == middle, 0.0, np.abs(there) + np.abs(middle))) * PRECISION / step
    sums = [np.sum(x) for x in (terms, *ends, np.minimum(*ends), np.maximum(*ends))]
    return Compared(i, at[1], *map(float, (*sums, size))), bool(rounded <= TOLERANCE * size)


def _derived(
    function: Callable[..., Any], of_results: Sequence[Array | None], arrays: Sequence[Array], types: Sequence[DType]
) -> list[Array]:
    """The gradients that ``function`` has, in f64: as it is for these types, by which a default may be chosen."""
    given = [s for s in of_results if s is not None]
    pulled = backward(function, len(of_results))

    def call(*xs: Any) -> Any:
        rest = iter(xs)
        return pulled(*(None if s is None else next(rest) for s in of_results), *rest)

    kinds = [ArrayArg(t, x.shape) for t, x in zip(types, (*given, *arrays), strict=True)]
    return evaluate(trace_arrays(call, kinds, {}), [*given, *arrays])


def _directions(rng: np.random.Generator, x: Array, gradient: Array) -> Iterator[tuple[tuple[int, ...] | None, Array]]:
    """Where elements are moved to: single ones, then all of them, and zeros to the same side.

    At zero a function such as a leaky ReLU has a kink, and its gradient is the derivative to one side. Were zeros moved
    to both sides at once, it need not lie between the differences.
    """
    order = np.argsort(-np.abs(gradient), axis=None)[:CHOSEN]
    picked = {int(k) for k in (*order, *rng.integers(0, max(x.size, 1), CHOSEN if x.size else 0))}
    for k in sorted(picked):
        at = tuple(int(i) for i in np.unravel_index(k, x.shape))
        single = np.zeros(x.shape)
        single[at] = max(1.0, abs(x[at])) if np.isfinite(x[at]) else 0.0
        yield at, single
    if x.size:
        signs = np.where(x == 0.0, 1.0, rng.choice([-1.0, 1.0], x.shape))
        yield None, signs * np.where(np.isfinite(x), np.maximum(1.0, np.abs(x)), 0.0)
