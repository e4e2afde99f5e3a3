"""Few kernels: plans from a menu, for programs that are called with arrays of many sizes.

``plan="few"`` asks for them. An access is as wide as it can be, a pair, or one element. A row has one of few numbers of
threads. Loops and masks serve all lengths, and kernels have three dims where views have two or three. So the plan
depends on the kind of accesses, and hardly on sizes.

This file has the menu of one reduction, and ``resident/few.py`` those of programs that read rows again, and of programs
without a fold. Portable plans depend on the length of a row alone, and are the same with and without a menu.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..dtypes import BIT
from ..plan.fields import Axis
from ..plan.plan import Plan
from ..target import WARP
from . import sittings
from .alignment import LINE, WIDEST
from .columns import registers
from .limits import CTA_THREADS, unroll_of, widest_of, widest_of_row
from .powers_of_two import halvings
from .table import threshold
from .task import Notes, Task

PAIR = threshold(2, "elements of an access", sittings.FEW_KERNELS)
"""The one width between the widest access and single elements."""
NARROW = threshold(2, "bytes of an element", sittings.FEW_KERNELS)
"""Only of such elements are results accessed at once beside inputs that begin elsewhere."""
UNROLL = threshold(4, "accesses in flight", sittings.FEW_KERNELS)
"""Of a thread of one reduction."""
SHORT = threshold(64, "accesses of a row", sittings.FEW_KERNELS)
"""Up to here a row of one reduction has SHORT_LANES, if rows fill the machine so; all others have a CTA."""
SHORT_LANES = threshold(4, "threads of a row", sittings.FEW_KERNELS)
"""Of short rows."""
SHIFTED = threshold(32, "accesses of a row", sittings.FEW_KERNELS)
"""Shorter rows that begin anywhere are read by single elements."""


def serves(task: Task) -> bool:
    """Whether a menu serves a task: it is not portable, has no bits, which lanes put together, and no side folds."""
    types = (*task.program.inputs, *(o.dtype for o in task.program.outputs))
    return not task.is_portable and BIT not in types and not task.inner and not task.program.side


def widths(task: Task, widest: int) -> Sequence[int]:
    """The widths of an access, in elements, from which plans of rows that are read again are chosen."""
    if not task.few:
        return halvings(widest)
    if task.is_huge:
        return []
    maps_of_dims = not task.program.reduces and len(task.geometry.reduced) > 1
    pairs = bool(task.program.reduces) and widest > PAIR
    return [] if maps_of_dims else [widest, *([PAIR] if pairs else [])]


def mixes(task: Task, widest: int) -> bool:
    """Whether results may be accessed at once beside inputs that begin elsewhere: of narrow elements in single dims."""
    g = task.geometry
    narrow = widest * NARROW >= WIDEST
    return not task.few or (
        narrow and bool(task.program.reduces) and max(len(g.kept), len(g.reduced)) <= 1 and not task.is_huge
    )


def plan(task: Task, axis: Axis, notes: Notes) -> Plan:
    """The plan of one reduction whose lanes lie along ``axis``."""
    notes.because("few kernels: one of the plans that serve all sizes of this kind of access", "vector", "lanes")
    if axis == "kept":
        vector = _vector(task, axis, widest_of(task, registers(task)))
        lanes_kept = max(1, min(WARP, LINE // (vector * task.itemsize)))
        unroll = min(UNROLL, unroll_of(task, axis, vector))
        return Plan("kept", vector=vector, unroll=unroll, lanes=WARP // lanes_kept, warps=CTA_THREADS // WARP)
    vector = _vector(task, axis, widest_of_row(task))
    short = -(-task.geometry.n_reduced // vector) <= SHORT and not task.has_few_results
    lanes, warps = (SHORT_LANES, 1) if short else (WARP, CTA_THREADS // WARP)
    unroll, kept = min(UNROLL, unroll_of(task, axis, vector)), CTA_THREADS // WARP // warps
    return Plan("reduced", vector=vector, unroll=unroll, lanes=lanes, warps=warps, warps_kept=kept)


def walks(task: Task, axis: Axis) -> bool:
    """Whether one reduction may have a walk of its own: columns of one dim, whose walks serve all sizes."""
    return axis == "kept" and task.ranks == (1, 1) and task.is_large and not task.is_huge


def _vector(task: Task, axis: Axis, widest: int) -> int:
    """Elements of an access: the widest, or one."""
    cut = axis == "kept" and task.is_cut(widest)
    kinds = task.accesses(axis, widest)
    short = "shifted" in kinds and task.geometry.n_reduced < SHIFTED * widest
    single = not kinds.isdisjoint({"strided", "unaligned"} if max(task.ranks) > 1 else {"strided"})
    return 1 if max(task.ranks) > 3 or task.is_huge or cut or short or single else widest
