"""The picture of ``warpfold fragments --plot``: each matrix as a grid with the lane and register of each element."""

from __future__ import annotations

from colorsys import hls_to_rgb
from typing import TYPE_CHECKING, Any

import numpy as np

from . import ladder_plot

if TYPE_CHECKING:
    from .fragments import Found, Operand

CELL = 0.42
"""Inches of an element."""


class Picture(ladder_plot.Picture):
    """The picture of the operands of an instruction."""

    def figure(self, report: Found) -> Any:
        """The figure: a grid for each block, or for each matrix."""
        return draw(report)


def draw(found: Found) -> Any:
    """The figure of what an instruction's registers hold."""
    from matplotlib.figure import Figure

    grids = [grid for one in found.operands for grid in _grids(one)]
    rows, columns = max(len(g) for _, g in grids), [len(g[0]) for _, g in grids]
    width, height = CELL * (sum(columns) + 1.2 * len(grids)) + 0.3, CELL * rows + 1.3
    figure = Figure(figsize=(width, height), facecolor="white")
    axes = figure.subplots(1, len(grids), width_ratios=columns, squeeze=False)[0]
    figure.subplots_adjust(left=0.35 / width, right=1 - 0.1 / width, top=1 - 1.0 / height, bottom=0.1 / height,
                           wspace=1.2 * len(grids) / sum(columns))  # fmt: skip
    for ax, (title, grid) in zip(axes, grids, strict=True):
        _draw(ax, title, grid)
        ax.set_ylim(rows - 0.5, -0.5)
    figure.text(0.1 / width, 1 - 0.3 / height, found.instruction, fontsize=11, weight="bold")
    figure.text(0.1 / width, 1 - 0.52 / height, "lane, and below it the register", fontsize=9, color=ladder_plot.PALE)
    return figure


def _grids(one: Operand) -> list[tuple[str, list[list[tuple[int, int]]]]]:
    """The blocks of an operand, each with a title: (lane, register) of the element in each row and column."""
    lanes, registers, parts, _ = one.held.shape
    where = np.indices((lanes, registers, parts))
    blocks, rows, columns = (int(one.held[..., k].max()) + 1 for k in range(3))
    held = np.zeros((blocks, rows, columns, 2), int)
    held[tuple(one.held[..., k] for k in range(3))] = np.moveaxis(where[:2], 0, -1)
    titles = [f"block {b}" for b in range(blocks)] if one.blocks else [one.name]
    return [(title, block.tolist()) for title, block in zip(titles, held, strict=True)]


def _draw(ax: Any, title: str, grid: list[list[tuple[int, int]]]) -> None:
    """Draws one grid."""
    ax.imshow([[_colour(lane) for lane, _ in row] for row in grid], aspect="equal")
    for i, row in enumerate(grid):
        for j, (lane, register) in enumerate(row):
            ax.text(j, i - 0.16, str(lane), ha="center", va="center", fontsize=8, color=ladder_plot.INK)
            ax.text(j, i + 0.24, f"r{register}", ha="center", va="center", fontsize=5.5, color=ladder_plot.INK)
    ax.set_title(title, fontsize=9.5, loc="left", color=ladder_plot.INK)
    ax.set_xticks(range(len(grid[0])))
    ax.set_yticks(range(len(grid)))
    ax.tick_params(
        length=0, labelsize=7, labelcolor=ladder_plot.PALE, top=True, labeltop=True, labelbottom=False, pad=1
    )
    for side in ("top", "right", "bottom", "left"):
        ax.spines[side].set_visible(False)


def _colour(lane: int) -> tuple[float, float, float]:
    """A colour for each group of four lanes, and a shade of it for each of the four."""
    return hls_to_rgb(lane // 4 / 8, 0.68 + 0.07 * (lane % 4), 0.65)
