"""Writes the tables of speed in README.md and docs/performance.md, and the pictures, from the committed results.

Run ``python benchmarks/readme_table.py`` after ``warpfold bench --out benchmarks/results/h200.json`` and ``warpfold
grid --out benchmarks/results/grid-h200.json``; a test fails while a page says anything else.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import click

from warpfold.commands.bench.grid import heatmap, records
from warpfold.commands.bench.grid.records import Report
from warpfold.commands.bench.results import LEVEL, Results, Row, load
from warpfold.commands.bench.roofline import Roofline
from warpfold.commands.bench.times import cell, megabytes
from warpfold.compiler.errors import WarpfoldError

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PERFORMANCE = ROOT / "docs" / "performance.md"
RESULTS = ROOT / "benchmarks" / "results" / "h200.json"
PICTURE = ROOT / "docs" / "roofline.svg"
GRID = ROOT / "benchmarks" / "results" / "grid-h200.json"
HEAT = ROOT / "docs" / "heat.png"
DOTS = 110
"""Dots an inch of the grid's picture: a small file with readable labels."""
TITLES = {
    "torch": "PyTorch, eager",
    "compile": "torch.compile, static shapes",
    "cupy": "CuPy",
    "cub": "CUB",
    "triton": "Triton, kernels written by hand",
    "quack": "QuACK",
    "liger": "Liger",
}
"""What README calls each peer."""


def speedups(results: Results) -> str:
    """README's block: how many times as fast as each peer warpfold is, over the plain cases."""
    plain = [row for row in results.rows if row.plain]
    found = {TITLES.get(peer, peer): ratios_to(plain, peer) for peer in results.peers}
    found["the fastest of these in each case"] = [row.ratio for row in plain if row.ratio]
    lines = [_speedup(title, ratios) for title, ratios in found.items() if ratios]
    titles = ["warpfold compared with", "cases", "speedup, geometric mean", "smallest speedup"]
    m = results.machine
    text = (
        f"Measured on one {m['gpu']}, {m['date'][:10]}, {source(m)}. A speedup is the peer's device time over "
        f"warpfold's. Against the fastest peer a plain read of the same bytes, the ceiling of every reduction, reaches "
        f"{results.read_mean(plain=True):.2f}."
    )
    return "\n\n".join([markdown(titles, lines), filled(text)])


def ratios_to(rows: Sequence[Row], peer: str) -> list[float]:
    """The peer's time over warpfold's, in each case where there are two times."""
    times = [(row.peers[peer].us, row.ours.us) for row in rows]
    return [theirs / ours for theirs, ours in times if theirs and ours]


def _speedup(title: str, ratios: Sequence[float]) -> list[str]:
    return [title, str(len(ratios)), *(f"{r:.2f}" for r in (geometric_mean(ratios), min(ratios)))]


def cases(results: Results) -> str:
    """The performance page's block: machine and versions, the means, a row for each plain case, the picture."""
    rows = [row for row in results.rows if row.plain]
    return "\n\n".join(
        [filled(where(results)), filled(means(results)), table(results, rows), "![roofline](roofline.svg)"]
    )


def source(machine: Mapping[str, Any]) -> str:
    """The commit that was measured, and whether files differed from it."""
    changed = " with changes" if machine["dirty"] else ""
    return f"commit {machine['commit'][:12]}{changed}" if machine["commit"] else "no commit named"


def where(results: Results) -> str:
    """GPU, driver, versions and commit."""
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
    (plain, count), (every, in_all) = results.mean(plain=True), results.mean()
    behind = ", ".join(f"{r.name} ({r.best[0]})" for r in results.behind if r.best)
    also = f" ({every:.2f} over all {in_all} measured cases)" if in_all > count else ""
    return (
        f"warpfold is {plain:.2f} times as fast as the fastest peer of each case, in the geometric mean of {count} "
        f"cases{also}; a plain read of the same bytes would be {results.read_mean(plain=True):.2f} times as fast. "
        f"Cases in which a peer was faster by more than {1 - LEVEL:.0%}: {behind or 'none'}."
    )


def table(results: Results, rows: Sequence[Row]) -> str:
    """A row for each case: microseconds of each contestant, the speedup, and the two fractions of a plain read."""
    names = list(results.peers)
    titles = [
        "case", "MB", "warpfold, us", *(f"{name}, us" for name in names), "speedup over the fastest peer",
        "% of the read of 1 GiB", "% of a read of its size",
    ]  # fmt: skip
    return markdown(titles, [_case(results, row, names) for row in rows])


def _case(results: Results, row: Row, names: Sequence[str]) -> list[str]:
    of = row.of_ceiling(results.ceilings)
    peers = [cell(row.peers[name]) for name in names]
    speedup = f"{row.ratio:.2f}" if row.ratio else ""
    parts = [f"{100 * part:.1f}" for part in of] if of else ["", ""]
    return [row.name, megabytes(row.nbytes), cell(row.ours), *peers, speedup, *parts]


def layouts(report: Report) -> str:
    """The performance page's second block: what the grid found, in numbers and as a picture."""
    m = report.machine
    timed = [r for r in report.cells if "error" not in r]
    large = [r for r in timed if r["bytes"] >= records.GATED_BYTES and not r.get("program")]
    small = [r for r in timed if r["one_cta"]]
    slow, late = (
        sum(records.missed(r) == kind for r in cells) for cells, kind in ((large, "ceiling"), (small, "launch"))
    )
    text = (
        f"One {m['gpu']}, {m['date']}, {source(m)}. The grid has {len(report.cells):,} cells. Of {len(large):,} cells "
        f"that move {records.GATED_BYTES / 1e6:.0f} MB or more, {slow} stay under {records.FLOOR:.0%} of the speed of "
        f"a plain read of the same bytes. Of {len(small)} cells that one CTA reduces, {late} take more than "
        f"{records.ABOVE} us beyond an empty launch."
    )
    programs = [r for r in timed if r["bytes"] >= records.GATED_BYTES and r.get("program")]
    if programs:
        slow = sum(records.missed(r) == "ceiling" for r in programs)
        text += (
            f" Of {len(programs)} large cells of programs, {slow} stay under {records.PROGRAM_FLOOR:.0%} of the speed "
            "of a copy of as many bytes."
        )
    return f"{filled(text)}\n\n![every cell of the grid, coloured by its fraction of a plain read](heat.png)"


def host(results: Results) -> str:
    """The performance page's third block: what one call costs the host, by what is called."""
    costs = results.host["us of the host"]
    lines = [[f"`{call}`", f"{us:.1f}"] for call, us in costs.items()]
    return markdown(["call", "microseconds of the host"], lines)


def written(text: str, by: str = "readme_table.py", **blocks: str) -> str:
    """A page with each block between its marks, which name the script that writes it."""
    for name, block in blocks.items():
        begin, end = f"<!-- {name}: written by benchmarks/{by} -->", f"<!-- end of {name} -->"
        head, found, rest = text.partition(begin)
        _, closed, tail = rest.partition(end)
        if not found or not closed:
            raise SystemExit(f"the page lacks the marks {begin!r} and {end!r}")
        text = f"{head}{begin}\n\n{block}\n\n{end}{tail}"
    return text


def pages(results: Results, report: Report) -> dict[Path, str]:
    """The pages that hold numbers of speed, as the results have them."""
    readme, performance = (page.read_text(encoding="utf-8") for page in (README, PERFORMANCE))
    blocks = {"cases": cases(results), "layouts": layouts(report), "host": host(results)}
    return {README: written(readme, speedups=speedups(results)), PERFORMANCE: written(performance, **blocks)}


def markdown(titles: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (titles, ["---"] * len(titles), *lines))


def filled(text: str) -> str:
    """A paragraph."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


@click.command
def main() -> None:
    """Write the numbers of the pages, and their pictures, from benchmarks/results/."""
    try:
        results, report = load(RESULTS), records.read(str(GRID))
    except WarpfoldError as e:
        raise SystemExit(e.render()) from None
    for page, text in pages(results, report).items():
        page.write_text(text, encoding="utf-8")
    Roofline(str(PICTURE)).write(results)
    heatmap.draw(report).savefig(HEAT, dpi=DOTS)


if __name__ == "__main__":
    main()
