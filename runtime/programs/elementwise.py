"""The elementwise functions of the package: of real arrays each is a program without a fold, of other values a node."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from ...compiler.program import accumulation, compositions, functions
from ...compiler.program.public_names import COMPOSITIONS, ELEMENTWISE
from ...compiler.program.spelling import called
from . import autocast
from .arguments import is_real_array
from .function import DEFAULTS, ArrayFunction, known_to_autocast
from .torch_graphs import ENTRIES, entry_of, labelled, op_in_graphs

_OF_CALLS = [
    inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Any"),
    *(inspect.Parameter(k, inspect.Parameter.KEYWORD_ONLY, default=v, annotation="str") for k, v in DEFAULTS.items()),
]
_NUMBERS = (bool, int, float, complex, str)
OF_ARRAYS = {
    **{name: getattr(functions, name) for name in ELEMENTWISE},
    **{name: getattr(compositions, name) for name in COMPOSITIONS},
    "cast": accumulation.cast,
}
"""The functions by name."""


def _public(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of traced values, and of real arrays."""
    program: ArrayFunction[..., Any] = ArrayFunction(function)

    @wraps(function)
    def call(*xs: Any, **how: Any) -> Any:
        if any(not isinstance(x, _NUMBERS) and (type(x) is list or is_real_array(x)) for x in xs):
            return program(*xs, **how)
        return called(function, xs, how)

    call.__module__ = __name__  # where a pickle finds it
    own = inspect.signature(function)
    call.__signature__ = own.replace(parameters=[*own.parameters.values(), *_OF_CALLS], return_annotation="Any")  # type: ignore[attr-defined]
    name = function.__name__
    labelled(program, name)
    if name in autocast.NAMES:
        known_to_autocast(program, name)
    own_entry = ENTRIES[entry_of(program)]
    return op_in_graphs(call, name, own_entry.symbolic, name, own_entry.casts, own_entry.in_f32)


_PUBLIC = {name: _public(function) for name, function in OF_ARRAYS.items()}


def __getattr__(name: str) -> Any:
    """An elementwise function; the package's ``__init__.py`` says which are public."""
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _PUBLIC[name]
