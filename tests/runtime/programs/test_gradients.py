"""A function with its gradient as one program: one read and one write for a loss, in place of the logits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from access_picture import run_under

import warpfold as wf
from warpfold.compiler.errors import WarpfoldError
from warpfold.runtime.emulator.sanitizer import Sanitizer

RNG = np.random.default_rng(4)
BOTH = wf.value_and_grad(wf.cross_entropy)


def expected(x: Any, target: Any) -> tuple[float, Any]:
    """The mean loss of the targets that are not ignored, and its gradient, in float64."""
    e = np.exp(x.astype(np.float64))
    p, counted = e / e.sum(1, keepdims=True), target != -100
    gradient = np.where(counted[:, None], p, 0) / counted.sum()
    gradient[counted, target[counted]] -= 1 / counted.sum()
    return -np.log(p[counted, target[counted]]).mean(), gradient


@pytest.mark.parametrize("classes", [7, 33, 600, 8191])
@pytest.mark.parametrize("plan", ["", "resident=memory"])
def test_a_loss_and_its_gradient_in_place_of_the_logits(classes: int, plan: str) -> None:
    """The element at the target is read before the gradient is written over it."""
    x = RNG.standard_normal((5, classes)).astype(np.float32)
    target = RNG.integers(0, classes, 5)
    target[0], target[1] = -100, classes - 1
    loss, gradient = expected(x, target)
    tool, results = Sanitizer(), []
    run_under(tool, lambda: results.extend(BOTH(x, target, out=(None, x), plan=plan)))
    found, made = results
    assert not list(tool.findings)
    assert made is x
    assert float(found) == pytest.approx(loss, rel=1e-6)
    np.testing.assert_allclose(x, gradient, atol=1e-6)


def test_a_loss_and_its_gradient_read_the_logits_once() -> None:
    """The number of targets that count is known before: the step of the rows writes the gradient."""
    text = BOTH.explain(((8192, 32000), "bf16"), ((8192,), "i64"))
    reads = [line for line in text.splitlines() if "reads" in line]
    assert sum("x," in line.split("reads")[1] for line in reads) == 1
    (rows,) = (line for line in reads if "reads x, " in line)
    assert rows.split("writes ")[1].startswith("1, ")


def test_the_gradient_is_that_of_the_sum_of_an_array() -> None:
    x = RNG.standard_normal((3, 4))
    value, gradient = wf.value_and_grad(lambda x, w: x * x * w, wrt="x")(x, np.full(4, 3.0))
    np.testing.assert_allclose(value, 3 * x * x)
    np.testing.assert_allclose(gradient, 6 * x)


def test_a_number_stands_for_an_array_of_it() -> None:
    x = RNG.standard_normal((3, 4))
    np.testing.assert_allclose(wf.vjp(wf.exp)(2, x), 2 * np.exp(x))


def test_what_other_rows_need_is_not_written_over() -> None:
    x, index = RNG.standard_normal((4, 4)), np.zeros((1, 4), np.int64)

    @wf.program
    def of_another_row(x: Any, i: Any) -> Any:
        return x / wf.sum(x, axis=1, keepdims=True) * x.__array_namespace__().take_along_axis(x, i, axis=0).mT

    for call in (
        lambda: wf.value_and_grad(lambda x: wf.sum(x * x[::-1]))(x, out=(None, x)),
        lambda: of_another_row(x, index, out=x),
    ):
        with pytest.raises(WarpfoldError, match="WF186"):
            call()


def test_equal_gradients_are_one_array_unless_each_is_given() -> None:
    dy, dz, x, z = (RNG.standard_normal((5, 12)).astype(np.float32) for _ in range(4))
    weight = np.ones(12, np.float32)
    gradient = wf.vjp(wf.add_rms_norm, results=2)
    dx, other, dweight = gradient(dy, dz, x, z, weight)
    assert dx is other
    out = tuple(np.empty_like(a) for a in (x, z, weight))
    for found, given, own in zip(gradient(dy, dz, x, z, weight, out=out), out, (dx, dx, dweight), strict=True):
        assert found is given
        np.testing.assert_array_equal(found, own)
    _, kept = gradient.forward(x, z, weight)
    again = gradient.backward(dy, dz, kept)
    assert again[0] is again[1]
    np.testing.assert_allclose(again[0], dx, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("correction", [0.0, 1.0])
def test_roots_of_sums_of_squares_take_no_gradient_where_they_are_0(correction: float) -> None:
    """As PyTorch's norms and standard deviations do: a row of zeros, or of a constant, gives no NaN."""
    x = np.array([[0, 0, 0], [1, 2, 2]], np.float64)
    (g,) = [wf.vjp(lambda v: wf.norm(v, axis=1))(np.ones(2), x)]
    np.testing.assert_allclose(g, [[0, 0, 0], [1 / 3, 2 / 3, 2 / 3]])
    (g,) = [wf.vjp(lambda v: wf.std(v, axis=1, correction=correction))(np.ones(2), x)]
    deviation = x[1].std(ddof=int(correction))
    np.testing.assert_allclose(g, [[0, 0, 0], (x[1] - x[1].mean()) / deviation / (3 - correction)], atol=1e-12)
    (g,) = [wf.vjp(lambda v: wf.normalize(v, eps=0.5))(np.ones((2, 3)), x)]
    np.testing.assert_allclose(g[0], [2, 2, 2])
    assert np.isfinite(g).all()


def test_gradients_of_rows_without_a_finite_extreme() -> None:
    inf, nan = np.inf, np.nan
    rows = np.array([[inf, 1, 2], [-inf, -inf, -inf]])
    np.testing.assert_array_equal(wf.vjp(lambda v: wf.logsumexp(v, axis=1))(np.ones(2), rows), [[nan, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(wf.vjp(lambda v: wf.max(v, axis=1))(np.ones(1), np.array([[1, nan, 2]])), [[0, 0, 0]])
