"""Batch norm, what follows it, and its gradients, beside PyTorch's functions and autograd; what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from library_programs import program, values

from warpfold.compiler.dtypes import F16, F32
from warpfold.compiler.errors import ArgumentError, TraceError
from warpfold.compiler.program.library.programs.batch_norm import batch_norm, batch_norm_backward

RNG = np.random.default_rng(7)
X = RNG.standard_normal((3, 4, 5)).astype(np.float32) * 4
DY, Z = RNG.standard_normal((2, 3, 4, 5))
W = X[0, 0]


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("activation", [None, "relu"])
@pytest.mark.parametrize("channel", [0, 1, -1])
@pytest.mark.parametrize("parts", range(8))
def test_as_pytorch(channel: int, parts: int, activation: str | None) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    f, n = torch.nn.functional, X.shape[channel]
    weight, bias = (RNG.standard_normal(n) if parts & bit else None for bit in (1, 2))
    residual = Z if parts & 4 else None
    mean, var = RNG.standard_normal(n), RNG.random(n)
    given = {"x": X, "weight": weight, "bias": bias, "residual": residual}
    eps, momentum = (1e-5, 0.25)[parts % 2], (0.3, 0.0, 1.0)[parts % 3]
    how: dict[str, Any] = {"channel_axis": channel, "activation": activation, "eps": eps}

    def tensor(a: Any) -> Any:
        return None if a is None else torch.from_numpy(np.array(a, np.float64)).requires_grad_()

    def after(y: Any) -> Any:
        y = y.movedim(1, channel)
        y = y if residual is None else y + torch.from_numpy(residual)
        return f.relu(y) if activation else y

    x, w, b = map(tensor, (X, weight, bias))
    moved = x.movedim(channel, 1)
    running = [torch.from_numpy(v.copy()) for v in (mean, var)]
    with torch.no_grad():
        expected = after(f.batch_norm(moved, *running, w, b, eps=eps))
    (found,) = values(batch_norm, given | {"running_mean": mean, "running_var": var}, **how)
    close(found, expected)

    expected = after(f.batch_norm(moved, *running, w, b, training=True, momentum=momentum, eps=eps))
    given |= {"running_mean": mean, "running_var": var}
    found = values(batch_norm, given, training=True, momentum=momentum, **how)
    close(found[0], running[0])
    close(found[1], running[1])
    close(found[2], expected.detach())
    close(found[3], moved.detach().mean((0, 2)))
    close(found[4], moved.detach().var((0, 2), correction=0))
    expected.backward(torch.from_numpy(DY))
    given = {"dy": DY, "x": X, "mean": found[3], "var": found[4], "weight": weight, "bias": bias}
    mask = np.ones_like(DY) > 0 if activation is None else expected.detach().numpy() > 0
    if residual is not None and activation:
        given["bits"] = mask
    dx, dweight, dbias, *rest = values(batch_norm_backward, given, residual=residual is not None, **how)
    close(dx, x.grad)
    if residual is not None:
        close(rest[0], np.where(mask, DY, 0))
    if w is not None:
        close(dweight, w.grad)
    if b is not None:
        close(dbias, b.grad)


def test_results_have_names_and_statistics_are_in_f32() -> None:
    half = X.astype(np.float16)
    found = program(batch_norm, {"x": half}, training=True)
    assert found.structure[1] == ("output", "mean", "var")
    assert [o.dtype for o in found.outputs] == [F16, F32, F32]
    running = {"running_mean": W[:4].astype(np.float16), "running_var": W[:4]}
    found = program(batch_norm, {"x": half, **running}, training=True)
    assert found.structure[1] == ("running_mean", "running_var", "output", "mean", "var")
    assert [o.dtype for o in found.outputs] == [F16, F32, F16, F32, F32]


def test_running_statistics_that_do_not_fit() -> None:
    with pytest.raises(TraceError, match="WF270: batch_norm got 0 of running_mean and running_var with training=False"):
        program(batch_norm, {"x": X})
    with pytest.raises(TraceError, match=r"WF270: batch_norm got 1 .* training=True: expected 0 or 2"):
        program(batch_norm, {"x": X, "running_mean": W[:4]}, training=True)
    with pytest.raises(TraceError, match=r"WF254: .* axis -2 has size 4 in x and size 5 in running_mean"):
        program(batch_norm, {"x": X, "running_mean": W, "running_var": W[:4]})


@pytest.mark.parametrize("momentum", [-0.1, 1.5, float("nan"), None, "half", True])
def test_momentum_out_of_range(momentum: Any) -> None:
    with pytest.raises(ArgumentError, match=r"WF138: momentum cannot be .*: expected a number from 0 to 1"):
        program(batch_norm, {"x": X}, training=True, momentum=momentum)


def test_one_element_a_channel_in_training() -> None:
    with pytest.raises(TraceError, match="WF296: batch_norm got one element a channel") as e:
        program(batch_norm, {"x": X[:1, :, :1]}, training=True)
    assert e.value.location is not None
    program(batch_norm, {"x": X[:1, :, :1], "running_mean": W[:4], "running_var": W[:4]})


def test_running_statistics_that_a_call_cannot_update() -> None:
    given = {"x": X, "running_mean": np.zeros(4, np.int32), "running_var": W[:4]}
    with pytest.raises(TraceError, match="WF299: running_mean of batch_norm is an array of i32 of rank 1") as e:
        program(batch_norm, given, training=True)
    assert e.value.location is not None
    with pytest.raises(TraceError, match=r"WF299: running_var .* of rank 2: expected floats and rank 1"):
        program(batch_norm, given | {"running_mean": W[:4], "running_var": W[:4, None]}, training=True)
    with pytest.raises(TraceError, match=r"WF254: .* axis -\d has size 4 in x and size 5 in running_var"):
        program(batch_norm, given | {"running_mean": W[:4], "running_var": W[:5]}, training=True)
    program(batch_norm, given)


@pytest.mark.parametrize("function", [batch_norm, batch_norm_backward])
def test_another_activation(function: Any) -> None:
    given = {"x": X} if function is batch_norm else {"dy": DY, "x": X, "mean": W[:4], "var": W[:4]}
    how = {"training": True} if function is batch_norm else {}
    with pytest.raises(ArgumentError, match="WF138: activation cannot be 'gelu': expected None or 'relu'"):
        program(function, given, activation="gelu", **how)


def test_a_residual_before_an_activation_needs_bits() -> None:
    given = {"dy": DY, "x": X, "mean": W[:4], "var": W[:4]}
    with pytest.raises(TraceError, match="WF298: batch_norm_backward got a residual and an activation without bits"):
        program(batch_norm_backward, given, activation="relu", residual=True)
    program(batch_norm_backward, given, residual=True)
