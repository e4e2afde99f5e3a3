"""Reshapes of symbolic arrays: parts of dims, what they meet, which sizes become constants, and impossible shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from array_programs import expect_equal, traced
from hypothesis import assume, given
from hypothesis import strategies as st

import warpfold as wf
from warpfold.compiler.errors import TraceError
from warpfold.compiler.program.array_layouts import Split

RNG = np.random.default_rng(12)
X = RNG.standard_normal((4, 6, 5)).astype(np.float32)
Y, W = X[:, :, 0], X[0, :, 0]
SQUARE = RNG.standard_normal((6, 6)).astype(np.float32)


def group_norm(x: Any, groups: int = 2) -> Any:
    y = x.reshape(x.shape[0], groups, -1, x.shape[2])
    return (y - y.mean(axis=(2, 3), keepdims=True)).reshape(x.shape)


def numpys_group_norm(x: Any, groups: int = 2) -> Any:
    y = x.reshape(x.shape[0], groups, -1, x.shape[2])
    return (y - y.mean(axis=(2, 3), keepdims=True)).reshape(x.shape)


# --- what is computed ---
def test_an_axis_is_split_and_joined_again() -> None:
    program = expect_equal(group_norm, numpys_group_norm, X)
    assert program.splits == (Split(0, 1, (2, 0)),)
    assert program.sizes == ()
    assert program.outputs[0].axes == (0, 1, 2, 3)
    assert program.outputs[0].joined == (1, 2, 1)


def test_a_part_is_folded() -> None:
    expect_equal(lambda x: wf.max(x.reshape(4, 6, -1), axis=0), lambda x: x.reshape(4, 6, -1).max(0), X)
    expect_equal(lambda x: wf.sum(x.reshape(4, 3, 2), axis=1), lambda x: x.reshape(4, 3, 2).sum(1), Y)
    expect_equal(lambda x: wf.sum(x.reshape(-1), axis=0), lambda x: x.reshape(-1).sum(), X)


def test_a_fold_keeps_the_order_of_parts() -> None:
    @wf.monoid(commutative=False, has_identity=False)
    def last(_: Any, b: Any) -> Any:
        return b

    program = expect_equal(
        lambda x: (wf.fold(last, x.T.reshape(-1)), wf.fold(last, x.reshape(-1, 3), axis=0)),
        lambda x: (x.T.reshape(-1)[-1], x.reshape(-1, 3)[-1]),
        Y,
    )
    assert [f.value.order for f in program.folds] == [(1, 2, 0), (0, 1)]  # type: ignore[attr-defined]


def test_positions_count_through_parts() -> None:
    def numbered(x: Any) -> Any:
        flat = x.reshape(-1)
        return flat.__array_namespace__().arange(flat.shape[0]) + 0 * x.reshape(-1).astype("i64")

    expect_equal(numbered, lambda x: np.arange(x.size), Y.astype(np.int64))
    expect_equal(lambda x: wf.argmax(x.reshape(4, -1), axis=1), lambda x: x.reshape(4, -1).argmax(1), X)


# --- what it meets ---
def test_another_array_is_split_alike() -> None:
    program = expect_equal(
        lambda x, w: x.reshape(4, 3, 2) * w.reshape(3, 2), lambda x, w: (x * w).reshape(4, 3, 2), Y, W
    )
    assert {s[:2] for s in program.splits} == {(0, 1), (1, 0)}
    program = expect_equal(lambda x, w: (x.reshape(4, 3, -1) + 1).reshape(4, 6) * w, lambda x, w: (x + 1) * w, Y, W)
    assert program.splits == (Split(0, 1, (3, 0)), Split(1, 0, (3, 0)))


def test_joined_axes_meet_one_axis_which_becomes_parts_of_constant_sizes() -> None:
    flat = RNG.standard_normal(24).astype(np.float32)
    program = expect_equal(lambda x, v: x.reshape(-1) + v, lambda x, v: x.reshape(-1) + v, Y, flat)
    assert program.splits == (Split(1, 0, (0, 6)),)
    assert program.sizes == ((0, 1, 6),)


def test_an_array_that_is_read_in_two_orders_is_split_in_one_way() -> None:
    program = expect_equal(lambda x: x + x.T.reshape(3, 2, 6).reshape(6, 6), lambda x: x + x.T, SQUARE)
    assert {s.axis for s in program.splits} == {0, 1}


def test_a_part_stands_beside_the_whole() -> None:
    def beside(x: Any, y: Any) -> Any:
        return y[:, :, None] + wf.sum(x.reshape(4, 3, 2), axis=2)[:, None, :]

    expect_equal(beside, lambda x, y: y[:, :, None] + x.reshape(4, 3, 2).sum(2)[:, None, :], Y, Y)


# --- constants of the program ---
def test_numbers_are_constants_and_sizes_are_not() -> None:
    assert traced(lambda x: x.reshape(x.shape[0], -1) + 1, X).sizes == ()
    assert traced(lambda x: x.reshape(4, -1) + 1, X).sizes == ((0, 0, 4),)
    assert traced(lambda x: x.reshape(*x.shape[:2], 5, 1) + 1, X).sizes == ((0, 2, 5),)


def test_a_number_that_is_the_whole_axis_is_a_constant() -> None:
    program = traced(lambda x: x.reshape(x.shape[0], 6, -1) + 1, Y)
    assert program.splits == ()
    assert program.sizes == ((0, 1, 6),)
    assert traced(lambda x: x.reshape(x.shape[0], 1, -1) + 1, Y).sizes == ()


def test_the_size_of_another_axis_is_a_number() -> None:
    program = traced(lambda x: x.reshape(x.shape[1], -1) + 1, SQUARE)
    assert program.sizes == ((0, 0, 6), (0, 1, 6)) or program.sizes == ((0, 0, 6),)


# --- any shape ---
@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=5), cuts=st.lists(st.booleans(), min_size=10, max_size=10)
)
def test_any_shapes_that_one_product_makes(sizes: list[int], cuts: list[bool]) -> None:
    def shape(own: list[bool]) -> tuple[int, ...]:
        found = [sizes[0]]
        for n, cut in zip(sizes[1:], own, strict=False):
            found[-1:] = [found[-1], n] if cut else [found[-1] * n]
        return tuple(found)

    first, second = shape(cuts[:5]), shape(cuts[5:])
    assume(len(first) <= 4)
    x = RNG.standard_normal(first).astype(np.float32)
    expect_equal(lambda x: x.reshape(second) * 2 + 1, lambda x: x.reshape(second) * 2 + 1, x)


def test_a_rest_beside_axes_of_no_elements() -> None:
    def split(x: Any) -> Any:
        return x.reshape(x.shape[0], 2, -1, x.shape[2], 1) + 1

    expect_equal(split, lambda x: x.reshape(0, 2, 3, 5, 1) + 1, np.zeros((0, 6, 5), np.float32))
    expect_equal(split, lambda x: x.reshape(4, 2, 3, 0, 1) + 1, np.zeros((4, 6, 0), np.float32))


@pytest.mark.parametrize(
    ("old", "new"), [((0, 6), (0, 2, 3)), ((0,), (0, 4)), ((4, 0), (2, 2, 0)), ((3, 0), (3, 0, 5))]
)
def test_no_elements(old: Any, new: Any) -> None:
    expect_equal(lambda x: x.reshape(new) + 1, lambda x: x.reshape(new) + 1, np.zeros(old, np.float32))


def test_no_elements_meet_an_axis() -> None:
    x, v = np.zeros((0, 4), np.float32), np.zeros(0, np.float32)
    expect_equal(lambda x, v: x.reshape(-1) + v, lambda x, v: x.reshape(-1) + v, x, v)


# --- mistakes ---
@pytest.mark.parametrize("shape", [(4, 7, 5), (5, 24), (-1, -1, 5), (-2, 60), (7, -1, 15)])
def test_a_shape_that_cannot_be(shape: Any) -> None:
    with pytest.raises(TraceError, match=r"WF273: x of shape \(4, 6, 5\) cannot be read in shape") as e:
        traced(lambda x: x.reshape(shape), X)
    assert __file__ in str(e.value)


def test_parts_that_do_not_divide() -> None:
    x = RNG.standard_normal((2, 12)).astype(np.float32)
    with pytest.raises(TraceError, match="WF274: an axis of size 12 is used as 3 x 4 and as 2 x 6"):
        traced(lambda x, y: (x.reshape(2, 3, 4) + 1).reshape(2, 12) + (y.reshape(2, 2, 6) + 1).reshape(2, 12), x, x)
