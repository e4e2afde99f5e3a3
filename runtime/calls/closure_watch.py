"""Watches the variables that traced functions read, to tell cheaply whether a trace is still valid.

``compiler/program/closures.py`` says which values a trace depends on. A watch remembers the variables and their values.
While each variable holds the same object, and none of the objects can change, a new trace would be the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import repeat
from operator import attrgetter, is_
from types import CellType, FunctionType
from typing import Any

import numpy as np

from ...compiler.program.closures import CaptureWalk, is_own
from ...compiler.program.exact import LIBRARIES, is_of
from ..arrays.fast_readers import Check

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
        self._cells, self._fields, self._held, self._rest = _Variables(), _Variables(), _Variables(), _Variables()
        self._codes = dict[FunctionType, Any]()
        super().__init__(what)
        kinds = (
            (self._cells, partial(map, _CONTENTS, self._cells.owners)),
            (self._fields, partial(map, getattr, self._fields.owners, self._fields.names)),
            (self._held, partial(map, dict.get, self._held.owners, self._held.names, repeat(_ABSENT))),
            (self._rest, partial(map, _get, self._rest.owners, self._rest.names)),
        )
        self._read = [(now, kind.values) for kind, now in kinds if kind.values]
        self.empty = not self._read and not self._codes

    def same(self) -> bool:
        """Whether every function has the same code, and every variable still holds the same object."""
        return all(f.__code__ is code for f, code in self._codes.items()) and self._same()

    @property
    def check(self) -> Check:
        """``same`` as a part of a test, which looks at codes without a call: it is for repeated calls."""
        names: dict[str, Any] = {"same": self._same} if self._read else {}
        tests = ["same()"] if self._read else []
        for i, (function, code) in enumerate(self._codes.items()):
            tests.append(f"function{i}.__code__ is code{i}")
            names |= {f"function{i}": function, f"code{i}": code}
        return Check(" and ".join(tests), names)

    def _same(self) -> bool:
        try:
            for now, values in self._read:
                if not all(map(is_, now(), values)):
                    return False
        except ValueError:  # a cell was emptied
            return False
        return True

    def function(self, value: FunctionType) -> None:
        if not is_own(value) and not is_of(value, LIBRARIES):
            self._codes[value] = value.__code__

    def held(self, cell: CellType) -> None:
        try:
            self._cells.add(cell, "", cell.cell_contents)
        except ValueError:
            raise ChangeableError from None

    def defaults(self, function: FunctionType) -> None:
        for name in ("__defaults__", "__kwdefaults__"):
            self._fields.add(function, name, getattr(function, name))

    def looked_up(self, place: Mapping[str, Any], name: str) -> None:
        kind = self._held if isinstance(place, dict) else self._rest  # a class, whose dict is not accessible
        kind.add(place, name, place.get(name, _ABSENT))

    def plain(self, value: Any) -> None:
        if isinstance(value, np.ndarray):
            raise ChangeableError

    def changeable(self) -> None:
        raise ChangeableError

    opaque = changeable


class _Variables:
    """Variables that are read in one way: their owners, their names, and what they held."""

    def __init__(self) -> None:
        self.owners: list[Any] = []
        self.names: list[str] = []
        self.values: list[Any] = []

    def add(self, owner: Any, name: str, value: Any) -> None:
        self.owners.append(owner)
        self.names.append(name)
        self.values.append(value)


def _get(place: Mapping[str, Any], name: str) -> Any:
    return place.get(name, _ABSENT)
