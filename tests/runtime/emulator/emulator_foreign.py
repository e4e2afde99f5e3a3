"""The kernels of ``data/foreign``: how each is launched, and what it must give, by models in NumPy.

A kernel's parameters are its inputs, its outputs and its integers, in this order. ``CASES`` needs NumPy alone, so that
the same launches run on a GPU (``python data/foreign/on_gpu.py``), whose output bits ``data/foreign/h200.json`` holds.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

FOREIGN = Path(__file__).parent / "data" / "foreign"
Array = npt.NDArray[Any]
Model = Callable[..., Sequence[Array]]
Shape = int | tuple[int, int, int]
U32, I32, I64, U64 = np.uint32, np.int32, np.int64, np.uint64


@dataclass(frozen=True)
class Case:
    """One launch.

    Attributes:
        outputs: their values before the launch.
        model: ``model(*inputs, *outputs before)`` gives the outputs after it.
        close: relative error that the ISA or CUDA's documentation allows; None where it defines the bits.
        only: suffixes of the compiled files to run, all if empty.
        timely: a GPU's answer depends on its speed: the emulator lets bytes arrive as late as they may.
        number: its place in the list.
    """

    source: str
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    model: Model
    numbers: tuple[int, ...] = ()
    shared: int = 0
    cluster: int = 1
    close: float | None = None
    only: tuple[str, ...] = ()
    timely: bool = False
    number: int = 0

    @property
    def files(self) -> list[str]:
        """The compiled modules that have this kernel."""
        found = sorted(path.stem for path in FOREIGN.glob(f"{self.source}_*.ptx"))
        return [name for name in found if not self.only or name[len(self.source) + 1 :] in self.only]


CASES: list[Case] = []


def case(source: str, kernel: str, grid: Shape, block: Shape, inputs: Sequence[Array], outputs: Sequence[Array], **more: Any) -> None:
    """Adds a case; ``more`` holds its other fields."""
    shapes = [v if isinstance(v, tuple) else (v, 1, 1) for v in (grid, block)]
    CASES.append(Case(source, kernel, *shapes, tuple(inputs), tuple(outputs), number=len(CASES), **more))


def rng(name: str) -> np.random.Generator:
    """The same numbers on every machine."""
    return np.random.Generator(np.random.Philox(zlib.crc32(name.encode())))


def integers(name: str, n: int, low: int, high: int, dtype: type = I32) -> Array:
    """``n`` integers from ``low`` to ``high - 1``."""
    return rng(name).integers(low, high, n, dtype)


def bits(name: str, n: int, dtype: npt.DTypeLike) -> Array:
    """``n`` values of random bits."""
    raw = rng(name).bytes(n * np.dtype(dtype).itemsize)
    return np.frombuffer(raw, dtype).copy()


def zeros(n: int, dtype: npt.DTypeLike = I32) -> Array:
    """``n`` zeros."""
    return np.zeros(n, dtype)


def words(x: Array) -> Array:
    """The two's complement of Python-wide integers in 64 bits."""
    return np.array([int(v) & (2**64 - 1) for v in x], U64).view(I64)


# ---------------------------------------------------------------------------------------------------------------------
# divergence


def _nested(x: Array, out: Array) -> list[Array]:
    t = np.arange(x.size) % 96
    r = np.where(
        x & 1 != 0,
        np.where(x & 2 != 0, x * 3, x - 7),
        np.where(x > 50, x // 3, -x) ^ np.where(t & 8 != 0, 0x55, 0),
    )
    leaves = x & 7 == 1
    return [np.where(leaves, out, r + t).astype(I32)]


def _nested_all(x: Array, out: Array) -> list[Array]:
    got = _nested(x, out)[0]
    got[250:] = out[250:]
    return [got]


case("divergence", "nested", 3, 96, [integers("nested", 288, 0, 100)], [np.full(288, -5, I32)], model=_nested_all, numbers=(250,))


def _blocks(size: int) -> Model:
    return lambda x, *_: [x.reshape(-1, size).sum(axis=1, dtype=I32)]


for _kernel, _source in (("interleaved_tree", "divergence"), ("strided_tree", "trees")):
    case(_source, _kernel, 3, 256, [integers(_kernel, 768, -1000, 1000)], [zeros(3)], model=_blocks(256))


# loops, switches


def _collatz(x: Array, _: Array) -> list[Array]:
    out = []
    for v in x.tolist():
        steps = 0
        while v != 1 and steps < 60:
            v, steps = (3 * v + 1 if v & 1 else v // 2), steps + 1
        out.append(steps)
    return [np.array(out, U32)]


def _primes(x: Array, _: Array) -> list[Array]:
    out = []
    for limit in x.tolist():
        found = [p for p in range(2, limit) if all(p % d for d in range(2, int(p**0.5) + 1)) and p % 10 != 3]
        out.append(min(len(found), 20))
    return [np.array(out, U32)]


def _retries(x: Array, _: Array) -> list[Array]:
    out = []
    for v in x.tolist():
        turns = 0
        while True:
            v = (v * 1664525 + 1013904223) & 0xFFFFFFFF
            turns += 1
            if v >> 29 != 3 and (v >> 28 == 1 or turns <= 40):
                continue
            if turns >= 5:
                break
        out.append(v ^ turns)
    return [np.array(out, U32)]


case("loops", "collatz", 2, 64, [integers("collatz", 128, 1, 3000, U32)], [zeros(128, U32)], model=_collatz, numbers=(60,))
case("loops", "primes", 1, 50, [integers("primes", 50, 0, 120, U32)], [zeros(50, U32)], model=_primes)
case("loops", "retries", 2, 64, [bits("retries", 128, U32)], [zeros(128, U32)], model=_retries)


def _dispatch(x: Array, y: Array, _: Array) -> list[Array]:
    f = np.float32
    return [
        np.choose(
            np.where((x < 0) | (x > 8), 9, x),
            [y + f(1), y * y, -y - f(0.5), y - f(0.5), abs(y), f(1) / y, np.sqrt(abs(y)), np.minimum(y, f(0.25)),
             np.where(y > 0, f(2), f(3)), f(99)],
        )
    ]  # fmt: skip


case(
    "switches", "dispatch", 2, 64, [integers("switch", 128, -2, 12), rng("y").normal(size=128).astype("f4")],
    [zeros(128, "f4")], model=_dispatch,
)  # fmt: skip


def _interpret(code: Array, _: Array) -> list[Array]:
    out = []
    for i, program in enumerate(code.reshape(-1, 8).tolist()):
        a, b, pc = i, 1, 0
        while pc < 8:
            op = program[pc]
            if op == 7:
                break
            if op == 0: a += b
            elif op == 1: a -= b
            elif op == 2: a *= 3
            elif op == 3: b = a
            elif op == 4: a ^= b << 2
            elif op == 5: b += 7
            elif op == 6: pc += a > b
            pc += 1
        out.append(a if pc < 8 else a + b)
    return [np.array(out, I32)]  # fmt: skip


case("switches", "interpret", 2, 48, [integers("code", 8 * 96, 0, 8, np.uint8)], [zeros(96)], model=_interpret)


# trees and tails


def _sequential(x: Array, _: Array) -> list[Array]:
    lanes = np.zeros((4, 128), np.float32)
    for at in range(0, x.size, 512):
        part = x[at : at + 512]
        lanes.reshape(-1)[: part.size] += part
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] + lanes[:, half:]
    return [lanes[:, 0]]


case("trees", "sequential_tree", 4, 128, [rng("seq").normal(size=3001).astype("f4")], [zeros(4, "f4")], model=_sequential,
     numbers=(3001,), shared=512)  # fmt: skip
case("trees", "argmax", 3, 128, [np.round(rng("best").normal(size=384) * 20).astype("f4")], [zeros(3)],
     model=lambda x, _: [x.reshape(3, 128).argmax(axis=1).astype(I32)])  # fmt: skip
for _kernel in ("tail_with_syncwarp", "tail_in_step"):
    case("tails", _kernel, 3, 64, [integers("tail", 192, -99, 99)], [zeros(3)], model=_blocks(64))


# atomics


def _integers(x: Array, u: Array, s: Array, w: Array, q: Array) -> list[Array]:
    u, s, w, q = (v.copy() for v in (u, s, w, q))
    wide, signed = x.astype(U64) * U64(0x100000001), x.view(I32)
    u[0] += x.sum(dtype=U32)
    u[1] -= x.sum(dtype=U32)
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


case("atomics", "integers", 3, 64, [bits("atomics", 192, U32)],
     [np.array([5, 6, 2**32 - 1, 0, 2**32 - 1, 1, 2, 90, 3], U32), zeros(3), np.array([1, 2**64 - 1, 0, 2**64 - 1, 0, 9], U64),
      zeros(2, I64)], model=_integers)  # fmt: skip


def _in_shared(x: Array, bins: Array, sums: Array) -> list[Array]:
    bins, sums = bins.copy(), sums.copy()
    bins[:16] += np.bincount(x & U32(15), minlength=16).astype(U32)
    bins[16], bins[17], bins[18] = max(bins[16], x.max()), min(bins[17], x.min()), bins[18] ^ np.bitwise_xor.reduce(x)
    for part in x.reshape(-1, 128):
        sums[0] += int((part.astype(U64) << U64(20)).sum() >> U64(20))
        sums[1] += (part & U32(63)).sum()
        sums[2] += part.sum(dtype=np.float64) / 2
    return [bins, sums]


case("atomics", "in_shared", 2, 128, [bits("shared", 256, U32)], [np.array([0] * 17 + [2**32 - 1, 7], U32), zeros(3, "f8")],
     model=_in_shared)  # fmt: skip


def _tickets(counters: Array, seen: Array) -> list[Array]:
    n = seen.size // 2
    return [np.array([n, n, 0, n * (n + 1) // 2], U32), np.repeat(np.array([1, 2], U32), n)]


case("atomics", "tickets", 1, 192, [], [zeros(4, U32), zeros(384, U32)], model=_tickets)


def _by_cas(x: Array, top: Array, product: Array, narrow: Array) -> list[Array]:
    p = int(product[0])
    for _ in range(x.size):
        p = (3 * p + 1) & (2**64 - 1)
    return [np.maximum(top, x.max()), np.array([p], U64), (narrow + np.uint16(5 * x.size)).astype(np.uint16)]


case("atomics", "by_cas", 2, 64, [rng("cas").normal(size=128).astype("f4")], [zeros(1, "f4"), zeros(1, U64), zeros(2, np.uint16)],
     model=lambda x, t, p, n: [*_by_cas(x, t, p, n)[:2], np.array([5 * x.size, 0], np.uint16)])  # fmt: skip


def _floats(x: Array, *_: Array) -> list[Array]:
    v = x & 7
    h = np.array([(v & 1).sum(), (v & 3).sum()], np.float16)
    b = (np.array([(v & 1).sum(), v.size / 2], np.float32).view(U32) >> 16).astype(np.uint16)
    return [np.array([v.sum()], "f4"), np.array([v.sum() * 0.25]), h.view(np.uint16), b]


case("atomics", "floats", 2, 64, [integers("floats", 128, 0, 1000)], [zeros(1, "f4"), zeros(1, "f8"), zeros(2, np.uint16), zeros(2, np.uint16)],
     model=_floats, only=("sm90",))  # fmt: skip


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


case("vector_atomics", "vectors", 1, 32, [integers("vec", 128, 1, 50).astype("f4")], [zeros(136, "f4"), zeros(4, U32)], model=_vectors)


# orders and last blocks


def _chained(x: Array, *_: Array) -> list[Array]:
    return [x.reshape(-1, 64).sum(axis=1).cumsum().astype(I32), np.ones(8, I32), np.array([8], I32)]


case("orders", "chained", 8, 64, [integers("chain", 512, -50, 50)], [zeros(8), zeros(8), zeros(1)], model=_chained)


def _locked(lock: Array, value: Array) -> list[Array]:
    v = 1
    for _ in range(24):
        v = (3 * v + 1) & 0xFFFFFFFF
    return [lock, np.array([v, 24], U32).view(I32)]


case("orders", "locked", 3, 64, [], [zeros(1), np.array([1, 0], I32)], model=_locked)
case("orders", "fences", 1, 64, [integers("fences", 64, 0, 99)], [np.arange(64, dtype=I32)],
     model=lambda x, out: [(out + x + (np.arange(64) ^ 1) + 1).astype(I32)])  # fmt: skip
case("last_block", "last_block", 7, 128, [integers("last", 5000, -(2**40), 2**40, I64)], [zeros(7, I64), zeros(1, I64)],
     model=lambda x, *_: [np.array([sum(x[at : at + 128].sum() for at in range(b * 128, 5000, 896)) for b in range(7)]), x.sum(keepdims=True)],
     numbers=(5000,))  # fmt: skip


# shuffles and votes

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
            np.where(LANE - (LANE & 5) >= first, LANE - (LANE & 5), LANE),
            np.where(LANE + 3 < first + width, LANE + 3, LANE),
            np.where(LANE ^ 5 < first + width, LANE ^ 5, LANE),
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


case("shuffles", "wide_values", 1, 64, [rng("d").normal(size=64), bits("q", 64, I64)], [zeros(64, "f8"), zeros(64, I64), zeros(64, U32)],
     model=_wide_values)  # fmt: skip


def _raw(b: Array, c: Array, _: Array) -> list[Array]:
    out = []
    for row in range(24):
        for mode in ("up", "down", "bfly", "idx"):
            for lane in range(32):
                at, inside = shuffle(mode, lane, int(b[row * 32 + lane]), int(c[row * 32 + lane]))
                out.append(at + 100 | inside << 16)
    return [np.array(out, U32)]


_uniform = np.repeat(integers("c", 12, 0, 1 << 13, U32), 32)  # half the rows with one clamp and mask for all lanes
case("shuffles", "raw", 1, 32, [integers("b", 768, 0, 64, U32), np.concatenate([_uniform, integers("c2", 384, 0, 1 << 13, U32)])],
     [zeros(3072, U32)], model=_raw, numbers=(24,))  # fmt: skip


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


case("votes", "reduces", 1, 128, [bits("reduces", 128, I32)], [zeros(6 * 128, U32)], model=_reduces, only=("sm80", "sm90"))
case("votes", "blocks", 1, 128, [integers("blocks", 128, 0, 64)], [zeros(128)],
     model=lambda x, _: [np.full(128, (x & 1).sum() + 1000 * (x == 63).any() + 2000, I32)])  # fmt: skip
case("votes", "handed_over", 1, 64, [integers("hand", 32, 0, 64)], [zeros(32)], model=lambda x, _: [x[::-1] * 2])
case("votes", "active", 1, 64, [], [zeros(64, U32)], model=lambda _: [np.full(64, 0xFFFFFFFF, U32)])


# matrices


def _tiles(rows: Array, count: int, trans: bool) -> list[Array]:
    """What ldmatrix gives: register k of lane l holds row l // 4 (or column), elements 2 (l % 4) and the next."""
    out = []
    for k in range(count):
        tile = rows[8 * k : 8 * k + 8]
        tile = tile.T if trans else tile
        out.append(np.ascontiguousarray(tile).view(U32).reshape(-1))
    return out


def _loads(x: Array, _: Array) -> list[Array]:
    rows = np.stack([x[t * 24 + 8 * (t // 8 % 2) :][:8] for t in range(32)])
    out = [r for trans in (False, True) for count in (1, 2, 4) for r in _tiles(rows, count, trans)]
    return [np.concatenate([*out, *_tiles(rows, 1, False)])]  # the last: the first of x4.trans, turned again


def _stores(x: Array, _: Array) -> list[Array]:
    out = []
    registers = x.reshape(4, 32)
    for trans in (False, True):
        for count in (1, 2, 4):
            s = np.zeros(32 * 24, np.uint16)
            for k in range(count):
                tile = registers[k].view(np.uint16).reshape(8, 8)
                for j, row in enumerate(tile.T if trans else tile):
                    t = 8 * k + j
                    s[t * 24 + 8 * (t // 8 % 2) :][:8] = row
            out.append(s)
    return [np.concatenate(out)]


case("matrices", "loads", 1, 32, [bits("loads", 768, np.uint16)], [zeros(15 * 32, U32)], model=_loads)
case("matrices", "stores", 1, 32, [bits("stores", 128, U32)], [zeros(6 * 768, np.uint16)], model=_stores, numbers=(0,), only=("sm90",))


def bf16(x: Array) -> Array:
    """Values that bf16 can hold, as its codes."""
    return (np.asarray(x, "f4").view(U32) >> U32(16)).astype(np.uint16)


def _f32_of(code: Array) -> Array:
    return (code.astype(U32) << U32(16)).view(np.float32)


def _of_halves(k: int, decode: Callable[[Array], Array]) -> Model:
    def model(a: Array, b: Array, c: Array, _: Array) -> list[Array]:
        x, y = decode(a).astype("f8").reshape(16, k), decode(b).astype("f8").reshape(k, 8)
        return [(x @ y + c.reshape(16, 8)).astype("f4").reshape(-1)]

    return model


_codes = {"f16": lambda x: np.asarray(x, np.float16).view(np.uint16), "bf16": bf16}
_values = {"f16": lambda x: x.view(np.float16), "bf16": _f32_of}
# Whole numbers, whose sums are exact in any order; then numbers whose sums round, to 2^-20 of the greatest term.
for _type, _k in (("f16", 8), ("f16", 16), ("bf16", 8), ("bf16", 16)):
    for _close in (None, 2.0**-18):
        draw = (lambda n, s: integers(s, n, -8, 9)) if _close is None else (lambda n, s: rng(s).uniform(1, 2, n))
        case("products", f"{_type}_k{_k}", 1, 32,
             [_codes[_type](draw(16 * _k, f"a{_type}{_k}")), _codes[_type](draw(8 * _k, f"b{_type}{_k}")), draw(128, "c").astype("f4")],
             [zeros(128, "f4")], model=_of_halves(_k, _values[_type]), close=_close,
             only=("sm75", "sm80", "sm90") if (_type, _k) == ("f16", 8) else ("sm80", "sm90"))  # fmt: skip
_small = [integers(n, s, -5, 6) for n, s in (("a", 256), ("b", 128), ("c", 128))]
case("products", "f16_into_f16", 1, 32, [v.astype(np.float16).view(np.uint16) for v in _small], [zeros(64, U32)],
     model=lambda a, b, c, _: [
         (a.view(np.float16).astype("f8").reshape(16, 16) @ b.view(np.float16).astype("f8").reshape(16, 8)
          + c.view(np.float16).reshape(16, 8)).astype(np.float16).reshape(-1).view(U32)], only=("sm80", "sm90"))  # fmt: skip
case("products", "tf32_k8", 1, 32, [(integers("a", 128, -9, 9).astype("f4").view(U32) | U32(0x1FFF)), integers("b", 64, -9, 9).astype("f4").view(U32),
     integers("c", 128, -9, 9).astype("f4")], [zeros(128, "f4")],  # the low 13 bits are not looked at
     model=lambda a, b, c, _: [((a & U32(0xFFFFE000)).view("f4").reshape(16, 8) @ b.view("f4").reshape(8, 8)).reshape(-1) + c],
     only=("sm80", "sm90"))  # fmt: skip
case("products", "s8_k32", 1, 32, [bits("a8", 512, np.uint8), bits("b8", 256, np.uint8), bits("c8", 128, I32)], [zeros(128)],
     model=lambda a, b, c, _: [(a.view("i1").astype(I64).reshape(16, 32) @ b.astype(I64).reshape(32, 8) + c.reshape(16, 8))
                               .astype(I32).reshape(-1)], only=("sm80", "sm90"))  # fmt: skip
case("products", "f64_k4", 1, 32, [rng("x").normal(size=n) for n in (32, 32, 64)], [zeros(64, "f8")],
     model=lambda a, b, c, _: [(a.reshape(8, 4) @ b.reshape(4, 8)).reshape(-1) + c], close=1e-12, only=("sm80", "sm90"))  # fmt: skip


# asynchronous copies, mbarriers, clusters


def _zeros_filled(x: Array, _: Array) -> list[Array]:
    out = np.zeros(256, I32)
    octets = out.view(np.uint8).reshape(-1, 16)
    for t in range(32):
        octets[t, : t % 17] = x[4 * t : 4 * t + 4].view(np.uint8)[: t % 17]
        out[128 + t] = 0 if t & 1 else x[t]
    out[160:] = -1
    return [out]


def _too_early(x: Array, _: Array) -> list[Array]:
    old, new = np.repeat(np.array([-1, -2, -3], I32), 32), x
    first = np.concatenate([new[:32], old[32:]])
    second = np.concatenate([new[:64], old[64:]])
    return [np.concatenate([old, first, second, new])]


case("async_copies", "sizes", 1, 64, [bits("sizes", 448, I32)], [zeros(448)], model=lambda x, _: [x[::-1]])
case("async_copies", "zeros", 1, 32, [bits("zeros", 128, I32)], [zeros(256)], model=_zeros_filled)
case("async_copies", "pipelined", 3, 128, [integers("pipe", 3 * 7 * 512, -99, 99).astype("f4")], [zeros(3, "f4")], numbers=(7,),
     model=lambda x, _: [x.reshape(3, -1).sum(axis=1)])  # fmt: skip
case("async_copies", "too_early", 1, 32, [integers("early", 96, 0, 99)], [zeros(384)], model=_too_early, timely=True)


def _all_arrive(x: Array, _: Array) -> list[Array]:
    v = x
    for _ in range(3):
        v = v + np.roll(v, -37)
    return [v]


case("mbarriers", "all_arrive", 2, 128, [integers("arrive", 128, 0, 99)], [zeros(128)], model=_all_arrive, numbers=(3,))
case("mbarriers", "copies_arrive", 1, 64, [integers("copies", 128, 0, 99)], [zeros(128)],
     model=lambda x, _: [x.reshape(2, 64)[:, ::-1].reshape(-1)])  # fmt: skip
case("mbarriers", "counted", 1, 32, [], [zeros(10)], model=lambda _: [np.array([10, 7, 6, 5, 0, 3, 1, 7, 0, 0], I32)])
_new = ("sm90", "sm100")
case("mbarriers", "ring", 1, 64, [integers("ring", 256 * 7, -99, 99)], [zeros(32)], numbers=(7,), only=_new,
     model=lambda x, _: [(x.reshape(7, 8, 32).sum(axis=1) * np.arange(1, 8)[:, None]).sum(axis=0).astype(I32)])  # fmt: skip
case("mbarriers", "transactions", 1, 32, [], [zeros(3)], model=lambda _: [np.array([0, 0, 1], I32)], only=_new)
case("mbarriers", "bulk_store", 3, 128, [integers("bulk", 384, 0, 99)], [zeros(384)], model=lambda x, _: [x * 2], only=_new)


def _gathered(x: Array, _: Array) -> list[Array]:
    own = x.reshape(2, 4, 64).sum(axis=2)
    return [((own * np.arange(1, 5)).sum(axis=1)[:, None] * 10 + np.arange(4)).reshape(-1).astype(I32)]


case("clusters", "gathered", 8, 64, [integers("cluster", 512, -9, 9)], [zeros(8)], model=_gathered, cluster=4)
case("clusters", "histogram", 4, 96, [bits("bins", 3000, U32)], [zeros(128, U32)], numbers=(3000,), cluster=2,
     model=lambda x, _: [np.bincount(x & U32(127), minlength=128).astype(U32)])  # fmt: skip
case("clusters", "ring_of_blocks", 8, 32, [integers("inbox", 256, -9, 9)], [zeros(256)], cluster=4,
     model=lambda x, _: [(np.roll(x.reshape(2, 4, 32), 1, axis=1)[:, :, ::-1] * 4 + (np.arange(4)[:, None] + 1) % 4)
                         .reshape(-1).astype(I32)])  # fmt: skip
case("clusters", "remote_arrivals", 4, 32, [], [zeros(64)], model=lambda _: [np.full(64, 2 * 32 * 33 // 2, I32)], cluster=2)


# plain arithmetic


def _wide(x: Array, y: Array, _: Array) -> list[Array]:
    out: list[list[int]] = []
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        b = b or 1
        u, v, d = a % 2**64, b % 2**64, 3 if b == -1 else b
        quotient = abs(a) // abs(d) * (1 if (a < 0) == (d < 0) else -1)
        tail = abs(a) % 1000 * (1 if a >= 0 else -1)
        w = ((u << 64 | v) - u) % 2**128
        n = b & 63
        out.append([
            a + b, a - b, a * b, quotient, a - quotient * d, u // v, u % v, a * b >> 64, u * v >> 64, a << n, a >> n, u >> n,
            a < b, u < v, min(a, b), max(u, v), abs(a), -a, u // 10, tail, (u * 0x9E3779B97F4A7C15) % 2**64 >> 7,
            a * b >> 32, w >> 64, w,
        ])  # fmt: skip
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
        out.append([
            _signed(a + b, 16), _signed(a * b, 16), c * d % 65536, _signed(a + b, 8), d * 7 % 256, _towards_zero(a, e),
            a - _towards_zero(a, e) * e, c // e, c % e, a >> 3, c >> 3, _signed(b << 2, 8), a < b, c < d, min(a, b), max(c, d),
            _signed(-a, 16), ~b,
        ])  # fmt: skip
    return [words(np.array(out, object).T.reshape(-1))]


case("integers", "narrow", 4, 64, [bits("x16", 200, np.int16), bits("y8", 200, np.int8)], [zeros(200 * 18, I64)], model=_narrow,
     numbers=(200,))  # fmt: skip


def _plain(x: Array, y: Array, _: Array) -> list[Array]:
    out: list[list[int]] = []
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        u, v = a % 2**32, b % 2**32
        safe = b not in (0, -1)
        q = _towards_zero(a, b) if safe else 0
        s24, t24 = _signed(a, 24), _signed(b, 24)
        out.append([
            _signed(a + b, 32), (u + v) % 2**32, _signed(u * v, 32), a * b, u * v, a * b >> 32, u * v >> 32, q,
            a - q * b if safe else 0, u // v if v else 0, u % v if v else 0, _towards_zero(a, 7), u % 12,
            a - _towards_zero(a, -5) * -5, _signed(s24 * t24, 32), (u % 2**24) * (v % 2**24) % 2**32,
            (abs(a - b) + 9) % 2**32, (abs(u - v) + 9) % 2**32, a + b >> 1, a + b + 1 >> 1, u + v >> 1,
            _signed(abs(a), 32), min(a, b), max(u, v), int(np.float32(0.5) * np.float32(a)),
        ])  # fmt: skip
    return [words(np.array(out, object).T.reshape(-1))]


_e32 = np.array([0, 1, -1, 2**31 - 1, -(2**31), 6, -7, 1 << 20, 3, -100], I32)
_x32, _y32 = (np.concatenate([e, bits(n, 100, I32)]) for n, e in (("x32", np.repeat(_e32, 10)), ("y32", np.tile(_e32, 10))))
case("integers", "plain", 4, 64, [_x32, _y32], [zeros(200 * 25, I64)], model=_plain, numbers=(200,))
case("integers", "byte_sums", 1, 96, [bits("bytes", 5000, np.uint8)], [zeros(1, U64)], numbers=(5000,),
     model=lambda x, _: [(x.astype(U64) ** 2).sum(keepdims=True) << U64(25)])  # fmt: skip


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
        halves = [sum(p * q for p, q in zip(_halfwords(a, s), _octets(b, s)[k : k + 2], strict=True)) + c for s, k in ((True, 0), (False, 2))]
        ones = [k for k in range(32) if a >> k & 1]
        want = 1 + (b & 3)
        lut80, lut96 = a & b & c, a ^ b ^ c
        out.append([
            a.bit_count(), 32 - a.bit_length(), (b & -b).bit_length(), int(f"{a:032b}"[::-1], 2),
            _joined([both >> 8 * (c >> 4 * k & 7) & 255 for k in range(4)]), lr, rr, lc, rc, dots[0], dots[1], halves[0],
            halves[1], a & b | ~c, a ^ b ^ c, a & b | b & c | a & c, ones[want - 1] if len(ones) >= want else full,
            a >> 5 & 511, _signed(a >> 3 & 63, 6), (a & 2047) << 4 | b & ~(2047 << 4), (a >> 3).bit_length() - 1,
            lut80 + (lut80 != 0 or a < b), 7 if lut96 != 0 and a < b else 9,
        ])  # fmt: skip
    return [(np.array(out, object).T.reshape(-1) % 2**32).astype(U32)]


_xw, _yw = (np.concatenate([e.view(U32), bits(n, 100, U32)]) for n, e in (("xw", np.repeat(_e32, 10)), ("yw", np.tile(_e32, 10))))
case("bits", "words", 4, 64, [_xw, _yw], [zeros(200 * 23, U32)], model=_words, numbers=(200,))


def _long_words(x: Array, _: Array) -> list[Array]:
    out: list[list[int]] = []
    for a in x.tolist():
        out.append([
            a.bit_count(), 64 - a.bit_length(), (a & -a).bit_length(), int(f"{a:064b}"[::-1], 2), a << (a & 63) | a >> 5,
            _signed(a >> 17 & (1 << 30) - 1, 30), (a & (1 << 33) - 1) << 20 | ~a & ~((1 << 33) - 1 << 20),
        ])  # fmt: skip
    return [(np.array(out, object).T.reshape(-1) % 2**64).astype(U64)]


case("bits", "long_words", 4, 32, [np.concatenate([_edges.view(U64), bits("xl", 90, U64)])], [zeros(700, U64)], model=_long_words,
     numbers=(100,))  # fmt: skip


def _simd(x: Array, y: Array, _: Array) -> list[Array]:
    out: list[list[int]] = []
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        s8, u8 = (list(zip(_octets(a, s), _octets(b, s), strict=True)) for s in (True, False))
        s16, u16 = (list(zip(_halfwords(a, s), _halfwords(b, s), strict=True)) for s in (True, False))
        out.append([
            _joined([p + q for p, q in u8]), _joined([p - q for p, q in u16]), _joined([max(p) for p in s8]),
            _joined([max(p) for p in s16]), _joined([min(p) for p in u16]), _joined([abs(p - q) for p, q in u8]),
            _joined([abs(p - q) for p, q in s16]), _joined([255 * (p > q) for p, q in u8]), _joined([p == q for p, q in u16]),
            _joined([min(max(p + q, -(2**15)), 2**15 - 1) for p, q in s16]), _joined([p + q + 1 >> 1 for p, q in u8]),
            sum(abs(p - q) for p, q in u8),
        ])  # fmt: skip
    return [np.array(out, object).T.reshape(-1).astype(U32)]


case("bits", "simd", 4, 64, [_xw, _yw], [zeros(200 * 12, U32)], model=_simd, numbers=(200,))


# f64 and f32 with every rounding: exact arithmetic, rounded once


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
    up = {"n": half > 0 or (half == 0 and count & 1), "z": False, "d": sign and rest > 0, "u": not sign and rest > 0}[mode]
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
    """A root to twice the precision, with the last bit odd where it is not exact."""
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

    inverse = lambda a, b: 1 / b  # noqa: E731
    small = [a.astype("f4").astype("f8") for a in (x,)]
    clamped = np.clip(np.rint(y), 0, 2**32 - 1)
    return [np.concatenate([
        to("n", f.__add__), to("n", f.__sub__), to("n", f.__mul__), to("n", f.__truediv__), to("n", lambda a, b: a * b + a),
        root("n"), to("n", inverse), to("z", f.__add__), to("u", f.__add__), to("d", f.__add__), to("z", f.__mul__),
        to("u", f.__mul__), to("d", lambda a, b: a * b + b), to("z", f.__truediv__), root("u"), to("d", inverse),
        np.fmin(x, y), np.fmax(x, y), np.floor(x), np.ceil(y), np.trunc(x), np.rint(y), abs(x), np.copysign(x, y), *small,
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
            to("n", f.__add__), to("n", f.__sub__), to("n", f.__mul__), to("n", lambda p, q: p * q + p), to("z", f.__add__),
            to("u", f.__add__), to("d", f.__add__), to("z", f.__mul__), to("u", f.__mul__), to("d", f.__mul__),
            to("z", lambda p, q: p * q + p), to("u", lambda p, q: p * q + q), to("d", lambda p, q: p * q + p),
            to("n", f.__truediv__), to("z", f.__truediv__), root("n", a), root("d", b), to("u", lambda p, q: 1 / p),
            np.clip(a, 0, 1) + np.float32(0), np.minimum(a, b), np.maximum(a, b), np.floor(a), np.rint(b), np.trunc(a),
            np.clip(np.trunc(a.astype("f8")), -(2**31), 2**31 - 1).astype(I32).view("f4"),
            np.clip(np.rint(b.astype("f8")), 0, 2**32 - 1).astype(U32).view("f4"), whole, chopped, np.copysign(x, y), y,
        ])]  # fmt: skip

    return model


_f1, _f2 = ((rng(s).normal(size=200) * 2.0 ** integers(s + "e", 200, -30, 31)).astype("f4") for s in ("f1", "f2"))
case("roundings", "roundings", 4, 64, [_f1, _f2], [zeros(200 * 30, "f4")], model=_roundings(False), numbers=(200,), only=("sm75", "sm90"))
_t1 = np.concatenate([_f1[:100], (bits("tiny", 100, U32) & U32(0x80FFFFFF)).view("f4")])
_n1, _n2 = ((rng(s).uniform(1, 2, 200) * 2.0 ** rng(s).choice([-126, -125, -63, -62, -100], 200)
             * rng(s + "s").choice([-1, 1], 200)).astype("f4") for s in ("n1", "n2"))  # fmt: skip
case("roundings", "roundings", 4, 64, [_t1, _f2], [zeros(200 * 30, "f4")], model=_roundings(False), numbers=(200,), only=("sm75", "sm90"))
case("roundings", "roundings", 4, 64, [_n1, _n2], [zeros(200 * 30, "f4")], model=_roundings(True), numbers=(200,), only=("ftz",))


# local memory, functions, constants, vectors


def _own_histogram(x: Array, _: Array) -> list[Array]:
    out = []
    for row in (x & U32(15)).reshape(-1, 40):
        r, count = 0, np.bincount(row, minlength=16).tolist()
        for k in range(16):
            r = (r * 5 + count[k * 7 & 15]) % 2**32
        out.append(r)
    return [np.array(out, U32)]


case("locals", "histogram_of_own", 2, 48, [bits("own", 96 * 40, U32)], [zeros(96, U32)], model=_own_histogram, numbers=(40,))
case("locals", "median", 2, 48, [rng("median").normal(size=96 * 9).astype("f4")], [zeros(96, "f4")],
     model=lambda x, _: [np.median(x.reshape(-1, 9), axis=1).astype("f4")])  # fmt: skip


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
case("functions", "moments", 1, 32, [rng("moments").normal(size=500)], [zeros(3, "f8")], model=_moments, numbers=(500,), close=1e-13)


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
    third = np.stack([v[:, 3] + s[:, 0], v[:, 2] - s[:, 1], v[:, 1] * s[:, 2], v[:, 0] + (c[:, 0] + c[:, 1] * c[:, 2] - c[:, 3])], 1)
    return [third.astype("f4").reshape(-1), np.stack([w[:, 1] * 2, w[:, 0] + s[:, 3]], 1).reshape(-1)]


case("vectors", "quads", 2, 32, [integers("q4", 256, -99, 99).astype("f4"), rng("q2").normal(size=128), integers("qs", 256, -99, 99, np.int16),
     bits("qb", 256, np.uint8)], [zeros(256, "f4"), zeros(128, "f8")], model=_quads)  # fmt: skip
case("vectors", "row_sums", 3, 32, [bits("rows", 3 * 4 * 50, I32)], [zeros(3)], numbers=(50,),
     model=lambda x, _: [x.reshape(3, -1).sum(axis=1, dtype=I32)])  # fmt: skip


def _boxes(_: Array) -> list[Array]:
    bz, by, bx, z, y, x = np.ogrid[:2, :3, :2, :2, :4, :5]
    return [(x + 10 * y + 100 * z + 1000 * bx + 10000 * by + 100000 * bz).astype(I32).reshape(-1)]


case("vectors", "boxes", (2, 3, 2), (5, 4, 2), [], [zeros(480)], model=_boxes)


# halves


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
        out = [_to_half(a + b), _to_half(a - b), _to_half(a * b), _to_half(a * b + a), _to_half(np.clip(a + b, 0, 1)),
               _to_half(abs(a)), _to_half(-b), _to_half(a > b), flip, np.where(a == b, 0xFFFF, 0).astype(np.uint16), _to_half(a + b)]  # fmt: skip
        if new:
            out += [_to_half(np.minimum(a, b)), _to_half(np.maximum(a, b)), _to_half(np.maximum(a * b + b, 0))]
        return [np.concatenate(out).view(U32)]

    return model


_h1, _h2 = (rng(s).normal(size=400).astype(np.float16) for s in ("h1", "h2"))
_h2[::7] = _h1[::7]
for _new_, _only, _n in ((False, "sm75", 11), (True, "sm90", 14)):
    case("halves", "half_pairs", 4, 64, [_h1.view(U32), _h2.view(U32)], [zeros(200 * _n, U32)], model=_half_pairs(_new_), numbers=(200,),
         only=(_only,))  # fmt: skip


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
case("halves", "bfloats", 4, 64, [_b1.view(U32), _b2.view(U32)], [zeros(200 * 8, U32)], model=_bfloats, numbers=(200,), only=("sm90",))


def _half_scalars(x: Array, y: Array, _: Array) -> list[Array]:
    a, b = half(x), half(y)
    f, g = a.astype("f4"), b.astype("f4")
    i = np.arange(x.size)

    def toward(value: Array, mode: str) -> Array:
        near = value.astype("f8").astype(np.float16)
        off = near.astype("f8") - value
        step = {"z": np.where(abs(near) > abs(value), 0.0, np.inf), "u": np.where(off < 0, np.inf, 0), "d": np.where(off > 0, -np.inf, 0)}
        if mode == "z":
            return np.where(abs(near.astype("f8")) > abs(value), np.nextafter(near, np.float16(0)), near).view(np.uint16)
        moved = np.nextafter(near, np.copysign(np.float16(np.inf), step[mode]).astype(np.float16))
        return np.where(step[mode] != 0, moved, near).view(np.uint16)

    # hdiv divides in f32 and rounds again, which for halves is harmless; no quotient is subnormal here
    out = [_to_half(a + b), _to_half(np.clip(a * b, 0, 1)), _to_half(a * b + b), toward((f * g).astype("f8"), "z"),
           toward((f + g).astype("f8"), "u"), toward((f - g).astype("f8"), "d"), (f * g).view(U32), a.astype(I32).view(U32),
           a < b, np.isnan(b), _to_half(i * 37), _to_half(a / b), _to_half(np.floor(a)), _to_half(np.rint(b)), _to_half(np.sqrt(abs(a)))]  # fmt: skip
    # a bool leaves three bytes of the word as they were: nvcc writes the byte it has, widened
    return [np.concatenate([v.astype(U32) for v in out])]


case("halves", "half_scalars", 4, 64, [_h1[:200].view(np.uint16), _h2[:200].view(np.uint16)], [zeros(200 * 15, U32)], model=_half_scalars,
     numbers=(200,))  # fmt: skip


def _half_sum(x: Array, _: Array) -> list[Array]:
    pairs = x.view(np.float16).astype("f4").reshape(-1, 2)
    v = np.zeros(32, "f4")
    for row in (pairs[:, 0] + pairs[:, 1]).reshape(-1, 32):
        v = v + row
    for o in (16, 8, 4, 2, 1):
        v = v + v[LANE ^ o]
    return [v]


case("halves", "half_sum", 1, 32, [rng("hs").normal(size=2 * 32 * 9).astype(np.float16).view(U32)], [zeros(32, "f4")], model=_half_sum,
     numbers=(288,))  # fmt: skip


# CUDA's math library, within the errors that its documentation states


def _applied(*functions: Callable[[float], float]) -> Model:
    return lambda x, _: [np.array([f(float(v)) for f in functions for v in x], "f8")]


_m = rng("math").normal(size=100).astype("f4") * 3
case("math", "singles", 2, 64, [_m], [zeros(1700, "f4")], numbers=(100,), close=2e-6, model=_applied(
    math.exp, lambda v: 2.0**v, math.expm1, lambda v: math.log(abs(v)), lambda v: math.log2(abs(v)), lambda v: math.log1p(abs(v)),
    math.sin, lambda v: math.cos(float(np.float32(v) * np.float32(1e5))), math.tanh, math.erf, lambda v: abs(v) ** float(np.float32(1.7)), np.cbrt,
    lambda v: abs(v) ** -0.5, lambda v: math.hypot(v, 3), lambda v: math.atan2(v, 2), lambda v: math.fmod(v, 1.25),
    lambda v: math.lgamma(float(np.float32(abs(v)) + np.float32(1)))))  # fmt: skip
case("math", "fast", 2, 64, [_m], [zeros(600, "f4")], numbers=(100,), close=2e-5, model=_applied(
    math.exp, lambda v: math.log(abs(v)), math.sin, lambda v: v / 3, lambda v: abs(v) ** 0.5, lambda v: 1 / v))  # fmt: skip
case("math", "doubled", 2, 64, [_m.astype("f8") * 1.1], [zeros(800, "f8")], numbers=(100,), close=1e-14, model=_applied(
    math.exp, lambda v: math.log(abs(v)), lambda v: math.sin(v * 1e6), lambda v: abs(v) ** 1.25, math.tanh, math.erf, np.cbrt,
    lambda v: abs(v) ** -0.5))  # fmt: skip
