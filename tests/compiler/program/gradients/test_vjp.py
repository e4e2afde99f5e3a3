"""Gradients of whole functions beside differences in f64: layouts, slices, broadcasting, random programs; mistakes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from array_programs import traced
from differences import assert_agrees, derived, differences
from random_programs import REFUSED, distinct, positional

import warpfold as wf
from warpfold.compiler.errors import WarpfoldError
from warpfold.compiler.program.gradients.vjp import backward

RNG = np.random.default_rng(9)
X, SQUARE, W = RNG.standard_normal((3, 6)), RNG.standard_normal((3, 3)), RNG.standard_normal(6)
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "broadcast": (lambda x, w: x * w + w, (X, W)),
    "both ways": (lambda x: x * x.T, (SQUARE,)),
    "diagonal blocks": (lambda x: x[:, None] * x[None, :, :] * x.T[:, :, None], (SQUARE,)),
    "reshaped": (lambda x: x.__array_namespace__().reshape(x, (3, 2, 3)) ** 2, (X,)),
    "a row of itself": (lambda x: x * x[1], (X,)),
    "neighbours": (lambda x: x[:, 1:] * x[:, :-1], (X,)),
    "every other": (lambda x: x[:, ::2] * x[:, 1::2] * x[:, -1:], (X,)),
    "reversed": (lambda x: x * x[::-1, ::-1], (X,)),
    "slices of values": (lambda x: wf.exp(x * x)[1:, ::-2] * x[:-1, :3], (X,)),
    "slices of slices": (lambda x: x[1:][:, 2:][:, ::2] ** 2, (X,)),
    "a fold of a slice": (lambda x: wf.sum(x[:, 1:] * x[:, :1], axis=1) * x[:, 0], (X,)),
    "twice": (lambda x, y: x * y, (X, X.copy())),
    "kept apart": (lambda x: (x + wf.sum(x, axis=0)) * wf.sum(x, axis=1, keepdims=True), (X,)),
    "numbers": (lambda x, s: x * s + s, (X, np.array(0.7))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_differences(name: str) -> None:
    function, arrays = FUNCTIONS[name]
    assert_agrees(function, *arrays)


def test_random_programs() -> None:
    """NumPy computes the differences; a program whose results are no floats, or that is not traced, is left out."""
    compared = 0
    for seed, program in distinct(60):
        rng = np.random.default_rng(seed)
        arrays = [np.asarray(a + rng.uniform(-0.4, 0.4, a.shape)) for a in program.arrays]
        if any("float16" in code or "float32" in code for code, _ in program.steps):
            continue  # rounding is no slope
        expected = program(*arrays)
        if any(np.asarray(e).dtype != np.float64 or not np.all(np.isfinite(e)) for e in expected):
            continue
        seeds = [rng.standard_normal(np.shape(e)) for e in expected]
        try:
            found = derived(positional(program), seeds, arrays)
        except WarpfoldError as e:
            assert e.code in REFUSED, (seed, e)  # noqa: PT017 - seldom: most programs are traced
            continue
        size = max(1.0, *(float(np.max(np.abs(e), initial=0)) for e in expected))
        for f, d in zip(found, differences(program, seeds, arrays), strict=True):
            np.testing.assert_allclose(f, d, rtol=1e-4, atol=1e-5 * size, err_msg=f"{seed} {program}")
        compared += 1
    assert compared > 30


def test_the_gradient_of_a_gradient() -> None:
    first = backward(lambda x: wf.sum(x * x * x, axis=1))
    assert_agrees(first, np.ones(3), X)
    assert_agrees(backward(wf.softmax.function), X * 2, X)


def test_a_gradient_within_a_program_is_by_values() -> None:
    """The variable is a value of the program, and what the function reads beside it is a constant."""

    def step(x: Any) -> Any:
        h = x * 2.0
        return backward(lambda v: v * v * x)(h, h)

    (found,) = (wf.program(step)(X),)
    np.testing.assert_allclose(found, 2 * (2 * X) * (2 * X) * X)


def test_which_gradients_are_returned() -> None:
    mask = X > 0
    layer = lambda x, w, m=None: wf.where(m, x, 0.0) * w  # noqa: E731
    both = derived(layer, [X], [X, W, mask])
    assert [g.shape for g in both] == [(3, 6), (6,)]
    (one,) = derived(layer, [X], [X, W, mask], wrt=["w"])
    np.testing.assert_array_equal(one, both[1])


def test_a_constant_has_no_gradient() -> None:
    (found,) = derived(lambda x: x * wf.stop_gradient(x), [np.ones(3)], [np.array([1.0, 2.0, 3.0])])
    np.testing.assert_array_equal(found, [1, 2, 3])


def test_a_program_that_is_not_differentiated_has_no_marks() -> None:
    assert traced(lambda x: x * wf.stop_gradient(x), X).digest == traced(lambda x: x * x, X).digest


def test_half_types_are_computed_in_f32_and_rounded_once() -> None:
    program = traced(backward(lambda x: wf.exp(x)), X.astype("f2"), X.astype("f2"))
    assert [(o.dtype.name, o.expr.dtype.name) for o in program.outputs] == [("f16", "f32")]


@wf.monoid(has_identity=False, commutative=False)
def later(a: Any, b: Any) -> Any:  # noqa: ARG001 - the right one
    return b


MISTAKES: list[tuple[str, Callable[[], Any]]] = [
    ("WF903: <lambda> returns 2 array(s), and gradients of 1", lambda: derived(lambda x: (x, x), [X], [X])),
    ("WF904: no argument is an array of floats", lambda: derived(lambda x: x + 1.5, [X], [X.astype("i8")])),
    ("WF904: argument m is not an array of floats", lambda: derived(lambda x, m: x * m, [X], [X, X > 0], wrt=["m"])),
    (
        "WF905: the gradient of result 0 of <lambda> has shape (6,): expected (3, 6)",
        lambda: derived(lambda x: abs(x), [W], [X]),
    ),
    (
        "WF906: the gradient of result 0 of <lambda> is of type i64",
        lambda: derived(lambda x: abs(x), [X.astype("i8")], [X]),
    ),
    ("WF907: a gradient is given for result 0 of <lambda>, of type bool", lambda: derived(lambda x: x > 0, [X], [X])),
    ("WF908: backward got a int as its last argument: expected what f", lambda: wf.vjp(lambda x: x).backward(X, 3)),
    (
        "WF138: wrt cannot be 'y': expected one of its arrays, or several: x",
        lambda: derived(lambda x: x, [X], [X], wrt=["y"]),
    ),
    (
        "WF901: the operation bitcast has no gradient",
        lambda: derived(lambda x: wf.bitcast(wf.bitcast(x, "i64"), "f64"), [X], [X]),
    ),
    (
        "WF901: the operation bitcast has no gradient",  # beside the state there is a flag, the first value of the fold
        lambda: derived(lambda x: wf.bitcast(wf.reduce(wf.bitcast(x, "i64"), later, axis=1), "f64"), [X[:, 0]], [X]),
    ),
]


@pytest.mark.parametrize(("text", "call"), MISTAKES)
def test_mistakes_are_told(text: str, call: Callable[[], Any]) -> None:
    with pytest.raises(WarpfoldError) as e:
        call()
    assert text in str(e.value)
