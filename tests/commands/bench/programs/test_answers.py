"""The check of program cases: its references against NumPy, what PyTorch answers, and which mistakes it sees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpfold.commands.bench.peers import torch_programs
from warpfold.commands.bench.peers.torch import called
from warpfold.commands.bench.programs.answers import answer, error_of
from warpfold.commands.bench.programs.case import EPS, FALLING, RISING, RMS_EPS, ProgramCase, parse
from warpfold.commands.bench.programs.inputs import inputs
from warpfold.commands.bench.programs.operations import OPERATIONS

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

NAMES = (
    "softmax.f32.30x77", "softmax0.f32.40x9", "softmax1.bf16.3x17x5", "softmax12.f16.3x4x5x2", "softmax02.f32.3x4x5",
    "softmin02.f32.3x4x5", "log_softmax02.f32.3x4x5", "softmin.f32.5x6",
    "log_softmax.bf16.4x100", "log_softmax1.f32.3x7x5", "logsumexp.f16.9x50", "logsumexp01.f64.3x4x5",
    "standardize.f32.8x33", "standardize0.f64.21x3", "layernorm.bf16.7x40", "layernorm.f32.2x3x16",
    "layernorm1.f32.2x8x3x3", "layernorm12.f32.2x3x16", "rmsnorm.f16.6x50", "rmsnorm0.f32.16x4",
    "add_rmsnorm.bf16.5x48", "quant_fp8.bf16.6x33", "quant_fp8.f32.6x40", "cross_entropy.f32.9x30",
    "cross_entropy.bf16.9x30", "groupnorm.f32.2x64x5x3", "groupnorm.bf16.3x20x7", "batchnorm.f32.4x6x5x5",
    "batchnorm_nhwc.bf16.4x6x5x5", "batchnorm.f32.50x7", "var_norm_cols.f32.60x5",
    "cumsum0.f32.9x5", "cummax.f32.9x5", "logcumsumexp.f32.9x5", "recurrence.bf16.9x33", "topk0.f32.9x5",
    "batchnorm_relu.f32.4x6x5x5", "batchnorm_relu_nhwc.bf16.4x6x5x5", "relu.f64.70", "relu_bits.f32.3x50",
    "relu_backward.f16.3x50", "add.f32.70", "add_relu.bf16.70", "add_relu_bits.f32.3x50", "where.f32.3x50",
    "softmax_bwd.f32.7x40", "softmax_bwd0.bf16.40x9", "log_softmax_bwd.f16.4x100", "layernorm_bwd.bf16.7x40",
    "rmsnorm_bwd.f32.6x50", "add_rmsnorm_bwd.bf16.5x48", "groupnorm_bwd.f32.2x64x5x3", "batchnorm_bwd.f64.4x6x5x5",
    "batchnorm_nhwc_bwd.bf16.4x6x5x5", "batchnorm_relu_bwd.f32.4x6x5x5", "batchnorm_relu_nhwc_bwd.bf16.4x6x5x4",
    "cross_entropy_fwdbwd.bf16.9x30",
    "dropout.f32.3000", "dropout_backward.bf16.3x50", "sum.f32.70", "sum_where.f32.3x50", "count_nonzero.bit.3008",
    "array_equal.bit.3000", "batchnorm_running_relu.f32.4x6x5x5", "batchnorm_running_relu_nhwc.bf16.4x6x5x5",
    "batchnorm_add_relu.f32.4x6x5x5", "batchnorm_add_relu_nhwc.bf16.4x6x5x5",
    "batchnorm_add_relu_backward.f32.4x6x5x5", "batchnorm_add_relu_backward_nhwc.bf16.4x6x5x5",
)  # fmt: skip


def case(name: str) -> ProgramCase:
    found = parse(name)
    assert found is not None, name
    return found


def wide(array: Any) -> np.ndarray[Any, Any]:
    return np.asarray(array.double() if array.is_floating_point() else array)


def numpys(this: ProgramCase, arrays: tuple[Any, ...]) -> list[np.ndarray[Any, Any]]:
    """The results by NumPy in float64, by other formulas than those of the reference; gradients by PyTorch."""
    if this.is_backward:
        wide_arrays = tuple(a.double() if a.is_floating_point() else a for a in arrays)
        return [wide(g.detach()) for g in pytorchs(this, wide_arrays)]
    x, *more = map(wide, arrays)
    axes = this.axes
    exps = np.exp(x) if this.dtype.is_float else x
    lse = np.log(exps.sum(axes, keepdims=True))

    def normal(x: Any, axes: Any, eps: float) -> Any:
        centred = x - x.sum(axes, keepdims=True) / np.prod([x.shape[a] for a in axes])
        return centred / np.sqrt((centred * centred).mean(axes, keepdims=True) + eps)

    def rms(x: Any) -> Any:
        return x / np.sqrt((x * x).mean(axes, keepdims=True) + RMS_EPS)

    def bits(mask: Any) -> Any:
        flat = np.append(mask.ravel(), np.zeros(-mask.size % 32, bool))
        return np.packbits(flat, bitorder="little").view("<i4")

    def of_words(words: Any) -> Any:
        return np.unpackbits(words.view("u1"), bitorder="little")[: np.prod(this.shape)].astype(bool)

    def lying(mask: Any) -> Any:
        return np.moveaxis(mask, 1, -1) if this.what.endswith("_nhwc") else mask

    def of_norm(g: Any, like: Any, mean: Any, var: Any, w: Any) -> list[Any]:
        """By the Jacobian of a norm: what is left of a gradient without its mean and its part along the norm."""
        n = like.size // like.shape[1]
        mean, var, w = (v.reshape(1, -1, 1, 1) for v in (mean, var, w))
        normal = (like - mean) / np.sqrt(var + EPS)
        along = (g * normal).sum(axes, keepdims=True)
        dx = w / np.sqrt(var + EPS) * (g - g.mean(axes, keepdims=True) - normal * along / n)
        return [dx, along.ravel(), g.sum(axes)]

    if this.what.startswith("batchnorm") and "backward" in this.what:
        like, mean, var, w, *_ = more
        mask = of_words(more[5]).reshape(lying(x).shape)
        g = x * (np.moveaxis(mask, -1, 1) if this.what.endswith("_nhwc") else mask)
        return [*of_norm(g, like, mean, var, w), g]
    n = x.size // x.shape[1] if this.what.startswith("batchnorm") else 0
    channels = this.what.startswith(("batchnorm", "groupnorm"))
    spread = [n if a in ((1,) if channels else axes) else 1 for a, n in enumerate(x.shape)]
    w, b = [*(m.reshape(spread) for m in more if m.ndim and m.size == np.prod(spread)), 0, 0][:2]
    return {
        "softmax": lambda: [exps / exps.sum(axes, keepdims=True)],
        "softmin": lambda: [1 / exps / (1 / exps).sum(axes, keepdims=True)],
        "log_softmax": lambda: [x - lse],
        "logsumexp": lambda: [lse.squeeze(axes)],
        "standardize": lambda: [normal(x, axes, EPS)],
        "layernorm": lambda: [normal(x, axes, EPS) * w + b],
        "rmsnorm": lambda: [rms(x) * w],
        "add_rmsnorm": lambda: [rms(x + more[0]) * w, x + more[0]],
        "quant_fp8": lambda: [x, np.abs(x).max(axes) / 448],
        "cross_entropy": lambda: [lse[:, 0] - np.take_along_axis(x, more[0][:, None], 1)[:, 0]],
        "groupnorm": lambda: [normal(x.reshape(this.grouped), (2,), EPS).reshape(x.shape) * w + b],
        "batchnorm": lambda: [normal(x, axes, EPS) * w + b, x.mean(axes), x.var(axes)],
        "batchnorm_relu": lambda: [np.maximum(normal(x, axes, EPS) * w + b, 0), x.mean(axes), x.var(axes)],
        "var_norm_cols": lambda: [normal(x, axes, EPS)],
        "cumsum": lambda: [np.cumsum(x, axes[0])],
        "cummax": lambda: [np.maximum.accumulate(x, axes[0])],
        "logcumsumexp": lambda: [np.logaddexp.accumulate(x, axes[0])],
        "topk": lambda: [-np.sort(-x, axes[0])[:4]],
        "recurrence": lambda: [recurrence(x, more[0], arrays[0].new_tensor([RISING, FALLING]).double())],
        "relu": lambda: [np.maximum(x, 0)],
        "relu_bits": lambda: [np.maximum(x, 0), bits(x > 0)],
        "relu_backward": lambda: [np.where(np.unpackbits(more[0].view("u1"), bitorder="little")[: x.size].reshape(
            x.shape), x, 0)],
        "add": lambda: [x + more[0]],
        "add_relu": lambda: [np.maximum(x + more[0], 0)],
        "add_relu_bits": lambda: [np.maximum(x + more[0], 0), bits(x + more[0] > 0)],
        "where": lambda: [np.where(x > 0, x, more[0])],
        "batchnorm_running_relu": lambda: [
            np.maximum(normal(x, axes, EPS) * w + b, 0), x.mean(axes), x.var(axes) * n / (n - 1)],
        "batchnorm_add_relu": lambda: [
            np.maximum(normal(x, axes, EPS) * w + b + more[2], 0), x.mean(axes), x.var(axes),
            bits(lying(normal(x, axes, EPS) * w + b + more[2] > 0))],
        "dropout": lambda: [x / 0.9],
        "dropout_backward": lambda: [np.where(of_words(more[0]).reshape(x.shape), x / 0.9, 0)],
        "sum": lambda: [x.sum()],
        "sum_where": lambda: [x[of_words(more[0]).reshape(x.shape)].sum()],
        "count_nonzero": lambda: [np.count_nonzero(of_words(x.astype("i4")))],
        "array_equal": lambda: [np.array_equal(x, more[0])],
    }[this.what.removesuffix("_nhwc")]()  # fmt: skip


def pytorchs(this: ProgramCase, arrays: tuple[Any, ...]) -> list[Any]:
    """PyTorch's results."""
    found = called(torch, torch_programs.function(torch, this), this, arrays)()
    return list(found) if isinstance(found, tuple) else [found]


def right(this: ProgramCase, arrays: tuple[Any, ...], found: list[Any], ours: bool = True) -> bool:
    return error_of(this, answer(this, arrays), found, arrays, ours)[1]


def rounded(this: ProgramCase, arrays: tuple[Any, ...]) -> list[Any]:
    """The reference's values, rounded to the types of the results."""
    roles = zip(answer(this, arrays), this.operation.results, strict=True)
    found = [a.values.to(getattr(torch, this.dtype_of(role).numpy_name)) for a, role in roles]
    if this.what == "dropout":
        found[0].view(-1)[3::10] = 0
    if this.what == "quant_fp8":
        found[0] = (arrays[0].double() / found[1].double()[:, None]).to(torch.float8_e4m3fn)
    return found


def recurrence(x: Any, z: Any, factors: Any) -> Any:
    """The linear recurrence along the last axis, element by element; its factors are of the elements' type."""
    rising, falling = map(float, factors)
    h, found = np.zeros(x.shape[:-1]), []
    for k in range(x.shape[-1]):
        h = np.where(z[..., k] > 0, rising, falling) * h + x[..., k]
        found.append(h)
    return np.stack(found, -1)


def test_every_operation_is_tested() -> None:
    assert {case(name).what for name in NAMES} == set(OPERATIONS)


@pytest.mark.parametrize("name", NAMES)
def test_references_are_numpys(name: str) -> None:
    this = case(name)
    arrays = inputs(torch, this, 0, "cpu")
    found = answer(this, arrays)
    wanted = numpys(this, arrays)
    assert len(found) == len(this.operation.results) == len(wanted)
    for one, right in zip(found, wanted, strict=True):
        assert np.allclose(wide(one.values), right, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_inputs_are_as_the_case_says_and_the_check_leaves_them(name: str) -> None:
    this = case(name)
    arrays = inputs(torch, this, 0, "cpu")
    before = [a.clone() for a in arrays]
    for array, role in zip(arrays, ("elements", *this.operation.inputs), strict=True):
        assert (tuple(array.shape), str(array.dtype)) == (
            this.shape_of(role), f"torch.{this.dtype_of(role).numpy_name}"
        )  # fmt: skip
    found = rounded(this, arrays)
    kept = [f.clone() for f in found]
    assert right(this, arrays, found)
    assert all(torch.equal(a, b) for a, b in zip(arrays, before, strict=True))
    assert all(torch.equal(a.double(), b.double()) for a, b in zip(found, kept, strict=True))
    others = inputs(torch, this, 1, "cpu")
    assert not torch.equal(arrays[0], others[0])
    assert all(torch.equal(a, b) for a, b in zip(arrays, inputs(torch, this, 0, "cpu"), strict=True))


def test_channels_lie_innermost_in_nhwc() -> None:
    x, *_ = inputs(torch, case("batchnorm_nhwc.bf16.4x6x5x5"), 0, "cpu")
    assert x.stride() == (150, 1, 30, 6)


@pytest.mark.parametrize("name", NAMES)
def test_pytorch_is_right(name: str) -> None:
    this = case(name)
    arrays = inputs(torch, this, 0, "cpu")
    assert right(this, arrays, pytorchs(this, arrays), ours=False)


@pytest.mark.parametrize("name", NAMES)
def test_mistakes_are_seen(name: str) -> None:
    """Each result is checked: an element that is off, one that is NaN, a missing result, a wrong size."""
    this = case(name)
    arrays = inputs(torch, this, 0, "cpu")
    for number in range(len(this.operation.results)):
        for change in (lambda v: v * 1.2 + 0.05, lambda v: v * float("nan")):
            found = rounded(this, arrays)
            change = torch.zeros_like if found[number].dtype == torch.bool else change
            flat = found[number].double().flatten()
            flat[0] = change(flat[0])
            found[number] = flat.to(found[number].dtype).reshape(found[number].shape)
            assert not right(this, arrays, found)
    found = rounded(this, arrays)
    assert not right(this, arrays, found[:-1])
    assert not right(this, arrays, [found[0].flatten()[1:], *found[1:]])
    assert not right(this, arrays, [])


@pytest.mark.parametrize("name", ["softmax.f32.30x77", "layernorm.f32.7x40", "softmax.bf16.30x77"])
def test_peers_are_checked_loosely(name: str) -> None:
    this = case(name)
    arrays = inputs(torch, this, 0, "cpu")
    (found,) = rounded(this, arrays)
    near, far = (2.0**-6, 2.0**-3) if this.dtype.bits == 16 else (2.0**-14, 2.0**-9)
    assert not right(this, arrays, [found * (1 + near) + near / 4])
    assert right(this, arrays, [found * (1 + near)], ours=False)
    assert not right(this, arrays, [found * (1 + far)], ours=False)
