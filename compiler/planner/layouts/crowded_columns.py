"""Crowded columns: rows of a middle axis so short that several lie in a line. Lanes lie along many of them.

A lane with a column of its own reads rows that are far apart, and a warp then touches many lines for few bytes each. So
lanes lie along the reduced axis: an access of a warp is some rows of each of several indices of the outer dims, which
follow each other in memory, and shuffles combine what its lanes have read.
"""

from __future__ import annotations

from math import ceil

from ...plan.plan import Plan
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..limits import CTA_THREADS
from ..powers_of_two import ceil2
from ..table import threshold
from ..task import FILLING_WARPS, Notes, Task

ROW_BYTES = threshold(64, "bytes of a row", sittings.BY_HAND)
"""Up to here rows are crowded."""
LEAST_ITEM = threshold({True: 2, False: 4}, "bytes of an element, by whether it is a float", sittings.SHORT_COLUMNS)
"""Narrower ones are as fast otherwise: bytes are combined word by word."""
LEAST_ROW_BYTES = threshold({2: 16, 4: 16, 8: 32}, "bytes of a row, by bytes of an element", sittings.SHORT_COLUMNS)
"""Shorter rows are as fast otherwise."""
LEAST_ROWS = threshold(4, "rows", sittings.SHORT_COLUMNS)
"""Not of fewer."""
MOST_ROWS = threshold({2: 256, 4: 100, 8: 100}, "rows, by bytes of an element", sittings.SHORT_COLUMNS)
"""Nor of more."""
LANES = threshold(8, "lanes along the rows", sittings.SHORT_COLUMNS)
"""The most, or half as many as there are rows."""
LONG_ROW_BYTES = threshold(range(8, 33), "bytes of a row", sittings.BY_HAND)
"""Rows of these are crowded, too, where there are LONG_ROWS and more."""
LONG_ROWS = threshold(1000, "rows", sittings.BY_HAND)
"""From here on a CTA has the rows of one index of the outer dims, and all of its lanes read what follows each other."""
UNROLL_OF_LONG = threshold(8, "accesses in flight", sittings.BY_HAND)
"""A lane of such a CTA has these in flight."""
LONG_CTAS = threshold(8, "CTAs per SM", sittings.BY_HAND)
"""There are at least these of them."""
UNROLL = threshold(4, "accesses in flight", sittings.SHORT_COLUMNS)
"""The most, or all of a lane."""


def plan(task: Task, notes: Notes) -> Plan | None:
    """A plan whose lanes lie along short rows of a middle axis; None where others are faster, or serve alone."""
    g, vector, inputs = task.geometry, WIDEST // task.itemsize, task.program.inputs
    narrow = any(t.itemsize < LEAST_ITEM[t.is_float] for t in inputs)
    some, many = LEAST_ROWS <= g.n_reduced <= MOST_ROWS.get(task.itemsize, 0), g.n_reduced >= LONG_ROWS
    if len(g.kept) < 2 or narrow or not (some or many) or task.is_portable:
        return None
    simple = len(task.monoid.state) == 1 and not task.has_long_combine and not task.program.uses_index
    if not simple or not task.monoid.commutative:
        return None
    if not _is_dense(task):
        return None
    row = g.columns * task.itemsize
    if many:
        return _of_long(task, notes) if row in LONG_ROW_BYTES else None
    if not LEAST_ROW_BYTES[task.itemsize] <= row <= ROW_BYTES:
        return None
    lanes = min(LANES, ceil2(g.n_reduced) // 2)
    threads = g.n_kept // vector * lanes
    if g.columns % vector or not task.is_aligned("kept", vector) or threads < FILLING_WARPS * task.machine * WARP:
        return None
    unroll = min(UNROLL, ceil2(ceil(g.n_reduced / lanes)))
    words = f"{lanes} lanes lie along rows of {row} bytes, and so read what follows each other"
    notes.because(words, "fast", "vector", "lanes", "warps", "unroll")
    notes.rejected.append(("lanes=1", "each access of a warp would touch a line for each lane"))
    return Plan("kept", "interleaved", vector, unroll, lanes, 1, CTA_THREADS // WARP)


def _of_long(task: Task, notes: Notes) -> Plan | None:
    """A plan whose CTAs read all rows of an outer index, which are many, as they follow each other."""
    g = task.geometry
    vector = min(WIDEST // task.itemsize, g.columns)
    lanes_kept = g.columns // vector
    aligned = g.columns == lanes_kept * vector and vector & (vector - 1) == 0 and task.is_aligned("kept", vector)
    if not aligned or lanes_kept & (lanes_kept - 1) or g.n_kept < LONG_CTAS * task.machine * g.columns:
        return None
    warps = CTA_THREADS // WARP
    notes.because(f"{warps} warps read {g.n_reduced} rows of {lanes_kept} access(es), which follow each other",
                  "fast", "vector", "lanes", "warps", "unroll")  # fmt: skip
    notes.rejected.append(("warps=1", "each access of a warp would touch lines that lie far apart"))
    return Plan("kept", "interleaved", vector, UNROLL_OF_LONG, WARP // lanes_kept, warps, 1)


def _is_dense(task: Task) -> bool:
    """Whether the rows of an index follow each other in all inputs, which have elements of one size."""
    g, inputs = task.geometry, task.program.inputs
    follow = all(len(g.reduced) == 1 and g.reduced[0].strides[i] == g.columns for i in range(len(inputs)))
    return follow and len({t.itemsize for t in inputs}) == 1
