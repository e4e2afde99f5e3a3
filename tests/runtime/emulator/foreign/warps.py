"""Shuffles, votes, matches, barriers."""

from __future__ import annotations

import numpy as np

from .case import I32, I64, U32, Array, bits, case, integers, rng, zeros

LANE = np.arange(32)


def shuffle(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """Source lane and predicate of ``shfl.sync``, as the ISA's pseudo-code reads."""
    b, clamp, segment = b & 31, c & 31, c >> 8 & 31
    most, least = (lane & segment) | (clamp & ~segment & 31), lane & segment
    at = {"up": lane - b, "down": lane + b, "bfly": lane ^ b, "idx": least | (b & ~segment & 31)}[mode]
    inside = at >= most if mode == "up" else at <= most
    return (at if inside else lane), inside


def _widths(x: Array, _: Array) -> list[Array]:
    out = []
    for width in (32, 16, 8, 4, 2):
        first = LANE // width * width
        for source in (
            first + (LANE * 7 + 3) % width,
            np.where(first <= LANE - (LANE & 5), LANE - (LANE & 5), LANE),
            np.where(first + width > LANE + 3, LANE + 3, LANE),
            np.where(first + width > LANE ^ 5, LANE ^ 5, LANE),
        ):
            out.append(x.reshape(-1, 32)[:, source].reshape(-1))
    return [np.concatenate(out)]


case("shuffles", "widths", 1, 128, [bits("widths", 128, I32)], [zeros(20 * 128)], model=_widths)


def _wide_values(x: Array, y: Array, *_: Array) -> list[Array]:
    d, q, t = x.reshape(-1, 32), y.reshape(-1, 32), np.arange(64)
    for o in (16, 8, 4, 2, 1):
        d = d + d[:, LANE ^ o]
        q = np.maximum(q, q[:, np.where(LANE + o < 32, LANE + o, LANE)])
    pairs = np.stack([t.reshape(-1, 32).sum(axis=1)] * 2, axis=1).astype(np.float16)  # sums of whole numbers below 2048
    return [d.reshape(-1), q.reshape(-1), np.repeat(pairs.view(U32).reshape(-1), 32)]


case(
    "shuffles",
    "wide_values",
    1,
    64,
    [rng("d").normal(size=64), bits("q", 64, I64)],
    [zeros(64, "f8"), zeros(64, I64), zeros(64, U32)],
    model=_wide_values,
)


def _raw(b: Array, c: Array, _: Array) -> list[Array]:
    out = []
    for row in range(24):
        for mode in ("up", "down", "bfly", "idx"):
            for lane in range(32):
                at, inside = shuffle(mode, lane, int(b[row * 32 + lane]), int(c[row * 32 + lane]))
                out.append(at + 100 | inside << 16)
    return [np.array(out, U32)]


_uniform = np.repeat(integers("c", 12, 0, 1 << 13, U32), 32)  # half the rows with one clamp and mask for all lanes
case(
    "shuffles",
    "raw",
    1,
    32,
    [integers("b", 768, 0, 64, U32), np.concatenate([_uniform, integers("c2", 384, 0, 1 << 13, U32)])],
    [zeros(3072, U32)],
    model=_raw,
    numbers=(24,),
)


def _parted(x: Array, _: Array) -> list[Array]:
    out = []
    for v in x.reshape(-1, 32):
        low = np.full(16, v[:16].sum())
        high = np.array([max(v[16 + k : 32]) for k in range(16)])
        # a shuffle down by 8, 4, 2, 1 within 16 lanes: lane k has the greatest of itself and those up to the end
        out.append(np.concatenate([low, high]) + high[0])
    return [np.concatenate(out).astype(I32)]


case("shuffles", "parted", 1, 64, [integers("parted", 64, -99, 99)], [zeros(64)], model=_parted)


def _mask(flags: Array) -> Array:
    """(warps, 32) flags as one word a warp, for every lane."""
    return np.repeat((flags.reshape(-1, 32) << LANE).sum(axis=1).astype(U32), 32)


def _same(x: Array, inside: Array | None = None) -> Array:
    """match.any: which lanes of the warp (of those with the same ``inside``) hold the same."""
    rows = x.reshape(-1, 32)
    equal = rows[:, :, None] == rows[:, None, :]
    if inside is not None:
        group = inside.reshape(-1, 32)
        equal &= group[:, :, None] == group[:, None, :]
    return (equal << LANE).sum(axis=2).astype(U32).reshape(-1)


def _votes(x: Array, _: Array) -> list[Array]:
    rows = x.reshape(-1, 32)
    odd = x & 1 == 1
    ballot = _mask(odd)
    four = rows & 4 != 0
    any_, all_, uni = (rows == 5).any(1), (rows < 60).all(1), four.all(1) | ~four.any(1)
    out = [ballot, np.repeat(any_ + 2 * all_ + 4 * uni, 32).astype(U32)]
    out.append(np.bitwise_count(ballot & ((U32(1) << (np.arange(x.size) % 32).astype(U32)) - U32(1))).astype(U32))
    even_zero = np.repeat(((rows == 0) & (rows & 1 == 0)).any(1), 32)
    out.append(np.where(odd, _mask(odd & (x > 20)) ^ _same(x & 6, odd), even_zero).astype(U32))
    out += [_same(x & 7), _same(x & 3), np.zeros(x.size, U32)]  # all lanes, and one for the predicate: wraps to zero
    return [np.concatenate(out)]


case("votes", "votes", 1, 128, [integers("votes", 128, 0, 64)], [zeros(7 * 128, U32)], model=_votes)


def _reduces(x: Array, _: Array) -> list[Array]:
    rows = x.reshape(-1, 32)
    u = rows.view(U32)
    out = [rows.sum(1, dtype=I32), rows.min(1), u.max(1)]
    out.append(np.bitwise_and.reduce(u, axis=1) | np.bitwise_or.reduce(u, axis=1) << U32(16))
    out.append(np.bitwise_xor.reduce(u, axis=1))
    full = [np.repeat(v.astype(np.int64).astype(U32), 32) for v in out]
    low, high = u[:, :11].sum(1, dtype=U32), rows[:, 11:].min(1).view(U32)
    full.append(np.where(LANE < 11, low[:, None], high[:, None]).reshape(-1))
    return [np.concatenate(full).astype(U32)]


case(
    "votes",
    "reduces",
    1,
    128,
    [bits("reduces", 128, I32)],
    [zeros(6 * 128, U32)],
    model=_reduces,
    only=("sm80", "sm90"),
)
case(
    "votes",
    "blocks",
    1,
    128,
    [integers("blocks", 128, 0, 64)],
    [zeros(128)],
    model=lambda x, _: [np.full(128, (x & 1).sum() + 1000 * (x == 63).any() + 2000, I32)],
)
case("votes", "handed_over", 1, 64, [integers("hand", 32, 0, 64)], [zeros(32)], model=lambda x, _: [x[::-1] * 2])
case("votes", "active", 1, 64, [], [zeros(64, U32)], model=lambda _: [np.full(64, 0xFFFFFFFF, U32)])


# cooperative groups


def _labels(x: Array, _: Array) -> list[Array]:
    warps = x.reshape(2, 32)
    sums = [[w[(w & 3) == (v & 3)].sum() for v in w] for w in warps]
    return [np.append(np.array(sums).reshape(-1), 2)]


def _quotients(x: Array, _: Array) -> list[Array]:
    out = []
    for high, low, b in x.reshape(-1, 3).tolist():
        q, rest = divmod(high << 64 | low, b)
        out += [q >> 64, q & (2**64 - 1), rest]
    return [np.array(out, np.uint64)]


case(
    "groups",
    "grid_meets",
    3,
    32,
    [integers("grid", 500, -50, 50)],
    [zeros(96), zeros(96)],
    model=lambda x, *_: [np.append(x, np.zeros(76, I32)).reshape(6, 96).sum(axis=0), np.full(96, x.sum())],
    numbers=(500,),
)
case(
    "groups",
    "two_warps",
    1,
    128,
    [integers("tile", 128, -50, 50)],
    [zeros(128)],
    model=lambda x, _: [x.reshape(2, 64).sum(axis=1).repeat(64)],
)
case("groups", "labels", 1, 64, [integers("label", 64, 0, 50)], [zeros(65)], model=_labels)
case(
    "groups",
    "wide_quotients",
    1,
    64,
    [bits("quotient", 192, np.uint64) | np.uint64(1)],
    [zeros(192, np.uint64)],
    model=_quotients,
)
