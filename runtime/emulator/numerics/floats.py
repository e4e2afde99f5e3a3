"""Float arithmetic on arrays of one PTX type: f32, f64, and f16/bf16 as uint16 codes; every rounding mode.

NaN results follow an H200. For f32, f16 and bf16 they are the canonical 0x7fffffff and 0x7fff. For f64 an invalid
operation gives 0xfff8000000000000; otherwise the result is a NaN operand, quieted: the addend of an fma, or else the
first NaN. x86 does the same, except that it does not prefer the addend.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ptx.types import Array
from .rounding import (
    F16,
    F32,
    F32_NAN,
    FORMATS,
    Format,
    decode,
    encode,
    fma_f64,
    odd_add,
    odd_div,
    odd_fma,
    odd_sqrt,
    slow_f64,
    to_odd,
    two_sum,
)

Kernel = Callable[..., Array]
_NATIVE: dict[str, Kernel] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "sqrt": np.sqrt,
    "fma": lambda a, b, c: np.where(np.isnan(c), c + a * b, a * b + c),  # the addend's NaN comes first
}  # fmt: skip
_EXPONENT32, _SIGN32 = np.uint32(0x7F800000), np.uint32(0x80000000)
_NORMAL32 = np.float32(2.0**-126)


def has_nan(x: Array) -> bool:
    """Whether any float of ``x`` is NaN. The maximum then is, which takes one pass and no array."""
    top = x.item() if x.size == 1 else np.maximum.reduce(x, axis=None, initial=0)
    return bool(top != top)


def canonical(x: Array) -> Array:
    """f32 ``x`` with every NaN as 0x7fffffff."""
    if has_nan(x):
        x = np.where(np.isnan(x), F32_NAN, x.view(np.uint32)).view(np.float32)
    return x


def flush(x: Array) -> Array:
    """f32 ``x`` with subnormals as zeros of their sign."""
    bits = x.view(np.uint32)
    return np.where((bits & _EXPONENT32) == 0, bits & _SIGN32, bits).view(np.float32)


def saturate(x: Array) -> Array:
    """``x`` clamped to [0, 1]; NaN becomes +0."""
    result: Array = np.where(x > 0, np.minimum(x, x.dtype.type(1)), x.dtype.type(0))
    return result


def fma_f32(a: Array, b: Array, c: Array) -> Array:
    """f32 fma with one rounding. The float64 sum is right unless it is midway between two f32, or subnormal."""
    product = a.astype(np.float64) * b
    total = product + c
    result = total.astype(np.float32)
    tie = (total.view(np.uint64) & np.uint64(0x1FFFFFFF)) == np.uint64(0x10000000)
    small = np.abs(result) < _NORMAL32
    if np.count_nonzero(small):
        tie |= small & (total != 0)
    at = np.flatnonzero(tie)
    if at.size:
        p, d = (
            v.take(at) if v.shape == total.shape else np.broadcast_to(v, total.shape).reshape(-1)[at]
            for v in (product, c.astype(np.float64))
        )
        result.reshape(-1)[at] = to_odd(*two_sum(p, d)).astype(np.float32)
    return canonical(result)


def arithmetic(name: str, type_: str, mode: str) -> Kernel:
    """The kernel of add, sub, mul, div, sqrt or fma on ``type_`` with rounding ``mode``."""
    if type_ == "f64":
        return _f64(name, mode)
    if type_ == "f32" and mode == "rn":
        native = _NATIVE[name]
        return fma_f32 if name == "fma" else lambda *xs: canonical(native(*xs))
    form = FORMATS[type_]
    odd = _odd(name, mode)
    if type_ == "f32":
        return lambda *xs: _as_f32(encode(odd(*(x.astype(np.float64) for x in xs)), F32, mode))
    if mode == "rn" and name in ("add", "sub", "mul") and form is F16:
        native = _NATIVE[name]  # float32 holds any f16 product and sum well enough that a second rounding is harmless
        return lambda *xs: narrow_f16(native(*(x.view(np.float16).astype(np.float32) for x in xs)))
    return lambda *xs: encode(odd(*(decode(x, form) for x in xs)), form, mode).astype(np.uint16)


def _as_f32(code: Array) -> Array:
    return code.astype(np.uint32).view(np.float32)


def _odd(name: str, mode: str) -> Kernel:
    """The operation in float64, rounded to odd; its operands come from a narrower format."""
    kernels: dict[str, Kernel] = {
        "add": lambda a, b: odd_add(a, b, mode),
        "sub": lambda a, b: odd_add(a, -b, mode),
        "mul": np.multiply,
        "div": odd_div,
        "sqrt": odd_sqrt,
        "fma": lambda a, b, c: odd_fma(a, b, c, mode),
    }
    return kernels[name]


def _f64(name: str, mode: str) -> Kernel:
    native = _NATIVE[name]
    if mode != "rn":
        return lambda *xs: slow_f64(name, mode, list(xs), native(*xs))
    return fma_f64 if name == "fma" else native


def narrow_f16(x: Array) -> Array:
    """f32 to f16 codes, to nearest."""
    code = x.astype(np.float16).view(np.uint16)
    return np.where(np.isnan(x), np.uint16(0x7FFF), code) if has_nan(x) else code


def narrow_bf16(x: Array) -> Array:
    """f32 to bf16 codes, to nearest, by the carry into the upper half."""
    bits = x.view(np.uint32)
    code = ((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)).astype(np.uint16)
    return np.where(np.isnan(x), np.uint16(0x7FFF), code) if has_nan(x) else code


def widen(code: Array, form: Format) -> Array:
    """f16 or bf16 codes as f32, exactly; NaNs are canonical."""
    if form is F16:
        return canonical(code.view(np.float16).astype(np.float32))
    return canonical((code.astype(np.uint32) << np.uint32(16)).view(np.float32))


def truncated(name: str, type_: str) -> Kernel | None:
    """The kernel that tells a result below the normal numbers before rounding, where a product may round up to one."""
    return arithmetic(name, type_, "rz") if name in ("mul", "fma") and type_ in ("f32", "f16") else None


def with_flush(kernel: Kernel, type_: str, before_rounding: Kernel | None = None) -> Kernel:
    """``kernel`` under ``.ftz``: subnormal operands and results count as zeros of their sign (f32 and f16).

    The GPU looks at the result before rounding; ``before_rounding`` is the kernel that truncates, if that can differ.
    """
    if type_ not in ("f32", "f16"):
        return kernel
    flat = flush if type_ == "f32" else _flush16
    least = np.uint32(0x00800000) if type_ == "f32" else np.uint16(0x0400)
    sign = np.uint32(0x80000000) if type_ == "f32" else np.uint16(0x8000)

    def run(*xs: Array) -> Array:
        ys = [flat(x) for x in xs]
        result = flat(kernel(*ys))
        bits = result.view(least.dtype)
        barely = (bits & ~sign) == least
        if before_rounding is not None and barely.any():
            below = barely & ((before_rounding(*ys).view(least.dtype) & ~sign) < least)
            result = np.where(below, bits & sign, bits).view(result.dtype)
        return result

    return run


def _flush16(code: Array) -> Array:
    return np.where((code & np.uint16(0x7C00)) == 0, code & np.uint16(0x8000), code)


def with_saturate(kernel: Kernel, type_: str) -> Kernel:
    """``kernel`` under ``.sat``."""
    if type_ in ("f32", "f64"):
        return lambda *xs: saturate(kernel(*xs))
    form = FORMATS[type_]
    narrow = narrow_f16 if form is F16 else narrow_bf16
    return lambda *xs: narrow(saturate(widen(kernel(*xs), form)))


def with_relu(kernel: Kernel, type_: str) -> Kernel:
    """``kernel`` under ``.relu`` on f16/bf16: negative results are +0, NaN stays canonical."""
    form = FORMATS[type_]

    def run(*xs: Array) -> Array:
        code = kernel(*xs)
        negative = (code & np.uint16(0x8000) != 0) & (code & np.uint16(0x7FFF) <= form.infinity)
        return np.where(negative, np.uint16(0), code)

    return run


def magnitude(kernel: str, type_: str) -> Kernel:
    """abs and neg: the sign bit changes; a NaN becomes the canonical one, or stays unchanged in f64."""
    words: dict[str, tuple[Any, int, int]] = {"f32": (np.uint32, 31, 0x7F800000), "f64": (np.uint64, 63, 0x7FF << 52)}
    wide, sign, infinity = words.get(type_, (np.uint16, 15, FORMATS[type_].infinity if type_ in FORMATS else 0))
    bit, top = wide(1 << sign), wide(infinity)

    def run(x: Array) -> Array:
        bits = x.view(wide)
        size = bits & ~bit
        changed = size if kernel == "abs" else bits ^ bit
        special = size > top
        if special.any():
            changed = np.where(special, bits if type_ == "f64" else ~bit, changed)
        result: Array = changed.view(x.dtype)
        return result

    return run


def extreme(name: str, type_: str, nan: bool, xorsign: bool, absolute: bool = False) -> Kernel:
    """min or max. -0 is below +0; a NaN loses to a number unless ``nan``; ``xorsign`` takes the product of signs."""
    if type_ not in ("f32", "f64"):
        form = FORMATS[type_]
        inner = extreme(name, "f32", nan, xorsign, absolute)
        narrow = narrow_f16 if form is F16 else narrow_bf16
        return lambda *xs: narrow(inner(*(widen(x, form) for x in xs)))
    wide = np.uint32 if type_ == "f32" else np.uint64
    picks: tuple[Kernel, Kernel] = (np.minimum, np.fmin) if name == "min" else (np.maximum, np.fmax)
    pick = picks[0] if nan else picks[1]
    zeros: Kernel = np.bitwise_or if name == "min" else np.bitwise_and
    sign = wide(1 << (31 if type_ == "f32" else 63))

    def run(a: Array, b: Array) -> Array:
        x, y = (np.abs(a), np.abs(b)) if xorsign or absolute else (a, b)
        r = pick(x, y)
        equal = x == y  # for equal operands the bits differ only for zeros, whose sign decides
        if np.count_nonzero(equal):
            r = np.where(equal, zeros(x.view(wide), y.view(wide)).view(a.dtype), r)
        if nan and type_ == "f64":
            r = np.where(np.isnan(r), np.nan, r)
        if xorsign:
            r = (r.view(wide) | ((a.view(wide) ^ b.view(wide)) & sign)).view(a.dtype)
        return canonical(r) if type_ == "f32" else r

    return run
