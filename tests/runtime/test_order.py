"""Monoids whose order matters are reduced in order: against plain Python, for every size, axis, stride and finish."""

# ruff: noqa: N802 - monoids are values, though functions make them

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from covering import some

import warpfold as wf

Array = npt.NDArray[Any]
SIZES = [1, 2, 3, 5, 8, 31, 33, 64, 257, 1023, 1025, 4097]
PLANS = [
    "", "finish=two_kernels", "walk=blocked,vector=1,lanes=8,warps=2", "walk=blocked,vector=1,lanes=1,warps=1",
    "walk=blocked,vector=1,lanes=32,warps=4,finish=last_block",
]  # fmt: skip


@wf.monoid(identity=(1, 0), commutative=False, lift=lambda x: (1 - 2 * (x & 1), x))
def AFFINE(a: Any, b: Any) -> Any:
    """Composes maps t -> s t + x; odd elements change the sign."""
    return a[0] * b[0], a[1] * b[0] + b[1]


def affine(row: Array) -> Any:
    s, t = 1, 0
    for x in row.tolist():
        turn = 1 - 2 * (x & 1)
        s, t = s * turn, t * turn + x
    return s, t


@wf.monoid(identity=(1, 0, 0, 1), commutative=False, lift=lambda x: (x % 3, 1, 1, x % 2))
def MATRIX(a: Any, b: Any) -> Any:
    """Products of 2x2 matrices, modulo 2^64."""
    (p, q, r, s), (t, u, v, w) = a, b
    return p * t + q * v, p * u + q * w, r * t + s * v, r * u + s * w


def matrix(row: Array) -> Any:
    m = np.eye(2, dtype=np.int64)
    for x in row:
        m = m @ np.array([[x % 3, 1], [1, x % 2]], np.int64)
    return tuple(m.ravel())


@wf.monoid(identity=(0, 0), commutative=False, lift=lambda x: (1, x), finish=lambda n, x: {"count": n, "first": x})
def FIRST(a: Any, b: Any) -> Any:
    return a[0] + b[0], wf.where(a[0] > 0, a[1], b[1])


@wf.monoid(identity=(0, 0), commutative=False, lift=lambda x: (1, x), finish=lambda n, x: {"count": n, "last": x})
def LAST(a: Any, b: Any) -> Any:
    return a[0] + b[0], wf.where(b[0] > 0, b[1], a[1])


@wf.monoid(
    identity=(0, 0, 0, 0), commutative=False, lift=lambda x: (x,) + (wf.maximum(x, 0),) * 3,
    finish=lambda *state: state[3],
)  # fmt: skip
def SUBARRAY(a: Any, b: Any) -> Any:
    """(sum, best head, best tail, best): the maximum subarray sum by divide and conquer (Bentley)."""
    (s, h, t, m), (u, i, v, n) = a, b
    return s + u, wf.maximum(h, s + i), wf.maximum(v, u + t), wf.maximum(wf.maximum(m, n), t + i)


def subarray(row: Array) -> Any:
    best = running = 0
    for x in row.tolist():
        running = max(running + x, 0)
        best = max(best, running)
    return best


@wf.monoid(
    identity=(0, 0), commutative=False, lift=lambda x: (wf.where(x < 0, 1, 0), wf.where(x > 0, 1, 0)),
    finish=lambda c, o: {"closing": c, "opening": o},
)  # fmt: skip
def BRACKETS(a: Any, b: Any) -> Any:
    """(unmatched closing, unmatched opening) brackets."""
    matched = wf.minimum(a[1], b[0])
    return a[0] + b[0] - matched, a[1] + b[1] - matched


def brackets(row: Array) -> Any:
    closing = opening = 0
    for x in row.tolist():
        if x > 0:
            opening += 1
        elif x < 0:
            closing, opening = (closing, opening - 1) if opening else (closing + 1, 0)
    return closing, opening


CASES: list[tuple[Any, Callable[[Array], Any]]] = [
    (AFFINE, affine), (MATRIX, matrix), (FIRST, lambda row: (row.size, row[0])),
    (LAST, lambda row: (row.size, row[-1])), (SUBARRAY, subarray), (BRACKETS, brackets),
]  # fmt: skip


def compare(m: Any, expected: Callable[[Array], Any], x: Array, axis: int, **options: Any) -> None:
    got = wf.reduce(x, what=m, axis=axis, device="emulator", **options)
    rows = np.moveaxis(x, axis, -1)
    with np.errstate(all="ignore"):
        wanted = np.array([expected(row) for row in rows.reshape(-1, rows.shape[-1])])
    found = np.stack([np.asarray(g) for g in got], -1) if isinstance(got, tuple) else np.asarray(got)
    np.testing.assert_array_equal(found.reshape(wanted.shape), wanted, err_msg=f"{m.name} {x.shape} {axis} {options}")


@pytest.mark.parametrize(("m", "expected"), some(CASES, 3), ids=lambda c: getattr(c, "name", ""))
def test_every_size_is_reduced_in_order(m: Any, expected: Callable[[Array], Any]) -> None:
    rng = np.random.default_rng(len(m.name))
    for n in SIZES:
        compare(m, expected, rng.integers(-3, 4, (2, n)), 1)


@pytest.mark.parametrize(("m", "expected"), CASES, ids=lambda c: getattr(c, "name", ""))
def test_every_axis_and_stride_is_reduced_in_order(m: Any, expected: Callable[[Array], Any]) -> None:
    x = np.random.default_rng(1).integers(-3, 4, (33, 40, 6))
    for view, axis in ((x[:, 0], 0), (x[..., 0], 1), (x[::-1, :, 1], 0), (x[:, ::-2, 0].T, 0), (x[:5, :, ::-1], 1)):
        compare(m, expected, view, axis)
    flat = np.asfortranarray(x[:9, :, 0])
    got = wf.reduce(flat, what=m, device="emulator")
    np.testing.assert_array_equal(got, expected(flat.ravel()), err_msg="all axes are in row-major order")


@pytest.mark.parametrize("plan", PLANS)
def test_every_plan_keeps_the_order(plan: str) -> None:
    rng = np.random.default_rng(2)
    for m, expected in (CASES[0], CASES[4]):
        for shape in ((5000,), (2, 777)):
            compare(m, expected, rng.integers(-3, 4, shape), len(shape) - 1, plan=plan)


def test_a_walk_that_would_reorder_is_refused() -> None:
    with pytest.raises(wf.WarpfoldError, match="WF409: AFFINE is not commutative"):
        wf.reduce(np.ones(100, np.int64), what=AFFINE, plan="walk=interleaved", device="emulator")
