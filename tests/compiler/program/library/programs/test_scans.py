"""Scans of the library beside NumPy: values in f64, types and the functions that they share names with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from library_programs import program, values, wide

from warpfold.compiler.dtypes import BF16, F32, I64, U64, dtype
from warpfold.compiler.program.library.programs.scans import (
    cummax,
    cummin,
    cumulative_prod,
    cumulative_sum,
    logcumsumexp,
)

X = np.random.default_rng(29).standard_normal((3, 4, 5)).astype(np.float32)
FUNCTIONS = {
    "cumulative_sum": (cumulative_sum, np.add),
    "cumulative_prod": (cumulative_prod, np.multiply),
    "cummax": (cummax, np.maximum),
    "cummin": (cummin, np.minimum),
    "logcumsumexp": (logcumsumexp, np.logaddexp),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("reverse", [False, True])
def test_numpys_accumulate(name: str, axis: int, reverse: bool) -> None:
    function, own = FUNCTIONS[name]
    (found,) = values(function, {"x": X}, axis=axis, reverse=reverse)
    (x,) = wide(np.flip(X, axis) if reverse else X)
    wanted = own.accumulate(x, axis)
    np.testing.assert_allclose(found, np.flip(wanted, axis) if reverse else wanted, 1e-12)


@pytest.mark.parametrize(
    ("given", "expected"), [(np.int8, I64), (np.uint8, U64), (bool, I64), (np.float32, F32), (BF16.numpy, BF16)]
)
def test_types_of_sums(given: Any, expected: Any) -> None:
    (output,) = program(cumulative_sum, {"x": np.ones(4, given)}).outputs
    assert output.dtype == expected
    (output,) = program(cummax, {"x": np.ones(4, given)}).outputs
    assert output.dtype == dtype(given)
