"""The printed report of the program cases: a table, and a summary."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..results import LEVEL, Results, Row, mean
from ..times import cell, megabytes, microseconds, with_spread
from . import goals
from .case import GATED_BYTES, ProgramCase, parse
from .cases import BACKWARD, BACKWARD_GOAL, STANDARD

AHEAD = {"cross_entropy_fwdbwd": 1.45}
"""How many times as fast as the best peer some operations should be."""
LISTS: dict[str, Callable[[ProgramCase], bool]] = {
    "standard cases": lambda case: case.name in STANDARD,
    f"gradients of the table (goal {BACKWARD_GOAL})": lambda case: case.name in BACKWARD,
    "cases of contiguous rows": lambda case: case.contiguous,
    "programs in all": lambda _: True,
}
"""The lists of cases whose geometric means the summary gives."""


def case_of(row: Row) -> ProgramCase:
    """The case of a row."""
    found = parse(row.name)
    if found is None:
        raise ValueError(f"{row.name} is no program case")
    return found


def peers_of(rows: Sequence[Row]) -> list[str]:
    """The names of all peers of some rows, in order."""
    return list(dict.fromkeys(name for row in rows for name in row.peers))


def table(results: Results) -> tuple[list[str], list[list[str]]]:
    """Titles and cells: times in microseconds; warpfold's with the interquartile range.

    The last column is there for masks: the lines that their cases are to reach, with what was reached.
    """
    rows = results.programs
    names = peers_of(rows)
    columns = ["case", "MB", "copy", "warpfold us", *names, "best peer", "times", "% of copy"]
    lines, said = [_line(row, names) for row in rows], [goals.words(row, rows, results.ceilings) for row in rows]
    if not any(said):
        return columns, lines
    return [*columns, "goals"], [[*line, text] for line, text in zip(lines, said, strict=True)]


def _line(row: Row, names: Sequence[str]) -> list[str]:
    return [
        row.name, megabytes(row.nbytes), microseconds(row.copy.median) if row.copy else "", with_spread(row.ours),
        *(cell(row.peers[name]) for name in names),
        row.best[0] if row.best else "", f"{row.ratio:.2f}" if row.ratio else "",
        f"{100 * row.of_copy:.1f}" if row.of_copy else "",
    ]  # fmt: skip


def summary(results: Results) -> list[str]:
    """The geometric means, the cases below their goals, and what small cases take."""
    rows = results.programs
    lists = {tuple(r.name for r in rows if wanted(case_of(r))): words for words, wanted in LISTS.items()}
    lines = [_mean(words, [r for r in rows if r.name in names]) for names, words in lists.items() if names]
    behind = [f"{r.name} {r.ratio:.3f} ({r.best[0]})" for r in results.behind if r.best and r in rows]
    lines.append(f"slower than {LEVEL} of the best peer: {', '.join(behind) or 'none'}")
    low = [f"{r.name} {of:.1%} (goal {goal:.0%})" for r, of, goal in below(rows)]
    lines.append(f"large cases under their goal of a copy: {', '.join(low) or 'none'}")
    slow = [f"{r.name} {r.ratio:.2f} (goal {goal})" for r, goal in _not_ahead(rows)]
    if slow:
        lines.append(f"not as far ahead of the best peer as they should be: {', '.join(slow)}")
    small = [r for r in rows if r.nbytes < GATED_BYTES and r.ours.us]
    if small:
        beyond = ", ".join(f"{r.name} {r.ours.us - results.ceilings.empty:+.2f}" for r in small if r.ours.us)
        lines.append(f"small cases, us beyond an empty launch: {beyond}")
    return lines


def below(rows: Sequence[Row]) -> list[tuple[Row, float, float]]:
    """The large cases that miss their goal: row, fraction of a copy, goal."""
    found = [(r, r.of_copy, case_of(r).goal) for r in rows]
    return [(r, of, goal) for r, of, goal in found if of and goal and of < goal]


def _not_ahead(rows: Sequence[Row]) -> list[tuple[Row, float]]:
    """The cases that are less fast than ``AHEAD`` says, with what it says."""
    found = [(r, AHEAD.get(case_of(r).what, 0.0)) for r in rows]
    return [(r, goal) for r, goal in found if r.ratio and r.ratio < goal]


def _mean(words: str, rows: Sequence[Row]) -> str:
    """The speeds of some cases relative to the best peer and to a copy, and what a copy reaches."""
    found, count = mean([r.ratio for r in rows])
    ceiling, _ = mean([r.best[1] / r.copy.median for r in rows if r.ratio and r.best and r.copy])
    of_copy, measured = mean([r.of_copy for r in rows])
    return (
        f"{found:.3f} times as fast as the best peer of each case, geometric mean of {count} {words}; "
        f"a copy of as many bytes {ceiling:.3f}; {of_copy:.1%} of the speed of a copy, mean of {measured}"
    )
