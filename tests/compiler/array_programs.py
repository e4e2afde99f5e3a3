"""Programs of arrays beside NumPy: traced, evaluated and compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from warpfold.commands.checking.array_values import evaluate
from warpfold.compiler.dtypes import dtype
from warpfold.compiler.program.array_program import ArrayProgram
from warpfold.compiler.program.arrays.trace import ArrayArg, trace_arrays


def traced(function: Callable[..., Any], *arrays: Any, **params: Any) -> ArrayProgram:
    return trace_arrays(function, [ArrayArg(dtype(a.dtype), a.shape) for a in arrays], params)


def results(function: Callable[..., Any], *arrays: Any, **params: Any) -> list[Any]:
    """The results of the program, without its checks."""
    program = traced(function, *arrays, **params)
    return evaluate(program, arrays)[: len(program.outputs) - len(program.checks)]


def expect_equal(function: Callable[..., Any], reference: Callable[..., Any], *arrays: Any) -> ArrayProgram:
    """The program of ``function``, whose results are those of ``reference`` in float64."""
    program = traced(function, *arrays)
    wide = [a if a.dtype.kind in "iub" else a.astype(np.float64) for a in arrays]
    with np.errstate(all="ignore"):
        expected = reference(*wide)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for found, want in zip(evaluate(program, arrays), expected, strict=True):
        assert found.shape == np.shape(want)
        np.testing.assert_allclose(found, want, rtol=1e-9, atol=1e-9)
    return program
