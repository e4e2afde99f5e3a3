"""A user's functions: their parameters, values bound to parameters, and where they are defined."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import Location
from .exact import exactly
from .frames import caller
from .spelling import irreducible


@dataclass(frozen=True)
class Bound:
    """A function with keyword parameters given; hashable, so that its traces can be kept."""

    function: Callable[..., Any]
    params: tuple[tuple[str, Any, Hashable], ...]

    @classmethod
    def of(cls, function: Callable[..., Any], params: Mapping[str, Any]) -> Callable[..., Any]:
        """``function`` with those of ``params`` that it takes; itself when it takes none."""
        own = {k: v for k, v in params.items() if k in keywords(function)}
        return cls(function, tuple((k, v, exactly(v)) for k, v in sorted(own.items()))) if own else function

    def __call__(self, *args: Any) -> Any:
        return self.function(*args, **{k: v for k, v, _ in self.params})

    @property
    def __code__(self) -> Any:
        return getattr(self.function, "__code__", None)


def keywords(function: Callable[..., Any]) -> dict[str, Any]:
    """The keyword-only parameters of a function, with their defaults."""
    return {p.name: p.default for p in parameters(function) if p.kind is p.KEYWORD_ONLY}


def positional(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function that must be given by position."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p for p in parameters(function) if p.kind in kinds and p.default is p.empty]


def takes_array(p: inspect.Parameter) -> bool:
    """Whether a parameter that may be given by position takes an array: not if it is annotated as a number or a text.

    >>> def f(x, k: int, axis: int | None = None): ...
    >>> [takes_array(p) for p in parameters(f)]
    [True, False, False]
    """
    kind = p.annotation
    text = kind if isinstance(kind, str) else kind.__name__ if isinstance(kind, type) else str(kind)
    kinds = {part.strip() for part in text.split("|")} - {"None"}
    return not kinds or not kinds <= _PLAIN


def takes_list(p: inspect.Parameter) -> bool:
    """Whether a list stands for an array: not for a weight of the library, where other libraries have a shape."""
    return bool(p.annotation != "OnlyArray")


_PLAIN = {"AxisArgument", "bool", "float", "int", "str"}
"""The annotations of parameters that take no array."""


def variadic(function: Callable[..., Any]) -> bool:
    """Whether a function takes any number of values by position."""
    return any(p.kind is p.VAR_POSITIONAL for p in parameters(function))


def parameters(function: Any) -> Collection[inspect.Parameter]:
    """The parameters of ``function``.

    Raises:
        ArgumentError: WF130 for anything but a function with a signature.
    """
    try:
        return inspect.signature(function.function if isinstance(function, Bound) else function).parameters.values()
    except (TypeError, ValueError):  # a number; a built-in function such as max
        kind = getattr(function, "__name__", type(function).__name__)
        raise irreducible(function, f"a {kind}", where=caller()) from None


def defined(function: Any) -> Location | None:
    """Where ``function`` is defined, if it is written in Python; its attribute ``defined`` takes precedence."""
    code = getattr(getattr(function, "defined", function), "__code__", None)
    if code is None:
        return None
    return Location(code.co_filename, code.co_firstlineno, linecache.getline(code.co_filename, code.co_firstlineno))
