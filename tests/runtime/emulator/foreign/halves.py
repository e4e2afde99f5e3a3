"""f16 and bf16."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .case import I32, U32, Array, Model, case, rng, zeros
from .floats import rounded
from .matrices import _f32_of, bf16
from .warps import LANE


def half(code: Array) -> Array:
    """f16 codes as float64."""
    return code.view(np.uint16).view(np.float16).astype("f8")


def _to_half(value: Array) -> Array:
    """float64 (which holds the sums and products of halves exactly) as f16 codes, to nearest."""
    return np.asarray(value, "f8").astype(np.float16).view(np.uint16)


def _half_pairs(new: bool) -> Model:
    def model(x: Array, y: Array, _: Array) -> list[Array]:
        a, b = half(x), half(y)
        flip = np.ascontiguousarray(x.view(np.uint16).reshape(-1, 2)[:, ::-1]).reshape(-1)
        out = [
            _to_half(a + b),
            _to_half(a - b),
            _to_half(a * b),
            _to_half(a * b + a),
            _to_half(np.clip(a + b, 0, 1)),
            _to_half(abs(a)),
            _to_half(-b),
            _to_half(a > b),
            flip,
            np.where(a == b, 0xFFFF, 0).astype(np.uint16),
            _to_half(a + b),
        ]
        if new:
            out += [_to_half(np.minimum(a, b)), _to_half(np.maximum(a, b)), _to_half(np.maximum(a * b + b, 0))]
        return [np.concatenate(out).view(U32)]

    return model


_h1, _h2 = (rng(s).normal(size=400).astype(np.float16) for s in ("h1", "h2"))
_h2[::7] = _h1[::7]
for _new_, _only, _n in ((False, "sm75", 11), (True, "sm90", 14)):
    case(
        "halves",
        "half_pairs",
        4,
        64,
        [_h1.view(U32), _h2.view(U32)],
        [zeros(200 * _n, U32)],
        model=_half_pairs(_new_),
        numbers=(200,),
        only=(_only,),
    )


def _bfloats(x: Array, y: Array, _: Array) -> list[Array]:
    # in float64 sums and products of these are exact; fma is rounded once, as it should be
    a, b = (_f32_of(v.view(np.uint16)).astype("f8") for v in (x, y))

    def to(value: Array, mode: str = "n") -> Array:
        return np.array([_bf16_code(v, mode) for v in value.tolist()], np.uint16)

    fx, fy, gx, gy = a[::2], a[1::2], b[::2], b[1::2]
    mixed = np.stack([(fx * gy).astype("f4"), (fy + gx).astype("f4")], 1).reshape(-1)
    out = [to(a + b), to(a * b), to(a * b + a), to(np.maximum(a, b)), to(-a), to(mixed)]
    cut = to((fx.astype("f4") * np.float32(1.3)).astype("f8"), "z").astype(U32)
    return [np.concatenate([np.concatenate(out).view(U32), cut, fy.astype("f4").view(U32)])]


def _bf16_code(value: float, mode: str) -> int:
    """The nearest bf16, from the neighbours that f32's upper half gives."""
    if value == 0:
        return 0x8000 if np.signbit(value) else 0
    exact = Fraction(value)
    low = rounded(exact, "z", False) >> 16
    if mode == "z":
        return low
    near, far = (Fraction(float(_f32_of(np.array([c], np.uint16))[0])) for c in (low, low + 1))
    gaps = abs(exact - near), abs(far - exact)
    return low + (gaps[0] > gaps[1] or (gaps[0] == gaps[1] and low & 1))


_b1, _b2 = (bf16(rng(s).normal(size=400)) for s in ("b1", "b2"))
case(
    "halves",
    "bfloats",
    4,
    64,
    [_b1.view(U32), _b2.view(U32)],
    [zeros(200 * 8, U32)],
    model=_bfloats,
    numbers=(200,),
    only=("sm90",),
)


def _half_scalars(x: Array, y: Array, _: Array) -> list[Array]:
    a, b = half(x), half(y)
    f, g = a.astype("f4"), b.astype("f4")
    i = np.arange(x.size)

    def toward(value: Array, mode: str) -> Array:
        near = value.astype("f8").astype(np.float16)
        off = near.astype("f8") - value
        step = {
            "z": np.where(abs(near) > abs(value), 0.0, np.inf),
            "u": np.where(off < 0, np.inf, 0),
            "d": np.where(off > 0, -np.inf, 0),
        }
        if mode == "z":
            return np.where(abs(near.astype("f8")) > abs(value), np.nextafter(near, np.float16(0)), near).view(
                np.uint16
            )
        moved = np.nextafter(near, np.copysign(np.float16(np.inf), step[mode]).astype(np.float16))
        return np.where(step[mode] != 0, moved, near).view(np.uint16)

    # hdiv divides in f32 and rounds again, which for halves is harmless; no quotient is subnormal here
    out = [
        _to_half(a + b),
        _to_half(np.clip(a * b, 0, 1)),
        _to_half(a * b + b),
        toward((f * g).astype("f8"), "z"),
        toward((f + g).astype("f8"), "u"),
        toward((f - g).astype("f8"), "d"),
        (f * g).view(U32),
        a.astype(I32).view(U32),
        a < b,
        np.isnan(b),
        _to_half(i * 37),
        _to_half(a / b),
        _to_half(np.floor(a)),
        _to_half(np.rint(b)),
        _to_half(np.sqrt(abs(a))),
    ]
    # a bool leaves three bytes of the word as they were: nvcc writes the byte it has, widened
    return [np.concatenate([v.astype(U32) for v in out])]


case(
    "halves",
    "half_scalars",
    4,
    64,
    [_h1[:200].view(np.uint16), _h2[:200].view(np.uint16)],
    [zeros(200 * 15, U32)],
    model=_half_scalars,
    numbers=(200,),
)


def _half_sum(x: Array, _: Array) -> list[Array]:
    pairs = x.view(np.float16).astype("f4").reshape(-1, 2)
    v = np.zeros(32, "f4")
    for row in (pairs[:, 0] + pairs[:, 1]).reshape(-1, 32):
        v = v + row
    for o in (16, 8, 4, 2, 1):
        v = v + v[LANE ^ o]
    return [v]


case(
    "halves",
    "half_sum",
    1,
    32,
    [rng("hs").normal(size=2 * 32 * 9).astype(np.float16).view(U32)],
    [zeros(32, "f4")],
    model=_half_sum,
    numbers=(288,),
)
