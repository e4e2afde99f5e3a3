"""Watches the variables that traced functions read, to tell cheaply whether a trace is still valid.

``compiler/program/closures.py`` says which values a trace depends on. A watch remembers the variables and their values.
While each variable holds the same object, and none of the objects can change, a new trace would be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import repeat
from operator import attrgetter, is_
from types import CellType, FunctionType
from typing import Any

import numpy as np

from ...compiler.program.closures import CaptureWalk

_ABSENT = object()
_CONTENTS = attrgetter("cell_contents")


class ChangeableError(Exception):
    """A value can change in place, so comparing objects is not enough."""


def watch_of(what: object) -> Watch | None:
    """A watch on the functions of ``what``; None if they read a value that can change in place."""
    try:
        return Watch(what)
    except ChangeableError:
        return None


class Watch(CaptureWalk):
    """The variables that the functions of ``what`` read.

    Raises:
        ChangeableError: a value is no number, string, tuple, function, class, module or frozen object of these.
    """

    def __init__(self, what: object) -> None:
        self._held: list[dict[str, Any]] = []
        self._names_held: list[str] = []
        self._values: list[Any] = []
        self._cells: list[CellType] = []
        self._contents: list[Any] = []
        self._rest: list[tuple[Callable[[], Any], Any]] = []
        super().__init__(what)
        self.empty = not (self._held or self._cells or self._rest)

    def same(self) -> bool:
        """Whether every variable still holds the same object."""
        try:
            return (
                all(map(is_, map(_CONTENTS, self._cells), self._contents))
                and all(map(is_, map(dict.get, self._held, self._names_held, repeat(_ABSENT)), self._values))
                and (not self._rest or all(read() is value for read, value in self._rest))
            )
        except ValueError:  # a cell was emptied
            return False

    def held(self, cell: CellType) -> None:
        try:
            self._contents.append(cell.cell_contents)
        except ValueError:
            raise ChangeableError from None
        self._cells.append(cell)

    def defaults(self, function: FunctionType) -> None:
        for name in ("__defaults__", "__kwdefaults__"):
            self._rest.append((partial(getattr, function, name), getattr(function, name)))

    def looked_up(self, place: Mapping[str, Any], name: str) -> None:
        found = place.get(name, _ABSENT)
        if isinstance(place, dict):
            self._held.append(place)
            self._names_held.append(name)
            self._values.append(found)
        else:  # a class, whose dict is not accessible
            self._rest.append((partial(place.get, name, _ABSENT), found))

    def plain(self, value: Any) -> None:
        if isinstance(value, np.ndarray):
            raise ChangeableError

    def changeable(self) -> None:
        raise ChangeableError

    opaque = changeable
