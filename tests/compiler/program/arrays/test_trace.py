"""Functions of whole arrays as programs: results, types, sizes, and what cannot be traced."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from array_programs import expect_equal, traced

import warpfold as wf
from warpfold.compiler.dtypes import BF16, F32, F64, I64
from warpfold.compiler.errors import TraceError
from warpfold.compiler.program.graph import walk

RNG = np.random.default_rng(5)
X = RNG.standard_normal((4, 5)).astype(np.float32)
SQUARE = RNG.standard_normal((4, 4)).astype(np.float32)
BFLOAT16 = BF16.numpy


def softmax(x: Any, axis: Any = -1) -> Any:
    e = wf.exp(x - wf.max(x, axis=axis, keepdims=True))
    return e / wf.sum(e, axis=axis, keepdims=True)


def numpys_softmax(x: Any, axis: Any = -1) -> Any:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def layer_norm(x: Any, w: Any, b: Any, *, axis: Any = -1, eps: float = 1e-5) -> Any:
    m, v = wf.mean(x, axis=axis, keepdims=True), wf.var(x, axis=axis, keepdims=True)
    return (x - m) * wf.rsqrt(v + eps) * w + b


# --- programs ---
@pytest.mark.parametrize("axis", [-1, 0, (0, 1), None])
def test_softmax_over_any_axes(axis: Any) -> None:
    expect_equal(lambda x: softmax(x, axis), lambda x: numpys_softmax(x, axis), X)


def test_a_weight_is_a_view_along_the_dim_of_the_columns() -> None:
    w, b = X[0].astype(BFLOAT16), X[1]
    program = traced(layer_norm, X, w, b)
    assert program.dims == (((0, 0),), ((0, 1), (1, 0), (2, 0)))
    assert [v[:2] for v in program.views] == [(0, (0, 1)), (1, (1,)), (2, (1,))]


def test_layer_norm() -> None:
    def reference(x: Any, w: Any, b: Any) -> Any:
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b

    expect_equal(layer_norm, reference, X, X[0], X[1])


def test_results_nest_as_the_function_returns_them() -> None:
    program = traced(lambda x: {"m": wf.mean(x), "rows": [wf.sum(x, axis=1), x]}, X)
    assert program.structure == ("<lambda>", ("m", "rows"), (0, ("rows", (), (1, 2))))
    assert [o.axes for o in program.outputs] == [(), (0,), (0, 1)]


def test_a_sum_of_what_stands_along_rows_and_columns() -> None:
    expect_equal(lambda x: x - wf.sum(x, axis=0)[:, None], lambda x: x - x.sum(0)[:, None], SQUARE)


def test_a_program_without_a_fold() -> None:
    program = expect_equal(lambda x, t: x / t + 1, lambda x, t: x / t + 1, X, np.float32(2.0)[()] + np.zeros((), "f4"))
    assert not program.folds
    assert program.views[1].axes == ()


# --- types ---
def test_half_types_are_computed_in_f32_and_rounded_where_results_are_written() -> None:
    program = traced(lambda x: softmax(x * 2), X.astype(BFLOAT16))
    nodes = list(walk(program.roots))
    assert {e.dtype for e in nodes if e.op == "input"} == {BF16}
    assert {e.dtype for e in nodes if e.op != "input"} == {F32}
    assert program.outputs[0].dtype == BF16


def test_cast_rounds_where_it_stands() -> None:
    x, y = X.astype(BFLOAT16), (X * 0.37).astype(BFLOAT16)
    expect_equal(
        lambda x, y: wf.cast(wf.cast(x + y, x.dtype) * 3, "f32"),
        lambda x, y: (x + y).astype(np.float32).astype(BFLOAT16).astype(np.float64) * 3,
        x,
        y,
    )


def test_types_promote_as_numpys() -> None:
    i = np.arange(20, dtype=np.int32).reshape(4, 5)
    assert traced(lambda i: i / 2, i).outputs[0].dtype == F64
    assert traced(lambda i: wf.sum(i, axis=0), i).outputs[0].dtype == I64
    assert traced(lambda x, w: x * w, X.astype(BFLOAT16), X).outputs[0].dtype == F32


# --- errors ---
def message(function: Any, *arrays: Any) -> str:
    with pytest.raises(TraceError) as e:
        traced(function, *arrays)
    assert e.value.location is not None
    assert __file__ in str(e.value)
    return str(e.value)


def test_shapes_that_do_not_broadcast() -> None:
    found = message(lambda x, w: x * w, X, X[:, 0])
    assert "WF254: shapes (4, 5) and (4,) do not broadcast: axis -1 has size 5 in x and size 4 in w" in found


def test_a_value_that_does_not_broadcast_to_a_shape() -> None:
    def stretched(x: Any) -> Any:
        return x.__array_namespace__().broadcast_to(x, x.shape[:1])

    assert "WF255: x has shape (4, 5), which does not broadcast to (4,)" in message(stretched, X)


@pytest.mark.parametrize("axis", [2, -3, (0, 0), True, 1.5])
def test_an_axis_that_there_is_not(axis: Any) -> None:
    expected = (
        f"WF256: axis {axis} is not an axis of x, which has 2 of them: expected None, or distinct integers from -2 to 1"
    )
    assert expected in message(lambda x: wf.sum(x, axis=axis), X)


def test_too_few_axes() -> None:
    assert "WF257: x.mT of an array with 1 axes: expected at least 2" in message(lambda x: x.mT, X[0])
    assert "WF257: x[...] of an array with 1 axes" in message(lambda x: x[:, :], X[0])


def test_no_iteration_no_assignment_no_matrix_product() -> None:
    def assigned(x: Any) -> Any:
        x[0] = 1.0
        return x

    assert "WF258" in message(lambda x: [row for row in x], X)  # noqa: C416 - the iteration is what is tested
    assert "WF259" in message(assigned, X)
    assert "WF260" in message(lambda x: x @ x, SQUARE)


def test_a_branch_on_a_value() -> None:
    assert "WF201" in message(lambda x: x if wf.sum(x) > 0 else -x, X)


def test_unknown_names() -> None:
    assert "WF261: a symbolic array has no attribute summ (did you mean sum?)" in message(lambda x: x.summ(), X)
    assert "WF264: the namespace of symbolic arrays has no sorted" in message(
        lambda x: x.__array_namespace__().sorted(x), X
    )


def test_an_index_that_selects() -> None:
    assert "WF262: a symbolic array is indexed by [0, 1]: expected None" in message(lambda x: x[[0, 1]], X)


def test_a_result_that_is_no_array() -> None:
    assert "WF263: result 1 of <lambda> is no array" in message(lambda x: (x, 1.0), X)


def test_squeeze_of_an_axis_that_is_not_of_size_1() -> None:
    assert "WF265: axis 0 of x has size 4" in message(lambda x: x.squeeze(axis=0), X)


def test_a_size_that_no_array_has() -> None:
    assert "WF266: 3 is a size that no axis" in message(lambda x: x + x.__array_namespace__().zeros((3, 1, 1)), X)


def test_positions_outside_of_a_reduction() -> None:
    assert "WF267: wf.index has no axes" in message(lambda x: x + wf.index(), X)


# --- the program as a value ---
def test_what_the_results_do_not_use_is_no_part_of_the_program() -> None:
    def function(x: Any, _: Any, y: Any) -> Any:
        wf.sum(x * 2, axis=0)
        return wf.exp(y) + x.shape[0]

    program = traced(function, X, X, SQUARE[0])
    assert [v.array for v in program.views] == [2]
    assert program.dims == (((0, 0),), ((2, 0),))


def test_views_are_numbered_in_the_order_of_the_arrays() -> None:
    program = traced(lambda x, y: (y, y.T + x, x), SQUARE, SQUARE)
    assert [v[:2] for v in program.views] == [(0, (0, 1)), (1, (1, 0))]


def test_a_program_pickles_without_its_monoids() -> None:
    program = traced(softmax, X)
    assert [m.name for m, _ in program.used] == []
    again = pickle.loads(pickle.dumps(program))
    assert (again, again.digest) == (program, program.digest)


def test_the_monoids_of_a_user_are_noted() -> None:
    program = traced(lambda x: wf.fold(wf.SUM, x, axis=0), X)
    assert [(m.name, types) for m, types in program.used] == [("SUM", (F32,))]
    assert pickle.loads(pickle.dumps(program)).used == ()


def test_parameters_are_baked_in() -> None:
    assert traced(layer_norm, X, X[0], X[0]).digest != traced(layer_norm, X, X[0], X[0], eps=1e-3).digest
    assert traced(layer_norm, X, X[:, :1], X[0], axis=0).folds[0].value.over == 1


def test_a_function_without_a_return() -> None:
    assert "WF228: the function of <lambda> returns nothing: expected one or several results" in message(
        lambda _: None, X
    )
