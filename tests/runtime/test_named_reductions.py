"""The logarithm of a sum of exponentials with factors, as SciPy has it; test_api.py has the other reductions."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import warpfold as wf

INF, NAN = np.inf, np.nan
RNG = np.random.default_rng(8)
X = RNG.standard_normal((3, 7)) * 50
B = RNG.standard_normal((3, 7))


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_factors_of_exponentials(axis: Any, kind: str) -> None:
    special = pytest.importorskip("scipy.special", reason="SciPy is not installed")
    x, b = X.astype(kind), (B + 1).astype(kind)
    b[:, 2] = 0
    expected = special.logsumexp(x.astype(np.float64), axis=axis, b=b.astype(np.float64))
    found = np.asarray(wf.logsumexp(x, axis, b=b, keepdims=True))
    assert found.dtype == kind
    tolerance = 1e-12 if kind == "f8" else 1e-5
    np.testing.assert_allclose(np.squeeze(found), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("row", "factors", "expected"),
    [
        ([INF, 1], [1, 1], INF), ([INF, INF], [1, -1], NAN), ([INF, 1], [-1, 1], NAN), ([-INF, -INF], [1, -1], -INF),
        ([1, 2], [0, 0], -INF), ([INF, NAN, 1], [0, 0, 1], 1), ([NAN, 1], [1, 1], NAN), ([0, 1], [-1, 0], NAN),
    ],
)  # fmt: skip
def test_infinities_and_factors(row: list[float], factors: list[float], expected: float) -> None:
    np.testing.assert_equal(float(wf.logsumexp(np.array(row), b=np.array(factors, float))), expected)


def test_without_factors_it_is_the_plain_reduction() -> None:
    assert np.array_equal(wf.logsumexp(X, 1), wf.reduce(X, "logsumexp", axis=1))
    assert "b" in inspect.signature(wf.logsumexp).parameters
    with pytest.raises(wf.WarpfoldError, match="WF176"):
        wf.logsumexp(X, 1, 2, b=B)


def test_factors_in_a_program() -> None:
    program = wf.program(lambda x, b: x - wf.logsumexp(x, -1, b=b, keepdims=True))
    found = program(X, np.abs(B))
    np.testing.assert_allclose(np.sum(np.abs(B) * np.exp(found), axis=1), 1.0, rtol=1e-12)
