"""Programs that gather have NumPy's results: every shape, axis, type, layout and place of a row, and any index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from covering import covering
from hypothesis import given, settings
from hypothesis import strategies as st

import warpfold as wf
from warpfold.compiler.errors import WarpfoldError
from warpfold.compiler.planner.resident import once

TYPES = ("f32", "f64", "int8", "uint8", "int64", "bool", "float16")
INDICES = ("int8", "int32", "int64", "uint8", "uint64")
RNG = np.random.default_rng(2)


@wf.program
def taken(x: Any, i: Any, *, axis: int = -1) -> Any:
    return x.__array_namespace__().take_along_axis(x, i, axis=axis)


@wf.program
def best(x: Any) -> Any:
    """The sum of the greatest elements of all rows, each read at its number."""
    return wf.sum(x.__array_namespace__().take_along_axis(x, wf.argmax(x, axis=-1, keepdims=True)))


@wf.program
def total(x: Any, t: Any) -> Any:
    """The sum of one element of each row."""
    return wf.sum(x.__array_namespace__().take_along_axis(x, t[:, None]))


@wf.program
def share(x: Any, t: Any) -> Any:
    """The softmax of one element of each row."""
    numbers = x.__array_namespace__().arange(x.shape[-1])
    return wf.sum(wf.where(numbers == t[:, None], wf.softmax(x), 0), axis=-1)


def _expected(x: Any, i: Any, axis: int) -> Any:
    n = x.shape[axis]
    i = i.astype(object)
    i = np.where(i < 0, i + n, i)
    exists = (i >= 0) & (i < n)
    return np.where(exists, np.take_along_axis(x, np.where(exists, i, 0).astype(np.int64), axis), np.zeros((), x.dtype))


def _array(t: str, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    return (rng.standard_normal(shape) * 40).astype(wf.dtype(t).numpy)


@st.composite
def _cases(draw: Any) -> tuple[Any, Any, int]:
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    shape = draw(st.lists(st.integers(2, 9), min_size=1, max_size=4).map(tuple))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    x = _array(draw(st.sampled_from(TYPES)), shape, rng)
    x = x.transpose(draw(st.permutations(range(len(shape)))))
    x = x[tuple(slice(None, None, draw(st.sampled_from([1, 1, -1]))) for _ in shape)]
    own = list(x.shape)
    own[axis] = draw(st.integers(1, 6))
    own = [1 if i != axis % len(shape) and draw(st.integers(0, 4)) == 0 else n for i, n in enumerate(own)]
    t = wf.dtype(draw(st.sampled_from(INDICES))).numpy
    i = rng.integers(0 if t.kind == "u" else -x.shape[axis] - 2, x.shape[axis] + 3, own).astype(t)
    return x, i, axis


@settings(max_examples=24, deadline=None)
@given(_cases())
def test_elements_along_any_axis(case: tuple[Any, Any, int]) -> None:
    x, i, axis = case
    found, expected = taken(x, i, axis=axis), _expected(x, i, axis)
    assert (found.dtype, found.shape) == (x.dtype, expected.shape)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("where", ["", "resident=none", "resident=memory", "resident=shared", "vector=1,lanes=4"])
@pytest.mark.parametrize("shape", [(2, 7), (37, 64), (300, 33)])
def test_the_sum_of_what_is_gathered(where: str, shape: tuple[int, int]) -> None:
    x = RNG.integers(-99, 99, shape).astype(np.float64)
    x[0, 3:5] = 100
    t = RNG.integers(-shape[1], shape[1], shape[0])
    assert total(x, t, plan=where) == x[range(shape[0]), t].sum()


@pytest.mark.parametrize("where", ["", "resident=none"])
@pytest.mark.parametrize("shape", [(1, 7), (37, 64), (300, 33)])
def test_the_sum_of_what_is_gathered_at_folded_indices(where: str, shape: tuple[int, int]) -> None:
    x = RNG.integers(-99, 99, shape).astype(np.float64)
    x[0, 3:5] = 100
    assert best(x, plan=where) == x.max(axis=1).sum()


@pytest.mark.parametrize(
    ("function", "shape", "reduction", "kernels"),
    [
        (wf.cross_entropy, (64, 1000), "none", 1), (wf.cross_entropy, (64, 1000), "mean", 2),
        (wf.cross_entropy, (64, 131072), "none", 1), (wf.cross_entropy, (64, 131072), "mean", 2),
        (wf.cross_entropy, (64, 131071), "none", 2), (wf.cross_entropy, (64, 131071), "mean", 3),
        (wf.nll_loss, (64, 1000), "none", 1), (wf.nll_loss, (64, 1000), "mean", 1), (wf.nll_loss, (9999, 4), "mean", 2),
    ],
)  # fmt: skip
def test_how_many_kernels_a_loss_takes(function: Any, shape: tuple[int, int], reduction: Any, kernels: int) -> None:
    text = function.explain((shape, "float32"), (shape[:1], "int64"), reduction=reduction)
    assert text.count("  plan ") == kernels


@covering(("where", ["", "cluster=1", "cluster=2,warps=4,unroll=2", "resident=none"]), ("t", ["f32", "bf16"]))
def test_losses_of_rows_that_are_folded_once(where: str, t: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows so long that a cluster would keep them; a target beside the row, and one that is ignored."""
    monkeypatch.setattr(once, "LEAST_CTAS", 0)
    x = np.asarray(RNG.standard_normal((5, 40968 if t == "bf16" else 20484)), wf.dtype(t).numpy)
    text = wf.cross_entropy.explain(x, RNG.integers(0, 9, 5), reduction="none", plan=where)
    assert text.count("  plan ") == (2 if where == "resident=none" else 1)
    target = np.array([0, x.shape[1] - 1, 17, x.shape[1], -2])
    wide = x.astype(np.float64)
    rows = np.log(np.exp(wide).sum(axis=1)) - wide[range(5), np.where(target < x.shape[1], target, 0)]
    rows[3:] = np.nan, 0
    found = wf.cross_entropy(x, target, reduction="none", ignore_index=-2, plan=where)
    np.testing.assert_allclose(found, rows, rtol=2e-6, atol=2e-6)
    mean = wf.cross_entropy(x[:3], target[:3], plan=where)
    np.testing.assert_allclose(mean, rows[:3].mean(), rtol=2e-6)


@pytest.mark.parametrize("where", ["", "resident=memory", "resident=shared", "resident=none"])
@pytest.mark.parametrize("columns", [5, 64, 1000])
def test_one_element_of_a_row_that_is_folded(where: str, columns: int) -> None:
    x = RNG.standard_normal((9, columns))
    t = RNG.integers(0, columns, 9)
    t[:2] = -1, columns
    e = np.exp(x - x.max(axis=1, keepdims=True))
    expected = np.where((t >= 0) & (t < columns), (e / e.sum(axis=1, keepdims=True))[range(9), t % columns], 0)
    np.testing.assert_allclose(share(x, t, plan=where), expected, rtol=1e-13)


@settings(max_examples=16, deadline=None)
@given(
    st.tuples(st.integers(1, 40), st.integers(1, 70)), st.sampled_from(["f32", "f64", "bf16"]),
    st.sampled_from(["none", "mean", "sum"]), st.sampled_from(["int64", "int32", "int8"]), st.booleans(), st.booleans(),
    st.integers(0, 1 << 30),
)  # fmt: skip
def test_losses(
    shape: tuple[int, int], t: str, reduction: Any, index: str, weighted: bool, by_columns: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = _array(t, shape, rng) / np.float32(9)
    x = np.asarray(x.astype(np.float32), wf.dtype(t).numpy)
    weight = rng.random(shape[1]).astype(np.float32) + 0.5 if weighted else None
    target = rng.integers(-3, shape[1] + 2, shape[0]).astype(wf.dtype(index).numpy)
    given_x = x.T.copy().T if by_columns else x
    wide = x.astype(np.float64)
    inside, counted = (target >= 0) & (target < shape[1]), target != -2
    at = np.where(inside, target, 0)
    w = np.ones(shape[0]) if weight is None else weight[at].astype(np.float64)
    greatest = wide.max(axis=1)
    lse = np.log(np.exp(wide - greatest[:, None]).sum(axis=1)) + greatest
    chosen = wide[range(shape[0]), at]
    for function, rows in ((wf.cross_entropy, lse - chosen), (wf.nll_loss, -chosen)):
        losses = np.where(counted, np.where(inside, rows * w, np.nan), 0)
        divisor = np.where(counted, np.where(inside, w, 1.0 if weight is None else 0.0), 0).sum()
        with np.errstate(all="ignore"):
            expected = {"none": losses, "sum": losses.sum(), "mean": losses.sum() / divisor}[reduction]
        found = function(given_x, target, weight, reduction=reduction, ignore_index=-2)
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


def test_nothing_is_read_beside_the_axis(tmp_path: Path) -> None:
    x = np.empty((3, 0), np.float32)
    assert taken(x, np.zeros((3, 2), np.int64)).tolist() == [[0, 0]] * 3
    compiled = taken.compile(np.ones((3, 5), np.float32), np.zeros((3, 2), np.int64))
    compiled.save(tmp_path / "taken.wf")
    y = RNG.standard_normal((4, 6)).astype(np.float32)
    i = np.array([[0, 5], [-6, -7], [6, 1], [2, 1 << 40]])
    assert np.array_equal(wf.load(tmp_path / "taken.wf")(y, i), _expected(y, i, 1))


def test_an_array_that_is_gathered_from_is_not_written_over() -> None:
    @wf.program
    def centred(x: Any, t: Any) -> Any:
        return x - x.__array_namespace__().take_along_axis(x, t)

    x = np.ones((3, 5), np.float32)
    with pytest.raises(WarpfoldError, match="WF186"):
        centred(x, np.zeros((3, 1), np.int64), out=x)
