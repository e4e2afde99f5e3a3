"""Asynchronous copies, mbarriers, clusters."""

from __future__ import annotations

import numpy as np

from .case import I32, U32, Array, bits, case, integers, zeros


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
case(
    "async_copies",
    "pipelined",
    3,
    128,
    [integers("pipe", 3 * 7 * 512, -99, 99).astype("f4")],
    [zeros(3, "f4")],
    numbers=(7,),
    model=lambda x, _: [x.reshape(3, -1).sum(axis=1)],
)
case("async_copies", "too_early", 1, 32, [integers("early", 96, 0, 99)], [zeros(384)], model=_too_early, timely=True)


def _all_arrive(x: Array, _: Array) -> list[Array]:
    v = x
    for _ in range(3):
        v = v + np.roll(v, -37)
    return [v]


case("mbarriers", "all_arrive", 1, 128, [integers("arrive", 128, 0, 99)], [zeros(128)], model=_all_arrive, numbers=(3,))
case(
    "mbarriers",
    "copies_arrive",
    1,
    64,
    [integers("copies", 128, 0, 99)],
    [zeros(128)],
    model=lambda x, _: [x.reshape(2, 64)[:, ::-1].reshape(-1)],
)
case("mbarriers", "counted", 1, 32, [], [zeros(10)], model=lambda _: [np.array([10, 7, 6, 5, 0, 3, 1, 7, 0, 0], I32)])
_new = ("sm90", "sm100")
case(
    "mbarriers",
    "ring",
    1,
    64,
    [integers("ring", 256 * 7, -99, 99)],
    [zeros(32)],
    numbers=(7,),
    only=_new,
    model=lambda x, _: [(x.reshape(7, 8, 32).sum(axis=1) * np.arange(1, 8)[:, None]).sum(axis=0).astype(I32)],
)
case("mbarriers", "transactions", 1, 32, [], [zeros(3)], model=lambda _: [np.array([0, 0, 1], I32)], only=_new)
case(
    "mbarriers",
    "bulk_store",
    3,
    128,
    [integers("bulk", 384, 0, 99)],
    [zeros(384)],
    model=lambda x, _: [x * 2],
    only=_new,
)


def _gathered(x: Array, _: Array) -> list[Array]:
    own = x.reshape(2, 4, 64).sum(axis=2)
    return [((own * np.arange(1, 5)).sum(axis=1)[:, None] * 10 + np.arange(4)).reshape(-1).astype(I32)]


case("clusters", "gathered", 8, 64, [integers("cluster", 512, -9, 9)], [zeros(8)], model=_gathered, cluster=4)
case(
    "clusters",
    "histogram",
    4,
    96,
    [bits("bins", 3000, U32)],
    [zeros(128, U32)],
    numbers=(3000,),
    cluster=2,
    model=lambda x, _: [np.bincount(x & U32(127), minlength=128).astype(U32)],
)
case(
    "clusters",
    "ring_of_blocks",
    8,
    32,
    [integers("inbox", 256, -9, 9)],
    [zeros(256)],
    cluster=4,
    model=lambda x, _: [
        (np.roll(x.reshape(2, 4, 32), 1, axis=1)[:, :, ::-1] * 4 + (np.arange(4)[:, None] + 1) % 4)
        .reshape(-1)
        .astype(I32)
    ],
)
case(
    "clusters",
    "remote_arrivals",
    4,
    32,
    [],
    [zeros(64)],
    model=lambda _: [np.full(64, 2 * 32 * 33 // 2, I32)],
    cluster=2,
)
