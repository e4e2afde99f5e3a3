"""Elements chosen by their positions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from array_programs import expect_equal, traced

from warpfold.compiler.dtypes import BF16, I32
from warpfold.compiler.errors import TraceError

RNG = np.random.default_rng(6)
X = RNG.standard_normal((3, 4, 5))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_one_element_of_each_row(axis: int) -> None:
    shape = list(X.shape)
    n, shape[axis] = shape[axis], 1
    places = RNG.integers(-n, n, shape)

    def function(x: Any, i: Any) -> Any:
        return x.__array_namespace__().take_along_axis(x, i, axis=axis)

    expect_equal(function, function, X, places)


def test_the_type_stays() -> None:
    def function(x: Any, i: Any) -> Any:
        return x.__array_namespace__().take_along_axis(x, i)

    assert traced(function, X[0].astype(BF16.numpy), np.zeros((4, 1), np.int64)).outputs[0].dtype == BF16
    assert traced(function, np.zeros((4, 5), np.int32), np.zeros((4, 1), np.int64)).outputs[0].dtype == I32


def test_a_position_that_does_not_exist_gives_0() -> None:
    def function(x: Any, i: Any) -> Any:
        return x.__array_namespace__().take_along_axis(x, i)

    expect_equal(function, lambda x, _: 0 * x[:, :1], X[0], np.full((4, 1), 5))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("count", [2, 9])
def test_several_elements_of_each_row(axis: int, count: int) -> None:
    shape = list(X.shape)
    n, shape[axis] = shape[axis], count

    def function(x: Any, i: Any) -> Any:
        return x.__array_namespace__().take_along_axis(x, i, axis=axis)

    expect_equal(function, lambda x, i: np.take_along_axis(x, i, axis), X, RNG.integers(-n, n, shape))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_the_same_elements_of_all_rows(axis: int) -> None:
    def function(x: Any, i: Any) -> Any:
        return x.__array_namespace__().take(x, i, axis=axis)

    expect_equal(function, lambda x, i: np.take(x, i, axis), X, RNG.integers(0, X.shape[axis], 7))


def test_indices_are_integers_of_the_right_rank() -> None:
    for name, indices in (("take_along_axis", np.zeros(5, np.int64)), ("take", np.zeros((2, 5), np.int64))):
        with pytest.raises(
            TraceError, match=r"WF244: indices have rank \d and type i64: expected integers with \d axes"
        ):
            traced(lambda x, i, name=name: getattr(x.__array_namespace__(), name)(x, i), X, indices)
    with pytest.raises(TraceError, match="WF244: indices have rank 1 and type f64"):
        traced(lambda x, i: x.__array_namespace__().take(x, i), X, np.zeros(5))


@pytest.mark.parametrize("name", ["tril", "triu"])
@pytest.mark.parametrize("k", [-2, 0, 1])
def test_triangles(name: str, k: int) -> None:
    def function(x: Any) -> Any:
        return getattr(x.__array_namespace__(), name)(x, k=k)

    expect_equal(function, function, X)
    expect_equal(function, function, X[..., :4])
    with pytest.raises(TraceError, match="WF257: tril or triu of an array with 1 axes"):
        traced(function, X[0, 0])
