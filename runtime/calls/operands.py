"""The operands of one call: views of its inputs, memory for its results, the backend and the stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from ...compiler.dtypes import DType
from ...compiler.errors import error
from ..backends.backend import Backend
from ..view import View, real_parts


@dataclass
class Operands:
    """The arrays of one call.

    Attributes:
        first: the first input as the caller passed it; results are arrays of its library.
        inputs: views of the input arrays.
        backend: the machine that will run.
        stream: the caller's stream.
        outputs: views of the result arrays, then of the checks.
        results: functions that return the caller's result arrays, then the checks.
        numbers: the inputs of rank 0 whose values launches have in place of their addresses.
        fixed: how many of the last inputs are no arguments of the call, but the same arrays in all calls of its key.
    """

    first: object
    inputs: tuple[View, ...]
    backend: Backend
    stream: int
    outputs: tuple[View, ...] = ()
    results: list[Callable[[], Any]] = field(default_factory=list)
    numbers: frozenset[int] = frozenset()
    fixed: int = 0

    @property
    def parts(self) -> tuple[View, ...]:
        """The inputs as programs read them: two of floats for a complex one."""
        return tuple(p for v in self.inputs for p in real_parts(v))

    @property
    def types(self) -> tuple[DType, ...]:
        """The element type of each input."""
        return tuple(v.dtype for v in self.inputs)


@lru_cache(maxsize=4096)
def check_keepdims(keepdims: object) -> None:
    """Checks that ``keepdims`` is a truth value; WF138 for anything else."""
    if not isinstance(keepdims, bool | int | np.bool_):
        raise error("WF138", option="keepdims", value=keepdims, expected="True or False", default=False)
