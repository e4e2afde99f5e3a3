"""Whole kernels of compilers: nvcc's from ``data/*.cu`` and LLVM's, with their time and memory."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest
from emulator_harness import DATA

from warpfold.runtime import emulator

SUMS = ("sum_sm75", "sum_sm90")


def load(name: str) -> emulator.Module:
    return emulator.parse((DATA / f"{name}.ptx").read_text())


def sum_f32(name: str, x: np.ndarray, ctas: int) -> np.float32:
    memory = emulator.Memory()
    partials, counter, out = np.zeros(ctas, np.float32), np.zeros(1, np.uint32), np.zeros(1, np.float32)
    args = [memory.bind(a.view(np.uint8)) for a in (x, partials, counter, out)]
    emulator.launch(load(name), "sum_f32", (ctas, 1, 1), (256, 1, 1), [*args, x.size], memory)
    assert counter[0] == 0  # atom.inc wraps: the kernel can run again
    return out[0]


def sum_model(x: np.ndarray, ctas: int) -> np.float32:
    """The combining tree of ``data/sum.cu``, in NumPy."""
    lane = np.arange(32)

    def warps(v: np.ndarray) -> np.ndarray:
        for offset in (16, 8, 4, 2, 1):
            v = v + v[..., lane ^ offset]
        return v

    def block(v: np.ndarray) -> np.ndarray:
        first = warps(v.reshape(*v.shape[:-1], 8, 32))[..., 0]
        return warps(np.concatenate([first, np.zeros((*first.shape[:-1], 24), np.float32)], axis=-1))[..., 0]

    step = ctas * 256
    quads = x[: x.size // 4 * 4].reshape(-1, 4)
    acc = np.zeros(step, np.float32)
    for at in range(0, len(quads), step):
        q = quads[at : at + step]
        acc[: len(q)] += (q[:, 0] + q[:, 1]) + (q[:, 2] + q[:, 3])
    tail = x[x.size // 4 * 4 :]
    acc[: tail.size] += tail
    partials = block(acc.reshape(ctas, 256))
    last = np.zeros(256, np.float32)
    for at in range(0, ctas, 256):
        part = partials[at : at + 256]
        last[: part.size] += part
    return np.float32(block(last))


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize(("n", "ctas"), [(1, 1), (255, 3), (4096, 2), (100_003, 7), (1 << 18, 132), (70_001, 300)])
def test_a_last_block_sum_has_the_bits_of_its_tree(name: str, n: int, ctas: int) -> None:
    x = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    assert sum_f32(name, x, ctas).view(np.uint32) == sum_model(x, ctas).view(np.uint32)


def test_a_million_elements_in_time_and_memory() -> None:
    x = np.ones(1 << 20, np.float32)
    sum_f32("sum_sm90", x, 264)
    start = time.process_time()
    assert sum_f32("sum_sm90", x, 264) == 1 << 20
    assert time.process_time() - start < 1.0  # about 0.02 s on one core
    tracemalloc.start()
    sum_f32("sum_sm90", x, 264)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * x.nbytes


def test_small_launches_are_fast() -> None:
    x = np.ones(100, np.float32)
    sum_f32("sum_sm90", x, 1)
    start = time.process_time()
    for _ in range(50):
        sum_f32("sum_sm90", x, 1)
    assert (time.process_time() - start) / 50 < 0.05  # about 2 ms


@pytest.mark.parametrize("name", ["rowmax_sm90a", "rowmax_sm100a"])
def test_a_kernel_made_by_mlir(name: str) -> None:
    n, rows = 1024, 3
    x = np.random.default_rng(0).standard_normal((rows, n)).astype(np.float32)
    memory, out, counts = emulator.Memory(), np.zeros(rows * 128), np.zeros(rows, np.uint32)
    args = [memory.bind(a.reshape(-1).view(np.uint8)) for a in (x, out, counts)]
    emulator.launch(load(name), "rowmax", (rows, 1, 1), (128, 1, 1), [*args, n], memory)
    parts = x.reshape(rows, -1, 128, 4)
    squares = np.zeros((rows, 128, 4), np.float32)
    for k in range(parts.shape[1]):  # float64 holds a float32 square exactly, so this is an fma
        squares = (squares.astype(np.float64) + parts[:, k].astype(np.float64) ** 2).astype(np.float32)
    total = np.zeros((rows, 128), np.float32)
    for k in range(4):
        total = total + squares[..., k]
    lane = np.arange(32)
    most = parts.max(axis=(1, 3)).reshape(rows, 4, 32)
    most = np.maximum(most, most[..., lane ^ 16])
    wide = total.astype(np.float64).reshape(rows, 4, 32)
    wide = wide + wide[..., np.where(lane + 8 < 32, lane + 8, lane)]
    assert (out == (wide + most).reshape(-1)).all()
    assert (counts == ((2 * 32 - 1) * 128) % 2**32).all()  # per lane: 32 lanes of 2 turns, and a ballot of all ones


def wrap(x: int) -> int:
    return (x + 2**31) % 2**32 - 2**31


def collatz(n: int, limit: int) -> int:
    steps = 0
    while n != 1 and steps < limit:
        n = 3 * n + 1 if n & 1 else n // 2
        steps += 1
    return steps


def control_model(v: int) -> int:
    """``control`` of ``data/control.cu`` for one thread."""
    r = 0
    for k in range(v % 13):
        if k == 5:
            continue
        if r > 100:
            break
        case = (v + k & 0xFFFFFFFF) % 7
        table = [3, 1, 4, 1, 5, 9, 2, 6][k & 7]
        r = wrap([r + 1, r * 2, r ^ k, r + table, r - 3, r, -r][case])
        if case == 5:
            r += collatz(v % 1000 + 1, 50)
    r = wrap(r + wrap((v >> 3 & 15) * r) + wrap((r & 15) * r))
    a, b = np.float32(r), np.float32(v & 255)
    return wrap(r + (int(np.float32(np.float32(a * b) - np.float32(a - b))) & 255))


def test_loops_switches_calls_and_local_arrays() -> None:
    x = np.random.default_rng(1).integers(0, 2**32, 300, dtype=np.uint32)
    memory, out = emulator.Memory(), np.zeros(300, np.int32)
    args = [memory.bind(x.view(np.uint8)), memory.bind(out.view(np.uint8)), 300]
    emulator.launch(load("control_sm90"), "control", (2, 1, 1), (256, 1, 1), args, memory)
    assert out.tolist() == [control_model(int(v)) for v in x]


def test_a_histogram_in_dynamic_shared_memory() -> None:
    data = np.random.default_rng(2).integers(0, 256, 20000).astype(np.uint8)
    memory, bins = emulator.Memory(), np.zeros(256, np.uint32)
    args = [memory.bind(data), memory.bind(bins.view(np.uint8)), data.size]
    emulator.launch(load("control_sm90"), "histogram", (5, 1, 1), (192, 1, 1), args, memory, shared_bytes=1024)
    assert (bins == np.bincount(data, minlength=256)).all()


def test_a_prefix_sum_in_doubles() -> None:
    x = np.random.default_rng(4).integers(-50, 50, 200).astype(np.float64)
    memory, out = emulator.Memory(), np.zeros(200)
    args = [memory.bind(x.view(np.uint8)), memory.bind(out.view(np.uint8)), 200]
    emulator.launch(load("control_sm90"), "scan64", (1, 1, 1), (256, 1, 1), args, memory)
    assert np.allclose(out, np.cumsum(x) * 0.5 + 1 / (np.arange(200) + 3), rtol=1e-15, atol=0)


def test_half_precision_pairs() -> None:
    h = np.random.default_rng(5).standard_normal(600).astype(np.float16)
    memory, pairs, f = emulator.Memory(), np.zeros(600, np.float16), np.zeros(300, np.float32)
    args = [memory.bind(a.view(np.uint8)) for a in (h, pairs, f)]
    emulator.launch(load("control_sm90"), "halfs", (2, 1, 1), (160, 1, 1), [*args, 300], memory)
    low, high = h[::2].astype(np.float64), h[1::2].astype(np.float64)
    assert np.allclose(f, low + np.exp(high) + np.sqrt(np.abs(low)), rtol=1e-6)
    quarter = (h * np.float16(0.25)).astype(np.float64)
    assert (pairs == (h.astype(np.float64) ** 2 + quarter).astype(np.float16)).all()


def test_a_cluster_of_four() -> None:
    x, out, memory = np.arange(8, dtype=np.int32), np.zeros(8, np.int32), emulator.Memory()
    args = [memory.bind(x.view(np.uint8)), memory.bind(out.view(np.uint8))]
    emulator.launch(load("control_sm90"), "clusters", (8, 1, 1), (64, 1, 1), args, memory, cluster=(4, 1, 1))
    assert (out == [(1 * 0 + 2 * 1 + 3 * 2 + 4 * 3) * 10 + k for k in range(4)] + [600 + k for k in range(4)]).all()
