"""Whether a grid became slower than another: a rule that makes one shape faster must not slow a second one."""

from __future__ import annotations

from dataclasses import dataclass

from ....compiler.errors import error
from ... import terminal
from .records import Record, Report, key

SLOWER, LEAST = 0.05, 0.3
"""A cell is slower by more than this fraction of its time, and by more than so many us: less is noise."""
COMPARED = ("op", "shape", "strides", "offset", "axes")
"""What makes two cells of one name the same."""


@dataclass(frozen=True)
class Change:
    """A cell whose time changed.

    Attributes:
        cell, dtype: which.
        before, after: microseconds.
        plan_before, plan_after: what the planner chose.
    """

    cell: str
    dtype: str
    before: float
    after: float
    plan_before: str
    plan_after: str

    @property
    def ratio(self) -> float:
        """The time after for each microsecond before."""
        return self.after / self.before


@dataclass(frozen=True)
class Comparison:
    """Two grids, cell by cell.

    Attributes:
        compared: how many cells both have.
        slower, faster: those that changed by more than noise, by most first.
        lost: cells that had a time and have none now, though their turn came.
    """

    compared: int
    slower: list[Change]
    faster: list[Change]
    lost: list[Record]


def comparable(path: str, before: Report, after: Report) -> None:
    """Refuses to compare times of different devices.

    Raises:
        FileError: WF752.
    """
    found, expected = before.machine.get("gpu"), after.machine["gpu"]
    if found != expected:
        raise error("WF752", path=path, found=found, expected=expected)


def compare(before: Report, after: Report) -> Comparison:
    """Compares the cells that both grids have."""
    old = {key(r): r for r in before.cells}
    slower, faster, lost, compared = [], [], [], 0
    for record in after.cells:
        earlier = old.get(key(record))
        if earlier is None or "us" not in earlier or any(earlier[k] != record[k] for k in COMPARED):
            continue
        if "us" not in record:
            lost.append(record)
            continue
        compared += 1
        change = Change(*key(record), earlier["us"], record["us"], before.plan(earlier), after.plan(record))
        if _slower(change.before, change.after):
            slower.append(change)
        elif _slower(change.after, change.before):
            faster.append(change)
    slower.sort(key=lambda c: -c.ratio)
    faster.sort(key=lambda c: c.ratio)
    return Comparison(compared, slower, faster, lost)


def _slower(a: float, b: float) -> bool:
    """Whether ``b`` is slower than ``a`` by more than noise."""
    return b > a * (1 + SLOWER) and b - a > LEAST


def show(found: Comparison, most: int) -> bool:
    """Says what changed; gives whether anything became slower."""
    counts = f"{len(found.slower) + len(found.lost)} slower, {len(found.faster)} faster"
    terminal.show(f"\ncompared with the earlier grid: {found.compared + len(found.lost)} cells, {counts}")
    lines: list[tuple[str, ...]] = [(r["cell"], r["dtype"], "-", r["error"], "-", "none") for r in found.lost]
    lines += [_line(c) for c in found.slower]
    if lines:
        terminal.show()
        terminal.table(("slower", "type", "before", "now", "ratio", "plan"), lines[:most])
    if len(lines) > most:
        terminal.show(f"and {len(lines) - most} more")
    if found.faster:
        terminal.show()
        terminal.table(("faster", "type", "before", "now", "ratio", "plan"), [_line(c) for c in found.faster[:5]])
    return bool(lines)


def _line(c: Change) -> tuple[str, ...]:
    """A change in words."""
    return c.cell, c.dtype, f"{c.before:.2f} us", f"{c.after:.2f} us", f"{c.ratio:.2f}x", _plans(c)


def _plans(c: Change) -> str:
    """The plan, and of the one before what differs."""
    before, after = c.plan_before.split(","), c.plan_after.split(",")
    changes = ",".join(pair for pair in before if pair not in after)
    return f"{c.plan_after}; before: {changes or 'the same'}"
