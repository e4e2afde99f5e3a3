"""Every layout: each element counts once, no read is outside an array, and no write is outside the results.

Tests of a single layout are in the file of that layout.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from arrays import Shape, laid, numbers, placed, result_type, right, strides_of
from covering import covering, some
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import warpfold as wf
from warpfold.compiler.driver.artifact import Artifact
from warpfold.compiler.errors import ArgumentError, PlanError
from warpfold.compiler.planner import choose as planner
from warpfold.compiler.planner import task
from warpfold.compiler.planner.alignment import WIDEST

BF16 = ml_dtypes.bfloat16
TYPES = [np.int8, np.bool_, np.float16, BF16, np.int16, np.float32, np.float64]
WHATS = ["sum", "max", "argmin", "argmax", "any", "count_nonzero"]
REFUSED = {"WF405", "WF407", "WF416", "WF421"}
"""A plan that does not fit an array ends in one of these."""


class Case(NamedTuple):
    """A reduction of an array: its dims' sizes, their order in memory and the gaps between entries, and a plan.

    Attributes:
        flips: for each dim 1 or -1: the direction in which it is walked.
        aligned: whether the array and its results must begin at a boundary, and the results follow each other.
        fits: whether the plan fits the array, where the test knows.
    """

    shape: Shape
    axis: Any
    plan: str
    t: Any
    what: str
    order: Shape = ()
    gaps: Shape = ()
    flips: Shape = ()
    aligned: bool = False
    fits: bool | None = None


def ints(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)


def one_of(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


BY_ROW = {
    "walk=staggered": ("finish=cta", "finish=last_block,coarsening=4"),
    "fast=kept,lanes=1,warps=2": ("finish=cta", "finish=last_block,coarsening=4", "finish=two_kernels,coarsening=4"),
    "fast=kept,lanes=4,warps=4": ("finish=cta", "finish=last_block,coarsening=4", "finish=two_kernels,coarsening=4"),
    "fast=kept,warps=1,lanes=1,warps_kept=2": ("finish=cta",),
    "fast=kept,lanes=2,warps=2,walk=blocked": ("finish=cta", "finish=last_block,coarsening=4"),
    "fast=kept,lanes=2,warps=2,cta=serial": ("finish=cta", "finish=last_block,coarsening=4"),
    "walk=padded": ("finish=cta",),
    "fast=kept,lanes=2,warps=2,cluster=2": ("finish=cta", "finish=last_block,coarsening=4"),
}
"""How threads lie along rows of columns, with the finishes that such plans may have."""


@st.composite
def by_row(draw: st.DrawFn) -> Case:
    """Several kept dims in any order, with gaps that keep them apart."""
    shape = draw(st.tuples(ints(2, 5), ints(2, 3), ints(2, 45), ints(16, 150)))
    plan = draw(st.sampled_from([f"{walk},{finish}" for walk, finishes in BY_ROW.items() for finish in finishes]))
    plan += f",vector={draw(one_of(2, 4, 8, 16))},unroll={draw(one_of(1, 2, 4))}"
    order, gaps = draw(st.permutations([0, 1, 2])), draw(st.tuples(*[one_of(0, 0, 1, 3, 8)] * 3))
    flips = draw(st.tuples(*[one_of(1, 1, -1)] * 4))
    return Case(shape, 2, plan, draw(one_of(*TYPES[:-1])), draw(one_of(*WHATS)), tuple(order), gaps, flips)


@st.composite
def periods(draw: st.DrawFn) -> Case:
    """Narrow contiguous rows, also of a middle axis."""
    shape = draw(st.tuples(ints(1, 4), ints(2, 700), ints(2, 64)))
    plan = f"walk=period,warps_kept={draw(one_of(1, 2, 4))},vector={draw(one_of(1, 2, 4, 8, 16))}"
    plan += f",unroll={draw(one_of(1, 2, 4))},finish={draw(one_of('cta', 'last_block'))}"
    return Case(shape, 1, plan, draw(one_of(*TYPES)), draw(one_of(*WHATS)), (0, 1))


@st.composite
def gapped(draw: st.DrawFn) -> Case:
    """Narrow rows with gaps between them."""
    columns = draw(ints(3, 45))
    plan = "walk=period" + draw(one_of("", ",finish=cta", ",warps_kept=2"))
    t, what = draw(one_of((np.bool_, "any"), (np.int8, "sum"), (np.int8, "argmax"), (np.float16, "max"),
                          (np.float32, "sum")))  # fmt: skip
    gap = min(draw(ints(1, 15)), columns // 3)
    return Case((draw(ints(300, 2000)), columns), 0, plan, t, what, (0,), (gap,), fits=True)


@st.composite
def staggered(draw: st.DrawFn) -> Case:
    """Columns of one row after another; rows begin at every place that the warps of the plan can read."""
    rows, columns, gap = draw(ints(2, 90)), draw(ints(2, 300)), draw(ints(0, 9))
    warps, vector = draw(one_of(2, 4, 8)), draw(one_of(2, 4, 8, 16))
    t = draw(one_of(*TYPES, np.int64))
    item = np.dtype(t).itemsize
    fits = vector * item <= WIDEST <= columns * item and warps * (columns + gap) % vector == 0
    plan = f"walk=staggered,warps={warps},vector={vector},unroll={draw(one_of(1, 2, 4))}"
    plan += f",finish={draw(one_of('cta', 'last_block,coarsening=4', 'last_block,coarsening=8'))}"
    flips = draw(st.tuples(*[one_of(1, -1)] * 2))
    return Case((rows, columns), 0, plan, t, draw(one_of(*WHATS)), (0,), (gap,), flips, fits=fits)


@st.composite
def runs(draw: st.DrawFn) -> Case:
    """Images cut out of others, with kept dims before the reduced ones or between them."""
    shape = draw(st.tuples(ints(1, 12), ints(1, 3), ints(2, 60), ints(2, 500)))
    kept = draw(one_of(0, 2))
    axis = (2, 3) if kept == 0 else (1, 3)
    plan = "walk=runs" + draw(one_of(",lanes=4", ",lanes=16,warps=2,warps_kept=4", ",lanes=32,finish=last_block"))
    gaps, flips = draw(st.tuples(ints(1, 10), *[ints(0, 5)] * 2)), draw(st.tuples(*[one_of(1, -1)] * 4))
    t = draw(one_of(*TYPES, np.uint16))
    return Case(shape, axis, plan, t, draw(one_of(*WHATS)), (0, 1, 2), gaps, flips)


@st.composite
def blocks(draw: st.DrawFn) -> Case:
    """Whole short rows, and rows of a middle axis with few columns."""
    elements, columns = draw(ints(2, 11)), draw(one_of(1, 1, 2, 4, 8))
    t, what = draw(one_of((np.bool_, "any"), (np.bool_, "all"), (np.int8, "any"), (np.int8, "max"), (np.int8, "sum"),
                          (BF16, "sum"), (np.float32, "sum"), (np.float64, "min")))  # fmt: skip
    item = np.dtype(t).itemsize
    bytes_of = {vector: vector * elements * item for vector in (16 // item, 8 // item)}
    serves = [v for v, n in bytes_of.items() if v >= 2 and v % columns == 0 and n % 16 == 0 and n <= 256]
    assume(serves)
    vector = draw(one_of(*serves))
    shape = (draw(ints(max(2, -(-vector // columns)), 300)), elements, *([columns] if columns > 1 else []))
    return Case(shape, 1, f"walk=whole,vector={vector}", t, what, tuple(range(len(shape) - 1)), aligned=True, fits=True)


@st.composite
def pairs(draw: st.DrawFn) -> Case:
    """Columns whose results two lanes write together; the last lane may have no neighbour."""
    what, t, vector = draw(one_of(("sum", np.int8, 4), ("sum", np.int8, 16), ("sum", np.int16, 8), ("sum", np.int32, 4),
                                  ("count_nonzero", np.bool_, 8), ("argmax", np.float32, 4),
                                  ("argmin", np.int8, 16)))  # fmt: skip
    plan = f"fast=kept,lanes=1,warps=1,finish=cta,vector={vector},warps_kept={draw(one_of(1, 2, 4))}"
    return Case((draw(ints(1, 9)), draw(ints(1, 40)) * vector), 0, plan, t, what, (0,), aligned=True, fits=True)


@st.composite
def images(draw: st.DrawFn) -> Case:
    """Columns of up to three reduced dims that begin anywhere and end where the memory does."""
    reduced = draw(st.lists(ints(1, 9), min_size=1, max_size=3))
    gaps = (draw(ints(0, 3)), *draw(st.tuples(*[ints(0, 2)] * (len(reduced) - 1))))
    plan = draw(one_of("", "lanes=4,warps=8", "unroll=8", "walk=blocked"))
    axes = tuple(range(len(reduced)))
    return Case((*reduced, draw(ints(17, 90))), axes, plan, draw(one_of(*TYPES)), "sum", axes, gaps, fits=True)


LAYOUTS: dict[str, tuple[st.SearchStrategy[Case], int]] = {
    "by row": (by_row(), 120), "periods": (periods(), 60), "gapped": (gapped(), 30), "staggered": (staggered(), 60),
    "runs": (runs(), 40), "blocks": (blocks(), 50), "pairs": (pairs(), 40), "images": (images(), 60),
}  # fmt: skip
"""Cases of each layout, and the number of examples."""


@pytest.mark.parametrize("layout", some(LAYOUTS, 3))
def test_every_element_counts_once_and_no_access_is_outside(layout: str) -> None:
    """Results have memory of their own: they begin anywhere, in any order and direction, with or without gaps."""
    strategy, examples = LAYOUTS[layout]

    @settings(max_examples=examples // 3, deadline=None)
    @given(strategy, ints(0, 15), one_of(0, 0, 1, 5), one_of(1, 1, 1, -1, 2, -3), one_of(0, 0, 1, 8), st.booleans())
    def check(case: Case, offset: int, begin: int, step: int, gap: int, swapped: bool) -> None:
        if case.aligned:
            offset, begin, step, gap, swapped = 0, 0, 1, 0, False
        values, flips = numbers(case.shape, case.t, offset), tuple(slice(None, None, s) for s in case.flips)
        strides = strides_of(case.shape, case.order, case.gaps)
        array, _ = laid(values, strides, offset * values.itemsize % WIDEST)
        expected = right(values[flips], case.what, case.axis)
        out, memory = room(expected.shape, result_type(case.what, case.t), begin, step, gap, swapped)
        before = memory.copy()
        try:
            wf.reduce(array[flips], case.what, axis=case.axis, plan=case.plan, out=out, device="emulator")
        except PlanError as e:
            assert e.code in REFUSED  # noqa: PT017 (an error is one of two right answers)
            assert e.code == "WF405" or not case.fits  # noqa: PT017
            assume(False)
        assert case.fits is not False
        np.testing.assert_array_equal(out.astype(np.float64), expected)
        out[...] = 0
        np.testing.assert_array_equal(memory, before)

    check()


def room(shape: Shape, t: Any, begin: int, step: int, gap: int, swapped: bool) -> tuple[Any, Any]:
    """Results of zeros with this step along the last dim, and all the memory that they are in."""
    *outer, last = shape
    order = tuple(range(len(outer)))
    wide = (*outer, last * abs(step))
    strides = strides_of(wide, order[::-1] if swapped else order, (gap, 0, 0))
    found, memory = laid(np.zeros(wide, t), strides, begin * np.dtype(t).itemsize % WIDEST)
    return found[..., ::step], memory


@pytest.mark.parametrize(
    ("shape", "axis", "what", "t", "offset", "expected"),
    some([
        ((40_000, 9), 0, "sum", np.float32, 8, {"access": ("period",)}),
        ((4096, 1025), 0, "sum", np.float32, 8, {"access": ("staggered",)}),
        ((8, 640, 1025), 1, "sum", np.int8, 2, {"access": ("staggered",), "by_row": True}),
        ((8, 640, 1025), 1, "max", np.float16, 2, {"access": ("staggered",), "by_row": True}),
        ((300, 17, 1001), 1, "any", np.bool_, 2, {"access": ("unaligned",), "by_row": True}),
        ((300, 7, 2001), 1, "any", np.bool_, 2, {"access": ("unaligned",), "by_row": True, "store_vector": True}),
        ((300, 7, 2001), 1, "sum", np.float16, 2, {"access": ("unaligned",), "by_row": True, "store_vector": True}),
        (((1 << 22) // 3 + 3, 3), 1, "any", np.bool_, 0, {"access": ("whole",), "block": (3, 1), "store_vector": True}),
        (((1 << 22) // 2 + 3, 2), 1, "sum", BF16, 0, {"access": ("whole",), "block": (2, 1), "store_vector": True}),
        (((1 << 22) // 4 + 3, 4), 1, "var", np.float32, 0, {"access": ("whole",), "block": (4, 1)}),
    ], 5),
)  # fmt: skip
def test_a_large_array_has_the_layout_without_a_plan(
    shape: Shape, axis: int, what: str, t: Any, offset: int, expected: dict[str, Any], artifacts: list[Artifact]
) -> None:
    """A large array has the layout without a plan of the caller's."""
    x = numbers(shape, t)
    x[..., ::2] = x[..., ::2] * (what != "any")
    found = wf.reduce(placed(x, offset), what, axis=axis, device="emulator")
    np.testing.assert_allclose(found.astype(np.float64), right(x, what, axis), rtol=1e-6)
    facts = artifacts[0].main.facts
    assert {name: getattr(facts, name) for name in expected} == expected


ROW_PLANS = [
    "walk=staggered,vector=4,unroll=2,finish=cta",
    "walk=staggered,vector=4,unroll=2,finish=last_block,coarsening=4",
    "fast=kept,vector=4,lanes=4,warps=4,unroll=2,finish=cta",
    "fast=kept,vector=4,lanes=4,warps=4,unroll=2,finish=last_block,coarsening=4",
]


@covering(
    (
        ("plan", "kept"),
        [*((p, n) for p in ROW_PLANS for n in (1, 2, 3)), *(("walk=padded,vector=4", n) for n in (2, 3))],
    ),
    ("wide", [True, False], ["wide", "own dims"]),
)
def test_offsets_of_sixty_four_bits_and_kernels_of_just_these_dims(
    plan: str, kept: int, wide: bool, monkeypatch: pytest.MonkeyPatch, artifacts: list[Artifact]
) -> None:
    """The array pretends to have more elements than 32 bits count, or enough for a kernel of exactly its dims."""
    monkeypatch.setattr(*((planner, "INDEX_LIMIT") if wide else (task, "LARGE_ELEMENTS")), 0)
    shape = (2, 3, 41, 83 if wide else 87)[3 - kept :]
    order = (*range(kept - 2), kept - 1, kept - 2) if kept > 1 else (0,)
    x = numbers(shape, np.float32)
    array, _ = laid(x, strides_of(shape, order, (1, 1, 1)), 8)
    np.testing.assert_array_equal(wf.sum(array, axis=-2, plan=plan, device="emulator"), x.sum(axis=-2))
    facts = artifacts[-1].main.facts
    assert (facts.by_row, facts.index_bits) == (kept > 1, 64 if wide else 32)
    assert facts.kept_rank == (3 if wide and kept > 1 else kept)


def test_blocks_have_offsets_of_sixty_four_bits(monkeypatch: pytest.MonkeyPatch, artifacts: list[Artifact]) -> None:
    monkeypatch.setattr(planner, "INDEX_LIMIT", 0)
    x = placed(numbers((77, 6, 2), np.float16), 0)
    np.testing.assert_array_equal(wf.sum(x, axis=1, plan="walk=whole", device="emulator"), x.sum(axis=1))
    assert (artifacts[-1].main.facts.index_bits, artifacts[-1].main.facts.block) == (64, (6, 2))


ROWS = [((4, 60, 301), 12), ((7, 33, 53), 12), ((2, 9, 1001), 12), ((5, 40, 12), 12)]
STAGGERED = "walk=staggered,warps=2,unroll=2,finish=last_block"


@pytest.mark.parametrize(
    ("shape", "axis", "plan", "served", "refused", "why"),
    [
        ((4, 60, 301), 1, ROW_PLANS[1], [*ROWS, ((1, 50, 65), 12), ((5, 40, 4), 12)], [], ""),
        ((4, 60, 301), 1, ROW_PLANS[3], [*ROWS, ((1, 50, 65), 12), ((5, 40, 4), 12)], [], ""),
        ((4, 6, 301), 1, "walk=padded,vector=4,unroll=2", ROWS, [((1, 50, 65), 0)], ""),
        ((200, 301), 0, f"{STAGGERED},vector=2",
         [((200, 301), 4), ((77, 64), 0), ((3, 4), 8), ((2, 1000), 12)], [], ""),
        ((200, 302), 0, f"{STAGGERED},vector=4",
         [], [((200, 301), 0), ((200, 3), 0), ((1, 302), 0), ((200, 1), 0)], ""),
        ((400, 3), 1, "walk=whole,vector=4",
         [((16, 3), 0), ((400, 3), 0), ((1001, 3), 0)], [((400, 5), 0), ((400, 3), 4)],
         "3 elements of each of 1 results in a block: the array needs "),
        ((700, 9), 0, "walk=period", [((700, 9), 0), ((611, 9), 4)], [((700, 9), 0, 1)], "gaps between rows"),
    ],
)  # fmt: skip
def test_a_kernel_serves_every_array_of_its_layout_and_refuses_others(
    shape: Shape, axis: int, plan: str, served: list[Any], refused: list[Any], why: str
) -> None:
    """Arrays are (shape, offset in bytes, elements between rows); a kernel fixes what it does not read at run time."""
    k = wf.compile("sum", shape, "f32", axis=axis, plan=plan)
    for array, *where in served:
        x = lines(array, *where)
        np.testing.assert_array_equal(k(x, device="emulator"), x.sum(axis=axis), str(array))
    for array, *where in refused:
        with pytest.raises(ArgumentError, match=f"(?s)WF123.*{why}"):
            k(lines(array, *where), device="emulator")


def lines(shape: Shape, offset: int, gap: int = 0) -> Any:
    """Numbers with ``gap`` elements between rows."""
    return laid(numbers(shape, np.float32), strides_of(shape, tuple(range(len(shape) - 1)), (gap,)), offset)[0]


@covering(
    (
        "plan",
        [
            *ROW_PLANS,
            "walk=period,vector=4,warps_kept=2,unroll=1,finish=cta",
            "walk=period,vector=4,warps_kept=2,unroll=1,finish=last_block",
        ],
    ),
    ("outer", [1, 3]),
)
def test_states_of_several_values(plan: str, outer: int) -> None:
    """Each value of a state is in a buffer of its own, whose rows are padded to whole vectors."""
    shape = (outer, 500, 13) if "period" in plan else (outer, 70, 85)
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    array, wide = placed(x, 12), x.astype(np.float64)
    found = wf.reduce(array, ("mean", "var", "min", "argmin"), axis=1, plan=plan, device="emulator")
    for what, value in zip(("mean", "var", "min", "argmin"), found, strict=True):
        np.testing.assert_allclose(value, getattr(wide, what)(axis=1), rtol=1e-4, atol=1e-6, err_msg=what)


@pytest.mark.parametrize("plan", ROW_PLANS)
@pytest.mark.parametrize("outer", [1, 3])
def test_elements_beside_a_row_do_not_affect_its_results(plan: str, outer: int) -> None:
    """Not even a NaN, which is before and after each row."""
    x = numbers((outer, 60, 210), np.float32)
    x[:, :, :3] = x[:, :, -2:] = np.nan
    inner = x[:, :, 3:-2]
    np.testing.assert_array_equal(wf.sum(inner, axis=1, nan="raise", plan=plan, device="emulator"), inner.sum(axis=1))
    with pytest.raises(ArgumentError, match="WF135"):
        wf.sum(x, axis=1, nan="raise", plan=plan, device="emulator")
