"""The picture of ``warpfold bench --plot``: how near to the ceilings each case comes, by the bytes that it moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...runtime.measure import Ceilings
from ..plots import GRID, INK, LINE, PALE, Picture
from .results import Results, Row

OURS, PEER = "#1971c2", "#e8590c"
MARKS = {"full": "o", "row": "s", "col": "^", "mid": "D"}
GROUPS = {"full": "all", "row": "rows", "col": "columns", "mid": "middle axes"}
CURVE = 200
"""Points of a curve."""


class Roofline(Picture):
    """The picture's file."""

    def figure(self, report: Results) -> Any:
        """The figure of some results."""
        return draw(report)


def draw(results: Results) -> Any:
    """The figure: each case at its bytes, warpfold above or below the best peer, under the ceilings."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6.2), facecolor="white")
    ax = figure.subplots()
    figure.subplots_adjust(left=0.075, right=0.985, top=0.865, bottom=0.175)
    rows = [r for r in results.rows if r.ours.us]
    low = min([4096, *(r.nbytes for r in rows)]) / 2
    high = max([1 << 30, *(r.nbytes for r in rows)]) * 2
    _ceilings(ax, results.ceilings, low, high)
    for row in rows:
        _case(ax, row)
    _axes(ax, results.ceilings, low, high)
    _legend(figure, rows)
    where = results.machine
    figure.text(0.012, 0.945, f"Plain reductions on {where['gpu']}", fontsize=13.5, weight="bold")
    peers = ", ".join(name for name in results.peers if any(r.peers[name].us for r in rows))
    note = f"a bar joins warpfold and the fastest of {peers}; median device time, the L2 cache flushed before each call"
    figure.text(0.012, 0.903, note if peers else note.split("; ")[1], fontsize=9.5, color=PALE)
    return figure


def speed(nbytes: float, us: float) -> float:
    """GB/s."""
    return nbytes / us / 1e3


def _ceilings(ax: Any, top: Ceilings, low: float, high: float) -> None:
    """The two flat ceilings, what an empty kernel's time leaves of any speed, and plain reads of each size."""
    for value, words, style in ((top.read, "read of 1 GiB", "-"), (top.copy, "copy of 1 GiB", "--")):
        ax.axhline(value, color=LINE, linewidth=1.1, linestyle=style, zorder=2)
        above = value == max(top.read, top.copy)
        ax.annotate(f"{words}: {value:,.0f} GB/s", (low * 1.15, value), (0, 4 if above else -11),
                    textcoords="offset points", fontsize=9, color=LINE)  # fmt: skip
    xs = [low * (high / low) ** (i / CURVE) for i in range(CURVE + 1)]
    floor = [(x, speed(x, top.empty)) for x in xs if speed(x, top.empty) <= 1.2 * max(top.read, top.copy)]
    ax.plot(*zip(*floor, strict=True), color=PALE, linewidth=1.1, linestyle=":", zorder=2)
    at = floor[len(floor) // 3]
    ax.annotate(f"an empty kernel: {top.empty:.2f} us", at, (-6, 6), textcoords="offset points", fontsize=9,
                color=PALE, ha="right")  # fmt: skip
    ax.plot(xs, [speed(x, top.read_at(x)) for x in xs], color=INK, linewidth=1.0, zorder=2)
    middle = xs[int(CURVE * 0.3)]
    ax.annotate("a plain read of as many bytes", (middle, speed(middle, top.read_at(middle))), (8, -12),
                textcoords="offset points", fontsize=9, color=INK)  # fmt: skip


def _case(ax: Any, row: Row) -> None:
    """Warpfold's mark, the best peer's, and the bar between."""
    mark, ours = MARKS[row.group], speed(row.nbytes, row.ours.us or 1.0)
    if row.best:
        theirs = speed(row.nbytes, row.best[1])
        ax.plot([row.nbytes] * 2, [ours, theirs], color=GRID, linewidth=2.5, zorder=3, solid_capstyle="butt")
        ax.plot(row.nbytes, theirs, mark, color="white", markeredgecolor=PEER, markersize=5.5, zorder=4)
    ax.plot(row.nbytes, ours, mark, color=OURS, markersize=6, markeredgewidth=0, alpha=0.85, zorder=5)


def _axes(ax: Any, top: Ceilings, low: float, high: float) -> None:
    """Logarithms both ways: small cases are slow by their nature."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xlim(low, high)
    ax.set_ylim(top.read / 6000, top.read * 1.9)
    ticks = [1 << k for k in range(10, 34, 3) if low <= 1 << k <= high]
    ax.set_xticks(ticks)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: _size(v)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,g}"))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("bytes that must move")
    ax.set_ylabel("GB/s")
    ax.grid(color=GRID, zorder=0, linewidth=0.7)
    ax.tick_params(length=0, labelcolor=INK, labelsize=9)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(PALE)


def _size(nbytes: float) -> str:
    unit = 0
    while nbytes >= 1024:
        nbytes, unit = nbytes / 1024, unit + 1
    return f"{nbytes:g} {('bytes', 'KiB', 'MiB', 'GiB')[unit]}"


def _legend(figure: Any, rows: Sequence[Row]) -> None:
    """What colours and marks mean."""
    from matplotlib.lines import Line2D

    def key(mark: str, face: str, edge: str, label: str) -> Any:
        return Line2D([], [], marker=mark, linestyle="", color=face, markeredgecolor=edge, label=label, markersize=6)

    keys = [key("o", OURS, OURS, "warpfold"), key("o", "white", PEER, "the best peer of the case")]
    groups = {r.group for r in rows}
    keys += [key(MARKS[g], PALE, PALE, f"sums of {GROUPS[g]}, and the like") for g in MARKS if g in groups]
    figure.legend(handles=keys, loc="lower left", bbox_to_anchor=(0.065, 0), ncols=6, frameon=False, fontsize=9,
                  handletextpad=0.1, columnspacing=1.2)  # fmt: skip
