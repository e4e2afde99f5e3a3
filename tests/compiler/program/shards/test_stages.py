"""Array programs on shards as stages: what travels, which numbers ranks pass, and which programs are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import warpfold as wf
from warpfold.compiler.dtypes import F32, I64
from warpfold.compiler.program.array_program import ArrayProgram
from warpfold.compiler.program.arrays.trace import ArrayArg, trace_arrays
from warpfold.compiler.program.graph import walk
from warpfold.compiler.program.shards.stages import Stages, stages_of

ROWS = ArrayArg(F32, (6, 12))
WIDTH = ArrayArg(F32, (12,))
TARGET = ArrayArg(I64, (6,))


def traced(function: Callable[..., Any], *arrays: ArrayArg, **params: Any) -> ArrayProgram:
    return trace_arrays(getattr(function, "function", function), arrays, params)


def staged(function: Callable[..., Any], *arrays: ArrayArg, axes: tuple[int | None, ...], **params: Any) -> Stages:
    return stages_of(traced(function, *arrays, **params), axes)


@pytest.mark.parametrize(
    ("function", "arrays", "axes", "states"),
    [
        (wf.softmax, (ROWS,), (1,), [2]),  # maximum and sum, by the online form
        (wf.softmax, (ROWS,), (0,), []),
        (wf.cross_entropy, (ROWS, TARGET), (1, None), [3]),  # and the target's logit
        (wf.layer_norm, (ROWS, WIDTH), (1, 0), [3]),  # Welford's
        (wf.rms_norm, (ROWS, WIDTH), (1, 0), [1]),
        (lambda x: wf.sum(wf.softmax(x), axis=0), (ROWS,), (0,), [1]),
        (lambda x: wf.sum(wf.sum(x, axis=1) ** 2), (ROWS,), (1,), [1]),
    ],
)
def test_states_that_travel(
    function: Callable[..., Any], arrays: tuple[ArrayArg, ...], axes: tuple[int | None, ...], states: list[int]
) -> None:
    found = staged(function, *arrays, axes=axes)
    assert [len(own) for own in found.states] == states
    assert len(found.stages) == len(states) + 1


def test_a_stage_reads_the_states_of_all_before() -> None:
    def twice(x: Any) -> Any:
        x = x - wf.sum(x, axis=1, keepdims=True)
        return x - wf.sum(x, axis=1, keepdims=True)

    found = staged(twice, ROWS, axes=(1,))
    assert [len(s.arrays) for s in found.stages] == [1, 2, 3]
    assert found.results[0] is not None
    assert found.results[0].axis == 1
    last = found.stages[-1]
    assert last.sizes_of([(6, 5), (3, 6), (3, 6)]) == (6, 5, 3)


def test_a_stage_takes_what_it_reads_and_what_says_sizes() -> None:
    found = staged(lambda x, w, b: wf.sum(x, axis=1) + wf.sum(w), ROWS, WIDTH, ROWS, axes=(1, 0, 1))  # noqa: ARG005
    assert found.taken == ((0, 1), (0, 1, 3, 4))
    sliced = staged(lambda w, x: wf.sum(x[1:], axis=1), WIDTH, ROWS, axes=(0, 1))  # noqa: ARG005
    assert sliced.taken[0] == (1,)
    assert [s.array for s in sliced.stages[0].slices] == [0]


def test_numbers_of_elements_are_arguments() -> None:
    found = staged(lambda x: (wf.mean(x), wf.argmax(x)), ROWS, axes=(1,))
    assert {(n.kind, n.space) for n in found.numbers} == {("count", 3), ("count", 2), ("start", 2)}
    for stage in found.stages:
        ops = {e.op for e in walk(stage.roots)}
        assert "count" not in ops
    assert not staged(lambda x: wf.mean(x, axis=1), ROWS, axes=(0,)).numbers


def test_slices_along_another_axis_are_those_of_the_shard() -> None:
    found = staged(lambda x: wf.sum(x[:, 1:], axis=0) + wf.mean(x[:, :-1]), ROWS, axes=(0,))
    last = found.stages[-1]
    assert {s.array for s in last.slices} == {0}
    assert last.sizes_of([(4, 12), (), (3, 11), (3,)][: len(last.arrays)])


@pytest.mark.parametrize(
    ("function", "axes", "problem"),
    [
        (lambda x: wf.cumulative_sum(x, axis=1), (1,), "a scan goes along the axis that is cut"),
        (lambda x: wf.sum(x[:, ::2]), (1,), "it reads a part of axis 1, along which shards lie"),
        (lambda x: wf.group_norm(x, 3), (1,), "it reads axis 1 of array 0, along which shards lie, as several"),
        (lambda x: x.reshape(-1), (1,), "shards of a result do not follow each other along an axis of it"),
        (lambda x, y: x + y, (1, None), "array 1 is whole along axis 1, where others have shards"),
        (lambda x, y: wf.sum(x[:, None, :1] * y[None], axis=2), (0, 0), "a value lies along two axes that are cut"),
    ],
)
def test_programs_that_cannot_be_cut_so(
    function: Callable[..., Any], axes: tuple[int | None, ...], problem: str
) -> None:
    with pytest.raises(wf.WarpfoldError, match=f"WF173: [^\n]* does not run on shards that lie so: {problem}"):
        staged(function, *[ROWS] * len(axes), axes=axes)


def test_an_order_that_shards_do_not_keep() -> None:
    @wf.monoid(identity=(1.0, 0.0), commutative=False)
    def affine(f: Any, g: Any) -> Any:
        return f[0] * g[0], f[1] * g[0] + g[1]

    def composed(x: Any) -> Any:
        return wf.reduce(x, x, what=affine)

    assert len(staged(composed, ROWS, axes=(0,)).stages) == 2
    with pytest.raises(wf.WarpfoldError, match=r"WF173: composed [^\n]*: affine takes elements in an order in which"):
        staged(composed, ROWS, axes=(1,))
