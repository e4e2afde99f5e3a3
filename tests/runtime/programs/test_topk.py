"""The best elements along an axis against NumPy's stable sort: any layout, plan, type and k, on the emulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from access_picture import run_under
from covering import covering, some
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import warpfold as wf
from warpfold.compiler.errors import ArgumentError, TraceError, WarpfoldError
from warpfold.runtime.emulator.sanitizer import Sanitizer

RNG = np.random.default_rng(29)
TYPES = ("f4", "f2", "f8", "i1", "u2", "i4", "u4", "i8", "u8", "?")


def expected(x: Any, k: int, axis: int, *, largest: bool = True) -> tuple[Any, Any]:
    """Values and indices: of equal elements the first, and NaN greater than any number."""
    order = np.flip(np.argsort(np.flip(x, axis), axis, stable=True), axis) if largest else None
    found = x.shape[axis] - 1 - order if order is not None else np.argsort(x, axis, stable=True)
    indices = np.take(found, range(k), axis)
    return np.take_along_axis(x, indices, axis), indices


def assert_chosen(x: Any, k: int, axis: int = -1, *, largest: bool = True, **how: Any) -> None:
    values, indices = wf.topk(x, k, axis=axis, largest=largest, **how)
    wanted, places = expected(x, k, axis, largest=largest)
    assert (values.dtype, indices.dtype) == (x.dtype, np.int64)
    np.testing.assert_array_equal(indices, places)
    np.testing.assert_array_equal(values, wanted)


def mixed(t: str, *shape: int) -> Any:
    """Few different values, with the extremes of the type, so that many are equal."""
    x = RNG.integers(-3, 4, shape).astype(t)
    if x.dtype.kind == "f":
        return RNG.choice(np.array([*range(-3, 4), 0.3, -0.0, np.inf, -np.inf, np.nan], t), shape)
    if x.dtype.kind in "iu":
        x.flat[::7], x.flat[::11] = np.iinfo(t).min, np.iinfo(t).max
    return x


@pytest.mark.parametrize(("t", "k"), some([*((t, 3) for t in TYPES), ("f4", 1), ("f8", 1), ("f4", 16), ("f8", 5)], 5))
def test_any_type(t: str, k: int) -> None:
    for largest in (True, False):
        assert_chosen(mixed(t, 2, 50), k, largest=largest)
    assert_chosen(mixed(t, 40, 3), k, 0)


LAYOUTS = {
    "rows": lambda: (mixed("f4", 3, 600), 1),
    "odd rows": lambda: (mixed("f2", 3, 1001), 1),
    "columns": lambda: (mixed("f4", 600, 40), 0),
    "between": lambda: (mixed("i4", 2, 150, 20), 1),
    "turned": lambda: (mixed("f4", 2, 90, 30).transpose(2, 0, 1), 2),
    "apart": lambda: (mixed("f4", 3, 700)[:, ::2], 1),
    "backwards": lambda: (mixed("f4", 3, 300)[:, ::-1], 1),
    "broadcast": lambda: (np.broadcast_to(mixed("f4", 300), (4, 300)), 0),
    "off": lambda: (mixed("f4", 1205)[1:].reshape(4, 301), 1),
    "one row": lambda: (mixed("f4", 20000), 0),
}


@pytest.mark.parametrize("name", some(LAYOUTS, 5))
def test_any_layout(name: str) -> None:
    x, axis = LAYOUTS[name]()
    assert_chosen(x, min(5, x.shape[axis]), axis)


@pytest.mark.parametrize("finish", ["last_block", "two_kernels"])
def test_ctas_share_a_row(finish: str) -> None:
    """Lists meet in all stages; the sanitizer watches."""
    tool, x = Sanitizer(), mixed("f4", 9000)
    run_under(tool, lambda: assert_chosen(x, 6, plan=f"finish={finish},warps=2,coarsening=1"))
    assert tool.accesses
    assert not list(tool.findings)


@pytest.mark.parametrize("finish", ["last_block", "two_kernels"])
def test_ctas_share_a_row_whose_warps_have_lists(finish: str) -> None:
    """Lanes have met where the walk ends; partial states are lists, which the last CTA walks in the same way."""
    x, plan = mixed("i4", 20000), f"warps=1,coarsening=64,finish={finish}"
    stages = wf.topk.compile((x.shape, "i32"), axis=0, k=4, plan=plan).stages
    found = stages[1].ir.count("warp = true"), stages[1].ir.count("fold.warp_reduce")
    assert found == ((2, 0) if finish == "last_block" else (1, 1))
    assert_chosen(x, 4, plan=plan)


ROWS = {
    "rising": lambda t, n: np.arange(n).astype(t),
    "few are greater": lambda t, n: (RNG.permutation(n) % 60 == 0).astype(t),
    "rising by few": lambda t, n: (np.arange(n) // 500).astype(t),
    "in no order": lambda t, n: RNG.permutation(n).astype(t),
}


@covering(("name", ROWS), (("t", "k", "n"), [("i4", 4, 3200), ("f4", 9, 7000), ("f2", 4, 6400)]))
def test_a_bound_of_a_warp_leaves_nothing_out(name: str, t: str, k: int, n: int) -> None:
    """Elements of 32 and of 16 bits, whose keys have 64 and 32: most or none are below the bound, or many are equal."""
    x = np.stack([*(ROWS[name](t, n) for _ in range(6)), mixed(t, n)])
    assert_chosen(x, k, plan="warps=1,cluster=1")


@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_arrays_of_any_kind(data: Any) -> None:
    t = data.draw(st.sampled_from(TYPES))
    x = data.draw(arrays.arrays(t, arrays.array_shapes(min_dims=1, max_dims=3, max_side=20)))
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    k = data.draw(st.sampled_from([n for n in (1, 2, 7) if n <= x.shape[axis]]))
    assert_chosen(x, k, axis, largest=data.draw(st.booleans()))


def test_in_a_program() -> None:
    """Lists are values of a program like others."""

    @wf.program
    def softmax_of_best(x: Any) -> Any:
        values, indices = wf.topk(x * 2, 3)
        return wf.softmax(values), indices

    x = RNG.standard_normal((4, 90)).astype(np.float32)
    found, places = softmax_of_best(x)
    wanted, indices = expected(x * 2, 3, -1)
    np.testing.assert_array_equal(places, indices)
    np.testing.assert_allclose(found.sum(-1), 1, 1e-6)
    np.testing.assert_allclose(found, np.exp(wanted) / np.exp(wanted).sum(-1, keepdims=True), 1e-5)


def test_results_in_place() -> None:
    x = RNG.standard_normal((4, 30)).astype(np.float32)
    out = np.empty((4, 6), np.float32)[:, ::2], np.empty((4, 3), np.int64)
    found = wf.topk(x, 3, out=out)
    assert found.values is out[0]
    np.testing.assert_array_equal(out[1], expected(x, 3, -1)[1])


X = np.ones((3, 30), np.float32)
MISTAKES: dict[str, tuple[str, type[WarpfoldError], Any, str]] = {
    "too many": ("WF280", TraceError, lambda: wf.topk(X, 17), "got k=17: expected an integer from 1 to 16"),
    "more than there are": ("WF280", TraceError, lambda: wf.topk(X, 4, axis=0), "1 to 3, as the axis has 3 elements"),
    "none": ("WF280", TraceError, lambda: wf.topk(X, 0), "got k=0: expected"),
    "not given": ("WF280", TraceError, lambda: wf.topk(X), "got k=None: expected"),
    "a float": ("WF280", TraceError, lambda: wf.topk(X, 2.0), "got k=2.0: expected"),
    "an array": ("WF280", TraceError, lambda: wf.topk(X, np.array(2)), "got k=an array: expected"),
    "no axis": ("WF256", TraceError, lambda: wf.topk(X, 2, axis=2), "axis 2 is not an axis of x"),
    "axes": ("WF292", TraceError, lambda: wf.topk(X, 2, axis=(0, 1)), "topk goes along one axis"),
    "a flag": ("WF138", ArgumentError, lambda: wf.topk(X, 2, largest="no"), "largest cannot be 'no': expected True or"),
    "a number": ("WF292", TraceError, lambda: wf.topk(np.float32(3), 1), "got axis=-1 for an array of rank 0"),
    "complex": ("WF268", TraceError, lambda: wf.topk(X.astype(complex), 2), "compute with real numbers"),
    "gradient": ("WF901", TraceError, lambda: wf.vjp(lambda x: wf.topk(x, 2)[0])(X[:, :2], X), "bitcast has no"),
    "out": ("WF108", ArgumentError, lambda: wf.topk(X, 2, out=(X, X)), "out has shape"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    code, kind, call, text = MISTAKES[name]
    with pytest.raises(kind, match=code) as e:
        call()
    assert text in e.value.message


def test_more_elements_have_a_remedy() -> None:
    with pytest.raises(TraceError) as e:
        wf.topk(X, 20)
    assert "torch.topk" in e.value.remedy
