"""Geometry: collapsing keeps the elements of each result and their numbers, and merges all dims that it may."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import Layout, layouts, offsets_of, plain, strides_of, walked

from warpfold.compiler.dtypes import F32
from warpfold.compiler.errors import ArgumentError, DTypeError
from warpfold.compiler.program.cuts.steps import Operand, Step
from warpfold.compiler.program.graph import ELEMENT, KEPT, Expr, Program
from warpfold.compiler.program.library.monoids import MAX
from warpfold.compiler.space.geometry import Dim, Geometry, collapse, memory_order, normalize_axes, step_geometry
from warpfold.runtime.view import contiguous as row_major
from warpfold.runtime.view import dense

SIZES = st.sampled_from([0, 1, 1, 2, 2, 3, 4, 5, 6, 7])


def geometry(layout: Layout, *, ordered: bool = False, indexed: bool = False) -> Geometry:
    return collapse(layout.shape, layout.axes, layout.inputs, layout.outputs, ordered=ordered, indexed=indexed)


def in_order(out: np.ndarray, elements: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Results sorted by their offsets, so that two orders of the kept dims compare equal."""
    order = np.lexsort(out.T[::-1])
    return out[order], elements[order]


def sorted_elements(elements: np.ndarray) -> np.ndarray:
    """Each result's elements as a sorted multiset."""
    keys = np.empty(elements.shape[:2], dtype=[(f"f{i}", np.int64) for i in range(elements.shape[2])])
    for i in range(elements.shape[2]):
        keys[f"f{i}"] = elements[:, :, i]
    return np.sort(keys, axis=1)


@settings(max_examples=300)
@given(layouts(SIZES), st.booleans(), st.booleans())
def test_every_result_gets_its_elements(layout: Layout, ordered: bool, indexed: bool) -> None:
    inputs = len(layout.inputs)
    g = geometry(layout, ordered=ordered, indexed=indexed)
    out, expected = in_order(*plain(layout))
    found_out, found = in_order(*walked(g, inputs))
    if not indexed:
        expected, found = expected[:, :, :inputs], found[:, :, :inputs]
    assert (g.n_kept, g.n_reduced) == expected.shape[:2]
    if expected.size == 0:
        assert sorted(out.tolist()) == sorted(found_out.tolist())
        return
    assert np.array_equal(out, found_out)
    if ordered:
        assert np.array_equal(expected, found)
    else:
        assert np.array_equal(sorted_elements(expected), sorted_elements(found))


@settings(max_examples=240)
@given(layouts(SIZES), st.booleans(), st.booleans())
def test_nothing_is_left_to_merge_drop_or_flip(layout: Layout, ordered: bool, indexed: bool) -> None:
    g = geometry(layout, ordered=ordered, indexed=indexed)
    for dims, free in ((g.kept, True), (g.reduced, not ordered)):
        assert all(d.size != 1 for d in dims)
        assert len(dims) == 1 or all(d.size for d in dims)
        assert not any(outer.holds(inner) for outer, inner in itertools.pairwise(dims))
        if free:
            assert all(d.strides[0] >= 0 for d in dims)
            steps = [d.strides[0] or np.inf for d in dims]
            assert steps == sorted(steps, reverse=True)


@settings(max_examples=240)
@given(layouts(SIZES), st.booleans())
def test_span_is_the_least_and_greatest_offset(layout: Layout, ordered: bool) -> None:
    g = geometry(layout, ordered=ordered)
    if g.n_kept * g.n_reduced == 0:
        return
    out, elements = plain(layout)
    for i in range(len(layout.inputs)):
        assert g.span(i) == (elements[:, :, i].min(), elements[:, :, i].max())
    for o in range(len(layout.outputs)):
        assert g.span(len(layout.inputs) + o) == (out[:, o].min(), out[:, o].max())


def contiguous(shape: tuple[int, ...], axes: tuple[int, ...], order: list[int] | None = None) -> Layout:
    order = order if order is not None else list(range(len(shape)))
    kept = [n for a, n in enumerate(shape) if a not in axes]
    ones = [1] * len(shape)
    return Layout(shape, axes, (strides_of(shape, order, ones),), (strides_of(kept, range(len(kept)), ones),))


@settings(max_examples=400)
@given(st.lists(st.integers(1, 5), max_size=6), st.data())
def test_a_contiguous_array_has_a_dim_for_each_run_of_axes(shape: list[int], data: st.DataObject) -> None:
    axes = tuple(a for a in range(len(shape)) if data.draw(st.booleans()))
    for indexed, ordered in itertools.product((False, True), repeat=2):
        g = geometry(contiguous(tuple(shape), axes), indexed=indexed, ordered=ordered)
        runs = [k for k, _ in itertools.groupby(a in axes for a, n in enumerate(shape) if n > 1)]
        assert len(g.kept) == runs.count(False)
        if not indexed or runs.count(True) == 1:
            assert len(g.reduced) == runs.count(True)


@settings(max_examples=200)
@given(st.lists(st.integers(2, 4), min_size=1, max_size=6), st.data())
def test_a_full_reduction_of_a_dense_array_is_one_dim_in_any_order(shape: list[int], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(shape))))
    signs = [data.draw(st.sampled_from([1, -1])) for _ in shape]
    layout = Layout(tuple(shape), tuple(range(len(shape))), (strides_of(shape, order, signs),), ((),))
    g = geometry(layout)
    n = int(np.prod(shape))
    assert g.reduced == (Dim(n, (1, 0)),)
    assert g.kept == ()
    assert g.offsets[0] == g.span(0)[0]
    assert sorted(offsets_of(g.reduced, 0)) == list(range(n))


# --- the order in memory -------------------------------------------------------------------------------------------
@st.composite
def views(draw: st.DrawFn) -> np.ndarray:
    """A view of numbered elements: transposed, stepped, flipped, and with axes that are broadcast or of size 1."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 4]), max_size=5))
    x = np.zeros(sizes, np.float32).transpose(draw(st.permutations(range(len(sizes)))))
    x = x[tuple(slice(None, None, draw(st.sampled_from([1, 1, 2, -1, -2]))) for _ in sizes)]
    for axis in draw(st.lists(st.integers(0, x.ndim), max_size=2)):
        x = np.expand_dims(x, axis)
        x = np.broadcast_to(x, (*x.shape[:axis], draw(st.sampled_from([1, 3])), *x.shape[axis + 1 :]))
    return x


def kept_order(shape: tuple[int, ...], kept: list[int], *inputs: tuple[int, ...]) -> list[int]:
    return [kept.index(a) for a in memory_order(shape, inputs) if a in kept]


@settings(max_examples=400)
@given(views(), st.booleans(), st.data())
def test_results_have_numpys_memory_order(x: np.ndarray, keepdims: bool, data: st.DataObject) -> None:
    """The whole rule, also where axes are broadcast and strides do not order them."""
    axes = tuple(a for a in range(x.ndim) if data.draw(st.booleans()))
    kept = [a for a in range(x.ndim) if keepdims or a not in axes]
    theirs = np.asarray(x.sum(axes, keepdims=keepdims))
    order = kept_order(x.shape, kept, tuple(s // 4 for s in x.strides))
    assert tuple(4 * s for s in dense(theirs.shape, order)) == theirs.strides


@settings(max_examples=400)
@given(st.lists(st.integers(0, 4), max_size=6))
def test_an_array_in_c_order_stays_in_c_order(shape: list[int]) -> None:
    assert memory_order(shape, [row_major(tuple(shape))]) == tuple(range(len(shape)))


def test_the_first_input_with_an_order_decides() -> None:
    rows, columns, none = (4, 1), (1, 5), (0, 0)
    assert memory_order((5, 4), [rows, columns]) == (0, 1)
    assert memory_order((5, 4), [columns, rows]) == (1, 0)
    assert memory_order((5, 4), [none, columns, rows]) == (1, 0)
    assert memory_order((5, 4), [(0, 1), columns]) == (1, 0)
    assert memory_order((5, 4), [(3, 3), columns]) == (0, 1)  # strides that are equal are in C order
    assert memory_order((5, 4), [none]) == (0, 1)
    assert memory_order((5, 1), [columns]) == (0, 1)
    assert memory_order((5, 0, 4), [(1, 5, 5)]) == (0, 1, 2)
    circle = [(4, 2, 0), (0, 2, 1), (1, 0, 2)]  # 0 outside 1, 1 outside 2, 2 outside 0
    assert memory_order((5, 5, 5), circle) == (0, 1, 2)


@settings(max_examples=400)
@given(st.lists(st.integers(2, 4), min_size=1, max_size=5), st.data())
def test_kept_dims_merge_where_those_of_the_inputs_do(shape: list[int], data: st.DataObject) -> None:
    """A result in the input's order has a kept dim for each run of kept axes in memory, and is contiguous."""
    order = data.draw(st.permutations(range(len(shape))))
    axes = tuple(a for a in range(len(shape)) if data.draw(st.booleans()))
    kept = [a for a in range(len(shape)) if a not in axes]
    strides = strides_of(shape, order, [1] * len(shape))
    sizes = tuple(shape[a] for a in kept)
    g = collapse(shape, axes, [strides], [dense(sizes, kept_order(tuple(shape), kept, strides))])
    assert len(g.kept) == len([k for k, _ in itertools.groupby(a in kept for a in order) if k])
    assert all(a.strides[1] == b.strides[1] * b.size for a, b in itertools.pairwise(g.kept))


def test_a_permuted_array_has_one_kept_dim() -> None:
    """(1024, 99, 3), in memory 99, 3, 1024; a result in C order keeps its axes separate."""
    shape, strides = (1024, 99, 3), (1, 3072, 1024)
    assert collapse(shape, (1,), [strides], [(3, 1)]).kept == (Dim(3, (1024, 1)), Dim(1024, (1, 3)))
    assert collapse(shape, (1,), [strides], [(1, 1024)]).kept == (Dim(3072, (1, 1)),)
    assert kept_order(shape, [0, 2], strides) == [1, 0]


def test_a_row_reduction_of_a_big_array_is_two_dims() -> None:
    """Sizes too large to enumerate."""
    g = geometry(contiguous((2**20, 3, 2**12), (2,)))
    assert g == Geometry((Dim(3 * 2**20, (2**12, 1)),), (Dim(2**12, (1, 0)),), (0, 0))
    assert g.span(0) == (0, 3 * 2**32 - 1)


def test_a_reversed_vector_is_walked_forwards_and_numbered_backwards() -> None:
    g = collapse((5,), (0,), [(-1,)], [()], indexed=True)
    assert g == Geometry((), (Dim(5, (1, 0), -1),), (-4, 0), 4)


def test_an_ordered_walk_keeps_a_reversed_vector_reversed() -> None:
    assert collapse((5,), (0,), [(-1,)], [()], ordered=True) == Geometry((), (Dim(5, (-1, 0)),), (0, 0))


def test_numbering_separates_dims_that_memory_order_would_merge() -> None:
    """A Fortran-ordered matrix is dense, but its row-major numbers do not rise with its addresses."""
    assert len(collapse((3, 4), (0, 1), [(1, 3)], [()]).reduced) == 1
    assert len(collapse((3, 4), (0, 1), [(1, 3)], [()], indexed=True).reduced) == 2


@pytest.mark.parametrize(
    ("shape", "axis", "kept"),
    [
        ((100,), 0, [(7, 1)]),
        ((3, 2, 100), 2, [(6, 0), (7, 1)]),
        ((100, 4, 5), 0, [(7, 1), (20, 0)]),
        ((3, 100, 5), 1, [(3, 0), (7, 1), (5, 0)]),
    ],
)
def test_ragged_rows_are_a_dim_in_place_of_their_axis(
    shape: tuple[int, ...], axis: int, kept: list[tuple[int, int]]
) -> None:
    """Seven rows of an axis of 100: other dims merge around the dim that numbers them, and not with it."""
    results = (*shape[:axis], 7, *shape[axis + 1 :])
    own = row_major(shape)
    twice = (*own[:axis], 0, *own[axis:])
    seen = (*shape[:axis], 7, *shape[axis:])
    g = collapse(seen, (axis + 1,), [twice], [row_major(results)], ordered=True, indexed=True, rows=axis)
    assert [(d.size, d.row_stride) for d in g.kept] == kept
    assert [(d.size, d.index_stride) for d in g.reduced] == [(100, 1)]


def test_a_broadcast_array_is_one_dim_of_stride_zero() -> None:
    g = collapse((3, 4), (0, 1), [(0, 0)], [()], indexed=True)
    assert g.reduced == (Dim(12, (0, 0), 1),)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (2, 0, 2)])
def test_an_empty_reduction_is_one_dim_of_no_elements(shape: tuple[int, ...]) -> None:
    g = geometry(contiguous(shape, tuple(range(len(shape)))))
    assert g.reduced == (Dim(0, (0, 0)),)
    assert (g.n_kept, g.n_reduced) == (1, 0)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
def test_one_element_has_no_dims_at_all(shape: tuple[int, ...]) -> None:
    g = geometry(contiguous(shape, tuple(range(len(shape)))))
    assert g == Geometry((), (), (0, 0))
    assert (g.n_kept, g.n_reduced, g.span(0)) == (1, 1, (0, 0))


# --- axes ---
@pytest.mark.parametrize(
    ("axis", "rank", "axes"),
    [(None, 3, (0, 1, 2)), (None, 0, ()), (1, 3, (1,)), (-1, 3, (2,)), ((2, 0), 3, (0, 2)), ([-1, 0], 2, (0, 1)),
     ((), 2, ()), (np.int64(1), 2, (1,)), (np.array(1), 2, (1,))],
)  # fmt: skip
def test_axes_come_out_sorted_and_not_negative(axis: object, rank: int, axes: tuple[int, ...]) -> None:
    assert normalize_axes(axis, rank) == axes  # type: ignore[arg-type]


@pytest.mark.parametrize(("axis", "low", "high"), [(2, -2, 1), (-3, -2, 1), ((0, 9), -2, 1)])
def test_an_axis_out_of_range_is_refused(axis: int, low: int, high: int) -> None:
    with pytest.raises(
        ArgumentError, match=rf"WF101: axis -?\d is out of range for an array of rank 2: expected {low} to {high}"
    ):
        normalize_axes(axis, 2)


def test_a_scalar_has_no_axis() -> None:
    for axis in (0, -1, (0,)):
        with pytest.raises(ArgumentError, match=r"of rank 0: expected None or \(\)\n  help: leave axis= out"):
            normalize_axes(axis, 0)


@pytest.mark.parametrize("axis", [(0, 0), (1, -1), [0, 1, 0]])
def test_a_repeated_axis_is_refused(axis: tuple[int, ...]) -> None:
    with pytest.raises(ArgumentError, match=r"WF102: axis -?[01] is repeated in"):
        normalize_axes(axis, 2)


@pytest.mark.parametrize("axis", [True, 1.0, "1", (0, None), (False,), np.array([0, 1]), np.float32(1), {0}])
def test_an_axis_that_is_not_an_int_is_refused(axis: object) -> None:
    with pytest.raises(DTypeError, match="WF103: axis must be an int, a tuple of ints or None, got"):
        normalize_axes(axis, 2)  # type: ignore[arg-type]


# --- steps of array programs ---
def _step(kept: tuple[int, ...], reduced: tuple[int, ...], *numbered: tuple[int, ...], folds: bool = True) -> Step:
    """A step of one input, whose program matters only by its folds."""
    x = Expr("input", (), F32, ELEMENT, 0)
    graph = MAX.typed(F32)
    fold = Expr("result", (Expr("reduce", (x,), F32, KEPT, graph),), F32, KEPT, 0)
    program = Program("made", (F32,), (fold if folds else x,))
    return Step(program, kept, reduced, (Operand("view", 0),), (Operand("output", 0),), numbered=numbered)


def test_an_output_of_a_step_has_strides_along_all_its_dims() -> None:
    g = step_geometry(_step((0,), (1, 2)), (4, 3, 5), [(15, 5, 1), (30, 10, 2)])
    assert g == Geometry((Dim(4, (15, 30)),), (Dim(15, (1, 2)),), (0, 0))


def test_a_weight_keeps_dims_apart_that_it_has_not() -> None:
    g = step_geometry(_step((0, 1), (2,)), (4, 3, 5), [(15, 5, 1), (0, 1, 0), (15, 5, 1)])
    assert [d.size for d in g.kept] == [4, 3]
    g = step_geometry(_step((0, 1), (2,)), (4, 3, 5), [(15, 5, 1), (0, 0, 1), (15, 5, 1)])
    assert [d.size for d in g.kept] == [12]


def test_the_operand_with_the_most_dims_says_how_they_lie() -> None:
    """A weight in front of it does not: its strides would order and flip the dims."""
    g = step_geometry(_step((0,), (1, 2), folds=False), (4, 3, 5), [(0, 0, 1), (15, -1, 3)])
    assert g.reduced == (Dim(5, (1, 3)), Dim(3, (0, 1)))
    assert g.offsets == (0, -2)


def test_numbers_of_a_step_are_those_of_the_named_dims() -> None:
    g = step_geometry(_step((), (0, 1), (1, 0)), (4, 3), [(3, 1), (0, 0)])
    assert g.reduced == (Dim(4, (3, 0), 1), Dim(3, (1, 0), 4))
    g = step_geometry(_step((0,), (1,), (1, 0)), (4, 3), [(3, 1), (1, 0)])
    assert (g.kept[0].index_stride, g.reduced[0].index_stride) == (0, 4)


def test_the_numberings_of_a_step_that_reads_its_rows_again_are_operands() -> None:
    """Their offsets are the numbers, also where rows are walked backwards; dims merge if the numbers allow it."""
    strides = [(3, -1), (3, 1)]
    g = step_geometry(_step((0,), (1,), (1, 0), (0,), folds=False), (4, 3), strides)
    assert g == Geometry((Dim(4, (3, 3, 1, 1)),), (Dim(3, (1, -1, -4, 0)),), (-2, 2, 8, 0))
    shape, strides = (2, 3, 4), [(12, 4, 1), (12, 4, 1)]
    assert len(step_geometry(_step((0, 1), (2,), (0, 1), folds=False), shape, strides).kept) == 1
    assert len(step_geometry(_step((0, 1), (2,), (1,), folds=False), shape, strides).kept) == 2


def test_a_step_in_more_dims_than_kernels_have_is_refused() -> None:
    shape = (2,) * 9
    apart = [tuple(3**i for i in range(9)), (0,) * 9]
    with pytest.raises(
        ArgumentError, match="WF185: the arrays of made lie in 9 dims that no stride joins: expected at most 8"
    ):
        step_geometry(_step((), tuple(range(9)), folds=False), shape, apart)
    whole = [tuple(2**i for i in range(9)), (0,) * 9]
    assert len(step_geometry(_step((), tuple(range(9)), folds=False), shape, whole).reduced) == 1
    assert len(step_geometry(_step((), tuple(range(9))), shape, apart).reduced) == 9  # a plain reduction has any number


@pytest.mark.parametrize("seed", range(40))
def test_a_reduction_has_the_same_geometry_as_a_step(seed: int) -> None:
    rng = random.Random(seed)
    rank = rng.randint(1, 5)
    shape = tuple(rng.choice((1, 2, 3, 7)) for _ in range(rank))
    kept = [i for i in range(rank) if rng.random() < 0.5]
    axes = tuple(i for i in range(rank) if i not in kept)
    x = tuple(rng.choice((-1, 1)) * s for s in dense(shape, rng.sample(range(rank), rank)))
    y = row_major([shape[i] for i in kept])
    full = tuple(y[kept.index(i)] if i in kept else 0 for i in range(rank))
    assert step_geometry(_step(tuple(kept), axes), shape, [x, full]) == collapse(shape, axes, [x], [y])
