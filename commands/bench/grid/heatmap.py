"""The picture of ``warpfold grid --plot``: one block per kind of layout, one row per type, one column per layout.

The colour of a large cell is its speed as a fraction of a plain read, or of a copy for a program; that of a cell of one
CTA is its time beyond an empty launch. The colour map changes hue at the gate. Cells without a gate are pale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ... import ladder_plot
from ...ladder_plot import INK, PALE
from . import records
from .records import ABOVE, FLOOR, PROGRAM_FLOOR, Record, Report
from .shapes import DTYPES

WIDTH = 15.0
"""Width of the figure in inches."""
SIDE, LINE, MARGIN, HEAD = 0.105, 1.13, 0.45, 0.75
"""In inches: side of a cell, height of a line of blocks, margins, and height of the title."""
GAP, LEAST_COLUMNS = 6, 10
"""In columns: space between blocks, for the names of types, and least width of a block, for its title."""
WRONG, NOTHING = "#000000", "#e9ecef"
FAINT = 0.3
"""Opacity of a cell without a gate."""


@dataclass(frozen=True)
class Block:
    """The cells of one kind.

    Attributes:
        title: the name of the kind.
        rows: for each type the cells by column, None for a missing cell.
        names: the names of the columns.
    """

    title: str
    rows: dict[str, list[Record | None]]
    names: list[str]

    @property
    def columns(self) -> int:
        """The width in columns."""
        return max(len(self.names), LEAST_COLUMNS) + GAP


@dataclass(frozen=True)
class Scale:
    """A colour scale for ``key`` of a record: its first value, the gate, and its last value.

    ``space`` are inches above its blocks, and ``bar`` is the distance of its bar from their top.
    """

    key: str
    values: tuple[float, float, float]
    map: str
    label: str
    ticks: tuple[float, ...]
    unit: float = 1.0
    space: float = 0.0
    bar: float = HEAD - 0.38


LARGE = Scale(
    "fraction",
    (0.5, FLOOR, 1.0),
    "RdYlBu",
    "% of a plain read of as many bytes",
    (0.5, 0.6, 0.7, 0.8, FLOOR, 0.9, 1.0),
    100,
)
PROGRAMS = Scale(
    "fraction",
    (0.5, PROGRAM_FLOOR, 1.0),
    "RdYlBu",
    "% of a copy of as many bytes",
    (0.5, 0.6, 0.7, PROGRAM_FLOOR, 0.9, 1.0),
    100,
    0.45,
    0.15,
)
SMALL = Scale(
    "above",
    (0.0, ABOVE, 3.0),
    "RdYlBu_r",
    "us beyond an empty launch",
    (0.0, 0.5, 1.0, ABOVE, 2.0, 3.0),
    1,
    0.3,
    -0.32,
)


class Picture(ladder_plot.Picture):
    """The picture file of a grid, checked before the work that fills it."""

    def figure(self, report: Report) -> Any:
        """The figure of a grid."""
        return draw(report)


def draw(report: Report) -> Any:
    """The figure: lines of blocks, large cells first."""
    from matplotlib.figure import Figure

    reductions = [r for r in report.cells if not r.get("program")]
    programs = [r for r in report.cells if r.get("program")]
    parts = ((LARGE, blocks(reductions)), (PROGRAMS, blocks(programs)), (SMALL, [tiny(report.cells)]))
    lines = [(scale, found) for scale, made in parts if (found := _lines(made))]
    height = HEAD + sum(LINE * len(found) for _, found in lines) + MARGIN + 0.55
    height += PROGRAMS.space if programs else 0
    figure = Figure(figsize=(WIDTH, height), facecolor="white")
    top = height - HEAD
    for scale, found in lines:
        top -= scale.space
        _scale(figure, scale, 8.1, top + scale.bar, height)
        for line in found:
            _line(figure, line, scale, top, height)
            top -= LINE
    _words(figure, report, height)
    return figure


def _line(figure: Any, line: Sequence[Block], scale: Scale, top: float, height: float) -> None:
    """Draws blocks side by side."""
    left = MARGIN + 0.1
    for block in line:
        _block(figure, block, scale, left, top, height)
        left += block.columns * SIDE


def blocks(cells: Sequence[Record]) -> list[Block]:
    """Blocks of cells that need more than one CTA, by kind."""
    found: dict[str, list[Record]] = {}
    for r in cells:
        if not r["one_cta"]:
            found.setdefault(r["cell"].partition(".")[0], []).append(r)
    return [_made(kind, own) for kind, own in found.items()]


def tiny(cells: Sequence[Record]) -> Block:
    """The block of cells that fit one CTA, by number of elements."""
    from math import prod

    found = [r for r in cells if r["one_cta"]]
    return _made("what fits one CTA", sorted(found, key=lambda r: prod(r["shape"])), whole_names=True)


def _made(title: str, cells: Sequence[Record], *, whole_names: bool = False) -> Block:
    by_type = {dtype: {r["cell"]: r for r in cells if r["dtype"] == dtype} for dtype in DTYPES}
    longest = sorted(by_type.values(), key=len, reverse=True)  # its order is that of the columns: other types lack some
    names = list(dict.fromkeys(name for own in longest for name in own))
    rows = {dtype: [own.get(name) for name in names] for dtype, own in by_type.items() if own}
    return Block(title, rows, names if whole_names else [name.partition(".")[2] for name in names])


def _lines(found: Sequence[Block]) -> list[list[Block]]:
    """Lines of as many blocks as fit side by side."""
    most = int((WIDTH - 2 * MARGIN) / SIDE)
    lines: list[list[Block]] = []
    for block in found:
        if not block.names:
            continue
        if not lines or sum(b.columns for b in lines[-1]) + block.columns > most + GAP:
            lines.append([])
        lines[-1].append(block)
    return lines


def _block(figure: Any, block: Block, scale: Scale, left: float, top: float, height: float) -> None:
    """Draws one block: its cells, the types beside, its worst cell above, and its outer columns below."""
    from matplotlib import colormaps
    from matplotlib.colors import TwoSlopeNorm

    n, rows = len(block.names), len(block.rows)
    box = (left / WIDTH, (top - 0.3 - rows * SIDE * 1.15) / height, n * SIDE / WIDTH, rows * SIDE * 1.15 / height)
    ax = figure.add_axes(box)
    norm, colours = TwoSlopeNorm(scale.values[1], scale.values[0], scale.values[2]), colormaps[scale.map]
    paint = [[_colour(r, scale, norm, colours) for r in row] for row in block.rows.values()]
    ax.pcolormesh(range(n + 1), range(rows + 1), paint, edgecolors="white", linewidth=0.4)
    ax.set_ylim(rows, 0)
    ax.set_yticks([i + 0.5 for i in range(rows)], list(block.rows), fontsize=6.5)
    ends = sorted({0, n - 1})
    ax.set_xticks([i + 0.5 for i in ends], [block.names[i] for i in ends], fontsize=6.5)
    for label, side in zip(ax.get_xticklabels(), ("left", "right"), strict=False):
        label.set_horizontalalignment(side if n > 1 else "left")
    if (2 + sum(len(block.names[i]) for i in ends)) * 0.055 > n * SIDE:  # no room for both names and a space
        ax.set_xticks([0.5], [block.names[0]], fontsize=6.5, ha="left")
    ax.tick_params(length=0, pad=2, labelcolor=PALE)
    for spine in ax.spines.values():
        spine.set_visible(False)
    title = ax.annotate(block.title, (0, 1), (0, 3), xycoords="axes fraction", textcoords="offset points", fontsize=9,
                        weight="bold", color=INK)  # fmt: skip
    ax.annotate(_worst(block), (1, 0), (5, 1), xycoords=title, textcoords="offset points", fontsize=7,
                color=PALE)  # fmt: skip


def _colour(record: Record | None, scale: Scale, norm: Any, colours: Any) -> Any:
    from matplotlib.colors import to_rgba

    if record is None or (scale.key not in record and "error" not in record):
        return to_rgba(NOTHING)
    if records.missed(record) in ("error", "wrong"):
        return to_rgba(WRONG)
    colour = colours(float(norm(min(max(record[scale.key], scale.values[0]), scale.values[2]))))
    return colour if records.gated(record) else (*colour[:3], FAINT)


def _worst(block: Block) -> str:
    """The worst gated cell, and the number of misses."""
    text, bad = records.worst([r for row in block.rows.values() for r in row if r is not None])
    return f"{text}, {bad} miss" if bad else text


def _scale(figure: Any, scale: Scale, left: float, bottom: float, height: float) -> None:
    """Draws the bar that explains the colours."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import TwoSlopeNorm

    ax = figure.add_axes((left / WIDTH, bottom / height, 3.6 / WIDTH, 0.1 / height))
    norm = TwoSlopeNorm(scale.values[1], scale.values[0], scale.values[2])
    bar = figure.colorbar(ScalarMappable(norm, colormaps[scale.map]), cax=ax, orientation="horizontal")
    bar.set_ticks(list(scale.ticks), labels=[f"{t * scale.unit:g}" for t in scale.ticks], fontsize=7)
    bar.outline.set_visible(False)
    ax.axvline(scale.values[1], color=INK, linewidth=1.2)
    ax.tick_params(length=0, labelcolor=PALE)
    figure.text((left + 3.75) / WIDTH, (bottom + 0.05) / height, scale.label, fontsize=8, va="center", color=INK)


def _words(figure: Any, report: Report, height: float) -> None:
    """The captions: what was measured and where, and the colours without a value."""
    title = f"Every layout against the ceiling, on {report.machine['gpu']}"
    figure.text(MARGIN / WIDTH, 1 - 0.32 / height, title, fontsize=13, weight="bold", color=INK)
    ceiling = report.ceilings
    notes = f"{records.summary(report.cells)}; read {ceiling['read']:,.0f} GB/s, empty launch {ceiling['empty']:.2f} us"
    figure.text(MARGIN / WIDTH, 1 - 0.54 / height, notes, fontsize=8.5, color=PALE)
    large = f"{records.GATED_BYTES / 1e6:.0f} MB"
    note = (
        f"pale: no gate, under {large}; grey: under 1 MB, or no such layout of this type; "
        "black: a wrong answer, or none; beside a title: the worst of the cells with a gate"
    )
    figure.text(MARGIN / WIDTH, 0.2 / height, note, fontsize=7.5, color=PALE)
