"""Narrow columns of small arrays: single elements by many warps, or lanes along the rows, in place of periods.

By periods each thread leaves a state for each element of an access, and a CTA combines all of them in the end. A small
array is over before whole accesses pay for that.
"""

from __future__ import annotations

from dataclasses import replace

from ...plan.plan import Plan
from ...target import WARP
from .. import sittings
from ..limits import CTA_THREADS
from ..table import threshold
from ..task import Notes, Task
from .periods import pays

COLUMNS = threshold(WARP + 1, "columns", sittings.SMALL_COLUMNS)
"""From here on single elements, of which LANES of a warp read neighbours, are faster than periods."""
ELEMENTS = threshold(1 << 22, "elements", sittings.SMALL_COLUMNS)
"""Up to here arrays are small."""
MANY_COLUMNS = threshold(2 * WARP + 1, "columns", sittings.BESIDE_PERIODS)
"""From here on arrays of ELEMENTS_OF_MANY are small, too."""
ELEMENTS_OF_MANY = threshold(1 << 23, "elements", sittings.BESIDE_PERIODS)
"""Replaces ELEMENTS for 4-byte elements in MANY_COLUMNS."""
LANES = threshold(16, "lanes along the kept axis", sittings.SMALL_COLUMNS)
"""A warp has these, and the others along the rows."""
UNROLL = threshold(8, "accesses in flight", sittings.SMALL_COLUMNS)
"""A thread has these."""
FEW_COLUMNS = threshold(8, "columns", sittings.SMALL_COLUMNS)
"""Up to here lanes along the rows, which other plans have, are faster than periods."""
FEW_ELEMENTS = threshold(1 << 21, "elements", sittings.SMALL_COLUMNS)
"""Up to here arrays of FEW_COLUMNS are small."""


def plan(task: Task, wide: Plan, other: Plan, notes: Notes) -> Plan | None:
    """The plan of columns that periods, with the accesses of ``wide``, would read of a larger array; None for others.

    ``other`` is the plan without periods.
    """
    g = task.geometry
    elements, alone = g.n_kept * g.n_reduced, len(g.kept) == len(task.program.inputs) == 1
    if not alone or task.joins_truths or elements > _most(task) or not pays(task, wide, other):
        return None
    if g.columns < COLUMNS:
        return other if g.columns <= FEW_COLUMNS and elements <= FEW_ELEMENTS else None
    warps = CTA_THREADS // WARP
    notes.forget({"vector", "lanes", "warps", "unroll"})
    words = f"{LANES} columns a warp, {warps} warps share the reduced axis of so small an array"
    notes.because(words, "vector", "lanes", "warps", "unroll")
    notes.rejected.append(("walk=period", "each thread would leave a state for each element of an access"))
    return replace(other, vector=1, unroll=UNROLL, lanes=WARP // LANES, warps=warps, warps_kept=1)


def _most(task: Task) -> int:
    """Elements of an array up to which it is small."""
    many = task.itemsize == 4 and task.geometry.columns >= MANY_COLUMNS
    return ELEMENTS_OF_MANY if many and not (task.few or task.is_portable) else ELEMENTS
