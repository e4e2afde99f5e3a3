"""The walks that are for some layouts alone: whether one serves, and what it asks for where it does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import period, staggered
from .access import WIDEST, check_width
from .errors import error
from .plan import OWN_WALKS, Access, Plan
from .task import Task


@dataclass(frozen=True)
class Needs:
    """What a walk needs.

    Attributes:
        met: whether the layout has the rows that such a plan walks.
        wanted: the same in words.
        more: the extent to raise for more such rows.
        access: how its threads read.
        widest: elements of an access at most, for the states of a task.
    """

    met: Callable[[Task, Plan], bool]
    wanted: str
    more: str
    access: Access
    widest: Callable[[Task], int]


NEEDS: dict[str, Needs] = {
    "period": Needs(period.serves, period.WANTED, period.RAISE, "period", lambda _: WIDEST),
    "staggered": Needs(staggered.serves, staggered.WANTED, staggered.RAISE, "staggered", staggered.widest),
}


def serves(task: Task, plan: Plan) -> bool:
    """Whether the layout has the rows that the walk of ``plan`` needs."""
    return plan.walk not in OWN_WALKS or NEEDS[plan.walk].met(task, plan)


def access(task: Task, plan: Plan) -> Access:
    """How threads that walk so read an input; by single elements where the layout has no such rows."""
    return NEEDS[plan.walk].access if serves(task, plan) else "strided"


def check(task: Task, plan: Plan) -> None:
    """Refuses a walk for which the layout has no such rows (WF416), or no access is so wide (WF421)."""
    if plan.walk in OWN_WALKS:
        check_width(task, plan.vector, WIDEST)
    if not serves(task, plan):
        needs = NEEDS[plan.walk]
        raise error("WF416", walk=plan.walk, wanted=needs.wanted, more=needs.more)
