"""The approximate functions, and rcp with its rounded forms.

ex2 of f32 has the GPU's bits. The others are computed in float64 and rounded once: the result is within the bounds that
the ISA states for the GPU's own approximation, but its bits differ.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..numerics.exponential import exp2, exp2_flushed
from ..numerics.floats import Kernel, arithmetic, canonical, narrow_bf16, narrow_f16, widen, with_flush
from ..numerics.rounding import BF16, F16
from ..ptx.types import Array
from .floating import element, lift
from .op import Builder, Form, Op

Function = Callable[[Array], Array]


def _rsqrt(x: Array) -> Array:
    return np.where(x == 0, np.copysign(np.inf, x), 1.0 / np.sqrt(x))


def _through_f64(function: Function) -> Kernel:
    return lambda x: canonical(function(x.astype(np.float64)).astype(np.float32))


def _narrow(function: Function, type_: str) -> Kernel:
    form, narrow = (F16, narrow_f16) if type_ == "f16" else (BF16, narrow_bf16)
    inner = _through_f64(function)
    return lambda x: narrow(inner(widen(x, form)))


def _upper_half(function: Function) -> Kernel:
    """The f64 approximations: those with .ftz keep the upper 32 bits only, the others are correctly rounded."""
    return lambda x: (function(x).view(np.uint64) & np.uint64(0xFFFFFFFF00000000)).view(np.float64)


def _approximate(function: Function, types: str) -> Builder:
    def build(form: Form) -> Op:
        type_ = form.type(types)
        form.pick("approx")
        scalar = element(type_)
        kernel = _through_f64(function) if scalar == "f32" else _narrow(function, scalar)
        if scalar == "f64":
            kernel = _upper_half(function) if "ftz" in form.left else function
        if form.flag("ftz"):
            kernel = with_flush(kernel, scalar)
        return form.pure(lift(kernel, type_), type_, type_)

    return build


_exp2_of_f64: Builder = _approximate(np.exp2, "f32 f16 f16x2 bf16 bf16x2")


def _exp2(form: Form) -> Op:
    if form.type("f32 f16 f16x2 bf16 bf16x2") != "f32":
        built = _exp2_of_f64(form)
        assert isinstance(built, Op)
        return built
    form.pick("approx")
    return form.pure(exp2_flushed if form.flag("ftz") else exp2, "f32", "f32")


def _reciprocal(x: Array) -> Array:
    return 1.0 / x


def _rcp(form: Form) -> Op:
    if "approx" in form.left:
        return _approximate_rcp(form)
    type_ = form.type("f32 f64")
    divide = arithmetic("div", type_, form.pick("rn", "rz", "rm", "rp"))
    one = np.ones(1, np.float32 if type_ == "f32" else np.float64)
    kernel: Kernel = lambda x: divide(one, x)  # noqa: E731
    return form.pure(with_flush(kernel, type_) if form.flag("ftz") else kernel, type_, type_)


def _approximate_rcp(form: Form) -> Op:
    built = _approximate(_reciprocal, "f32 f64")(form)
    assert isinstance(built, Op)
    return built


TABLE: dict[str, Builder] = {
    "rcp": _rcp,
    "rsqrt": _approximate(_rsqrt, "f32 f64"),
    "ex2": _exp2,
    "lg2": _approximate(np.log2, "f32"),
    "sin": _approximate(np.sin, "f32"),
    "cos": _approximate(np.cos, "f32"),
    "tanh": _approximate(np.tanh, "f32 f16 f16x2 bf16 bf16x2"),
}
