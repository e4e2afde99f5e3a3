"""Writes the README's performance table and the pictures beside it from the committed results.

``python benchmarks/readme_table.py`` after ``warpfold bench --out benchmarks/results/h200.json`` and ``warpfold grid
--out benchmarks/results/grid-h200.json``; a test fails while the README says anything else.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from warpfold.commands.bench.grid import heat, records
from warpfold.commands.bench.grid.records import Report
from warpfold.commands.bench.report import cell, megabytes
from warpfold.commands.bench.results import LEVEL, Results, Row, load
from warpfold.commands.bench.roofline import Roofline
from warpfold.compiler.errors import WarpfoldError

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "h200.json"
PICTURE = ROOT / "docs" / "roofline.svg"
GRID = ROOT / "benchmarks" / "results" / "grid-h200.json"
HEAT = ROOT / "docs" / "heat.png"
DOTS = 110
"""Dots an inch of the picture of the grid: small as a file, its labels readable."""
BEGIN_GRID, END_GRID = "<!-- grid: written by benchmarks/readme_table.py -->", "<!-- end of grid -->"
BEGIN, END = "<!-- benchmark: written by benchmarks/readme_table.py -->", "<!-- end of benchmark -->"


def block(results: Results) -> str:
    """What stands between the marks: where it was measured, the means, the table, the picture."""
    rows = [r for r in results.rows if r.plain]
    texts = [
        textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)
        for text in (where(results), means(results))
    ]
    return "\n\n".join([*texts, table(results, rows), "![roofline](docs/roofline.svg)"])


def source(machine: Mapping[str, Any]) -> str:
    """The commit that was measured, and whether files differed from it."""
    changed = " with changes" if machine["dirty"] else ""
    return f"commit {machine['commit'][:12]}{changed}" if machine["commit"] else "no commit named"


def where(results: Results) -> str:
    """GPU, driver, versions, commit."""
    m, top = results.machine, results.ceilings
    peers = "; ".join(f"{name} {text}" for name, text in results.peers.items())
    text = (
        f"One {m['gpu']}, driver {m['driver'] or 'unknown'}, CUDA {m['cuda']}, {m['date']}, {source(m)}, Python "
        f"{m['python']}. Peers: {peers}. Ceilings of the same run: read {top.read:,.0f} GB/s, copy "
        f"{top.copy:,.0f} GB/s, empty kernel {top.empty:.2f} us."
    )
    if results.warnings:
        text += f" The run warned: {'; '.join(results.warnings)}."
    return text


def means(results: Results) -> str:
    """The geometric means, and the cases in which a peer was faster."""
    (plain, count), (whole, every) = results.mean(plain=True), results.mean()
    behind = ", ".join(f"{r.name} ({r.best[0]})" for r in results.behind if r.best)
    also = f" ({whole:.2f} over all {every} that were measured)" if every > count else ""
    text = (
        f"Against the best peer of each case warpfold is {plain:.2f} times as fast: the geometric mean of {count} cases"
    )
    also += f"; a plain read of as many bytes would be {results.read_mean(plain=True):.2f} times as fast"
    return f"{text}{also}. Cases in which a peer was faster by more than {1 - LEVEL:.0%}: {behind or 'none'}."


def table(results: Results, rows: list[Row]) -> str:
    """A line a case: microseconds of each, how many times as fast as the best peer, the part of the read ceiling."""
    names = list(results.peers)
    titles = ["case", "MB", "warpfold", *names, "times", "of read", "of its size"]
    lines = [titles, ["---"] * len(titles), *(_line(results, row, names) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _line(results: Results, row: Row, names: list[str]) -> list[str]:
    of = row.of_ceiling(results.ceilings)
    peers = [cell(row.peers[name]) for name in names]
    times = f"{row.ratio:.2f}" if row.ratio else ""
    parts = [f"{part:.1%}" for part in of] if of else ["", ""]
    return [row.name, megabytes(row.nbytes), cell(row.ours), *peers, times, *parts]


def grid_block(report: Report) -> str:
    """What a grid found, in numbers and as a picture."""
    m = report.machine
    least, large = f"{records.FLOOR:.0%}", f"{records.GATED_BYTES / 1e6:.0f} MB"
    gates = (
        f"under {least} of the speed of a plain read of as many bytes, from {large} on; or more than {records.ABOVE} "
        f"us beyond an empty launch, where one CTA does all"
    )
    text = f"One {m['gpu']}, {m['date']}, {source(m)}. {records.summary(report.cells)}: {gates}."
    return f"{textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)}\n\n![grid](docs/heat.png)"


def written(text: str, results: Results) -> str:
    """The README with the benchmark's block between its marks."""
    return _between(text, BEGIN, END, block(results))


def with_grid(text: str, report: Report) -> str:
    """The README with the grid's block between its marks."""
    return _between(text, BEGIN_GRID, END_GRID, grid_block(report))


def _between(text: str, first: str, last: str, what: str) -> str:
    head, begin, rest = text.partition(first)
    _, end, tail = rest.partition(last)
    if not begin or not end:
        raise SystemExit(f"README.md lacks the marks {first!r} and {last!r}")
    return f"{head}{first}\n\n{what}\n\n{last}{tail}"


@click.command
def main() -> None:
    """Write the README's table and pictures from benchmarks/results/."""
    try:
        results, report = load(RESULTS), records.read(str(GRID))
    except WarpfoldError as e:
        raise SystemExit(e.render()) from None
    readme = ROOT / "README.md"
    text = with_grid(written(readme.read_text(encoding="utf-8"), results), report)
    readme.write_text(text, encoding="utf-8")
    Roofline(str(PICTURE)).write(results)
    heat.draw(report).savefig(HEAT, dpi=DOTS)


if __name__ == "__main__":
    main()
