"""Compares two grids, to find cells that became slower: a rule that helps one shape must not slow another."""

from __future__ import annotations

from dataclasses import dataclass

from ....compiler.errors import error
from ... import terminal
from .records import Record, Report, key

SLOWER, LEAST = 0.05, 0.3
"""Noise: a change counts above this fraction of the time and this number of microseconds."""
COMPARED = ("op", "shape", "strides", "offset", "axes")
"""The fields in which two cells of one name must agree."""


@dataclass(frozen=True)
class Change:
    """A cell whose time changed.

    Attributes:
        cell, dtype: name and type of the cell.
        before, after: times in microseconds.
        plan_before, plan_after: the plans.
    """

    cell: str
    dtype: str
    before: float
    after: float
    plan_before: str
    plan_after: str

    @property
    def ratio(self) -> float:
        """The ratio of the times, after to before."""
        return self.after / self.before


@dataclass(frozen=True)
class Comparison:
    """Two grids, cell by cell.

    Attributes:
        compared: number of cells in both.
        slower, faster: cells that changed by more than noise, the greatest change first.
        lost: cells that had a time but now failed.
    """

    compared: int
    slower: list[Change]
    faster: list[Change]
    lost: list[Record]


def comparable(path: str, before: Report, after: Report) -> None:
    """Checks that two grids are of the same device.

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
    """Prints the changes; returns whether a cell became slower."""
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
    """The plan, and the fields of the plan before that differ."""
    before, after = c.plan_before.split(","), c.plan_after.split(",")
    changes = ",".join(pair for pair in before if pair not in after)
    return f"{c.plan_after}; before: {changes or 'the same'}"
