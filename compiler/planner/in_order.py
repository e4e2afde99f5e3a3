"""Plans that keep the order of the elements, for combines that do not commute.

Along the reduced axis the lanes of a row meet in each step (``meet=steps``), so that they read neighbours in wide
accesses all the same, and each warp has contiguous elements. Along the kept axis each thread has contiguous elements.
"""

from __future__ import annotations

from dataclasses import replace

from ..plan.plan import Plan
from ..target import WARP
from .limits import CTA_THREADS
from .task import Notes, Task


def plan(task: Task, found: Plan, notes: Notes) -> Plan:
    """``found`` in an order in which it keeps that of the elements."""
    notes.rejected.append(("walk=interleaved", f"{task.monoid.name} is not commutative: its order must be kept"))
    if found.fast != "reduced" or found.tile_bytes:
        return replace(found, walk="blocked")
    if found.lanes < WARP and "shifted" in task.accesses("reduced", found.vector) and found.vector > 1:
        notes.because("a warp a result: lanes that meet in each step make the same steps", "lanes")
        found = replace(found, lanes=WARP, warps_kept=CTA_THREADS // WARP // 2)
    notes.because("lanes join what they read in each step, in order, so that neighbours read neighbours", "meet")
    return replace(found, walk="blocked", meet="steps")
