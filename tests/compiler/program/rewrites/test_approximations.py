"""Which exponentials are approximate: those of values that are made of halves, unless the program is portable."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import warpfold as wf
from warpfold.runtime.api import plan_for
from warpfold.runtime.prepare import artifact

BF16 = ml_dtypes.bfloat16
RNG = np.random.default_rng(3)


def array(shape: tuple[int, ...], t: Any) -> Any:
    return RNG.normal(size=shape).astype(t)


@wf.program
def scaled(x: Any, temperature: Any) -> Any:
    e = wf.exp(x / temperature)
    return e / wf.sum(e, axis=-1, keepdims=True)


@wf.program
def biased(x: Any, bias: Any) -> Any:
    return wf.exp(x + bias)


def approximations(program: Any, *arrays: Any, **how: Any) -> int:
    return sum(k.ptx.count("ex2.approx.ftz.f32") for k in program.compile(*arrays, **how).artifact.kernels)


@pytest.mark.parametrize("t", [BF16, np.float16, ml_dtypes.float8_e4m3fn, np.float32, np.float64])
def test_exponentials_of_halves_are_approximate(t: Any) -> None:
    assert (approximations(wf.softmax, array((8, 64), t)) > 0) == (np.dtype(t).itemsize <= 2)


def test_portable_programs_have_none() -> None:
    assert approximations(wf.softmax, array((8, 64), BF16), determinism="portable") == 0


@pytest.mark.parametrize(("bias", "expected"), [(BF16, True), (np.float32, False)])
def test_all_elements_of_a_value_have_to_be_halves(bias: Any, expected: bool) -> None:
    assert (approximations(biased, array((8, 64), BF16), array((64,), bias)) > 0) == expected


def test_single_numbers_may_be_wider() -> None:
    assert approximations(scaled, array((8, 64), BF16), array((), np.float32)) > 0


def test_the_combine_of_an_online_fold_is_approximate() -> None:
    targets = np.zeros(2, np.int64)
    assert approximations(wf.cross_entropy, array((2, 1 << 20), BF16), targets) > 0
    assert approximations(wf.cross_entropy, array((2, 1 << 20), np.float32), targets) == 0


@pytest.mark.parametrize(
    ("t", "determinism", "expected"),
    [(BF16, "run", True), (np.float16, "none", True), (BF16, "portable", False), (np.float32, "run", False)],
)
def test_so_are_those_of_a_reduction(t: Any, determinism: Any, expected: bool) -> None:
    found = artifact(plan_for("logsumexp", (8, 300), np.dtype(t).name, axis=1, determinism=determinism))
    assert ("ex2.approx.ftz.f32" in found.ptx) == expected


@pytest.mark.parametrize("t", [BF16, np.float16])
def test_the_error_is_far_below_the_last_bit_of_a_half(t: Any) -> None:
    x = (RNG.normal(size=(50, 3000)) * 4).astype(t)
    wide = x.astype(np.float64)
    expected = np.exp(wide - wide.max(1, keepdims=True))
    expected /= expected.sum(1, keepdims=True)
    found, exact = wf.softmax(x, axis=-1).astype(np.float64), expected.astype(t).astype(np.float64)
    assert (found == exact).mean() > 0.999
    np.testing.assert_allclose(found, expected, rtol=2.0**-8 if t is BF16 else 2.0**-10, atol=2.0**-24)


def test_masked_elements_are_zero() -> None:
    x = array((4, 100), BF16)
    x[:, 50:] = -np.inf
    assert (wf.softmax(x, axis=-1)[:, 50:] == 0).all()
