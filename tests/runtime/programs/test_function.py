"""Calls of programs: arrays of several kinds and shapes, parameters, results, and mistakes."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from covering import covering
from made import (
    batch_norm,
    batch_norm_numpy,
    causal,
    layer_norm,
    layer_norm_numpy,
    scaled,
    several,
    softmax,
    softmax_numpy,
)

import warpfold as wf
from warpfold.compiler.errors import ArgumentError, PlanError, TraceError
from warpfold.compiler.planner.resident import held

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 50)).astype(np.float32)
W, B = (RNG.normal(size=50).astype(np.float32) for _ in range(2))


def close(found: Any, expected: Any, tolerance: float = 2e-6) -> None:
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(np.asarray(found, np.float64), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("axis", [-1, 0, (0, 1)])
@pytest.mark.parametrize("shape", [(4, 8), (3, 7), (5, 300), (1, 3), (2, 3, 4)])
def test_softmax_over_any_axes(shape: tuple[int, ...], axis: Any) -> None:
    x = RNG.normal(size=shape).astype(np.float32)
    close(softmax(x, axis=axis), softmax_numpy(x, axis))


@pytest.mark.parametrize("change", [lambda x: x.T, lambda x: x[::-1, ::2], lambda x: x[:, 1:], lambda x: x[:1]])
def test_any_strides(change: Any) -> None:
    close(softmax(change(X)), softmax_numpy(change(X)))


@pytest.mark.parametrize("plan", ["", "resident=shared,vector=4", "resident=memory,vector=4"])
def test_rows_in_several_dims_may_begin_anywhere(plan: str) -> None:
    """The first access of a row begins before it, at a number below 0."""
    x, w = RNG.standard_normal((3, 2, 5, 130)).astype(np.float32), RNG.standard_normal(5).astype(np.float32)
    shifted = wf.program(lambda x, w: softmax(x + w[:, None]))
    np.testing.assert_allclose(shifted(x, w, plan=plan), softmax_numpy(x + w[:, None]), atol=2e-7)


@covering(
    ("n", [7, 257, 1003, 2051]), ("plan", ["resident=shared", "resident=shared,cluster=2", "lanes=32,warps=1,vector=4"])
)
def test_odd_rows_of_many_lengths(n: int, plan: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One kernel masks both ends of rows of any length, of which some threads have no access."""
    monkeypatch.setattr(held, "LARGE", 0)
    x, w = RNG.standard_normal((3, n)).astype(np.float32), RNG.standard_normal((2, n)).astype(np.float32)
    how = f"{plan},vector=4,warps=2" if "shared" in plan else plan
    close(softmax(x, plan=how), softmax_numpy(x))
    close(layer_norm(x, w[0], w[1], plan=how), layer_norm_numpy(x, w[0], w[1]), 2e-5)


def test_a_transposed_input_has_a_result_in_its_memory_order() -> None:
    assert softmax(X.T).strides == X.T.strides
    assert softmax(X[:, ::2]).flags.c_contiguous


@pytest.mark.parametrize("dtype", [np.float64, np.float16, ml_dtypes.bfloat16])
def test_results_have_the_type_of_the_elements(dtype: Any) -> None:
    found = softmax(X.astype(dtype))
    assert found.dtype == dtype
    close(found, softmax_numpy(X.astype(dtype)), float(ml_dtypes.finfo(dtype).eps))


def test_weights_by_position_and_by_name() -> None:
    close(layer_norm(X, W, B), layer_norm_numpy(X, W, B))
    close(layer_norm(X, b=B, w=W), layer_norm_numpy(X, W, B))
    close(layer_norm(X, W), layer_norm_numpy(X, W))
    close(layer_norm(X.astype(ml_dtypes.bfloat16), W), layer_norm_numpy(X.astype(ml_dtypes.bfloat16), W), 1e-2)


@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_results_of_several_shapes_have_names(layout: str) -> None:
    x = RNG.normal(size=(3, 4, 5, 6)).astype(np.float32)
    if layout == "nhwc":
        x = np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    found = batch_norm(x, W[:4])
    assert found._fields == ("y", "mean", "var")
    for f, e in zip(found, batch_norm_numpy(x, W[:4]), strict=True):
        close(f, e, 1e-5)


def test_folds_over_other_axes_and_numbers_of_elements() -> None:
    rows, greatest, where, centred = several(X)
    close(rows, X.sum(1, dtype=np.float64), 1e-5)
    close(greatest, X.max())
    np.testing.assert_array_equal(where, X.argmax(0))
    close(centred, X - X.mean(0, dtype=np.float64), 1e-5)
    close(causal(X), np.tril(np.ones(X.shape)) * X)


@wf.program
def turned(x: Any) -> Any:
    return x.T + 1.0


@wf.program
def two(x: Any, w: Any) -> Any:
    return x + w, x - w


@wf.program
def multiples(x: Any, y: Any) -> Any:
    return y * 2.0, x * 3.0


@wf.program
def centred(x: Any) -> Any:
    """Rows, then columns, of the array itself."""
    return x - wf.mean(x, axis=1, keepdims=True) * wf.mean(x * wf.sum(x, axis=0), axis=1, keepdims=True)


def test_rows_that_no_cluster_owns_are_shared_by_the_grid_wait_in_the_l2_cache_or_are_cut() -> None:
    x = RNG.normal(size=(2, 400_000)).astype(np.float32)
    cached = "resident=l2", "waits in the L2 cache"
    for plan, words in (("", "CTAs share all rows"), cached, ("resident=none", "softmax_1")):
        close(softmax(x, axis=(0, 1), plan=plan), softmax_numpy(x, (0, 1)))
        assert words in softmax.explain(x, axis=(0, 1), plan=plan)


def test_numbers_are_baked_in_and_arrays_of_rank_0_are_not() -> None:
    @wf.program
    def scaled(x: Any, t: Any) -> Any:
        return x * t

    traces = scaled._traces
    close(scaled(X, 2.0), X * 2.0)
    close(scaled(X, 3.0), X * 3.0)
    baked = len(traces._found)
    close(scaled(X, np.array(2.0, np.float32)), X * 2.0)
    close(scaled(X, np.float32(3.0)), X * 3.0)
    close(scaled(np.float32(3.0), np.array(2.0, np.float32)), np.float64(6.0))
    assert len(traces._found) - baked == 2  # one beside an array, one of two numbers


def test_lists_and_numbers_are_arrays_as_numpys_are() -> None:
    close(softmax([0.0, 0.0]), np.array([0.5, 0.5]))


def test_an_array_is_written_in_place() -> None:
    y = X.copy()
    assert softmax(y, out=y) is y
    close(y, softmax_numpy(X))
    y = X.T.copy().T
    softmax(y, out=y)
    close(y, softmax_numpy(X))
    y = X.astype(np.float64)
    centred(y, out=y)  # the steps before have read the columns
    wide = X.astype(np.float64)
    close(y, wide - wide.mean(1, keepdims=True) * (wide * wide.sum(0)).mean(1, keepdims=True))


@pytest.mark.parametrize("places", [(0, 1), (1, 0), (0, None), (None, 0)])
def test_two_results_take_the_places_of_what_both_need(places: tuple[int | None, ...]) -> None:
    arrays = X.copy(), X[::-1].copy()
    expected = two(*(a.copy() for a in arrays))
    two(*arrays, out=tuple(np.empty_like(X) if i is None else arrays[i] for i in places))
    for i, e in zip(places, expected, strict=True):
        if i is not None:
            np.testing.assert_array_equal(arrays[i], e)


def test_results_go_into_given_arrays() -> None:
    x = RNG.normal(size=(3, 4, 5, 6)).astype(np.float32)
    outs = np.empty_like(x), np.empty(4, np.float32), np.empty((2, 4), np.float32)[1]
    found = batch_norm(x, W[:4], out=outs)
    assert all(f is o for f, o in zip(found, outs, strict=True))
    for f, e in zip(outs, batch_norm_numpy(x, W[:4]), strict=True):
        close(f, e, 1e-5)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: softmax(x[:3], out=x[1:4]), "WF186: out shares memory with input 0: it is not the same elements"),
        (lambda x: softmax(x, out=x[::-1]), "WF186: out shares memory with input 0: it is not the same elements"),
        (lambda x: turned(x[:, :6], out=x[:, :6]), "WF186: .*: what is there is needed for other elements"),
        (lambda x: multiples(x, X, out=(x, x.copy())), "WF186: .*: what is there is needed for other elements"),
        (lambda x: softmax(x, out=x[:5]), r"WF108: out has shape \(5, 50\): expected \(6, 50\)"),
        (lambda x: softmax(x, out=x.astype(np.float64)), "WF109"),
        (lambda x: softmax(x, out=(x, x)), r"WF125: out holds 2 array\(s\)"),
    ],
)  # fmt: skip
def test_results_that_would_be_half_written_are_refused(call: Any, text: str) -> None:
    x = X.copy()
    with pytest.raises((ArgumentError, wf.WarpfoldError), match=text):
        call(x)
    np.testing.assert_array_equal(x, X)


def test_empty_arrays() -> None:
    assert softmax(X[:0]).shape == (0, 50)
    assert scaled(X[:, :0], 2.0).shape == (6, 0)
    assert softmax(X[:, :0]).shape == (6, 0)
    with pytest.raises(ArgumentError, match=r"WF104: max of no elements has no value: axes \(1,\) of shape \(6, 0\)"):
        wf.program(lambda x: wf.max(x, axis=1))(X[:, :0])


@wf.program
def ending(x: Any, k: int) -> Any:
    return ending(x, k + 1)


def plain(x: Any) -> Any:
    return x + 1


@wf.program
def repeated(x: Any, k: int = 1) -> Any:
    for _ in range(k):
        x = x + 1
    return x


def test_a_parameter_that_is_annotated_as_a_number_is_no_array() -> None:
    for k in (2, np.int64(2)):
        np.testing.assert_array_equal(repeated(X, k), X + 1 + 1)
        np.testing.assert_array_equal(repeated(X, k=k), X + 1 + 1)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: layer_norm(X), ArgumentError, r"WF124: layer_norm takes 2 to 3 input array\(s\), got 1"),
        (
            lambda: layer_norm(X, W, B, 1e-5),
            ArgumentError,
            r"WF124: .* takes 2 to 3 input array\(s\), got 4: it takes x w b\n.*\n  help: .* goes by name: axis= eps=",
        ),
        (lambda: layer_norm(X, W, epsi=1), ArgumentError, "WF127: layer_norm takes no parameter 'epsi'.*mean eps"),
        (lambda: layer_norm(X, W, w=W), ArgumentError, "WF194: layer_norm got 'w' twice: by position .*are x w b"),
        (lambda: layer_norm(X, W, eps=[1]), ArgumentError, "WF128: parameter 'eps' of layer_norm is a list"),
        (lambda: layer_norm(X, W[:3]), TraceError, r"WF254: shapes \(6, 50\) and \(3,\) do not broadcast"),
        (
            lambda: scaled(1.0, 2.0), ArgumentError,
            r"WF124: scaled takes at least 1 input array\(s\), got 0.*make an array .*: numpy.asarray\(1.0\)",
        ),
        (lambda: ending(X, 3), TraceError, r"WF247: ending calls itself without an end.*at .*ending\(x, k \+ 1\)"),
        (
            lambda: wf.reduce(X, lambda v: wf.fold(wf.SUM, softmax(v))), TraceError,
            "WF251: softmax takes whole arrays: it was called with one element",
        ),
        (lambda: pickle.dumps(wf.program(lambda x: x)), ArgumentError, "WF183: <lambda> cannot be pickled: .*lambda"),
        (lambda: softmax.compile(X, arch=["sm_80"]), PlanError, "WF401: .*compile for each of them: a file holds"),
        (lambda: wf.program(), ArgumentError, "WF151: .*write @wf.program, without parenth"),  # type: ignore[call-arg]
        (lambda: softmax(X, determinism="x"), ArgumentError, "WF138"),
        (lambda: softmax(X, axis="1"), TraceError, "WF256: axis '1' is not an axis of x"),
        (lambda: softmax(X, device="x"), ArgumentError, "WF121"),
        (lambda: softmax(X, plan=3), ArgumentError, "WF131"),
        (lambda: wf.program(3), ArgumentError, "WF199: wf.program got a value of type int: expected a function"),
        (lambda: wf.program(wf.SUM), ArgumentError, "WF199: .* of type Monoid: .* a reduction such as wf.sum"),
        (lambda: wf.vjp([1]), ArgumentError, "WF199: wf.vjp got a value of type list"),
        (lambda: wf.vjp(softmax, wrt=0), ArgumentError, "WF138: wrt cannot be 0: expected the name of an argument"),
        (lambda: wf.value_and_grad("sum"), ArgumentError, "WF199: wf.value_and_grad got a value of type str"),
        (lambda: wf.program(lambda out: out), ArgumentError, "WF187: .* has a parameter 'out'"),
        (lambda: wf.program(lambda x: softmax(x, plan="x"))(X), ArgumentError, "WF188: softmax is a part of another"),
    ],
)  # fmt: skip
def test_mistakes_are_named(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=f"(?s){text}"):
        call()


def test_a_program_is_a_part_of_another() -> None:
    @wf.program
    def twice(x: Any) -> Any:
        return softmax(softmax(x), axis=0)

    close(twice(X), softmax_numpy(softmax_numpy(X), 0))


def test_a_program_pickles_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(softmax)) is softmax
    made = pickle.loads(pickle.dumps(wf.program(plain)))  # the module has the function under this name
    np.testing.assert_array_equal(made(X), X + 1)
    own = wf.program(lambda x: x)
    assert copy.deepcopy(own) is own is copy.copy(own)
    assert copy.deepcopy(softmax) is softmax


def test_a_changed_variable_is_a_new_trace() -> None:
    factor = 2.0

    @wf.program
    def inner(x: Any) -> Any:
        return x * factor

    @wf.program
    def outer(x: Any) -> Any:
        return inner(x) + 1.0

    close(outer(X), X * 2.0 + 1.0)
    factor = 3.0
    close(inner(X), X * 3.0)
    close(outer(X), X * 3.0 + 1.0)


def test_checks_are_made_once_the_kernels_ran() -> None:
    @wf.program
    def checked(x: Any) -> Any:
        return wf.sum(x, axis=1, nan="raise"), x * 2.0

    rows, twice = checked(X)
    close(rows, X.sum(1), 1e-5)
    close(twice, X * 2)
    broken = X.copy()
    broken[2, 3] = np.nan
    outs = np.empty(6, np.float32), np.empty_like(X)
    for how in ({}, {"out": outs}):
        with pytest.raises(ArgumentError, match="WF135: the input of checked holds NaN"):
            checked(broken, **how)
    with pytest.raises(ArgumentError, match="WF135"):
        checked.compile(X)(broken)


def test_memory_that_can_be_written_is_an_array() -> None:
    """A view of memory has no hash then."""
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(wf.softmax(memoryview(x)), wf.softmax(x))
