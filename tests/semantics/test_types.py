"""docs/semantics.md: types."""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from meanings import (
    BF16,
    F16,
    F32,
    F64,
    INF,
    NAN,
    f32,
    f64,
    greatest,
    normal,
    on_emulator,
    reduce,
    refused,
    total,
)

import warpfold as wf
from warpfold.commands.requests import inputs


def test_integers_widen() -> None:
    assert total(np.full(300, 100, np.int8)) == 30_000
    assert total(np.full(3, 2**32 - 1, np.uint32)).dtype == np.uint64
    assert total(np.full(300, True)) == 300


def test_halves_are_rounded_once() -> None:
    for dtype in (F16, BF16):
        ones = np.ones(5000, dtype)
        assert total(ones) == np.array(5000, F32).astype(dtype)  # one by one f16 stays at 2048, bf16 at 256
        x = normal(100, dtype=dtype)
        assert total(x) == total(x.astype(F32)).astype(dtype)


def test_halves_in_tensor_programs() -> None:
    x = np.array([300, 0.5], F16)
    got = reduce(x, what=lambda x: wf.cast(wf.fold(wf.MAX, x * x), "f32"))
    assert got == 90_000  # as an f16, 300 squared is infinite
    for number in (0.1, 1 / 3):
        y = np.array([number, 2], F16)
        assert reduce(y, what=lambda y, number=number: wf.fold(wf.SUM, wf.cast(y == number, "i32"))) == 1


def test_moments_of_integers() -> None:
    x = np.array([1, 2, 4], np.int8)
    for name in ("mean", "var", "std", "norm", "logsumexp"):
        got = on_emulator(name)(x)
        assert got.dtype == F64
        assert got == pytest.approx(on_emulator(name)(x.astype(F64)), rel=1e-15)


def test_dtype_converts_elements() -> None:
    x = f64(1.7, 1.7)
    assert total(x, dtype="i32") == np.sum(x, dtype=np.int32) == 2
    assert total(f32(1e8, 1, -1e8), dtype="f64") == 1
    for x in (f64(0.5, 0.5), f64(0.5, -0.5), f64(NAN), f64(0, -0.0), f64(), np.array([-1, 1]), np.array([0, 256])):
        for name in ("sum", "prod", "mean") if len(x) else ("sum", "prod"):
            assert on_emulator(name)(x, dtype=bool) == getattr(np, name)(x, dtype=bool), (name, x)


def test_floats_saturate() -> None:
    for dtype in (F32, F64):
        got = [int(total(np.array([value], dtype), dtype="i64")) for value in (1e30, INF, -1e30, NAN)]
        assert got == [2**63 - 1, 2**63 - 1, -(2**63), 0]
        assert total(np.array([-1], dtype), dtype="u64") == 0


def test_monoids_accumulate_widely() -> None:
    add = wf.monoid(identity=0)(lambda a, b: a + b)
    square = wf.monoid(identity=0, lift=lambda x: x * x)(lambda a, b: a + b)
    for dtype in (bool, np.int8, np.uint16, np.int32, np.uint64, F16, BF16, F32, F64):
        x = np.full(1000, 100).astype(dtype)
        wide = np.sum(x, dtype=F32 if dtype in (F16, BF16) else None)
        assert (reduce(x, what=add), reduce(x, what=add).dtype) == (wide, wide.dtype)
        assert (reduce(x, what=square), reduce(x, what=square).dtype) == (1000 * float(x[0]) ** 2, wide.dtype)


def test_elements_of_a_monoid() -> None:
    seen = []

    @wf.monoid(identity=lambda t: t.lowest, has_identity=False)
    def larger(a: Any, b: Any) -> Any:
        seen.append(a.dtype.name)
        return wf.maximum(a, b)

    for dtype, register in ((np.int8, "i32"), (np.uint16, "u32"), (F16, "f32"), (BF16, "f32"), (np.int64, "i64")):
        assert reduce(np.array([1, 2], dtype), what=larger).dtype == np.dtype(dtype)
        assert register in seen
        seen.clear()


def test_chosen_types_stay() -> None:
    short = wf.monoid(identity=0, lift=lambda x: wf.cast(x, "int16") * 2)(lambda a, b: a + b)
    for dtype in (np.uint8, np.int16, np.int32):
        got = reduce(np.full(1000, 100, dtype), what=short)
        assert (got, got.dtype) == (np.int64(200_000).astype(np.int16), np.int16)
    assert reduce(np.full(3, 100, np.uint8), what=lambda x: wf.fold(wf.SUM, wf.cast(x, np.uint8))) == np.uint8(44)


def test_narrow_arithmetic_is_warned_of() -> None:
    x = np.full(1000, 100, np.uint8)
    assert reduce(x, what=lambda x: wf.fold(wf.SUM, x)) == 100_000
    with pytest.warns(wf.WarpfoldWarning, match="WF231"):
        assert reduce(x, what=lambda x: wf.fold(wf.SUM, x * x)) == np.sum(x * x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert reduce(x, what=lambda x: wf.fold(wf.SUM, wf.cast(x, "uint64") * x)) == 10_000_000


def test_accumulate_in_another_type() -> None:
    x = f32(1e8, 1, -1e8)
    assert total(x) == 0
    assert total(x, accumulate="f64") == 1
    assert total(x, accumulate="f64").dtype == F32


def test_names_of_types() -> None:
    x = np.full(3, 100, np.uint8)
    for name, wanted in (("int64", 300), ("f32", 300), (np.int8, 44), ("bfloat16", 300), ("half", 300), (float, 300)):
        assert total(x, dtype=name) == wanted
        assert total(x, dtype=name).dtype == wf.dtype(name).numpy
    assert total(x, accumulate="float64") == 300


def test_names_with_two_readings() -> None:
    for name in ("i8", "f8", "u4", "f16", "c16"):
        refused("WF160", "sum", np.full(3, 100), dtype=name)
        refused("WF160", "sum", np.full(3, 100), accumulate=name)
    assert inputs.dtypes_of("i8,f16", 2) == (wf.dtype("int8"), wf.dtype("float16"))
    assert inputs.params_of(("dtype=i8",)) == {"dtype": wf.dtype("int8")}


def test_promotion() -> None:
    for a, b in ((np.int8, F16), (np.int32, F32), (np.uint8, np.int8), (np.uint64, np.int64), (F32, np.complex64)):
        x, y = np.array([1, 2], a), np.array([3, 4], b)
        got = on_emulator("vecdot")(x, y)
        assert got == 11
        assert got.dtype == np.result_type(a, b)


def test_promotion_of_bf16() -> None:
    for other, expected in (
        (np.int8, BF16), (np.uint8, BF16), (F16, F32), (np.int16, F32), (np.int32, F64), (np.int64, F64),
    ):  # fmt: skip
        got = on_emulator("vecdot")(np.array([1, 2], BF16), np.array([3, 4], other))
        assert got.dtype == np.dtype(expected)
        assert got == 11


@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_eight_bit_floats(dtype: Any) -> None:
    codes = np.arange(256, dtype=np.uint8).view(dtype)
    got = greatest(codes[:, None], 1)
    np.testing.assert_array_equal(got, codes.astype(F32))
    np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(codes.astype(F32)[got == 0]))


def test_eight_bit_results() -> None:
    x = np.ones(3, ml_dtypes.float8_e5m2)
    assert total(x).dtype == F32
    rounded = total(f32(1, 1.125), dtype="f8e5m2")
    assert (rounded.dtype, float(rounded)) == (ml_dtypes.float8_e5m2, 2)
