"""The report of a grid: its cells as plain values, their gates, and the file that keeps them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...output_file import Output
from .. import versioned_file

Record = dict[str, Any]
"""A cell with its measurements; its plan is an index into the plans of the report."""
VERSION = 1
NAMED = ("cell", "dtype", "op", "shape", "strides", "offset", "axes", "bytes", "one_cta")
"""The fields that identify the work of a cell; that of a program is marked by ``program``, too."""
MEASURED = ("plan", "us", "right")
"""The fields of a cell that did not fail."""
FORMAT = "warpfold grid"
FLOOR, PROGRAM_FLOOR, GATED_BYTES = 0.85, 0.80, 64e6
"""The gate of large cells: least fraction of a plain read, for a program of a copy, and the bytes from which it
applies."""
ABOVE = 1.5
"""The gate of cells of one CTA: microseconds beyond an empty launch."""
PRINTED_BYTES = 1e6
"""Bytes from which a fraction of the ceiling is meaningful."""


@dataclass
class Report:
    """The findings of one run.

    Attributes:
        machine: GPU, driver, versions, commit, date.
        ceilings: read and copy in GB/s, empty in us, and the plain reads by size.
        plans: all plans of cells, as ``--plan`` takes them.
        cells: the measured cells, in order.
        warnings: reasons to doubt the numbers.
        left_out: names of cells that did not fit in memory.
        complete: whether the run was not interrupted.
    """

    machine: dict[str, Any]
    ceilings: dict[str, Any] = field(default_factory=dict)
    plans: list[str] = field(default_factory=list)
    cells: list[Record] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    complete: bool = False

    def plan_number(self, text: str) -> int:
        """The index of a plan, which is added if it is new."""
        if text not in self.plans:
            self.plans.append(text)
        return self.plans.index(text)

    def plan(self, record: Record) -> str:
        """The plan of a cell."""
        return self.plans[record["plan"]] if "plan" in record else "none"

    def misses(self) -> list[Record]:
        """The cells that miss a gate: wrong ones first, then the worst."""
        return sorted((r for r in self.cells if missed(r)), key=_badness)

    def write(self, output: Output) -> None:
        """Writes the file with one line per cell, whole or not at all."""
        head = {
            "format": FORMAT, "version": VERSION, "complete": self.complete, "machine": self.machine,
            "warnings": self.warnings, "ceilings": self.ceilings, "left_out": self.left_out, "plans": self.plans,
        }  # fmt: skip
        lines = ",\n".join(json.dumps(r, separators=(",", ":"), allow_nan=False) for r in self.cells)
        start = json.dumps(head, indent=1, allow_nan=False).removesuffix("\n}")
        text = f'{start},\n "cells": [\n{lines}\n]}}\n'
        output.write(lambda f: f.write(text.encode()))


def read(path: str) -> Report:
    """The report of a file.

    Raises:
        FileError: WF501 for an unreadable file, WF743 for another version, WF744 for a damaged file.
    """
    return versioned_file.load(path, FORMAT, VERSION, _read)


def _read(found: dict[str, Any]) -> Report:
    names = ("machine", "ceilings", "plans", "cells", "warnings", "left_out", "complete")
    report = Report(**{name: found[name] for name in names})
    for record in report.cells:
        needed = NAMED if "error" in record else (*NAMED, *MEASURED)
        lacking = [name for name in needed if name not in record]
        if lacking:
            raise ValueError(f"a cell lacks {', '.join(lacking)}")
        report.plan(record)
        if "error" not in record:
            slow(record)
    return report


def key(record: Record) -> tuple[str, str]:
    """The key of a cell within a report."""
    return record["cell"], record["dtype"]


def missed(record: Record) -> str:
    """The gate that a cell misses: ``error``, ``wrong``, ``ceiling`` or ``launch``; empty for none."""
    if "error" in record:
        return "error"
    return slow(record) if record["right"] else "wrong"


def slow(record: Record) -> str:
    """The gate on time that a cell misses: ``ceiling`` or ``launch``; empty for none."""
    floor = PROGRAM_FLOOR if record.get("program") else FLOOR
    if record["bytes"] >= GATED_BYTES and record["fraction"] < floor:
        return "ceiling"
    return "launch" if record["one_cta"] and record["above"] > ABOVE else ""


def gated(record: Record) -> bool:
    """Whether a cell has a gate on time: it is large, or fits one CTA."""
    return "error" not in record and (record["bytes"] >= GATED_BYTES or record["one_cta"])


def _badness(record: Record) -> tuple[int, float]:
    """The order of misses."""
    kind = missed(record)
    rank = ("error", "wrong", "ceiling", "launch").index(kind)
    return rank, {"ceiling": record.get("fraction", 0.0), "launch": -record.get("above", 0.0)}.get(kind, 0.0)


def summary(records: Sequence[Record]) -> str:
    """The numbers of cells, of gated cells, and of misses, in words."""
    bad = [r for r in records if missed(r)]
    return f"{len(records)} cells, {sum(map(gated, records))} of them gated: {len(bad)} miss"


def worst(records: Sequence[Record]) -> tuple[str, int]:
    """The worst gated cell in words, a large one if there is one, and the number of misses."""
    large = [r["fraction"] for r in records if "fraction" in r and r["bytes"] >= GATED_BYTES]
    small = [r["above"] for r in records if "above" in r]
    text = f"{100 * min(large):.0f} %" if large else f"{max(small):+.2f} us" if small else ""
    return text, sum(bool(missed(r)) for r in records)
