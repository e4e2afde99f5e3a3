"""How the commands talk: tables and progress on a terminal, plain columns in a pipe, JSON when asked."""

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
"""Columns of a table in a pipe: what reads it wraps as it likes."""
SHORT = 12
"""Characters of a cell that stay together."""


def show(text: str = "") -> None:
    """One line or several, as they are."""
    print(text)


def table(columns: Sequence[str], lines: Sequence[Sequence[object]], spare: Sequence[str] = ()) -> None:
    """A table with a header; as wide as it is in a pipe, without ``spare`` columns on a narrow terminal."""
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
    """The width in which no word of a column breaks, nor a short cell: a number stays with its unit."""
    title, *cells = column
    parts = [part for cell in cells for part in ([cell] if len(cell) <= SHORT else cell.split())]
    return max(map(len, [*title.split(), *parts]), default=0)


def _widths(columns: Sequence[Sequence[str]], room: int) -> list[int]:
    """The widths of columns that share ``room``: the widest give way, between words first, within them if they must."""
    widths = [max(map(len, column)) for column in columns]
    for least in (list(map(_least, columns)), [1] * len(columns)):
        while sum(widths) > room and any(map(gt, widths, least)):
            widths[max(range(len(widths)), key=lambda i: (widths[i] > least[i], widths[i]))] -= 1
    return widths


def facts(pairs: Sequence[tuple[str, object]]) -> None:
    """Labelled values, one or more lines each, the labels in a column of their own."""
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        first, *more = str(value).splitlines() or [""]
        print(f"{name:<{width}}  {first}".rstrip())
        for line in more:
            print(f"{'':<{width}}  {line}".rstrip())


@contextmanager
def progress(text: str) -> Iterator[None]:
    """Shows that something is under way, on a terminal; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


def as_json(value: object) -> str:
    """JSON that every reader takes: floats it has no word for become strings."""
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
    """A number of bytes in words."""
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if nbytes < 1024 or unit == "TiB":
            break
        nbytes /= 1024
    return f"{nbytes:.0f} bytes" if unit == "bytes" else f"{nbytes:.4g} {unit}"


def duration(seconds: float) -> str:
    """A time in words."""
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} us"
