"""A scan of rows: every element gets the state of those up to it.

The elements of a row follow each other in *chunks*, each of one CTA, and a chunk in *segments*, each of one warp. Where
lanes lie along the row, a segment is one access of all lanes after another; else each lane has elements of its own,
and the next lane those behind them. Every level gives what comes before its parts, and the state of all of them: the
elements of an access, lanes, the accesses of a segment, the warps of a chunk, the chunks of a row. What comes before
an access is what comes before its chunk, then before its warp, and then before it in the segment. Nothing but elements
is combined: there is no identity at the beginning of a row.

Where a row has several chunks, CTAs take theirs by tickets, which go through the first chunks of all rows, then the
second ones, and so on. So a CTA waits for earlier tickets alone, and if there are many rows, for none. The last CTA of
a row clears the words in which its chunks left their states.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from ...compiler.ir.mlir import gpu
from .kernel import Kernel
from .place import Digits, Place, Tile, existing, place_in_tile
from .resident.row_tiles import row_tiles
from .row import Row
from .scan_row import ScanRow
from .scan_work import Work, clear_own_words


def distribute_scan(kernel: Kernel) -> None:
    """Writes the body of a kernel that scans rows."""
    assert kernel.scan is not None
    work = Work.of(kernel)
    with (row_tiles if kernel.plan.tile_bytes else partial(_in_place, work=work))(kernel) as (tile, place, tiles):
        _scan_row(kernel, work, ScanRow.of(kernel, work, tile, place, tiles=tiles))


@contextmanager
def _in_place(kernel: Kernel, work: Work) -> Iterator[tuple[Tile, Place, Mapping[int, Sequence[Any]]]]:
    """The rows of the CTA and the place of a thread whose elements are read, and written, where they are."""
    digits = Digits.of(kernel, kernel.plan)
    tile, place = place_in_tile(Row.at(kernel, None), work.tile, digits)
    yield tile, replace(place, start=existing(kernel, place)), {}


def _scan_row(kernel: Kernel, work: Work, row: ScanRow) -> None:
    """Reads the elements of a thread, scans them, and writes the results."""
    assert kernel.scan is not None
    row.load()
    with kernel.scan.reduce.location:
        row.scan()
    if row.row.reused:
        gpu.barrier()  # all threads have read what they need of the tiles in which results are going to lie
    if work.parts is not None:  # before the results are on their way, for which the release would wait
        clear_own_words(kernel, work)
    row.store()
