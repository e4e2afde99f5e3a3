"""What a forward keeps: the cheapest cut between arguments and gradients, and the backward that reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from covering import some

import warpfold as wf
from warpfold.compiler.errors import WarpfoldError
from warpfold.runtime.programs.pairs import Gradient

RNG = np.random.default_rng(11)
X, W = RNG.standard_normal((6, 40)).astype(np.float32), RNG.standard_normal(40).astype(np.float32)
C = RNG.standard_normal((3, 8, 5)).astype(np.float32)
S = np.array(0.5, np.float32)
TARGET = RNG.integers(0, 40, 6)

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], int, list[tuple[str, tuple[int, ...]] | int]]] = {
    "an exponential keeps its result": (wf.exp, (X,), 1, [0]),
    "rows of the innermost axis are folded again": (wf.layer_norm, (X, W, W), 1, []),
    "a column of a softmax keeps two values": (lambda x: wf.softmax(x, axis=0), (X,), 1, [("f32", (40,))] * 2),
    "of a sum that is a result it is read": (wf.add_rms_norm, (X, X[::-1].copy(), W), 2, [1]),
    "a group norm keeps values a group": (lambda x: wf.group_norm(x, 4), (C,), 1, [("f32", (3, 4))] * 3),
    "a mean loss keeps the number of targets": (wf.cross_entropy, (X, TARGET), 1, [("f32", ())]),
    "a condition is kept as bits": (lambda x, y: wf.where(x > y, y, 2 * y), (X, X.T.copy().T), 1, [("i32", (8,))]),
    "bits are in the order of an argument": (
        lambda x: wf.sum(2 * wf.maximum(x, 0.0), axis=0),
        (X,),
        1,
        [("i32", (8,))] * 2,
    ),
    "and in that of the first": (lambda x, y: (x * wf.maximum(y < x.T, 0.5)).T, (X[:, :6], W[:6]), 1, [("i32", (2,))]),
    "what is made of single numbers is made again": (lambda x: 2 * wf.maximum(x, 0.0), (X[0, :1],), 1, []),
    "so is it beside elements": (lambda x, s: wf.mean(x * wf.exp(s)), (X, S), 1, [("f32", ())]),
    "and in rows of one element": (lambda x, s: wf.sum(wf.softmax(x * s, 0) ** 2), (X[:1], S), 1, []),
    "so are values of columns": (lambda x: wf.softmax(x, axis=1).transpose(2, 1, 0), (C,), 1, [("f32", (3, 5))] * 2),
    "what an argument gives is not kept": (lambda x: wf.where(x > 0, x * x, -x), (X,), 1, []),
    "a gradient of constants keeps nothing": (lambda x, w: x * 2.0 + w, (X, W), 1, []),
}


def gradients_for(value: Any) -> list[Any]:
    """A random gradient for each result."""
    results = value if isinstance(value, tuple) else (value,)
    return [RNG.standard_normal(np.shape(r)).astype(r.dtype) for r in results]


def each(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("name", some(FUNCTIONS, 6))
def test_what_is_kept_gives_the_same_gradient(name: str) -> None:
    function, arrays, results, expected = FUNCTIONS[name]
    gradient = wf.vjp(function, results=results)
    value, kept = gradient.forward(*arrays)
    leaves = each(value)
    assert [next((i for i, r in enumerate(leaves) if r is v), -1) for v in kept.values] == [
        e if isinstance(e, int) else -1 for e in expected
    ]
    beside = [v for v in kept.values if not any(v is r for r in leaves)]
    assert [(wf.dtype(v.dtype).name, v.shape) for v in beside] == [
        ("u32" if t == "i32" else t, shape) for t, shape in (e for e in expected if not isinstance(e, int))
    ]
    given = gradients_for(value)
    for found, right in zip(each(gradient.backward(*given, kept)), each(gradient(*given, *arrays)), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-6)
    for found, right in zip(leaves, each(function(*arrays)), strict=True):
        np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize(("count", "kept"), [(13, 0), (14, 1)])
def test_a_condition_is_kept_from_256_instructions_on(count: int, kept: int) -> None:
    """A bit of it moves twice, as much as 128 instructions each; an exponential and a change of sign are 19."""

    def function(x: Any) -> Any:
        y = x
        for _ in range(count):
            y = wf.exp(-y)
        return wf.where(y > 0.5, x * x, -x)

    assert len(wf.vjp(function).forward(X[0])[1].values) == kept


@pytest.mark.parametrize("flat", [True, False])
def test_bits_that_are_a_result_are_the_ones_kept(flat: bool) -> None:
    """Of a ReLU, whose gradient at 0 is 0 and passes at NaN, and of bits of rows."""
    x = np.stack([X[0], np.where(X[0] > 0, 0, np.nan), -X[1]])

    def of_rows(x: Any) -> Any:
        mask = ~(x <= 0)
        return wf.where(mask, x, 0), wf.pack(mask)

    gradient = wf.vjp((lambda x: wf.relu(x, keep="bits")) if flat else of_rows, results=2)
    value, kept = gradient.forward(x)
    assert len(kept.values) == 1
    assert kept.values[0] is value[1]
    np.testing.assert_array_equal(gradient.backward(x + 1, None, kept), np.where(x <= 0, 0, x + 1))


def test_the_backward_does_not_make_again_what_was_kept() -> None:
    """A changed statistic changes the gradient, and the argument that a result stands for is not read."""
    gradient = wf.vjp(lambda x: wf.rms_norm(x, axis=0))
    _, kept = gradient.forward(X)
    assert kept.values
    changed = kept._replace(values=tuple(v * 4 for v in kept.values))
    assert not np.allclose(gradient.backward(X, kept), gradient.backward(X, changed))
    of_exp: Gradient = wf.vjp(wf.exp)
    value, kept = of_exp.forward(X)
    np.testing.assert_array_equal(of_exp.backward(X, kept._replace(xs=(np.full_like(X, np.nan),))), X * value)


def test_least_keeps_arguments_alone() -> None:
    gradient = wf.vjp(wf.layer_norm, keep="least")
    value, kept = gradient.forward(X, W, W)
    assert kept.values == ()
    np.testing.assert_array_equal(value, wf.layer_norm(X, W, W))
    for found, right in zip(gradient.backward(X, kept), gradient(X, X, W, W), strict=True):
        np.testing.assert_array_equal(found, right)


def test_arrays_by_name_stand_behind_those_that_are_kept() -> None:
    gradient = wf.vjp(wf.nll_loss, wrt=("x", "weight"))
    given = {"x": X.astype(np.float64), "target": TARGET, "weight": np.abs(W).astype(np.float64)}
    _, kept = gradient.forward(**given)
    assert len(kept.values) == 3
    for found, right in zip(gradient.backward(np.array(2.0), kept), gradient(np.array(2.0), **given), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-12)


def test_arguments_by_keyword_and_halves() -> None:
    x = X.astype(np.float16)
    gradient = wf.vjp(wf.layer_norm, wrt="x")
    value, kept = gradient.forward(x, weight=W, eps=1e-3, determinism="portable")
    assert value.dtype == np.float16
    found = gradient.backward(x, kept)
    np.testing.assert_array_equal(found, gradient(x, x, weight=W, eps=1e-3, determinism="portable"))


def test_gradients_of_some_results() -> None:
    """Whatever gradients are given, the same is kept."""
    gradient = wf.vjp(wf.batch_norm, results=3)
    value, kept = gradient.forward(C, training=True)
    found = gradient.backward(C, None, None, kept)
    np.testing.assert_allclose(found, gradient(C, None, None, C, training=True), rtol=1e-5, atol=1e-6)
    assert value._fields == ("output", "mean", "var")


def test_another_word_for_keep() -> None:
    with pytest.raises(WarpfoldError, match=r"WF138: [^\n]*keep[^\n]*expected fastest, folds or least"):
        wf.vjp(wf.exp, keep="most")  # type: ignore[arg-type]
