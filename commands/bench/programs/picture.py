"""The picture of program cases: the speed of warpfold and of the best peer in each, as a fraction of a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ladder_plot import GRID, INK, LINE, PALE
from ..results import Results, Row
from .report import peers_of

OURS, PEER = "#1971c2", "#e8590c"
WIDTH, LINE_HEIGHT, ABOVE, BELOW = 9.5, 0.2, 0.95, 0.75
"""In inches: width of the figure, height of a case, and vertical margins."""


def draw(results: Results) -> Any:
    """The figure: one line a case, in the order of the run."""
    from matplotlib.figure import Figure

    rows = [r for r in results.programs if r.copy and (r.ours.us or r.best)]
    height = LINE_HEIGHT * max(1, len(rows)) + ABOVE + BELOW
    figure = Figure(figsize=(WIDTH, height), facecolor="white")
    ax = figure.add_axes((0.31, BELOW / height, 0.66, 1 - (ABOVE + BELOW) / height))
    for place, row in enumerate(rows):
        _case(ax, row, place)
    ax.axvline(100, color=LINE, linewidth=1.1, zorder=2)
    ax.set_yticks(range(len(rows)), [r.name for r in rows])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(0, 115)
    ax.set_title("% of the speed of a copy of as many bytes", fontsize=10.5, loc="left")
    ax.grid(axis="x", color=GRID, zorder=0, linewidth=0.7)
    ax.tick_params(length=0, labelcolor=INK, labelsize=9)
    ax.tick_params(axis="y", labelsize=8)
    for side in ("top", "right", "bottom"):
        ax.spines[side].set_visible(False)
    ax.spines["left"].set_color(PALE)
    _words(figure, results, rows, height)
    return figure


def _case(ax: Any, row: Row, place: int) -> None:
    """Draws warpfold, the best peer, and a bar between them."""
    copy = row.copy.median if row.copy else 0.0
    theirs = 100 * copy / row.best[1] if row.best else None
    ours = 100 * copy / row.ours.us if row.ours.us else None
    if theirs and ours:
        ax.plot([theirs, ours], [place] * 2, color=PALE, linewidth=1.5, zorder=3)
    if theirs:
        ax.plot(theirs, place, "o", color="white", markeredgecolor=PEER, markersize=5, zorder=4)
    if ours:
        ax.plot(ours, place, "o", color=OURS, markersize=5.5, markeredgewidth=0, zorder=5)


def _words(figure: Any, results: Results, rows: Sequence[Row], height: float) -> None:
    """The captions: what was measured and where, and the meaning of colours."""
    from matplotlib.lines import Line2D

    names = [n for n in peers_of(rows) if any(r.peers[n].us for r in rows)]
    figure.text(0.012, 1 - 0.33 / height, f"Programs on {results.machine['gpu']}", fontsize=13.5, weight="bold")
    note = "median device time, the L2 cache flushed before each call"
    note = f"the best peer is the fastest of {', '.join(names)} in each case; {note}" if names else note
    figure.text(0.012, 1 - 0.58 / height, note, fontsize=9, color=PALE)
    marks = [("warpfold", OURS, OURS)] + ([("the best peer", "white", PEER)] if names else [])
    keys = [Line2D([], [], marker="o", linestyle="", color=face, markeredgecolor=edge, label=label)
            for label, face, edge in marks]  # fmt: skip
    figure.legend(handles=keys, loc="lower left", bbox_to_anchor=(0.29, 0), ncols=2, frameon=False, fontsize=9)
