"""Plans that keep the order of the elements, for combines that do not commute.

Along the reduced axis the lanes of a row meet in each step (``meet=steps``), so that they read neighbours in wide
accesses all the same, and each warp has contiguous elements. Along the kept axis each thread has contiguous elements.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ..errors import error
from ..plan.checks import in_steps
from ..plan.plan import Plan
from ..target import WARP
from .limits import CTA_THREADS
from .task import Notes, Task


def plan(task: Task, found: Plan, notes: Notes) -> Plan:
    """``found`` in an order in which it keeps that of the elements."""
    notes.rejected.append(("walk=interleaved", f"{task.monoid.name} is not commutative: its order must be kept"))
    if found.walk == "runs":
        return _in_steps(found, notes)
    if found.fast != "reduced" or found.tile_bytes:
        return replace(found, walk="blocked")
    if not _makes_same_steps(task, found):
        notes.because("a warp a result: lanes that meet in each step make the same steps", "lanes")
        found = replace(found, lanes=WARP, warps_kept=CTA_THREADS // WARP // 2)
    return _in_steps(replace(found, walk="blocked"), notes)


def giving_way(found: Plan, named: Collection[str]) -> Plan:
    """``found`` without meetings in steps where other fields, which options set, do not allow these."""
    return replace(found, meet="") if "meet" not in named and found != in_steps(found) else found


def check(task: Task, found: Plan) -> None:
    """Refuses (WF436) lanes that would have to make the same steps, and do not."""
    if found.meets_in_steps and not _makes_same_steps(task, found):
        expected = f"{WARP}, since rows begin anywhere"
        raise error("WF436", meet=found.meet, key="lanes", value=found.lanes, expected=expected)


def _makes_same_steps(task: Task, found: Plan) -> bool:
    """Whether all lanes of a warp make the same steps: rows of one warp that begin anywhere may differ by one."""
    shifted = "shifted" in task.accesses("reduced", found.vector, runs=found.walk == "runs")
    return found.lanes in (1, WARP) or found.vector == 1 or not shifted


def _in_steps(found: Plan, notes: Notes) -> Plan:
    notes.because("lanes join what they read in each step, in order, so that neighbours read neighbours", "meet")
    return replace(found, meet="steps")
