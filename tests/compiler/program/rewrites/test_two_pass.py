"""Variances in two passes have the results of one pass, also where these are not finite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.commands.checking.array_values import evaluate
from warpfold.compiler.dtypes import BOOL, F64
from warpfold.compiler.program.array_program import ArrayProgram
from warpfold.compiler.program.arrays.trace import ArrayArg, trace_arrays
from warpfold.compiler.program.rewrites.online import two_pass

INF, NAN = np.inf, np.nan
ROWS = np.array(
    [[1, 2, 3, 4], [1e8, 1e8 + 1, 1e8 + 2, 1e8], [1e308, 1e308, 1e308, -1e308], [5, 5, 5, 5], [-INF, 1, 2, 3],
     [NAN, 1, 2, 3], [INF, -INF, 0, 0]]
)  # fmt: skip


def _standardized(x: Any) -> Any:
    return (x - wf.mean(x, axis=-1, keepdims=True)) * wf.rsqrt(wf.var(x, axis=-1, keepdims=True) + 1e-5)


def _masked(x: Any, mask: Any) -> Any:
    return x - wf.var(x, axis=-1, keepdims=True, where=mask)


def _folds(program: ArrayProgram) -> set[str]:
    return {e.value.monoid.name for e in program.folds}  # type: ignore[attr-defined]


def _same(program: ArrayProgram, *arrays: Any) -> None:
    found = two_pass(program, lambda *_: True)
    assert "WELFORD" in _folds(program)
    assert "WELFORD" not in _folds(found)
    with np.errstate(all="ignore"):
        pairs = zip(evaluate(found, arrays), evaluate(program, arrays), strict=True)
        for a, b in pairs:
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_rows_are_standardized_alike() -> None:
    _same(trace_arrays(_standardized, [ArrayArg(F64, ROWS.shape)], {}), ROWS)


def test_elements_outside_a_mask_are_left_out() -> None:
    mask = np.array([True, True, False, True])
    _same(trace_arrays(_masked, [ArrayArg(F64, (4, 4)), ArrayArg(BOOL, (4,))], {}), ROWS[:4], mask)


@pytest.mark.parametrize("function", [_standardized])
def test_rows_that_nobody_owns_are_read_once(function: Any) -> None:
    program = trace_arrays(function, [ArrayArg(F64, ROWS.shape)], {})
    assert two_pass(program, lambda *_: False) == program
