"""Writes the README's performance table and ``docs/roofline.svg`` from the committed results of the benchmark.

``python benchmarks/readme_table.py`` after ``warpfold bench --out benchmarks/results/h200.json``; a test fails while
the README says anything else.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import click

from warpfold.commands.bench.report import cell, megabytes
from warpfold.commands.bench.results import LEVEL, Results, Row, load
from warpfold.commands.bench.roofline import Roofline
from warpfold.compiler.errors import WarpfoldError

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "h200.json"
PICTURE = ROOT / "docs" / "roofline.svg"
BEGIN, END = "<!-- benchmark: written by benchmarks/readme_table.py -->", "<!-- end of benchmark -->"


def block(results: Results) -> str:
    """What stands between the marks: where it was measured, the means, the table, the picture."""
    rows = [r for r in results.rows if r.plain]
    texts = [
        textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)
        for text in (where(results), means(results))
    ]
    return "\n\n".join([*texts, table(results, rows), "![roofline](docs/roofline.svg)"])


def where(results: Results) -> str:
    """GPU, driver, versions, commit."""
    m, top = results.machine, results.ceilings
    commit = f"commit {m['commit'][:12]}{' with changes' if m['dirty'] else ''}" if m["commit"] else "no commit named"
    peers = "; ".join(f"{name} {text}" for name, text in results.peers.items())
    text = (
        f"One {m['gpu']}, driver {m['driver'] or 'unknown'}, CUDA {m['cuda']}, {m['date']}, {commit}, Python "
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


def written(text: str, results: Results) -> str:
    """The README with the block between its marks."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"README.md lacks the marks {BEGIN!r} and {END!r}")
    return f"{head}{BEGIN}\n\n{block(results)}\n\n{END}{tail}"


@click.command
def main() -> None:
    """Write the README's table and the picture from benchmarks/results/h200.json."""
    try:
        results = load(RESULTS)
    except WarpfoldError as e:
        raise SystemExit(e.render()) from None
    readme = ROOT / "README.md"
    readme.write_text(written(readme.read_text(encoding="utf-8"), results), encoding="utf-8")
    Roofline(str(PICTURE)).write(results)


if __name__ == "__main__":
    main()
