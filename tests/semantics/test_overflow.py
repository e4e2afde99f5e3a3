"""docs/semantics.md: infinity and overflow."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from meanings import BF16, F16, F32, F64, INF, NAN, f32, f64, greatest, normal, on_emulator, product, reduce, total

import warpfold as wf


def test_infinities() -> None:
    assert np.isnan(total(f32(INF, -INF)))
    assert np.isnan(product(f32(0, INF)))
    assert np.isnan(on_emulator("ptp")(f32(INF, INF)))
    assert total(f32(INF, 1)) == INF
    assert greatest(f32(-INF, -INF)) == -INF


def test_moments_of_infinity() -> None:
    assert np.isnan(on_emulator("var")(f32(INF, 1)))
    x = np.where(np.eye(9), np.float16(INF), np.float16(1))
    assert np.isnan(on_emulator("var")(x[:, :3], 1)[:3]).all()
    assert on_emulator("mean_var")(f32(INF, 1, 2)).mean == INF
    assert on_emulator("norm")(f32(-INF, 1)) == INF


def test_variance_of_great_elements() -> None:
    for name in ("var", "std"):
        assert on_emulator(name)(f32(2e38, -2.5e38)) == INF
        assert on_emulator(name)(f32(*[3e38, -3e38] * 50)) == INF
        assert on_emulator(name)(f32(*[3e38] * 50)) == 0
    assert on_emulator("var")(f64(-1.5e308, 1.5e308)) == INF


def test_logsumexp_of_infinity() -> None:
    assert on_emulator("logsumexp")(f32(INF, -INF, 1)) == INF
    assert on_emulator("logsumexp")(f32(-INF, -INF)) == -INF
    assert on_emulator("logsumexp")(f32(-INF, 3)) == 3


def test_floats_overflow() -> None:
    assert total(f32(3e38, 3e38)) == INF
    assert product(f32(-3e38, 3e38)) == -INF


def test_partial_results_overflow() -> None:
    x = f32(3e38, 3e38, -3e38, -3e38)
    assert not np.isfinite(total(x))
    assert total(x, accumulate="f64") == 0
    numbers = np.arange(400, dtype=F32)
    with np.errstate(over="ignore", invalid="ignore"):
        assert np.prod(numbers) == 0
        assert np.isnan(np.prod(numbers[::-1]))  # NumPy multiplies from left to right
    assert np.isnan(product(numbers))
    assert product(np.arange(40, dtype=F32), accumulate="f64") == 0


def test_a_zero_beside_a_product() -> None:
    def product_or_zero(x: Any) -> Any:
        zero = wf.fold(wf.ANY, x == 0) & wf.fold(wf.ALL, abs(x) < INF)
        return wf.where(zero, 0.0, wf.fold(wf.PROD, x))

    assert reduce(np.arange(400, dtype=F32), what=product_or_zero) == 0
    assert reduce(f32(1, 2, 3), what=product_or_zero) == 6
    for odd in (INF, NAN):
        assert np.isnan(reduce(f32(0, odd), what=product_or_zero))


def test_halves_overflow_at_the_end() -> None:
    for dtype, large in ((F16, 6e4), (BF16, 3e38)):
        x = np.array([large, large, -large], dtype)
        assert (total(x) == x[0]) == (dtype is F16)  # bf16 reaches as far as f32
        assert total(x[:2]).astype(F64) == INF


def test_integers_wrap() -> None:
    assert total(np.array([2**63 - 1, 1])) == -(2**63)
    assert total(np.array([2**64 - 1, 2], np.uint64)) == 1
    assert product(np.array([2**32, 2**32])) == 0


def test_narrow_integers_wrap() -> None:
    x = np.array([-128, 127], np.int8)
    assert on_emulator("ptp")(x) == np.ptp(x) == -1
    y = np.full(3, 100, np.int8)
    assert on_emulator("dot")(y, y) == np.dot(y, y) == 48


def test_dtype_keeps_low_bits() -> None:
    assert total(np.array([200, 100]), dtype="uint8") == 44


def test_mean_overflows() -> None:
    assert on_emulator("mean")(f32(3e38, 3e38)) == INF
    assert on_emulator("mean")(f32(3e38, 3e38), accumulate="f64") == F32(3e38)


def test_mean_beside_a_variance() -> None:
    for x in (f32(3e38, 3e38), f32(3e38, 3e38, 3e38, -3e38)):
        for name in ("mean_var", "describe"):
            assert on_emulator(name)(x).mean == pytest.approx(x.mean(dtype=F64))


def test_orders_by_name() -> None:
    x = normal(2, 5)
    for call in (on_emulator("norm"), wf.program(lambda x, *rest: wf.norm(x, *rest))):
        for rest in ((1,), (1, 0), (None,)):
            with pytest.raises(
                ValueError, match=r"WF176: norm got \d .*: expected x\n.*\n.*ord=2 for the order, axis=1"
            ):
                call(x, *rest)
    for rest in ((0,), (1e-5, 1e-8)):
        with pytest.raises(
            ValueError, match=r"WF176: allclose got .*: expected x y\n.*\n.*rtol=1e-5, atol=1e-8, axis=1"
        ):
            on_emulator("allclose")(x, x, *rest)
    assert on_emulator("norm")(x, axis=1).shape == (2,)


def test_norm_squares() -> None:
    for value, wanted in ((1.9e19, INF), (1.8e19, 1.8e19), (1e-23, 0)):
        with np.errstate(over="ignore"):
            for got in (on_emulator("norm")(f32(value)), np.linalg.norm(f32(value))):
                assert got == pytest.approx(wanted)


def test_norm_squares_in_f64() -> None:
    assert on_emulator("norm")(f32(3e30, 4e30), accumulate="f64") == F32(5e30)
    assert on_emulator("norm")(f32(3e-30, 4e-30), accumulate="f64") == F32(5e-30)


def test_deviations_are_squared() -> None:
    x = f32(-1e20, 1e20)
    assert on_emulator("std")(x) == INF
    assert on_emulator("std")(x, accumulate="f64") == F32(1e20)
    assert on_emulator("var")(x, dtype="f64") == pytest.approx(1e40)


@pytest.mark.parametrize("dtype", [F16, BF16, F32, F64, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_denormals_are_kept(dtype: Any) -> None:
    tiny = ml_dtypes.finfo(dtype).smallest_subnormal
    x = np.array([tiny, tiny], dtype)
    assert total(x).astype(F64) == 2 * tiny.astype(F64)
    assert greatest(x).astype(F64) == tiny.astype(F64)
