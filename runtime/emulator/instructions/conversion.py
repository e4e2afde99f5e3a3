"""cvt between all integer and float types, and cvt.pack.

A float is rounded to an integer as the modifier says, and clamped to the range of the type. A NaN becomes 0 or, where
the source or the result has 64 bits, the number with only the top bit set, as on the GPU. A NaN from f64 or bf16 keeps
its sign and the part of its payload that fits; other NaNs become the canonical one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..numerics.floats import canonical, flush, narrow_bf16, narrow_f16, saturate
from ..numerics.rounding import BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, F32, FORMATS, TF32, decode, encode, slow_f64
from ..ptx.types import DTYPE, WIDTH, Array, Operand, is_float, is_signed
from .op import Builder, Form, Op

Convert = Callable[[Array], Array]
_INTS = "u8 s8 u16 s16 u32 s32 u64 s64"
_ALL = f"{_INTS} f16 bf16 f32 f64"
_TO_INTEGER: dict[str, Convert] = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_SMALL = {"e4m3x2": E4M3, "e5m2x2": E5M2, "e2m3x2": E2M3, "e3m2x2": E3M2, "e2m1x2": E2M1}
_PAIRS = {"f16x2": F16, "bf16x2": BF16, **_SMALL}


def _cvt(form: Form) -> Op:
    if form.left and form.left[0] == "pack":
        return _cvt_pack(form)
    if len(form.left) >= 2 and (form.left[-2] in _PAIRS or form.left[-1] in _PAIRS):
        return _cvt_pair(form)
    source = form.type(_ALL)
    target = form.type(_ALL + " tf32")
    if target == "tf32":
        return _cvt_tf32(form, source)
    if is_float(target):
        convert = _float_to_float(form, target, source) if is_float(source) else _integer_to_float(form, target)
    elif is_float(source):
        convert = _float_to_integer(form, target, source)
    else:
        convert = _integer_to_integer(target, form.flag("sat"))
    return form.pure(convert, target, source)


def _integer_to_integer(target: str, saturated: bool) -> Convert:
    dtype = DTYPE[target]
    if not saturated:
        return lambda x: x.astype(dtype)
    info = np.iinfo(dtype)

    def run(x: Array) -> Array:
        least, most = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
        return np.clip(x, max(least, info.min), min(most, info.max)).astype(dtype)

    return run


def _integer_to_float(form: Form, target: str) -> Convert:
    mode = form.pick("rn", "rz", "rm", "rp")
    unit = form.flag("sat")

    def run(x: Array) -> Array:
        return to_float(_odd_f64(x) if target != "f64" else x, target, mode)

    return (lambda x: _unit(run(x), target)) if unit else run


def _odd_f64(x: Array) -> Array:
    """Integers as float64, rounded to odd if they do not fit, so that a narrower format can round them again."""
    value = x.astype(np.float64)
    if x.dtype.itemsize < 8:
        return value
    # 11 low bits folded into one sticky bit leave a number of 54 bits, whose lowest is dropped exactly by the fold
    negative = x < 0 if x.dtype.kind == "i" else np.zeros(x.shape, bool)
    size = np.where(negative, (~x.view(np.uint64)) + np.uint64(1), x.view(np.uint64))
    big = size >> np.uint64(53) != 0
    sticky = (size & ~np.uint64(0xFFF)) | ((size & np.uint64(0xFFF)) != 0).astype(np.uint64) << np.uint64(12)
    folded = np.where(big, sticky, size).astype(np.float64)
    return np.where(negative, -folded, folded)


def to_float(x: Array, target: str, mode: str, payload: bool = False) -> Array:
    """``x`` (float64, or integers when the target is f64) rounded to ``target``; ``payload`` as in ``encode``."""
    if target == "f64":
        near = x.astype(np.float64)
        return near if mode == "rn" else _directed_integers(x, near, mode)
    if target == "f32":
        if mode == "rn":
            return x.astype(np.float32) if payload else canonical(x.astype(np.float32))
        return encode(x, F32, mode, payload=payload).astype(np.uint32).view(np.float32)
    return encode(x, FORMATS[target], mode, payload=payload).astype(np.uint16)


def _directed_integers(x: Array, near: Array, mode: str) -> Array:
    """64-bit integers as float64 in a directed mode: the exact sum of their halves, rounded."""
    if x.dtype.itemsize < 8:
        return near
    high = (x >> x.dtype.type(32)).astype(np.float64) * 4294967296.0
    low = (x & x.dtype.type(0xFFFFFFFF)).astype(np.float64)
    return slow_f64("add", mode, [high, low], near)


def _unit(x: Array, target: str) -> Array:
    if target in ("f32", "f64"):
        return saturate(x)
    clamped = saturate(decode(x, FORMATS[target]))
    return encode(clamped, FORMATS[target]).astype(np.uint16)


def _float_to_integer(form: Form, target: str, source: str) -> Convert:
    mode = form.pick("rni", "rzi", "rmi", "rpi")
    flushed = form.flag("ftz") and source == "f32"
    form.drop("sat")  # float to integer always clamps
    rounded, dtype = _TO_INTEGER[mode], DTYPE[target]
    info = np.iinfo(dtype)
    top = 1 << WIDTH[target] - 1
    nan = (-top if is_signed(target) else top) if source == "f64" or WIDTH[target] == 64 else 0
    past = float(info.max) if WIDTH[target] < 64 else float(2 ** (63 if target == "s64" else 64))

    def run(x: Array) -> Array:
        value = rounded(widened(flush(x) if flushed else x, source))
        inside = np.where(np.isnan(value) | (value >= past) | (value <= info.min), 0.0, value)
        out = inside.astype(dtype)
        out = np.where(value >= past, dtype.type(info.max), np.where(value <= info.min, dtype.type(info.min), out))
        return np.where(np.isnan(value), dtype.type(nan), out)

    return run


def widened(x: Array, source: str) -> Array:
    """``x`` of a float type as float64."""
    return x.astype(np.float64) if source in ("f32", "f64") else decode(x, FORMATS[source])


def _float_to_float(form: Form, target: str, source: str) -> Convert:
    whole = form.pick("rni", "rzi", "rmi", "rpi", default="")
    mode = form.pick("rn", "rz", "rm", "rp", default="rn")
    flushed, unit, relu = form.flag("ftz"), form.flag("sat"), form.flag("relu")
    finite = form.flag("satfinite")
    if flushed and source not in ("f32", "f64") and target != "f32":
        raise form.fail("expected .ftz with an f32 operand or result")

    def run(x: Array) -> Array:
        if flushed and source == "f32":
            x = flush(x)
        result = _exactly(x, target, source, whole, mode, finite)
        if flushed and target == "f32":
            result = flush(result)
        if relu:
            result = _relu(result)
        return _unit(result, target) if unit else result

    return run


def _exactly(x: Array, target: str, source: str, whole: str, mode: str, finite: bool) -> Array:
    if source == target and not whole:
        return x
    if source == "f32" and mode == "rn" and not whole and not finite and target in ("f16", "bf16"):
        return narrow_f16(x) if target == "f16" else narrow_bf16(x)
    if source == "f32" and target == "f64" and not whole:
        return x.astype(np.float64)
    if source == "bf16" and target == "f32" and not whole:
        return (x.astype(np.uint32) << np.uint32(16)).view(np.float32)
    value = widened(x, source)
    if whole:
        value = _TO_INTEGER[whole](value)
    if finite:
        return encode(value, FORMATS[target], mode, True).astype(np.uint16)
    if target == "f64":
        return value * 1.0 if source != "f64" else value  # a multiplication quiets a NaN and keeps -0
    return to_float(value, target, mode, payload=source == "f64")


def _relu(code: Array) -> Array:
    sign = np.uint16(0x8000)
    return np.where((code & sign != 0) & (code != np.uint16(0x7FFF)), np.uint16(0), code)


def _cvt_tf32(form: Form, source: str) -> Op:
    mode = form.pick("rna", "rn", "rz")
    finite, relu = form.flag("satfinite"), form.flag("relu")
    if source != "f32":
        raise form.fail("expected .f32 as the source of .tf32")

    def run(x: Array) -> Array:
        code = encode(x.astype(np.float64), TF32, mode, finite)
        if mode == "rna":  # the oldest form lets NaN bits through
            code = np.where(np.isnan(x), x.view(np.uint32).astype(np.uint64) >> np.uint64(13), code)
        if relu:
            code = np.where(code >> np.uint64(18) != 0, np.uint64(0), code)
        return (code << np.uint64(13)).astype(np.uint32)

    return form.pure(run, "b32", "f32")


def _cvt_pair(form: Form) -> Op:
    """Conversions to a pair, from two f32 or from a pair."""
    source = form.type(" ".join(["f32", *_PAIRS]))
    target = form.type(" ".join(_PAIRS))
    mode = form.pick("rn", "rz", default="rn")
    finite, relu = form.flag("satfinite"), form.flag("relu")
    form_to = _PAIRS[target]
    small = target in _SMALL

    def one(value: Array) -> Array:
        code = encode(value, form_to, mode, finite or small)
        if relu:
            negative = code >> np.uint64(form_to.width - 1) != 0
            code = np.where(negative & ~np.isnan(value), np.uint64(0), code)
        return code

    if source == "f32":
        return _pack_two(form, target, one)
    return form.pure(lambda x: _each_half(x, source, target, one), target, source)


def _pack_two(form: Form, target: str, one: Convert) -> Op:
    d, a, b = form.operands(3)
    dtype, width = DTYPE[target], np.uint64(WIDTH[target] // 2)

    def run(x: Array, y: Array) -> Array:
        high, low = one(x.astype(np.float64)), one(y.astype(np.float64))
        return ((high << width) | low).astype(dtype)

    reads: tuple[tuple[Operand, str], ...] = ((a, "f32"), (b, "f32"))
    return Op(reads, ((d, target),), run)


def _each_half(x: Array, source: str, target: str, one: Convert) -> Array:
    form_from, width = _PAIRS[source], np.uint64(WIDTH[source] // 2)
    bits, mask = x.astype(np.uint64), np.uint64((1 << form_from.width) - 1)
    low, high = (one(decode(half & mask, form_from)) for half in (bits, bits >> width))
    return ((high << np.uint64(WIDTH[target] // 2)) | low).astype(DTYPE[target])


def _cvt_pack(form: Form) -> Op:
    """cvt.pack.sat: narrows two s32 values into a register; a third operand gives the bits above them."""
    form.flag("pack")
    form.flag("sat")
    third = form.type("b32 s32")
    three = third == "b32"
    if three:
        form.type("s32")
    target = form.type("u16 s16 u8 s8 u4 s4 u2 s2")
    if target in ("u4", "s4", "u2", "s2"):
        raise form.fail("expected a packed type of 8 or 16 bits")
    info, width = np.iinfo(DTYPE[target]), np.uint32(WIDTH[target])

    def run(a: Array, b: Array, *c: Array) -> Array:
        high, low = (np.clip(v, info.min, info.max).astype(np.uint32) & np.uint32(2**width - 1) for v in (a, b))
        pair = (high << width) | low
        return pair | (c[0] << (width + width)) if c else pair

    return form.pure(run, "b32", "s32", "s32", *(["u32"] if three else []))


TABLE: dict[str, Builder] = {"cvt": _cvt}
