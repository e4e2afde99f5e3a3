"""The kernel interface: the list of parameters, their values, and the second kernel's geometry and program."""

from __future__ import annotations

import numpy as np
import pytest
from graph_numpy import combine, identity, run
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import offsets_of
from tasks import FUNCTIONS, simple, tasks, traced

from warpfold.compiler.dtypes import F32, I32, I64
from warpfold.compiler.plan.abi import POINTERS, Kernel, Param, params, partial_geometry, second_program, value
from warpfold.compiler.plan.facts import Facts
from warpfold.compiler.plan.launch import Launch
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.planner.choose import choose
from warpfold.compiler.planner.task import Task
from warpfold.compiler.program.graph import MonoidGraph, walk
from warpfold.compiler.space.geometry import Dim, Geometry

FINISHES = ("cta", "last_block", "two_kernels", "atomic")


def facts(kept: int, reduced: int, ragged: bool = False) -> Facts:
    return Facts(kept, reduced, 32, (), store_vector=False, ragged=ragged)


PLANS = [Plan(finish=f, cta=c, exchange=e) for f in FINISHES for c, e in (("shuffle", "shared"), ("serial", "global"))]  # type: ignore[arg-type]


@given(*[st.integers(1, 3)] * 3, *[st.integers(0, 4)] * 2, st.sampled_from(PLANS), *[st.booleans()] * 3)
def test_names_are_unique_and_pointers_come_first(
    inputs: int, outputs: int, states: int, kept: int, reduced: int, plan: Plan, ragged: bool, indexed: bool,
    counted: bool,
) -> None:  # fmt: skip
    found = params(inputs, outputs, states, facts(kept, reduced, ragged), plan, indexed=indexed, counted=counted)
    assert len({p.name for p in found}) == len(set(found)) == len(found)
    pointers = [p.role in POINTERS for p in found]
    assert pointers == sorted(pointers, reverse=True)
    roles = [p.role for p in found]
    assert roles.count("partial") == (states if plan.finish != "cta" else 0)
    assert roles.count("counter") == (plan.finish == "last_block")
    assert roles.count("output") == (outputs if plan.finish in ("cta", "last_block") else 0)
    assert roles.count("exchange") == (states if plan.exchange == "global" else 0)


def test_a_single_position_needs_no_exchange() -> None:
    alone = Plan(lanes=1, cta="serial", exchange="global")
    found = params(1, 1, 1, facts(2, 1), alone, indexed=False, counted=False)
    assert "exchange" not in [p.role for p in found]


def test_the_parameters_of_a_row_sum() -> None:
    names = [p.name for p in params(1, 1, 1, facts(2, 1), Plan(finish="last_block"), indexed=False, counted=False)]
    assert names == [
        "input0", "output0", "partial0", "counter", "n_kept", "n_reduced", "chunk", "count", "kept_size_1",
        "kept_stride0_0", "kept_stride0_1", "reduced_stride0_0", "kept_stride1_0", "kept_stride1_1",
    ]  # fmt: skip


def test_the_kernel_that_writes_results_knows_the_number_of_copies() -> None:
    repeated = Facts(1, 1, 32, ("strided",), store_vector=False, repeats=True)
    finishes = {f: params(1, 2, 1, repeated, Plan(finish=f), indexed=False, counted=False) for f in FINISHES}  # type: ignore[arg-type]
    asked = [Param("times"), Param("copies"), Param("copy_stride", 1), Param("copy_stride", 2)]
    assert [p.name for p in asked] == ["times", "copies", "copy_stride1_0", "copy_stride2_0"]
    assert all(list(finishes[f][-4:]) == asked for f in ("cta", "last_block"))
    assert not set(asked).intersection(finishes["two_kernels"], finishes["atomic"])
    g = Geometry((), (Dim(9, (1, 0, 0)),), (0, 0, 0), times=3, copies=Dim(5, (0, 7, -2)))
    assert [value(p, g, Launch(1, 1, 32), 27) for p in asked] == [3, 5, 7, -2]
    once = Geometry((), g.reduced, g.offsets)
    assert [value(p, once, Launch(1, 1, 32), 9) for p in asked] == [1, 1, 0, 0]


def test_a_second_kernel_repeats_what_the_first_one_leaves_out() -> None:
    outputs = Geometry((Dim(3, (4,)),), (), (7,), times=3, copies=Dim(5, (40,)))
    g = partial_geometry(outputs, 2, 6)
    assert (g.times, g.copies) == (3, Dim(5, (0, 0, 40)))


def test_partial_states_of_cut_vectors_are_whole_vectors_apart() -> None:
    outputs = Geometry((Dim(9, (1,)),), (Dim(7, (0,)),), (0,))
    assert [partial_geometry(outputs, 1, 6, n).reduced[0] for n in (1, 16)] == [Dim(6, (63, 0)), Dim(6, (64, 0))]


def test_an_indexed_kernel_numbers_its_elements() -> None:
    names = [p.name for p in params(1, 1, 2, facts(0, 2), Plan(finish="cta"), indexed=True, counted=False)]
    assert names[-3:] == ["index_stride_0", "index_stride_1", "index_base"]


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("counted", [False, True])
def test_a_kernel_over_ragged_rows_has_the_parameters_of_each_row(indexed: bool, counted: bool) -> None:
    found = params(1, 1, 1, facts(2, 1, ragged=True), Plan(finish="cta"), indexed=indexed, counted=counted)
    rows = [p.name for p in found if p.name.startswith("row_")]
    optional = ["row_origin"] * indexed + ["row_count"] * counted
    assert rows == ["row_begin", "row_end", *optional, "row_stride_0", "row_stride_1"]
    g = Geometry((Dim(3, (7, 2)), Dim(5, (0, 1), row_stride=1)), (Dim(4, (9, 0)),), (0, 0))
    assert [value(p, g, Launch(1, 1, 32), 4) for p in found[-2:]] == [0, 1]


@settings(max_examples=120)
@given(tasks())
def test_every_parameter_has_a_value_within_the_kernels_integers(task: Task) -> None:
    choice = choose(task)
    g = task.geometry.padded(choice.facts.kept_rank, choice.facts.reduced_rank)
    kernel = Kernel("k", task.program, choice.facts, choice.plan)
    assert kernel.monoid == task.monoid
    for p in kernel.params:
        if p.role not in POINTERS:
            v = value(p, g, choice.run, g.n_reduced)
            assert isinstance(v, int)
            assert abs(v) < 2 ** (choice.facts.index_bits - 1)


def test_values_come_from_the_geometry_and_the_launch() -> None:
    g = Geometry((Dim(3, (7, 2)), Dim(5, (1, 1))), (Dim(4, (9, 0), 6), Dim(6, (20, 0), -1)), (0, 0), 5)
    run = Launch(2, 3, 8)
    asked = {
        Param("n_kept"): 15, Param("n_reduced"): 24, Param("chunk"): 8, Param("count"): 99, Param("index_base"): 5,
        Param("kept_size", 0, 1): 5, Param("reduced_size", 0, 1): 6, Param("kept_stride", 1, 0): 2,
        Param("reduced_stride", 0, 1): 20, Param("index_stride", 0, 1): -1,
    }  # fmt: skip
    assert {p: value(p, g, run, 99) for p in asked} == asked


@pytest.mark.parametrize("split", [1, 2, 5])
@pytest.mark.parametrize("states", [1, 3])
def test_partials_are_stored_by_part_in_the_order_of_the_results(split: int, states: int) -> None:
    outputs = Geometry((Dim(3, (-40,)), Dim(4, (2,))), (), (7,))
    g = partial_geometry(outputs, states, split)
    assert (g.n_kept, g.n_reduced, g.offsets) == (12, split, (0,) * states + (7,))
    for s in range(states):
        cells = offsets_of(g.reduced, s)[:, None] + offsets_of(g.kept, s)
        assert np.array_equal(cells.ravel(), np.arange(12 * split))
    assert np.array_equal(offsets_of(g.kept, states), offsets_of(outputs.kept, 0))
    assert not offsets_of(g.reduced, states).any()


def test_the_second_kernel_has_a_value_for_every_parameter_even_for_one_part() -> None:
    """A reduction that fits one CTA, with two kernels asked for."""
    g = partial_geometry(Geometry((Dim(3, (1,)),), (), (0,)), 1, 1)
    for p in params(1, 1, 1, facts(len(g.kept), 1), Plan(finish="cta"), indexed=False, counted=False):
        if p.role not in POINTERS:
            assert value(p, g, Launch(1, 1, 32), 100) >= 0


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_the_second_program_finishes_the_states_of_the_first(name: str) -> None:
    """Two halves are reduced separately; the second program reduces their states to the result of the whole."""
    x = np.array([3.0, -1.0, 2.5, 8.0, 0.5, 1.0, -2.0, 4.0], np.float32)
    first = traced(name, F32)
    second = second_program(first)
    graph = first.reduces[0].value
    assert isinstance(graph, MonoidGraph)
    assert second.inputs == graph.state
    assert [o.dtype for o in second.outputs] == [o.dtype for o in first.outputs]
    assert not second.uses_index
    assert {e.op for e in walk(second.outputs)} >= {"input", "reduce"}
    whole = run(first, x)
    halves = [_state(first, x[:3], 0), _state(first, x[3:], 3)]
    states = [np.array(pair) for pair in zip(*halves, strict=True)]
    finished = run(second, *states)
    if not any(e.op == "count" for e in walk(second.outputs)):
        for a, b in zip(whole, finished, strict=True):
            assert np.allclose(a, b, rtol=1e-5, equal_nan=True)


def _state(program_of: object, x: np.ndarray, start: int) -> tuple[np.ndarray, ...]:
    """The state that the first kernel makes of ``x``, whose elements are numbered from ``start``."""
    from graph_numpy import evaluate

    node = program_of.reduces[0]  # type: ignore[attr-defined]
    graph = node.value
    total = identity(graph)
    for i, element in enumerate(x):
        known = {}
        for e in walk(node.args):
            if e.op == "input":
                known[e.digest] = np.asarray(element)
            elif e.op == "iota":
                known[e.digest] = np.asarray(start + i, e.dtype.numpy)
        total = combine(graph, total, evaluate(node.args, known))
    return total


def test_the_parameters_of_a_kernel_follow_from_its_facts() -> None:
    facts = Facts(1, 2, 32, ("strided",), False)
    kernel = Kernel("k", traced("argmax", F32), facts, Plan(finish="two_kernels"))
    assert [p.role for p in kernel.params].count("partial") == 2
    assert kernel.monoid.state == (F32, I64)
    assert traced("sum", I32).reduces[0].dtype == I64
    assert simple("sum", (2, 3), (1,)).monoid.state == (F32,)
