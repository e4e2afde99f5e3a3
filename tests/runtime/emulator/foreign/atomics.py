"""Atomics, memory orders, last-block-done."""

from __future__ import annotations

import numpy as np

from .case import I32, I64, U32, U64, Array, bits, case, integers, rng, zeros


def _integers(x: Array, u: Array, s: Array, w: Array, q: Array) -> list[Array]:
    u, s, w, q = (v.copy() for v in (u, s, w, q))
    wide, signed = x.astype(U64) * U64(0x100000001), x.view(I32)
    u[:1] += x.sum(dtype=U32)
    u[1:2] -= x.sum(dtype=U32)
    u[2], u[3] = min(u[2], x.min()), max(u[3], x.max())
    u[4] &= np.bitwise_and.reduce(x | U32(0xFF))
    u[5] |= np.bitwise_or.reduce(x & U32(0xF0F0))
    u[6] ^= np.bitwise_xor.reduce(x)
    for _ in range(x.size):
        u[7] = 0 if u[7] >= 100 else u[7] + 1
        u[8] = 70 if u[8] == 0 or u[8] > 70 else u[8] - 1
    s[0] += signed.sum(dtype=I32)
    s[1], s[2] = min(s[1], signed.min()), max(s[2], signed.max())
    w[0] += wide.sum(dtype=U64)
    w[1], w[2] = min(w[1], wide.min()), max(w[2], wide.max())
    w[3] &= np.bitwise_and.reduce(wide | U64(0xFF00FF))
    w[4] |= np.bitwise_or.reduce(wide & U64(0x0F0F0F0F0F0F0F0F))
    w[5] ^= np.bitwise_xor.reduce(wide)
    q[0], q[1] = min(q[0], wide.view(I64).min()), max(q[1], wide.view(I64).max())
    return [u, s, w, q]


case(
    "atomics",
    "integers",
    3,
    64,
    [bits("atomics", 192, U32)],
    [
        np.array([5, 6, 2**32 - 1, 0, 2**32 - 1, 1, 2, 90, 3], U32),
        zeros(3),
        np.array([1, 2**64 - 1, 0, 2**64 - 1, 0, 9], U64),
        zeros(2, I64),
    ],
    model=_integers,
)


def _in_shared(x: Array, bins: Array, sums: Array) -> list[Array]:
    bins, sums = bins.copy(), sums.copy()
    bins[:16] += np.bincount(x & U32(15), minlength=16).astype(U32)
    bins[16], bins[17], bins[18] = max(bins[16], x.max()), min(bins[17], x.min()), bins[18] ^ np.bitwise_xor.reduce(x)
    for part in x.reshape(-1, 128):
        sums[0] += int((part.astype(U64) << U64(20)).sum() >> U64(20))
        sums[1] += (part & U32(63)).sum()
        sums[2] += part.sum(dtype=np.float64) / 2
    return [bins, sums]


case(
    "atomics",
    "in_shared",
    2,
    128,
    [bits("shared", 256, U32)],
    [np.array([0] * 17 + [2**32 - 1, 7], U32), zeros(3, "f8")],
    model=_in_shared,
)


def _tickets(_: Array, seen: Array) -> list[Array]:
    n = seen.size // 2
    return [np.array([n, n, 0, n * (n + 1) // 2], U32), np.repeat(np.array([1, 2], U32), n)]


case("atomics", "tickets", 1, 192, [], [zeros(4, U32), zeros(384, U32)], model=_tickets)


def _by_cas(x: Array, top: Array, product: Array, narrow: Array) -> list[Array]:
    p = int(product[0])
    for _ in range(x.size):
        p = (3 * p + 1) & (2**64 - 1)
    return [np.maximum(top, x.max()), np.array([p], U64), (narrow + np.uint16(5 * x.size)).astype(np.uint16)]


case(
    "atomics",
    "by_cas",
    2,
    64,
    [rng("cas").normal(size=128).astype("f4")],
    [zeros(1, "f4"), zeros(1, U64), zeros(2, np.uint16)],
    model=lambda x, t, p, n: [*_by_cas(x, t, p, n)[:2], np.array([5 * x.size, 0], np.uint16)],
)


def _floats(x: Array, *_: Array) -> list[Array]:
    v = x & 7
    h = np.array([(v & 1).sum(), (v & 3).sum()], np.float16)
    b = (np.array([(v & 1).sum(), v.size / 2], np.float32).view(U32) >> 16).astype(np.uint16)
    return [np.array([v.sum()], "f4"), np.array([v.sum() * 0.25]), h.view(np.uint16), b]


case(
    "atomics",
    "floats",
    2,
    64,
    [integers("floats", 128, 0, 1000)],
    [zeros(1, "f4"), zeros(1, "f8"), zeros(2, np.uint16), zeros(2, np.uint16)],
    model=_floats,
    only=("sm90",),
)


def _vectors(x: Array, out: Array, halves: Array) -> list[Array]:
    v = x.reshape(-1, 4)
    out, halves = out.copy(), halves.copy()
    out[:4], out[4], out[5] = v.sum(axis=0), v[:, 0].sum(), v[:, 3].sum()
    out[8:] = v.reshape(-1)
    pairs = halves.view(np.float16)
    pairs[:4] = np.array([2, 1, 1, 2], np.float16) * len(v)
    pairs[4:8] = np.array([0, 2, 3, 0.5], np.float16)
    pairs[4] = np.array([0x3C00 + len(v) - 1], np.uint16).view(np.float16)[0]
    return [out, halves]


case(
    "vector_atomics",
    "vectors",
    1,
    32,
    [integers("vec", 128, 1, 50).astype("f4")],
    [zeros(136, "f4"), zeros(4, U32)],
    model=_vectors,
)


# orders and last blocks


def _chained(x: Array, *_: Array) -> list[Array]:
    return [x.reshape(-1, 64).sum(axis=1).cumsum().astype(I32), np.ones(8, I32), np.array([8], I32)]


case("orders", "chained", 8, 64, [integers("chain", 512, -50, 50)], [zeros(8), zeros(8), zeros(1)], model=_chained)


def _locked(lock: Array, _: Array) -> list[Array]:
    v = 1
    for _turn in range(24):
        v = (3 * v + 1) & 0xFFFFFFFF
    return [lock, np.array([v, 24], U32).view(I32)]


case("orders", "locked", 3, 64, [], [zeros(1), np.array([1, 0], I32)], model=_locked)
case(
    "orders",
    "fences",
    1,
    64,
    [integers("fences", 64, 0, 99)],
    [np.arange(64, dtype=I32)],
    model=lambda x, out: [(out + x + (np.arange(64) ^ 1) + 1).astype(I32)],
)
case(
    "last_block",
    "last_block",
    7,
    128,
    [integers("last", 5000, -(2**40), 2**40, I64)],
    [zeros(7, I64), zeros(1, I64)],
    model=lambda x, *_: [
        np.array([sum(x[at : at + 128].sum() for at in range(b * 128, 5000, 896)) for b in range(7)]),
        x.sum(keepdims=True),
    ],
    numbers=(5000,),
)
