"""Softmax and its relatives beside their formulas, SciPy and PyTorch: axes, masks, biases, types, and special rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from library_programs import program, values, wide

from warpfold.compiler.dtypes import BF16, F16, F32, F64, dtype
from warpfold.compiler.errors import TraceError
from warpfold.compiler.program.library.programs.softmax import log_softmax, softmax, softmin

RNG = np.random.default_rng(25)
X = RNG.standard_normal((3, 4, 5)).astype(np.float32) * 4
INF, NAN = np.inf, np.nan
FUNCTIONS = {"softmax": softmax, "softmin": softmin, "log_softmax": log_softmax}


def formula(name: str, x: Any, bias: Any = None, *, axis: Any = -1, where: Any = None) -> Any:
    """What a function gives, in the type of ``x``."""
    logits = (-x if name == "softmin" else x) + (0 if bias is None else bias)
    logits = logits if where is None else np.where(where, logits, -INF)
    axes = tuple(range(x.ndim)) if axis is None else axis
    with np.errstate(all="ignore"):
        shifted = logits - logits.max(axis=axes, keepdims=True)
        total = np.exp(shifted).sum(axis=axes, keepdims=True)
        return shifted - np.log(total) if name == "log_softmax" else np.exp(shifted) / total


AXES = st.sampled_from([-1, 0, 1, None, (0, 2), (1, 2), (2, 0)])
SHAPES = st.tuples(*(st.integers(1, 6) for _ in range(3)))


@pytest.mark.parametrize("name", FUNCTIONS)
@given(axis=AXES, shape=SHAPES, biased=st.booleans(), masked=st.booleans(), seed=st.integers(0, 999))
def test_over_any_axes_with_bias_and_mask(
    name: str, axis: Any, shape: Any, biased: bool, masked: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape).astype(np.float32) * 10
    bias = rng.standard_normal(shape[1:]).astype(np.float16) if biased else None
    where = rng.random((shape[0], 1, shape[2])) < 0.7 if masked else None
    (found,) = values(FUNCTIONS[name], {"x": x, "bias": bias, "where": where}, axis=axis)
    expected = formula(name, *wide(x, bias), axis=axis, where=where)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_as_pytorch(name: str, axis: int) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    expected = getattr(torch.nn.functional, name)(torch.from_numpy(X).double(), dim=axis).numpy()
    np.testing.assert_allclose(values(FUNCTIONS[name], {"x": X}, axis=axis)[0], expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("axis", [None, -1, (0, 2)])
def test_as_scipy(name: str, axis: Any) -> None:
    special = pytest.importorskip("scipy.special", reason="SciPy is not installed")
    expected = getattr(special, name)(X.astype(np.float64), axis=axis)
    np.testing.assert_allclose(values(FUNCTIONS[name], {"x": X}, axis=axis)[0], expected, rtol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    "row", [[-INF, -INF], [INF, 1.0], [NAN, 1.0], [-INF, 1.0], [3e38, -3e38], [5.0], [2.0, 2.0, 2.0], [-3e38, -3e38]]
)
def test_special_rows_as_pytorch(name: str, row: list[float]) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = np.array(row, np.float32)
    expected = getattr(torch.nn.functional, name)(torch.from_numpy(x).double(), dim=-1).numpy()
    np.testing.assert_allclose(values(FUNCTIONS[name], {"x": x})[0], expected, rtol=1e-7, atol=1e-300)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_mask_leaves_out_counts_as_minus_infinity(name: str) -> None:
    x = np.array([[1, NAN, 2, INF], [1, 2, 3, 4]], np.float32)
    where = np.array([[True, False, True, False], [False] * 4])
    (found,) = values(FUNCTIONS[name], {"x": x, "where": where})
    left = -INF if name == "log_softmax" else 0.0
    np.testing.assert_allclose(found[0, [0, 2]], formula(name, x[0, [0, 2]].astype(np.float64)))
    assert (found[0, [1, 3]] == left).all()
    assert np.isnan(found[1]).all()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    ("given", "asked", "result", "computed"),
    [
        ("f16", None, F16, F32), ("bf16", None, BF16, F32), ("f32", None, F32, F32), ("f64", None, F64, F64),
        ("bf16", "float32", F32, F32), ("f16", "float64", F64, F64), ("f64", "float16", F16, F64),
        ("i32", None, F64, F64), ("u8", "float32", F32, F64), ("f8e4m3fn", None, F32, F32), ("bool", None, F64, F64),
    ],
)  # fmt: skip
def test_types(name: str, given: str, asked: Any, result: Any, computed: Any) -> None:
    x = RNG.integers(0, 2, (2, 3)).astype(dtype(given).numpy)
    found = program(FUNCTIONS[name], {"x": x}, dtype=asked)
    assert found.outputs[0].dtype == result
    assert {f.dtype for f in found.folds} == {computed}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_two_folds_of_one_row(name: str) -> None:
    assert len(program(FUNCTIONS[name], {"x": X, "bias": X[0], "where": X > 0}).folds) == 2


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (4,), (3, 1, 4)])
def test_biases_and_masks_stay_inside_of_the_array(name: str, shape: tuple[int, ...]) -> None:
    for operand, value in (("bias", np.ones(shape)), ("where", np.ones(shape, bool))):
        with pytest.raises(
            TraceError, match=rf"WF255: {operand} has shape .*, which does not broadcast to \(3, 4, 5\)"
        ):
            program(FUNCTIONS[name], {"x": X, operand: value})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_as_biases_and_masks(name: str) -> None:
    for where in (np.bool_(True), True):
        (found,) = values(FUNCTIONS[name], {"x": X}, bias=1.0, where=where)
        np.testing.assert_allclose(found, formula(name, X.astype(np.float64)), rtol=1e-5, atol=1e-6)
