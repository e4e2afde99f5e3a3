"""Programs of the library beside their formulas: called with arrays by name, evaluated in float64."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from array_programs import results, traced

from warpfold.compiler.program.array_program import ArrayProgram


def program(function: Callable[..., Any], arrays: dict[str, Any], **params: Any) -> ArrayProgram:
    """``function`` traced over the arrays that are not None."""
    given = {name: a for name, a in arrays.items() if a is not None}
    return traced(_of_arrays(function, list(given), params), *given.values())


def values(function: Callable[..., Any], arrays: dict[str, Any], **params: Any) -> list[Any]:
    """The results of ``function`` in float64; arrays that are None are left out."""
    given = {name: a for name, a in arrays.items() if a is not None}
    return results(_of_arrays(function, list(given), params), *given.values())


def _of_arrays(function: Callable[..., Any], names: list[str], params: dict[str, Any]) -> Any:
    """``function`` of arrays by position, which have these names."""

    def call(*xs: Any) -> Any:
        return function(**dict(zip(names, xs, strict=True)), **params)

    kind = inspect.Parameter.POSITIONAL_ONLY
    call.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])  # type: ignore[attr-defined]
    return call


def wide(*arrays: Any) -> list[Any]:
    """Arrays in float64, for formulas; None stays."""
    return [None if a is None else np.asarray(a).astype(np.float64) for a in arrays]
