"""Reductions in parts give what reductions of whole arrays give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from covering import some
from hypothesis import given, settings
from hypothesis import strategies as st

import warpfold as wf

HOW = {"device": "emulator"}


@wf.monoid(identity=(1.0, 0.0), commutative=False)
def affine(f: Any, g: Any) -> Any:
    """The map ``x -> a x + b`` of ``f``, then of ``g``."""
    return f[0] * g[0], f[1] * g[0] + g[1]


@wf.monoid(has_identity=False, commutative=False)
def first(a: Any, _b: Any) -> Any:
    return a


def parts(x: np.ndarray[Any, Any], cuts: list[int], axis: int) -> list[np.ndarray[Any, Any]]:
    return np.split(x, sorted(cuts), axis=axis)


WHOLE = ("sum", "mean", "var", "argmax", "argmin", "logsumexp", "minmax", "norm", "count_nonzero", "describe")


@pytest.mark.parametrize("what", some(WHOLE, 4))
def test_parts_of_rows_and_columns(what: str) -> None:
    x = np.random.default_rng(5).standard_normal((7, 41)).astype(np.float32)
    for axis, cuts in ((1, [3, 4, 30]), (0, [2])):
        states, start = [], 0
        for part in parts(x, cuts, axis):
            states.append(wf.partial(part, what, axis=axis, start=start, **HOW))
            start += part.shape[axis]
        got, wanted = wf.finish(wf.merge(*states)), wf.reduce(x, what, axis=axis, **HOW)
        for a, b in zip(np.atleast_2d(got), np.atleast_2d(wanted), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        assert type(got).__name__ == type(wanted).__name__


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_integers_are_the_same_wherever_they_are_cut(data: st.DataObject) -> None:
    n = data.draw(st.integers(3, 40))
    x = np.random.default_rng(n).integers(-5, 5, (n, 3)).astype(np.int32)
    cuts = data.draw(st.lists(st.integers(1, n - 1), max_size=3, unique=True))
    what = data.draw(st.sampled_from([(wf.SUM, wf.ARGMAX), "max", first, "any"]))
    state: wf.State | None = None
    for part in parts(x, cuts, 0):
        state = wf.partial(part, what, axis=0, **HOW) if state is None else wf.update(state, part)
    assert state is not None
    assert state.count == state.stop == n
    np.testing.assert_array_equal(wf.finish(state), wf.reduce(x, what, axis=0, **HOW))


def test_states_that_do_not_commute_keep_their_order() -> None:
    a, b = np.random.default_rng(1).uniform(0.5, 1.5, (2, 5, 64))
    states = [wf.partial(a[:, i:j], b[:, i:j], affine, axis=1, **HOW) for i, j in ((0, 9), (9, 10), (10, 64))]
    got, wanted = wf.finish(wf.merge(*states)), wf.reduce(a, b, what=affine, axis=1, **HOW)
    np.testing.assert_allclose(got, wanted, rtol=1e-12)
    swapped = wf.finish(wf.merge(states[2], states[1], states[0]))
    assert not np.allclose(swapped[1], wanted[1])


def ramp(x: Any) -> Any:
    """Of one fold the positions are computed with, of the other they are chosen among."""
    return ramp2(x), wf.fold(wf.ARGMAX, x, wf.index())


def test_positions_are_those_in_the_whole_array() -> None:
    x = np.random.default_rng(6).standard_normal((3, 30))
    state = wf.update(wf.partial(x[:, :11], ramp, axis=1, **HOW), x[:, 11:])
    (total, (greatest, place)) = wf.finish(state)
    np.testing.assert_allclose(total, (x * np.arange(30)).sum(1), rtol=1e-12)
    np.testing.assert_array_equal(place, x.argmax(1))
    np.testing.assert_array_equal(greatest, x.max(1))
    nothing = wf.partial(x[:, :0], ramp2, axis=1, **HOW)
    np.testing.assert_allclose(wf.finish(wf.update(nothing, x)), total, rtol=1e-12)


def ramp2(x: Any) -> Any:
    return wf.fold(wf.SUM, x * wf.cast(wf.index(), "f64"))


def test_masks_and_nan_are_left_out() -> None:
    x = np.random.default_rng(2).standard_normal((4, 50))
    mask = x > 0
    state = wf.partial(x[:, :20], "mean", axis=1, where=mask[:, :20], **HOW)
    state = wf.update(state, x[:, 20:], where=mask[:, 20:])
    np.testing.assert_allclose(wf.finish(state), wf.mean(x, axis=1, where=mask, **HOW), rtol=1e-12)
    x[:, ::7] = np.nan
    state = wf.update(wf.partial(x[:, :20], "mean", axis=1, nan="ignore", **HOW), x[:, 20:])
    np.testing.assert_allclose(wf.finish(state), np.nanmean(x, axis=1), rtol=1e-12)


def test_parameters_and_kept_axes() -> None:
    x = np.random.default_rng(3).standard_normal((6, 5, 4))
    state = wf.update(wf.partial(x[:2], "var", axis=(0, 2), correction=1, **HOW), x[2:])
    np.testing.assert_allclose(wf.finish(state, keepdims=True), x.var((0, 2), ddof=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(wf.finish(state, "var"), x.var((0, 2), ddof=1), rtol=1e-12)


def test_complex_numbers_and_scalars() -> None:
    x = np.arange(12) * (1 + 2j)
    assert wf.finish(wf.merge(wf.partial(x[:5], "sum", **HOW), wf.partial(x[5:], "sum", **HOW))) == x.sum()


def test_a_stream_is_read_once_and_in_order() -> None:
    x = np.random.default_rng(4).standard_normal((100, 3)).astype(np.float32)
    read: list[int] = []

    def chunks() -> Any:
        for i in range(0, 100, 30):
            read.append(i)
            yield x[i : i + 30]

    np.testing.assert_array_equal(wf.reduce_stream(chunks(), "argmax", axis=0, **HOW), x.argmax(0))
    assert read == [0, 30, 60, 90]
    pairs = ((x[i : i + 50], x[i : i + 50]) for i in (0, 50))
    np.testing.assert_allclose(wf.reduce_stream(pairs, "dot", axis=0, **HOW), (x * x).sum(0), rtol=1e-5)


@pytest.mark.parametrize("what", ["max", "argmax", "sum", first])
def test_empty_parts_change_nothing(what: Any) -> None:
    x = np.random.default_rng(8).integers(-9, 9, (5, 3)).astype(np.float32)
    wanted = wf.reduce(x, what, axis=0, **HOW)
    for cuts in ([0, 0, 2, 2, 5], [0, 3], [5, 5]):
        np.testing.assert_array_equal(wf.reduce_stream(parts(x, cuts, 0), what, axis=0, **HOW), wanted)
    state = wf.partial(x, what, axis=0, **HOW)
    np.testing.assert_array_equal(wf.finish(wf.update(state, x[:0])), wanted)
    for wrong in (x[:0, :2], x[:0].astype(np.float64)):
        with pytest.raises(wf.WarpfoldError, match="WF159"):
            wf.update(state, wrong)
        with pytest.raises(wf.WarpfoldError, match="WF159"):
            wf.reduce_stream([wrong, x], what, axis=0, **HOW)


X = np.ones((4, 6), np.float32)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: wf.partial(X, "sum", start=-1), "WF157: start is -1: expected how many elements come before these"),
        (lambda: wf.merge(3), "WF158: expected states of reductions, which wf.partial makes; found int"),
        (lambda: wf.merge([wf.partial(X, "sum", **HOW)]), "help: pass them one by one: wf.merge(*states)"),
        (lambda: wf.merge(), "WF158: expected states of reductions, which wf.partial makes; found nothing"),
        (
            lambda: wf.merge(wf.partial(X, "sum", **HOW), wf.partial(X, "max", **HOW)),
            "WF159: state 1 is of a reduction max: expected sum, as the first one",
        ),
        (
            lambda: wf.merge(wf.partial(X, "var", **HOW), wf.partial(X, "var", correction=1, **HOW)),
            "WF159: state 1 is of a reduction var with other parameters, types or functions: expected var, as the",
        ),
        (
            lambda: wf.merge(wf.partial(X, "sum", axis=0, **HOW), wf.partial(X, "sum", axis=1, **HOW)),
            "WF159: state 1 is of axes (1,): expected (0,), as the first one",
        ),
        (
            lambda: wf.merge(wf.partial(X, "sum", axis=0, **HOW), wf.partial(X[:, :2], "sum", axis=0, **HOW)),
            "WF159: state 1 is of results of shape (2,): expected (6,), as the first one",
        ),
        (
            lambda: wf.update(wf.partial(X, "sum", **HOW), X.astype(np.float64)),
            "WF159: state 1 is of arrays of f64: expected f32, as the first one",
        ),
        (
            lambda: wf.finish(wf.partial(X, "sum", **HOW), "max"),
            "WF159: state 0 is of a reduction sum: expected max, as the first one",
        ),
        (
            lambda: wf.merge(*[wf.partial(X, "argmax", **HOW)] * 2),
            "WF161: state 1 begins at element 0: expected 24, where the one before it ends, since argmax looks at",
        ),
        (
            lambda: wf.reduce_stream([], "sum"),
            "WF162: no array came to be reduced: expected a sequence of one at least",
        ),
        (lambda: wf.reduce_stream(3, "sum"), "WF162: no array came to be reduced, since chunks is a int: expected"),
        (lambda: wf.partial(X[:0], "max", axis=0, **HOW), "WF104: max of no elements has no value"),
        (lambda: wf.reduce_stream([X[:0]] * 2, "max", axis=0, **HOW), "WF104: max of no elements has no value"),
        (
            lambda: wf.merge(wf.partial(X, "argmax", **HOW), wf.partial(X[:, :2], "argmax", start=24, **HOW)),
            "WF159: state 1 is of parts with other reduced axes of extents (2,): expected (6,), as the first one",
        ),
        (
            lambda: wf.update(wf.partial(X[None], "argmax", **HOW), X.T[None]),
            "WF159: state 1 is of parts with other reduced axes of extents (6, 4): expected (4, 6), as the first one",
        ),
        (lambda: wf.partial(X, "argmax", start=2**63 - 24, **HOW), "less than 2^63 elements in all"),
        (lambda: wf.partial(X, "sum", start=2**64, **HOW), "WF157: start is 18446744073709551616: expected how many"),
        (lambda: wf.update(wf.partial(X, "argmax", start=2**63 - 25, **HOW), X), "WF157: start is 9223372036854775807"),
        (lambda: wf.partial(X), "WF130: "),
    ],
)
def test_mistakes(call: Any, text: str) -> None:
    with pytest.raises(wf.WarpfoldError) as e:
        call()
    assert text in str(e.value)


def test_messages_name_the_reduction_whose_state_is_made() -> None:
    x = np.array([1.0, np.nan], np.float32)
    for text, how in (("WF135: the input of max holds", {"nan": "raise"}), ("WF427: max ", {"plan": "held=2"})):
        with pytest.raises(wf.WarpfoldError, match=text):
            wf.partial(x, "max", **HOW, **how)  # type: ignore[arg-type]
