"""Pickles of monoids: by the monoid's name in a module, else by the names of its functions.

``@monoid`` gives the function's name to the monoid, so pickle would look up the function and find the monoid. A lambda
or a nested function has no name by which another process could find it.
"""

from __future__ import annotations

import importlib
from collections.abc import Hashable
from dataclasses import fields
from operator import attrgetter
from types import FunctionType
from typing import Any

from ..errors import WarpfoldError, error
from .signatures import Bound, defined

_Reduced = tuple[Any, tuple[Any, ...]]


def reduced(m: Any) -> _Reduced:
    """What ``Monoid.__reduce__`` returns for the monoid ``m``.

    Raises:
        ArgumentError: WF183 for a function that no other process can find.
    """
    place = _place(m.function)
    if place is not None and _found(*place) is m:
        return found, place
    parts = [(f.name, getattr(m, f.name)) for f in fields(m) if f.init]
    return _made, (type(m), *(_portable(m, part, value) for part, value in parts))


def found(module: str, name: str) -> Any:
    """The object of that name.

    Raises:
        ArgumentError: WF184 where there is none.
    """
    result = _found(module, name)
    if result is None:
        raise error("WF184", module=module, name=name)
    return result


class _Function:
    """A function by its name, which may be that of the monoid made of it."""

    def __init__(self, module: str, name: str, params: tuple[tuple[str, Any, Hashable], ...] | None = None) -> None:
        self.module, self.name, self.params = module, name, params

    def get(self, kind: type) -> Any:
        """The function, with its parameters where it has some; ``kind`` is the class of monoids."""
        function = _function(found(self.module, self.name), kind)
        return function if self.params is None else Bound(function, self.params)


def _function(there: Any, kind: Any) -> Any:
    """The function that a name stands for: a monoid has taken the name of its combine."""
    return there.function if isinstance(there, kind) else there


def _made(kind: Any, *parts: Any) -> Any:
    """A monoid from its class and its parts."""
    return kind(*(p.get(kind) if isinstance(p, _Function) else p for p in parts))


def _portable(m: Any, part: str, value: Any) -> Any:
    """A part of a monoid as another process can make it; what is no function of Python's pickles as it is."""
    function, params = (value.function, value.params) if isinstance(value, Bound) else (value, None)
    if not isinstance(function, FunctionType):
        return value
    place = _place(function)
    there = None if place is None else _found(*place)
    if place is None or _function(there, type(m)) is not function:
        raise unpicklable(m.name, part, function)
    return _Function(*place, params)


def unpicklable(name: str, part: str, function: Any) -> WarpfoldError:
    """The error for ``part`` of what is called ``name``, a function that no other process can find."""
    own = getattr(function, "__qualname__", type(function).__name__)
    what = "a lambda" if own.rpartition(".")[2] == "<lambda>" else own
    return error("WF183", name=name, part=part, what=what, where=defined(function))


def holder(module: Any, name: str) -> Any:
    """What another process finds under the name of a function; None if it finds nothing."""
    return None if not module or not name or "<" in name else _found(str(module), name)


def _place(function: Any) -> tuple[str, str] | None:
    """Module and name of a function, if it can have one."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    return None if not module or not name or "<" in name else (str(module), str(name))


def _found(module: str, name: str) -> Any:
    """The object of that name; None where there is none."""
    try:
        return attrgetter(name)(importlib.import_module(module))
    except (ImportError, AttributeError):
        return None
