"""Random bits in kernels: those of the reference for any layout and plan, one kernel for all seeds, uniform."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.errors import ArgumentError, TraceError
from warpfold.compiler.program.numeric import philox

SEEDS = [(0, 0), (1, 2**33 + 1), (2**64 - 1, 2**64 - 1)]
SHAPES = [(), (1,), (1003,), (5, 33), (3, 4, 16), (2, 1, 7)]


def reference(shape: tuple[int, ...], seed: int, offset: int = 0) -> Any:
    numbers = np.arange(np.prod(shape, dtype=int), dtype=np.uint64).reshape(shape)
    return philox(numbers, np.uint64(seed), np.uint64(offset))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "u1"])
def test_the_bits_do_not_depend_on_the_layout(shape: tuple[int, ...], dtype: str) -> None:
    whole = np.zeros((*shape, 3), dtype)
    for x in (
        np.zeros(shape, dtype),
        np.zeros(shape[::-1], dtype).T,
        whole[..., 1],
        whole[..., 0][..., ::-1] if shape else whole[0],
    ):
        for seed, offset in SEEDS:
            np.testing.assert_array_equal(wf.random_bits(x, seed, offset), reference(x.shape, seed, offset))


@pytest.mark.parametrize("plan", ["vector=1", "vector=2", "vector=4,held=3", "lanes=2"])
def test_nor_on_the_plan(plan: str) -> None:
    x = np.zeros((7, 36), np.float32)
    np.testing.assert_array_equal(wf.random_bits(x, 3, plan=plan), reference(x.shape, 3))


def test_they_are_parts_of_programs() -> None:
    @wf.program
    def chosen(x: Any, seed: Any) -> Any:
        drawn = wf.where(wf.random_bits(x, seed) >= 2**31, x, 0.0)
        return drawn, wf.sum(drawn, axis=0), wf.softmax(drawn)

    x = np.arange(99, dtype=np.float64).reshape(9, 11)
    drawn, total, normal = chosen(x, np.uint64(7))
    expected = np.where(reference(x.shape, 7) >= 2**31, x, 0)
    np.testing.assert_array_equal(drawn, expected)
    np.testing.assert_array_equal(total, expected.sum(0))
    np.testing.assert_allclose(normal.sum(1), 1)


def test_one_kernel_serves_all_seeds() -> None:
    x = np.zeros(100, np.float32)
    kernels = {wf.random_bits.compile(x, np.uint64(seed), np.uint64(9)).ptx for seed in (0, 5, 2**64 - 1)}
    assert len(kernels) == 1
    given = np.array(3, np.int32)
    np.testing.assert_array_equal(wf.random_bits(x, given), wf.random_bits(x, 3))
    np.testing.assert_array_equal(wf.random_bits(x, np.int64(-1)), wf.random_bits(x, seed=2**64 - 1))


def test_they_are_uniform() -> None:
    bits = wf.random_bits(np.zeros(1 << 16, np.float32), 12345)
    counts = np.bincount(bits >> 24, minlength=256)
    chi_square = ((counts - 256) ** 2 / 256).sum()
    assert 180 < chi_square < 345, chi_square  # 255 degrees of freedom: all but one seed in 10,000
    ones = np.unpackbits(bits.view(np.uint8)).reshape(-1, 32).mean(0)
    assert np.abs(ones - 0.5).max() < 4.5 * 0.5 / 256
    apart = bits ^ wf.random_bits(np.zeros(1 << 16, np.float32), 12345, 1)
    assert abs(np.unpackbits(apart.view(np.uint8)).mean() - 0.5) < 4.5 * 0.5 / 1448  # the root of so many bits


@pytest.mark.parametrize("kind", [ArgumentError, TraceError])
def test_what_is_refused(kind: type[Exception]) -> None:
    x = np.zeros(3, np.float32)
    bad = [-1, 2**64] if kind is ArgumentError else [0.5, np.zeros(2, int)]
    for value in bad:
        with pytest.raises(kind, match="WF195" if kind is ArgumentError else "WF295"):
            wf.random_bits(x, value)
        with pytest.raises(kind, match="offset is"):
            wf.random_bits(x, 0, value)
