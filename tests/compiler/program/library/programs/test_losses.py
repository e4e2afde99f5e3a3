"""Losses beside their formulas and PyTorch: class axes, ignored targets, weights, smoothing, and bad targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from library_programs import program, values, wide

from warpfold.compiler.dtypes import BF16, BOOL, F16, F32, F64
from warpfold.compiler.errors import ArgumentError, TraceError
from warpfold.compiler.program.library.programs.losses import cross_entropy, nll_loss

RNG = np.random.default_rng(11)
X = RNG.standard_normal((6, 5)).astype(np.float32) * 4
T = np.array([0, 4, 2, -100, 1, 2])
W = RNG.random(5)
REDUCTIONS = ["none", "sum", "mean"]


def formula(
    x: Any, target: Any, weight: Any, *, axis: int, ignore: int, reduction: str, smoothing: float, z: float, cap: Any
) -> Any:
    """The cross entropy of finite logits, row by row."""
    x = np.moveaxis(x if cap is None else cap * np.tanh(x / cap), axis, -1)
    w = np.ones(x.shape[-1]) if weight is None else weight
    losses, weights = np.zeros(target.shape), np.zeros(target.shape)
    for i in np.ndindex(target.shape):
        if target[i] == ignore:
            continue
        row = x[i]
        lse = row.max() + np.log(np.exp(row - row.max()).sum())
        weights[i] = w[target[i]]
        losses[i] = (1 - smoothing) * weights[i] * (lse - row[target[i]])
        losses[i] += smoothing * (w * (lse - row)).mean() + z * lse**2
    with np.errstate(all="ignore"):
        return {"none": losses, "sum": losses.sum(), "mean": losses.sum() / weights.sum()}[reduction]


@given(
    shape=st.tuples(st.integers(1, 5), st.integers(1, 6), st.integers(1, 4)),
    axis=st.integers(0, 2),
    reduction=st.sampled_from(REDUCTIONS),
    smoothing=st.sampled_from([0.0, 0.1, 1.0]),
    z=st.sampled_from([0.0, 1e-2]),
    cap=st.sampled_from([None, 5.0]),
    weighted=st.booleans(),
    kind=st.sampled_from(["i1", "u1", "i4", "i8"]),
    seed=st.integers(0, 999),
)
def test_cross_entropy_with_every_option(
    shape: Any, axis: int, reduction: str, smoothing: float, z: float, cap: Any, weighted: bool, kind: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape).astype(np.float32) * 10
    target = rng.integers(0, shape[axis], [n for i, n in enumerate(shape) if i != axis]).astype(kind)
    weight = rng.random(shape[axis]).astype(np.float32) if weighted else None
    (found,) = values(
        cross_entropy,
        {"x": x, "target": target, "weight": weight},
        axis=axis, ignore_index=1, reduction=reduction, label_smoothing=smoothing, z_loss=z, softcap=cap,
    )  # fmt: skip
    expected = formula(
        *wide(x), target, *wide(weight), axis=axis, ignore=1, reduction=reduction, smoothing=smoothing, z=z, cap=cap
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(6, 5), (6, 5, 2, 3), (5,)])
def test_cross_entropy_as_pytorch(shape: Any, weighted: bool, smoothing: float, reduction: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = RNG.standard_normal(shape)
    target = RNG.integers(0, 5, (*shape[:-1][:1], *shape[2:]))
    target[target == 3] = -100
    target = target if target.ndim else np.array(2)
    weight = W if weighted else None
    expected = torch.nn.functional.cross_entropy(
        torch.from_numpy(x), torch.from_numpy(target), weight=None if weight is None else torch.from_numpy(weight),
        reduction=reduction, label_smoothing=smoothing,
    ).numpy()  # fmt: skip
    (found,) = values(
        cross_entropy, {"x": x, "target": target, "weight": weight}, reduction=reduction, label_smoothing=smoothing
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_nll_loss_as_pytorch(weighted: bool, reduction: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    weight = W if weighted else None
    expected = torch.nn.functional.nll_loss(
        torch.from_numpy(X).double(), torch.from_numpy(T), reduction=reduction,
        weight=None if weight is None else torch.from_numpy(weight),
    ).numpy()  # fmt: skip
    (found,) = values(nll_loss, {"x": X, "target": T, "weight": weight}, reduction=reduction)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("function", [cross_entropy, nll_loss])
def test_all_targets_ignored(function: Any) -> None:
    target = np.full(6, -100)
    for reduction, expected in (("none", np.zeros(6)), ("sum", 0.0), ("mean", np.nan)):
        (found,) = values(function, {"x": X, "target": target}, reduction=reduction)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("function", [cross_entropy, nll_loss])
@pytest.mark.parametrize("target", [5, -1, 2**32, -(2**63), 2**63 - 1])
def test_a_target_outside_of_the_classes_is_nan(function: Any, target: int) -> None:
    (found,) = values(function, {"x": X, "target": np.array([0, 1, 2, 3, 4, target])}, reduction="none")
    assert np.isnan(found).tolist() == [False] * 5 + [True]


@pytest.mark.parametrize("function", [cross_entropy, nll_loss])
def test_targets_can_be_checked(function: Any) -> None:
    found = program(function, {"x": X, "target": T}, check=True, reduction="none")
    assert found.checks == ("WF189",)
    assert found.outputs[-1].dtype == BOOL


def test_targets_of_bytes_are_compared_with_the_number_of_classes_as_a_whole() -> None:
    x = RNG.standard_normal((2, 300))
    (found,) = values(nll_loss, {"x": x, "target": np.array([255, 7], np.uint8)}, reduction="none")
    np.testing.assert_array_equal(found, [-x[0, 255], -x[1, 7]])


@pytest.mark.parametrize("row", [[-np.inf, 0.0], [-np.inf, -np.inf], [np.inf, 0.0], [np.nan, 0.0], [3e38, -3e38]])
@pytest.mark.parametrize("target", [0, 1])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_special_rows_as_pytorch(row: list[float], target: int, smoothing: float) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x, t = np.array([row]), np.array([target])
    expected = torch.nn.functional.cross_entropy(
        torch.from_numpy(x), torch.from_numpy(t), reduction="none", label_smoothing=smoothing
    )
    (found,) = values(cross_entropy, {"x": x, "target": t}, reduction="none", label_smoothing=smoothing)
    np.testing.assert_allclose(found, expected.numpy())


def test_an_offset_of_all_logits_costs_no_digits() -> None:
    x = (X + np.float32(2.0**20)).astype(np.float32)
    (found,) = values(
        cross_entropy,
        {
            "x": x,
            "target": T,
        },
        reduction="none",
        label_smoothing=0.1,
    )
    (expected,) = values(
        cross_entropy, {"x": x - np.float32(2.0**20), "target": T}, reduction="none", label_smoothing=0.1
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_losses_are_f32() -> None:
    for t, result in ((F16, F32), (BF16, F32), (F32, F32), (F64, F64)):
        for function in (cross_entropy, nll_loss):
            found = program(function, {"x": X.astype(t.numpy), "target": T, "weight": W})
            assert found.outputs[0].dtype == result


def test_bad_arguments() -> None:
    with pytest.raises(TraceError, match=r"WF271: the targets have rank 2 and type i64: expected integers, .* rank 1"):
        program(cross_entropy, {"x": X, "target": T[:, None]})
    with pytest.raises(TraceError, match="WF271: the targets have rank 1 and type f64"):
        program(nll_loss, {"x": X, "target": W})
    with pytest.raises(TraceError, match=r"WF254: shapes .* do not broadcast"):
        program(cross_entropy, {"x": X, "target": T[:4]})
    with pytest.raises(TraceError, match=r"WF254: shapes .* do not broadcast"):
        program(cross_entropy, {"x": X, "target": T, "weight": W[:4]})
    for weight, found in (
        (np.ones_like(X), "rank 2 and type f32"),
        (W > 0, "rank 1 and type bool"),
        (W[0], "rank 0 and"),
    ):
        with pytest.raises(
            TraceError, match=rf"WF281: the weight has {found}.*: expected floats, one for each of \d+ class"
        ):
            program(nll_loss, {"x": X, "target": T, "weight": weight})
    for option, value, text in (
        ("reduction", "all", "'all': expected none, sum or mean"),
        ("label_smoothing", 2.0, "2.0: expected a number from 0 to 1"),
        ("z_loss", "a", "'a': expected a number"),
        ("softcap", 0, "0: expected a number above 0"),
        ("check", "no", "'no': expected True or False"),
        ("ignore_index", 1.5, "1.5: expected an integer"),
    ):
        with pytest.raises(ArgumentError, match=f"WF138: {option} cannot be {text}"):
            program(cross_entropy, {"x": X, "target": T}, **{option: value})
