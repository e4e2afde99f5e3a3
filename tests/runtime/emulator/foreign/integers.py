"""Integers of 8 to 64 bits, and bits."""

from __future__ import annotations

import numpy as np

from .case import I32, I64, U32, U64, Array, bits, case, words, zeros


def _wide(x: Array, y: Array, _: Array) -> list[Array]:
    out: list[list[int]] = []
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        b = b or 1
        u, v, d = a % 2**64, b % 2**64, 3 if b == -1 else b
        quotient = abs(a) // abs(d) * (1 if (a < 0) == (d < 0) else -1)
        tail = abs(a) % 1000 * (1 if a >= 0 else -1)
        w = ((u << 64 | v) - u) % 2**128
        n = b & 63
        out.append(
            [
                a + b,
                a - b,
                a * b,
                quotient,
                a - quotient * d,
                u // v,
                u % v,
                a * b >> 64,
                u * v >> 64,
                a << n,
                a >> n,
                u >> n,
                a < b,
                u < v,
                min(a, b),
                max(u, v),
                abs(a),
                -a,
                u // 10,
                tail,
                (u * 0x9E3779B97F4A7C15) % 2**64 >> 7,
                a * b >> 32,
                w >> 64,
                w,
            ]
        )
    return [words(np.array(out, object).T.reshape(-1))]


_edges = np.array([0, 1, -1, 2, -(2**63), 2**63 - 1, 7, -13, 10**12, -(2**32)], I64)
_x64 = np.concatenate([np.repeat(_edges, 10), bits("x64", 60, I64), bits("x64b", 40, I64) >> 33])
_y64 = np.concatenate([np.tile(_edges, 10), bits("y64", 60, I64), bits("y64b", 40, I64) >> 47])
case("integers", "wide", 4, 64, [_x64, _y64], [zeros(200 * 24, I64)], model=_wide, numbers=(200,))


def _signed(value: int, width: int) -> int:
    return (value + (1 << width - 1)) % (1 << width) - (1 << width - 1)


def _towards_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _narrow(x: Array, y: Array, _: Array) -> list[Array]:
    out: list[list[int]] = []
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        c, d = a % 65536, b % 256
        e = d or 5
        out.append(
            [
                _signed(a + b, 16),
                _signed(a * b, 16),
                c * d % 65536,
                _signed(a + b, 8),
                d * 7 % 256,
                _towards_zero(a, e),
                a - _towards_zero(a, e) * e,
                c // e,
                c % e,
                a >> 3,
                c >> 3,
                _signed(b << 2, 8),
                a < b,
                c < d,
                min(a, b),
                max(c, d),
                _signed(-a, 16),
                ~b,
            ]
        )
    return [words(np.array(out, object).T.reshape(-1))]


case(
    "integers",
    "narrow",
    4,
    64,
    [bits("x16", 200, np.int16), bits("y8", 200, np.int8)],
    [zeros(200 * 18, I64)],
    model=_narrow,
    numbers=(200,),
)


def _plain(x: Array, y: Array, _: Array) -> list[Array]:
    out: list[list[int]] = []
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        u, v = a % 2**32, b % 2**32
        safe = b not in (0, -1)
        q = _towards_zero(a, b) if safe else 0
        s24, t24 = _signed(a, 24), _signed(b, 24)
        out.append(
            [
                _signed(a + b, 32),
                (u + v) % 2**32,
                _signed(u * v, 32),
                a * b,
                u * v,
                a * b >> 32,
                u * v >> 32,
                q,
                a - q * b if safe else 0,
                u // v if v else 0,
                u % v if v else 0,
                _towards_zero(a, 7),
                u % 12,
                a - _towards_zero(a, -5) * -5,
                _signed(s24 * t24, 32),
                (u % 2**24) * (v % 2**24) % 2**32,
                (abs(a - b) + 9) % 2**32,
                (abs(u - v) + 9) % 2**32,
                a + b >> 1,
                a + b + 1 >> 1,
                u + v >> 1,
                _signed(abs(a), 32),
                min(a, b),
                max(u, v),
                int(np.float32(0.5) * np.float32(a)),
            ]
        )
    return [words(np.array(out, object).T.reshape(-1))]


_e32 = np.array([0, 1, -1, 2**31 - 1, -(2**31), 6, -7, 1 << 20, 3, -100], I32)
_x32, _y32 = (
    np.concatenate([e, bits(n, 100, I32)]) for n, e in (("x32", np.repeat(_e32, 10)), ("y32", np.tile(_e32, 10)))
)
case("integers", "plain", 4, 64, [_x32, _y32], [zeros(200 * 25, I64)], model=_plain, numbers=(200,))
case(
    "integers",
    "byte_sums",
    1,
    96,
    [bits("bytes", 5000, np.uint8)],
    [zeros(1, U64)],
    numbers=(5000,),
    model=lambda x, _: [(x.astype(U64) ** 2).sum(keepdims=True) << U64(25)],
)


def _octets(x: int, signed: bool) -> list[int]:
    return [_signed(x >> 8 * k & 255, 8) if signed else x >> 8 * k & 255 for k in range(4)]


def _halfwords(x: int, signed: bool) -> list[int]:
    return [_signed(x >> 16 * k & 65535, 16) if signed else x >> 16 * k & 65535 for k in range(2)]


def _joined(parts: list[int]) -> int:
    size = 32 // len(parts)
    return sum((int(p) % (1 << size)) << size * k for k, p in enumerate(parts))


def _words(x: Array, y: Array, _: Array) -> list[Array]:
    out: list[list[int]] = []
    full = 2**32 - 1
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        c = a ^ b >> 3
        both, low = b << 32 | a, c & 31
        lr, rr = both << low >> 32 & full, both >> low & full
        lc, rc = both << min(c & 63, 32) >> 32 & full, both >> min(c & 63, 32) & full
        dots = [sum(p * q for p, q in zip(_octets(a, s), _octets(b, s), strict=True)) + c for s in (True, False)]
        halves = [
            sum(p * q for p, q in zip(_halfwords(a, s), _octets(b, s)[k : k + 2], strict=True)) + c
            for s, k in ((True, 0), (False, 2))
        ]
        ones = [k for k in range(32) if a >> k & 1]
        want = 1 + (b & 3)
        lut80, lut96 = a & b & c, a ^ b ^ c
        out.append(
            [
                a.bit_count(),
                32 - a.bit_length(),
                (b & -b).bit_length(),
                int(f"{a:032b}"[::-1], 2),
                _joined([both >> 8 * (c >> 4 * k & 7) & 255 for k in range(4)]),
                lr,
                rr,
                lc,
                rc,
                dots[0],
                dots[1],
                halves[0],
                halves[1],
                a & b | ~c,
                a ^ b ^ c,
                a & b | b & c | a & c,
                ones[want - 1] if len(ones) >= want else full,
                a >> 5 & 511,
                _signed(a >> 3 & 63, 6),
                (a & 2047) << 4 | b & ~(2047 << 4),
                (a >> 3).bit_length() - 1,
                lut80 + (lut80 != 0 or a < b),
                7 if lut96 != 0 and a < b else 9,
            ]
        )
    return [(np.array(out, object).T.reshape(-1) % 2**32).astype(U32)]


_xw, _yw = (
    np.concatenate([e.view(U32), bits(n, 100, U32)])
    for n, e in (("xw", np.repeat(_e32, 10)), ("yw", np.tile(_e32, 10)))
)
case("bits", "words", 4, 64, [_xw, _yw], [zeros(200 * 23, U32)], model=_words, numbers=(200,))


def _long_words(x: Array, _: Array) -> list[Array]:
    out: list[list[int]] = []
    for a in x.tolist():
        out.append(
            [
                a.bit_count(),
                64 - a.bit_length(),
                (a & -a).bit_length(),
                int(f"{a:064b}"[::-1], 2),
                a << (a & 63) | a >> 5,
                _signed(a >> 17 & (1 << 30) - 1, 30),
                (a & (1 << 33) - 1) << 20 | ~a & ~((1 << 33) - 1 << 20),
            ]
        )
    return [(np.array(out, object).T.reshape(-1) % 2**64).astype(U64)]


case(
    "bits",
    "long_words",
    4,
    32,
    [np.concatenate([_edges.view(U64), bits("xl", 90, U64)])],
    [zeros(700, U64)],
    model=_long_words,
    numbers=(100,),
)


def _simd(x: Array, y: Array, _: Array) -> list[Array]:
    out: list[list[int]] = []
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        s8, u8 = (list(zip(_octets(a, s), _octets(b, s), strict=True)) for s in (True, False))
        s16, u16 = (list(zip(_halfwords(a, s), _halfwords(b, s), strict=True)) for s in (True, False))
        out.append(
            [
                _joined([p + q for p, q in u8]),
                _joined([p - q for p, q in u16]),
                _joined([max(p) for p in s8]),
                _joined([max(p) for p in s16]),
                _joined([min(p) for p in u16]),
                _joined([abs(p - q) for p, q in u8]),
                _joined([abs(p - q) for p, q in s16]),
                _joined([255 * (p > q) for p, q in u8]),
                _joined([p == q for p, q in u16]),
                _joined([min(max(p + q, -(2**15)), 2**15 - 1) for p, q in s16]),
                _joined([p + q + 1 >> 1 for p, q in u8]),
                sum(abs(p - q) for p, q in u8),
            ]
        )
    return [np.array(out, object).T.reshape(-1).astype(U32)]


case("bits", "simd", 4, 64, [_xw, _yw], [zeros(200 * 12, U32)], model=_simd, numbers=(200,))
