"""Divergence, loops, switches, trees and tails."""

from __future__ import annotations

import numpy as np

from .case import I32, U32, Array, Model, bits, case, integers, rng, zeros


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


case(
    "divergence",
    "nested",
    3,
    96,
    [integers("nested", 288, 0, 100)],
    [np.full(288, -5, I32)],
    model=_nested_all,
    numbers=(250,),
)


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


case(
    "loops",
    "collatz",
    2,
    64,
    [integers("collatz", 128, 1, 3000, U32)],
    [zeros(128, U32)],
    model=_collatz,
    numbers=(60,),
)
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
            if op == 0:
                a += b
            elif op == 1:
                a -= b
            elif op == 2:
                a *= 3
            elif op == 3:
                b = a
            elif op == 4:
                a ^= b << 2
            elif op == 5:
                b += 7
            elif op == 6:
                pc += a > b
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


case(
    "trees",
    "sequential_tree",
    4,
    128,
    [rng("seq").normal(size=3001).astype("f4")],
    [zeros(4, "f4")],
    model=_sequential,
    numbers=(3001,),
    shared=512,
)
case(
    "trees",
    "argmax",
    3,
    128,
    [np.round(rng("best").normal(size=384) * 20).astype("f4")],
    [zeros(3)],
    model=lambda x, _: [x.reshape(3, 128).argmax(axis=1).astype(I32)],
)
for _kernel in ("tail_with_syncwarp", "tail_in_step"):
    case("tails", _kernel, 3, 64, [integers("tail", 192, -99, 99)], [zeros(3)], model=_blocks(64))
