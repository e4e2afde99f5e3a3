"""Rows of a middle axis that begin anywhere, of few elements a result: a thread's results begin where accesses do.

Accesses along such rows begin anywhere, whatever results a thread owns. A thread therefore owns results that it can
write at once: each row of results is *padded* to whole accesses, and the first begins at the boundary before the row.
Places outside the row, in its first and last access, are neither counted nor written.
"""

from __future__ import annotations

from typing import NamedTuple

from ...plan.checks import settled
from ...plan.plan import Plan
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..column_lanes import is_short
from ..limits import CTA_THREADS
from ..table import Table, threshold
from ..task import Notes, Task


class Padding(NamedTuple):
    """Which rows are padded, and how.

    Attributes:
        columns: a row has at least these.
        multiple: rows of a multiple of these columns are written well without padding; 1 pads no row.
        vector, unroll: elements of an access, and accesses in flight.
    """

    columns: int
    multiple: int
    vector: int
    unroll: int


BOUND = "elements of a result"
CHOICE = "(columns at least, columns not a multiple of, elements of an access, accesses in flight)"
TRUTHS = Table(BOUND, CHOICE, sittings.PADDED, ((119, Padding(128, 4, 16, 1)), (159, Padding(128, 4, 16, 8))))
"""Rows of truth values. A copy is as fast for fewer columns."""
ADDED = Table(
    BOUND,
    CHOICE,
    sittings.PADDED,
    ((23, Padding(0, 1, 8, 4)), (49, Padding(500, 2, 8, 4)), (159, Padding(128, 2, 8, 4))),
)
"""Rows of added bytes."""
OTHER_BYTES = Table(
    BOUND,
    CHOICE,
    sittings.PADDED,
    (
        (3, Padding(128, 4, 16, 1)), (11, Padding(250, 4, 16, 2)), (23, Padding(500, 4, 16, 2)),
        (159, Padding(500, 4, 16, 4)),
    ),
)  # fmt: skip
"""Rows of other bytes."""
PAIRS = Table(
    BOUND,
    CHOICE,
    sittings.PADDED,
    (
        (3, Padding(128, 4, 8, 1)), (11, Padding(128, 2, 8, 2)), (23, Padding(200, 2, 8, 2)),
        (64, Padding(200, 2, 8, 4)), (119, Padding(0, 1, 8, 8)), (159, Padding(128, 2, 8, 8)),
    ),
)  # fmt: skip
"""Rows of 2-byte elements with results no wider."""
WORDS = Table(
    BOUND,
    CHOICE,
    sittings.PADDED,
    (
        (3, Padding(0, 1, 4, 2)), (12, Padding(500, 2, 4, 2)), (39, Padding(1000, 2, 4, 2)),
        (99, Padding(500, 2, 4, 1)),
    ),
)  # fmt: skip
"""Rows of 4-byte elements with results no wider: wider elements fill sectors one by one."""
OTHERS = {1: OTHER_BYTES, 2: PAIRS, 4: WORDS}
FEW_ELEMENTS = threshold(24, "elements of a result", sittings.FIFTEEN_THOUSAND)
"""Up to here CTAs have WARPS_OF_FEW: the first and the last element stand alone, so that threads mostly wait."""
WARPS_OF_FEW = threshold(4, "warps of a CTA", sittings.FIFTEEN_THOUSAND)
"""A CTA has these where results have few elements."""
NEEDS = (
    "several kept dims, one result without repetition whose rows have no gaps between elements, and inputs whose rows"
    " can be read by accesses that begin anywhere, two accesses apart at least"
)
"""What a layout must be, in the words of an error."""


def plan(task: Task, notes: Notes) -> Plan | None:
    """A thread for each access of a padded row; None where that does not serve, or gains nothing."""
    g, padding = task.geometry, _padding(task)
    if padding is None or not task.is_large or not is_short(task, padding.vector):
        return None
    warps = WARPS_OF_FEW if g.n_reduced <= FEW_ELEMENTS else CTA_THREADS // WARP
    found = _plan(padding.vector, padding.unroll, warps)
    if not serves(task, found):
        return None
    words = f"a thread has up to {padding.vector} results of one of the rows of {g.columns}"
    notes.because(f"{words}, from a boundary of theirs on", "walk", "fast", "vector", "lanes", "warps")
    notes.because(f"{padding.unroll} access(es) in flight", "unroll")
    notes.rejected.append(("walk=interleaved", "rows of results begin anywhere, and would be written one by one"))
    return found


def _padding(task: Task) -> Padding | None:
    """How the rows of ``task`` are padded, if that gains anything."""
    g = task.geometry
    simple = task.state_registers == 1 and not task.program.uses_index and not task.has_long_combine
    if not simple or len(g.kept) < 2 or len(task.program.inputs) > 1 or g.n_reduced < 2:
        return None
    if task.joins_truths or task.adds_bytes:
        found = (TRUTHS if task.joins_truths else ADDED).at(g.n_reduced)
    elif task.result_bytes <= task.itemsize and task.itemsize in OTHERS:
        found = OTHERS[task.itemsize].at(g.n_reduced)
    else:
        return None
    return found if found and g.columns >= found.columns and g.columns % found.multiple else None


def serves(task: Task, plan: Plan) -> bool:
    """Whether the layout has rows that can be padded, and read by accesses of ``plan``.

    An access begins up to a vector before a row does, and is read from the boundary before.
    """
    g, inputs = task.geometry, range(len(task.program.inputs))
    one = len(g.offsets) == len(inputs) + 1 and not g.repeats
    if not one or len(g.kept) < 2 or "strided" in task.accesses("kept", plan.vector):
        return False
    out = len(inputs)
    apart = all(d.strides[i] * task.operand_type(i).itemsize >= 2 * WIDEST for d in g.reduced for i in inputs)
    return apart and task.start(out) % task.result_bytes == 0 and g.kept[-1].strides[out] == 1


def fitted(task: Task, _plan_of_others: Plan) -> Plan:
    """The plan with the widest accesses."""
    return _plan(WIDEST // task.itemsize, 1, CTA_THREADS // WARP)


def _plan(vector: int, unroll: int, warps: int) -> Plan:
    return settled(Plan("kept", "padded", vector, unroll, warps_kept=warps))
