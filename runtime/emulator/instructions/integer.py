"""Integer arithmetic: modular add, sub, mul and mad with carries, division, extremes, dot products.

SIMD video instructions, of which compilers still emit vabsdiff2 and vabsdiff4: differences of parts of a word.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from ..ptx.types import CARRY, DTYPE, WIDTH, Array, Operand, is_signed
from .op import Builder, Form, Op, always, typed


def _vabsdiff(parts: int) -> Builder:
    """The absolute differences of the parts or, with .add, their sum plus an addend; .sat clamps each difference."""
    size = 4 // parts

    def numbers(x: Array, type_: str) -> Array:
        kind = "i" if type_ == "s32" else "u"
        return np.ascontiguousarray(x).view(f"{kind}{size}").reshape(-1, parts).astype(np.int64)

    def build(form: Form) -> Op:
        adds, saturates = form.flag("add"), form.flag("sat")
        b_type, a_type, d_type = form.type("u32 s32"), form.type("u32 s32"), form.type("u32 s32")
        bounds = np.iinfo(f"{'i' if d_type == 's32' else 'u'}{size}")

        def run(a: Array, b: Array, c: Array) -> Array:
            apart = np.abs(numbers(a, a_type) - numbers(b, b_type))
            apart = np.clip(apart, bounds.min, bounds.max) if saturates else apart
            if adds:
                total: Array = apart.sum(axis=1).astype(np.uint32) + c
                return total
            return np.ascontiguousarray(apart.astype(f"u{size}")).view(np.uint32).reshape(-1)

        return form.pure(run, "u32", "u32", "u32", "u32")

    return build


_VIDEO: dict[str, Builder] = {"vabsdiff2": _vabsdiff(2), "vabsdiff4": _vabsdiff(4)}


_INTS = "u16 s16 u32 s32 u64 s64"
_PAIRS = "u16x2 s16x2"
_M32 = np.uint64(0xFFFFFFFF)


def unsigned(type_: str) -> str:
    """The unsigned type of the same width: registers are unsigned, so no view is needed."""
    return f"u{WIDTH[type_]}"


def _packed(kernel: Callable[..., Array], type_: str) -> Callable[..., Array]:
    part = DTYPE[type_[:3]]

    def run(*xs: Array) -> Array:
        halves = [x.view(part).reshape(-1, 2) for x in xs]
        return np.ascontiguousarray(kernel(*halves)).view(xs[0].dtype).reshape(-1)

    return run


def _sum(name: str) -> Builder:
    native = np.add if name == "add" else np.subtract

    def build(form: Form) -> Op:
        type_ = form.type(f"{_INTS} {_PAIRS}")
        if form.flag("cc"):
            return carry(form, name, type_, False, True)
        if type_ in _PAIRS.split():
            return form.pure(_packed(native, type_), type_, type_, type_)
        if form.flag("sat"):
            if type_ != "s32":
                raise form.fail("expected .sat with .s32 only")
            return form.pure(lambda a, b: _clip32(native(a.astype(np.int64), b)), "s32", "s32", "s32")
        u = unsigned(type_)
        return form.pure(native, u, u, u)

    return build


def _clip32(x: Array) -> Array:
    return np.clip(x, -(2**31), 2**31 - 1).astype(np.int32)


add, sub = _sum("add"), _sum("sub")


def carry(form: Form, name: str, type_: str, take: bool, give: bool) -> Op:
    """add and sub through the carry flag; ``take`` reads it, ``give`` writes it.

    A difference is the sum with the complement and one, so the flag that sub leaves is set when nothing was borrowed.
    The ISA says borrow-out, but nvcc's own 128-bit division reads the flag of a subc with an addc, and means this.
    """
    u = unsigned(type_)
    d, a, b = form.operands(3)
    plain = DTYPE[u].type(name == "sub")

    def run(x: Array, y: Array, *flag: Array) -> Array | tuple[Array, Array]:
        bit = flag[0].astype(x.dtype) if flag else plain
        total = x + (~y if name == "sub" else y)
        result = total + bit
        out = (total < x) | (result < total)
        return (result, out) if give else result

    reads: list[tuple[Operand, str]] = [(a, u), (b, u)]
    writes: list[tuple[Operand, str]] = [(d, u)]
    return Op(
        tuple(reads + ([(CARRY, "pred")] if take else [])), tuple(writes + ([(CARRY, "pred")] if give else [])), run
    )


def _carried(name: str) -> Builder:
    def build(form: Form) -> Op:
        type_ = form.type("u32 s32 u64 s64")
        return carry(form, name, type_, True, form.flag("cc"))

    return build


def high_half(a: Array, b: Array) -> Array:
    """The upper 64 bits of a product of unsigned 64-bit numbers, from 32-bit halves."""
    a0, a1, b0, b1 = a & _M32, a >> np.uint64(32), b & _M32, b >> np.uint64(32)
    middle = a1 * b0 + (a0 * b0 >> np.uint64(32))
    low = a0 * b1 + (middle & _M32)
    result: Array = a1 * b1 + (middle >> np.uint64(32)) + (low >> np.uint64(32))
    return result


def _high(type_: str) -> Callable[[Array, Array], Array]:
    width = WIDTH[type_]
    if width < 64:
        wide = DTYPE[f"{type_[0]}{2 * width}"]
        return lambda a, b: ((a.astype(wide) * b) >> wide.type(width)).astype(a.dtype)
    if type_ == "u64":
        return high_half

    def signed(a: Array, b: Array) -> Array:
        x, y, zero = a.view(np.uint64), b.view(np.uint64), np.uint64(0)
        return (high_half(x, y) - np.where(a < 0, y, zero) - np.where(b < 0, x, zero)).view(np.int64)

    return signed


def _product(form: Form) -> tuple[str, str, Callable[[Array, Array], Array]]:
    """The result type, the operand type and the function of the product in a mul or mad."""
    type_ = form.type(_INTS)
    part = form.pick("lo", "hi", "wide")
    if part == "wide":
        if WIDTH[type_] == 64:
            raise form.fail("expected .wide with a 16- or 32-bit type")
        wide = f"{type_[0]}{2 * WIDTH[type_]}"
        dtype = DTYPE[wide]
        return wide, type_, lambda a, b: a.astype(dtype) * b
    if part == "hi":
        return type_, type_, _high(type_)
    return unsigned(type_), unsigned(type_), np.multiply


def mul(form: Form) -> Op:
    """mul.lo, .hi and .wide."""
    result, type_, product = _product(form)
    return form.pure(product, result, type_, type_)


def mad(form: Form) -> Op:
    """mad.lo, .hi and .wide, with .cc and .sat."""
    saturated, gives = form.flag("sat"), form.flag("cc")
    result, type_, product = _product(form)
    if gives:
        return _mad_carry(form, result, type_, product, False, True)
    if saturated:
        if (result, type_) != ("s32", "s32"):
            raise form.fail("expected .sat with .hi.s32 only")
        return form.pure(lambda a, b, c: _clip32(product(a, b).astype(np.int64) + c), result, type_, type_, result)
    return form.pure(lambda a, b, c: product(a, b) + c, result, type_, type_, result)


def _mad_carry(
    form: Form, result: str, type_: str, product: Callable[[Array, Array], Array], take: bool, give: bool
) -> Op:
    d, a, b, c = form.operands(4)
    u = DTYPE[unsigned(result)]

    def run(x: Array, y: Array, z: Array, *flag: Array) -> Array | tuple[Array, Array]:
        low = product(x, y).view(u)
        total = low + z
        answer = total + flag[0].astype(u) if flag else total
        out = (total < low) | (answer < total)
        return (answer, out) if give else answer

    reads = ((a, type_), (b, type_), (c, unsigned(result)), *(((CARRY, "pred"),) if take else ()))
    return Op(reads, ((d, unsigned(result)), *(((CARRY, "pred"),) if give else ())), run)


def _madc(form: Form) -> Op:
    gives = form.flag("cc")
    result, type_, product = _product(form)
    return _mad_carry(form, result, type_, product, True, gives)


def _mul24(form: Form, extra: int) -> Op:
    type_ = form.type("u32 s32")
    high = form.pick("lo", "hi") == "hi"
    saturated = form.flag("sat")
    wide = np.int64 if type_ == "s32" else np.uint64
    narrow = DTYPE[type_]

    def run(a: Array, b: Array, *c: Array) -> Array:
        shift = narrow.type(8)
        x, y = ((v << shift) >> shift for v in (a, b))
        product = x.astype(wide) * y.astype(wide)
        part = (product >> wide(16)) if high else product
        if saturated:
            return _clip32(part.astype(np.int32).astype(np.int64) + c[0])
        result: Array = part.astype(narrow)
        return result + c[0] if c else result

    return form.pure(run, type_, *[type_] * (2 + extra))


def quotient(a: Array, b: Array) -> Array:
    """Division towards zero; by zero it is all ones, as on the GPU."""
    safe = np.where(b == 0, b.dtype.type(1), b)
    result = (a - np.fmod(a, safe)) // safe
    return np.where(b == 0, ~b.dtype.type(0), result)


def remainder(a: Array, b: Array) -> Array:
    """The remainder of a division towards zero; by zero it is all ones, as on the GPU."""
    return np.where(b == 0, ~b.dtype.type(0), np.fmod(a, np.where(b == 0, b.dtype.type(1), b)))


div = typed(_INTS, always(quotient), "t t")


def extreme(name: str) -> Builder:
    """Integer min or max, with .relu."""
    native = np.minimum if name == "min" else np.maximum

    def build(form: Form) -> Op:
        relu = form.flag("relu")  # nvcc writes it behind the type, too
        type_ = form.type(f"{_INTS} {_PAIRS}")
        if relu and not is_signed(type_):
            raise form.fail("expected .relu with a signed type")
        arity = len(form.ins.operands) - 1

        def kernel(*xs: Array) -> Array:
            best: Array = reduce(native, xs)
            return np.maximum(best, best.dtype.type(0)) if relu else best

        run = _packed(kernel, type_) if type_ in _PAIRS.split() else kernel
        return form.pure(run, type_, *[type_] * (3 if arity == 3 and WIDTH[type_] == 32 else 2))

    return build


abs_ = typed("s16 s32 s64", always(np.abs), "t")  # the least number stays negative
neg = typed("s16 s32 s64", always(np.negative), "t")


def _sad(a: Array, b: Array, c: Array) -> Array:
    return (np.maximum(a, b) - np.minimum(a, b)).view(c.dtype) + c


def _dot(parts: int) -> Builder:
    """dp4a (four bytes by four bytes) and dp2a (two halfwords by two bytes)."""

    def build(form: Form) -> Op:
        b_type, a_type = form.type("u32 s32"), form.type("u32 s32")
        upper = parts == 2 and form.pick("lo", "hi") == "hi"
        a_part = np.dtype(f"{'i' if a_type == 's32' else 'u'}{4 // parts}")
        b_part = np.dtype(f"{'i' if b_type == 's32' else 'u'}1")

        def run(a: Array, b: Array, c: Array) -> Array:
            x = a.view(a_part).reshape(-1, parts).astype(np.int64)
            y = b.view(b_part).reshape(-1, 4).astype(np.int64)
            y = y[:, 2:] if upper else y[:, :parts]
            result: Array = (x * y).sum(axis=1).astype(np.uint32) + c
            return result

        return form.pure(run, "u32", "u32", "u32", "u32")

    return build


TABLE: dict[str, Builder] = {
    "addc": _carried("add"),
    "subc": _carried("sub"),
    "madc": _madc,
    "mul24": lambda form: _mul24(form, 0),
    "mad24": lambda form: _mul24(form, 1),
    "rem": typed(_INTS, always(remainder), "t t"),
    "sad": typed(_INTS, always(_sad), "t t u", "u"),
    "dp4a": _dot(4),
    "dp2a": _dot(2),
    **_VIDEO,
}
