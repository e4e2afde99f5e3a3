"""Plans that keep the order of the elements, for combines that do not commute.

Along the reduced axis the lanes of a row meet in each step (``meet=steps``), so that they read neighbours in wide
accesses all the same, and each warp has contiguous elements. Along the kept axis each thread has contiguous elements.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ..plan.checks import in_steps
from ..plan.plan import Plan
from .task import Notes, Task


def plan(task: Task, found: Plan, notes: Notes) -> Plan:
    """``found`` in an order in which it keeps that of the elements."""
    notes.rejected.append(("walk=interleaved", f"{task.monoid.name} is not commutative: its order must be kept"))
    if found.walk == "runs":
        return _in_steps(found, notes)
    if found.fast != "reduced" or found.tile_bytes:
        return replace(found, walk="blocked")
    return _in_steps(replace(found, walk="blocked"), notes)


def giving_way(found: Plan, named: Collection[str]) -> Plan:
    """``found`` without meetings in steps where other fields, which options set, do not allow these."""
    return replace(found, meet="") if "meet" not in named and found != in_steps(found) else found


def _in_steps(found: Plan, notes: Notes) -> Plan:
    notes.because("lanes join what they read in each step, in order, so that neighbours read neighbours", "meet")
    return replace(found, meet="steps")
