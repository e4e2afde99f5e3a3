"""The built-in programs of arrays as public functions, ``wf.softmax`` and so on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import numpy as np

from ...compiler.program.arrays.random import checked
from ...compiler.program.library.programs.table import FUNCTIONS
from ...compiler.program.signatures import parameters
from ...compiler.program.symbols import is_array
from ..arrays.torch_compile import opaque
from .function import ArrayFunction, program

SEEDS = ("seed", "offset")
"""Parameters that are arguments of the kernels also if they are numbers of Python: one kernel serves all seeds."""
RUNNING = ("running_mean", "running_var")
"""The arguments of ``batch_norm`` that its first results are written over, in training."""


class LibraryFunction(ArrayFunction[..., Any]):
    """A program of the library whose calls are not the calls of its function: see ``_entered``."""

    @staticmethod
    def _entered(entry: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
        """``entry`` with seeds as arrays of rank 0, and with running statistics as arrays for results."""
        names = [p.name for p in parameters(function)]

        @opaque
        @wraps(function)
        def call(*xs: Any, out: Any = None, **how: Any) -> Any:
            given = dict(zip(names, xs, strict=False)) | how
            if not any(map(is_array, given.values())):
                xs = tuple(_seed(name, x) for name, x in zip(names, xs, strict=False)) + xs[len(names) :]
                how = {name: _seed(name, x) for name, x in how.items()}
                out = _updated(given, out)
            return entry(*xs, out=out, **how)

        return call


def _seed(name: str, value: Any) -> Any:
    """An argument; a seed that is a number as an array."""
    return np.array(checked(name, value), np.uint64) if name in SEEDS and type(value) is int else value


def _updated(given: Mapping[str, Any], out: Any) -> Any:
    """The arrays for results: running statistics, which a call in training updates, then those of the caller."""
    running = tuple(given[name] for name in RUNNING if given.get(name) is not None)
    if not running or not given.get("training"):
        return out
    rest = (None,) * (3 + (given.get("keep") is not None)) if out is None else out
    return (*running, *rest)


def _public(function: Callable[..., Any]) -> ArrayFunction[..., Any]:
    """The program of a function of the library; it pickles by its name in this module."""
    own = any(p.name in (*SEEDS, *RUNNING) for p in parameters(function))
    found = LibraryFunction(function) if own else program(function)
    found.__module__ = __name__
    return found


_PUBLIC = {name: _public(function) for name, function in FUNCTIONS.items()}


def __getattr__(name: str) -> ArrayFunction[..., Any]:
    """A program; the package's ``__init__.py`` says which are public."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _PUBLIC[name]
