"""Whether what functions read from outside themselves is still what it was, at the cost of a look at each variable.

``compiler/program/closures.py`` says which values a trace bakes in. Here the variables that hold them are remembered
with the values themselves: as long as each holds the same object, and none of these can change, a trace would find the
same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import repeat
from operator import attrgetter, is_
from types import CellType, FunctionType
from typing import Any

import numpy as np

from ...compiler.program.closures import Walk

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


class Watch(Walk):
    """The variables that the functions of ``what`` read.

    Raises:
        ChangeableError: what they hold is no number, string, tuple, function, class, module or frozen object of these.
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
        """Whether every variable holds the object that it held."""
        try:
            return (
                all(map(is_, map(_CONTENTS, self._cells), self._contents))
                and all(map(is_, map(dict.get, self._held, self._names_held, repeat(_ABSENT)), self._values))
                and (not self._rest or all(read() is value for read, value in self._rest))
            )
        except ValueError:  # a cell that was emptied
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
        else:  # a class, whose dict is not to be had itself
            self._rest.append((partial(place.get, name, _ABSENT), found))

    def plain(self, value: Any) -> None:
        if isinstance(value, np.ndarray):
            raise ChangeableError

    def changeable(self) -> None:
        raise ChangeableError

    opaque = changeable
