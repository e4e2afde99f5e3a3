"""docs/semantics.md: programs of arrays."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from meanings import BF16, F32, F64, INF, NAN, f32, normal

import warpfold as wf
from warpfold.commands.checking.array_values import evaluate
from warpfold.compiler.dtypes import dtype
from warpfold.compiler.program.arrays.trace import ArrayArg, trace_arrays
from warpfold.compiler.program.rewrites.online import online


def run_program(function: Any, *arrays: Any) -> Any:
    return wf.program(function)(*arrays, device="emulator")


def test_programs_broadcast() -> None:
    x, row, column = normal(3, 4), normal(4), normal(3, 1)
    assert np.array_equal(run_program(lambda x, r, c: x * r + c, x, row, column), x * row + column)
    with pytest.raises(wf.WarpfoldError, match="WF254"):
        run_program(lambda x, c: x * c, x, column[:, 0])


def test_numbers_beside_arrays() -> None:
    x = normal(3, 4)
    assert run_program(lambda x: x * 2 / x.shape[0] + 0.5, x).dtype == F32
    assert run_program(lambda x, t: x * t, x, np.array(2.0)).dtype == F64
    assert run_program(lambda x: x * np.float64(2), x).dtype == F64


def test_halves_in_programs() -> None:
    x = f32(1, 2.0**-9, -1).astype(BF16)
    assert run_program(lambda x: wf.sum(x + 0) - wf.sum(x * 0 + 1) + 3, x) == 2.0**-9
    assert run_program(lambda x: wf.sum(wf.cast(x + 1, x.dtype) - 1), x) == 0
    assert run_program(lambda x: wf.sum((x + 1).astype(x.dtype) - 1), x) == 0


def test_8_bit_floats_as_results() -> None:
    x = f32(1, 1.0625, 1.1875, 1e9, -INF, NAN)
    found = run_program(lambda x: wf.cast(x, "float8_e4m3fn"), x)
    assert found.dtype == ml_dtypes.float8_e4m3fn
    assert [str(float(v)) for v in found] == ["1.0", "1.0", "1.25", "448.0", "-448.0", "nan"]
    assert run_program(lambda x: x + x, found[:2]).dtype == F32


def test_sizes_are_values() -> None:
    def by_value(x: Any) -> Any:
        return x / x.shape[0]

    def by_decision(x: Any) -> Any:
        return x / math.sqrt(x.shape[0]) if x.shape[0] > 2 else x

    value, decision = wf.program(by_value), wf.program(by_decision)
    for n in (2, 3, 4):
        x = normal(n)
        assert np.allclose(value(x), x / n)
        assert np.allclose(decision(x), x / math.sqrt(n) if n > 2 else x)
        specialised = [trace_arrays(f, [ArrayArg(wf.dtype(F32), (n,))], {}).sizes for f in (by_value, by_decision)]
        assert specialised == [(), ((0, 0, n),)]


def test_order_in_programs() -> None:
    @wf.monoid(identity=(1, 0), commutative=False)
    def digits(a: Any, b: Any) -> Any:
        return a[0] * b[0], a[1] * b[0] + b[1]

    def number(x: Any) -> Any:
        return wf.fold(digits, wf.cast(x * 0 + 10, "i64"), wf.cast(x, "i64"))[1]

    x = np.arange(6).reshape(2, 3)
    assert [int(v) for v in run_program(lambda x: (number(x), number(x.T)), x)] == [12345, 31425]


def test_assignment_in_programs() -> None:
    def clipped(x: Any) -> Any:
        y = x * 1
        y[y > 0] = 7
        return y

    x = normal(3, 4)
    assert np.array_equal(run_program(clipped, x), np.where(x > 0, 7, x))
    for array in (lambda x: x, lambda x: (-x).T):
        with pytest.raises(wf.WarpfoldError, match="WF259"):
            run_program(lambda x, array=array: array(x).__setitem__(array(x) > 0, 7), x)


def test_elements_at_positions() -> None:
    x, places = normal(3, 4), np.array([[1, 0], [-1, -4], [4, -5]])
    found = run_program(lambda x, i: x.__array_namespace__().take_along_axis(x, i, axis=1), x, places)
    assert found.tolist() == [[x[0, 1], x[0, 0]], [x[1, 3], x[1, 0]], [0, 0]]
    same = run_program(lambda x, i: x.__array_namespace__().take(x, i, axis=0), x, np.array([2, -3, 3]))
    assert same.tolist() == [x[2].tolist(), x[0].tolist(), [0] * 4]


def test_sums_of_one_element() -> None:
    def one(x: Any, t: Any) -> Any:
        numbers = x.__array_namespace__().arange(x.shape[1])
        return wf.sum(wf.where(numbers == t[:, None], wf.exp(x), 0), axis=1)

    x = normal(5, 4)
    x[:, 1], x[:, 2] = np.nan, np.inf
    found = run_program(one, x, np.array([0, 1, 2, -1, 4]))
    np.testing.assert_allclose(found, [np.exp(x[0, 0]), np.nan, np.inf, 0, 0], rtol=1e-6)


def test_constant_results() -> None:
    def constants(x: Any) -> Any:
        xp = x.__array_namespace__()
        return xp.ones_like(x), xp.arange(x.shape[1]), wf.argmax(x[None], axis=0)

    ones, places, first = run_program(constants, normal(2, 3))
    assert (ones.tolist(), places.tolist(), first.tolist()) == ([[1] * 3] * 2, [0, 1, 2], [[0] * 3] * 2)


def test_no_complex_programs() -> None:
    with pytest.raises(wf.WarpfoldError, match="WF268: z is of type c64"):
        run_program(lambda z: z, normal(3).astype(np.complex64))


def test_means_beside_infinities() -> None:
    """As one fold and as two, which kernels have where rows are read once and where they wait on chip."""

    def moments(x: Any) -> Any:
        d = x - wf.mean(x, axis=1, keepdims=True)
        return wf.sum(d * d, axis=1), wf.mean(x, axis=1), wf.sum(x, axis=1)

    x = np.array([[1.0, INF, 2.0], [1.0, 2.0, 6.0]])
    program = trace_arrays(moments, [ArrayArg(dtype(x.dtype), x.shape)], {})
    for made in (program, online(program, lambda *_: True)):
        for found in evaluate(made, [x]):
            assert np.isfinite(found).tolist() == [False, True]
