"""Tiles that go by row: several kept dims of columns that begin anywhere, each row as if it were alone.

An array here ends where its memory ends, so that the emulator refuses (WF710) a load that touches a byte beyond it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided
from test_shifted import placed

import warpfold as wf
from warpfold.compiler.driver.artifact import Artifact
from warpfold.compiler.errors import ArgumentError, PlanError
from warpfold.compiler.plan.abi import Facts
from warpfold.compiler.planner import choose as planner
from warpfold.compiler.planner import task
from warpfold.runtime.backends.emulator_backend import EmulatorBackend, emulator
from warpfold.runtime.compiled import _serves
from warpfold.runtime.emulator.profiler import Profiler, total

TYPES = [np.int8, np.bool_, np.float16, ml_dtypes.bfloat16, np.int16, np.float32]
WALKS = {
    "walk=staggered": ("finish=cta", "finish=last_block,coarsening=4"),
    "fast=kept,lanes=1,warps=2": ("finish=cta", "finish=last_block,coarsening=4", "finish=two_kernels,coarsening=4"),
    "fast=kept,lanes=4,warps=4": ("finish=cta", "finish=last_block,coarsening=4", "finish=two_kernels,coarsening=4"),
    "fast=kept,warps=1,lanes=1,warps_kept=2": ("finish=cta",),
    "fast=kept,lanes=2,warps=2,walk=blocked": ("finish=cta", "finish=last_block,coarsening=4"),
    "fast=kept,lanes=2,warps=2,cta=serial": ("finish=cta", "finish=last_block,coarsening=4"),
    "walk=padded": ("finish=cta",),
    "fast=kept,lanes=2,warps=2,cluster=2": ("finish=cta", "finish=last_block,coarsening=4"),
}
"""How threads lie, with the finishes that such plans may have."""


def numbers(shape: tuple[int, ...], t: Any, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(t)


def strides_of(shape: tuple[int, ...], order: tuple[int, ...], gaps: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of dims that lie in ``order`` in memory, outermost first, the last dim innermost, with such gaps."""
    found, step = [1] * len(shape), shape[-1]
    for dim, gap in zip(reversed(order), gaps, strict=False):
        found[dim] = step + gap
        step = found[dim] * shape[dim]
    return tuple(found)


def laid(values: Any, strides: tuple[int, ...], offset: int = 0) -> tuple[Any, Any]:
    """``values`` with these strides, ``offset`` bytes after a boundary, and all the memory of that array.

    What lies between elements would spoil every result.
    """
    reach = sum((n - 1) * s for n, s in zip(values.shape, strides, strict=True)) + 1
    flat = placed(np.full(reach, 100).astype(values.dtype), offset)
    found = as_strided(flat, values.shape, [s * values.itemsize for s in strides])
    found[...] = values
    return found, flat


def wanted(values: Any, what: str, axis: int) -> Any:
    if what in ("any", "count_nonzero"):
        return np.count_nonzero(values, axis=axis) if what == "count_nonzero" else values.any(axis=axis)
    return getattr(values.astype(np.float64), what)(axis=axis)


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch) -> list[Facts]:
    """What the kernels that read elements here are compiled for."""
    found: list[Facts] = []
    launch = EmulatorBackend.launch

    def watched(self: EmulatorBackend, artifact: Artifact, *rest: Any) -> None:
        found.append(artifact.main.facts)
        launch(self, artifact, *rest)

    monkeypatch.setattr(EmulatorBackend, "launch", watched)
    return found


@settings(max_examples=150, deadline=None)
@given(
    shape=st.tuples(st.integers(2, 5), st.integers(2, 3), st.integers(2, 45), st.integers(16, 150)),
    order=st.permutations([0, 1, 2]),
    gaps=st.tuples(*[st.sampled_from([0, 0, 1, 3, 8])] * 3),
    t=st.sampled_from(TYPES),
    offset=st.integers(0, 15),
    plan=st.sampled_from([f"{walk},{finish}" for walk, finishes in WALKS.items() for finish in finishes]),
    extents=st.tuples(st.sampled_from([2, 4, 8, 16]), st.sampled_from([1, 2, 4])),
    what=st.sampled_from(["sum", "max", "argmin", "argmax", "any", "count_nonzero"]),
    steps=st.tuples(*[st.sampled_from([1, 1, -1])] * 4),
    out=st.tuples(st.permutations([0, 1]), st.sampled_from([0, 1, 8]), st.sampled_from([0, 1])),
)
def test_any_rows_in_any_plan(
    shape: Any, order: Any, gaps: Any, t: Any, offset: int, plan: str, extents: Any, what: str, steps: Any, out: Any
) -> None:
    """Dims in any order, with gaps that keep them apart, walked forwards or backwards; results that lie anyhow."""
    values, item = numbers(shape, t, offset), np.dtype(t).itemsize
    array, _ = laid(values, strides_of(shape, order, gaps), offset * item % 16)
    flips = tuple(slice(None, None, s) for s in steps)
    words = f"{plan},vector={extents[0]},unroll={extents[1]}"
    right = wanted(values[flips], what, 2)
    kind = wf.reduce(values[:1, :1, :1, :1], what, axis=2, device="emulator").dtype
    room, memory = laid(np.zeros(right.shape, kind), strides_of(right.shape, out[0], (out[1], out[2])))
    before = memory.copy()
    try:
        wf.reduce(array[flips], what, axis=2, plan=words, out=room, device="emulator")
    except PlanError as e:
        assert e.code in ("WF405", "WF407", "WF416", "WF421")  # noqa: PT017 (an error is one of two right answers)
        assume(False)
    np.testing.assert_array_equal(room.astype(np.float64), right)
    room[...] = 0
    np.testing.assert_array_equal(memory, before)


@pytest.mark.parametrize("plan", ["walk=staggered,vector=4,unroll=2", "fast=kept,vector=8,lanes=2,warps=4,unroll=2"])
@pytest.mark.parametrize("finish", ["cta", "last_block,coarsening=4"])
def test_states_of_several_values(plan: str, finish: str) -> None:
    """Each in a buffer of its own, whose rows are padded to whole vectors."""
    x = np.random.default_rng(3).standard_normal((3, 2, 70, 85)).astype(np.float16)
    array, _ = laid(x, strides_of(x.shape, (1, 2, 0), (1, 0, 3)), 6)
    mean, var = wf.reduce(array, "mean_var", axis=2, plan=f"{plan},finish={finish}", device="emulator")
    np.testing.assert_allclose(mean, x.astype(np.float64).mean(axis=2), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(var, x.astype(np.float64).var(axis=2), rtol=1e-3, atol=1e-3)
    low, place = wf.reduce(
        array, what=("min", "argmin"), axis=2, plan=f"{plan},finish={finish}".replace("8", "4"), device="emulator"
    )
    np.testing.assert_array_equal(low, x.min(axis=2))
    np.testing.assert_array_equal(place, x.argmin(axis=2))


@pytest.mark.parametrize("finish", ["cta", "last_block,coarsening=4", "two_kernels,coarsening=4"])
def test_a_mask_lies_in_rows_of_its_own(finish: str, facts: list[Facts]) -> None:
    """Of other strides than the array's."""
    x, mask = numbers((3, 4, 33, 77), np.int16), numbers((3, 4, 33, 77), np.int8, 9) > 0
    array, _ = laid(x, strides_of(x.shape, (0, 2, 1), (0, 1, 3)), 6)
    masked, _ = laid(mask, strides_of(x.shape, (2, 0, 1), (5, 0, 1)), 7)
    plan = f"fast=kept,vector=8,lanes=4,warps=2,unroll=2,finish={finish}"
    found = wf.sum(array, axis=2, where=masked, plan=plan, device="emulator")
    np.testing.assert_array_equal(found, x.sum(axis=2, where=mask))
    assert (facts[0].access, facts[0].by_row) == (("unaligned", "unaligned"), True)


@pytest.mark.parametrize("plan", ["walk=staggered,vector=4", "fast=kept,vector=4,lanes=4,warps=4"])
@pytest.mark.parametrize("finish", ["cta", "last_block,coarsening=4"])
@pytest.mark.parametrize(
    ("limit", "columns"), [((planner, "INDEX_LIMIT"), 83), ((task, "LARGE_ELEMENTS"), 87)], ids=["wide", "own dims"]
)
def test_offsets_of_sixty_four_bits_and_kernels_of_just_these_dims(
    plan: str, finish: str, limit: Any, columns: int, monkeypatch: pytest.MonkeyPatch, facts: list[Facts]
) -> None:
    monkeypatch.setattr(*limit, 0)
    for shape in ((3, 41, columns), (2, 3, 41, columns)):
        x = numbers(shape, np.float32)
        array, _ = laid(x, strides_of(shape, (*range(len(shape) - 3), len(shape) - 2, len(shape) - 3), (1, 1, 1)), 8)
        words = f"{plan},unroll=2,finish={finish}"
        np.testing.assert_array_equal(wf.sum(array, axis=-2, plan=words, device="emulator"), x.sum(axis=-2))
        assert facts[-1].by_row
        assert facts[-1].index_bits == (64 if limit[1] == "INDEX_LIMIT" else 32)
        assert facts[-1].kept_rank == (3 if limit[1] == "INDEX_LIMIT" else len(shape) - 1)


@pytest.mark.parametrize("plan", ["walk=staggered,vector=4", "fast=kept,vector=4,lanes=4,warps=4"])
def test_a_kernel_serves_rows_of_every_size(plan: str) -> None:
    """Also such as vectors do not cut, and a single row; one that does not go by row refuses others (WF123)."""
    k = wf.compile("sum", (4, 60, 301), "f32", axis=1, plan=f"{plan},unroll=2,finish=last_block,coarsening=4")
    assert k.artifact.main.facts.by_row
    for shape in ((4, 60, 301), (7, 33, 53), (2, 9, 1001), (1, 50, 65), (5, 40, 4)):
        x = numbers(shape, np.float32)
        np.testing.assert_array_equal(k(placed(x, 12), device="emulator"), x.sum(axis=1))


def test_a_kernel_whose_tiles_go_on_in_the_next_row_serves_no_row_that_is_cut() -> None:
    own = Facts(3, 3, 32, ("unaligned",), store_vector=False)
    assert _serves(replace(own, by_row=True), own)
    assert not _serves(own, replace(own, by_row=True))


def test_what_lies_beside_a_row_has_no_part_in_its_results() -> None:
    """Not even a NaN, which lies before and after each row."""
    x = numbers((3, 60, 210), np.float32)
    x[:, :, :3] = x[:, :, -2:] = np.nan
    inner = x[:, :, 3:-2]
    for plan in ("walk=staggered,vector=4", "fast=kept,vector=4,lanes=4,warps=4"):
        for finish in ("cta", "last_block,coarsening=4"):
            found = wf.sum(inner, axis=1, nan="raise", plan=f"{plan},finish={finish}", device="emulator")
            np.testing.assert_array_equal(found, inner.sum(axis=1))
    with pytest.raises(ArgumentError, match="WF135"):
        wf.sum(x, axis=1, nan="raise", plan="walk=staggered,vector=4", device="emulator")


@pytest.mark.parametrize(("shape", "access"), [((8, 640, 1025), "staggered"), ((300, 17, 1001), "unaligned")])
@pytest.mark.parametrize(("what", "t"), [("sum", np.int8), ("any", np.bool_), ("max", np.float16)])
def test_a_large_array_is_read_so_unasked(shape: Any, access: str, what: str, t: Any, facts: list[Facts]) -> None:
    x = numbers(shape, t)
    if what == "any":
        x[:, :, ::2] = False
    found = wf.reduce(placed(x, 2), what, axis=1, device="emulator")
    np.testing.assert_array_equal(found, getattr(x, what)(axis=1))
    assert (facts[0].access, facts[0].by_row) == ((access,), True)


def test_only_the_threads_at_the_ends_of_the_array_read_single_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not those at the ends of each row: beside it lie the elements of others."""
    shape, vector = (7, 3, 1001), 8
    x = numbers(shape, np.int8)
    tool = Profiler()
    monkeypatch.setattr(emulator(), "tool", tool)
    plan = f"fast=kept,vector={vector},lanes=1,warps=1,warps_kept=4,unroll=1,walk=interleaved"
    np.testing.assert_array_equal(wf.max(placed(x, 1), axis=1, plan=plan, device="emulator"), x.max(axis=1))
    warps = shape[0] * -(-shape[2] // (32 * vector))
    loads = total(tool.profiles).traffic("global load")
    assert 2 * shape[1] * warps < loads.requests <= 2 * shape[1] * warps + 2 * 2 * vector
