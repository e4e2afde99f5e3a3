"""The plans of the rounds that follow: who owns the results once warps have met, and who the states of CTAs."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from ..target import WARP
from .fields import Walk
from .plan import Plan

MOST_STATES = 8
"""The most accesses to partial states that a thread has in flight in the second round."""
_OF_STATES: dict[Walk, Walk] = {"staggered": "interleaved", "runs": "interleaved"}
"""The walks over states in place of those that only elements ask for."""


def met_plan(plan: Plan) -> Plan:
    """The plan that assigns results to threads once the warps of a CTA have combined their states.

    Each thread then has as few neighbouring results as possible, so that all threads share what is left to do.
    """
    return _along_kept(plan, 1) if _reassigns(plan) else plan


def second_unroll(plan: Plan) -> int:
    """Partial states that a thread has in flight in a second round: there are few, and they are in the L2 cache."""
    return min(4, plan.unroll)


def second_plan(plan: Plan) -> Plan:
    """The plan of the last CTA's round over the partial states, which are few, and read one by one along a result.

    Where it assigns other results to threads than this plan does, lanes exchange the states of few results, and each
    has as many accesses in flight.
    """
    vector = 1 if plan.fast == "reduced" else plan.vector
    walk: Walk = "blocked" if plan.meets_in_steps else _OF_STATES.get(plan.walk, plan.walk)
    few = replace(plan, walk=walk, vector=vector, unroll=second_unroll(plan), meet="")
    if not _reassigns(plan):
        return few
    found = _along_kept(few, max(plan.vector // plan.lanes, min(plan.vector, 4)))
    return replace(found, unroll=min(MOST_STATES, few.unroll * (plan.vector // found.vector)))


def _reassigns(plan: Plan) -> bool:
    """Whether threads have other results once warps have combined their states in shared memory."""
    in_shared = plan.cta == "shuffle" and plan.cluster == 1 and not plan.tile_bytes and not plan.resident
    return plan.vector_kept > 1 and plan.warps > 1 and in_shared


@lru_cache(maxsize=4096)
def _along_kept(plan: Plan, width: int) -> Plan:
    """A plan whose threads have ``width`` results of a CTA each, or more where there are too few threads for that."""
    results = plan.warps_kept * plan.lanes_kept * plan.vector_kept
    width = max(width, results // plan.threads)
    lanes = WARP // min(WARP, results // width)
    warps_kept = results // width * lanes // WARP
    walk, warps = _OF_STATES.get(plan.walk, plan.walk), plan.threads // WARP // warps_kept
    return replace(plan, walk=walk, vector=width, lanes=lanes, warps=warps, warps_kept=warps_kept)
