"""The emulator as a backend: results in memory of any strides, and the time and memory of a reduction."""

from __future__ import annotations

import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from covering import covering
from hypothesis import given, settings
from hypothesis import strategies as st

import warpfold as wf
from warpfold.runtime.backends.emulator_backend import emulator

Array = npt.NDArray[Any]


# --- results in memory of any strides -----------------------------------------------------------------------------
def place(memory: Array, order: tuple[int, ...], steps: tuple[int, ...]) -> Array:
    """A view within ``memory``: its axes lie there in ``order``, outermost first, and are walked with ``steps``."""
    inner = memory[(slice(1, -1),) * memory.ndim].transpose(np.argsort(order))
    return inner[(..., *(slice(None, None, step) for step in steps))]


@covering(
    (
        ("shape", "axis", "order", "steps"),
        [
            ((33,), None, (), ()),
            ((40, 16), 0, (0,), (2,)),
            ((40, 16), 0, (0,), (-1,)),
            ((40, 16), 0, (0,), (1,)),
            ((17, 40), 1, (0,), (-3,)),
            ((6, 40, 8), 1, (1, 0), (1, 1)),
            ((6, 40, 8), 1, (0, 1), (1, -1)),
            ((6, 40, 8), 1, (1, 0), (-2, 3)),
            ((4, 6, 8, 5), 3, (2, 0, 1), (1, -2, 1)),
            ((4, 6, 8, 5), (0, 2), (1, 0), (2, 1)),
            ((3, 2, 2, 2, 2, 2, 2, 5), 7, (6, 0, 5, 1, 4, 2, 3), (1, -1, 2, 1, -2, 1, 1)),
        ],
    ),
    ("kind", ["f4", "f8", "i2", "c8", "c16", "bfloat16"]),
)
def test_results_are_written_to_out_and_nowhere_else(
    shape: tuple[int, ...], axis: Any, order: tuple[int, ...], steps: tuple[int, ...], kind: str
) -> None:
    t = np.dtype(ml_dtypes.bfloat16 if kind == "bfloat16" else kind)
    x = (np.arange(np.prod(shape)).reshape(shape) % 5 - 1).astype(t)
    wanted = np.asarray(x.astype("c16").sum(axis) if t.kind == "c" else x.astype("f8").max(axis)).astype(t)
    memory = np.full([wanted.shape[a] * abs(steps[a]) + 2 for a in order], 77, t)
    expected = memory.copy()
    place(expected, order, steps)[...] = wanted
    out = place(memory, order, steps)
    assert wf.reduce(x, "sum" if t.kind == "c" else "max", axis=axis, out=out, device="emulator") is out
    np.testing.assert_array_equal(memory.astype("c16"), expected.astype("c16"))


@pytest.mark.parametrize("finish", ["last_block", "two_kernels", "atomic"])
@pytest.mark.parametrize(("shape", "axis"), [((3, 4, 5000), 2), ((5000, 3, 4), 0)])
def test_results_of_every_finish_are_written_to_out(shape: tuple[int, ...], axis: int, finish: str) -> None:
    x = (np.arange(np.prod(shape)).reshape(shape) % 7).astype("i4")
    for steps in ((1, 1), (-2, 1), (1, -3)):
        memory = np.full((3 * abs(steps[0]) + 2, 4 * abs(steps[1]) + 2), 77, "i8")
        expected = memory.copy()
        place(expected, (0, 1), steps)[...] = x.sum(axis)
        out = place(memory, (0, 1), steps)
        wf.reduce(x, "sum", axis=axis, out=out, plan=f"finish={finish}", device="emulator")
        np.testing.assert_array_equal(memory, expected)


@settings(deadline=None, max_examples=60)
@given(
    rows=st.integers(1, 3),
    columns=st.sampled_from([4, 8, 12, 64, 65]),
    start=st.integers(0, 5),
    extra=st.integers(0, 5),
    kind=st.sampled_from(["f4", "f8", "i1"]),
)
def test_vectors_are_stored_only_where_they_are_aligned(
    rows: int, columns: int, start: int, extra: int, kind: str
) -> None:
    """Column sums store several results at once where all rows of out begin at a boundary; else this would be WF711."""
    x = np.arange(rows * 40 * columns).reshape(rows, 40, columns).astype(kind)
    memory = np.full((rows, start + columns + extra), 7, kind)
    expected = memory.copy()
    expected[:, start : start + columns] = x.max(1)
    wf.max(x, 1, out=memory[:, start : start + columns], device="emulator")
    np.testing.assert_array_equal(memory, expected)


# --- costs ---------------------------------------------------------------------------------------------------------
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


# --- several threads ----------------------------------------------------------------------------------------------
def test_threads_do_not_touch_each_others_memory() -> None:
    rows = [np.random.default_rng(n).integers(-9, 9, (37 + n, 5000)).astype(np.int32) for n in range(4)]

    def call(x: Array) -> list[Any]:
        return [wf.sum(x, axis=axis, device="emulator") for axis in (0, 1, None) for _ in range(3)]

    with ThreadPoolExecutor(len(rows)) as pool:
        found = list(pool.map(call, rows))
    for x, results in zip(rows, found, strict=True):
        wanted = [x.sum(axis) for axis in (0, 1, None) for _ in range(3)]
        for r, w in zip(results, wanted, strict=True):
            np.testing.assert_array_equal(r, w)


def test_one_thread_may_walk_all_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of steps grows with the arrays, and still ends an endless launch."""
    monkeypatch.setattr(import_module("warpfold.runtime.emulator.machine.launch"), "DEFAULT_STEPS", 100)
    x = np.ones(1000, np.float32)
    total = wf.compile("sum", x.shape, "f32", plan="serial")
    assert total(x) == 1000
    monkeypatch.setattr(emulator(), "max_steps", 100)
    with pytest.raises(wf.WarpfoldError, match="WF716: no end after 100 steps"):
        total(x)
