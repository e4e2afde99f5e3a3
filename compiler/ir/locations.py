"""MLIR locations: the place in a file that a location points at, and the names of values, which locations carry."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..errors import Location
from .mlir import ir


class Position(NamedTuple):
    """A place in a file, 1-based; MLIR calls text that was parsed from memory ``-``."""

    file: str
    line: int
    column: int


def position(location: Any) -> Position | None:
    """The first file position in ``location``, or None when it holds none.

    A call site points at the callee, a fused location at its first part that is in a file. Line 0 is where MLIR puts
    the module that it wraps around bare functions: no place at all.
    """
    location = ir.Location.from_attr(location.attr)  # a diagnostic's location comes as the base class
    if isinstance(location, ir.FileLineColLoc):
        place = Position(location.filename, location.start_line, location.start_col)
        return place if place.line else None
    if isinstance(location, ir.NameLoc):
        return position(location.child_loc)
    if isinstance(location, ir.CallSiteLoc):
        return position(location.callee)
    if isinstance(location, ir.FusedLoc):
        return next((found for part in location.locations if (found := position(part))), None)
    return None


def named(value: Any, word: str) -> None:
    """Names a value for printed IR. Constants get no name, and a value keeps its first name.

    The name stands in the location of the op that makes the value, around the place that was there.
    """
    owner = value.owner
    if isinstance(owner, ir.Block):
        value.set_location(ir.Location.name(word, value.location))
    elif owner.name != "arith.constant" and not isinstance(owner.location, ir.NameLoc):
        owner.location = ir.Location.name(word, owner.location)


def place_of(op: Any) -> Location | None:
    """Where an op stands in the text or the user's file, for a message."""
    found = position(op.location)
    return Location(found.file, found.line) if found else None
