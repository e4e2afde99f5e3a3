"""The summary of ``warpfold grid``: misses by kind and type, the worst cells, and the cells that became slower."""

from __future__ import annotations

from collections.abc import Sequence

from ... import terminal
from . import records, regression
from .cells import FETCHED
from .records import Record, Report
from .shapes import DTYPES

SHOWN = 40
"""Number of cells that a table lists."""


def show(report: Report, before: Report | None) -> bool:
    """Prints the misses and the cells slower than ``before``; returns whether there are any of the latter."""
    terminal.show(f"{records.summary(report.cells)}, on {report.machine['gpu']}")
    for warning in report.warnings:
        terminal.show(f"warning: {warning}")
    if report.left_out:
        terminal.show(f"left out, for want of memory: {len(report.left_out)} cells")
    misses = report.misses()
    if misses:
        counted = f"memory fetches {FETCHED} bytes at once, and all of them count"
        terminal.show(f"\nthe worst of each kind, and how many miss; {counted}\n")
        terminal.table(*_by_kind(report.cells))
        terminal.show()
        lines = [_line(report, r) for r in misses[:SHOWN]]
        terminal.table(("cell", "type", "gate", "found", "time", "plan"), lines)
    if len(misses) > SHOWN:
        terminal.show(f"and {len(misses) - SHOWN} more")
    return before is not None and regression.show(regression.compare(before, report), SHOWN)


def _by_kind(cells: Sequence[Record]) -> tuple[list[str], list[list[str]]]:
    """Prints a table with a row per kind of layout and a column per type."""
    types = [t for t in DTYPES if any(r["dtype"] == t for r in cells)]
    rows: dict[str, dict[str, list[Record]]] = {}
    for r in cells:
        rows.setdefault(r["cell"].partition(".")[0], {}).setdefault(r["dtype"], []).append(r)
    return ["kind", *types], [[kind, *(_worst(row.get(t, [])) for t in types)] for kind, row in rows.items()]


def _worst(cells: Sequence[Record]) -> str:
    """The worst gated cell, and the number of misses."""
    text, bad = records.worst(cells)
    return f"{text}, {bad}" if bad else text or "-"


def _line(report: Report, record: Record) -> tuple[str, ...]:
    """A cell that misses its gate, in words."""
    gate = records.missed(record)
    found = {
        "error": record.get("error", ""),
        "wrong": "the answer is not float64's",
        "ceiling": f"{100 * record.get('fraction', 0):.1f} %",
        "launch": f"+{record.get('above', 0):.2f} us",
    }[gate]
    time = f"{record['us']:.2f} us" if "us" in record else "-"
    return record["cell"], record["dtype"], gate, found, time, _plan(report, record)


def _plan(report: Report, record: Record) -> str:
    """The fields of a cell's plan in which the plans of the grid differ."""
    common = set.intersection(*(set(text.split(",")) for text in report.plans)) if len(report.plans) > 1 else set()
    return ",".join(pair for pair in report.plan(record).split(",") if pair not in common)
