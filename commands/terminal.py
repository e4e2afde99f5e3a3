"""Output of the commands: tables and progress on a terminal, plain columns in a pipe, JSON on request."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import gt
from typing import Any

GAP = 2
PIPE_WIDTH = 1000
"""Width of a table in a pipe, in characters."""
SHORT = 12
"""Cells of at most this many characters are not wrapped."""


def show(text: str = "") -> None:
    """Prints text without changes."""
    print(text)


def table(columns: Sequence[str], lines: Sequence[Sequence[object]], spare: Sequence[str] = ()) -> None:
    """Prints a table with a header. A pipe gets its full width; a narrow terminal gets no ``spare`` columns."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = sys.stdout.isatty()
    console = Console(width=None if terminal else PIPE_WIDTH, highlight=False)
    cells = [[name, *(str(line[i]) for line in lines)] for i, name in enumerate(columns)]
    if sum(map(_least, cells)) + GAP * (len(cells) - 1) > console.width:
        cells = [column for column in cells if column[0] not in spare]
    widths = _widths(cells, console.width - GAP * (len(cells) - 1))
    made = Table(box=None, pad_edge=False, show_edge=False, padding=(0, GAP, 0, 0))
    titles, *rows = zip(*cells, strict=True)
    for title, width in zip(titles, widths, strict=True):
        made.add_column(title, width=width, overflow="fold")
    for row in rows:
        made.add_row(*map(Text, row))
    with console.capture() as captured:
        console.print(made)
    for printed in captured.get().splitlines():
        print(printed.rstrip())


def _least(column: Sequence[str]) -> int:
    """The least width that breaks no word and no short cell, so that a number stays with its unit."""
    title, *cells = column
    parts = [part for cell in cells for part in ([cell] if len(cell) <= SHORT else cell.split())]
    return max(map(len, [*title.split(), *parts]), default=0)


def _widths(columns: Sequence[Sequence[str]], room: int) -> list[int]:
    """Column widths that fit ``room``: the widest columns shrink, first to whole words, then further."""
    widths = [max(map(len, column)) for column in columns]
    for least in (list(map(_least, columns)), [1] * len(columns)):
        while sum(widths) > room and any(map(gt, widths, least)):
            widths[max(range(len(widths)), key=lambda i: (widths[i] > least[i], widths[i]))] -= 1
    return widths


def facts(pairs: Sequence[tuple[str, object]]) -> None:
    """Prints labelled values of one or several lines, with the labels in a column of their own."""
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        first, *more = str(value).splitlines() or [""]
        print(f"{name:<{width}}  {first}".rstrip())
        for line in more:
            print(f"{'':<{width}}  {line}".rstrip())


def columns(lines: Sequence[Sequence[str]]) -> list[str]:
    """Lines of cells below each other, without a header."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(f"{cell:<{w}}" for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines]


def section(title: str, lines: Sequence[str]) -> None:
    """Prints lines below a title, after an empty line; nothing where there are none."""
    if lines:
        print(f"\n{title}")
        print("\n".join(f"  {line}" for line in lines))


@contextmanager
def progress(text: str) -> Iterator[None]:
    """Shows a progress indicator on a terminal; does nothing in a pipe."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


def as_json(value: object) -> str:
    """JSON text that every parser accepts: infinities and NaN become strings."""
    return json.dumps(_plain(value), indent=2, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value


def size(nbytes: float) -> str:
    """A number of bytes with its unit."""
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if nbytes < 1024 or unit == "TiB":
            break
        nbytes /= 1024
    return f"{nbytes:.0f} bytes" if unit == "bytes" else f"{nbytes:.4g} {unit}"


def duration(seconds: float) -> str:
    """A time with its unit."""
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} us"
