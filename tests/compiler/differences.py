"""Gradients in f64: as they are derived, and as differences of the function show them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from array_programs import traced

from warpfold.commands.checking.array_values import evaluate
from warpfold.compiler.program.gradients.vjp import backward

Array = Any


def derived(
    function: Callable[..., Any], seeds: Sequence[Array], arrays: Sequence[Array], wrt: Sequence[str] | None = None
) -> list[Array]:
    """The gradients of the arrays of floats, from the gradients of the results."""
    return evaluate(traced(backward(function, len(seeds), wrt), *seeds, *arrays), [*seeds, *arrays])


def results(function: Callable[..., Any], arrays: Sequence[Array]) -> list[Array]:
    """The results of a function of arrays."""
    return evaluate(traced(function, *arrays), list(arrays))


def differences(
    results_of: Callable[..., Sequence[Array]], seeds: Sequence[Array], arrays: Sequence[Array], step: float = 1e-6
) -> list[Array]:
    """The same by central differences in each element of each array."""
    found = []
    for i, x in enumerate(arrays):
        gradient = np.zeros(x.shape)
        for at in np.ndindex(x.shape):
            ends = []
            for moved in (x[at] + step, x[at] - step):
                changed = [a.copy() for a in arrays]
                changed[i][at] = moved
                ends.append(sum(np.sum(s * r) for s, r in zip(seeds, results_of(*changed), strict=True)))
            gradient[at] = (ends[0] - ends[1]) / (2 * step)
        found.append(gradient)
    return found


def assert_agrees(function: Callable[..., Any], *arrays: Array, tolerance: float = 1e-6) -> None:
    """The derived gradients of a function of arrays are its differences."""
    rng = np.random.default_rng(len(arrays))
    seeds = [rng.standard_normal(np.shape(r)) for r in results(function, arrays)]
    expected = differences(lambda *xs: results(function, xs), seeds, arrays)
    for found, e in zip(derived(function, seeds, arrays), expected, strict=True):
        np.testing.assert_allclose(found, e, rtol=tolerance, atol=tolerance)
