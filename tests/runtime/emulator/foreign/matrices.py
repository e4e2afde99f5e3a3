"""ldmatrix, stmatrix, mma."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .case import I32, I64, U32, Array, Model, bits, case, integers, rng, zeros


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
case(
    "matrices",
    "stores",
    1,
    32,
    [bits("stores", 128, U32)],
    [zeros(6 * 768, np.uint16)],
    model=_stores,
    numbers=(0,),
    only=("sm90",),
)


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
        case(
            "products",
            f"{_type}_k{_k}",
            1,
            32,
            [
                _codes[_type](draw(16 * _k, f"a{_type}{_k}")),
                _codes[_type](draw(8 * _k, f"b{_type}{_k}")),
                draw(128, "c").astype("f4"),
            ],
            [zeros(128, "f4")],
            model=_of_halves(_k, _values[_type]),
            close=_close,
            only=("sm75", "sm80", "sm90") if (_type, _k) == ("f16", 8) else ("sm80", "sm90"),
        )
_small = [integers(n, s, -5, 6) for n, s in (("a", 256), ("b", 128), ("c", 128))]
case(
    "products",
    "f16_into_f16",
    1,
    32,
    [v.astype(np.float16).view(np.uint16) for v in _small],
    [zeros(64, U32)],
    model=lambda a, b, c, _: [
        (
            a.view(np.float16).astype("f8").reshape(16, 16) @ b.view(np.float16).astype("f8").reshape(16, 8)
            + c.view(np.float16).reshape(16, 8)
        )
        .astype(np.float16)
        .reshape(-1)
        .view(U32)
    ],
    only=("sm80", "sm90"),
)
case(
    "products",
    "tf32_k8",
    1,
    32,
    [
        (integers("a", 128, -9, 9).astype("f4").view(U32) | U32(0x1FFF)),
        integers("b", 64, -9, 9).astype("f4").view(U32),
        integers("c", 128, -9, 9).astype("f4"),
    ],
    [zeros(128, "f4")],  # the low 13 bits are not looked at
    model=lambda a, b, c, _: [
        ((a & U32(0xFFFFE000)).view("f4").reshape(16, 8) @ b.view("f4").reshape(8, 8)).reshape(-1) + c
    ],
    only=("sm80", "sm90"),
)
case(
    "products",
    "s8_k32",
    1,
    32,
    [bits("a8", 512, np.uint8), bits("b8", 256, np.uint8), bits("c8", 128, I32)],
    [zeros(128)],
    model=lambda a, b, c, _: [
        (a.view("i1").astype(I64).reshape(16, 32) @ b.astype(I64).reshape(32, 8) + c.reshape(16, 8))
        .astype(I32)
        .reshape(-1)
    ],
    only=("sm80", "sm90"),
)
case(
    "products",
    "f64_k4",
    1,
    32,
    [rng("x").normal(size=n) for n in (32, 32, 64)],
    [zeros(64, "f8")],
    model=lambda a, b, c, _: [(a.reshape(8, 4) @ b.reshape(4, 8)).reshape(-1) + c],
    close=1e-12,
    only=("sm80", "sm90"),
)


# wmma, and 8-bit floats


def _doubled(a: Array, b: Array) -> Array:
    """What every kernel of ``fragments`` makes of A and B, which begins with sums of 1."""
    return 2 * (a.astype("f8") @ b.astype("f8") + 1)


def _split(a: Array, b: Array, _: Array) -> list[Array]:
    steps = [(a.reshape(16, 32)[:, k : k + 16], b.reshape(16, 32)[:, k : k + 16]) for k in (0, 16)]
    return [np.concatenate([_doubled(x, y.T).reshape(-1) for x, y in steps])]


def _small_floats(a: Array, b: Array, _: Array) -> list[Array]:
    """Registers as the ISA lays them out; the values are whole numbers below 4, whose codes are spelt out."""
    e4m3, e5m2 = np.zeros(256), np.zeros(256)
    e4m3[[0x38, 0x40, 0x44, 0xB8]], e5m2[[0x3C, 0x40, 0x42, 0xC0]] = (1, 2, 3, -1), (1, 2, 3, -2)
    lane, part = np.ogrid[:32, :4]
    left, right = np.zeros((16, 32)), np.zeros((32, 8))
    for k, codes in enumerate(a.view(np.uint8).reshape(4, 32, 4)):
        left[lane // 4 + 8 * (k % 2), 4 * (lane % 4) + part + 16 * (k // 2)] = e4m3[codes]
    for k, codes in enumerate(b.view(np.uint8).reshape(2, 32, 4)):
        right[4 * (lane % 4) + part + 16 * k, lane // 4] = e5m2[codes]
    total, t = left @ right, np.arange(32)
    return [np.concatenate([total[t // 4 + 8 * (k // 2), 2 * (t % 4) + k % 2] for k in range(4)])]


def _codes(name: str, n: int, codes: list[int]) -> Array:
    return np.array(codes, np.uint8)[rng(name).integers(0, len(codes), n)].view(U32)


HALF = "f2"
case(
    "fragments",
    "split_k",
    2,
    32,
    [integers("wa", 512, -5, 6).astype(HALF), integers("wb", 512, -5, 6).astype(HALF)],
    [zeros(512, "f4")],
    model=_split,
)
case(
    "fragments",
    "tall_halves",
    1,
    32,
    [integers("ta", 512, -5, 6).astype(HALF), integers("tb", 128, -5, 6).astype(HALF)],
    [zeros(256, HALF)],
    model=lambda a, b, _: [_doubled(a.reshape(16, 32).T, b.reshape(16, 8)).T.reshape(-1)],
)
case(
    "fragments",
    "wide_bytes",
    1,
    32,
    [bits("ba", 128, "i1"), bits("bb", 512, "i1")],
    [zeros(256)],
    model=lambda a, b, _: [_doubled(a.reshape(8, 16), b.reshape(32, 16).T).reshape(-1)],
)
case(
    "fragments",
    "doubles",
    1,
    32,
    [integers("da", 32, -99, 99).astype("f8"), integers("db", 32, -99, 99).astype("f8")],
    [zeros(64, "f8")],
    model=lambda a, b, _: [_doubled(a.reshape(8, 4), b.reshape(8, 4).T).reshape(-1)],
)
case(
    "fragments",
    "small_floats",
    1,
    32,
    [_codes("e4", 512, [0, 0x38, 0x40, 0x44, 0xB8]), _codes("e5", 256, [0, 0x3C, 0x40, 0x42, 0xC0])],
    [zeros(128, "f4")],
    model=_small_floats,
)
