"""The walks that only some layouts have: whether a layout has one, which plan fits, and what the walk needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ..errors import error
from ..plan.checks import settled
from ..plan.fields import OWN_WALKS, Access
from ..plan.plan import Plan
from ..target import WARP
from . import columns
from .alignment import WIDEST
from .layouts import blocks, padded_rows, periods, runs, staggered_columns
from .limits import CTA_THREADS
from .task import Task


class Needs(NamedTuple):
    """What a walk needs.

    Attributes:
        served: whether the layout has the rows that such a plan walks.
        words: what a layout must be, for an error.
        more: the extent to raise for more such rows, if there is one.
        access: how threads read an input so.
        fitted: another plan with the extents that such a one has by itself.
    """

    served: Callable[[Task, Plan], bool]
    words: str
    more: str
    access: Callable[[Task, int, Plan], Access]
    fitted: Callable[[Task, Plan], Plan]


def _along_kept(task: Task, plan: Plan) -> Plan:
    """``plan`` with the widest accesses along the kept axis, and CTAs of CTA_THREADS."""
    warps = CTA_THREADS // WARP
    return settled(replace(columns.wide(task, plan), warps=warps, warps_kept=warps))


def _staggered(task: Task, plan: Plan) -> Plan:
    """``plan`` along the kept axis, with accesses whose states staggered warps may hold."""
    found = _along_kept(task, plan)
    return replace(found, vector=min(found.vector, staggered_columns.widest(task)))


NEEDS: dict[str, Needs] = {
    "period": Needs(periods.serves, periods.NEEDS, periods.RAISE, lambda *_: "period", _along_kept),
    "staggered": Needs(
        staggered_columns.serves, staggered_columns.NEEDS, staggered_columns.RAISE, lambda *_: "staggered", _staggered
    ),
    "runs": Needs(runs.serves, runs.NEEDS, "", runs.access, runs.fitted),
    "padded": Needs(padded_rows.serves, padded_rows.NEEDS, "", lambda *_: "unaligned", padded_rows.fitted),
    "whole": Needs(blocks.serves, blocks.NEEDS, "", lambda *_: "whole", blocks.fitted),
}


def serves(task: Task, plan: Plan) -> bool:
    """Whether the layout has the rows that the walk of ``plan`` needs."""
    return plan.walk not in OWN_WALKS or (not task.needs_ordinary and NEEDS[plan.walk].served(task, plan))


def access(task: Task, operand: int, plan: Plan) -> Access:
    """How threads that walk so read an input; by single elements where the layout has no such rows."""
    return NEEDS[plan.walk].access(task, operand, plan) if serves(task, plan) else "strided"


def check(task: Task, plan: Plan) -> None:
    """Refuses a walk for which the layout has no such rows (WF416), or no access is so wide (WF421)."""
    if plan.walk in OWN_WALKS:
        check_width(task, plan.vector)
    if not serves(task, plan):
        needs = NEEDS[plan.walk]
        more = f", or raise {needs.more}" if needs.more else ""
        words = "elements that are no bits, and no numbers" if task.needs_ordinary else needs.words
        raise error("WF416", walk=plan.walk, wanted=words, more="" if task.needs_ordinary else more)


def check_width(task: Task, vector: int) -> None:
    """Refuses (WF421) ``vector`` elements that are wider than an access."""
    nbytes = vector * task.itemsize
    if nbytes > WIDEST:
        raise error("WF421", vector=vector, item=task.itemsize, bytes=nbytes, widest=WIDEST)
