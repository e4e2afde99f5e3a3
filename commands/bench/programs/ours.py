"""What warpfold is called with for a program case: the public functions, as a user calls them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any

from .cases import CHANNELS, ProgramCase

EPS, RMS_EPS = 1e-5, 1e-6
"""What norms add to the variance, and root mean square norms to the mean square."""


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
def _written(program: Callable[..., Callable[..., Any]], name: str) -> Callable[..., Any]:
    """A program of elements that users write themselves."""
    wf = Library()

    def add(x: Any, z: Any) -> Any:
        return x + z

    def where(x: Any, z: Any) -> Any:
        return wf.where(x > 0, x, z)

    return program({"add": add, "where": where}[name])


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
    "relu": lambda _, wf: wf.relu,
    "relu_bits": lambda _, wf: partial(wf.relu, keep="bits"),
    "relu_backward": lambda _, wf: lambda dy, bits, _: wf.relu_backward(dy, bits),
    "add": lambda _, wf: _written(wf.program, "add"),
    "add_relu": lambda _, wf: wf.add_relu,
    "add_relu_bits": lambda _, wf: partial(wf.add_relu, keep="bits"),
    "where": lambda _, wf: _written(wf.program, "where"),
}
"""Warpfold's function for each operation; it takes the inputs of a case in order."""


GRADIENTS = {"add_rmsnorm_bwd": 2}
"""How many results have a gradient, if not one."""


def _second(function: Callable[..., Any], value: Any, **how: Any) -> Callable[..., Any]:
    """``function`` with ``value`` as its second argument."""
    return lambda x, *more: function(x, value, *more, **how)


def _batch_norm(function: Callable[..., Any], **how: Any) -> Callable[..., Any]:
    return lambda x, w, b: function(x, weight=w, bias=b, training=True, eps=EPS, **how)


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
    forward = function(case.forward)
    first = GRADIENTS.get(case.what, 1)
    own, gradients = arrays[: len(arrays) - first], arrays[len(arrays) - first :]
    if case.base in CHANNELS and case.base != "groupnorm":
        x, w, b = own
        _, mean, var = forward(*own)
        activation = "relu" if "relu" in case.base else None
        return partial(wf.batch_norm_backward, *gradients, x, mean, var, w, b, activation=activation, eps=EPS)
    return partial(wf.vjp(forward, results=first), *gradients, *own)


def results(found: Any) -> Sequence[Any]:
    """The result arrays of a call, which returns one or a tuple."""
    return found if isinstance(found, tuple) else (found,)
