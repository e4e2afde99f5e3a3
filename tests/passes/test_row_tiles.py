"""Rows that go through a tile of shared memory, run on the emulator under its sanitizer and its profiler."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from covering import covering, some
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from kernel_programs import layer_norm, operand, placed, run, softmax, task_of, total, untouched_around

from warpfold.compiler.dtypes import F16, F32, F64
from warpfold.compiler.errors import PlanError
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.resident.tiled import MOST_WAITS
from warpfold.compiler.program.graph import Program
from warpfold.compiler.program.values import cast
from warpfold.runtime.emulator.profiler import Profiler
from warpfold.runtime.emulator.sanitizer import Sanitizer

sys.path.insert(0, str(Path(__file__).parent.parent / "sanitizer"))
from mutate import Edit, barrier, drop

TYPES = {np.float16: F16, np.float32: F32, np.float64: F64}
TILES = [f"tile_bytes={1 << k}" for k in range(12, 17)]


def _softmax(x: Any) -> Any:
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def _filled(rows: int, columns: int, begin: int, dtype: Any) -> tuple[Any, Any]:
    """Random rows without gaps that begin ``begin`` elements after a boundary, and the memory around them."""
    x, memory = placed(rows, columns, columns, begin, dtype)
    x[:] = np.random.default_rng(columns).standard_normal(x.shape)
    return x, memory


def _run(program: Program, inputs: Any, outputs: Any, plan: str) -> Any:
    """Runs a program whose rows go through a tile; the sanitizer finds nothing."""
    tool = Sanitizer()
    try:
        choice = run(program, inputs, outputs, tool=tool, plan=plan)
    except PlanError as e:  # a tile that is too small for a row
        assume(e.code != "WF418")
        raise
    assert not list(tool.findings), list(tool.findings)[:3]
    assert "tile" in (*choice.facts.access, *choice.facts.stores)
    return choice


@st.composite
def _shapes(draw: Any) -> tuple[int, int]:
    """Rows of 2 to 5000 elements, several of them for a CTA where they are short."""
    columns = draw(st.one_of(st.integers(2, 70), st.integers(2, 700), st.integers(2, 5000)))
    return draw(st.integers(2, max(2, min(300, 5000 // columns)))), columns


@settings(max_examples=16, deadline=None)
@given(
    _shapes(), st.sampled_from(list(TYPES)), st.integers(0, 7), st.integers(0, 7), st.sampled_from(TILES), st.booleans()
)
def test_a_softmax_of_any_rows(
    shape: tuple[int, int], dtype: Any, begin: int, begin_of_results: int, plan: str, in_place: bool
) -> None:
    x, _ = _filled(*shape, begin, dtype)
    want = _softmax(x)
    y, memory = placed(*shape, shape[1], begin_of_results, dtype)
    if in_place:
        y, memory = _filled(*shape, begin, dtype)
        x = y
    _run(softmax(TYPES[dtype]), [x], [y], plan)
    error = np.abs(y.astype(np.float64) - want) / np.maximum(want, np.finfo(dtype).tiny)
    assert error.max() < 12 * max(np.finfo(dtype).eps, np.finfo(np.float32).eps)
    assert untouched_around(y, memory)


GROUPS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "a middle axis": ((70, 4, 3), (0, 2)),
    "a middle axis of several lanes": ((5, 70, 3), (0, 2)),
    "rows with short gaps": ((40, 33), (0,)),
    "rows with gaps in groups": ((30, 9, 3), (0, 2)),
    "two axes apart": ((9, 4, 5, 3), (0, 2)),
    "two axes inside": ((9, 5, 4, 3), (0, 1)),
    "columns of a batch": ((3, 200, 2), (0, 2)),
    "a large tile": ((3, 70, 11), (0, 2)),
    "a large tile of several groups": ((5, 20, 13), (0, 2)),
}
LARGE = "tile_bytes=65536,lanes=4,warps_kept=4"


@covering(("dtype", list(TYPES)), ("name", GROUPS))
def test_groups_of_rows(name: str, dtype: Any) -> None:
    (outer, *inner), kept = GROUPS[name]
    count = int(np.prod(inner))
    flat, _ = placed(outer, count, count + ("gaps" in name), 3, dtype)
    flat[:] = np.random.default_rng(count).standard_normal(flat.shape)
    x = np.lib.stride_tricks.as_strided(flat, (outer, *inner), (flat.strides[0], *np.empty(inner, dtype).strides))
    y, memory = placed(outer, count, count, 1, dtype)
    dense = y.reshape(outer, *inner)
    assert dense.base is not None
    tool, axes = Sanitizer(), tuple(i for i in range(x.ndim) if i not in kept)
    plan = LARGE if "large" in name else "tile_bytes=32768"
    found = run(softmax(TYPES[dtype]), [x], [dense], kept, tool=tool, plan=plan)
    assert not list(tool.findings), list(tool.findings)[:3]
    assert {*found.facts.access, *found.facts.stores} <= {"tile", "tile_strided"}
    e = np.exp(x.astype(np.float64) - x.max(axes, keepdims=True))
    want = e / e.sum(axes, keepdims=True)
    np.testing.assert_allclose(dense, want, rtol=12 * max(np.finfo(dtype).eps, np.finfo(np.float32).eps))
    assert untouched_around(y, memory)


WAITING = "resident=shared,tile_bytes=32768,lanes=2,warps=4,warps_kept=1,unroll=4"
LANES = "resident=shared,tile_bytes=32768,lanes=8,warps=1,warps_kept=4,unroll=8"
"""Lanes share a row, of which some have an element more than others, and no warps meet."""
PARTS = "resident=shared,tile_bytes=3072,lanes=4,warps=1,warps_kept=2,unroll=4,cluster=4"
"""CTAs hold 18 elements of each row, and the last one 16."""


@covering(
    ("dtype", list(TYPES)),
    (
        ("begin", "in_place", "plan"),
        [(3, False, WAITING), (1, False, WAITING), (3, True, WAITING), (3, True, PARTS), (3, False, LANES)],
    ),
)
def test_groups_wait_in_a_tile(dtype: Any, begin: int, in_place: bool, plan: str) -> None:
    """Results go back through the tile where they lie as the elements do; else threads write them from registers."""
    shape = (3, 70, 11)
    x, memory = placed(3, 770, 770, 3, dtype)
    x[:] = np.random.default_rng(begin).standard_normal(x.shape)
    e = np.exp(x.reshape(shape).astype(np.float64) - x.reshape(shape).max(1, keepdims=True))
    y, memory = (x, memory) if in_place else placed(3, 770, 770, begin, dtype)
    tool = Sanitizer()
    found = run(softmax(TYPES[dtype]), [x.reshape(shape)], [y.reshape(shape)], (0, 2), tool=tool, plan=plan)
    assert not list(tool.findings), list(tool.findings)[:3]
    assert found.plan.waits_in_tile
    assert found.facts.stores == ("tile_strided" if begin == 3 or (dtype == np.float64 and begin % 2) else "strided",)
    tolerance = 12 * max(np.finfo(dtype).eps, np.finfo(np.float32).eps)
    np.testing.assert_allclose(y.reshape(shape), e / e.sum(1, keepdims=True), rtol=tolerance)
    assert untouched_around(y, memory)


@pytest.mark.parametrize("cluster", [1, 4])
def test_results_that_no_input_leaves_a_place_have_buffers_of_their_own(cluster: int) -> None:
    """x over its sum, in f32 and twice in f16: one of these takes the place of x."""
    x, around, shape = operand(0, F16), [], (3, 70, 11)
    y = cast(x, F32) / total(cast(x, F32))
    program = Program("parts", (F16,), (y.expr, cast(y, F16).expr, cast(-y, F16).expr))
    arrays = []
    for dtype, begin in ((np.float16, 3), (np.float32, 1), (np.float16, 3), (np.float16, 2)):
        flat, memory = placed(3, 770, 770, begin, dtype)
        arrays.append(flat.reshape(shape))
        around.append((flat, memory))
    arrays[0][:] = np.random.default_rng(0).random(shape) + 1
    want = arrays[0] / arrays[0].sum(1, keepdims=True, dtype=np.float64)
    tool, tile = Sanitizer(), 24576 // cluster
    plan = f"resident=shared,tile_bytes={tile},lanes=4,warps=1,warps_kept=2,unroll=4,cluster={cluster}"
    found = run(program, arrays[:1], arrays[1:], (0, 2), tool=tool, plan=plan)
    assert not list(tool.findings), list(tool.findings)[:3]
    assert found.facts.stores == ("tile_strided",) * 3
    for y, sign, rtol in zip(arrays[1:], (1, 1, -1), (1e-6, 1e-3, 1e-3), strict=True):
        np.testing.assert_allclose(y, sign * want, rtol=rtol)
    assert all(untouched_around(*each) for each in around)


@pytest.mark.parametrize("dtype", list(TYPES))
@pytest.mark.parametrize(("shape", "gap"), [((4, 9, 82), 5), ((4, 9, 80), 1), ((3, 3, 4, 67), 3)])
def test_groups_of_contiguous_rows_wait_in_a_tile(dtype: Any, shape: tuple[int, ...], gap: int) -> None:
    """Results without the gaps between groups are written from registers, by the strides of their own rows."""
    outer, *inner = shape
    count = int(np.prod(inner))
    flat, _ = placed(outer, count, count + gap, 3, dtype)
    flat[:] = np.random.default_rng(gap).standard_normal(flat.shape)
    x = np.lib.stride_tricks.as_strided(flat, shape, (flat.strides[0], *np.empty(inner, dtype).strides))
    y, memory = placed(outer, count, count, 0, dtype)
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    tool, kept = Sanitizer(), tuple(range(x.ndim - 1))
    found = run(softmax(TYPES[dtype]), [x], [y.reshape(shape)], kept, tool=tool, plan=WAITING)
    assert not list(tool.findings), list(tool.findings)[:3]
    assert found.plan.waits_in_tile
    assert found.facts.stores == ("strided",)
    tolerance = 12 * max(np.finfo(dtype).eps, np.finfo(np.float32).eps)
    np.testing.assert_allclose(y.reshape(shape), e / e.sum(-1, keepdims=True), rtol=tolerance)
    assert untouched_around(y, memory)


@settings(max_examples=8, deadline=None)
@given(_shapes(), st.integers(0, 3), st.sampled_from(TILES))
def test_weights_along_the_row_and_a_result_of_each_row(shape: tuple[int, int], begin: int, plan: str) -> None:
    x, _ = _filled(*shape, begin, np.float16)
    w, b = (_filled(1, shape[1], begin + 1, np.float32)[0] for _ in range(2))
    y, memory = placed(*shape, shape[1], 0, np.float16)
    mean = np.empty((shape[0], 1), np.float32)
    _run(layer_norm(F16), [x, w, b], [y, mean], plan)
    wide = x.astype(np.float64)
    d = wide - wide.mean(1, keepdims=True)
    np.testing.assert_allclose(mean, wide.mean(1, keepdims=True), rtol=1e-5, atol=1e-6)
    want = d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * w + b
    np.testing.assert_allclose(y, want, rtol=2e-3, atol=2e-3)
    assert untouched_around(y, memory)


@settings(max_examples=8, deadline=None)
@given(_shapes(), st.integers(0, 3), st.sampled_from(TILES))
def test_arrays_of_several_types_have_parts_of_the_tile(shape: tuple[int, int], begin: int, plan: str) -> None:
    """x + r over its sum, in f64, and x + r: two inputs and two results, of three types."""
    x, r = operand(0, F16), operand(1)
    h = x + r
    program = Program("normalised", (F16, F32), (cast(h / total(h), F64).expr, cast(h, F16).expr))
    a, b = _filled(*shape, begin, np.float16)[0], np.abs(_filled(*shape, 1, np.float32)[0]) + 4
    y, memory = placed(*shape, shape[1], begin, np.float64)
    z, around = placed(*shape, shape[1], 1, np.float16)
    _run(program, [a, b], [y, z], plan)
    wide = a.astype(np.float32) + b
    np.testing.assert_array_equal(z, wide.astype(np.float16))
    np.testing.assert_allclose(y, wide / wide.sum(1, keepdims=True, dtype=np.float64), rtol=1e-5)
    assert untouched_around(y, memory)
    assert untouched_around(z, around)


@pytest.mark.parametrize(
    ("columns", "dtype"),
    some(
        [
            *((n, t) for n in (2, 3, 4, 5, 7, 10, 12, 17, 20, 31, 33) for t in TYPES),
            *((n, t) for n in (36, 63, 65, 77, 100, 127, 254, 255, 1000, 1001) for t in (np.float16, np.float32)),
        ],
        19,
    ),
)
def test_lanes_wait_for_no_bank_or_few_words_of_one(columns: int, dtype: Any) -> None:
    """Where no lane is without a row: rows of narrow elements have few lanes, at the cost of some waits."""
    two = _filled(2, columns, 0, dtype)[0]
    plan = choose(task_of(softmax(TYPES[dtype]), [two, two], (0,)), "tile_bytes=32768").plan
    x, _ = _filled(2 * plan.slots, columns, columns % 3, dtype)
    y, tool = np.empty_like(x), Profiler()
    assert run(softmax(TYPES[dtype]), [x], [y], tool=tool, plan="tile_bytes=32768").plan == plan
    (profile,) = tool.profiles
    waits = 0 if np.dtype(dtype).itemsize >= 4 else MOST_WAITS - 1
    assert profile.shared
    assert profile.bank_conflicts <= waits * sum(banks.ideal for banks in profile.shared.values())


def test_rows_that_do_not_follow_each_other_have_no_tile() -> None:
    x, _ = placed(6, 33, 66, 0, np.float32)
    x[:] = 1
    with pytest.raises(PlanError, match="WF418: tile_bytes=4096 cannot hold the elements of a result"):
        run(softmax(), [x], [np.empty((6, 33), np.float32)], plan="tile_bytes=4096")
    x = np.ones((6, 33), np.float32)
    with pytest.raises(PlanError, match="WF428: with tile_bytes=32768 threads read single elements into registers"):
        run(softmax(), [x], [np.empty_like(x)], plan="tile_bytes=32768,vector=2")


# --- planted mistakes ---
SHORT, LONG, GROUPED, WIDE, WAITS = (8, 33), (3, 2001), (40, 4, 3), (3, 70, 11), (3, 70, 13)
PLANS = {
    SHORT: "tile_bytes=16384,lanes=2,warps_kept=2",
    LONG: "tile_bytes=32768,warps_kept=1",
    GROUPED: "tile_bytes=8192,lanes=1,warps_kept=4",
    WIDE: LARGE,
    WAITS: WAITING,
}
MISTAKES: list[tuple[tuple[int, ...], str, Edit]] = [
    (SHORT, "no barrier after the copy", barrier(0)),
    (SHORT, "no wait for the copy", drop(r"cp\.async\.wait_group")),
    (SHORT, "no barrier before results are written", barrier(1)),
    (SHORT, "an access of the copy left out", drop(r"cp\.async\.cg")),
    (LONG, "no barrier after the copy", barrier(0)),
    (LONG, "no barrier before results are written", barrier(-1)),
    (GROUPED, "no barrier after the copy", barrier(0)),
    (GROUPED, "no wait for the copy", drop(r"cp\.async\.wait_group")),
    (GROUPED, "no barrier before results are written", barrier(1)),
    (GROUPED, "an element of a row not written", drop(r"st\.shared\.b32", -1)),
    (WIDE, "no barrier after the copy", barrier(0)),
    (WIDE, "no barrier before a result takes the place of an element", barrier(1)),
    (WIDE, "no barrier before results are written", barrier(2)),
    (WAITS, "no barrier after the copy", barrier(0)),
    (WAITS, "no barrier before results are written", barrier(-1)),
]


@pytest.mark.parametrize(("shape", "what", "change"), MISTAKES, ids=[f"{m[0][1]}: {m[1]}" for m in MISTAKES])
def test_a_planted_mistake_is_found(shape: tuple[int, ...], what: str, change: Edit) -> None:
    x = _filled(shape[0], int(np.prod(shape[1:])), 0, np.float32)[0].reshape(shape)
    y, tool = np.zeros_like(x), Sanitizer()
    run(softmax(), [x], [y], (0, 2)[: len(shape) - 1], tool=tool, plan=PLANS[shape], change=change)
    assert list(tool.findings) or not np.allclose(y, _softmax(x)), what
