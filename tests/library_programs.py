"""Programs of the library: called with arrays by name, evaluated in float64 beside their formulas; cases of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from warpfold.commands.checking.array_values import evaluate
from warpfold.compiler.dtypes import BF16, dtype
from warpfold.compiler.program.array_program import ArrayProgram
from warpfold.compiler.program.arrays.trace import ArrayArg, trace_arrays


def program(function: Callable[..., Any], arrays: dict[str, Any], **params: Any) -> ArrayProgram:
    """``function`` traced over the arrays that are not None."""
    given = {name: a for name, a in arrays.items() if a is not None}
    specs = [ArrayArg(dtype(a.dtype), a.shape) for a in given.values()]
    return trace_arrays(_of_arrays(function, list(given), params), specs, {})


def positional(
    function: Callable[..., Any], arrays: dict[str, Any], **params: Any
) -> tuple[Callable[..., Any], ArrayProgram]:
    """``function`` of the arrays that are not None by position, and its trace."""
    names = [name for name, a in arrays.items() if a is not None]
    return _of_arrays(function, names, params), program(function, arrays, **params)


def values(function: Callable[..., Any], arrays: dict[str, Any], **params: Any) -> list[Any]:
    """The results of ``function`` in float64; arrays that are None are left out."""
    return evaluate(program(function, arrays, **params), [a for a in arrays.values() if a is not None])


def _of_arrays(function: Callable[..., Any], names: list[str], params: dict[str, Any]) -> Any:
    """``function`` of arrays by position, which have these names."""

    def call(*xs: Any) -> Any:
        return function(**dict(zip(names, xs, strict=True)), **params)

    kind = inspect.Parameter.POSITIONAL_ONLY
    call.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])  # type: ignore[attr-defined]
    return call


def wide(*arrays: Any) -> list[Any]:
    """Arrays in float64, for formulas; None stays."""
    return [None if a is None else np.asarray(a).astype(np.float64) for a in arrays]


# --- cases ---
@dataclass(frozen=True)
class Case:
    """A call of a program of the library.

    Attributes:
        name: the name of the case.
        function: the public name of the program.
        arrays: its arrays by name.
        params: its other arguments.
        plan: what is asked of its plan.
        gradient: whether it is the gradient of the program, for random gradients of its result; of a loss both.
    """

    name: str
    function: str
    arrays: dict[str, np.ndarray]
    params: dict[str, Any] = field(default_factory=dict)
    plan: str = ""
    gradient: bool = False


HALF = {"f16": np.dtype(np.float16), "bf16": BF16.numpy}
KINDS = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64), **HALF}


def cases() -> Iterator[Case]:
    """Cases of every program, element type and option, small enough for the emulator."""
    for t in KINDS:
        for rows, columns in ((3, 1), (5, 7), (4, 37), (2, 1000)):
            yield from _of_rows(t, rows, columns)
    for t in ("f32", "bf16"):
        yield from _of_scans(t)
        yield Case(f"topk-{t}", "topk", {"x": _normal(t, 3, 261)}, {"k": 5})
        yield Case(f"topk-columns-{t}", "topk", {"x": _normal(t, 261, 3)}, {"k": 16, "axis": 0, "largest": False})
        yield from _of_channels(t)
        yield from _of_random_bits(t)
        yield from _of_masks(t)
        yield from _of_losses(t)


def _normal(t: str, *shape: int, scale: float = 3.0) -> np.ndarray:
    """Random numbers, the same on every machine."""
    rng = np.random.default_rng([len(t), *shape])
    return (rng.standard_normal(shape) * scale).astype(KINDS[t])


def _of_rows(t: str, rows: int, columns: int) -> Iterator[Case]:
    """Programs of the rows of a matrix."""
    size = f"{rows}x{columns}-{t}"
    x, weight, bias = _normal(t, rows, columns), _normal("f32", columns), _normal("f64", columns, scale=1.0)
    yield Case(f"softmax-{size}", "softmax", {"x": x})
    yield Case(f"layer_norm-{size}", "layer_norm", {"x": x, "weight": weight, "bias": bias})
    if columns == 37:
        where = _normal("f32", rows, columns) > -2
        yield Case(f"softmax-masked-{size}", "softmax", {"x": x, "bias": weight, "where": where})
        yield Case(f"softmin-0-{size}", "softmin", {"x": x}, {"axis": 0})
        yield Case(f"log_softmax-{size}", "log_softmax", {"x": x})
        yield Case(f"rms_norm-{size}", "rms_norm", {"x": x, "weight": weight})
        yield Case(f"add_rms_norm-{size}", "add_rms_norm", {"x": x, "residual": x[::-1].copy(), "weight": weight})
        yield Case(f"add_layer_norm-{size}", "add_layer_norm", {"x": x, "residual": x[::-1].copy(), "weight": weight})
        yield Case(f"normalize-{size}", "normalize", {"x": x})
        yield Case(f"normalize-3-{size}", "normalize", {"x": x}, {"p": 3.0})
        yield Case(f"standardize-{size}", "standardize", {"x": x, "where": where}, {"correction": 1})
        for to in ("float8_e4m3fn", "float8_e5m2", "int8"):
            yield Case(f"quantize-{to}-{size}", "quantize", {"x": x}, {"dtype": to})


WITHOUT_GRADIENT = {"random_bits", "topk"}
"""The functions that have none: WF901."""


def _of_scans(t: str) -> Iterator[Case]:
    """Scans of rows, of columns, and of rows of several chunks."""
    x = _normal(t, 3, 261)
    for name in ("cumulative_sum", "cummax", "cummin", "logcumsumexp"):
        yield Case(f"{name}-{t}", name, {"x": x}, {"axis": 1})
    yield Case(f"cumulative_prod-{t}", "cumulative_prod", {"x": np.sign(x)}, {"axis": 1})  # others leave the types
    yield Case(f"cumulative_sum-columns-{t}", "cumulative_sum", {"x": x}, {"axis": 0, "reverse": True})
    yield Case(f"cumulative_sum-long-{t}", "cumulative_sum", {"x": _normal(t, 20001)})


def _of_channels(t: str) -> Iterator[Case]:
    """Programs of arrays with channels."""
    x, weight, bias = _normal(t, 3, 6, 5, 7), _normal("f32", 6), _normal("f32", 6, scale=1.0)
    affine = {"x": x, "weight": weight, "bias": bias}
    statistics = {"running_mean": bias, "running_var": np.abs(weight) + 1}
    yield Case(f"batch_norm-training-{t}", "batch_norm", affine, {"training": True})
    yield Case(f"batch_norm-{t}", "batch_norm", affine | statistics)
    follows = {"residual": x[::-1].copy()}
    yield Case(f"batch_norm-relu-{t}", "batch_norm", affine | follows, {"training": True, "activation": "relu"})
    yield Case(f"batch_norm-all-{t}", "batch_norm", affine | statistics | follows, {"activation": "relu"})
    backward = {"dy": x[:, ::-1].copy(), **affine, "mean": bias, "var": np.abs(weight) + 1}
    yield Case(f"batch_norm_backward-{t}", "batch_norm_backward", backward, {"activation": "relu"})
    yield Case(f"instance_norm-{t}", "instance_norm", affine)
    yield Case(f"group_norm-{t}", "group_norm", affine, {"num_groups": 2})
    yield Case(f"softmax-middle-{t}", "softmax", {"x": x}, {"axis": 1})
    yield Case(f"softmax-two-axes-{t}", "softmax", {"x": x}, {"axis": (0, 2)})
    yield Case(f"quantize-blocks-{t}", "quantize", {"x": _normal(t, 4, 24)}, {"block": 8})


def _of_random_bits(t: str) -> Iterator[Case]:
    """Programs with a seed."""
    x, seeds = _normal(t, 5, 37), {"seed": np.array(2**60 + 1, np.uint64), "offset": np.array(3, np.uint64)}
    yield Case(f"random_bits-{t}", "random_bits", {"x": x, **seeds})
    yield Case(f"dropout-{t}", "dropout", {"x": x, **seeds}, {"p": 0.3})
    yield Case(f"dropout_backward-{t}", "dropout_backward", {"dy": x, **seeds}, {"p": 0.3})


def _of_masks(t: str) -> Iterator[Case]:
    """Activations with the bits that their backward takes, and these."""
    x, z, bits = _normal(t, 5, 37), _normal(t, 5, 37)[::-1].copy(), np.random.default_rng(6).integers(0, 2**32, 6, "u4")
    keep = {"keep": "bits"}
    yield Case(f"relu-{t}", "relu", {"x": x}, keep)
    yield Case(f"relu_backward-{t}", "relu_backward", {"dy": x, "bits": bits})
    yield Case(f"add_relu-{t}", "add_relu", {"x": x, "z": z}, keep)
    yield Case(f"add_relu_backward-{t}", "add_relu_backward", {"dy": x, "bits": bits})
    yield Case(f"leaky_relu-{t}", "leaky_relu", {"x": x}, keep)
    yield Case(f"leaky_relu_backward-{t}", "leaky_relu_backward", {"dy": x, "bits": bits})
    yield Case(f"clip_backward-{t}", "clip_backward", {"dy": x, "bits": bits})
    yield Case(f"dropout_backward-bits-{t}", "dropout_backward", {"dy": x, "bits": bits}, {"p": 0.3})
    image, channels = {"x": _normal(t, 3, 6, 5, 7), "residual": _normal(t, 3, 6, 5, 7)}, _normal("f32", 6)
    how = {"activation": "relu"}
    yield Case(f"batch_norm-bits-{t}", "batch_norm", image, {"training": True, **how, **keep})
    given = {"dy": image["residual"], "x": image["x"], "mean": channels, "var": np.abs(channels) + 1}
    words = np.random.default_rng(6).integers(0, 2**32, 20, "u4")
    yield Case(
        f"batch_norm_backward-bits-{t}", "batch_norm_backward", {**given, "bits": words}, {"residual": True, **how}
    )


def _of_losses(t: str) -> Iterator[Case]:
    """Losses of 9 rows of 41 classes, and of classes along another axis."""
    target = np.random.default_rng(9).integers(0, 41, 9)
    target[4] = -100
    given = {"x": _normal(t, 9, 41), "target": target}
    weight = np.abs(_normal("f32", 41))
    options = {"label_smoothing": 0.1, "z_loss": 1e-3, "softcap": 4.0}
    for reduction in ("none", "mean", "sum"):
        yield Case(f"cross_entropy-{reduction}-{t}", "cross_entropy", given, {"reduction": reduction})
    yield Case(f"cross_entropy-options-{t}", "cross_entropy", given | {"weight": weight}, options)
    image = {"x": _normal(t, 2, 5, 3, 4), "target": np.random.default_rng(3).integers(0, 5, (2, 3, 4))}
    yield Case(f"cross_entropy-image-{t}", "cross_entropy", image, {"reduction": "none"})
    yield Case(f"nll_loss-{t}", "nll_loss", given | {"weight": weight})


# --- residencies ---
RESIDENCIES = {
    "registers": "resident=registers,warps=2", "cluster-registers": "resident=registers,lanes=32,warps=1,cluster=2",
    "shared": "resident=shared,warps=2", "cluster-shared": "resident=shared,lanes=32,warps=1,cluster=2",
    "grid": "resident=grid,lanes=32,warps=1,unroll=1,held=1,in_registers=1",
    "teams": "resident=grid,persistent=1,lanes=32,warps=1,unroll=1,held=1",
    "l2": "resident=l2,lanes=32,warps=1,held=1", "memory": "resident=memory,warps=2", "cut": "resident=none",
}  # fmt: skip
"""Where rows wait, and the plan that asks for it."""
ABREAST = "resident=grid,fast=kept,vector=4,lanes=1,warps=1,unroll=1,held=1,in_registers=1,abreast=1"
"""Accesses that go on from one column in the next."""


def residencies() -> Iterator[Case]:
    """A case of every program that reads its rows again, for each place where rows wait."""
    for case in _waiting():
        for place, plan in RESIDENCIES.items():
            yield replace(case, name=f"{case.name}-in-{place}", plan=plan)
    strips = ABREAST.replace("warps=1", "warps=2")
    for name, shape, axis, plan in (
        ("columns", (1001, 3), 0, ABREAST),
        ("channels", (5, 16, 49), (0, 2), ABREAST),
        ("strips", (99, 257), 0, strips),
    ):
        yield Case(f"softmax-{name}-abreast", "softmax", {"x": _normal("f32", *shape)}, {"axis": axis}, plan)


def _waiting() -> Iterator[Case]:
    """Rows of several accesses in each of two CTAs, of odd and even lengths, aligned and not."""
    x, odd, half = _normal("f32", 3, 512), _normal("f32", 3, 601), _normal("bf16", 3, 1024)
    weight, bias, where = _normal("f32", 1024), _normal("bf16", 601), _normal("f32", 3, 601) > -2
    yield Case("softmax-odd", "softmax", {"x": odd, "bias": bias, "where": where})
    yield Case("softmin-half", "softmin", {"x": half})
    yield Case("log_softmax", "log_softmax", {"x": x})
    yield Case("layer_norm-half", "layer_norm", {"x": half, "weight": weight, "bias": weight[::-1]})
    yield Case("rms_norm-odd", "rms_norm", {"x": odd, "weight": bias})
    yield Case("add_layer_norm", "add_layer_norm", {"x": x, "residual": x[::-1].copy(), "weight": weight[:512]})
    yield Case("add_rms_norm-half", "add_rms_norm", {"x": half, "residual": half[::-1].copy()})
    yield Case("batch_norm", "batch_norm", {"x": _normal("f32", 4, 2, 128), "weight": weight[:2]}, {"training": True})
    images = {"x": _normal("f32", 4, 2, 128), "dy": _normal("f32", 4, 2, 128)[::-1].copy()}
    statistics = {"mean": weight[:2], "var": np.abs(weight[2:4])}
    yield Case("batch_norm_backward", "batch_norm_backward", images | statistics, {"activation": "relu"})
    yield Case("instance_norm", "instance_norm", {"x": _normal("bf16", 2, 3, 31, 17), "weight": weight[:3]})
    yield Case("group_norm", "group_norm", {"x": _normal("f32", 2, 6, 10, 20), "weight": weight[:6]}, {"num_groups": 2})
    yield Case("normalize-odd", "normalize", {"x": odd})
    yield Case("standardize", "standardize", {"x": x, "where": x > -4}, {"correction": 1})
    yield Case("quantize-half", "quantize", {"x": half})
    target = {"target": np.array([5, 600, -100])}
    yield Case("cross_entropy-odd", "cross_entropy", {"x": odd, **target}, {"label_smoothing": 0.1})
    yield Case("softmax-columns", "softmax", {"x": _normal("f32", 300, 40)}, {"axis": 0})
