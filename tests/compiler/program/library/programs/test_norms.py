"""Norms beside their formulas and PyTorch: axes, weights of other types, residuals, and special rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from library_programs import program, values, wide

from warpfold.compiler.dtypes import BF16, F16, F32, F64
from warpfold.compiler.errors import ArgumentError, TraceError
from warpfold.compiler.program.library.programs.norms import (
    add_layer_norm,
    add_rms_norm,
    group_norm,
    instance_norm,
    layer_norm,
    normalize,
    rms_norm,
    standardize,
)

RNG = np.random.default_rng(7)
X = RNG.standard_normal((3, 4, 5)).astype(np.float32) * 4
W, B = X[0, 0], X[1, 1]
AXES = st.sampled_from([(2,), (0,), (1,), (0, 1, 2), (0, 2), (1, 2)])
SHAPES = st.tuples(*(st.integers(1, 6) for _ in range(3)))
WEIGHT_TYPES = st.sampled_from(["f2", "f4", "f8", BF16.numpy])


def stretched(value: Any, rank: int, axes: tuple[int, ...]) -> Any:
    """A weight as an array that broadcasts."""
    return np.expand_dims(value, tuple(i for i in range(rank) if i not in axes))


def formula(
    x: Any, weight: Any = None, bias: Any = None, *, axes: tuple[int, ...], eps: float, centred: bool = True
) -> Any:
    """Layer norm, and without ``centred`` RMS norm."""
    d = x - x.mean(axes, keepdims=True) if centred else x
    found = d / np.sqrt((d * d).mean(axes, keepdims=True) + eps)
    found = found if weight is None else found * stretched(weight, x.ndim, axes)
    return found if bias is None else found + stretched(bias, x.ndim, axes)


@given(axes=AXES, shape=SHAPES, weighted=WEIGHT_TYPES, parts=st.integers(0, 3), seed=st.integers(0, 999))
def test_layer_norm_over_any_axes(axes: Any, shape: Any, weighted: Any, parts: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape).astype(np.float32) * 10 + 3
    weight, bias = (rng.standard_normal([shape[a] for a in axes]).astype(weighted) for _ in range(2))
    weight, bias = weight if parts & 1 else None, bias if parts & 2 else None
    (found,) = values(layer_norm, {"x": x, "weight": weight, "bias": bias}, axis=axes, eps=1e-3)
    expected = formula(*wide(x, weight, bias), axes=axes, eps=1e-3)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@given(axes=AXES, shape=SHAPES, weighted=WEIGHT_TYPES, parts=st.integers(0, 1), seed=st.integers(0, 999))
def test_rms_norm_over_any_axes(axes: Any, shape: Any, weighted: Any, parts: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape).astype(np.float32) * 10 + 3
    weight = rng.standard_normal([shape[a] for a in axes]).astype(weighted) if parts else None
    (found,) = values(rms_norm, {"x": x, "weight": weight}, axis=axes, eps=1e-3)
    expected = formula(*wide(x, weight), axes=axes, eps=1e-3, centred=False)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_defaults_are_pytorchs() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    f, small = torch.nn.functional, X * np.float32(1e-3)
    for x in (small, small.astype(np.float64)):
        wide_x = torch.from_numpy(x).double()
        np.testing.assert_allclose(values(layer_norm, {"x": x})[0], f.layer_norm(wide_x, (5,)).numpy(), rtol=1e-9)
        rms = f.rms_norm(wide_x, (5,), eps=float(np.finfo(x.dtype).eps)).numpy()
        np.testing.assert_allclose(values(rms_norm, {"x": x})[0], rms, rtol=1e-9)


def test_residuals_give_the_norm_and_the_sum() -> None:
    residual = X[::-1].astype(BF16.numpy)
    total = X.astype(np.float64) + residual.astype(np.float64)
    normed, added = values(add_layer_norm, {"x": X, "residual": residual, "weight": W, "bias": B})
    np.testing.assert_allclose(normed, formula(total, *wide(W, B), axes=(2,), eps=1e-5), rtol=1e-9)
    np.testing.assert_allclose(added, total, rtol=1e-15)
    normed, added = values(add_rms_norm, {"x": X, "residual": residual, "weight": W}, eps=1e-5)
    np.testing.assert_allclose(normed, formula(total, *wide(W), axes=(2,), eps=1e-5, centred=False), rtol=1e-9)
    np.testing.assert_allclose(added, total, rtol=1e-15)


@pytest.mark.parametrize("row", [[3.0, 3.0, 3.0], [5.0], [0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0], [-np.inf, -np.inf]])
def test_special_rows_as_pytorch(row: list[float]) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = np.array(row, np.float64)
    for ours, its in ((layer_norm, torch.nn.functional.layer_norm), (rms_norm, torch.nn.functional.rms_norm)):
        np.testing.assert_allclose(
            values(ours, {"x": x}, eps=1e-5)[0], its(torch.from_numpy(x), x.shape, eps=1e-5).numpy()
        )


@pytest.mark.parametrize("norm", [layer_norm, rms_norm, add_rms_norm])
def test_results_have_the_type_of_the_elements(norm: Any) -> None:
    for t, computed in ((F16, F32), (BF16, F32), (F32, F32), (F64, F64)):
        arrays = {"x": X.astype(t.numpy), "weight": W.astype(np.float64)}
        if norm is add_rms_norm:
            arrays["residual"] = X
        found = program(norm, arrays)
        assert {o.dtype for o in found.outputs} == {t}
        assert {f.dtype for f in found.folds} == {computed}


def test_a_weight_is_read_along_the_axes_that_are_normalised() -> None:
    assert [v[:2] for v in program(layer_norm, {"x": X, "weight": X[:, :, 0]}, axis=(0, 1)).views][1] == (1, (0, 1))


def test_a_weight_that_broadcasts() -> None:
    (found,) = values(layer_norm, {"x": X, "weight": X[0], "bias": X[0, :, :1]}, axis=-1)
    standard = formula(X.astype(np.float64), axes=(2,), eps=1e-5)
    np.testing.assert_allclose(found, standard * X[0] + X[0, :, :1], rtol=1e-9, atol=1e-9)


def test_weights_of_other_shapes() -> None:
    with pytest.raises(TraceError, match=r"WF254: .* axis -1 has size 5 in x and size 4 in weight"):
        program(rms_norm, {"x": X, "weight": W[:4]})
    with pytest.raises(TraceError, match=r"WF254: .* axis -2 has size 4 in x and size 5 in weight"):
        program(layer_norm, {"x": X, "weight": W}, axis=1)
    with pytest.raises(TraceError, match=r"WF269: weight has shape \(2, 1, 1, 5\): .* broadcasts to \(3, 4, 5\)"):
        program(layer_norm, {"x": X, "weight": np.ones((2, 1, 1, 5))})


# --- instances, vectors ---
@pytest.mark.parametrize("parts", range(4))
def test_instance_norm_as_pytorch(parts: int) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    weight, bias = (RNG.standard_normal(4) if parts & bit else None for bit in (1, 2))
    own = [None if v is None else torch.from_numpy(v) for v in (weight, bias)]
    x = torch.from_numpy(X).double()
    expected = torch.nn.functional.instance_norm(x, weight=own[0], bias=own[1]).numpy()
    given = {"x": X, "weight": weight, "bias": bias}
    np.testing.assert_allclose(values(instance_norm, given)[0], expected, rtol=1e-9, atol=1e-9)
    given["x"] = np.moveaxis(X, 1, -1)
    found = values(instance_norm, given, channel_axis=-1)[0]
    np.testing.assert_allclose(np.moveaxis(found, -1, 1), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
@pytest.mark.parametrize("parts", range(4))
def test_group_norm_as_pytorch(groups: int, parts: int) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = RNG.standard_normal((2, 6, 3, 2)).astype(np.float32)
    weight, bias = (RNG.standard_normal(6) if parts & bit else None for bit in (1, 2))
    own = [None if v is None else torch.from_numpy(v) for v in (weight, bias)]
    expected = torch.nn.functional.group_norm(torch.from_numpy(x).double(), groups, *own).numpy()
    given = {"x": x, "weight": weight, "bias": bias}
    np.testing.assert_allclose(values(group_norm, given, num_groups=groups)[0], expected, rtol=1e-9, atol=1e-9)
    given["x"] = np.moveaxis(x, 1, -1)
    found = values(group_norm, given, num_groups=groups, channel_axis=-1)[0]
    np.testing.assert_allclose(np.moveaxis(found, -1, 1), expected, rtol=1e-9, atol=1e-9)


def test_group_norm_serves_any_number_of_channels_that_the_groups_divide() -> None:
    found = program(group_norm, {"x": np.ones((2, 6, 3), np.float32), "weight": np.ones(6)}, num_groups=2)
    assert found.sizes == ()
    assert [tuple(s) for s in found.splits] == [(0, 1, (2, 0)), (1, 0, (2, 0))]
    assert values(group_norm, {"x": np.ones((2, 1, 3), np.float32)}, num_groups=1)[0].shape == (2, 1, 3)
    for number in (4, 0, -1, 1.5, True):
        text = rf"WF276: num_groups={number} for axis 1 of x, of size 6: expected an integer that divides the size"
        with pytest.raises(TraceError, match=text):
            program(group_norm, {"x": np.ones((2, 6, 3), np.float32)}, num_groups=number)


@pytest.mark.parametrize("p", [2.0, 1.0, 0.0, 3.0, 0.5, np.inf, -np.inf])
@pytest.mark.parametrize("axis", [1, -1, (0, 2)])
def test_normalize_as_pytorch(p: float, axis: Any) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    expected = torch.nn.functional.normalize(torch.from_numpy(X).double(), p=p, dim=axis).numpy()
    np.testing.assert_allclose(values(normalize, {"x": X}, p=p, axis=axis)[0], expected, rtol=1e-9)


def test_normalize_leaves_zeros() -> None:
    assert (values(normalize, {"x": X * 0})[0] == 0).all()


@pytest.mark.parametrize("correction", [0, 1])
@pytest.mark.parametrize("axis", [0, -1, None])
def test_standardize_as_scipys_zscore(axis: Any, correction: int) -> None:
    stats = pytest.importorskip("scipy.stats", reason="SciPy is not installed")
    expected = stats.zscore(X.astype(np.float64), axis=axis, ddof=correction)
    found = values(standardize, {"x": X}, axis=axis, correction=correction, eps=0.0)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("correction", [5, 6])
def test_standardize_without_a_divisor(correction: int) -> None:
    assert np.isnan(values(standardize, {"x": X}, correction=correction)[0]).all()


def test_standardize_with_the_statistics_of_a_mask() -> None:
    where = X > -1
    where[..., :2] = True
    found = values(standardize, {"x": X, "where": where}, axis=-1, correction=1, eps=1e-3)[0]
    x = X.astype(np.float64)
    mean = x.mean(-1, keepdims=True, where=where)
    var = x.var(-1, keepdims=True, where=where, ddof=1)
    np.testing.assert_allclose(found, (x - mean) / np.sqrt(var + 1e-3), rtol=1e-9, atol=1e-9)


def test_masks_of_other_shapes_and_orders_that_are_no_numbers() -> None:
    with pytest.raises(TraceError, match=r"WF255: where has shape \(3,\), which does not broadcast to \(3, 4, 5\)"):
        program(standardize, {"x": X, "where": np.ones(3, bool)})
    for order in ("fro", None, True):
        with pytest.raises(ArgumentError, match=f"WF138: p cannot be {order!r}: expected a number"):
            program(normalize, {"x": X}, p=order)
