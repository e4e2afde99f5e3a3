"""Staggered warps: every element once, right, and nothing beside the array.

An array here ends where its memory ends, so that the emulator refuses (WF710) a load that touches a byte beyond it.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided
from test_shifted import placed

import warpfold as wf
from warpfold.compiler.errors import ArgumentError, PlanError
from warpfold.compiler.planner import choose as planner
from warpfold.compiler.planner.alignment import WIDEST
from warpfold.compiler.target import WARP
from warpfold.runtime.api import plan_for

TYPES = [np.int8, np.float16, np.float32, np.float64]
WALK = "walk=staggered"


def numbers(shape: tuple[int, ...], t: Any, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(t)


def rows(values: Any, pitch: int, offset: int) -> Any:
    """``values`` with so many elements from one row to the next, ``offset`` bytes after a boundary.

    What lies between rows would spoil every result; the array's memory ends with its last element.
    """
    count, columns = values.shape
    flat = np.full((count - 1) * pitch + columns, 100).astype(values.dtype)
    array = placed(flat, offset)
    found = as_strided(array, values.shape, (pitch * values.itemsize, values.itemsize))
    found[...] = values
    return found


def pitch_of(columns: int, more: int, warps: int, vector: int) -> int:
    """The least distance of rows of so many columns, ``more`` or a few more, that so many warps can read."""
    return next(p for p in range(columns + more, columns + more + vector) if warps * p % vector == 0)


@pytest.mark.parametrize(("what", "t"), [*(("sum", t) for t in TYPES), ("max", np.int8), ("argmax", np.float32)])
@pytest.mark.parametrize("finish", ["cta", "last_block,coarsening=4"])
def test_every_column_is_read_wherever_the_rows_begin(what: str, t: Any, finish: str) -> None:
    """Every offset; a tile that is just full, ends in an access, or has one column too many; rows near and far."""
    item = np.dtype(t).itemsize
    vector = WIDEST // item
    tile = (WARP - 1) * vector
    for at, offset in enumerate(range(0, WIDEST, item)):
        warps, unroll = (2, 4, 8)[at % 3], (1, 2, 4)[at % 3]
        for columns in (vector, vector + 1, tile - 1, tile, tile + 1, 2 * tile + vector - 1):
            count = 2 + (at * 7 + columns) % (3 * warps * unroll)
            values = numbers((count, columns), t, at)
            plan = f"{WALK},warps={warps},unroll={unroll},vector={vector},finish={finish}"
            array = rows(values, pitch_of(columns, at % 3, warps, vector), offset)
            found = wf.reduce(array, what, axis=0, plan=plan, device="emulator")
            np.testing.assert_array_equal(found, getattr(values, what)(axis=0), f"{offset} {values.shape} {plan}")


@settings(max_examples=60, deadline=None)
@given(
    shape=st.tuples(st.integers(2, 90), st.integers(2, 300)),
    t=st.sampled_from([np.int8, np.bool_, np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.int64]),
    place=st.tuples(st.integers(0, 15), st.integers(0, 9)),
    options=st.tuples(st.sampled_from([2, 4, 8]), st.sampled_from([2, 4, 8, 16]), st.sampled_from([1, 2, 4])),
    finish=st.sampled_from(["cta", "last_block,coarsening=4", "last_block,coarsening=8"]),
    what=st.sampled_from(["sum", "max", "argmin", "any", "count_nonzero"]),
    steps=st.tuples(st.sampled_from([1, -1]), st.sampled_from([1, -1])),
)
def test_any_rows_in_any_plan(shape: Any, t: Any, place: Any, options: Any, finish: str, what: str, steps: Any) -> None:
    """Walked forwards or backwards, with gaps between rows or none; what no walk of this kind serves is refused."""
    values, item = numbers(shape, t, place[0]), np.dtype(t).itemsize
    warps, vector, unroll = options
    array = rows(values, shape[1] + place[1], place[0] * item % WIDEST)
    plan = f"{WALK},warps={warps},vector={vector},unroll={unroll},finish={finish}"
    served = vector * item <= WIDEST <= shape[1] * item and warps * (shape[1] + place[1]) % vector == 0
    try:
        found = wf.reduce(array[:: steps[0], :: steps[1]], what, axis=0, plan=plan, device="emulator")
    except PlanError as e:
        refused = "WF421" if vector * item > WIDEST else "WF416"
        assert e.code == "WF405" or (e.code == refused and not served)  # noqa: PT017 (an error is one of two right answers)
        assume(False)
    assert served
    walked = values[:: steps[0], :: steps[1]]
    exact = walked if t is np.bool_ else walked.astype(np.float64)
    wanted = np.count_nonzero(walked, axis=0) if what == "count_nonzero" else getattr(exact, what)(axis=0)
    np.testing.assert_array_equal(found, wanted)


def test_rows_that_overlap_are_read_from_the_row_before() -> None:
    """Each row begins 16 bytes after the one before, and ends far behind where the next one ends."""
    flat = placed(numbers((4 * 40 + 200,), np.float32), 4)
    array = as_strided(flat, (41, 200), (16, 4))
    for vector in (2, 4):
        found = wf.sum(array, axis=0, plan=f"{WALK},vector={vector},unroll=2", device="emulator")
        np.testing.assert_array_equal(found, array.sum(axis=0))
    with pytest.raises(PlanError, match="WF416"):
        wf.sum(as_strided(flat, (41, 200), (12, 4)), axis=0, plan=WALK, device="emulator")


def test_sixty_four_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "INDEX_LIMIT", 0)
    values = numbers((100, 301), np.float32)
    for finish in ("cta", "last_block,coarsening=4"):
        plan = f"{WALK},vector=4,unroll=2,finish={finish}"
        assert plan_for("sum", values.shape, axis=0, plan=plan).choice.facts.index_bits == 64
        found = wf.sum(placed(values, 12), axis=0, plan=plan, device="emulator")
        np.testing.assert_array_equal(found, values.sum(axis=0))


def test_states_of_several_values() -> None:
    """A mean, and a variance of three values, which lie in three buffers; several reductions at once."""
    x = np.random.default_rng(3).standard_normal((500, 131)).astype(np.float32)
    for what in ("mean", "var"):
        for finish in ("cta", "last_block"):
            plan = f"{WALK},warps=4,vector=4,unroll=2,finish={finish}"
            found = wf.reduce(placed(x, 12), what, axis=0, plan=plan, device="emulator")
            np.testing.assert_allclose(found, getattr(x.astype(np.float64), what)(axis=0), rtol=1e-4, atol=1e-6)
    total, high, place = wf.reduce(x, what=("sum", "max", "argmax"), axis=0, plan=f"{WALK},vector=2", device="emulator")
    np.testing.assert_allclose(total, x.sum(axis=0), rtol=1e-4, atol=1e-4)
    assert (high == x.max(axis=0)).all()
    assert (place == x.argmax(axis=0)).all()


def test_what_lies_beside_the_columns_has_no_part_in_a_result() -> None:
    """Not even a NaN, which lies before and after each row."""
    x = numbers((60, 210), np.float32)
    x[:, :3] = x[:, -2:] = np.nan
    inner = x[:, 3:-2]
    for finish in ("cta", "last_block"):
        found = wf.sum(inner, axis=0, nan="raise", plan=f"{WALK},vector=4,finish={finish}", device="emulator")
        np.testing.assert_array_equal(found, inner.sum(axis=0))
    with pytest.raises(ArgumentError, match="WF135"):
        wf.sum(x, axis=0, nan="raise", plan=f"{WALK},vector=4", device="emulator")


@pytest.mark.parametrize("step", [1, 2, -1, -3])
@pytest.mark.parametrize("finish", ["cta", "last_block"])
def test_results_are_written_where_out_says_and_nowhere_else(step: int, finish: str) -> None:
    x = numbers((50, 127), np.float32)
    room = np.full(127 * abs(step) + 8, 7.0, np.float32)
    out = room[4 : 4 + 127 * abs(step)][::step]
    wf.sum(placed(x, 4), axis=0, out=out, plan=f"{WALK},vector=4,finish={finish}", device="emulator")
    np.testing.assert_array_equal(out, x.sum(axis=0))
    assert (room == 7).sum() >= room.size - 127 - (x.sum(axis=0) == 7).sum()


def test_a_kernel_serves_every_place_and_size_that_has_such_rows() -> None:
    """The artifact of one array takes others, and refuses (WF123) those whose rows begin at too many places."""
    k = wf.compile("sum", (200, 301), "f32", axis=0, plan=f"{WALK},warps=2,vector=2,unroll=2,finish=last_block")
    for shape, offset in (((200, 301), 4), ((77, 64), 0), ((3, 4), 8), ((2, 1000), 12)):
        values = numbers(shape, np.float32)
        np.testing.assert_array_equal(k(placed(values, offset), device="emulator"), values.sum(axis=0))
    k = wf.compile("sum", (200, 302), "f32", axis=0, plan=f"{WALK},warps=2,vector=4,unroll=2,finish=last_block")
    for shape in ((200, 301), (200, 3), (1, 302), (200, 1)):
        with pytest.raises(ArgumentError, match="WF123"):
            k(numbers(shape, np.float32), device="emulator")


@pytest.mark.parametrize(
    ("x", "axis", "more"),
    [
        (np.zeros((40, 300), np.float32), 1, {}),
        (np.zeros((300, 80), np.float32)[:, ::2], 0, {}),
        (np.zeros((3, 3, 3, 3, 40, 300), np.float32)[:2, :2, :2, :2, :, :299], 4, {}),
        (np.zeros((40, 300), np.complex64), 0, {}),
        (np.zeros((40, 3), np.float32), 0, {}),
        (np.zeros((1, 300), np.float32), 0, {}),
        (np.broadcast_to(np.zeros(300, np.float32), (40, 300)), 0, {}),
        (np.zeros((40, 300), np.float32), 0, {"where": np.ones((40, 300), bool)}),
        (np.zeros((40, 300), np.float32), 0, {"determinism": "portable"}),
        (np.zeros((40, 301), np.float32), 0, {"plan": f"{WALK},warps=2,vector=4"}),
    ],
)
def test_what_has_no_such_rows_is_refused(x: Any, axis: int, more: Any) -> None:
    """No row along the kept axis, or one that begins anywhere, or whose place the result may not depend on.

    Rows reduced along themselves, gaps between columns, many kept dims, two inputs, less than 16 bytes from one
    row to the next, no rows, a mask; no address that counts, too many places.
    """
    with pytest.raises(PlanError, match="WF416: walk=staggered does not fit this layout"):
        wf.sum(x, axis=axis, device="emulator", **{"plan": WALK} | more)


def test_an_order_that_counts_is_refused() -> None:
    last = wf.monoid(identity=0, commutative=False)(lambda a, b: wf.where(b == 0, a, b))
    with pytest.raises(PlanError, match="WF409"):
        wf.reduce(np.zeros((40, 300), np.float32), lambda x: wf.fold(last, x), axis=0, plan=WALK, device="emulator")


def test_a_large_array_is_walked_so_unasked() -> None:
    x = np.random.default_rng(4).standard_normal((4096, 1025)).astype(np.float32)
    assert plan_for("sum", x.shape, axis=0).choice.plan.walk == "staggered"
    np.testing.assert_allclose(wf.sum(placed(x, 8), axis=0, device="emulator"), x.sum(axis=0), rtol=1e-4, atol=1e-3)
