"""Lanes and warps of columns: how many lie along the kept axis, and where a thread walks the reduced one alone."""

from __future__ import annotations

from ..target import WARP
from . import sittings
from .powers_of_two import ceil2
from .table import Sitting, Table, threshold
from .task import FILLING_WARPS, Task

LINE_BYTES = threshold(128, "bytes", Sitting("2026-11-22", "10c0316"))
"""The lanes along the kept axis read these side by side, where warps share the reduced axis."""
LINES_OF_WHOLE = threshold(8, "LINE_BYTES of a row", sittings.WIDE_CTAS)
"""Rows of whole lines, at least these, of a large array: a warp reads two lines of a row, and fewer rows are read
at once."""
NARROW_ARRAY_BYTES = threshold(1 << 26, "bytes of an array", sittings.BY_HAND)
"""From here on narrow rows, of fewer than LINES_OF_WHOLE, are read by two lines, or whole ones if they are one line. So
a CTA reads what follows each other, and has NARROW_ROW_WARPS, so that half as many states meet."""
NARROW_ROW_WARPS = threshold(16, "warps of a CTA", sittings.BY_HAND)
"""These share the reduced axis of narrow rows."""
UNALIGNED_LANES = threshold(16, "lanes", Sitting("2026-11-22", "10c0316"))
"""At least these lie along the kept axis in large arrays whose rows do not begin at LINE_BYTES, so that fewer lines are
read twice."""
LONG_ROW_BYTES = threshold({1: 1 << 13, 2: 1 << 16}, "bytes of a row, by bytes of an element", sittings.SIXTY_THOUSAND)
"""From here on a whole warp reads one row of a large array, by half accesses."""
LANES_OF_FEW_VECTORS = Table("accesses of a row", "lanes along the kept axis", sittings.FEW_COLUMNS, ((2, 2), (4, 4)))
"""Few columns read by vectors, where the reduced axis is long."""
LANES_OF_FEW_COLUMNS = Table("columns", "lanes along the kept axis", sittings.FEW_COLUMNS, ((8, 4),))
"""Few columns read by single elements, where the reduced axis is long."""
BUSY = threshold(3 / 4, "part of the lanes, and of the warps", sittings.BY_ROW)
"""Where no access goes on into the next row, at least this part must have something to read."""
ALONE_ELEMENTS = threshold(256, "elements of the reduced axis", sittings.ONE_WARP)
"""Up to here a thread walks the reduced axis alone, where threads along the kept axis fill the machine."""
TILES_OF_BITS = threshold(8, "tiles", sittings.BITS_IN_REDUCTIONS)
"""From here on columns with aligned bits have all lanes along the kept axis."""
HEAVY_LANES = threshold(
    {1: 16, 2: 16, 4: WARP, 8: WARP}, "lanes along the kept axis, by bytes of an element", sittings.HEAVY_COLUMNS
)
"""Heavy elements have these, or fewer where more than an eighth of them would have no column."""
HEAVY_TILES = threshold(4, "tiles", sittings.HEAVY_COLUMNS)
"""Heavy elements have fewer lanes along the kept axis where a row would have fewer tiles of them."""


def is_short(task: Task, vector: int) -> bool:
    """Whether a thread walks the reduced axis alone, since threads of ``vector`` results each fill the machine."""
    g = task.geometry
    many = -(-g.n_kept // max(1, vector)) >= FILLING_WARPS * task.machine * WARP
    return many and g.n_reduced <= ALONE_ELEMENTS and max(task.ranks) <= 3


def has_long_rows(task: Task) -> bool:
    """Whether rows of narrow elements are so long that there are few CTAs, or one, for the reduced axis of each."""
    kept = task.geometry.kept
    nbytes = kept[-1].size * task.itemsize if kept else 0
    return nbytes >= LONG_ROW_BYTES.get(task.itemsize, nbytes + 1) and task.is_large


def lanes_kept(task: Task, vector: int) -> int:
    """Lanes along the kept axis where warps share the reduced one: all for bits, of which a sector has many columns."""
    many = task.reads_bits and task.is_aligned("kept", vector) and task.geometry.n_kept >= TILES_OF_BITS * WARP * vector
    if vector == 1 or has_long_rows(task) or many:
        return WARP
    pitches = [abs(d.strides[0]) * task.itemsize for d in task.geometry.reduced]
    across = task.is_large and any(pitch % LINE_BYTES and pitch > 2 * LINE_BYTES for pitch in pitches)
    return min(WARP, max(UNALIGNED_LANES if across else 1, LINE_BYTES // (vector * task.itemsize)))


def has_whole_lines(task: Task) -> bool:
    """Whether a large array's rows are whole lines, and so many that a warp reads two of them."""
    pitches = [abs(d.strides[0]) * task.itemsize for d in task.geometry.reduced]
    whole = not any(pitch % LINE_BYTES or pitch < LINES_OF_WHOLE * LINE_BYTES for pitch in pitches)
    return whole and task.is_large and not task.reads_bits


def has_narrow_lines(task: Task) -> bool:
    """Whether a large array's rows are few whole lines that follow each other, of elements that are little work."""
    g = task.geometry
    light = task.has_simple_state and not task.has_long_combine and not task.reads_bits
    if not light or (len(g.kept), len(g.reduced)) != (1, 1):
        return False
    row = g.n_kept * task.itemsize
    dense = all(s == g.n_kept for s in g.reduced[0].strides[: len(task.program.inputs)]) and not row % LINE_BYTES
    large = row * g.n_reduced >= NARROW_ARRAY_BYTES and task.itemsize > 1
    return dense and large and row < LINES_OF_WHOLE * LINE_BYTES


def lanes_of_narrow(task: Task, vector: int) -> int:
    """Lanes along a narrow row: two lines of it, or all of it."""
    return min(2 * LINE_BYTES, task.geometry.n_kept * task.itemsize) // (vector * task.itemsize)


def few_lanes(task: Task, vector: int) -> int | None:
    """Lanes along a kept axis of so few accesses that others would be idle; None for a warp."""
    if max(task.ranks) > (3 if vector == 1 else 1):
        return None
    table = LANES_OF_FEW_VECTORS if vector > 1 else LANES_OF_FEW_COLUMNS
    return table.at(-(-task.geometry.n_kept // vector))


def heavy_lanes(task: Task, vector: int) -> int:
    """Lanes of heavy columns along a row: at least those of other columns, unless some would then be idle."""
    accesses = -(-task.geometry.n_kept // vector)
    lanes, least = HEAVY_LANES[task.itemsize], min(lanes_kept(task, vector), ceil2(accesses))
    while lanes > least and (lanes * HEAVY_TILES > accesses or -(-accesses // lanes) * lanes * 8 > accesses * 9):
        lanes //= 2
    return lanes


def warps_kept(task: Task, vector: int, lanes: int, most: int) -> int:
    """Warps of a CTA along the kept axis, of ``lanes`` each: fewer where a row would leave many of them idle."""
    if not task.is_cut(vector):
        return most
    warps = -(-task.geometry.columns // (vector * lanes))
    while most > 1 and -(-warps // most) * most * BUSY > warps:
        most //= 2
    return most


def is_idle(task: Task, vector: int) -> bool:
    """Whether too many lanes have none of the accesses of a row."""
    lanes = WARP if is_short(task, vector) else lanes_kept(task, vector)
    accesses = -(-task.geometry.columns // vector)
    return -(-accesses // lanes) * lanes * BUSY > accesses
