"""Elementwise functions of real arrays: one kernel each, with NumPy's values, types and broadcasting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.errors import TraceError
from warpfold.runtime.programs.elementwise import OF_ARRAYS

X = np.linspace(0.1, 0.9, 12, dtype=np.float32).reshape(3, 4)
NUMPYS = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "round": "rint",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(OF_ARRAYS))
def test_each_function_takes_arrays(name: str) -> None:
    special: dict[str, Any] = {
        "where": lambda: (wf.where(X > 0.5, X, 0.0), np.where(X > 0.5, X, np.float32(0))),
        "clip": lambda: (wf.clip(X, 0.2, 0.7), X.clip(0.2, 0.7)),
        "cast": lambda: (wf.cast(X, "f64"), X.astype(np.float64)),
        "bitcast": lambda: (wf.bitcast(X, "i32"), X.view(np.int32)),
        "fma": lambda: (wf.fma(X, X, X), X * X + X),
        "rsqrt": lambda: (wf.rsqrt(X), 1 / np.sqrt(X)),
        "erf": lambda: (wf.erf(X), wf.erf(X)),
        "sigmoid": lambda: (wf.sigmoid(X), 1 / (1 + np.exp(-X))),
    }
    if name in special:
        found, expected = special[name]()
    elif name in ("atan2", "divide", "maximum", "minimum"):
        found, expected = getattr(wf, name)(X, X[0]), getattr(np, NUMPYS.get(name, name))(X, X[0])
    else:
        found, expected = getattr(wf, name)(X), getattr(np, NUMPYS.get(name, name))(X)
    assert isinstance(found, np.ndarray)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_arrays_broadcast_and_lists_are_arrays() -> None:
    np.testing.assert_array_equal(wf.maximum(X, X[:, :1]), np.maximum(X, X[:, :1]))
    np.testing.assert_array_equal(wf.where([True, False], [1.0, 2.0], 0.0), [1.0, 0.0])
    assert wf.square(np.array(3.0)).shape == ()


def test_results_go_into_given_arrays() -> None:
    y = X.copy()
    assert wf.exp(y, out=y) is y
    np.testing.assert_allclose(y, np.exp(X), rtol=1e-6)


def test_traced_values_stay_what_they_were() -> None:
    @wf.monoid(identity=0.0, lift=lambda x: wf.exp(x))
    def total(a: Any, b: Any) -> Any:
        return a + b

    np.testing.assert_allclose(wf.reduce(X, total), np.exp(X).sum(), rtol=1e-6)
    assert wf.exp(1.0).dtype.name == "f64"


def test_shapes_that_do_not_broadcast_are_refused() -> None:
    with pytest.raises(TraceError, match=r"WF254: shapes \(3, 4\) and \(3,\) do not broadcast"):
        wf.maximum(X, X[:, 0])


def test_a_row_may_be_longer_than_a_grid_is_along_y(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpfold.compiler.plan.launch.MOST_ALONG_Y", 3)
    for n in (3 * 2048, 9 * 2048, 7 * 2048 + 5):
        x = np.arange(n, dtype=np.float32)
        np.testing.assert_array_equal(wf.square(x), x * x)
