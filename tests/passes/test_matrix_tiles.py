"""Tiles that warps read in turned blocks: the same bits as by words, no bank conflicts, and mistakes in kernels."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_harness import place
from numpy.testing import assert_array_equal

import warpfold as wf
from warpfold.compiler.errors import ArgumentError
from warpfold.compiler.target import TARGETS
from warpfold.runtime.emulator import Memory, sanitize
from warpfold.runtime.emulator.profiler import Profiler

sys.path.insert(0, str(Path(__file__).parent.parent / "sanitizer"))
from mutate import Edit, drop, edit

BF16 = ml_dtypes.bfloat16
TWO = "fragments=matrix,warps=2,warps_kept=2"
EXTENTS = ("warps=1,warps_kept=1", "warps=2,warps_kept=2", "warps=1,warps_kept=4", "warps=4,warps_kept=1",
           "warps=1,warps_kept=8", "warps=1,warps_kept=16", "warps=2,warps_kept=4,cluster=2")  # fmt: skip


@wf.program
def turned(x: Any) -> Any:
    return x.mT + 0


@wf.program
def both_ways(x: Any, y: Any) -> Any:
    return x + y.mT, x.mT * y


@wf.program
def weighted(x: Any, w: Any) -> Any:
    return wf.softmax(x * w, axis=0)


@wf.program
def standardised(x: Any, scale: Any, *, axis: int) -> Any:
    m = wf.mean(x, axis=axis, keepdims=True)
    return (x - m) * wf.rsqrt(wf.var(x, axis=axis, keepdims=True) + 1e-5) * scale


def numbers(shape: tuple[int, ...], t: Any = BF16) -> Any:
    """Random elements of a type."""
    r = np.random.default_rng(sum(shape))
    return r.integers(-999, 999, shape).astype(t) if t in (np.int16, np.uint16) else r.standard_normal(shape).astype(t)


def bits(x: Any) -> Any:
    return np.ascontiguousarray(x).view(np.uint16)


def run(f: Any, *xs: Any, plan: str, **how: Any) -> Any:
    return f(*xs, plan=plan, device="emulator", **how)


@pytest.mark.parametrize("extents", EXTENTS)
@pytest.mark.parametrize("shape", [(100, 72), (33, 8)])
def test_columns_have_the_bits_of_words(shape: tuple[int, int], extents: str) -> None:
    x = numbers(shape)
    same = f"fast=reduced,vector=8,lanes=4,resident=shared,{extents}"
    found = run(wf.softmax, x, axis=0, plan=f"fragments=matrix,{extents}")
    assert_array_equal(bits(found), bits(run(wf.softmax, x, axis=0, plan=f"fragments=words,{same}")))
    wide = np.exp(x.astype(float) - x.astype(float).max(0))
    np.testing.assert_allclose(found.astype(float), wide / wide.sum(0), rtol=0.01, atol=1e-6)


@pytest.mark.parametrize("t", [np.float16, BF16, np.int16, np.uint16])
@pytest.mark.parametrize("extents", ["warps=1,warps_kept=8,held=1", "warps=2,warps_kept=2,held=2"])
def test_transposed_copies_move_bits(t: Any, extents: str) -> None:
    for shape in ((3, 40, 72), (64, 8), (8, 200)):
        x = numbers(shape, t)
        assert_array_equal(bits(run(turned, x, plan=f"fragments=matrix,{extents}")), bits(x.swapaxes(-1, -2)))


def test_results_along_columns_leave_as_whole_rows() -> None:
    x, y = numbers((72, 96)), numbers((96, 72))
    for found, expected in zip(run(both_ways, x, y, plan="fragments=matrix"), (x + y.T, x.T * y), strict=True):
        assert_array_equal(bits(found), bits(expected))


@pytest.mark.parametrize("t", [np.float16, BF16])
def test_views_with_gaps_and_several_dims_are_served(t: Any) -> None:
    """Columns of several kept and reduced dims, with gaps between rows, and weights of each axis."""
    x = numbers((2, 3, 40, 5, 24), t)
    plan = "fragments=matrix,warps=1,warps_kept=2"
    for view in (x, x[:, :, 3:, :, 8:], x[:, ::-1]):
        for axis in (0, 2, 3):
            same = (
                f"fragments=words,fast=reduced,vector=8,lanes=4,resident=shared{plan.removeprefix('fragments=matrix')}"
            )
            found, expected = (run(wf.softmax, view, axis=axis, plan=p) for p in (plan, same))
            assert_array_equal(bits(found), bits(expected))
    for shape, axis in (((40, 1), -2), ((1, 24), -2)):
        w, v = numbers(shape, t), x[0, 0].transpose(1, 0, 2)
        wide = v.astype(float)
        expected = (wide - wide.mean(axis, keepdims=True)) / np.sqrt(wide.var(axis, keepdims=True) + 1e-5)
        found = run(standardised, np.ascontiguousarray(v), w, axis=axis, plan="fragments=matrix")
        np.testing.assert_allclose(found.astype(float), expected * w.astype(float), rtol=0.02, atol=0.02)


@pytest.mark.parametrize("shape", [(64, 72), (100, 40)])
def test_teams_of_ctas_have_the_bits_of_words(shape: tuple[int, int]) -> None:
    x = numbers(shape)
    teams = "resident=grid,persistent=2,warps=1,warps_kept=2"
    found = run(wf.softmax, x, axis=0, plan=f"fragments=matrix,{teams}")
    assert_array_equal(bits(found), bits(run(wf.softmax, x, axis=0, plan=f"fast=reduced,vector=8,lanes=4,{teams}")))


@pytest.mark.parametrize("extents", ["warps=1,warps_kept=2", "warps=2,warps_kept=1", "warps=1,warps_kept=1,cluster=2"])
@pytest.mark.parametrize("t", [np.float16, BF16, np.int16])
def test_reductions_read_turned_tiles(t: Any, extents: str, profiler: Profiler) -> None:
    x = (numbers((3, 100, 24), np.int16) % 2).astype(t)
    for f, expected in ((wf.sum, x.astype(int).sum(1)), (wf.max, x.max(1))):
        assert_array_equal(run(f, x, axis=1, plan=f"fragments=matrix,{extents}").astype(int), expected.astype(int))
    some = np.arange(24) % 3 > 0
    found = run(wf.sum, x, axis=1, where=np.broadcast_to(some, x.shape), plan=f"fragments=matrix,{extents}")
    assert_array_equal(found.astype(int), np.where(some, x.astype(int), 0).sum(1))
    assert all(p.bank_conflicts == 0 for p in profiler.profiles)


def test_a_compiled_reduction_serves_other_columns() -> None:
    x = (numbers((64, 72), np.int16) % 8).astype(np.float16)
    compiled = wf.compile("sum", (64, 64), "float16", axis=0, plan="fragments=matrix")
    assert_array_equal(compiled(x, device="emulator"), x.sum(0))
    for other in (x[:60], x[:, :60]):
        with pytest.raises(ArgumentError, match="WF123"):
            compiled(other, device="emulator")


@pytest.mark.parametrize("extents", EXTENTS)
def test_no_lane_waits_for_a_bank(extents: str, profiler: Profiler) -> None:
    run(wf.softmax, numbers((100, 72)), axis=0, plan=f"fragments=matrix,{extents}")
    if "cluster" not in extents:
        run(turned, numbers((64, 40)), plan=f"fragments=matrix,{extents},held=2")
        run(both_ways, numbers((72, 96)), numbers((96, 72)), plan=f"fragments=matrix,{extents},held=1")
    for profile in profiler.profiles:
        assert profile.shared
        assert profile.bank_conflicts == 0


def test_a_result_may_take_the_place_of_its_input() -> None:
    x = numbers((100, 40))
    expected = run(wf.softmax, x, axis=0, plan="fragments=matrix")
    assert_array_equal(bits(run(wf.softmax, x, axis=0, out=x, plan="fragments=matrix")), bits(expected))


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90a", "sm_100a"])
def test_targets_without_an_instruction_have_words(arch: str, columns: Any) -> None:
    assert ("ldmatrix" in ptx(arch)) == TARGETS[arch].has_matrix_loads
    assert ("stmatrix" in ptx(arch)) == TARGETS[arch].has_matrix_stores
    assert outcome(ptx(arch), *columns) == set()


@pytest.fixture(scope="module")
def columns() -> tuple[Any, Any, Any]:
    """Columns that differ by orders of magnitude, the weights of rows, and the softmax of their products."""
    x = (numbers((64, 16)).astype(float) + 40 * np.arange(16)).astype(BF16)
    w = np.linspace(0.5, 1.5, 64, dtype=np.float32)[:, None].astype(BF16)
    return x, w, run(weighted, x, w, plan=TWO)


# --- mistakes ------------------------------------------------------------------------------------------
@cache
def ptx(arch: str = "sm_90a") -> str:
    """A softmax of 64 rows with weights and 16 columns, by two warps of each eight columns."""
    return str(weighted.compile(((64, 16), "bf16"), ((64, 1), "bf16"), arch=arch, plan=TWO).ptx)


RACE, SYNC, OUT, UNSET = "shared-race", "warp-synchrony", "out-of-bounds", "uninitialised"
MISALIGNED, MASK = "misaligned", "warp-mask"
WRONG = "wrong result"


def outcome(code: str, x: Any, w: Any, expected: Any) -> set[str]:
    """The kinds of the findings; or that a result is wrong, or nothing."""
    memory, (rows, columns) = Memory(), x.shape
    given = [place(memory, array.view(np.int16))[0] for array in (x, w)]
    out, found = place(memory, np.zeros(x.shape, np.int16), initialised=False)
    arguments = [*given, out, columns, rows, rows, rows, 1, columns, 0, 1, 1, columns]
    faults = sanitize(code, "weighted", (1, 1, 1), (128, 1, 1), arguments, memory, shared_bytes=2048, max_steps=20_000)
    if faults:
        return {fault.kind for fault in faults}
    return set() if np.array_equal(found.view(np.uint16).reshape(x.shape), bits(expected)) else {WRONG}


LOAD, STORE, BARRIER = r"ldmatrix\.sync", r"stmatrix\.sync", r"bar\.sync"
MISTAKES: tuple[tuple[str, Edit, tuple[str, ...]], ...] = (
    ("no barrier before the first matrix read", drop(BARRIER, 0), (RACE, SYNC, UNSET)),
    ("no wait for the copies", drop(r"cp\.async\.wait_group", 0), (RACE, SYNC, UNSET)),
    ("no group of copies", drop(r"cp\.async\.commit_group", 0), (RACE, SYNC, UNSET)),
    ("no barrier before warps read each other's maxima", drop(BARRIER, 1), (RACE, SYNC, UNSET)),
    ("no barrier before warps read each other's sums", drop(BARRIER, 2), (RACE, SYNC, UNSET)),
    ("no barrier before results leave", drop(BARRIER, 3), (RACE, SYNC, UNSET)),
    *(
        (f"{what} without .trans", edit(rf"({name}.*x4)\.trans", r"\1", which), (WRONG,))
        for what, name, which in (("maxima", LOAD, 0), ("sums", LOAD, 1), ("elements", LOAD, 2), ("results", STORE, 0))
    ),
    *(
        (f"{what} from the next row of 16 bytes", edit(rf"({name}.*\[%rd\d+)\]", r"\1+16]", which), kinds)
        for what, name, which, kinds in (
            ("maxima", LOAD, 0, (WRONG, OUT, UNSET)),
            ("sums", LOAD, 1, (WRONG, OUT, UNSET)),
            ("elements", LOAD, 2, (WRONG, OUT, UNSET, RACE)),
            ("results", STORE, 0, (WRONG, OUT, UNSET, RACE)),
        )
    ),
    ("rows between boundaries", edit(rf"({LOAD}.*\[%rd\d+)\]", r"\1+2]", 1), (MISALIGNED, OUT)),
    ("results between boundaries", edit(rf"({STORE}.*\[%rd\d+)\]", r"\1+8]", 0), (MISALIGNED, OUT)),
    *(
        (f"{what} lie elsewhere", edit(r"xor\.b32(\s+%r\d+, %r\d+), %r\d+;", r"add.s32\1, 0;", which), kinds)
        for what, which, kinds in (
            ("copied columns", 0, (WRONG, RACE)),
            ("copied rows", 1, (WRONG, RACE)),
            ("read columns", 2, (WRONG, RACE)),
            ("read rows", 3, (WRONG, RACE)),
        )
    ),
    ("two lanes name one row", edit(r"and\.b32(\s+%r\d+, %r\d+), 25;", r"and.b32\1, 24;"), (WRONG, RACE, SYNC)),
    ("pairs of rows in turn", edit(r"(stmatrix.*\{)(%r\d+), (%r\d+)", r"\1\3, \2"), (WRONG,)),
    ("a block is read twice", edit(rf"({LOAD}.*\{{)(%r\d+), (%r\d+), (%r\d+), (%r\d+)", r"\1\2, \2, \4, \5", 1),
     (WRONG, UNSET)),
    ("half an access is copied", edit(r"cp\.async\.cg(\.shared\.global\S*) (.*), 16;", r"cp.async.ca\1 \2, 8;"),
     (UNSET, WRONG)),
    ("lanes of another column meet", edit(r"(shfl\.sync\.bfly\.b32\s+%r\d+, %r\d+), 2,", r"\1, 4,", 0), (WRONG,)),
    ("half the lanes meet", edit(r"(shfl\.sync.*), -1;", r"\1, 65535;", 0), (MASK,)),
    ("results of another thread's slot", edit(r"(ld\.shared\.v4.*\[%rd\d+)\]", r"\1+16]", -1), (WRONG, OUT, UNSET)),
)  # fmt: skip


def test_nothing_is_found_without_a_mistake(columns: Any) -> None:
    assert outcome(ptx(), *columns) == set()


@pytest.mark.parametrize(("what", "change", "kinds"), MISTAKES, ids=lambda v: v if isinstance(v, str) else "")
def test_each_mistake_is_found(what: str, change: Edit, kinds: tuple[str, ...], columns: Any) -> None:
    found = outcome(change(ptx()), *columns)
    assert found, what
    assert found <= set(kinds), found
