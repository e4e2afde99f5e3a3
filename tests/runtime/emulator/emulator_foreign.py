"""The kernels of ``data/foreign``: how each is launched, and what it must give, by models in NumPy.

A kernel's parameters are its inputs, its outputs and its integers, in this order. ``CASES`` needs NumPy alone, so that
the same launches run on a GPU (``python data/foreign/on_gpu.py``), whose output bits ``data/foreign/h200.json`` holds.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

FOREIGN = Path(__file__).parent / "data" / "foreign"
Array = npt.NDArray[np.generic]
Model = Callable[..., Sequence[Array]]
U32, I32, I64, U64 = np.uint32, np.int32, np.int64, np.uint64


@dataclass(frozen=True)
class Case:
    """One launch.

    Attributes:
        outputs: their values before the launch.
        model: ``model(*inputs, *outputs before)`` gives the outputs after it.
        close: relative error that the ISA or CUDA's documentation allows; None where it defines the bits.
        only: suffixes of the compiled files to run, all if empty.
    """

    source: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    model: Model
    numbers: tuple[int, ...] = ()
    shared: int = 0
    cluster: int = 1
    close: float | None = None
    only: tuple[str, ...] = field(default=())

    @property
    def files(self) -> list[str]:
        """The compiled modules that have this kernel."""
        found = sorted(path.stem for path in FOREIGN.glob(f"{self.source}_*.ptx"))
        return [name for name in found if not self.only or name[len(self.source) + 1 :] in self.only]


CASES: list[Case] = []


def case(source: str, kernel: str, grid: object, block: object, inputs: object, outputs: object, **more: object) -> None:
    """Adds a case; the model is the function below the call site, given as ``model``."""
    shapes = [tuple(v) if isinstance(v, tuple) else (v, 1, 1) for v in (grid, block)]
    CASES.append(Case(source, kernel, *shapes, tuple(inputs), tuple(outputs), **more))  # type: ignore[arg-type]


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
case("async_copies", "too_early", 1, 32, [integers("early", 96, 0, 99)], [zeros(384)], model=_too_early)


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
