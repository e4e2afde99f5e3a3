"""The printed report of the benchmark: a table of the cases and a summary."""

from __future__ import annotations

from collections.abc import Sequence

from .. import terminal
from . import provenance
from .programs import report as programs
from .results import HIGH, LARGE, LEVEL, Results, Row
from .times import cell, megabytes, with_spread

REASONS = 40
"""Greatest number of reasons, one for each peer and text."""


def show(results: Results) -> None:
    """Prints the report."""
    top, where = results.ceilings, results.machine
    terminal.show(f"{where['gpu']}, driver {where['driver'] or 'unknown'}, CUDA {where['cuda']}, {where['date']}")
    terminal.show(f"ceilings: read {top.read:.0f} GB/s, copy {top.copy:.0f} GB/s, empty kernel {top.empty:.2f} us")
    others = provenance.committed()
    if others and where["gpu"] not in others:
        terminal.show(f"the committed numbers are of another GPU ({', '.join(others)}): compare within this run")
    terminal.show("peers: " + "; ".join(f"{name} {text}" for name, text in results.peers.items()))
    terminal.show()
    if results.reductions:
        _part(table(results), summary(results))
    if results.programs:
        _part(programs.table(results), programs.summary(results))
    for line in (*_host(results), *_reasons(results.rows)):
        terminal.show(line)
    for warning in results.warnings:
        terminal.show(f"warning: {warning}")


def _part(cells: tuple[list[str], list[list[str]]], lines: Sequence[str]) -> None:
    """Prints the table and the summary of the cases of one sort."""
    terminal.table(*cells, spare=("% of its size",))
    for line in ("", *lines):
        terminal.show(line)


def table(results: Results) -> tuple[list[str], list[list[str]]]:
    """Titles and cells of the reductions: times in microseconds; warpfold's with the interquartile range."""
    names = programs.peers_of(results.reductions)
    columns = ["case", "MB", "warpfold us", *names, "best peer", "times", "% of read", "% of its size"]
    return columns, [_line(results, row, names) for row in results.reductions]


def _line(results: Results, row: Row, names: Sequence[str]) -> list[str]:
    of = row.of_ceiling(results.ceilings)
    return [
        row.name, megabytes(row.nbytes), with_spread(row.ours), *(cell(row.peers[name]) for name in names),
        row.best[0] if row.best else "", f"{row.ratio:.2f}" if row.ratio else "",
        *(f"{100 * part:.1f}" for part in of or ()),
    ] + [""] * (0 if of else 2)  # fmt: skip


def summary(results: Results) -> list[str]:
    """The geometric means of the reductions, and those below their targets."""
    lines = []
    for plain, label in ((True, "plain cases"), (False, "cases in all")):
        mean, count = results.mean(plain=plain)
        if count and (plain or count > results.mean(plain=True)[1]):
            words = f"{mean:.3f} times as fast as the best peer of each case, geometric mean of {count} {label}"
            lines.append(f"{words}; a plain read of as many bytes {results.read_mean(plain=plain):.3f}")
    behind = [f"{r.name} {r.ratio:.3f} ({r.best[0]})" for r in results.behind if r.best and r in results.reductions]
    lines.append(f"slower than {LEVEL} of the best peer: {', '.join(behind) or 'none'}")
    low = [(r, r.of_ceiling(results.ceilings)) for r in results.low]
    short = [f"{r.name} {of[0]:.1%}" for r, of in low if of]
    lines.append(f"from {LARGE // 10**6} MB on under {HIGH:.0%} of the read ceiling: {', '.join(short) or 'none'}")
    return lines


def _host(results: Results) -> list[str]:
    """The host costs of calls, one line for each cost."""
    return [f"{cost}: " + "; ".join(f"{k} {v:.3g}" for k, v in by.items()) for cost, by in results.host.items()]


def _reasons(rows: Sequence[Row]) -> list[str]:
    """The reasons why contestants failed or were wrong, each with its number of cases."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        for name, entry in {"warpfold": row.ours, **row.peers}.items():
            if entry.word in ("failed", "wrong"):
                found.setdefault((name, entry.word, entry.reason), []).append(row.name)
    lines = [
        f"{name} {word} in {cases[0]}{f' and {len(cases) - 1} more' if len(cases) > 1 else ''}: {text}"
        for (name, word, text), cases in found.items()
    ]
    return lines[:REASONS]
