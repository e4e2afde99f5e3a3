"""The numbers of the planner as data: thresholds, and tables of which the first row that holds decides.

Each has the unit that it counts and the sitting that measured it; the docstring below it says when it holds, and what
is chosen. ``tests/planner_page.py`` writes docs/planner.md from them, and ``benchmarks/measure_table.py`` times a table
anew.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

C = TypeVar("C")


class Sitting(NamedTuple):
    """When a number was set, and what it rests on; every GPU measurement so far is of NVIDIA H200s.

    Attributes:
        day: the date of the commit, ``YYYY-MM-DD``.
        commit: the commit that set the number.
        section: the section of docs/log that reports the measurement; empty where none is recorded.
    """

    day: str
    commit: str
    section: str = ""

    def __str__(self) -> str:
        return f"{self.day}, {self.commit}: {self.section or 'no measurement is recorded'}"


class Table(NamedTuple, Generic[C]):
    """Rows in ascending order, of which the first one that a size does not exceed decides.

    Attributes:
        bound: what the bounds of the rows count.
        choice: what a row chooses.
        measured: when it was set.
        rows: (bound, choice).
    """

    bound: str
    choice: str
    measured: Sitting
    rows: tuple[tuple[float, C], ...]

    def at(self, size: float) -> C | None:
        """The choice for ``size``; None beyond the last row."""
        return next((choice for bound, choice in self.rows if size <= bound), None)

    @property
    def last(self) -> float:
        """The bound of the last row."""
        return self.rows[-1][0]


def threshold(value: C, _unit: str, _measured: Sitting) -> C:
    """One number, or one for each size of an element, that the planner compares or chooses.

    Code has the plain number; the page reads the other fields, and the docstring below, where they are written.

    Args:
        value: the number; the keys of a dict are what the unit says, bytes of an element for the most part.
        _unit: what the number counts.
        _measured: when it was set.
    """
    return value
