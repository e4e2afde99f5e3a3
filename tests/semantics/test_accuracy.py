"""docs/semantics.md: accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from meanings import (
    F32,
    F64,
    INF,
    U32,
    Array,
    additions,
    f32,
    f64,
    g,
    normal,
    on_emulator,
    plain,
    product,
    refused,
    total,
    wide,
)

import warpfold as wf
from warpfold.commands.checking.reference import depth
from warpfold.runtime.api import plan_for


def exact_sum(values: Array) -> Fraction:
    return sum(map(Fraction, values.astype(F64).tolist()), Fraction(0))


def cancelling(n: int, seed: int) -> Array:
    """Elements of very different sizes whose sum is small beside them."""
    rng = np.random.default_rng(seed)
    half = (rng.standard_normal(n // 2) * 10.0 ** rng.uniform(-6, 6, n // 2)).astype(F32)
    x = np.concatenate([half, -half + rng.standard_normal(n // 2).astype(F32) * F32(1e-3)])
    return rng.permutation(x)


def error_of_sum(x: Array, **how: Any) -> tuple[float, float, float]:
    """(error of the sum, sum of magnitudes, magnitude of the sum)."""
    exact = exact_sum(x)
    got = Fraction(float(total(x, **how)))
    return float(abs(got - exact)), float(np.abs(x.astype(F64)).sum()), float(abs(exact))


SIZES = (2, 30, 1000, 40_000)


def test_depth_of_the_tree() -> None:
    assert additions(1_000_000) < 200
    assert additions(2**24) < 1000


@wf.monoid(identity=-1)
def deeper(a: Any, b: Any) -> Any:
    """The combines on the longest way through a tree, but for those with the identity."""
    return wf.where(a < 0, b, wf.where(b < 0, a, wf.maximum(a, b) + 1))


@pytest.mark.filterwarnings("ignore:.*WF221")  # it depends on the tree
@pytest.mark.parametrize(
    ("shape", "axis", "plan", "spare"),
    [
        ((900,), None, None, 4), ((64, 1000), 1, "cta=serial", 19), ((30, 700), 1, "lanes=1,vector=1,unroll=1", 2),
        ((9_000,), None, "simple,warps=8", 2), ((1000, 64), 0, None, 10), ((2000, 5), 0, None, 1),
        ((30_000,), None, "finish=two_kernels", 3), ((30_000,), None, "cta=serial,finish=last_block", 13),
    ],
)  # fmt: skip
def test_depth_bounds_the_tree_that_runs(shape: Any, axis: Any, plan: Any, spare: int) -> None:
    """It exceeds the tree by no more than is known: an error that it allows stays unseen."""

    def count(x: Any) -> Any:
        return wf.fold(deeper, x)

    ready = plan_for(count, shape, "i32", axis=axis, plan=plan)
    found = np.max(wf.reduce(np.zeros(shape, np.int32), count, axis=axis, plan=plan, device="emulator"))
    more = depth(ready.choice.plan, ready.choice.run) - found
    assert 0 <= more <= spare


@pytest.mark.parametrize("times", [2, 3, 5, 64, 1000, 4095])
def test_repeated_elements(times: int) -> None:
    ready = plan_for("sum", (900,), "f32")
    d = depth(ready.choice.plan, ready.choice.run, times)
    assert d == additions(900) + math.ceil(math.log2(times))
    for seed in range(5):
        once = cancelling(900, seed)
        got = on_emulator("sum")(np.broadcast_to(once, (times, 900)))
        off = abs(Fraction(float(got)) - times * exact_sum(once))
        assert off <= g(d, U32) * times * float(np.abs(once.astype(F64)).sum())
        if times == 2 ** (times.bit_length() - 1):  # and doubling rounds nothing
            assert got == times * on_emulator("sum")(once)


def compensated(n: int, magnitudes: float, size: float) -> float:
    d = additions(n, accumulate="compensated")
    return U32 * size + (1 + U32) * g(2 * d, U32) * g(d, U32) * magnitudes


def keeps(bound: Callable[[int, float, float], float], n: int, accumulate: Any) -> bool:
    """Whether sums that cancel stay within a bound."""
    found = [error_of_sum(cancelling(n, seed), accumulate=accumulate) for seed in range(5)]
    return all(error <= bound(n, magnitudes, size) for error, magnitudes, size in found)


@pytest.mark.parametrize("n", SIZES)
def test_plain_sum_bound(n: int) -> None:
    assert keeps(plain, n, None)


@pytest.mark.parametrize("n", SIZES)
def test_wide_sum_bound(n: int) -> None:
    assert keeps(wide, n, "f64")
    assert n < 1000 or not keeps(wide, n, None)


@pytest.mark.parametrize("n", SIZES)
def test_compensated_sum_bound(n: int) -> None:
    assert keeps(compensated, n, "compensated")
    assert n < 1000 or not keeps(compensated, n, None)


def test_two_sum_is_exact() -> None:
    """The monoid itself, on Python's floats: what it keeps beside the sum is all that the sum lost."""
    rng = np.random.default_rng(0)
    for a, b in rng.standard_normal((200, 2)) * 10.0 ** rng.integers(-20, 20, (200, 2)):
        s, lost = wf.COMPENSATED((float(a), 0.0), (float(b), 0.0))
        assert Fraction(s) + Fraction(lost) == Fraction(float(a)) + Fraction(float(b))


def test_compensated_dot() -> None:
    x, y = f32(4097, 1, 4097), f32(4097, 1, -4097)  # 4097^2 has 25 bits
    assert on_emulator("dot")(x, y, accumulate="compensated") == 1
    z = f32(4097, 4096)
    exact = math.sqrt(4097**2 + 4096**2)
    assert on_emulator("norm")(z, accumulate="compensated") == F32(exact)
    assert on_emulator("dot")(f32(4097, 4096), f32(4097, -4096), accumulate="compensated") == 8193
    assert on_emulator("dot")(f32(4097, 4096), f32(4097, -4096)) != 8193


def test_compensated_overflow() -> None:
    for x in (f32(3e38, 3e38, -3e38), f32(INF, 1), f32(-INF, 1)):
        assert total(x, accumulate="compensated") == total(x)


def test_not_compensated() -> None:
    for name in ("prod", "var", "std"):
        refused("WF137", name, f32(1, 2), accumulate="compensated")
    refused("WF127", "logsumexp", f32(1, 2), accumulate="compensated")


@pytest.mark.parametrize("t", [np.bool_, np.int8, np.uint8, np.int16, np.uint16])
def test_exact_means(t: type) -> None:
    """Of sums that f64, and f32, cannot hold on their way."""
    x = np.random.default_rng(3).integers(0, 1 << 8 * np.dtype(t).itemsize, 100_003).astype(t)
    exact = Fraction(int(x.sum(dtype=np.int64)), x.size)
    for options, bits in (({}, 53), ({"dtype": "f32"}, 24), ({"accumulate": "compensated"}, 53)):
        got = Fraction(float(on_emulator("mean")(x, **options)))
        assert abs(got - exact) <= 2 * Fraction(1, 1 << bits) * abs(exact)
    where = x > 1
    if where.any():
        exact = Fraction(int(x.sum(dtype=np.int64, where=where)), int(where.sum()))
        assert abs(Fraction(float(on_emulator("mean")(x, where=where))) - exact) <= abs(exact) / (1 << 52)
    assert on_emulator("mean")(x, dtype="f32").dtype == np.float32
    greatest = np.iinfo(t).max if t is not np.bool_ else 1
    for n in (2**46, 2**47 - 1, 2**47, 2**48 + 1, 2**60):
        got = on_emulator("mean")(np.broadcast_to(t(greatest), (n,)))
        assert got == pytest.approx(greatest, rel=1e-15)


@pytest.mark.parametrize("n", [2, 100, 3000])
def test_product_bound(n: int) -> None:
    x = (1 + normal(n, dtype=F64) / 1000).astype(F32)
    exact = math.prod(map(Fraction, x.astype(F64).tolist()))
    assert abs(Fraction(float(product(x))) - exact) <= g(n - 1, U32) * exact


@pytest.mark.parametrize("shift", [0, 10, 1000, 100_000])
def test_variance_far_from_zero(shift: int) -> None:
    x = (normal(2000, dtype=F64) + shift).astype(F32)
    wide = x.astype(F64)
    k = float(np.linalg.norm(wide) / np.linalg.norm(wide - wide.mean()))
    error = abs(float(on_emulator("var")(x)) / wide.var() - 1)
    assert error <= 4 * additions(2000) * k * U32


def test_roots_are_rounded_once() -> None:
    for value in (2.0, 3.0, 5.0, 1e30, 7e-20):
        x = np.array([math.sqrt(value)])
        assert on_emulator("norm")(x) == np.sqrt(x[0] * x[0])
    y = f64(1, 2, 4, 8)
    assert on_emulator("std")(y) == np.sqrt(on_emulator("var")(y))
