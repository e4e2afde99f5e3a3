"""Arrays that a program makes: constants of the shape of another array, and positions along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from array_programs import expect_equal, traced

from warpfold.compiler.dtypes import BF16, BOOL, F32, F64, I32, I64
from warpfold.compiler.errors import TraceError

X = np.random.default_rng(4).standard_normal((3, 4))


def test_constants() -> None:
    def function(x: Any) -> Any:
        xp = x.__array_namespace__()
        return (
            xp.zeros_like(x) + x, xp.ones_like(x, dtype=xp.int32) * 2, xp.full_like(x, 7), xp.full(x.shape, 2.5),
            xp.ones(x.shape[1]) + x, xp.zeros((x.shape[0], 1)), xp.asarray(True), xp.empty_like(x) * 0 + x,
        )  # fmt: skip

    program = expect_equal(function, function, X)
    assert [o.dtype for o in program.outputs] == [F64, I32, F64, F64, F64, F64, BOOL, F64]


def test_positions() -> None:
    def function(x: Any) -> Any:
        xp = x.__array_namespace__()
        n = x.shape[1]
        return (
            x + xp.arange(n),
            xp.arange(0, n),
            xp.arange(n) * 3 + 1,
            xp.arange(n, dtype=xp.int32),
        )

    program = expect_equal(function, function, X)
    assert [o.dtype for o in program.outputs] == [F64, I64, I64, I32]
    assert program.sizes == ()


def test_positions_along_an_axis_of_size_1() -> None:
    expect_equal(lambda x: x + x.__array_namespace__().arange(x.shape[0]), lambda x: x + 0, X[:1])


@pytest.mark.parametrize("lengths", [(2,), (7,)])
def test_a_length_that_no_axis_has(lengths: tuple[int, ...]) -> None:
    with pytest.raises(TraceError, match=f"WF266: {lengths[0]} is a size that no axis"):
        traced(lambda x: x + x.__array_namespace__().arange(*lengths), X)


def test_types() -> None:
    def function(x: Any) -> Any:
        xp = x.__array_namespace__()
        return xp.asarray(x, dtype=xp.float32), xp.asarray(2.0), xp.asarray(3), xp.full_like(x, 1, dtype=xp.bfloat16)

    assert [o.dtype for o in traced(function, X).outputs] == [F32, F64, I64, BF16]


def test_a_copy_is_another_array() -> None:
    def function(x: Any) -> Any:
        y = x.__array_namespace__().asarray(x, copy=True)
        y[y > 0] = 0
        return y - x

    expect_equal(function, function, X)
