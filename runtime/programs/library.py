"""The built-in programs of arrays as public functions, ``wf.softmax`` and so on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...compiler.program.library.programs.table import FUNCTIONS
from .function import ArrayFunction, program


def _public(function: Callable[..., Any]) -> ArrayFunction[..., Any]:
    """The program of a function of the library; it pickles by its name in this module."""
    found = program(function)
    found.__module__ = __name__
    return found


_PUBLIC = {name: _public(function) for name, function in FUNCTIONS.items()}


def __getattr__(name: str) -> ArrayFunction[..., Any]:
    """A program; the package's ``__init__.py`` says which are public."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _PUBLIC[name]
