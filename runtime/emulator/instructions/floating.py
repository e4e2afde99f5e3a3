"""Float forms of add, sub, mul, div, fma, min, max, abs, neg and the float-only sqrt, copysign, testp."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from ..numerics.floats import (
    Kernel,
    arithmetic,
    extreme,
    magnitude,
    truncated,
    widen,
    with_flush,
    with_relu,
    with_saturate,
)
from ..numerics.rounding import FORMATS
from ..ptx.types import Array
from .op import Builder, Form, Op, always, typed

_SCALARS = "f32 f64 f16 bf16"
_PACKED: dict[str, tuple[str, np.dtype[Any]]] = {
    "f16x2": ("f16", np.dtype("u2")),
    "bf16x2": ("bf16", np.dtype("u2")),
    "f32x2": ("f32", np.dtype("f4")),
}


def pairwise(kernel: Kernel, part: np.dtype[Any]) -> Kernel:
    """``kernel`` applied to the two halves of packed registers."""

    def run(*xs: Array) -> Array:
        halves = [np.ascontiguousarray(x).view(part).reshape(-1, 2) for x in xs]
        return np.ascontiguousarray(kernel(*halves)).view(xs[0].dtype).reshape(-1)

    return run


def element(type_: str) -> str:
    """The scalar type of a packed one."""
    return _PACKED[type_][0] if type_ in _PACKED else type_


def lift(kernel: Kernel, type_: str) -> Kernel:
    """``kernel`` of the element type, for registers of ``type_``."""
    return pairwise(kernel, _PACKED[type_][1]) if type_ in _PACKED else kernel


def arithmetic_form(name: str, arity: int) -> Builder:
    """The builder of a rounded operation; div and sqrt also have approximate forms."""

    def build(form: Form) -> Op:
        type_ = form.type(f"{_SCALARS} f16x2 bf16x2 f32x2")
        if form.left[-1:] == ["f32"] and type_ in ("f16", "bf16") and name in ("add", "sub", "fma"):
            return _mixed(form, name, type_)
        scalar = element(type_)
        approximate = name in ("div", "sqrt") and form.pick("approx", "full", default="") != ""
        mode = form.pick("rn", "rz", "rm", "rp", default="rn")
        kernel = arithmetic(name, scalar, "rn" if approximate else mode)
        if form.flag("ftz"):
            kernel = with_flush(kernel, scalar, None if approximate else truncated(name, scalar))
        if form.flag("sat"):
            kernel = with_saturate(kernel, scalar)
        if scalar in ("f16", "bf16") and name == "fma" and form.flag("relu"):
            kernel = with_relu(kernel, scalar)
        form.drop(*(["noftz"] if scalar == "f16" else []))
        return form.pure(lift(kernel, type_), type_, *[type_] * arity)

    return build


def _mixed(form: Form, name: str, type_: str) -> Op:
    """add, sub and fma in f32 with f16 or bf16 operands, all but the last, which are widened first."""
    form.type("f32")
    kernel = arithmetic(name, "f32", form.pick("rn", "rz", "rm", "rp", default="rn"))
    if form.flag("sat"):
        kernel = with_saturate(kernel, "f32")
    narrow = FORMATS[type_]
    parts = [type_] * (2 if name == "fma" else 1)
    return form.pure(lambda *xs: kernel(*(widen(x, narrow) for x in xs[:-1]), xs[-1]), "f32", *parts, "f32")


def extreme_form(name: str) -> Builder:
    """The builder of float min and max, of two or three operands."""

    def build(form: Form) -> Op:
        type_ = form.type(f"{_SCALARS} f16x2 bf16x2")
        scalar = element(type_)
        nan, xorsign = form.flag("NaN"), form.flag("xorsign")
        absolute = form.flag("abs")
        kernel = extreme(name, scalar, nan, xorsign, absolute)
        flushed = with_flush(kernel, scalar) if form.flag("ftz") else kernel
        arity = len(form.ins.operands) - 1
        if arity not in (2, 3):
            raise form.fail(f"expected 3 or 4 operands, got {arity + 1}")
        return form.pure(lift(lambda *xs: reduce(flushed, xs), type_), type_, *[type_] * arity)

    return build


def magnitude_form(name: str) -> Builder:
    """The builder of float abs and neg."""

    def build(form: Form) -> Op:
        type_ = form.type(f"{_SCALARS} f16x2 bf16x2")
        kernel = magnitude(name, element(type_))
        if form.flag("ftz"):
            kernel = with_flush(kernel, element(type_))
        return form.pure(lift(kernel, type_), type_, type_)

    return build


def _testp(form: Form) -> Op:
    type_ = form.type("f32 f64")
    tiny = np.finfo(np.float32 if type_ == "f32" else np.float64).tiny
    tests: dict[str, Kernel] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda x: ~np.isnan(x),
        "notanumber": np.isnan,
        "normal": lambda x: np.isfinite(x) & ((x == 0) | (np.abs(x) >= tiny)),  # the GPU counts zero as normal
        "subnormal": lambda x: (x != 0) & (np.abs(x) < tiny),
    }
    return form.pure(tests[form.pick(*tests)], "pred", type_)


TABLE: dict[str, Builder] = {
    "sqrt": arithmetic_form("sqrt", 1),
    "copysign": typed("f32 f64", always(lambda a, b: np.copysign(b, a)), "t t"),
    "testp": _testp,
}
