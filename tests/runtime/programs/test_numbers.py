"""Numbers of rows and of elements: kernels that read their rows again make all of them, in one launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from covering import covering, some
from made import softmax_numpy

import warpfold as wf

RNG = np.random.default_rng(21)
PLANS = (
    "", "lanes=32,warps=2", "resident=shared,warps=4", "resident=memory,warps=2", "resident=shared,warps=2,cluster=2",
    "fast=kept,vector=1,lanes=8,warps=2", "resident=l2",
)  # fmt: skip


@wf.program
def causal_softmax(x: Any) -> Any:
    xp = x.__array_namespace__()
    rows, columns = xp.arange(x.shape[-2])[:, None], xp.arange(x.shape[-1])
    return wf.softmax(xp.where(columns <= rows, x, -xp.inf))


@wf.program
def alibi_softmax(x: Any, slope: Any) -> Any:
    xp = x.__array_namespace__()
    rows, columns = (xp.arange(n, dtype="int32") for n in x.shape[-2:])
    return wf.softmax(x + slope[:, None, None] * (columns - rows[:, None]))


@wf.program
def numbered(x: Any) -> Any:
    """The numbers of elements among all and of their rows, 0 for the greatest of a row; and those of rows alone."""
    xp = x.__array_namespace__()
    a, b, c = x.shape
    first, second, third = xp.arange(a)[:, None, None], xp.arange(b)[:, None], xp.arange(c)
    others = x < xp.max(x, axis=-1, keepdims=True)
    rows = first * b + second
    return xp.where(others, rows * c + third, 0), xp.where(others, rows, 0), first * 10 + second


def steps(program: Any, *arrays: Any, plan: str = "") -> int:
    return len(program.compile(*arrays, plan=plan).plans)


LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: np.ascontiguousarray(np.swapaxes(x, -1, -2)).swapaxes(-1, -2),
    "backwards": lambda x: np.ascontiguousarray(x[..., ::-1, ::-1])[..., ::-1, ::-1],
    "apart": lambda x: np.repeat(np.repeat(x, 2, -1), 3, -2)[..., ::3, ::2],
}


@covering(
    ("layout", LAYOUTS),
    ("shape", [(1, 1), (7, 7), (33, 64), (2, 40, 40), (3, 2, 5, 130)]),
    ("dtype", [np.float32, np.float16]),
)
def test_a_causal_mask_is_part_of_the_kernel(shape: tuple[int, ...], layout: str, dtype: Any) -> None:
    x = LAYOUTS[layout](RNG.standard_normal(shape).astype(dtype))
    below = np.arange(shape[-1]) <= np.arange(shape[-2])[:, None]
    wanted = softmax_numpy(np.where(below, x, -np.inf))
    np.testing.assert_allclose(causal_softmax(x), wanted, atol=2e-7 if dtype == np.float32 else 1e-3)
    assert steps(causal_softmax, x) == 1


@pytest.mark.parametrize("plan", some(PLANS, 5))
def test_numbers_are_the_same_wherever_a_row_waits(plan: str) -> None:
    x = RNG.standard_normal((2, 12, 200)).astype(np.float32)
    slope = np.array([0.5, 0.0625], np.float32)
    bias = slope[:, None, None] * (np.arange(200) - np.arange(12)[:, None])
    np.testing.assert_allclose(alibi_softmax(x, slope, plan=plan), softmax_numpy(x + bias), atol=2e-7)
    assert steps(alibi_softmax, x, slope, plan=plan) == 1


def test_numbers_of_rows_that_a_cta_copies_into_a_tile() -> None:
    x = RNG.standard_normal((600, 33)).astype(np.float32)
    below = np.arange(33) <= np.arange(600)[:, None]
    found = causal_softmax(x, plan="tile_bytes=16384")
    np.testing.assert_allclose(found, softmax_numpy(np.where(below, x, -np.inf)), atol=2e-7)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_numbers_of_a_program(layout: str) -> None:
    x = LAYOUTS[layout](RNG.standard_normal((3, 5, 37)).astype(np.float32))
    others = x < x.max(-1, keepdims=True)
    numbers = np.arange(x.size).reshape(x.shape)
    found = numbered(x)
    np.testing.assert_array_equal(found[0], np.where(others, numbers, 0))
    np.testing.assert_array_equal(found[1], np.where(others, numbers // 37, 0))
    np.testing.assert_array_equal(found[2], np.arange(3)[:, None, None] * 10 + np.arange(5)[:, None])


def test_a_map_makes_the_numbers_of_both_axes() -> None:
    @wf.program
    def checkered(x: Any) -> Any:
        xp = x.__array_namespace__()
        rows, columns = (xp.arange(n) for n in x.shape)
        return xp.where((rows[:, None] + columns) % 2 == 0, x, -x)

    x = RNG.standard_normal((9, 50)).astype(np.float32)
    even = np.add.outer(np.arange(9), np.arange(50)) % 2 == 0
    np.testing.assert_array_equal(checkered(x), np.where(even, x, -x))
    assert steps(checkered, x) == 1


@pytest.mark.parametrize("plan", PLANS)
def test_sizes_of_all_axes_are_numbers_of_the_launch(plan: str) -> None:
    @wf.program
    def scaled(x: Any) -> Any:
        a, b, c = x.shape
        return wf.softmax(x / b + c) * (a * b)

    x = RNG.standard_normal((2, 12, 100)).astype(np.float32)
    np.testing.assert_allclose(scaled(x, plan=plan), softmax_numpy(x / 12 + 100) * 24, atol=1e-4)
    assert steps(scaled, x, plan=plan) == 1


def test_portable_bits_do_not_depend_on_where_rows_lie() -> None:
    x = RNG.standard_normal((4, 20, 100)).astype(np.float32)
    wanted = causal_softmax(x, determinism="portable")
    for layout in ("columns", "apart"):
        np.testing.assert_array_equal(causal_softmax(LAYOUTS[layout](x), determinism="portable"), wanted)


def test_a_compiled_program_keeps_its_numberings(tmp_path: Any) -> None:
    x = RNG.standard_normal((20, 20)).astype(np.float32)
    causal_softmax.compile(x).save(tmp_path / "causal.wf")
    np.testing.assert_array_equal(wf.load(tmp_path / "causal.wf")(x), causal_softmax(x))


@pytest.mark.parametrize("determinism", ["run", "portable"])
def test_rows_of_numbers_alone_are_folded_twice(determinism: Any) -> None:
    """Such rows lie nowhere, so that they cannot wait for the second fold: they are cut at the grid."""

    def spread(x: Any) -> Any:
        place = x.__array_namespace__().arange(x.shape[-1])
        return wf.var(wf.cast(place, x.dtype) * wf.sum(x, axis=-1, keepdims=True), axis=-1)

    x = np.ones((3, 40), np.float32)
    found = wf.program(spread)(x, determinism=determinism)
    np.testing.assert_allclose(found, np.full(3, np.var(np.arange(40) * 40.0)), rtol=1e-6)
