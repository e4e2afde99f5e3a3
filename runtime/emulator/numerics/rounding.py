"""Correct rounding: float formats, float64 values rounded to them in every mode, and error-free sums and products.

A single rounding takes two steps: compute in float64 *rounded to odd*, where the last bit says whether anything was
lost, then round to the format. Float64 has more than two bits beyond every narrower format, so the result is that of
one rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter

import numpy as np

from ..ptx.types import Array

F32_NAN = np.uint32(0x7FFFFFFF)


@dataclass(frozen=True)
class Format:
    """A float format: ``precision`` counts the hidden bit, ``emin`` is the exponent of the least normal number.

    ``largest``, ``infinity`` and ``nan`` are codes without sign; a format without infinity has ``infinity`` = ``nan``.
    """

    name: str
    width: int
    precision: int
    emin: int
    largest: int
    infinity: int
    nan: int


F32 = Format("f32", 32, 24, -126, 0x7F7FFFFF, 0x7F800000, 0x7FFFFFFF)
F16 = Format("f16", 16, 11, -14, 0x7BFF, 0x7C00, 0x7FFF)
BF16 = Format("bf16", 16, 8, -126, 0x7F7F, 0x7F80, 0x7FFF)
TF32 = Format("tf32", 19, 11, -126, 0x3FBFF, 0x3FC00, 0x3FFFF)
E4M3 = Format("e4m3", 8, 4, -6, 0x7E, 0x7F, 0x7F)
E5M2 = Format("e5m2", 8, 3, -14, 0x7B, 0x7C, 0x7F)
E2M1 = Format("e2m1", 4, 2, 0, 0x7, 0x7, 0x7)  # the small ones have no NaN: it becomes the largest
E2M3 = Format("e2m3", 6, 4, 0, 0x1F, 0x1F, 0x1F)
E3M2 = Format("e3m2", 6, 3, -2, 0x1F, 0x1F, 0x1F)
FORMATS: dict[str, Format] = {f.name: f for f in (F32, F16, BF16, TF32, E4M3, E5M2)}


def encode(x: Array, form: Format, mode: str = "rn", finite: bool = False, payload: bool = False) -> Array:
    """Float64 ``x`` rounded once to ``form``, as uint64 codes; ``finite`` saturates overflow and infinity.

    With ``payload`` a NaN keeps its sign and the upper bits of its payload; else it is the format's own NaN.

    Modes: rn (ties to even), rna (ties away), rz, rm (down), rp (up).
    """
    bits = np.ascontiguousarray(x).view(np.uint64)
    negative = (bits >> np.uint64(63)).astype(bool)
    exponent = ((bits >> np.uint64(52)) & np.uint64(0x7FF)).astype(np.int64)
    mantissa = (bits & np.uint64((1 << 52) - 1)) | np.where(exponent > 0, np.uint64(1 << 52), np.uint64(0))
    exponent = np.maximum(exponent, 1) - 1023
    target = np.maximum(exponent, form.emin)
    shift = np.minimum(53 - form.precision + target - exponent, 55).astype(np.uint64)
    quotient = mantissa >> shift
    rest = mantissa & ((np.uint64(1) << shift) - np.uint64(1))
    half = np.uint64(1) << (shift - np.uint64(1))
    quotient = quotient + _round_up(mode, quotient, rest, half, negative)
    code = ((target - form.emin).astype(np.uint64) << np.uint64(form.precision - 1)) + quotient
    over = code > np.uint64(form.largest)
    if over.any():
        code = np.where(over, _overflow(form, mode, finite, negative, np.isinf(x)), code)
    sign = negative.astype(np.uint64) << np.uint64(form.width - 1)
    nan = np.full(1, form.nan, np.uint64)
    if payload:
        quiet = np.uint64(form.infinity | 1 << (form.precision - 2))
        nan = sign | quiet | ((mantissa & np.uint64((1 << 52) - 1)) >> np.uint64(53 - form.precision))
    return np.where(np.isnan(x), nan, code | sign)


def _round_up(mode: str, quotient: Array, rest: Array, half: Array, negative: Array) -> Array:
    if mode == "rn":
        up = (rest > half) | ((rest == half) & ((quotient & np.uint64(1)) == np.uint64(1)))
    elif mode == "rna":
        up = rest >= half
    elif mode == "rz":
        up = np.zeros(rest.shape, bool)
    else:
        up = (rest != 0) & (negative if mode == "rm" else ~negative)
    result: Array = up.astype(np.uint64)
    return result


def _overflow(form: Format, mode: str, finite: bool, negative: Array, infinite: Array) -> Array:
    """The code for magnitudes above the largest: infinity, or the largest where the mode points towards zero."""
    largest, infinity = np.uint64(form.largest), np.uint64(form.infinity)
    if finite:
        return np.full(negative.shape, largest)
    stay = {"rz": np.ones(negative.shape, bool), "rm": ~negative, "rp": negative}.get(mode)
    if stay is None:
        return np.full(negative.shape, infinity)
    return np.where(stay & ~infinite, largest, infinity)


def decode(code: Array, form: Format) -> Array:
    """The float64 values of codes of a format of up to 19 bits."""
    bits = code.astype(np.uint64)
    if form is F16:
        return bits.astype(np.uint16).view(np.float16).astype(np.float64)
    if form is BF16:
        return (bits << np.uint64(16)).astype(np.uint32).view(np.float32).astype(np.float64)
    sign = np.where((bits >> np.uint64(form.width - 1)) != 0, -1.0, 1.0)
    body = bits & np.uint64((1 << (form.width - 1)) - 1)
    field = (body >> np.uint64(form.precision - 1)).astype(np.int64)
    fraction = (body & np.uint64((1 << (form.precision - 1)) - 1)).astype(np.float64)
    hidden = np.where(field > 0, float(1 << (form.precision - 1)), 0.0)
    power = np.maximum(field, 1) - 1 + form.emin - (form.precision - 1)
    value = sign * np.ldexp(hidden + fraction, power.astype(np.int32))
    value = np.where(body > form.largest, np.nan, value)
    return np.where((body == form.infinity) & (form.infinity != form.nan), sign * np.inf, value)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """``a + b`` rounded, and the exact error (Knuth)."""
    s = a + b
    back = s - a
    return s, (a - (s - back)) + (b - back)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """``a * b`` rounded, and the exact error (Dekker), without overflow or underflow."""
    p = a * b
    ah, al = _split(a)
    bh, bl = _split(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def _split(a: Array) -> tuple[Array, Array]:
    c = a * 134217729.0
    high = c - (c - a)
    return high, a - high


def to_odd(value: Array, error: Array) -> Array:
    """``value + error`` (error below half an ulp) rounded to odd: a lost part sets the last bit."""
    even = (np.ascontiguousarray(value).view(np.uint64) & np.uint64(1)) == 0
    move = even & (error != 0) & np.isfinite(value)
    if not move.any():
        return value
    return np.where(move, np.nextafter(value, np.copysign(np.inf, error)), value)


def odd_add(a: Array, b: Array, mode: str = "rn") -> Array:
    """``a + b`` rounded to odd; with mode rm an exact zero is negative unless both operands are +0."""
    s, e = two_sum(a, b)
    if mode == "rm":
        s = np.where((s == 0) & (np.signbit(a) | np.signbit(b)), -0.0, s)
    return to_odd(s, e)


def odd_fma(a: Array, b: Array, c: Array, mode: str = "rn") -> Array:
    """``a * b + c`` rounded to odd, for operands of 24 bits or fewer, whose product is exact."""
    return odd_add(a * b, c, mode)


def odd_div(a: Array, b: Array) -> Array:
    """``a / b`` rounded to odd, for operands of at most 24 bits."""
    q = a / b
    high, low = two_product(q, b)
    return to_odd(q, np.where(np.isfinite(q) & np.isfinite(b), ((a - high) - low) * np.sign(b), 0.0))


def odd_sqrt(a: Array) -> Array:
    """Square root rounded to odd, for operands of at most 24 bits."""
    r = np.sqrt(a)
    high, low = two_product(r, r)
    return to_odd(r, np.where(np.isfinite(r), (a - high) - low, 0.0))


def round_fraction(exact: Fraction, mode: str, zero: float = 0.0) -> float:
    """The float64 nearest to ``exact`` in ``mode``; ``zero`` is returned when it is zero."""
    if exact == 0:
        return zero
    try:
        near = float(exact)
    except OverflowError:
        near = inf if exact > 0 else -inf
    if mode == "rn":
        return near if near != 0 else (0.0 if exact > 0 else -0.0)
    toward = {"rz": 0.0, "rm": -inf, "rp": inf}[mode]
    off = (1 if near > 0 else -1) if abs(near) == inf else (Fraction(near) > exact) - (Fraction(near) < exact)
    away = off if mode != "rz" else (off if exact > 0 else -off)
    if (mode == "rp" and away < 0) or (mode in ("rm", "rz") and away > 0):
        near = nextafter(near, toward)
    return near if near != 0 else (0.0 if exact > 0 else -0.0)


def round_root(x: float, mode: str) -> float:
    """The square root of a positive finite float64 rounded in a directed mode."""
    root = float(np.sqrt(x))
    square, exact = Fraction(root) ** 2, Fraction(x)
    if mode == "rp" and square < exact:
        return nextafter(root, inf)
    if mode in ("rm", "rz") and square > exact:
        return nextafter(root, 0.0)
    return root


_EXACT: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "fma": lambda a, b, c: a * b + c,
}


def slow_f64(name: str, mode: str, values: list[Array], native: Array) -> Array:
    """One operation in float64, element by element in exact arithmetic.

    ``native`` is the same operation by the host: right for infinities, NaN, exact zeros and division by zero.
    """
    out = native.copy()
    flat = [np.broadcast_to(v, out.shape).ravel() for v in values]
    target = out.reshape(-1)
    for k in range(target.size):
        items = [float(v[k]) for v in flat]
        if not all(np.isfinite(items)) or (name == "div" and items[1] == 0):
            continue
        if name == "sqrt":
            target[k] = round_root(items[0], mode) if items[0] > 0 else target[k]
            continue
        exact = _EXACT[name](*map(Fraction, items))
        cancelled = exact == 0 and name in ("add", "sub", "fma") and mode == "rm"
        zero = _cancelled_zero(name, items) if cancelled else float(target[k])
        target[k] = round_fraction(exact, mode, zero if exact == 0 and np.isfinite(zero) and zero == 0 else 0.0)
    return target.reshape(out.shape)


def _cancelled_zero(name: str, items: list[float]) -> float:
    """An exact zero sum when rounding down: -0, unless every term is +0."""
    terms = [items[0] * items[1], items[2]] if name == "fma" else [items[0], -items[1] if name == "sub" else items[1]]
    return 0.0 if all(t == 0 and not np.signbit(t) for t in terms) else -0.0


def fma_f64(a: Array, b: Array, c: Array) -> Array:
    """``a * b + c`` in float64 with one rounding to nearest (Boldo and Melquiond), exact arithmetic at the edges."""
    c, b, a = np.broadcast_arrays(c, b, a)
    high, low = two_product(a, b)
    th, tl = two_sum(c, low)
    vh, vl = two_sum(high, th)
    ts, te = two_sum(tl, vl)
    result = vh + to_odd(ts, te)
    plain = np.where(np.isnan(c), c + high, high + c)
    biggest = np.maximum(np.maximum(np.abs(a), np.abs(b)), np.maximum(np.abs(high), np.abs(c)))
    edge = ~(biggest < 2.0**990) | ((np.abs(high) < 2.0**-900) & (a != 0) & (b != 0))
    if not edge.any():
        return np.where(result == 0, np.where(plain == 0, plain, result), result)
    result = np.where(edge, plain, np.where((result == 0) & (plain == 0), plain, result))
    exact_from = [np.broadcast_to(v, result.shape)[edge] for v in (a, b, c)]
    result[edge] = slow_f64("fma", "rn", exact_from, result[edge])
    return result
