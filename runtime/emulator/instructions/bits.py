"""Bit instructions: logic, shifts, fields, counts, permutations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..ptx.types import WIDTH, Array, Imm, Operand, Pair, is_signed
from .op import Builder, Form, Op, Run, always, typed


def shift_left(a: Array, amount: Array) -> Array:
    """``a << amount``; zero if the amount is the width of the register or more."""
    width = 8 * a.dtype.itemsize
    small = np.minimum(amount, width - 1).astype(a.dtype)
    result: Array = np.where(amount < width, a << small, a.dtype.type(0))
    return result


def shift_right(a: Array, amount: Array) -> Array:
    """``a >> amount``, filled according to the type of ``a``; the amount is clamped to the width of the register."""
    width = 8 * a.dtype.itemsize
    shifted: Array = a >> np.minimum(amount, width - 1).astype(a.dtype)
    if a.dtype.kind == "i":
        return shifted
    result: Array = np.where(amount < width, shifted, a.dtype.type(0))
    return result


def _shift(kernel: Callable[..., Array], types: str) -> Builder:
    def build(form: Form) -> Op:
        type_ = form.type(types)
        d, a, amount = form.operands(3)
        if isinstance(amount, Imm) and 0 <= int(amount.value) < WIDTH[type_]:
            native = np.left_shift if kernel is shift_left else np.right_shift
            return Op(((a, type_), (amount, type_)), ((d, type_),), native)
        return Op(((a, type_), (amount, "u32")), ((d, type_),), kernel)

    return build


def _shf(form: Form) -> Op:
    form.type("b32")
    left, wrap = form.pick("l", "r") == "l", form.pick("clamp", "wrap") == "wrap"

    def run(a: Array, b: Array, c: Array) -> Array:
        both = (b.astype(np.uint64) << np.uint64(32)) | a
        n = ((c & np.uint32(31)) if wrap else np.minimum(c, np.uint32(32))).astype(np.uint64)
        return ((both << n) >> np.uint64(32)).astype(np.uint32) if left else (both >> n).astype(np.uint32)

    return form.pure(run, "b32", "b32", "b32", "b32")


def _field(x: Array, width: int) -> Array:
    """A position or length. The ISA requires 0 to 255; the GPU reads 8 bits of it for b32 and all bits for b64."""
    return (np.minimum(x, np.uint32(255)) if width == 64 else x & np.uint32(255)).astype(np.int64)


def _bfe(type_: str) -> Run:
    width = WIDTH[type_]

    def run(a: Array, b: Array, c: Array) -> Array:
        pos, count = _field(b, width), _field(c, width)
        if type_[0] == "u":
            mask = shift_left(np.ones(1, a.dtype), count) - a.dtype.type(1)
            mask = np.where(count >= width, ~a.dtype.type(0), mask)
            result: Array = shift_right(a, pos) & mask
            return result
        top = np.minimum(pos + count - 1, width - 1)
        count = np.minimum(count, width - pos)
        u = a.view(f"u{width // 8}")
        sign = (shift_right(u, np.maximum(top, 0)) & u.dtype.type(1)).astype(bool)
        lifted = shift_left(u, np.maximum(width - pos - count, 0)).view(a.dtype)
        field = shift_right(lifted, np.maximum(width - count, 0))
        empty = (count <= 0) | (pos >= width)
        outside = np.where(sign, a.dtype.type(-1), a.dtype.type(0))
        return np.where(empty, np.where(_field(c, width) == 0, a.dtype.type(0), outside), field)

    return run


def _bfi(type_: str) -> Run:
    width = WIDTH[type_]

    def run(a: Array, b: Array, c: Array, d: Array) -> Array:
        pos, count = _field(c, width), _field(d, width)
        one = np.ones(1, a.dtype)
        mask = np.where(count >= width, ~a.dtype.type(0), shift_left(one, count) - a.dtype.type(1))
        mask = shift_left(mask, pos)
        return (shift_left(a, pos) & mask) | (b & ~mask)

    return run


def highest_bit(a: Array) -> Array:
    """The index of the highest set bit as int64; -1 for zero."""
    x = a.astype(np.uint64)
    found = np.full(x.shape, -1, np.int64)
    base = np.zeros(x.shape, np.int64)
    for step in (32, 16, 8, 4, 2, 1):
        big = x >> np.uint64(step) != 0
        base = np.where(big, base + step, base)
        x = np.where(big, x >> np.uint64(step), x)
    return np.where(x != 0, base, found)


def _bfind(form: Form) -> Op:
    type_ = form.type("u32 s32 u64 s64")
    amount = form.flag("shiftamt")
    width = WIDTH[type_]

    def run(a: Array) -> Array:
        x = np.where(a < 0, ~a, a) if is_signed(type_) else a
        at = highest_bit(x.view(f"u{width // 8}"))
        at = np.where(at >= 0, width - 1 - at, at) if amount else at
        return at.astype(np.uint32)

    return form.pure(run, "u32", type_)


_REVERSED = np.array([int(f"{k:08b}"[::-1], 2) for k in range(256)], np.uint8)


def _brev(type_: str) -> Run:
    size = WIDTH[type_] // 8

    def run(a: Array) -> Array:
        octets = np.ascontiguousarray(a).view(np.uint8).reshape(-1, size)[:, ::-1]
        return np.ascontiguousarray(_REVERSED[octets]).view(a.dtype).reshape(-1)

    return run


_PRMT_MODES = ("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")


def _selectors(mode: str, control: Array) -> list[Array]:
    """The source byte of each result byte, lowest byte first."""
    c = (control & np.uint32(3)).astype(np.int64)
    byte = np.arange(4)
    if mode == "":
        return [((control >> np.uint32(4 * k)) & np.uint32(15)).astype(np.int64) for k in range(4)]
    picks: dict[str, Callable[[int], Array]] = {
        "f4e": lambda k: c + k,
        "b4e": lambda k: (c - k) % 8,
        "rc8": lambda _: c,
        "ecl": lambda k: np.maximum(c, byte[k]),
        "ecr": lambda k: np.minimum(c, byte[k]),
        "rc16": lambda k: (c & 1) * 2 + (k & 1),
    }
    return [picks[mode](k) for k in range(4)]


def _prmt(form: Form) -> Op:
    mode = form.pick(*_PRMT_MODES, default="")
    form.type("b32")

    def run(a: Array, b: Array, c: Array) -> Array:
        both = (b.astype(np.uint64) << np.uint64(32)) | a
        out = np.zeros(1, np.uint32)
        for k, pick in enumerate(_selectors(mode, c)):
            octet = (both >> ((pick & 7) * 8).astype(np.uint64)) & np.uint64(255)
            sign = np.where(octet & np.uint64(128) != 0, np.uint64(255), np.uint64(0))
            octet = np.where(pick & 8 != 0, sign, octet) if mode == "" else octet
            out = out | (octet.astype(np.uint32) << np.uint32(8 * k))
        return out

    return form.pure(run, "b32", "b32", "b32", "b32")


def _lop3(form: Form) -> Op:
    form.type("b32")
    joined = form.pick("and", "or", default="")
    d, a, b, c, table, *also = form.operands(6 if joined else 5)
    if not isinstance(table, Imm):
        raise form.fail("expected an integer literal as the look-up table")
    bits = int(table.value)

    def run(x: Array, y: Array, z: Array) -> Array:
        out = np.zeros(1, np.uint32)
        for k in range(8):
            if bits >> k & 1:
                out = out | ((x if k & 4 else ~x) & (y if k & 2 else ~y) & (z if k & 1 else ~z))
        return out

    reads: tuple[tuple[Operand, str], ...] = ((a, "b32"), (b, "b32"), (c, "b32"))
    if not joined:
        return Op(reads, ((d, "b32"),), run)
    if not isinstance(d, Pair):
        raise form.fail("expected destinations d|p")
    combine = np.logical_and if joined == "and" else np.logical_or

    def both(x: Array, y: Array, z: Array, q: Array) -> tuple[Array, Array]:
        word = run(x, y, z)
        return word, combine(word != 0, q)

    return Op((*reads, (also[0], "pred")), ((d.first, "b32"), (d.second, "pred")), both)


def _fns(mask: Array, base: Array, offset: Array) -> Array:
    """The ``offset``-th set bit from bit ``base`` on, upwards or, if negative, downwards; bit ``base`` itself for 0."""
    left = np.maximum(np.abs(offset.astype(np.int64)), 1)  # ones still to pass, the one looked for included
    step = np.sign(offset).astype(np.int64)
    at, found = base.astype(np.int64), np.full(np.broadcast(mask, base, offset).shape, 0xFFFFFFFF, np.uint32)
    for _ in range(32):
        inside = (at >= 0) & (at < 32) & (left > 0)
        one = inside & (mask >> np.clip(at, 0, 31).astype(np.uint32) & np.uint32(1) != 0)
        left = left - one
        found = np.where(one & (left == 0), at.astype(np.uint32), found)
        left = np.where(step == 0, 0, left)
        at = at + step
    return found


def _bmsk(form: Form) -> Op:
    form.type("b32")
    wrap = form.pick("clamp", "wrap") == "wrap"

    def run(a: Array, b: Array) -> Array:
        pos, count = (a & np.uint32(31), b & np.uint32(31)) if wrap else (a, b)
        ones = shift_left(np.ones(1, np.uint32), count) - np.uint32(1)
        ones = np.where(count >= 32, np.uint32(0xFFFFFFFF), ones)
        return shift_left(ones, pos)

    return form.pure(run, "b32", "u32", "u32")


def _szext(form: Form) -> Op:
    type_ = form.type("u32 s32")
    wrap = form.pick("clamp", "wrap") == "wrap"

    def run(a: Array, b: Array) -> Array:
        count = b & np.uint32(31) if wrap else np.minimum(b, np.uint32(32))
        up = np.uint32(32) - count
        u = a.view(np.uint32)
        return np.where(count == 0, u.dtype.type(0), shift_right(shift_left(u, up).view(a.dtype), up).view(np.uint32))

    return form.pure(run, "b32", type_, "u32")


_BITS = "b32 b64"
_LOGIC = "pred b16 b32 b64"
TABLE: dict[str, Builder] = {
    "and": typed(_LOGIC, always(np.bitwise_and), "t t"),
    "or": typed(_LOGIC, always(np.bitwise_or), "t t"),
    "xor": typed(_LOGIC, always(np.bitwise_xor), "t t"),
    "not": typed(_LOGIC, always(np.invert), "t"),
    "cnot": typed("b16 b32 b64", always(lambda a: (a == 0).astype(a.dtype)), "t"),
    "shl": _shift(shift_left, "b16 b32 b64"),
    "shr": _shift(shift_right, "b16 b32 b64 u16 u32 u64 s16 s32 s64"),
    "shf": _shf,
    "bfe": typed("u32 s32 u64 s64", _bfe, "t u32 u32"),
    "bfi": typed(_BITS, _bfi, "t t u32 u32"),
    "bfind": _bfind,
    "clz": typed(_BITS, lambda t: lambda a: (WIDTH[t] - 1 - highest_bit(a)).astype(np.uint32), "t", "u32"),
    "popc": typed(_BITS, always(lambda a: np.bitwise_count(a).astype(np.uint32)), "t", "u32"),
    "brev": typed(_BITS, _brev, "t"),
    "prmt": _prmt,
    "lop3": _lop3,
    "fns": typed("b32", always(_fns), "t u32 s32", "u32"),
    "bmsk": _bmsk,
    "szext": _szext,
}
