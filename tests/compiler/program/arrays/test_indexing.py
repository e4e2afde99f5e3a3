"""Indexing that adds axes, slices, or takes the entries at an index, and assignment by a mask."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from array_programs import expect_equal, traced

import warpfold as wf
from warpfold.compiler.errors import TraceError
from warpfold.runtime.programs import traces

X = np.random.default_rng(2).standard_normal((3, 1, 4))


@pytest.mark.parametrize(
    "index",
    [None, ..., (), slice(None), (slice(None), None), (..., None), (None, ..., None, slice(None)), (slice(None),) * 3],
)
def test_new_axes(index: Any) -> None:
    expect_equal(lambda x: x[index], lambda x: x[index], X)


@pytest.mark.parametrize(
    "index",
    [0, -1, 2, (0, 0), (..., 3), (slice(None), -1, None, -2), (None, 1), (1, ..., 0), np.int64(1), np.array(2)],
)
@pytest.mark.parametrize("t", [np.float64, np.int8, np.bool_, np.float16])
def test_entries_at_an_index(index: Any, t: Any) -> None:
    expect_equal(lambda x: x[index], lambda x: x[index], (X * 4).astype(t))


def test_entries_of_values_that_were_folded() -> None:
    def function(x: Any) -> Any:
        xp = x.__array_namespace__()
        centred = x - xp.mean(x, axis=-1, keepdims=True)
        return centred[..., 1], xp.reshape(centred, (-1,))[7], centred[0] * centred[-1]

    def wanted(x: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred[..., 1], centred.reshape(-1)[7], centred[0] * centred[-1]

    expect_equal(function, wanted, X)


def test_entries_are_those_of_all_sizes() -> None:
    assert traced(lambda x: x[1, :, -2], X).sizes == ()
    assert traced(lambda x: x.reshape((-1,))[-1], X).sizes == ()
    assert traced(lambda x: x.reshape((-1,))[5], X).sizes == ((0, 0, 3), (0, 2, 4))


SLICES: list[Any] = [
    slice(1, None), slice(None, 2), slice(None, None, 2), slice(None, None, -1), slice(-2, None), slice(2, 0, -1),
    (..., slice(1, 3)), (slice(1, 3), slice(None), slice(None, None, -2)), (0, ..., slice(-3, -1)), slice(2, 99),
    (slice(None), slice(0, 1), 2), slice(1, 2), (None, slice(0, 2)), (..., slice(np.int64(1), None)), slice(5, None),
]  # fmt: skip


@pytest.mark.parametrize("index", SLICES)
@pytest.mark.parametrize("t", [np.float64, np.int8, np.float16])
def test_slices(index: Any, t: Any) -> None:
    expect_equal(lambda x: x[index], lambda x: x[index], (X * 4).astype(t))


def _of_values(x: Any) -> Any:
    xp = x.__array_namespace__()
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    p = e / xp.sum(e, axis=-1, keepdims=True)
    rows = xp.reshape(x, (3, 2, -1))
    numbers = xp.astype(xp.arange(x.shape[-1]), xp.float64)
    return (
        p[..., 1:],
        p[1:, :, ::-1],
        x[1:] - x[:-1],
        rows[..., 0] + rows[..., 1],
        (x * numbers)[..., -3::2],
        rows[:, 1:],
    )


def test_slices_of_values_are_values_of_slices() -> None:
    """A fold along the axis is of all its elements, as is the number of an element."""
    expect_equal(_of_values, _of_values, X)


def test_numbers_in_an_order_of_several_dims_are_sliced() -> None:
    def function(x: Any) -> Any:
        xp = x.__array_namespace__()
        flat = xp.reshape(x, (-1,))
        numbers = xp.reshape(flat * 0 + xp.arange(flat.size), x.shape)
        return numbers[1:, :, ::2], xp.argmax(xp.reshape(numbers[:, :, 1:], (-1,)))

    expect_equal(function, lambda _: (np.arange(12.0).reshape(3, 1, 4)[1:, :, ::2], np.array(8)), X)


def test_slices_are_those_of_all_sizes() -> None:
    program = traced(lambda x: x[..., 1:] - x[..., :-1], X)
    assert program.sizes == ()
    assert [(s.start, s.stop, s.kind) for s in program.slices] == [(1, None, 2), (None, -1, 2)]
    assert traces.serves(program, [(9, 1, 7)])
    assert not traces.serves(program, [(9, 1, 2)])  # a slice of one element is another program


def test_a_half_is_a_slice_of_one_size() -> None:
    assert traced(lambda x: x[..., : x.shape[-1] // 2], X).sizes == ((0, 2, 4),)


def test_an_axis_that_cannot_be_sliced() -> None:
    with pytest.raises(TraceError, match="WF286: axis 0 of x has no slice 1:5: a reshape joined it of several"):
        traced(lambda x: x.reshape((-1,))[1:5], X)

    def scaled(x: Any) -> Any:
        parts = x.reshape(2, -1)
        return (parts / parts.max(axis=1, keepdims=True)).reshape(x.shape)

    with pytest.raises(TraceError, match=r"WF286: .* has no slice ::-1: a reshape joined it of several"):
        traced(lambda x: scaled(x)[::-1], X[0, 0])
    expect_equal(lambda x: scaled(x)[3], lambda x: np.float64(x[3] / x[2:].max()), X[0, 0] + 1)
    with pytest.raises(TraceError, match="WF286: axis 1 of x has no slice 1:: it has size 1, and the slice no element"):
        traced(lambda x: x[:, 1:], X)


def test_an_array_without_entries_is_traced_for_itself() -> None:
    first = wf.program(lambda x: x[:, 0])
    x = X[:, 0].astype(np.float32)
    np.testing.assert_array_equal(first(x), x[:, 0])
    with pytest.raises(TraceError, match="WF284: 0 is no index of axis 1 of x, which has size 0"):
        first(x[:, :0])


@pytest.mark.parametrize("index", [3, -4, (0, 1), (..., 4)])
def test_an_index_that_there_is_not(index: Any) -> None:
    with pytest.raises(TraceError, match=r"WF284: -?\d is no index of axis \d of x, which has size \d\n.*\n.*from -1"):
        traced(lambda x: x[index], X)


@pytest.mark.parametrize(
    ("index", "spelled"),
    [(True, "True"), (slice(1.5, None), "1.5:"), ([0], r"\[0\]"), ((slice(None, None, 0),), "::0"), (1.0, "1.0")],
)
def test_what_selects_several_is_refused(index: Any, spelled: str) -> None:
    with pytest.raises(TraceError, match=f"WF262: a symbolic array is indexed by {spelled}: expected None"):
        traced(lambda x: x[index], X)


def test_what_to_write_for_an_array_of_indices_or_a_mask() -> None:
    with pytest.raises(TraceError, match=r"WF262: a symbolic array is indexed by an array: .*\n.*\n.*take\(x, indices"):
        traced(lambda x, i: x[i], X, np.arange(2))
    with pytest.raises(TraceError, match=r"WF262: .* an array of bools: .*\n.*\n.*write wf.where\(mask, x, 0\)"):
        traced(lambda x: x[x > 0], X)


@pytest.mark.parametrize("index", [(slice(None),) * 4, (..., ...)])
def test_too_many_axes_are_refused(index: Any) -> None:
    with pytest.raises(TraceError, match="WF257"):
        traced(lambda x: x[index], X)


def test_a_mask_assigns_one_value() -> None:
    def function(x: Any) -> Any:
        y = x + 0
        y[y < 0] = 7
        z = y
        z[x > 1] = x.max()
        return y * 2

    expect_equal(function, function, X)


def test_assignment_keeps_the_type() -> None:
    def function(x: Any) -> Any:
        y = -x
        y[y > 1] = 0.5
        return y

    expect_equal(function, lambda x: np.where(-x > 1, 0, -x), np.arange(-3, 3))


@pytest.mark.parametrize(
    ("assign", "found"),
    [
        (lambda x: x.__setitem__(x > 0, 1), "are assigned to a view or an argument of the function"),
        (lambda x: (-x)[None].__setitem__(x[None] > 0, 1), "are assigned to a view or an argument of the function"),
        (lambda x: (-x).__setitem__(0, 1), "are assigned by index 0"),
        (lambda x: (-x).__setitem__(x > 0, x), "get a value each"),
        (lambda x: x.sum(axis=0, keepdims=True).__setitem__(x > 0, 1), "are assigned by an index of another shape"),
    ],
)
def test_other_assignments_are_refused(assign: Any, found: str) -> None:
    with pytest.raises(TraceError, match=rf"WF259: entries {found}: expected x\[mask\] = value"):
        traced(lambda x: assign(x) or x, X)


def test_an_array_whose_view_was_taken_is_not_assigned() -> None:
    def function(x: Any) -> Any:
        y = -x
        view = y.T
        y[y > 0] = 0
        return view

    with pytest.raises(TraceError, match=r"WF259: .* a view"):
        traced(function, X)


def test_entries_are_not_deleted() -> None:
    def function(x: Any) -> Any:
        del x[0]

    with pytest.raises(TraceError, match=r"WF258: .*: its entries are not deleted"):
        traced(function, X)
