"""What the emulator costs as a backend: time and memory of a real reduction."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np

import warpfold as wf


def test_a_mebi_of_f32_is_summed_within_a_second() -> None:
    x = np.random.default_rng(0).standard_normal(1 << 20).astype(np.float32)
    wf.sum(x, device="emulator")
    start = time.perf_counter()
    wf.sum(x, device="emulator")
    assert time.perf_counter() - start < 1


def test_memory_stays_under_twenty_times_the_input() -> None:
    x = np.ones(1 << 20, np.float32)
    wf.sum(x, device="emulator")
    for axis_shape in ((1 << 20,), (1024, 1024), (64, 1 << 14)):
        tracemalloc.start()
        wf.sum(x.reshape(axis_shape), -1, device="emulator")
        wf.sum(x.reshape(axis_shape), 0, device="emulator")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 20 * x.nbytes
