"""Recipes: their source, the positions of addresses, and where arrays must not be."""

from __future__ import annotations

from typing import Any

import numpy as np
from fake_gpu import Gpu, gpu
from hypothesis import given
from hypothesis import strategies as st

import warpfold as wf
from warpfold.compiler.dtypes import F32
from warpfold.runtime.calls import recipe
from warpfold.runtime.view import Device, View

__all__ = ["gpu"]
ROWS = np.arange(60, dtype=np.float32).reshape(5, 12)


def test_the_source_of_the_simplest_recipe() -> None:
    text = recipe._text((True,), (False, True), (), (((0, 0, False), (1, 1, False)),), captures=False, result="x1")
    assert text.splitlines() == [
        "def recipe(x0, known=False):",
        "    a0 = address0(x0)",
        "    if a0 & 15 != offset0 or a0 < 4294967296: return MISS",
        "    x1 = empty1(*like1); a1 = address1(x1)",
        "    if (a1) & 15: return MISS",
        "    try: launch0, words0 = held = pop()",
        "    except IndexError: launch0, words0 = held = spare()",
        "    words0[0] = a0",
        "    words0[1] = a1",
        "    if status := launch(*launch0): again(0, launch0, status)",
        "    push(held)",
        "    return x1",
    ]


def test_the_source_with_an_array_for_the_result_bytes_added_and_a_workspace() -> None:
    kernels = (((0, 0, True),), ((2, 1, False),))
    text = recipe._text((True, False), (True, False), ((1, 0),), kernels, captures=True, result="x1")
    for line in (
        "if (a0) & 15 or a1 & 15 != offset1 or a0 < 4294967296 or low1_0 < a1 - a0 < high1_0: return MISS",
        "if capturing(stream_argument, flag_argument) or flag.value:",
        "    return MISS",
        "words0[0] = a0 + added0_0",
        "words1[2] = a1",
        "if status := launch(*launch1): again(1, launch1, status)",
    ):
        assert f"    {line}\n" in text


def test_the_source_that_first_checks_arrays_and_stream() -> None:
    kernels = (((0, 0, False), (1, 1, False)),)
    text = recipe._text(
        (True, True), (True, True), (), kernels, captures=False, result="x1", guard="alike(x0, x1) and same()"
    )
    assert text.splitlines()[1:7] == [
        "    if not known:",
        "        if not (alike(x0, x1) and same()): return MISS",
        "        if stream() != number: return elsewhere(x0, x1)",
        "    a0 = address0(x0)",
        "    a1 = address1(x1)",
        "    if (a0 | a1) & 15 or a0 < 4294967296 or a1 < 4294967296: return MISS",
    ]


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(-6, 6)), min_size=2, max_size=2), st.integers(-40, 40))
def test_overlap_is_tested_by_the_bounds_of_arrays(dims: list[tuple[int, int]], distance: int) -> None:
    """The bounds are those of the bytes that arrays span; the slow path decides whether they share one."""
    (n, s), (m, t) = dims
    v = View(4000, (n,), (s,), F32, Device("cuda"))
    w = View(4000 + 4 * distance, (m,), (t,), F32, Device("cuda"))
    low, high = recipe._apart(v, w)
    (first, last), (begin, end) = v.extent, w.extent
    assert (low < w.address - v.address < high) == (max(first, begin) < min(last, end))


def test_kernels_after_the_first_find_their_arrays(gpu: Gpu) -> None:
    for finish in ("two_kernels", "atomic"):
        how: dict[str, Any] = {"plan": f"finish={finish},coarsening=1", "determinism": "none"}
        for factor in (1, 2, 3):
            x = gpu.tensor(np.full(5000, factor, np.int32))
            got, calls = gpu.launched(lambda: wf.sum(x, **how))  # noqa: B023
            assert got.a == 5000 * factor
        assert calls == ["cuLaunchKernelEx"] * (2 if finish == "two_kernels" else 3)


def test_parts_and_axes_from_the_other_end_add_bytes(gpu: Gpu) -> None:
    for factor in (1, 2):
        z = gpu.tensor((ROWS * (1 - 2j) * factor).astype(np.complex64))[:, ::-1]
        got, calls = gpu.launched(lambda: wf.sum(z, 1))  # noqa: B023
        np.testing.assert_array_equal(got.a, z.a.sum(1))
        out = gpu.tensor(np.zeros(5, np.float32))[::-1]
        wf.max(gpu.tensor(ROWS * factor), 1, out=out)
        np.testing.assert_array_equal(out.a, (ROWS * factor).max(1))
    assert calls == ["cuLaunchKernelEx"]


def test_results_nest_as_before(gpu: Gpu) -> None:
    def program(x: Any) -> Any:
        return {"low": wf.fold(wf.MIN, x), "both": (wf.fold(wf.SUM, x), wf.fold(wf.MAX, x))}

    x = gpu.tensor(ROWS)
    cold, warm = (wf.reduce(x, (program, "minmax")) for _ in range(2))
    assert type(cold) is type(warm)
    assert [type(c) for c in cold] == [type(w) for w in warm]
    assert repr(type(warm[0]).__name__) == repr(type(cold[0]).__name__)
    assert (warm[0].low.a, warm[0].both[1].a, warm[1][0].a) == (0, 59, 0)


def test_no_launch_for_no_elements(gpu: Gpu) -> None:
    x = gpu.tensor(np.zeros((0, 7), np.float32))
    assert [wf.sum(x, 1).shape for _ in range(3)] == [(0,)] * 3
    assert gpu.launched(lambda: wf.sum(x, 1))[1] == []


def test_a_result_is_made_before_one_that_is_given(gpu: Gpu) -> None:
    """And arrays are named in another order than the parameters."""

    @wf.program
    def both(a: Any, b: Any) -> Any:
        return a - b, a + b

    for factor in (1, 2, 3):
        x, y, out = (gpu.tensor(ROWS * n * factor) for n in (5, 2, 1))
        (less, more), calls = gpu.launched(lambda: both(b=y, a=x, out=(None, out)))  # noqa: B023
        assert more is out
        np.testing.assert_array_equal(less.a, ROWS * 3 * factor)
        np.testing.assert_array_equal(more.a, ROWS * 7 * factor)
    assert calls == ["cuLaunchKernelEx"]
