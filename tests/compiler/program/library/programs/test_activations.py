"""Activations and their gradients from bits, beside PyTorch's functions and autograd: NaN, signs of zeros, bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from covering import covering
from library_programs import program

import warpfold as wf
from warpfold.compiler.errors import ArgumentError
from warpfold.compiler.program.library.programs import activations

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
RNG = np.random.default_rng(11)
SHAPES = [(1,), (5, 7, 9), (2, 64)]
CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    "relu": (wf.relu, wf.relu_backward, torch.relu),
    "leaky_relu": (
        lambda x, **how: wf.leaky_relu(x, 0.3, **how),
        lambda dy, bits: wf.leaky_relu_backward(dy, bits, negative_slope=0.3),
        lambda x: torch.nn.functional.leaky_relu(x, 0.3),
    ),
    **{
        f"clip {low} {high}": (
            lambda x, low=low, high=high, **how: wf.clip(x, low, high, **how),
            wf.clip_backward,
            lambda x, low=low, high=high: torch.clamp(x, low, high),
        )
        for low, high in ((-0.5, 1.0), (0.0, None), (None, 0.25), (1.0, -1.0), (float("nan"), 1.0))
    },
}
"""The forward program, its backward, and PyTorch's function."""


def special(shape: tuple[int, ...], t: Any) -> Any:
    """Random numbers among which are NaN, infinities, and zeros with both signs."""
    x = RNG.standard_normal(shape).ravel()
    for i, value in enumerate((np.nan, -np.inf, np.inf, 0.0, -0.0, 0.25, -0.5, 1.0)):
        x[3 + i :: 17] = value
    return torch.from_numpy(x.reshape(shape)).to(t)


def same(found: Any, expected: Any) -> None:
    """The same elements; a NaN is a NaN."""
    assert found.dtype == expected.dtype
    assert torch.equal(found.isnan(), expected.isnan())
    assert torch.equal(found.nan_to_num(), expected.nan_to_num())


@covering(("t", ["float32", "float64", "bfloat16"]), ("name", CASES))
def test_as_pytorch(name: str, t: str) -> None:
    forward, backward, pytorchs = CASES[name]
    for shape in SHAPES:
        x, dy = special(shape, getattr(torch, t)), special(shape, getattr(torch, t))
        own = x.clone().requires_grad_()
        expected = pytorchs(own)
        expected.backward(dy)
        kept = forward(x, keep="bits")
        same(kept.output, expected.detach())
        same(forward(x), expected.detach())
        assert kept.bits.shape == (-(-x.numel() // 32),)
        same(backward(dy, kept.bits), own.grad)
        same(backward(dy, wf.unpack(kept.bits, shape, flat=True)), own.grad)


@pytest.mark.parametrize("t", ["float32", "bfloat16"])
def test_add_relu(t: str) -> None:
    for shape in SHAPES:
        x, z, dy = (special(shape, getattr(torch, t)) for _ in range(3))
        own, other = x.clone().requires_grad_(), z.clone().requires_grad_()
        expected = torch.relu(own + other)
        expected.backward(dy)
        found = wf.add_relu(x, z, keep="bits")
        same(found.output, expected.detach())
        same(wf.add_relu(x, z), expected.detach())
        dx, dz = wf.add_relu_backward(dy, found.bits)
        same(dx, own.grad)
        same(dz, other.grad)


def test_integers_stay_integers() -> None:
    x = np.arange(-5, 5, dtype=np.int32)
    np.testing.assert_array_equal(wf.relu(x), np.maximum(x, 0))
    assert wf.relu(x).dtype == np.int32


def test_the_bits_do_not_depend_on_the_layout() -> None:
    x = RNG.standard_normal((12, 40)).astype(np.float32)
    kept = wf.relu(x, keep="bits")
    expected = np.packbits(x > 0, bitorder="little").view("<u4")
    np.testing.assert_array_equal(kept.bits, expected)
    for lies in (np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2]):
        other = wf.relu(lies, keep="bits")
        np.testing.assert_array_equal(other.bits, expected)
        np.testing.assert_array_equal(wf.relu_backward(lies, other.bits), np.maximum(x, 0))


@pytest.mark.parametrize("function", [activations.relu, activations.leaky_relu])
def test_another_keep(function: Any) -> None:
    with pytest.raises(ArgumentError, match="WF138: keep cannot be 'mask': expected None or 'bits'"):
        program(function, {"x": np.zeros(3)}, keep="mask")
