"""Repeated dims: when they are removed, each result keeps the multiplicity of its elements and is stored everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import Layout, layouts, plain, walked
from tasks import simple, traced

from warpfold.compiler.dtypes import F32
from warpfold.compiler.planner import choose as planner
from warpfold.compiler.planner.repeats import FREE_COPIES, LONG_RESULT, MANY_ELEMENTS, taken_out
from warpfold.compiler.planner.task import Task
from warpfold.compiler.space.geometry import Dim, Geometry, collapse
from warpfold.compiler.target import DEFAULT

SIZES = st.sampled_from([0, 1, 1, 2, 2, 3, 4, 5, 6, 7])


def taken(layout: Layout, *, ordered: bool = False, indexed: bool = False) -> Geometry:
    g = collapse(layout.shape, layout.axes, layout.inputs, layout.outputs, ordered=ordered, indexed=indexed)
    return taken_out(g, len(layout.inputs), ordered=ordered, indexed=indexed)


def expanded(g: Geometry, inputs: int) -> tuple[np.ndarray, np.ndarray]:
    """The meaning of a kernel for ``g``: ``walked``, with each result's elements repeated, and then each result."""
    out, elements = walked(g, inputs)
    elements = np.tile(elements, (1, g.times, 1))
    if g.copies is not None:
        places = np.arange(g.copies.size)[:, None, None] * np.array(g.copies.strides[inputs:])
        out = (out[None] + places).reshape(-1, out.shape[1])
        elements = np.tile(elements, (g.copies.size, 1, 1))
    order = np.lexsort(out.T[::-1])
    return out[order], elements[order]


@settings(max_examples=240, deadline=None)
@given(layouts(SIZES), st.booleans(), st.booleans(), st.booleans())
def test_every_result_gets_its_elements(layout: Layout, ordered: bool, indexed: bool, one: bool) -> None:
    if one:
        layout = Layout(layout.shape, layout.axes, layout.inputs[:1], layout.outputs)
    inputs = len(layout.inputs)
    g = taken(layout, ordered=ordered, indexed=indexed)
    out, elements = plain(layout)
    order = np.lexsort(out.T[::-1])
    out, elements = out[order], elements[order]
    found_out, found = expanded(g, inputs)
    assert np.array_equal(out, found_out)
    assert g.count == elements.shape[1]
    if not indexed:
        elements, found = elements[:, :, :inputs], found[:, :, :inputs]
    if not ordered:
        elements, found = (
            np.sort(e.view([("", e.dtype)] * e.shape[2])[:, :, 0], axis=1)
            for e in map(np.ascontiguousarray, (elements, found))
        )
    if out.size and elements.size:
        assert np.array_equal(elements, found)


@settings(max_examples=200, deadline=None)
@given(layouts(SIZES), st.booleans())
def test_no_reduced_dim_has_stride_zero(layout: Layout, ordered: bool) -> None:
    g, inputs = taken(layout, ordered=ordered), len(layout.inputs)
    dims = g.reduced[:1] if ordered else g.reduced
    assert g.n_kept * g.n_reduced == 0 or all(any(d.strides[:inputs]) for d in dims)


def row(shape: tuple[int, ...], strides: tuple[int, ...], axes: tuple[int, ...], **how: bool) -> Geometry:
    """The geometry of one input, with a contiguous result."""
    kept = [n for a, n in enumerate(shape) if a not in axes]
    out = tuple(int(np.prod(kept[i + 1 :], dtype=int)) for i in range(len(kept)))
    return taken(Layout(shape, axes, (strides,), (out,)), **how)


def test_a_reduced_dim_gives_a_power_and_a_kept_one_gives_copies() -> None:
    g = row((7, 2, 1000), (1000, 0, 1), (1, 2))
    assert (g.reduced, g.times, g.copies) == ((Dim(1000, (1, 0)),), 2, None)
    g = row((2, 7, 1000), (0, 1000, 1), (2,))
    assert (g.kept, g.times, g.copies) == ((Dim(7, (1000, 1)),), 1, Dim(2, (0, 7)))


def test_dims_merge_around_removed_ones() -> None:
    g = row((4, 2, 5, 3), (15, 0, 3, 1), (0, 1, 2, 3))
    assert (g.reduced, g.times) == ((Dim(60, (1, 0)),), 2)


def test_where_the_order_matters_only_an_outermost_dim_is_a_power() -> None:
    assert row((2, 5), (0, 1), (0, 1), ordered=True).times == 2
    assert row((5, 2), (1, 0), (0, 1), ordered=True).times == 1
    g = row((3, 5, 3), (0, 1, 0), (0, 1, 2), ordered=True)
    assert ([d.size for d in g.reduced], g.times) == ([5, 3], 3)


def test_numbered_elements_are_never_equal() -> None:
    g = row((2, 6, 5), (0, 5, 1), (0, 2), indexed=True)
    assert (g.times, g.n_reduced) == (1, 10)
    assert row((2, 6, 5), (0, 5, 1), (2,), indexed=True).copies == Dim(2, (0, 6))


def test_a_dim_along_which_one_input_moves_is_not_repeated() -> None:
    layout = Layout((2, 5), (0, 1), ((0, 1), (5, 1)), ((),))
    assert not taken(layout).repeats


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (3, 0, 2)])
def test_an_empty_array_has_no_repeats(shape: tuple[int, ...]) -> None:
    assert not row(shape, (0,) * len(shape), (0,)).repeats


def test_the_largest_of_several_kept_dims_is_taken_out() -> None:
    g = row((3, 7, 4, 1000), (0, 1000, 0, 1), (3,))
    assert (g.copies, [d.size for d in g.kept]) == (Dim(4, (0, 1)), [3, 7])


@pytest.mark.parametrize(
    ("kept", "reduced", "copies", "pays"),
    [
        (1, 4, FREE_COPIES, True), (1, 4, FREE_COPIES + 1, False), (1, LONG_RESULT, 10**6, True),
        (MANY_ELEMENTS // 4, 4, 1000, True),
        (64, 4, 1000, False),
    ],
)  # fmt: skip
def test_enough_copies_are_stored_by_all_threads_of_a_result(kept: int, reduced: int, copies: int, pays: bool) -> None:
    g = row((copies, kept, reduced), (0, reduced, 1), (2,))
    assert (g.copies is not None) == pays


# --- what the planner makes of it ---
def repeated(copies: int, stride: int, out: int = 0) -> Task:
    """Columns of sums, of which there are ``copies``, in a result at the address ``out``."""
    g = collapse((copies, 4, 512), (1,), [(0, 512, 1)], [(stride, 1)])
    return Task(traced("sum", F32), taken_out(g, 1, ordered=False, indexed=False), (0, out), DEFAULT, 132)


def test_the_planner_sees_elements_once() -> None:
    once, again = simple("sum", (4, 512), (0,)), repeated(3, 512)
    own, other = planner.choose(once), planner.choose(again)
    assert (own.plan, own.run) == (other.plan, other.run)
    assert not own.facts.repeats
    assert not any("times" in reason for reason in own.reasons)
    assert "3 results are equal each time: they are reduced once, and stored at as many places" in other.reasons
    assert other.facts.repeats


def test_the_planner_reports_the_multiplicity_of_elements() -> None:
    g = taken_out(collapse((40, 512), (0, 1), [(0, 1)], [()]), 1, ordered=False, indexed=False)
    reasons = planner.choose(Task(traced("sum", F32), g, (0, 0), DEFAULT, 132)).reasons
    assert "a result has its elements 40 times: their state, combined with itself, is that of all" in reasons


@pytest.mark.parametrize("what", ["max", "any", "argmin"])
def test_idempotent_reductions_have_no_power(what: str) -> None:
    """Nor has argmin, whose numbered elements all differ."""
    layout = collapse((40, 512), (0, 1), [(0, 1)], [()], indexed=what == "argmin")
    g = taken_out(layout, 1, ordered=False, indexed=what == "argmin")
    choice = planner.choose(Task(traced(what, F32), g, (0, 0), DEFAULT, 132))
    assert not choice.facts.repeats
    assert ("a result has its elements 40 times: once is as good" in choice.reasons) == (what != "argmin")


def test_offsets_and_counts_of_repetitions_must_fit_32_bits() -> None:
    assert planner.choose(repeated(8, 512)).facts.index_bits == 32
    assert planner.choose(repeated(8, 2**29)).facts.index_bits == 64
    g = taken_out(collapse((2**31, 512), (0, 1), [(0, 1)], [()]), 1, ordered=False, indexed=False)
    task = Task(traced("sum", F32), g, (0, 0), DEFAULT, 132)
    assert (g.n_reduced, planner.choose(task).facts.index_bits) == (512, 64)


@pytest.mark.parametrize(("stride", "vector"), [(512, True), (514, False)])
def test_results_are_stored_as_vectors_only_where_all_copies_are_aligned(stride: int, vector: bool) -> None:
    found = planner.facts(
        repeated(3, stride), planner.choose(repeated(3, stride), "fast=kept,vector=4,lanes=1,warps=1").plan
    )
    assert found.store_vector == vector
