"""The public functions against NumPy in higher precision, on arrays of every kind; run with --gpu on a device too."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from covering import covering
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import warpfold as wf
from warpfold.compiler.dtypes import ALL, dtype
from warpfold.runtime import api

Array = npt.NDArray[Any]
FUNCTIONS = ("sum", "prod", "min", "max", "argmin", "argmax", "any", "all", "mean", "var", "norm", "logsumexp")
SIZES = (1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100)
TOLERANCE = {"f16": 2e-3, "bf16": 2e-2, "f32": 3e-6, "f64": 1e-13}


def reference(op: str, x: Array, axis: Any) -> Array:
    """NumPy's answer in float64 (in 64-bit integers for integers)."""
    wide = x.astype(np.float64) if dtype(x.dtype).is_float or op in ("norm", "logsumexp") else x
    if op == "norm":
        return np.asarray(np.sqrt(np.sum(wide * wide, axis=axis)))
    if op == "logsumexp":
        top = np.max(wide, axis=axis, keepdims=True)
        return np.asarray(np.log(np.sum(np.exp(wide - top), axis=axis)) + np.squeeze(top, axis=axis))
    return np.asarray(getattr(np, op)(wide, axis=axis))


def values(rng: np.random.Generator, shape: tuple[int, ...], name: str, op: str) -> Array:
    """Random elements that keep the reference within the type's range."""
    t = dtype(name)
    if t.kind == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if t.is_integer:
        return rng.integers(0 if t.kind == "uint" else -9, 10, shape).astype(t.numpy)
    x = 1 + rng.standard_normal(shape) * 0.01 if op == "prod" else rng.standard_normal(shape)
    return x.astype(t.numpy)


def assert_close(got: Any, wanted: Array, op: str, x: Array) -> None:
    """Exact where arithmetic is, else within a few roundings of the result's type, relative to the elements."""
    found = np.asarray(got)
    assert found.shape == wanted.shape
    if found.dtype.kind in "biu":
        np.testing.assert_array_equal(found, wanted)
        return
    name = dtype(found.dtype).name
    scale = max(1.0, float(np.max(np.abs(x.astype(np.float64)), initial=0)))
    slack = TOLERANCE[name] * scale * (math.sqrt(x.size) if op in ("sum", "norm") else 1)
    relative = TOLERANCE[name] * (20 if op == "prod" else 1)
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=relative, atol=slack)


@st.composite
def arrays(draw: st.DrawFn) -> tuple[str, Array, Any]:
    """(function, array, axis): any rank to 4, any strides, any dtype."""
    op = draw(st.sampled_from(FUNCTIONS))
    name = draw(st.sampled_from([t.name for t in ALL]))
    shape = tuple(draw(st.lists(st.sampled_from(SIZES), min_size=1, max_size=4)))
    while math.prod(shape) > 60_000:
        shape = shape[:-1]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    x = values(rng, shape, name, op).transpose(draw(st.permutations(range(len(shape)))))
    steps = [draw(st.sampled_from((1, 1, 1, 2, -1, -3))) for _ in shape]
    x = x[tuple(slice(None, None, s) for s in steps)]
    if draw(st.booleans()) and x.size < 30_000:
        x = np.broadcast_to(x, (draw(st.sampled_from((1, 2, 3))), *x.shape))
    axes = tuple(draw(st.sets(st.integers(0, x.ndim - 1))))
    axis: Any = axes if op not in ("argmin", "argmax") else (axes[0] if axes else None)
    return op, x, draw(st.sampled_from((axis, None)))


@given(arrays())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
def test_every_function_agrees_with_numpy(case: tuple[str, Array, Any]) -> None:
    op, x, axis = case
    assert_close(getattr(wf, op)(x, axis=axis, device="emulator"), reference(op, x, axis), op, x)


@pytest.mark.gpu
@given(arrays())
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
def test_every_function_agrees_with_numpy_on_the_gpu(case: tuple[str, Array, Any]) -> None:
    op, x, axis = case
    assert_close(getattr(wf, op)(x, axis=axis, device="cuda"), reference(op, x, axis), op, x)


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 8191, 8192, 8193, 131072, 1_000_003])
@pytest.mark.parametrize("op", ["sum", "max", "argmax"])
def test_sizes_around_every_boundary_of_the_planner(n: int, op: str) -> None:
    x = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    if n == 0 and op != "sum":
        with pytest.raises(ValueError, match="WF104"):
            getattr(wf, op)(x, device="emulator")
        return
    assert_close(getattr(wf, op)(x, device="emulator"), reference(op, x, None), op, x)


@covering(
    (
        "plan",
        [
            "",
            "finish=two_kernels",
            "vector=1",
            "unroll=1",
            "warps=1",
            "warps=16",
            "lanes=8,warps=1",
            "lanes=1,warps=1,warps_kept=1",
            "walk=blocked,vector=1",
            "walk=blocked,vector=1,finish=two_kernels",
            "fast=kept",
        ],
    ),
    ("shape", [(100_003,), (3, 70_001)]),
)
def test_every_plan_gives_the_answer(plan: str, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    for op in ("sum", "argmax"):
        assert_close(wf.reduce(x, what=op, axis=-1, plan=plan, device="emulator"), reference(op, x, -1), op, x)


@pytest.mark.parametrize("op", ["sum", "max", "min", "prod"])
@pytest.mark.parametrize("shape", [(1 << 17,), (4096, 40)])
def test_atomics_are_exact_on_integers(op: str, shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(2).integers(-100, 100, shape).astype(np.int32)
    if op == "prod":
        with pytest.raises(ValueError, match=r"WF408.*finish=atomic is not exact for PROD"):
            wf.reduce(x, what=op, axis=0, plan="finish=atomic", device="emulator")
        return
    got = wf.reduce(x, what=op, axis=0, plan="finish=atomic", device="emulator")
    np.testing.assert_array_equal(got, getattr(np, op)(x, axis=0))


def test_nan_propagates_and_the_first_of_equals_wins() -> None:
    x = np.zeros(5000, np.float32)
    x[[1234, 4321]] = np.nan
    assert np.isnan(wf.max(x, device="emulator"))
    assert wf.argmax(x, device="emulator") == 1234
    assert wf.argmin(np.ones((3, 700), np.float32), 1, device="emulator").tolist() == [0, 0, 0]
    assert wf.max(np.full(9000, -np.inf, np.float32), device="emulator") == -np.inf
    assert np.signbit(wf.max(np.full(8193, -0.0, np.float32), device="emulator"))


def test_empty_arrays_have_the_identity_or_an_error() -> None:
    assert wf.sum(np.zeros((0,), np.int8), device="emulator") == 0
    assert wf.prod(np.zeros((3, 0), np.float32), 1, device="emulator").tolist() == [1, 1, 1]
    assert wf.max(np.zeros((0, 3), np.float32), 1, device="emulator").shape == (0,)
    assert np.isnan(wf.mean(np.zeros(0, np.float32), device="emulator"))
    text = "WF104: max of no elements has no value: axes (1,) of shape (3, 0)"
    with pytest.raises(ValueError, match=re.escape(text)):
        wf.max(np.zeros((3, 0), np.float32), 1, device="emulator")


def test_results_keep_dims_and_go_into_out() -> None:
    x = np.arange(24, dtype=np.float64).reshape(2, 3, 4)
    assert wf.sum(x, (0, 2), keepdims=True, device="emulator").shape == (1, 3, 1)
    out = np.empty(3)
    assert wf.sum(x, (0, 2), out=out, device="emulator") is out
    np.testing.assert_array_equal(out, x.sum((0, 2)))
    assert isinstance(wf.sum(x, device="emulator"), np.float64)


@wf.monoid(identity=(1.0, 0.0), commutative=False)
def AFFINE(a: Any, b: Any) -> Any:  # noqa: N802
    (s, t), (u, v) = a, b
    return s * u, t * u + v


@pytest.mark.parametrize("shape", [(70_000,), (64, 1000), (1000, 64), (3, 5, 7)])
def test_a_monoid_that_is_not_commutative_keeps_the_order(shape: tuple[int, ...]) -> None:
    """Composing x -> x * s + t in order; any swap of two elements changes the result."""
    rng = np.random.default_rng(3)
    x = rng.choice([-1.0, 1.0], shape)  # keeps every step exact

    def last(x: Any) -> Any:
        return wf.fold(AFFINE, x, x - 1)[1]

    for axis in range(len(shape)):
        rows = np.moveaxis(x, axis, -1)
        t = np.zeros(rows.shape[:-1])
        for i in range(rows.shape[-1]):
            t = t * rows[..., i] + (rows[..., i] - 1)
        np.testing.assert_array_equal(wf.reduce(x, what=last, axis=axis, device="emulator"), t)


def test_several_inputs_and_several_results() -> None:
    @wf.monoid(identity=(0.0, 0.0))
    def two(a: Any, b: Any) -> Any:
        return a[0] + b[0], a[1] + b[1]

    def both(x: Any, y: Any) -> Any:
        return wf.fold(two, x * y, x)

    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((2, 37, 501))
    dot, total = wf.reduce(x, y, what=both, axis=1, device="emulator")
    np.testing.assert_allclose(dot, (x * y).sum(1), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(total, x.sum(1), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("call", "text"), [
    (lambda: wf.sum(np.zeros(3), 1), "WF101: axis 1 is out of range for an array of rank 1: expected -1 to 0"),
    (lambda: wf.sum(np.zeros((3, 3)), (0, -2)), r"WF102: axis -2 is repeated in \(0, -2\)"),
    (lambda: wf.sum(np.zeros(3), 1.0), "WF103: axis must be an int"),
    (lambda: wf.sum(np.zeros(3, np.clongdouble)), "WF105: no rule for elements of type complex256"),
    (lambda: wf.sum(np.array(["a"])), "WF105"),
    (lambda: wf.sum(np.zeros(3), dtype="f33"), "(?s)WF105: .* f33: .* help: give one of these types"),
    (lambda: wf.sum(np.array([object()])), "WF105: no rule for elements of type object"),
    (lambda: wf.reduce(np.zeros(3), what="sums"), r"WF120: no reduction is called 'sums' \(did you mean sum"),
    (lambda: wf.sum(np.zeros(3), device="tpu"), "WF121: device cannot be 'tpu'"),
    (lambda: wf.reduce(np.zeros(3), np.zeros(3), what="sum"), r"WF124: sum takes 1 input array\(s\), got 2"),
    (lambda: wf.sum(np.zeros(3), out=[1, 2]), r"WF125: out holds 2 array\(s\): the reduction has 1 result"),
    (lambda: wf.sum(np.zeros(3), plan="warps=32,warps_kept=2"), "WF404: the plan needs 2048 threads a CTA: sm_90a"),
    (lambda: wf.reduce(what="sum"), r"WF124: a reduction takes at least 1 input array\(s\), got 0"),
    (lambda: wf.reduce(np.zeros(3), np.zeros(4), what=lambda x, y: wf.fold(wf.SUM, x * y)),
     r"WF126: the inputs do not broadcast to one shape: \(3,\), \(4,\)"),
    (lambda: wf.reduce(np.zeros(3), what="sum", correction=3), "WF127: .* no parameter 'correction': it takes dtype"),
    (lambda: wf.argmax(np.zeros(3), initial=0), "WF127: argmax takes no parameter 'initial': it takes none"),
    (lambda: wf.reduce(np.zeros(3), what="var", correction=[1]), "WF128: parameter 'correction' of var is a list"),
    (lambda: wf.compile("sum", (-4,)), r"WF129: a shape has whole sizes of at least 0, got \(-4,\)"),
    (lambda: wf.reduce(np.zeros(3), what=3), "WF130: cannot reduce with a int"),
    (lambda: wf.compile(lambda x: wf.fold(wf.SUM, x - wf.fold(wf.MAX, x)), (3, 4), axis=1),
     "WF213: <lambda> folds values with SUM that depend on the result of the fold with MAX"),
    (lambda: wf.reduce(np.zeros(3), what=lambda _: ()), "WF212: result 0 of <lambda> was never reduced"),
    (lambda: wf.compile("sum", (3.5,)), r"WF129: a shape has whole sizes of at least 0, got \(3.5,\)"),
    (lambda: wf.compile("sum", "8x8"), "WF129: a shape has whole sizes of at least 0, got 8x8"),
    (lambda: wf.compile("sum", np.zeros(300)), "(?s)WF129: .*, got an array\n.*help: .* pass x.shape"),
    (lambda: wf.compile("sum", 8), "WF129: a shape has whole sizes of at least 0, got 8"),
    (lambda: wf.compile("sum", (8,), ()), "WF124: a reduction takes at least 1 input"),
    (lambda: wf.reduce(np.zeros(3), what=[1]), "WF130: cannot reduce with a list"),
    (lambda: wf.reduce(np.zeros(3), what=dict), "WF130: cannot reduce with a type"),
    (lambda: wf.sum(np.zeros(3), plan={"vector": 1}), "WF131: plan is text, got a dict"),
    (lambda: wf.sum(np.zeros(3), plan="wraps=2"), "WF402: a plan has no field 'wraps'"),
    (lambda: wf.max(np.zeros(3), where=np.ones(3, bool)), r"(?s)WF133: max has no identity: .* give initial="),
    (lambda: wf.nanargmax(np.array([[1, np.nan], [np.nan, np.nan]]), 1),
     "WF134: nanargmax of no elements has no value: all elements of a result are NaN"),
    (lambda: wf.sum(np.array([1, np.nan]), nan="raise"), "WF135: the input of sum holds NaN"),
    (lambda: wf.sum(np.zeros(3), initial="a"), "WF136: initial='a' does not fit SUM: expected a value of type f64"),
    (lambda: wf.prod(np.zeros(3), accumulate="compensated"), "WF137: prod has no compensated form"),
    (lambda: wf.sum(np.zeros(3), nan="omit"), "WF138: nan cannot be 'omit': expected propagate or ignore or raise"),
    (lambda: wf.sum(np.zeros(3), determinism=None), "WF138: determinism cannot be None: expected run or portable"),
    (lambda: wf.sum(np.zeros((2, 3)), where=np.ones(2, bool)),
     r"WF139: where= has elements of type bool and shape \(2,\): expected bool, broadcastable to \(2, 3\)"),
    (lambda: wf.sum(np.zeros(3), where=np.ones((1, 3), bool)), r"WF139: .* shape \(1, 3\)"),
    (lambda: wf.sum(np.zeros(3), where=[1, 0, 1]), r"WF139: where= has elements of type i64 and shape \(3,\)"),
    (lambda: wf.var(np.zeros(3), correction="1"), "WF148: parameter 'correction' of var is '1': expected a float"),
    (lambda: wf.dot(np.zeros(3), np.zeros(4)), r"WF150: .* of one size, got shapes \(3,\) and \(4,\)"),
    (lambda: wf.dot(np.zeros((2, 2)), np.zeros((2, 2))), r"WF150: .* got shapes \(2, 2\) and \(2, 2\)"),
    (lambda: wf.vecdot(np.zeros(3), np.zeros(4)), r"WF126: the inputs do not broadcast to one shape: \(3,\), \(4,\)"),
    (lambda: wf.allclose(np.zeros(3), np.zeros(4)), "WF126"),
    (lambda: wf.reduce(np.zeros(3), what=lambda x, *, by: wf.fold(wf.SUM, x * by)), "WF151: <lambda> needs the para"),
    (lambda: wf.max(np.zeros(3, complex)), "WF225: c128 has no order"),
    (lambda: wf.var(np.zeros(3, np.complex64)), "WF225: c64 has no var"),
    (lambda: wf.reduce(np.zeros(3), what=lambda x: {"class": wf.fold(wf.SUM, x)}), "WF224: <lambda> names a result"),
    (lambda: wf.reduce(np.zeros(3), what=("sum", ["max"])), "WF130: cannot reduce with a tuple"),
    (lambda: wf.reduce(np.zeros(3), np.zeros(3), what=("dot", "sum")), r"WF124: sum takes 1 input array\(s\), got 2"),
])  # fmt: skip
def test_mistakes_are_coded_and_say_what_to_do(call: Any, text: str) -> None:
    with pytest.raises(wf.WarpfoldError, match=text) as caught:
        call()
    assert "help: " in str(caught.value)


@pytest.mark.parametrize("name", ["argmin", "argmax", "nanargmin", "nanargmax", "minmax", "ptp", "describe"])
def test_a_mask_that_may_leave_nothing_is_refused_without_advice_that_would_be_refused(name: str) -> None:
    x = np.arange(3.0)
    with pytest.raises(wf.WarpfoldError, match=f"WF133: {name} has no identity") as caught:
        getattr(wf, name)(x, where=x > 1)
    assert caught.value.remedy == "replace the elements that do not count"


def test_names_that_are_invalid_in_ptx_are_changed() -> None:
    x = np.arange(9.0)

    def größe(x: Any) -> Any:
        return wf.fold(wf.SUM, x)

    assert wf.reduce(x, what=lambda x: wf.fold(wf.SUM, x), device="emulator") == 36
    assert wf.reduce(x, what=größe, device="emulator") == 36


@pytest.mark.parametrize("name", ["i8", "i16", "u8", "u16"])
def test_narrow_integers_are_compared_with_their_sign(name: str) -> None:
    """Unoptimised LLVM compares a loaded byte as unsigned when it is compared for equality too."""
    t = dtype(name)
    for value in (t.lowest, t.highest, 0):
        x = np.array([value], t.numpy)
        assert wf.argmin(x, device="emulator") == 0
        assert wf.reduce(x, what=wf.MIN, device="emulator") == value
    x = np.arange(t.lowest, t.lowest + 200, dtype=np.int64).astype(t.numpy)
    with pytest.warns(wf.WarpfoldWarning, match="WF231"):
        wrapping = wf.reduce(x, what=lambda x: wf.fold(wf.SUM, x * x + x), device="emulator")
    assert wrapping == (x * x + x).sum()


# --- masks, initial values, NaN ---
@wf.monoid(identity=(0, 0), commutative=False, lift=lambda x: (1, x), finish=lambda _, x: x)
def LAST(a: Any, b: Any) -> Any:  # noqa: N802
    """The last element."""
    return a[0] | b[0], wf.where(b[0] > 0, b[1], a[1])


def masked(x: Array, axis: Any, mask: Any, op: str, **options: Any) -> None:
    """NumPy's ``where=`` for a function that has it in NumPy."""
    got = getattr(wf, op)(x, axis, where=mask, device="emulator", **options)
    np.testing.assert_allclose(got, getattr(np, op)(x, axis=axis, where=mask, **options), rtol=1e-12)


@pytest.mark.parametrize("mask", [
    np.arange(60).reshape(3, 4, 5) % 3 > 0, np.arange(5) > 2, np.arange(4)[:, None] != 1, np.ones((3, 1, 1), bool),
    np.zeros(5, bool), np.array(True), False, np.asfortranarray(np.arange(60).reshape(3, 4, 5) % 2 > 0)[:, ::-1],
], ids=lambda m: str(np.shape(m)))  # fmt: skip
def test_a_mask_is_broadcast_to_the_input(mask: Any) -> None:
    x = np.arange(60, dtype=np.int64).reshape(3, 4, 5)
    masked(x, (0, 2), mask, "sum")
    masked(x, 1, mask, "max", initial=-1, keepdims=True)


def test_rows_without_an_element_have_the_identity() -> None:
    x = np.random.default_rng(6).standard_normal((4, 300))
    mask = np.random.default_rng(7).integers(0, 2, x.shape).astype(bool)
    mask[1] = False
    for op in ("sum", "prod", "any", "all"):
        masked(x, 1, mask, op)
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
        masked(x, 1, mask, "mean")
    out = np.full((4, 1), 7.0)
    assert wf.sum(x, 1, where=mask, keepdims=True, out=out, device="emulator") is out
    np.testing.assert_allclose(out, x.sum(1, where=mask, keepdims=True), rtol=1e-12)
    assert wf.sum(x, where=True, device="emulator") == wf.sum(x, device="emulator")


def test_a_masked_users_monoid_keeps_its_order() -> None:
    x = np.random.default_rng(8).integers(-9, 9, (3, 2000))
    mask = np.random.default_rng(9).integers(0, 9, x.shape) == 0
    got = wf.reduce(x, what=LAST, axis=1, where=mask, device="emulator")
    np.testing.assert_array_equal(got, [row[m][-1] for row, m in zip(x, mask, strict=True)])


def test_reductions_begin_at_an_initial_value() -> None:
    x = np.arange(1, 7, dtype=np.int16).reshape(2, 3)
    for op in ("sum", "prod", "min", "max"):
        got = getattr(wf, op)(x, 1, initial=3, device="emulator")
        np.testing.assert_array_equal(got, getattr(np, op)(x, axis=1, initial=3))
    assert wf.max(x[:0], initial=-5, device="emulator") == -5
    s, t = wf.reduce(x, x, what=AFFINE, initial=(1, 2), device="emulator")
    expected = (1, 2)
    for v in x.ravel():
        expected = (expected[0] * int(v), expected[1] * int(v) + int(v))
    assert (s, t) == tuple(np.int16((e + 2**15) % 2**16 - 2**15) for e in expected)


def test_nan_propagates_is_ignored_or_is_an_error() -> None:
    x = np.random.default_rng(10).standard_normal((3, 700)).astype(np.float32)
    x[1, 5::7] = np.nan
    assert np.isnan(wf.sum(x, 1, device="emulator")).tolist() == [False, True, False]
    for op in ("sum", "min", "max", "mean", "argmax"):
        got = wf.reduce(x, what=op, axis=1, nan="ignore", device="emulator")
        np.testing.assert_array_equal(got, getattr(wf, f"nan{op}")(x, 1, device="emulator"))
        np.testing.assert_allclose(got, getattr(np, f"nan{op}")(x.astype(np.float64), axis=1), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(
        wf.vecdot(x, x, nan="ignore", device="emulator"), np.nansum(x.astype(np.float64) ** 2, 1), rtol=1e-5
    )
    np.testing.assert_allclose(wf.sum(x[::2], 1, nan="raise", device="emulator"), x[::2].sum(1), rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="WF135: the input of dot holds NaN"):
        wf.dot(x[0], x[1], nan="raise", device="emulator")


# --- several at once ---
def test_several_reductions_are_one_kernel_that_reads_once() -> None:
    what = (wf.SUM, "minmax", ("argmax", lambda x: wf.fold(AFFINE, x, x)[1]))
    ready = api.plan_for(what, (8, 900), "i64", axis=1)
    assert len(ready.program.reduces) == 1
    assert len(ready.program.inputs) == 1
    assert [k.role for k in wf.compile(what, (8, 900), "i64", axis=1).artifact.kernels[0].kernels] == ["main"]
    x = np.random.default_rng(11).integers(-9, 9, (8, 900))
    total, (low, high), (best, last) = wf.reduce(x, what=what, axis=1, device="emulator")
    np.testing.assert_array_equal(total, x.sum(1))
    np.testing.assert_array_equal([low, high], [x.min(1), x.max(1)])
    np.testing.assert_array_equal(best, x.argmax(1))
    np.testing.assert_array_equal(last, wf.reduce(x, what=what[2][1], axis=1, device="emulator"))
    out = [np.empty(8, np.int64) for _ in range(5)]
    found = wf.reduce(x, what=what, axis=1, out=out, device="emulator")
    assert found[1].max is out[2]
    np.testing.assert_array_equal(out[3], best)


def test_a_description_has_the_values_of_numpys_functions() -> None:
    x = np.random.default_rng(12).standard_normal((4, 1000))
    x[2, 7] = 0
    found = wf.describe(x, 1, device="emulator")
    for key, value in {
        "count": np.full(4, 1000), "nonzero": np.count_nonzero(x, 1), "min": x.min(1), "max": x.max(1),
        "argmin": x.argmin(1), "argmax": x.argmax(1), "mean": x.mean(1), "var": x.var(1), "std": x.std(1),
        "norm": np.linalg.norm(x, axis=1),
    }.items():  # fmt: skip
        np.testing.assert_allclose(getattr(found, key), value, rtol=1e-12, atol=1e-15, err_msg=key)
    assert len(found) == 10


# --- complex numbers, two inputs ---
@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_complex_arrays_reduce_as_in_numpy(name: str) -> None:
    rng = np.random.default_rng(13)
    z = (rng.standard_normal((6, 500)) + 1j * rng.standard_normal((6, 500))).astype(name)
    z[1, 3] = 0
    close: dict[str, Any] = {"rtol": 1e-4 if name == "complex64" else 1e-11, "atol": 1e-4}
    for x in (z, z.T, z[::-1, ::3], np.asfortranarray(z)):
        for op in ("sum", "mean", "any", "all", "count_nonzero"):
            got = getattr(wf, op)(x, 0, device="emulator")
            np.testing.assert_allclose(got, getattr(np, op)(x, axis=0), **close)
            assert np.asarray(got).dtype == getattr(np, op)(x, axis=0).dtype
    np.testing.assert_allclose(wf.prod(z[:, :20], 1, device="emulator"), z[:, :20].prod(1), **close)
    np.testing.assert_allclose(wf.norm(z, axis=1, device="emulator"), np.linalg.norm(z, axis=1), **close)
    np.testing.assert_allclose(wf.vecdot(z, z + 1, device="emulator"), np.vecdot(z, z + 1), **close)
    assert wf.array_equal(z, z.copy(), device="emulator")
    assert not wf.array_equal(z, z.conj(), device="emulator")
    out = np.empty((2, 6), name)[:, ::2]
    assert wf.sum(z[:2].reshape(2, 50, 10)[..., :3], 1, out=out, device="emulator") is out
    np.testing.assert_allclose(out, z[:2].reshape(2, 50, 10)[..., :3].sum(1), **close)


def test_two_arrays_are_broadcast_to_one_shape() -> None:
    x, y = np.arange(12.0).reshape(3, 4), np.arange(4.0)
    np.testing.assert_array_equal(wf.vecdot(x, y, device="emulator"), np.vecdot(x, y))
    np.testing.assert_array_equal(wf.vecdot(x, x, 0, device="emulator"), (x * x).sum(0))
    assert wf.dot(y, y, device="emulator") == 14
    assert wf.allclose(x, x + 1e-9, device="emulator")
    assert wf.allclose(x, x[:1], axis=1, device="emulator").tolist() == [True, False, False]
    assert not wf.array_equal(x, y, device="emulator"), "of other shapes"
    assert wf.array_equal(y[:0], y[:0], device="emulator")


LIBRARIES = [np.array, lambda v, t: np.asarray(v, t)[()], lambda v, t: np.array([v], t).reshape(())]


@pytest.mark.parametrize("of", LIBRARIES)
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int16, np.uint8, bool])
def test_a_number_may_be_an_array_of_rank_0(of: Any, kind: Any) -> None:
    """NumPy accepts it for ``initial=``; also in a tuple, and as a parameter of the user's program."""
    x = np.arange(6).astype(kind)
    start = of(1, kind)
    assert wf.sum(x, initial=start) == x.sum() + 1
    assert wf.max(x, initial=start) == max(x.max(), start)
    assert wf.reduce(x, lambda v, *, by: wf.fold(wf.SUM, v * by), by=of(2, np.int64)) == (x * np.int64(2)).sum()
    pair = wf.monoid(identity=(0.0, 0.0))(lambda a, b: (a[0] + b[0], a[1] + b[1]))
    one = np.ones(3, np.float32)
    found = wf.reduce(one, one, what=pair, initial=(of(1, kind), of(0, kind)))
    assert [float(v) for v in found] == [4.0, 3.0]


def test_a_number_may_be_a_tensor_of_rank_0() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    assert wf.sum(torch.ones(3), initial=torch.tensor(2.0)) == 5
    assert wf.sum(torch.ones(3, dtype=torch.int32), initial=torch.tensor(2)) == 5
    with pytest.raises(wf.WarpfoldError, match="WF136"):
        wf.sum(torch.ones(3, dtype=torch.int32), initial=torch.tensor(2.5))
