"""What functions read from outside themselves: a trace bakes these values in, so a changed one asks for a new trace."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

PLAIN = (bool, int, float, complex, str, type(None))
_OWN = __name__.rpartition(".compiler.")[0] + "."


def outside(what: object) -> tuple[object, ...]:
    """The values that the functions of ``what`` read from outside, as far as they are seen, as one that has a hash.

    Seen are numbers, strings, functions and monoids, also in tuples, lists and dicts, that a function names: its
    globals, the variables around it, what it takes from a module, and plain attributes of the objects among them.
    Numbers stand there as text: 1, 1.0 and True are equal, but trace to different types.

    >>> def scaled(factor):
    ...     return lambda x: x * factor
    >>> outside(scaled(2.0))[0]
    '2.0'
    """
    return () if isinstance(what, str) else tuple(_found(what, set()))


def _found(value: Any, seen: set[int]) -> Iterator[object]:
    if isinstance(value, PLAIN) or (type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0):
        yield repr(value)
        return
    if id(value) in seen:
        return
    seen.add(id(value))
    for inner in _inside(value):
        yield from _found(inner, seen)
    if isinstance(value, FunctionType):
        yield value


def _inside(value: Any) -> Iterator[object]:
    """What ``value`` holds that a trace may read."""
    if isinstance(value, tuple | list):
        yield from (len(value), *value)
    elif isinstance(value, Mapping):
        yield from (len(value), *value.keys(), *value.values())
    elif isinstance(value, FunctionType):
        yield from () if is_own(value) else _variables(value)
    elif isinstance(value, MethodType):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, functools.partial):
        yield from (value.func, value.args, value.keywords)
    elif not isinstance(value, type | ModuleType):
        whole = hasattr(value, "function") and is_own(type(value))  # a monoid, or one of its functions
        yield from (v for v in getattr(value, "__dict__", {}).values() if whole or isinstance(v, PLAIN))
        called = getattr(type(value), "__call__", None)  # noqa: B004 - the function, and not whether there is one
        if isinstance(called, FunctionType):
            yield called


def is_own(thing: Any) -> bool:
    return str(thing.__module__).startswith(_OWN)


def _variables(function: FunctionType) -> Iterator[object]:
    """The values of the variables around ``function``, then those of the globals that it names."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not assigned yet
            yield None
    held, names = function.__globals__, names_of(function.__code__)
    for value in (held[name] for name in names if name in held):
        yield value
        if isinstance(value, ModuleType):
            yield from (vars(value)[name] for name in names if name in vars(value))


@functools.lru_cache(maxsize=1024)
def names_of(code: CodeType) -> tuple[str, ...]:
    """The names that ``code`` and the functions inside it look up."""
    inner = (n for c in code.co_consts if isinstance(c, CodeType) for n in names_of(c))
    return tuple(dict.fromkeys((*code.co_names, *inner)))
