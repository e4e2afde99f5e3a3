"""The picture of ``warpfold bench --plot``: the speed of each case beside the ceilings.

The left panel shows all cases by bytes moved, on logarithmic axes; the right panel shows the large cases by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...runtime.tuning.measure import Ceilings
from ..ladder_plot import GRID, INK, LINE, PALE, Picture
from .programs import picture as programs
from .results import Results, Row

OURS, PEER = "#1971c2", "#e8590c"
MARKS = {"full": "o", "row": "s", "col": "^", "mid": "D"}
GROUPS = {"full": "everything", "row": "rows", "col": "columns", "mid": "middle axes"}
CURVE = 200
"""Number of points of a curve."""
NAMED = 16_000_000
"""Bytes from which a case is in the right panel, too: below, bandwidth does not determine time."""
WIDTH, TALL, LINE_HEIGHT, ABOVE, BELOW = 13.5, 5.0, 0.2, 0.95, 1.05
"""In inches: width of the figure and of the left panel, height of a case, and vertical margins."""


class Roofline(Picture):
    """The picture file."""

    def figure(self, report: Results) -> Any:
        """The figure of some results: of the reductions, or of a run of programs alone."""
        return draw(report) if report.reductions else programs.draw(report)


def draw(results: Results) -> Any:
    """The figure."""
    from matplotlib.figure import Figure

    rows = [r for r in results.reductions if r.ours.us]
    named = sorted((r for r in rows if r.nbytes >= NAMED), key=lambda r: (list(MARKS).index(r.group), -_speed(r)))
    tall = max(TALL, LINE_HEIGHT * len(named))
    height = tall + ABOVE + BELOW
    figure = Figure(figsize=(WIDTH, height), facecolor="white")
    left = figure.add_axes((0.055, 1 - (ABOVE + TALL) / height, 0.43, TALL / height))
    right = figure.add_axes((0.68, BELOW / height, 0.305, tall / height))
    _roof(left, results.ceilings, rows)
    _names(right, results.ceilings, named)
    _words(figure, results, rows, height)
    return figure


def _speed(row: Row) -> float:
    """Warpfold's speed in GB/s."""
    return row.nbytes / (row.ours.us or 1.0) / 1e3


def _theirs(row: Row) -> float | None:
    """The best peer's speed in GB/s."""
    return row.nbytes / row.best[1] / 1e3 if row.best else None


# --- all cases, by bytes -------------------------------------------------------------------------------------------
def _roof(ax: Any, top: Ceilings, rows: Sequence[Row]) -> None:
    low = min([4096, *(r.nbytes for r in rows)]) / 2
    high = max([1 << 30, *(r.nbytes for r in rows)]) * 2.5
    _ceilings(ax, top, low, high)
    for row in rows:
        theirs = _theirs(row)
        if theirs:
            ax.plot([row.nbytes] * 2, [_speed(row), theirs], color=PALE, linewidth=1, zorder=3)
            ax.plot(row.nbytes, theirs, MARKS[row.group], color="white", markeredgecolor=PEER, markersize=5, zorder=4)
        ax.plot(row.nbytes, _speed(row), MARKS[row.group], color=OURS, markersize=5.5, markeredgewidth=0, zorder=5)
    _axes(ax, top, low, high)


def _ceilings(ax: Any, top: Ceilings, low: float, high: float) -> None:
    """Draws the ceilings: read, copy, the limit by an empty launch, and plain reads of each size."""
    for value, words, style in ((top.read, "read of 1 GiB", "-"), (top.copy, "copy of 1 GiB", "--")):
        ax.axhline(value, color=LINE, linewidth=1.1, linestyle=style, zorder=2)
        above = value == max(top.read, top.copy)
        ax.annotate(f"{words}: {value:,.0f} GB/s", (low * 1.2, value), (0, 5 if above else -12),
                    textcoords="offset points", fontsize=9, color=LINE)  # fmt: skip
    xs = [low * (high / low) ** (i / CURVE) for i in range(CURVE + 1)]
    floor = [(x, x / top.empty / 1e3) for x in xs if x / top.empty / 1e3 <= 1.2 * max(top.read, top.copy)]
    reads = [(x, x / top.read_at(x) / 1e3) for x in xs]
    ax.plot(*zip(*floor, strict=True), color=PALE, linewidth=1.2, linestyle=":", zorder=2)
    ax.plot(*zip(*reads, strict=True), color=INK, linewidth=1.0, zorder=2)
    ax.annotate(f"an empty kernel: {top.empty:.2f} us", floor[int(0.55 * len(floor))], (-8, 8),
                textcoords="offset points", fontsize=9, color=PALE, ha="right")  # fmt: skip
    ax.annotate("a plain read of as many bytes", reads[int(0.2 * CURVE)], (12, -12), textcoords="offset points",
                fontsize=9, color=INK)  # fmt: skip


def _axes(ax: Any, top: Ceilings, low: float, high: float) -> None:
    """Sets up logarithmic axes, since small cases are slow inherently."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xlim(low, high)
    ax.set_ylim(low / top.empty / 1e3, top.read * 2)
    ax.set_xticks([1 << k for k in range(12, 40, 3) if low <= 1 << k <= high])
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: _size(v)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,g}"))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_locator(NullLocator())
    ax.set_xlabel("bytes that must move")
    ax.set_title("GB/s, all cases", fontsize=10.5, loc="left")
    _plain(ax)


def _size(nbytes: float) -> str:
    unit = 0
    while nbytes >= 1024:
        nbytes, unit = nbytes / 1024, unit + 1
    return f"{nbytes:g} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB')[unit]}"


def _plain(ax: Any) -> None:
    """Removes lines that do not help."""
    ax.grid(color=GRID, zorder=0, linewidth=0.7)
    ax.set_axisbelow(True)
    ax.tick_params(length=0, labelcolor=INK, labelsize=9)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(PALE)


# --- large cases, by name ------------------------------------------------------------------------------------------
def _names(ax: Any, top: Ceilings, rows: Sequence[Row]) -> None:
    """Draws each case: warpfold, the best peer, a bar between them, and a plain read of the same size."""
    for place, row in enumerate(rows):
        theirs = _theirs(row)
        if theirs:
            ax.plot([theirs, _speed(row)], [place] * 2, color=PALE, linewidth=1.5, zorder=3)
            ax.plot(theirs, place, MARKS[row.group], color="white", markeredgecolor=PEER, markersize=5, zorder=4)
        ax.plot(row.nbytes / top.read_at(row.nbytes) / 1e3, place, "|", color=INK, markersize=8, zorder=3)
        ax.plot(_speed(row), place, MARKS[row.group], color=OURS, markersize=5.5, markeredgewidth=0, zorder=5)
    ax.axvline(top.read, color=LINE, linewidth=1.1, zorder=2)
    ax.set_yticks(range(len(rows)), [r.name for r in rows])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(0, top.read * 1.06)
    ax.set_title(f"GB/s, from {NAMED // 10**6} MB on", fontsize=10.5, loc="left")
    _plain(ax)
    ax.tick_params(axis="y", labelsize=8)


def _words(figure: Any, results: Results, rows: Sequence[Row], height: float) -> None:
    """The captions: what was measured and where, and the meaning of colours and marks."""
    from matplotlib.lines import Line2D

    def key(mark: str, face: str, edge: str, label: str) -> Any:
        return Line2D([], [], marker=mark, linestyle="", color=face, markeredgecolor=edge, label=label, markersize=6)

    where, peers = results.machine, [n for n in results.peers if any(n in r.peers and r.peers[n].us for r in rows)]
    figure.text(0.012, 1 - 0.33 / height, f"Plain reductions on {where['gpu']}", fontsize=13.5, weight="bold")
    note = "median device time, the L2 cache flushed before each call"
    note = f"the best peer is the fastest of {', '.join(peers)} in each case; {note}" if peers else note
    figure.text(0.012, 1 - 0.58 / height, note, fontsize=9.5, color=PALE)
    groups = {r.group for r in rows}
    tick = Line2D([], [], marker="|", linestyle="", color=INK, label="a plain read of as many bytes", markersize=8)
    keys = [key("o", OURS, OURS, "warpfold"), *([key("o", "white", PEER, "the best peer")] if peers else [])]
    keys += [key(MARKS[g], PALE, PALE, GROUPS[g]) for g in MARKS if g in groups] + [tick]
    figure.legend(handles=keys, loc="lower left", bbox_to_anchor=(0.045, 0.1 / height), ncols=7, frameon=False,
                  fontsize=9, handletextpad=0.1, columnspacing=1.2)  # fmt: skip
