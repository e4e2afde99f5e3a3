"""The walks that are for some layouts alone: whether one serves, and what it asks for where it does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ..errors import error
from ..plan.plan import OWN_WALKS, Access, Plan, settled
from ..target import WARP
from . import columns
from .alignment import WIDEST, check_width
from .layouts import blocks, padded_rows, periods, runs, staggered_columns
from .split import THREADS
from .task import Task


class Needs(NamedTuple):
    """What a walk needs.

    Attributes:
        met: whether the layout has the rows that such a plan walks.
        wanted: the same in words.
        more: the extent to raise for more such rows, if there is one.
        access: how threads read an input so.
        fitted: another plan with the extents that such a one has by itself.
    """

    met: Callable[[Task, Plan], bool]
    wanted: str
    more: str
    access: Callable[[Task, int, Plan], Access]
    fitted: Callable[[Task, Plan], Plan]


def _along_kept(task: Task, plan: Plan) -> Plan:
    """``plan`` with the widest accesses along the kept axis, and CTAs of all threads."""
    return settled(replace(columns.wide(task, plan), warps=THREADS // WARP, warps_kept=THREADS // WARP))


def _staggered(task: Task, plan: Plan) -> Plan:
    """The same for the states that staggered warps may hold."""
    found = _along_kept(task, plan)
    return replace(found, vector=min(found.vector, staggered_columns.widest(task)))


NEEDS: dict[str, Needs] = {
    "period": Needs(periods.serves, periods.WANTED, periods.RAISE, lambda *_: "period", _along_kept),
    "staggered": Needs(
        staggered_columns.serves, staggered_columns.WANTED, staggered_columns.RAISE, lambda *_: "staggered", _staggered
    ),
    "runs": Needs(runs.serves, runs.WANTED, "", runs.access, runs.fitted),
    "padded": Needs(padded_rows.serves, padded_rows.WANTED, "", lambda *_: "unaligned", padded_rows.fitted),
    "whole": Needs(blocks.serves, blocks.WANTED, "", lambda *_: "whole", blocks.fitted),
}


def serves(task: Task, plan: Plan) -> bool:
    """Whether the layout has the rows that the walk of ``plan`` needs."""
    return plan.walk not in OWN_WALKS or NEEDS[plan.walk].met(task, plan)


def access(task: Task, operand: int, plan: Plan) -> Access:
    """How threads that walk so read an input; by single elements where the layout has no such rows."""
    return NEEDS[plan.walk].access(task, operand, plan) if serves(task, plan) else "strided"


def check(task: Task, plan: Plan) -> None:
    """Refuses a walk for which the layout has no such rows (WF416), or no access is so wide (WF421)."""
    if plan.walk in OWN_WALKS:
        check_width(task, plan.vector, WIDEST)
    if not serves(task, plan):
        needs = NEEDS[plan.walk]
        more = f", or raise {needs.more}" if needs.more else ""
        raise error("WF416", walk=plan.walk, wanted=needs.wanted, more=more)
