"""The picture of ``warpfold ladder --plot``: speed, branch efficiency and sectors per request of each rung."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..compiler.errors import error
from ..compiler.plan.ladder import ARTICLE, LECTURE, OWN, SOFTMAX
from . import terminal
from .output_file import Output

Row = dict[str, Any]
FORMATS = {".svg": {"Date": None}, ".png": {"Software": None}, ".pdf": {"CreationDate": None}}
"""Allowed suffixes, each with the metadata to leave out, so that equal numbers give equal files."""
INK, PALE, GRID, LINE = "#343a40", "#868e96", "#e9ecef", "#e03131"
COLOURS = {LECTURE: "#4c6ef5", ARTICLE: "#12b886", SOFTMAX: "#12b886", OWN: "#fd7e14"}
LABELS = {
    LECTURE: "lecture 9 of the CUDA-MODE course",
    ARTICLE: "OneFlow's article",
    SOFTMAX: "OneFlow's article",
    OWN: "warpfold",
}


@dataclass(frozen=True)
class Panel:
    """One column of bars.

    Attributes:
        key: the number of a rung that it shows.
        title: above the bars.
        words: the text beside the bar of a rung.
        log: whether the axis is logarithmic.
        line: position of a reference line.
    """

    key: str
    title: str
    words: Callable[[Row], str]
    log: bool = False
    line: float | None = None


class Picture:
    """A picture file, checked before the work that fills it.

    Raises:
        FileError: WF505 for a path that cannot be written, WF830 for a suffix that is not in ``FORMATS``,
            WF831 without matplotlib.
    """

    def __init__(self, path: str) -> None:
        self.suffix = Path(path).suffix.lower()
        if self.suffix not in FORMATS:
            raise error("WF830", path=path, known=" ".join(FORMATS))
        self.output = Output(path)
        try:
            import matplotlib.figure  # noqa: F401 - to learn now whether it is there
        except ImportError as e:
            raise error("WF831", reason=e) from e

    def figure(self, report: Any) -> Any:
        """The figure of the values that ``climbed`` of ``commands/ladder.py`` returns."""
        return draw(report)

    def write(self, report: Any) -> None:
        """Draws the figure; the file is written whole or not at all."""
        from matplotlib import rc_context

        with rc_context({"svg.hashsalt": "warpfold", "font.size": 10, "text.color": INK, "axes.labelcolor": INK}):
            figure = self.figure(report)
            how = {"format": self.suffix[1:], "metadata": FORMATS[self.suffix], "dpi": 160}
            self.output.write(lambda f: figure.savefig(f, **how))


def draw(report: Row) -> Any:
    """The figure: one row for each rung, panels side by side."""
    from matplotlib.figure import Figure

    rows = [row for row in report["rungs"] if not row["refused"]]
    height = 2.0 + 0.31 * len(rows)
    figure = Figure(figsize=(13, height), facecolor="white")
    axes = figure.subplots(1, 3, sharey=True, width_ratios=[2.2, 1, 1])
    figure.subplots_adjust(left=0.145, right=0.985, top=1 - 1.05 / height, bottom=0.75 / height, wspace=0.09)
    for ax, panel in zip(axes, _panels(report), strict=True):
        _bars(ax, panel, rows)
    axes[0].set_yticks(range(len(rows)), [row["rung"] for row in rows])
    axes[0].set_ylim(len(rows) - 0.4, -0.6)
    _words(figure, report, rows, height)
    return figure


def _panels(report: Row) -> list[Panel]:
    """The panels: speed if there was a GPU, else work; then the counts that explain it."""
    timed = any(row["gbs"] for row in report["rungs"])
    return [
        Panel("gbs", "GB/s of input read (more is better), and time", _speed, True, report["memory_gbs"])
        if timed
        else Panel(
            "instructions_per_element",
            "instructions an element, all threads (less is better; not a time)",
            lambda row: f"{row['instructions_per_element']:.1f}",
        ),
        Panel("moved", "bytes moved, of those that must", lambda row: f"{row['moved']:.2f} x")
        if "moved" in report["rungs"][0]
        else Panel(
            "branch_efficiency", "uniform branches (more is better)", lambda row: f"{row['branch_efficiency']:.1f} %"
        ),
        Panel("sectors_per_request", "sectors a request, bytes used", _sectors),
    ]


def _speed(row: Row) -> str:
    digits = 0 if row["gbs"] >= 100 else 2
    return f"{row['gbs']:,.{digits}f}    {terminal.duration(row['microseconds'] / 1e6)}"


def _sectors(row: Row) -> str:
    return f"{row['sectors_per_request']:.1f}   {row['bytes_used']:.3g} %"


def _bars(ax: Any, panel: Panel, rows: list[Row]) -> None:
    """Draws the bars of one panel, with a number beside each."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    values = [row[panel.key] for row in rows]
    most, least = max([*values, panel.line or 0], default=1), min(values, default=1)
    ax.barh(range(len(rows)), values, height=0.74, color=[COLOURS[row["source"]] for row in rows], zorder=2)
    if panel.log:
        ax.set_xscale("log")
        ax.set_xlim(least / 2, most * (2 * most / least) ** 0.24)
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,g}"))
    elif panel.key == "branch_efficiency":
        ax.set_xlim(0, 127)
        ax.set_xticks(range(0, 101, 25))
    else:
        ax.set_xlim(0, (most or 1) * 1.4)
    for place, (value, row) in enumerate(zip(values, rows, strict=True)):
        ax.annotate(panel.words(row), (value, place), (4, 0), textcoords="offset points", va="center", fontsize=9,
                    zorder=5, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})  # fmt: skip
    if panel.line is not None:
        ax.axvline(panel.line, color=LINE, linewidth=1.2, zorder=3)
        ax.annotate(f"memory: {panel.line:,} GB/s", (panel.line, 1), (0, 4), xycoords=("data", "axes fraction"),
                    textcoords="offset points", fontsize=9, ha="center", color=LINE)  # fmt: skip
    ax.set_title(panel.title, fontsize=10.5, loc="left")
    ax.grid(axis="x", color=GRID, zorder=0)
    ax.tick_params(length=0, labelcolor=INK)
    ax.tick_params(axis="x", labelcolor=PALE, labelsize=8.5)
    for side in ("top", "right", "bottom"):
        ax.spines[side].set_visible(False)
    ax.spines["left"].set_color(PALE)


def _words(figure: Any, report: Row, rows: list[Row], height: float) -> None:
    """The captions: what was reduced and where, the sources of the plans by colour, and of the counts."""
    from matplotlib.patches import Patch

    figure.text(0.012, 1 - 0.38 / height, f"{report['title']}, on {report['device']}", fontsize=13.5, weight="bold")
    sources = dict.fromkeys(row["source"] for row in rows)
    keys = [Patch(color=COLOURS[source], label=LABELS[source]) for source in sources]
    figure.legend(handles=keys, loc="lower left", bbox_to_anchor=(0.137, 0), ncols=3, frameon=False, fontsize=9.5)
    if report["profiled"] != report["title"]:
        note = f"branches and sectors: {report['profiled']}, on the emulator"
        figure.text(0.985, 0.17 / height, note, fontsize=9, color=PALE, ha="right")
