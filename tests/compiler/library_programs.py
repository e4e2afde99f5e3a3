"""Programs of the library beside their formulas: called with arrays by name, evaluated in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from array_programs import results, traced

from warpfold.compiler.program.array_program import ArrayProgram


def program(function: Callable[..., Any], arrays: dict[str, Any], **params: Any) -> ArrayProgram:
    """``function`` traced over the arrays that are not None."""
    given = {name: a for name, a in arrays.items() if a is not None}
    return traced(lambda *xs: function(**dict(zip(given, xs, strict=True)), **params), *given.values())


def values(function: Callable[..., Any], arrays: dict[str, Any], **params: Any) -> list[Any]:
    """The results of ``function`` in float64; arrays that are None are left out."""
    given = {name: a for name, a in arrays.items() if a is not None}
    return results(lambda *xs: function(**dict(zip(given, xs, strict=True)), **params), *given.values())


def wide(*arrays: Any) -> list[Any]:
    """Arrays in float64, for formulas; None stays."""
    return [None if a is None else np.asarray(a).astype(np.float64) for a in arrays]
