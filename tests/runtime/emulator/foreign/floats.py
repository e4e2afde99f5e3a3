"""f64 and f32 with every rounding: exact arithmetic, rounded once."""

from __future__ import annotations

import struct
from collections.abc import Callable
from fractions import Fraction
from math import isqrt

import numpy as np

from .case import I32, I64, U32, U64, Array, Model, bits, case, integers, rng, zeros


def rounded(value: Fraction, mode: str, double: bool) -> int:
    """The code of the float nearest to ``value`` in direction ``mode``; an exact zero is +0."""
    precision, least, width = (53, -1074, 64) if double else (24, -149, 32)
    if value == 0:
        return 0
    size, sign = abs(value), value < 0
    scale = size.numerator.bit_length() - size.denominator.bit_length()
    scale -= size < Fraction(2) ** scale
    unit = Fraction(2) ** max(scale - precision + 1, least)
    count, rest = divmod(size, unit)
    half = rest * 2 - unit
    up = {"n": half > 0 or (half == 0 and count & 1), "z": False, "d": sign and rest > 0, "u": not sign and rest > 0}[
        mode
    ]
    total = (count + bool(up)) * unit
    top = (1 << width - precision) - 1 << precision - 1
    exponent = total.numerator.bit_length() - total.denominator.bit_length()
    if exponent > (1023 if double else 127):
        finite = mode == "z" or (mode == "d" and not sign) or (mode == "u" and sign)
        code = top - 1 if finite else top
    else:
        pack, read = ("<d", "<Q") if double else ("<f", "<I")
        code = struct.unpack(read, struct.pack(pack, float(total)))[0]
    return code | sign << width - 1


def _root(value: Fraction, mode: str, double: bool) -> int:
    """A root to twice the precision, with its last bit odd where it is not exact."""
    shift = 400 + (value.denominator.bit_length() % 2)
    whole = (value.numerator << 2 * shift) // value.denominator
    root = isqrt(whole)
    exact = root * root == whole and (value.numerator << 2 * shift) % value.denominator == 0
    return rounded(Fraction(2 * root + (not exact), 2 << shift), mode, double)


def _each(function: Callable[[float, float], int], x: Array, y: Array) -> list[int]:
    return [function(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]


def _f64_arithmetic(x: Array, y: Array, _: Array) -> list[Array]:
    f = Fraction

    def to(mode: str, function: Callable[[Fraction, Fraction], Fraction]) -> Array:
        return np.array(_each(lambda a, b: rounded(function(f(a), f(b)), mode, True), x, y), U64).view("f8")

    def root(mode: str) -> Array:
        return np.array([_root(abs(f(a)), mode, True) for a in x.tolist()], U64).view("f8")

    inverse = lambda _a, b: 1 / b  # noqa: E731
    small = [a.astype("f4").astype("f8") for a in (x,)]
    clamped = np.clip(np.rint(y), 0, 2**32 - 1)
    return [np.concatenate([
        to("n", f.__add__), to("n", f.__sub__), to("n", f.__mul__), to("n", f.__truediv__),
        to("n", lambda a, b: a * b + a),
        root("n"), to("n", inverse), to("z", f.__add__), to("u", f.__add__), to("d", f.__add__), to("z", f.__mul__),
        to("u", f.__mul__), to("d", lambda a, b: a * b + b), to("z", f.__truediv__), root("u"), to("d", inverse),
        np.fmin(x, y), np.fmax(x, y), np.floor(x), np.ceil(y), np.trunc(x), np.rint(y), abs(x),
        np.copysign(x, y), *small,
        np.trunc(np.clip(x, -(2.0**63), 2.0**63)) + 0.0, clamped + 0.0, np.where(x < y, x, -y),
        (x.view(U64) >> U64(32) << U64(32) | y.view(U64) & U64(0xFFFFFFFF)).view("f8"),
    ])]  # fmt: skip


_d1, _d2 = (rng(s).normal(size=150) * 2.0 ** integers(s + "e", 150, -40, 41) for s in ("d1", "d2"))
case("doubles", "arithmetic", 3, 64, [_d1, _d2], [zeros(150 * 29, "f8")], model=_f64_arithmetic, numbers=(150,))


def _kahan(x: Array, _: Array) -> list[Array]:
    total, lost = np.zeros(64), np.zeros(64)
    for row in x.reshape(-1, 64):
        y = row - lost
        after = total + y
        lost, total = (after - total) - y, after
    while total.size > 1:
        total = total[: total.size // 2] + total[total.size // 2 :]
    return [total]


case("doubles", "kahan", 1, 64, [rng("kahan").normal(size=6400) * 1e8], [zeros(1, "f8")], model=_kahan, numbers=(6400,))


def _roundings(ftz: bool) -> Model:
    def flush(v: Array) -> Array:
        return np.where(abs(v) < np.finfo("f4").tiny, np.copysign(np.float32(0), v), v) if ftz else v

    def model(x: Array, y: Array, _: Array) -> list[Array]:
        a, b = flush(x), flush(y)
        f = Fraction

        def to(mode: str, function: Callable[[Fraction, Fraction], Fraction]) -> Array:
            codes = np.array(_each(lambda p, q: rounded(function(f(p), f(q)), mode, False), a, b), U32)
            return flush(codes.view("f4"))

        def root(mode: str, v: Array) -> Array:
            return np.array([_root(abs(f(p)), mode, False) for p in v.tolist()], U32).view("f4")

        wide = (x.view(I32).astype(I64) << I64(20)) + 1
        chopped = np.array([rounded(f(int(v)), "z", False) for v in wide], U32).view("f4")
        whole = np.trunc(np.clip(a.astype("f8"), -(2.0**63), 2.0**63)).astype("f4") + np.float32(0)
        return [np.concatenate([
            to("n", f.__add__), to("n", f.__sub__), to("n", f.__mul__), to("n", lambda p, q: p * q + p),
            to("z", f.__add__),
            to("u", f.__add__), to("d", f.__add__), to("z", f.__mul__), to("u", f.__mul__), to("d", f.__mul__),
            to("z", lambda p, q: p * q + p), to("u", lambda p, q: p * q + q), to("d", lambda p, q: p * q + p),
            to("n", f.__truediv__), to("z", f.__truediv__), root("n", a), root("d", b), to("u", lambda p, _q: 1 / p),
            np.clip(a, 0, 1) + np.float32(0), np.minimum(a, b), np.maximum(a, b), np.floor(a), np.rint(b), np.trunc(a),
            np.clip(np.trunc(a.astype("f8")), -(2**31), 2**31 - 1).astype(I32).view("f4"),
            np.clip(np.rint(b.astype("f8")), 0, 2**32 - 1).astype(U32).view("f4"), whole, chopped, np.copysign(x, y), y,
        ])]  # fmt: skip

    return model


_f1, _f2 = ((rng(s).normal(size=200) * 2.0 ** integers(s + "e", 200, -30, 31)).astype("f4") for s in ("f1", "f2"))
case(
    "roundings",
    "roundings",
    4,
    64,
    [_f1, _f2],
    [zeros(200 * 30, "f4")],
    model=_roundings(False),
    numbers=(200,),
    only=("sm75", "sm90"),
)
_t1 = np.concatenate([_f1[:100], (bits("tiny", 100, U32) & U32(0x80FFFFFF)).view("f4")])
_n1, _n2 = (
    (
        rng(s).uniform(1, 2, 200)
        * 2.0 ** rng(s).choice([-126, -125, -63, -62, -100], 200)
        * rng(s + "s").choice([-1, 1], 200)
    ).astype("f4")
    for s in ("n1", "n2")
)
case(
    "roundings",
    "roundings",
    4,
    64,
    [_t1, _f2],
    [zeros(200 * 30, "f4")],
    model=_roundings(False),
    numbers=(200,),
    only=("sm75", "sm90"),
)
case(
    "roundings",
    "roundings",
    4,
    64,
    [_n1, _n2],
    [zeros(200 * 30, "f4")],
    model=_roundings(True),
    numbers=(200,),
    only=("ftz",),
)
