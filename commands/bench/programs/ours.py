"""What warpfold is called with for a program case: the public functions, as a user calls them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any

from .case import DROPPED, EPS, FALLING, RISING, RMS_EPS, TOP, ProgramCase

SEED = 26
"""The seed of a dropout."""


class LacksError(Exception):
    """Warpfold lacks a function; the text names it."""


class Library:
    """Warpfold's public names."""

    def __getattr__(self, name: str) -> Any:
        """A public name.

        Raises:
            LacksError: warpfold does not have it.
        """
        package = import_module("....", __package__)
        if name not in package.__all__:
            raise LacksError(f"warpfold has no {name}")
        return getattr(package, name)


@cache
def _columns(program: Callable[..., Callable[..., Any]]) -> Callable[..., Any]:
    """A program that no library has: the columns of a matrix, each with mean 0 and variance 1."""
    wf = Library()

    @program
    def var_norm_cols(x: Any) -> Any:
        mean, var = wf.mean(x, axis=0, keepdims=True), wf.var(x, axis=0, keepdims=True)
        return (x - mean) * wf.rsqrt(var + EPS)

    return var_norm_cols


@cache
def _recurrence(program: Callable[..., Callable[..., Any]], axis: int) -> Callable[..., Any]:
    """The linear recurrence h = a h + b along an axis, whose factors are RISING or FALLING by the sign of an array."""
    wf = Library()

    @wf.monoid(identity=(1.0, 0.0), commutative=False)  # type: ignore[untyped-decorator]
    def affine(f: Any, g: Any) -> Any:
        (a, b), (c, d) = f, g
        return a * c, b * c + d

    @program
    def recurrence(x: Any, z: Any) -> Any:
        factors = wf.cast(wf.where(z > 0, RISING, FALLING), x.dtype)
        return wf.cast(wf.scan((factors, x), affine, axis)[1], x.dtype)

    return recurrence


@cache
def _written(program: Callable[..., Callable[..., Any]], name: str) -> Callable[..., Any]:
    """A program of elements that users write themselves."""
    wf = Library()

    def add(x: Any, z: Any) -> Any:
        return x + z

    def where(x: Any, z: Any) -> Any:
        return wf.where(x > 0, x, z)

    return program({"add": add, "where": where}[name])


@cache
def _of_bits(program: Callable[..., Callable[..., Any]], name: str, shape: tuple[int, ...]) -> Callable[..., Any]:
    """A program of bits of this shape, in row-major order."""
    wf = Library()

    def count_nonzero(bits: Any) -> Any:
        return wf.count_nonzero(wf.unpack(bits, shape, flat=True))

    def array_equal(bits: Any, other: Any) -> Any:
        return wf.array_equal(wf.unpack(bits, shape, flat=True), wf.unpack(other, shape, flat=True))

    return program({"count_nonzero": count_nonzero, "array_equal": array_equal}[name])


FUNCTIONS: dict[str, Callable[[ProgramCase, Any], Callable[..., Any]]] = {
    "softmax": lambda case, wf: partial(wf.softmax, axis=case.axis),
    "softmin": lambda case, wf: partial(wf.softmin, axis=case.axis),
    "log_softmax": lambda case, wf: partial(wf.log_softmax, axis=case.axis),
    "logsumexp": lambda case, wf: partial(wf.logsumexp, axis=case.axis),
    "standardize": lambda case, wf: partial(wf.standardize, axis=case.axis, eps=EPS),
    "layernorm": lambda case, wf: partial(wf.layer_norm, axis=case.axis, eps=EPS),
    "rmsnorm": lambda case, wf: partial(wf.rms_norm, axis=case.axis, eps=RMS_EPS),
    "add_rmsnorm": lambda case, wf: partial(wf.add_rms_norm, axis=case.axis, eps=RMS_EPS),
    "quant_fp8": lambda case, wf: _second(wf.quantize, "f8e4m3fn", axis=case.axis),
    "cross_entropy": lambda _, wf: partial(wf.cross_entropy, reduction="none"),
    "groupnorm": lambda case, wf: _second(wf.group_norm, case.groups, eps=EPS),
    "batchnorm": lambda _, wf: _batch_norm(wf.batch_norm),
    "batchnorm_nhwc": lambda _, wf: _batch_norm(wf.batch_norm),
    "batchnorm_relu": lambda _, wf: _batch_norm(wf.batch_norm, activation="relu"),
    "batchnorm_relu_nhwc": lambda _, wf: _batch_norm(wf.batch_norm, activation="relu"),
    "var_norm_cols": lambda _, wf: _columns(wf.program),
    "cumsum": lambda case, wf: partial(wf.cumulative_sum, axis=case.axis, dtype=case.dtype.name),
    "cummax": lambda case, wf: partial(wf.cummax, axis=case.axis),
    "topk": lambda case, wf: lambda x: wf.topk(x, TOP, axis=case.axis)[0],
    "logcumsumexp": lambda case, wf: partial(wf.logcumsumexp, axis=case.axis),
    "recurrence": lambda case, wf: _recurrence(wf.program, case.axis),
    "relu": lambda _, wf: wf.relu,
    "relu_bits": lambda _, wf: partial(wf.relu, keep="bits"),
    "relu_backward": lambda _, wf: lambda dy, bits, _: wf.relu_backward(dy, bits),
    "add": lambda _, wf: _written(wf.program, "add"),
    "add_relu": lambda _, wf: wf.add_relu,
    "add_relu_bits": lambda _, wf: partial(wf.add_relu, keep="bits"),
    "where": lambda _, wf: _written(wf.program, "where"),
    "dropout": lambda _, wf: lambda x: wf.dropout(x, DROPPED, seed=SEED),
    "dropout_backward": lambda _, wf: lambda dy, bits, _: wf.dropout_backward(dy, bits, p=DROPPED),
    "sum": lambda _, wf: wf.sum,
    "sum_where": lambda _, wf: lambda x, bits, _: wf.sum(x, where=bits),
    "count_nonzero": lambda case, wf: _of_bits(wf.program, "count_nonzero", case.shape),
    "array_equal": lambda case, wf: _of_bits(wf.program, "array_equal", case.shape),
    **dict.fromkeys(("batchnorm_running_relu", "batchnorm_running_relu_nhwc"), lambda _, wf: _running(wf.batch_norm)),
    **dict.fromkeys(("batchnorm_add_relu", "batchnorm_add_relu_nhwc"), lambda case, wf: _added(case, wf.batch_norm)),
    **dict.fromkeys(
        ("batchnorm_add_relu_backward", "batchnorm_add_relu_backward_nhwc"),
        lambda case, wf: _added_backward(case, wf.batch_norm_backward),
    ),
}
"""Warpfold's function for each operation; it takes the inputs of a case in order."""


def _second(function: Callable[..., Any], value: Any, **how: Any) -> Callable[..., Any]:
    """``function`` with ``value`` as its second argument."""
    return lambda x, *more: function(x, value, *more, **how)


def _batch_norm(function: Callable[..., Any], **how: Any) -> Callable[..., Any]:
    return lambda x, w, b: function(x, weight=w, bias=b, training=True, eps=EPS, **how)


def _running(function: Callable[..., Any]) -> Callable[..., Any]:
    """A batch norm whose running statistics become those of the batch, so that each call writes the same."""

    def call(x: Any, w: Any, b: Any, mean: Any, var: Any) -> Any:
        found = function(x, mean, var, w, b, training=True, momentum=1.0, eps=EPS, activation="relu")
        return found.output, mean, var

    return call


def _added(case: ProgramCase, function: Callable[..., Any]) -> Callable[..., Any]:
    """A batch norm, an array added to it, and a ReLU with its bits."""

    def call(x: Any, w: Any, b: Any, z: Any) -> Any:
        how = {"training": True, "eps": EPS, "activation": "relu", "keep": "bits", "channel_axis": _channels(case)}
        found = function(_seen(case, x), None, None, w, b, residual=_seen(case, z), **how)
        return _lain(case, found.output), found.mean, found.var, found.bits

    return call


def _added_backward(case: ProgramCase, function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradients of a batch norm, an array added to it, and a ReLU whose bits were kept."""

    def call(dy: Any, x: Any, mean: Any, var: Any, w: Any, b: Any, bits: Any, _: Any) -> Any:
        how = {"activation": "relu", "residual": True, "eps": EPS, "channel_axis": _channels(case)}
        found = function(_seen(case, dy), _seen(case, x), mean, var, w, b, bits, **how)
        return _lain(case, found.dx), found.dweight, found.dbias, _lain(case, found.dresidual)

    return call


def _channels(case: ProgramCase) -> int:
    """The axis of the channels, for arrays whose axes are in the order of memory, as their bits are."""
    return -1 if case.is_nhwc else 1


def _seen(case: ProgramCase, x: Any) -> Any:
    """An array with its axes in the order of memory."""
    return x.movedim(1, -1) if case.is_nhwc else x


def _lain(case: ProgramCase, x: Any) -> Any:
    """An array with its axes in the order of the case."""
    return x.movedim(-1, 1) if case.is_nhwc else x


def function(case: ProgramCase) -> Callable[..., Any]:
    """Warpfold's function for a case.

    Raises:
        LacksError: warpfold does not have it.
    """
    return FUNCTIONS[case.what](case, Library())


def call(case: ProgramCase, arrays: Sequence[Any]) -> Callable[[], Any]:
    """Warpfold's call for a case; that of a backward alone, after its forward.

    Raises:
        LacksError: warpfold does not have the function.
    """
    if not case.is_backward:
        return partial(function(case), *arrays)
    wf = Library()
    if case.what == "cross_entropy_fwdbwd":
        return partial(wf.value_and_grad(wf.cross_entropy), *arrays)
    given = case.operation.inputs.count("gradient")
    own, gradients = arrays[: len(arrays) - given], arrays[len(arrays) - given :]
    results = max(given, len(case.forward.operation.results))
    # A function of the package, with its parameters in the call: what reads other objects is traced at every call.
    made = FUNCTIONS[case.forward.what](case.forward, import_module("....", __package__))
    forward, how = (made.func, made.keywords) if isinstance(made, partial) else (made, {})
    gradient = wf.vjp(forward, results=results)
    _, kept = gradient.forward(*own, **how)
    return partial(gradient.backward, *gradients, *[None] * (results - given), kept)


def results(found: Any) -> Sequence[Any]:
    """The result arrays of a call, which returns one or a tuple."""
    return found if isinstance(found, tuple) else (found,)
