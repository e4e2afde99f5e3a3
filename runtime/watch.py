"""Whether what functions read from outside themselves is still what it was, at the cost of a look at each variable.

``compiler/outside.py`` says which values a trace bakes in. Here the variables that hold them are remembered with the
values themselves: as long as each holds the same object, and none of these can change, a trace would find the same.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import repeat
from operator import attrgetter, is_
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..compiler.outside import PLAIN, is_own, names_of

_ABSENT = object()
_CONTENTS = attrgetter("cell_contents")


class ChangeableError(Exception):
    """What is read can change where it stands, so a look at the variables says nothing."""


def watch_of(what: object) -> Watch | None:
    """The variables that the functions of ``what`` read; None where a look at them says nothing."""
    try:
        return Watch(what)
    except ChangeableError:
        return None


class Watch:
    """The variables that the functions of ``what`` read.

    Raises:
        ChangeableError: what they hold is no number, string, tuple, function or frozen object of these.
    """

    def __init__(self, what: object) -> None:
        self._held: list[dict[str, Any]] = []
        self._names: list[str] = []
        self._values: list[Any] = []
        self._cells: list[CellType] = []
        self._contents: list[Any] = []
        self._seen: set[int] = set()
        self._walk(what)
        self.empty = not (self._held or self._cells)

    def same(self) -> bool:
        """Whether every variable holds the object that it held."""
        try:
            return all(map(is_, map(_CONTENTS, self._cells), self._contents)) and all(
                map(is_, map(dict.get, self._held, self._names, repeat(_ABSENT)), self._values)
            )
        except ValueError:  # a cell that was emptied
            return False

    def _walk(self, value: Any) -> None:
        if isinstance(value, (*PLAIN, np.generic)) or id(value) in self._seen:
            return
        self._seen.add(id(value))
        for inner in self._inside(value):
            self._walk(inner)

    def _inside(self, value: Any) -> Iterator[Any]:
        if isinstance(value, FunctionType):
            if not is_own(value):
                yield from self._variables(value)
        elif isinstance(value, MethodType):
            yield from (value.__func__, value.__self__)
        elif type(value) is tuple:
            yield from value
        elif isinstance(value, functools.partial):
            if value.keywords:  # a dict
                raise ChangeableError
            yield from (value.func, value.args)
        elif not isinstance(value, type | ModuleType):
            yield from self._fields(value)

    def _fields(self, value: Any) -> Iterator[Any]:
        frozen = getattr(getattr(type(value), "__dataclass_params__", None), "frozen", False)
        fields = getattr(value, "__dict__", {})
        if isinstance(value, list | dict | set | tuple | np.ndarray) or (fields and not frozen):
            raise ChangeableError
        yield from fields.values()
        called = getattr(type(value), "__call__", None)  # noqa: B004 - the function, and not whether there is one
        if isinstance(called, FunctionType):
            yield called

    def _variables(self, function: FunctionType) -> Iterator[Any]:
        for cell in function.__closure__ or ():
            try:
                found = cell.cell_contents
            except ValueError:
                raise ChangeableError from None
            self._cells.append(cell)
            self._contents.append(found)
            yield found
        held = [function.__globals__]
        found_names = names_of(function.__code__)
        held += [vars(m) for n in found_names if isinstance(m := function.__globals__.get(n), ModuleType)]
        for variables in held:
            for name in found_names:
                value = variables.get(name, _ABSENT)
                self._held.append(variables)
                self._names.append(name)
                self._values.append(value)
                if value is not _ABSENT:
                    yield value
