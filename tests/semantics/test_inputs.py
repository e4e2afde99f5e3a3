"""docs/semantics.md: inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from meanings import F32, F64, f32, on_emulator, reduce, refused, total

import warpfold as wf


def test_any_rank() -> None:
    assert total(F32(3)) == 3
    x = np.arange(2**6, dtype=F64).reshape((2,) * 6)
    assert total(x) == x.sum()
    np.testing.assert_array_equal(total(x, (0, 2, -1)), x.sum((0, 2, -1)))


def test_no_axis() -> None:
    np.testing.assert_array_equal(total(f32(1, 2), ()), [1, 2])


def test_any_strides() -> None:
    x = np.arange(60.0).reshape(3, 4, 5)
    for v in (x.T, x[::-1, ::2], x[:, 1:3, ::-3], np.broadcast_to(x, (7, 3, 4, 5)), x.transpose(1, 2, 0)[..., None]):
        np.testing.assert_array_equal(total(v, (0, -1)), v.sum((0, -1)))


def test_arrays_broadcast() -> None:
    x, y = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    np.testing.assert_array_equal(on_emulator("vecdot")(x, y), (x * y).sum(-1))
    assert on_emulator("allclose")(x, x[:1]) == np.allclose(x, x[:1])
    refused("WF126", "vecdot", x, np.arange(2.0))


def test_vecdot_stretches() -> None:
    assert on_emulator("vecdot")(np.arange(4.0), np.array([2.0])) == 12
    with pytest.raises(ValueError, match="mismatch"):
        np.vecdot(np.arange(4.0), np.array([2.0]))


def test_byte_order() -> None:
    assert total(np.arange(5, dtype=">f4")) == 10


def test_unaligned_elements_are_refused() -> None:
    refused("WF106", "sum", np.zeros(9, np.uint8)[1:].view(F32))


def test_python_numbers() -> None:
    for value in ([1, 2], [1.5, 2], [True], 7, [[1], [2]]):
        got, wanted = total(value), np.sum(np.asarray(value))
        assert got == wanted
        assert got.dtype == wanted.dtype


def test_lists_that_lose_digits() -> None:
    for value in ([2**63, -1], [2**53 + 1, 0.5]):
        with pytest.raises(wf.WarpfoldError, match="WF114"):
            total(value)
    assert total([2**53, 0.5]) == 2.0**53


def test_missing_values() -> None:
    for value in (np.ma.array([1, 2], mask=[0, 1]), [np.ma.masked, 1]):
        with pytest.raises(wf.WarpfoldError, match="WF114"):
            total(value)
    assert np.isnan(total([1, np.nan]))
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    for value in (pandas.Series([1, None], dtype="Int64"), pandas.Categorical([1, 2])):
        with pytest.raises(wf.WarpfoldError, match="WF114"):
            total(value)
    assert total(pandas.Series([1, 2], dtype="Int64")) == 3


def test_arrays_without_memory() -> None:
    x = np.ones(2, np.float32)
    nothing = {"data": (0, False), "shape": (2,), "typestr": "<f4", "version": 3}
    holder = type("Holder", (), {"__array_interface__": nothing})()
    for call in (lambda: total(holder), lambda: total(x, (), out=holder), lambda: total(x, where=holder)):
        with pytest.raises(wf.WarpfoldError, match="WF166"):
            call()
    empty = type("Empty", (), {"__array_interface__": nothing | {"shape": (0,)}})()
    assert total(empty) == 0


class Settings:
    scale = 2.0


def test_values_from_outside() -> None:
    factor, factors, weights, many = 2.0, [2.0], np.array([2.0]), np.full(1 << 14, 2.0)
    read = (lambda x: x * factor, lambda x: x * factors[0], lambda x: x * Settings.scale, lambda x: x * weights[0],
            lambda x: x * many[-1])  # fmt: skip
    scaled = [wf.monoid(identity=0.0, lift=f)(lambda a, b: a + b) for f in read]
    x = f32(1, 2, 4)
    assert [reduce(x, what=s) for s in scaled] == [14] * 5
    factor, factors[0], Settings.scale, weights[0], many[-1] = [3.0] * 5
    assert [reduce(x, what=s) for s in scaled] == [21] * 5
    Settings.scale = 2.0


def test_code_from_outside() -> None:
    def helper(x: Any) -> Any:
        return x * 2.0

    x, program = f32(1, 2, 4), wf.program(lambda x: helper(x))
    assert program(x).tolist() == [2, 4, 8]
    helper.__code__ = (lambda x: x * 3.0).__code__
    assert program(x).tolist() == [3, 6, 12]


def test_parameters_by_type_and_bits() -> None:
    @wf.program
    def scaled(x: Any, *, by: Any) -> Any:
        return x * (by.scale if isinstance(by, type) else by[0])

    x = np.array([1, 2], np.int32)
    assert [scaled(x, by=by).dtype for by in ((2,), (2.0,), (2,))] == [np.int32, np.float64, np.int32]
    assert [bool(np.signbit(scaled(x, by=by)[0])) for by in ((0.0,), (-0.0,))] == [False, True]
    assert scaled(x, by=Settings).tolist() == [2, 4]
    Settings.scale = 3.0
    assert scaled(x, by=Settings).tolist() == [3, 6]
    Settings.scale = 2.0


def test_computed_names() -> None:
    read = (lambda x: x * getattr(Settings, "sc" + f"al{chr(101)}"),)
    scaled = [wf.monoid(identity=0.0, lift=f)(lambda a, b: a + b) for f in read]
    x = f32(1, 2, 4)
    assert [reduce(x, what=s) for s in scaled] == [14]
    Settings.scale = 3.0
    assert [reduce(x, what=s) for s in scaled] == [14]
    Settings.scale = 2.0
