"""The columns of code as HTML: a line is an element that names its place and its node; what is unchanged is folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from .model import Column, Line, Part, Side

FEW = 6
"""So many unchanged lines are not folded."""
ABOUT = 2
"""Unchanged lines that are shown beside changed ones."""


def code(number: int, side: Side) -> str:
    """The columns of all parts of a side."""
    return "".join(_part(f"s{number}p{k}", part) for k, part in enumerate(side.parts))


def _part(name: str, part: Part) -> str:
    title = f"<h3>{escape(part.title)}</h3>" if part.title else ""
    links = "".join(
        f'<a href="#{name}c{k}" class="{column.kind}">{escape(column.name)}</a>'
        for k, column in enumerate(part.columns)
    )
    idle = f"<p class=idle>Passes that change nothing here: {escape(', '.join(part.unchanged))}.</p>"
    columns = "".join(_column(f"{name}c{k}", column) for k, column in enumerate(part.columns))
    return (
        f'{title}<nav class="stages" aria-label="Stages">{links}</nav>'
        f'<div class="columns" id="{name}" tabindex="0" role="group" aria-label="Columns of code">{columns}</div>'
        + (idle if part.unchanged else "")
    )


def _column(name: str, column: Column) -> str:
    added = sum(line.changed for line in column.lines) if column.kind == "ir" else 0
    gone = f"<del>-{column.removed}</del>" if column.removed else ""
    count = f"<span><ins>+{added}</ins> {gone}</span>" if added or gone else ""
    head = f"<header><h4>{escape(column.name)}</h4>{count}<p>{escape(column.about)}</p></header>"
    lines = f'<div class="code" tabindex="0">{"".join(_lines(column))}</div>'
    return f'<section class="column {column.kind}" id="{name}">{head}{lines}</section>'


def _lines(column: Column) -> Iterator[str]:
    """The lines; long runs of unchanged ones after a pass are folded."""
    lines = column.lines
    if column.kind != "ir" or not (column.removed or any(line.changed for line in lines)):
        yield from map(_line, lines)
        return
    near = _near([line.changed for line in lines])
    for shown, group in groupby(range(len(lines)), key=lambda i: near[i]):
        found = [_line(lines[i]) for i in group]
        if shown or len(found) <= FEW:
            yield from found
        else:
            yield f"<details><summary>{len(found)} unchanged lines</summary>{''.join(found)}</details>"


def _near(changed: Sequence[bool]) -> list[bool]:
    """Whether a changed line is at most ``ABOUT`` lines away."""
    return [any(changed[max(0, i - ABOUT) : i + ABOUT + 1]) for i in range(len(changed))]


def _line(line: Line) -> str:
    names = [f"l{line.place}"] * (line.place >= 0) + [f"n{line.node}"] * (line.node >= 0)
    names += ["c"] * line.changed + [f"m-{mark}" for mark in line.marks]
    attributes = f' class="{" ".join(names)}"' if names else ""
    attributes += f" data-n={line.number}" if line.number else ""
    attributes += f' data-k="{line.cost}"' if line.cost else ""
    return f"<i{attributes}>{escape(line.text, quote=False)}</i>"
