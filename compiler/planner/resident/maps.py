"""The plan of a program without a fold: rows are cut into parts that CTAs own, since nothing meets."""

from __future__ import annotations

from math import ceil

from ...plan.plan import Plan
from ...program.graph import REDUCED
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..powers_of_two import ceil2
from ..table import threshold
from ..task import Notes, Task
from . import columns
from .accesses import ROW_THREADS, elements_of, is_by_columns, vector_of, writes_bits
from .rows import count_of, lanes_of_word

IN_FLIGHT = threshold(2, "accesses of a thread", sittings.MAPS)
"""The accesses in flight of a thread, if they are of WIDEST bytes."""
WITH_BITS = threshold(1, "accesses of a thread", sittings.WORDS_OF_BITS)
"""Those of halves and narrower elements, beside which bits are written."""
NARROW = threshold(16, "bytes of a thread", sittings.MAPS)
"""Of narrower accesses a thread has so many in flight that they are of these bytes."""
ROWS = threshold(4, "accesses of a thread", sittings.MAPS)
"""Short rows of narrow accesses have so many threads that each makes these."""
ACROSS = threshold(8, "lanes of a warp", sittings.MAPS)
"""Where an array lies across the others, so many lanes are along rows, and the others along its columns."""
SHORT = threshold(256, "elements of a row", sittings.MAPS)
"""Up to here threads go along the other dims where an array varies along the row alone, such as a weight."""
WORDS = threshold(8, "bytes of an access", sittings.MAPS)
"""If accesses along the row have so many bytes."""
OF_COLUMNS = threshold(4, "accesses of a thread", sittings.MAPS)
"""The accesses in flight of a thread to its columns, for which it reads weights once."""


def plan(task: Task, notes: Notes) -> Plan:
    """The plan of a program without a fold."""
    found = _of_columns(task) if is_by_columns(task) and not writes_bits(task) else _of_rows(task)
    notes.because(f"each thread makes {found.held} access(es), which nothing joins", "held")
    return found


def turns(task: Task) -> bool:
    """Whether threads go along the kept dims of a step without a fold: its rows are short, and share weights."""
    g, program = task.geometry, task.program
    shares = REDUCED in program.input_spaces and g.n_reduced <= min(SHORT, g.n_kept)
    if program.reduces or writes_bits(task) or not shares:
        return False
    return vector_of(task, "reduced") * max(task.operand_type(i).itemsize for i in elements_of(task)) >= WORDS


def _of_rows(task: Task) -> Plan:
    """The plan of threads whose accesses are along rows."""
    across = [] if writes_bits(task) else _across(task)
    vector = vector_of(task, "reduced", [i for i in elements_of(task) if i not in across])
    nbytes = vector * max(task.operand_type(i).itemsize for i in elements_of(task))
    count = count_of(task, vector)
    held = max(IN_FLIGHT, NARROW // nbytes)
    if writes_bits(task) and vector >= WIDEST // 2:
        held = WITH_BITS
    threads = min(ceil2(count if nbytes >= WIDEST else ceil(count / min(held, ROWS))), ROW_THREADS)
    threads = max(threads, lanes_of_word(task, vector))
    lanes = min(threads, WARP)
    if across:
        threads = lanes = min(lanes, ACROSS)
    warps = threads // lanes
    held = min(held, ceil(count / threads)) if nbytes >= WIDEST or count > held * threads else ceil(count / threads)
    return Plan(
        "reduced", "interleaved", vector, 1, lanes, warps, max(1, ROW_THREADS // (WARP * warps)),
        resident="registers", held=held,
    )  # fmt: skip


def _of_columns(task: Task) -> Plan:
    """The plan of threads whose accesses are along the kept axis, so that what varies along it alone is read once."""
    vector = columns.vector_of(task)
    lanes_kept = min(WARP, ceil2(ceil(task.geometry.columns / vector)))
    return Plan(
        "kept", "interleaved", vector, 1, WARP // lanes_kept, ROW_THREADS // WARP, 1, resident="registers",
        held=OF_COLUMNS,
    )  # fmt: skip


def _across(task: Task) -> list[int]:
    """The operands whose elements lie side by side along the kept axis, where those of others do along rows."""
    g = task.geometry
    rows = elements_of(task)
    side_by_side = [i for i in rows if g.reduced and g.reduced[-1].strides[i] == 1]
    return [i for i in rows if side_by_side and i not in side_by_side and g.kept and g.kept[-1].strides[i] == 1]
