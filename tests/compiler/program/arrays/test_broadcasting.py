"""Which dims the axes of several values share, and when a value is read along other dims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from array_programs import expect_equal, traced

import warpfold as wf

RNG = np.random.default_rng(3)
SQUARE = RNG.standard_normal((4, 4))
ROW = RNG.standard_normal(4)


def test_axes_of_one_size_share_a_dim() -> None:
    program = expect_equal(lambda x, y: x * y, lambda x, y: x * y, SQUARE[:3], ROW)
    assert program.dims == (((0, 0),), ((0, 1), (1, 0)))


def test_an_axis_of_size_1_has_no_dim() -> None:
    program = expect_equal(lambda x, y: x * y, lambda x, y: x * y, SQUARE, ROW[:1])
    assert program.views[1].axes == (None,)


def test_arrays_that_never_meet_share_no_dim() -> None:
    program = traced(lambda x, y: (x, y), ROW, ROW)
    assert program.dims == (((0, 0),), ((1, 0),))


def test_a_square_array_beside_its_transpose_is_read_in_two_orders() -> None:
    program = expect_equal(lambda x: x - x.T, lambda x: x - x.T, SQUARE)
    assert [v.axes for v in program.views] == [(0, 1), (1, 0)]
    assert program.dims == (((0, 0), (0, 1)), ((0, 0), (0, 1)))


def test_a_fold_beside_the_dim_that_it_took_away_is_of_the_array_in_another_order() -> None:
    program = expect_equal(lambda x: x - wf.sum(x, axis=0)[:, None], lambda x: x - x.sum(0)[:, None], SQUARE)
    (fold,) = program.folds
    assert (fold.space, fold.value.over, len(program.dims)) == (1, 2, 2)


def test_an_array_beside_itself_along_a_new_axis_has_a_dim_more() -> None:
    program = expect_equal(lambda x: x[:, None] * x, lambda x: x[:, None] * x, ROW)
    assert [v.axes for v in program.views] == [(0,), (1,)]


def test_a_product_of_matrices() -> None:
    expect_equal(lambda x: wf.sum(x[:, :, None] * x, axis=1), lambda x: x @ x, SQUARE)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
def test_a_cube_beside_any_order_of_its_axes(order: tuple[int, ...]) -> None:
    cube = RNG.standard_normal((3, 3, 3))

    def function(x: Any) -> Any:
        y = x.__array_namespace__().permute_dims(x, order)
        return x + 2 * y, x.sum(axis=0)[:, None] - y

    expect_equal(function, function, cube)


def test_folds_of_one_array_in_two_orders() -> None:
    def function(x: Any) -> Any:
        return x.sum(axis=0) - x.sum(axis=1), x.sum(axis=0)[:, None] * x.sum(axis=0)

    expect_equal(function, function, SQUARE)


def test_a_value_of_no_elements() -> None:
    expect_equal(lambda x, y: x + y, lambda x, y: x + y, SQUARE[:0], ROW)
    expect_equal(lambda x: wf.sum(x, axis=0), lambda x: x.sum(0), SQUARE[:0])


def test_a_constant_along_two_axes_has_the_size_of_the_array_it_is_like() -> None:
    def function(x: Any) -> Any:
        xp = x.__array_namespace__()
        ones = xp.ones_like(xp.squeeze(x, axis=1))
        return xp.where(x > 0, ones, x), ones[:, None] + xp.arange(x.shape[0])

    program = expect_equal(function, function, SQUARE[:, :1])
    assert set(program.dims) == {((0, 0),)}
