"""The approximate functions, and rcp with its rounded forms.

ex2 of f32 has the GPU's bits. The others are computed in float64 and rounded once: the result is within the bounds that
the ISA states for the GPU's own approximation, but its bits differ.

The GPU's approximation of 2^x, bit for bit.

The special function unit interpolates quadratically (S. Oberman and M. Siu, "A high-performance area-efficient
multifunction interpolator", ARITH 2005). It takes |x| as a fixed-point number with 23 fractional bits. The first six of
these select a row of a table: the value, the first and half the second derivative of 2^x / 2 there. The other 17 bits
are the distance, whose square a truncated multiplier makes. A negative x is the whole number below it and the ones'
complement of its fraction.

The table was fitted to what an H100 gives for the 2^23 numbers of [1, 2): in each row one set of three numbers gives
them all. The results of all 2^32 arguments were then compared with an H100: none differs.
``tests/runtime/emulator/data/exp2.json`` holds their digests.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from ..numerics.floats import Kernel, arithmetic, canonical, narrow_bf16, narrow_f16, widen, with_flush
from ..numerics.rounding import BF16, F16, F32_NAN
from ..ptx.types import Array
from .floating import element, lift
from .op import Builder, Form, Op

_FRACTION, _DISTANCE = 23, 17
_ROUND, _SHIFT = 0x77E2, 15
_TABLE = (
    (0x2000000, 0x58b9, 0x1ee), (0x2059347, 0x59b0, 0x1f5), (0x20b361b, 0x5aaa, 0x1fa), (0x210e8a2, 0x5ba7, 0x1ff),
    (0x216ab0f, 0x5ca6, 0x206), (0x21c7d86, 0x5da9, 0x209), (0x2226039, 0x5eae, 0x20f), (0x2285356, 0x5fb6, 0x214),
    (0x22e5709, 0x60c0, 0x21d), (0x2346b7e, 0x61ce, 0x222), (0x23a90e5, 0x62df, 0x227), (0x240c772, 0x63f2, 0x22f),
    (0x2470f4e, 0x6509, 0x234), (0x24d68ad, 0x6623, 0x238), (0x253d3c0, 0x673f, 0x241), (0x25a50b6, 0x685f, 0x247),
    (0x260dfc2, 0x6982, 0x24d), (0x2678117, 0x6aa8, 0x254), (0x26e34e6, 0x6bd2, 0x258), (0x274fb67, 0x6cfe, 0x261),
    (0x27bd4c9, 0x6e2e, 0x267), (0x282c145, 0x6f61, 0x26e), (0x289c10b, 0x7098, 0x273), (0x290d456, 0x71d2, 0x279),
    (0x297fb5a, 0x730f, 0x281), (0x29f364e, 0x7450, 0x287), (0x2a6856a, 0x7594, 0x28f), (0x2ade8e7, 0x76dc, 0x295),
    (0x2b560fb, 0x7827, 0x29e), (0x2bcede2, 0x7976, 0x2a5), (0x2c48fd7, 0x7ac8, 0x2ae), (0x2cc4710, 0x7c1f, 0x2b3),
    (0x2d413cc, 0x7d79, 0x2bb), (0x2dbf648, 0x7ed7, 0x2c1), (0x2e3eebe, 0x8038, 0x2cb), (0x2ebfd6a, 0x819e, 0x2d1),
    (0x2f4228e, 0x8307, 0x2da), (0x2fc5e67, 0x8474, 0x2e3), (0x304b134, 0x85e5, 0x2ec), (0x30d1b33, 0x875b, 0x2f1),
    (0x3159ca8, 0x88d4, 0x2fb), (0x31e35d3, 0x8a51, 0x305), (0x326e6f7, 0x8bd3, 0x30b), (0x32fb054, 0x8d59, 0x313),
    (0x3389230, 0x8ee3, 0x31c), (0x3418ccf, 0x9071, 0x326), (0x34aa076, 0x9204, 0x32d), (0x353cd6a, 0x939b, 0x336),
    (0x35d13f4, 0x9536, 0x341), (0x3667457, 0x96d6, 0x34a), (0x36feede, 0x987b, 0x351), (0x37983d3, 0x9a24, 0x35a),
    (0x383337d, 0x9bd1, 0x366), (0x38cfe27, 0x9d84, 0x36d), (0x396e41c, 0x9f3b, 0x377), (0x3a0e5aa, 0xa0f7, 0x380),
    (0x3ab031d, 0xa2b7, 0x38d), (0x3b53cc1, 0xa47d, 0x395), (0x3bf92e7, 0xa648, 0x39d), (0x3ca05dd, 0xa817, 0x3aa),
    (0x3d495f5, 0xa9ec, 0x3b2), (0x3df437f, 0xabc5, 0x3bf), (0x3ea0ecc, 0xada4, 0x3c9), (0x3f4f831, 0xaf88, 0x3d4),
)  # fmt: skip
"""The coefficients of each row: fixed-point numbers of 26, 16 and 10 bits."""
_VALUE = 13
"""The first coefficient counts 2^13 times as much as the products of the others."""


@cache
def _rows() -> tuple[Array, Array, Array]:
    """The columns of the table, the first with the constant that rounds."""
    value, slope, curve = np.array(_TABLE, np.int64).T
    return (value << _VALUE) + _ROUND, slope, curve


@cache
def _squares() -> Array:
    """The truncated square of each distance: partial products lose the bits below the last one kept."""
    x = np.arange(1 << _DISTANCE, dtype=np.int64)
    found = np.zeros_like(x)
    for i in range(_DISTANCE):
        found += (x >> i & 1) * (x >> (_DISTANCE + 1 - i))
    return found >> 1


def exp2_flushed(x: Array) -> Array:
    """``ex2.approx.ftz.f32``: 2^x of f32, where subnormal arguments and results count as zeros."""
    wide = np.where(np.abs(x) < 128, x, 0).astype(np.float64)
    fixed = (np.abs(wide) * 2.0**_FRACTION).astype(np.int64)
    whole, fraction = fixed >> _FRACTION, fixed & ((1 << _FRACTION) - 1)
    cut = np.signbit(wide) & (fraction != 0)
    fraction = np.where(cut, ~fraction & ((1 << _FRACTION) - 1), fraction)
    whole = np.where(np.signbit(wide), -whole, whole) - cut
    row, distance = fraction >> _DISTANCE, fraction & ((1 << _DISTANCE) - 1)
    value, slope, curve = _rows()
    mantissa = (value[row] + slope[row] * distance + curve[row] * _squares()[distance]) >> _SHIFT
    found = np.ldexp(mantissa.astype(np.float64), (whole - _FRACTION).astype(np.int32))
    found = np.where(found < 2.0**-126, 0.0, found)
    found = np.where(np.abs(x) >= 128, np.where(x > 0, np.inf, 0.0), found).astype(np.float32)
    return np.where(np.isnan(x), F32_NAN, found.view(np.uint32)).view(np.float32)


def exp2(x: Array) -> Array:
    """``ex2.approx.f32``: below -126 the square of 2^(x / 2)."""
    small = x < np.float32(-126)
    root = exp2_flushed(np.where(small, np.ldexp(x, -1), x))
    return np.multiply(root, root, out=root, where=small)


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
