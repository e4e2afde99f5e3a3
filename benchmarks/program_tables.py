"""Prints the Markdown tables of programs from files that were measured: times against peers, and errors in ulps.

    python benchmarks/program_tables.py build/programs/programs.json build/programs/accuracy.json

The first file is of ``warpfold bench --cases fused``, the second, which may be left out, of ``accuracy_programs.py``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from readme_table import filled, markdown, where

from warpfold.commands.bench.programs.cases import STANDARD
from warpfold.commands.bench.programs.report import peers_of, summary
from warpfold.commands.bench.results import Results, Row, load
from warpfold.commands.bench.times import cell, megabytes, microseconds
from warpfold.compiler.errors import WarpfoldError


def times(results: Results) -> str:
    """Machine and versions, the summary, and a row for each standard case."""
    rows = [r for r in results.programs if r.name in STANDARD]
    names = peers_of(rows)
    titles = ["case", "MB", "copy, us", "warpfold, us", *(f"{n}, us" for n in names), "speedup over the fastest peer"]
    lines = [_case(row, names) for row in rows]
    said = "\n".join(f"- {line}" for line in summary(results))
    return "\n\n".join([filled(where(results)), said, markdown([*titles, "% of a copy"], lines)])


def _case(row: Row, names: Sequence[str]) -> list[str]:
    peers = [cell(row.peers[name]) for name in names]
    copy = microseconds(row.copy.median) if row.copy else ""
    ratios = [f"{row.ratio:.2f}" if row.ratio else "", f"{100 * row.of_copy:.1f}" if row.of_copy else ""]
    return [row.name, megabytes(row.nbytes), copy, cell(row.ours), *peers, *ratios]


def errors(kept: Mapping[str, Any]) -> str:
    """A row for each program and kind of input: the worst and the mean error in ulps of warpfold and of PyTorch."""
    titles = ["case", "inputs", "worst, warpfold", "worst, torch", "mean, warpfold", "mean, torch"]
    lines = [
        [r["case"], r["inputs"], *(_number(r[who][what]) for what in ("worst", "mean") for who in ("ours", "torch"))]
        for r in kept["rows"]
    ]
    return markdown(titles, lines)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


@click.command()
@click.argument("bench", type=click.Path(path_type=Path))
@click.argument("accuracy", required=False, type=click.Path(path_type=Path, exists=True))
def main(bench: Path, accuracy: Path | None) -> None:
    """Print the tables of the files BENCH and ACCURACY."""
    try:
        print(times(load(bench)))
    except WarpfoldError as e:
        raise SystemExit(e.render()) from None
    if accuracy:
        print(f"\n{errors(json.loads(accuracy.read_text(encoding='utf-8')))}")


if __name__ == "__main__":
    main()
