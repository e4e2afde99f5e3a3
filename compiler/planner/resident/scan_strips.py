"""Scans of whole columns, of which CTAs have strips: wider ones where rows of a strip begin between sectors.

A strip shares the sectors at both ends of each row with its neighbours. Where accesses are narrower than 16 bytes, rows
of arrays begin at no multiple of 16, and strips of one access a lane are narrow.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from ...plan.plan import Plan
from ...target import WARP
from .. import sittings
from ..powers_of_two import ceil2
from ..table import threshold
from ..task import Task

WARPS = threshold(16, "warps of a CTA", sittings.WIDE_STRIPS)
"""Those beyond the ones that share a column have the next strips."""
HELD = threshold(16, "accesses of a thread", sittings.WIDE_STRIPS)
"""At most. More of them leave more warps for strips."""
CTAS = threshold(3, "CTAs of an SM", sittings.WIDE_STRIPS)
"""With fewer of them strips stay narrow."""


def widened(task: Task, plan: Plan, states: int) -> Plan:
    """``plan`` with wider strips, if these are enough CTAs; a thread has registers for so many ``states``."""
    n, own = task.geometry.n_reduced, ceil(task.geometry.columns / plan.vector)
    warps = ceil2(ceil(n / min(HELD, states // plan.vector)))
    found = replace(plan, lanes=1, warps=warps, warps_kept=max(1, WARPS // warps), held=ceil(n / warps))
    filled = task.geometry.n_kept >= found.slots * CTAS * task.machine
    return found if 2 * own > WARP and 2 * warps <= WARPS and filled else plan
