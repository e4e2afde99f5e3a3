"""Comparisons and selections: setp, set, selp, slct."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..numerics.floats import flush, widen
from ..numerics.rounding import FORMATS
from ..ptx.types import Array, Not, Operand, Pair, is_float
from .floating import element
from .op import Builder, Form, Op, choose

Test = Callable[[Array, Array], Array]
_TYPES = "b16 u16 s16 b32 u32 s32 b64 u64 s64 f32 f64 f16 bf16"
_ORDERED: dict[str, Test] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip
_OPPOSITE = {"equ": "ne", "neu": "eq", "ltu": "ge", "leu": "gt", "gtu": "le", "geu": "lt"}
_COMBINE = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
_NAMES = (*_ORDERED, *_OPPOSITE, "num", "nan")


def _test(form: Form, name: str, type_: str) -> Test:
    """The comparison ``name``; with a NaN operand an ordered one is false and an unordered one true."""
    if not is_float(type_):
        if name not in _ORDERED:
            raise form.fail(f"expected .{name} with a float type")
        return _ORDERED[name]
    if name == "ne":  # ordered, unlike NumPy's
        return lambda a, b: (a < b) | (a > b)
    if name == "num":
        return lambda a, b: ~(np.isnan(a) | np.isnan(b))
    if name == "nan":
        return lambda a, b: np.isnan(a) | np.isnan(b)
    if name == "neu":
        return np.not_equal
    if name == "equ":
        return lambda a, b: ~((a < b) | (a > b))
    if name in _OPPOSITE:
        opposite = _ORDERED[_OPPOSITE[name]]
        return lambda a, b: ~opposite(a, b)
    if name not in ("eq", "lt", "le", "gt", "ge"):
        raise form.fail(f"expected .{name} with an unsigned type")
    return _ORDERED[name]


def _comparison(form: Form, type_: str) -> Test:
    test = _test(form, form.pick(*_NAMES), type_)
    if type_ in ("f16", "bf16"):
        inner, narrow = test, FORMATS[type_]
        test = lambda a, b: inner(widen(a, narrow), widen(b, narrow))  # noqa: E731
    if form.flag("ftz") and type_ == "f32":
        plain = test
        return lambda a, b: plain(flush(a), flush(b))
    return test


def _setp(form: Form) -> Op:
    packed = form.left and form.left[-1] in ("f16x2", "bf16x2")
    type_ = form.type(_TYPES + " f16x2 bf16x2")
    test = _comparison(form, element(type_))
    combine = _COMBINE.get(form.pick("and", "or", "xor", default=""))
    d, a, b, *c = form.operands(4 if combine else 3)
    reads: tuple[tuple[Operand, str], ...] = ((a, type_), (b, type_), *((x, "pred") for x in c))
    if packed:
        return _setp_packed(form, d, reads, test, combine)
    if not isinstance(d, Pair):
        if combine is None:
            return Op(reads, ((d, "pred"),), test)
        return Op(reads, ((d, "pred"),), lambda x, y, p: combine(test(x, y), p))

    def run(x: Array, y: Array, *p: Array) -> tuple[Array, Array]:
        t = test(x, y)
        return (combine(t, p[0]), combine(~t, p[0])) if combine else (t, ~t)

    return Op(reads, ((d.first, "pred"), (d.second, "pred")), run)


def _setp_packed(
    form: Form, d: Operand, reads: tuple[tuple[Operand, str], ...], test: Test, combine: Callable[..., Array] | None
) -> Op:
    """setp on pairs: the first predicate for the low half, the second for the high half."""
    if not isinstance(d, Pair):
        raise form.fail("expected a pair of predicates p|q")

    def run(x: Array, y: Array, *p: Array) -> tuple[Array, Array]:
        t = test(x.view(np.uint16).reshape(-1, 2), y.view(np.uint16).reshape(-1, 2))
        low, high = t[:, 0], t[:, 1]
        return (combine(low, p[0]), combine(high, p[0])) if combine else (low, high)

    return Op(reads, ((d.first, "pred"), (d.second, "pred")), run)


def _set_packed(form: Form) -> Op:
    """set on pairs: compares both halves; true is 1.0 or, in an integer, all ones."""
    type_ = form.type("f16x2 bf16x2")
    result = form.type(f"{type_} u32 s32")
    test = _comparison(form, element(type_))
    combine = _COMBINE.get(form.pick("and", "or", "xor", default=""))
    true = np.uint16({"f16x2": 0x3C00, "bf16x2": 0x3F80}.get(result, 0xFFFF))

    def run(x: Array, y: Array, *p: Array) -> Array:
        t = test(*(np.ascontiguousarray(v).view(np.uint16).reshape(-1, 2) for v in (x, y)))
        t = combine(t, p[0][:, None]) if combine else t
        return np.ascontiguousarray(np.where(t, true, np.uint16(0))).view(np.uint32).reshape(-1)

    return form.pure(run, "b32", type_, type_, *(["pred"] if combine else []))


def _set(form: Form) -> Op:
    if form.left and form.left[-1] in ("f16x2", "bf16x2"):
        return _set_packed(form)
    type_ = form.type(_TYPES)
    result = form.type("u32 s32 f32 u16 s16 f16 bf16")
    test = _comparison(form, type_)
    combine = _COMBINE.get(form.pick("and", "or", "xor", default=""))
    ones: dict[str, Any] = {"f32": np.uint32(0x3F800000), "f16": np.uint16(0x3C00), "bf16": np.uint16(0x3F80)}
    bits = f"b{16 if result in ('u16', 's16', 'f16', 'bf16') else 32}"
    full: Any = np.uint16(0xFFFF) if bits == "b16" else np.uint32(0xFFFFFFFF)
    true = ones.get(result, full)

    def run(x: Array, y: Array, *p: Array) -> Array:
        t = combine(test(x, y), p[0]) if combine else test(x, y)
        result: Array = np.where(t, true, true.dtype.type(0))
        return result

    return form.pure(run, bits, type_, type_, *(["pred"] if combine else []))


def _selp(form: Form) -> Op:
    type_ = form.type("b16 u16 s16 b32 u32 s32 b64 u64 s64 f32 f64 f16 bf16")
    if isinstance(form.operand(-1), Not):
        raise form.fail("expected a plain predicate")
    return form.pure(lambda a, b, p: choose(p, a, b), type_, type_, type_, "pred")


def _slct(form: Form) -> Op:
    chooser = form.type("s32 f32")
    type_ = form.type("b16 u16 s16 b32 u32 s32 b64 u64 s64 f32 f64")
    flushed = form.flag("ftz")

    def run(a: Array, b: Array, c: Array) -> Array:
        return choose((flush(c) if flushed else c) >= 0, a, b)

    return form.pure(run, type_, type_, type_, chooser)


TABLE: dict[str, Builder] = {"setp": _setp, "set": _set, "selp": _selp, "slct": _slct}
