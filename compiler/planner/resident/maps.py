"""The plan of a program without a fold: rows are cut into parts that CTAs own, since nothing meets."""

from __future__ import annotations

from math import ceil

from ...dtypes import BIT
from ...plan.plan import Plan
from ...program.graph import ELEMENT, KEPT, REDUCED, Space, walk
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..powers_of_two import ceil2
from ..table import threshold
from ..task import Notes, Task
from . import columns
from .accesses import (
    ROW_THREADS,
    accesses,
    across_rows,
    elements_of,
    is_by_columns,
    is_one_run,
    spaces,
    vector_of,
    writes_bits,
)
from .rows import count_of, lanes_of_word

IN_FLIGHT = threshold(2, "accesses of a thread", sittings.MAPS)
"""The accesses in flight of a thread, if they are of WIDEST bytes."""
UNALIGNED = threshold(1, "accesses of a thread", sittings.TRANSPOSED)
"""Those beside which results are written at once, where an array begins elsewhere."""
WITH_BITS = threshold(1, "accesses of a thread", sittings.WORDS_OF_BITS)
"""Those of halves and narrower elements, beside which bits are written."""
SINGLE = threshold(32, "bytes of a thread", sittings.SHORT_ROWS_OF_BITS)
"""Where bits alone are made of elements that are read one by one, a thread has so many that lie beside each other."""
SHORT_OF_BITS = threshold(256, "elements of a row", sittings.SHORT_ROWS_OF_BITS)
"""Up to here, so that a warp has many rows. Threads that share a longer row have WIDEST bytes each."""
SHORT_BESIDE = threshold(8, "elements of a row", sittings.SHORT_ROWS_OF_BITS)
"""The same where other results are written."""
NARROW = threshold(16, "bytes of a thread", sittings.MAPS)
"""Of narrower accesses a thread has so many in flight that they are of these bytes."""
RANDOM_THREADS = threshold(128, "threads of a CTA", sittings.RANDOM_BITS)
"""Where elements take random bits, whose instructions are a chain of ten rounds. A thread then makes one access."""
ROWS = threshold(4, "accesses of a thread", sittings.MAPS)
"""Short rows of narrow accesses have so many threads that each makes these."""
ACROSS = threshold(8, "lanes of a warp", sittings.MAPS)
"""Where an array lies across the others, so many lanes are along rows, and the others along its columns."""
ACROSS_CUT = threshold(16, "lanes of a warp", sittings.TRANSPOSED)
"""The same where rows begin anywhere, in CTAs of twice as many threads."""
SHORT = threshold(256, "elements of a row", sittings.MAPS)
"""Up to here threads go along the other dims where an array varies along the row alone, such as a weight."""
SHORT_HEAVY = threshold(4096, "elements of a row", sittings.TRANSPOSED)
"""The same where those arrays have more bytes for an element than the elements themselves."""
LONG = threshold(16, "elements of a row", sittings.TRANSPOSED)
"""From here on rows of narrow elements that are no whole accesses are rows of their own."""
NARROW_ELEMENTS = threshold(2, "bytes of an element", sittings.TRANSPOSED)
"""So narrow are they."""
WORDS = threshold(8, "bytes of an access", sittings.MAPS)
"""If accesses along the row have so many bytes."""
OF_HEAVY_COLUMNS = threshold(8, "accesses of a thread", sittings.TRANSPOSED)
"""The same where weights have more bytes for an element than the elements themselves."""
COLUMNS = threshold(4, "columns of a thread", sittings.BATCH_NORM)
"""Of narrow elements with such weights a thread has these, and OF_COLUMNS accesses, where one warp holds a row: it has
registers for what it reads once for each column."""
OF_COLUMNS = threshold(4, "accesses of a thread", sittings.MAPS)
"""The accesses in flight of a thread to its columns, for which it reads weights once."""

SHARED = threshold(1 << 22, "bytes of weights", sittings.SHARED_WEIGHTS)
"""Where rows share so many, CTAs that follow each other have other rows: what these share is read from the L2 cache."""


AGAIN = threshold(1 << 26, "bytes of arrays", sittings.STEPS)
"""From here on the L2 cache is told to keep neither arrays that a fold has read before nor results: it still has a part
of the arrays, whose place results would take."""
AGAIN_MOST = threshold(1 << 27, "bytes of arrays", sittings.STEPS)
"""Up to here: of more it has too small a part."""


def streams(nbytes: int) -> bool:
    """Whether the L2 cache is told to keep neither ``nbytes`` that a fold has read before, nor the results."""
    return AGAIN <= nbytes <= AGAIN_MOST


def shares_weights(task: Task) -> bool:
    """Whether rows of a program without a fold share so much that the L2 cache does not keep it for the next row."""
    g, inputs = task.geometry, task.program.inputs
    along = zip(inputs, spaces(task), strict=False)
    nbytes = sum(t.itemsize for t, space in along if space == REDUCED) * g.n_reduced
    return not task.program.reduces and g.n_kept > 1 and nbytes >= SHARED


def plan(task: Task, notes: Notes) -> Plan:
    """The plan of a program without a fold."""
    found = _of_columns(task) if is_by_columns(task) and not writes_bits(task) else _of_rows(task)
    notes.because(f"each thread makes {found.held} access(es), which nothing joins", "held")
    return found


def turns(task: Task) -> bool:
    """Whether threads go along the kept dims of a step without a fold: its rows are short, and share weights."""
    g, program = task.geometry, task.program
    short = SHORT_HEAVY if _is_heavy(task, REDUCED) else SHORT
    shares = REDUCED in program.input_spaces and g.n_reduced <= min(short, g.n_kept)
    if program.reduces or writes_bits(task) or not shares:
        return False
    return vector_of(task, "reduced") * max(task.operand_type(i).itemsize for i in elements_of(task)) >= WORDS


def _is_heavy(task: Task, space: Space) -> bool:
    """Whether arrays along one axis alone, in ``space``, have more bytes for an element than those along both."""
    found = [(s, task.operand_type(i).itemsize) for i, s in enumerate(spaces(task))]
    return sum(item for s, item in found if s == space) > sum(item for s, item in found if s == ELEMENT)


def rows_apart(task: Task) -> int:
    """The elements of a row where threads go along rows alone, in a step without a fold that has no kept dims; else 0.

    Narrow elements of rows that are no whole accesses are read through a tile, or by accesses that begin with the row.
    Beside bits that are numbered through all rows accesses go on from one row into the next.
    """
    g, rows = task.geometry, elements_of(task)
    bits = [i for i, t in enumerate(task.program.inputs) if t == BIT]
    if any(is_one_run(task, i, "reduced") for i in bits):
        return 0
    if g.kept or len(g.reduced) < 2 or any(g.reduced[-1].strides[i] != 1 for i in rows):
        return 0
    n, item = g.reduced[-1].size, max(task.operand_type(i).itemsize for i in rows)
    return n if n >= LONG and item <= NARROW_ELEMENTS and n % (WIDEST // item) else 0


def _of_rows(task: Task) -> Plan:
    """The plan of threads whose accesses are along rows."""
    across = [] if writes_bits(task) else across_rows(task)
    vector = vector_of(task, "reduced", [i for i in elements_of(task) if i not in across])
    widest = WIDEST // max(task.operand_type(i).itemsize for i in elements_of(task))
    if vector < widest and writes_bits(task):
        alone = all(o.dtype == BIT for o in task.program.outputs)
        if task.geometry.n_reduced <= (SHORT_OF_BITS if alone else SHORT_BESIDE):
            return _of_short_rows(task)
        vector = widest if alone else vector
    nbytes = vector * max(task.operand_type(i).itemsize for i in elements_of(task))
    count, found = count_of(task, vector), accesses(task, "reduced", vector)
    held = max(IN_FLIGHT, NARROW // nbytes)
    if writes_bits(task) and vector >= WIDEST // 2:
        held = WITH_BITS
    beside = {found[i] for i in elements_of(task) if i not in across}
    if vector > 1 and not beside.isdisjoint(("strided", "unaligned", "split")):
        held = UNALIGNED
    most = ROW_THREADS
    if nbytes >= WIDEST and any(e.op == "philox" for e in walk(task.program.outputs)):
        most, held = RANDOM_THREADS, 1
    threads = min(ceil2(count if nbytes >= WIDEST else ceil(count / min(held, ROWS))), most)
    threads = max(threads, lanes_of_word(task, vector))
    lanes = min(threads, WARP)
    if across:
        whole = all(found[i] == "aligned" for i in elements_of(task) if i not in across)
        threads = lanes = min(lanes, ACROSS if whole else ACROSS_CUT)
        most *= 1 if whole else 2
    warps = threads // lanes
    held = min(held, ceil(count / threads)) if nbytes >= WIDEST or count > held * threads else ceil(count / threads)
    return Plan(
        "reduced", "interleaved", vector, 1, lanes, warps, max(1, most // (WARP * warps)),
        resident="registers", held=held,
    )  # fmt: skip


def _of_short_rows(task: Task) -> Plan:
    """The plan of short rows of bits whose elements are read one by one: the lanes of a word alone share it."""
    widest, n = max(task.operand_type(i).itemsize for i in elements_of(task)), task.geometry.n_reduced
    vector = min(WIDEST, SINGLE // widest, ceil2(n))
    return Plan(
        "reduced", "interleaved", vector, 1, lanes_of_word(task, vector), 1, ROW_THREADS // WARP,
        resident="registers", held=1,
    )  # fmt: skip


def _of_columns(task: Task) -> Plan:
    """The plan of threads whose accesses are along the kept axis, so that what varies along it alone is read once."""
    vector, heavy = columns.vector_of(task), _is_heavy(task, KEPT)
    beside = 2 if heavy and ceil(task.geometry.columns / vector) >= 2 * WARP else 1
    held = OF_HEAVY_COLUMNS if heavy else OF_COLUMNS
    if (task.few or (heavy and beside == 1)) and vector > COLUMNS:
        vector, held = COLUMNS, OF_COLUMNS
    lanes_kept = min(WARP, ceil2(ceil(task.geometry.columns / vector)))
    return Plan(
        "kept", "interleaved", vector, 1, WARP // lanes_kept, ROW_THREADS // WARP // beside, beside,
        resident="registers", held=held,
    )  # fmt: skip
