"""Local memory, functions, constants, vectors."""

from __future__ import annotations

import numpy as np

from .case import I32, U32, Array, bits, case, integers, rng, zeros
from .integers import _signed


def _own_histogram(x: Array, _: Array) -> list[Array]:
    out = []
    for row in (x & U32(15)).reshape(-1, 40):
        r, count = 0, np.bincount(row, minlength=16).tolist()
        for k in range(16):
            r = (r * 5 + count[k * 7 & 15]) % 2**32
        out.append(r)
    return [np.array(out, U32)]


case(
    "locals",
    "histogram_of_own",
    2,
    48,
    [bits("own", 96 * 40, U32)],
    [zeros(96, U32)],
    model=_own_histogram,
    numbers=(40,),
)
case(
    "locals",
    "median",
    2,
    48,
    [rng("median").normal(size=96 * 9).astype("f4")],
    [zeros(96, "f4")],
    model=lambda x, _: [np.median(x.reshape(-1, 9), axis=1).astype("f4")],
)


def _pointers(out: Array) -> list[Array]:
    out = out.copy()
    for t in range(32):
        own, s, total = [[k, t + 0.25 * k, 0] for k in range(3)], [-t, t * 2.0, 1], 0.0
        for k in range(5):
            node = s if k & 1 else own[(k + t) % 3]
            node[0], node[1], node[2] = node[0] + k, node[1] * 0.5, node[2] ^ 1
            if k & 2:
                total += node[1]
            else:
                out[32 + t] += node[1]
        out[t] = total + s[0] + own[t % 3][0] * 100 + own[0][2]
    return [out]


case("locals", "pointers", 1, 32, [], [zeros(64, "f8")], model=_pointers)


def _moments(x: Array, _: Array) -> list[Array]:
    def merge(a: tuple[int, float, float], b: tuple[int, float, float]) -> tuple[int, float, float]:
        n = a[0] + b[0]
        if n == 0:
            return a
        d = b[1] - a[1]
        return n, a[1] + d * b[0] / n, a[2] + b[2] + d * d * a[0] * b[0] / n

    states = [(0, 0.0, 0.0)] * 32
    for i, v in enumerate(x.tolist()):
        states[i % 32] = merge(states[i % 32], (1, v, 0.0))
    while len(states) > 1:
        states = [merge(a, b) for a, b in zip(states[::2], states[1::2], strict=True)]
    return [np.array(states[0])]


# nvcc contracts products and sums into fma, so that the last bits differ from those of plain arithmetic
case(
    "functions",
    "moments",
    1,
    32,
    [rng("moments").normal(size=500)],
    [zeros(3, "f8")],
    model=_moments,
    numbers=(500,),
    close=1e-13,
)


def _calls(x: Array, _: Array) -> list[Array]:
    out = []
    for t, v in enumerate(x.tolist()):
        low = _signed(v << 33 >> 33, 31)
        if v % 3 == 0:
            w = 2 * v + _signed(v, 16)
        else:
            w = v + _signed(v, 16) + v % 256 + low + int(v * 0.5) + _signed(t, 8) * _signed(-v, 16)
        v, w = (w, 2 * v) if v & 1 else (4 * v, w)
        out.append(_signed(v * 31 + w, 32))
    return [np.array(out, I32)]


case("functions", "calls", 1, 64, [integers("calls", 64, -5000, 5000)], [zeros(64)], model=_calls)


def _lookups(x: Array, _: Array) -> list[Array]:
    table, keys, weights = np.array([3, 1, 4, 1, 5, 9, 2, 6]), np.array([-1, 2, 7]), np.array([0.5, 1.5, -2.25])
    row = (x >> 3) % 3
    return [table[x & 7] * 0.125 + keys[row] + weights[row] + np.array([1, 0.5, 0.25, 0])[x & 3]]


case("constants", "lookups", 2, 48, [integers("lookups", 96, 0, 1000)], [zeros(96, "f8")], model=_lookups)
case("constants", "counted", 2, 48, [], [zeros(1)], model=lambda _: [np.array([40 + 2 * 96], I32)])


def _quads(x: Array, d: Array, h: Array, b: Array, *_: Array) -> list[Array]:
    v, w, s, c = x.reshape(-1, 4), d.reshape(-1, 2), h.reshape(-1, 4), b.reshape(-1, 4).astype(I32)
    third = np.stack(
        [v[:, 3] + s[:, 0], v[:, 2] - s[:, 1], v[:, 1] * s[:, 2], v[:, 0] + (c[:, 0] + c[:, 1] * c[:, 2] - c[:, 3])], 1
    )
    return [third.astype("f4").reshape(-1), np.stack([w[:, 1] * 2, w[:, 0] + s[:, 3]], 1).reshape(-1)]


case(
    "vectors",
    "quads",
    2,
    32,
    [
        integers("q4", 256, -99, 99).astype("f4"),
        rng("q2").normal(size=128),
        integers("qs", 256, -99, 99, np.int16),
        bits("qb", 256, np.uint8),
    ],
    [zeros(256, "f4"), zeros(128, "f8")],
    model=_quads,
)
case(
    "vectors",
    "row_sums",
    3,
    32,
    [bits("rows", 3 * 4 * 50, I32)],
    [zeros(3)],
    numbers=(50,),
    model=lambda x, _: [x.reshape(3, -1).sum(axis=1, dtype=I32)],
)


def _boxes(_: Array) -> list[Array]:
    bz, by, bx, z, y, x = np.ogrid[:2, :3, :2, :2, :4, :5]
    return [(x + 10 * y + 100 * z + 1000 * bx + 10000 * by + 100000 * bz).astype(I32).reshape(-1)]


case("vectors", "boxes", (2, 3, 2), (5, 4, 2), [], [zeros(480)], model=_boxes)
