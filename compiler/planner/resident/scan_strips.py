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
ELEMENTS = threshold({1: 32, 2: 25}, "elements of a thread, by registers of a state", sittings.STRIPS_OF_ELEMENTS)
"""At most, where accesses are single elements."""
WHOLE = threshold(320, "elements of a column", sittings.STRIPS_OF_ELEMENTS)
"""Up to here WARPS hold columns that are accessed by single elements. Threads would spill more."""
ALONE = threshold(64, "elements of a column", sittings.STRIPS_OF_ELEMENTS)
"""Up to here each thread has a column, if elements are narrow and a state takes one register, and no strip is wide."""
ALONE_WARPS = threshold(4, "warps of a CTA", sittings.STRIPS_OF_ELEMENTS)
"""Their threads have no others with which they meet."""
CTAS_OF_ELEMENTS = threshold(4, "CTAs of an SM", sittings.STRIPS_OF_ELEMENTS)
"""With fewer of them strips of single elements stay narrow."""


def of_elements(task: Task, plan: Plan, registers: int, *, narrow: bool) -> Plan:
    """``plan`` with wider strips of whole columns that are accessed by single elements, if these are enough CTAs."""
    n = task.geometry.n_reduced
    if not WARP < n <= WHOLE or registers not in ELEMENTS:
        return plan
    warps, kept = ceil2(ceil(n / ELEMENTS[registers])), 0
    if n > ALONE:
        kept = WARPS // warps if warps < WARPS else 1
    elif narrow and registers == 1:
        warps, kept = 1, ALONE_WARPS
    found = replace(plan, lanes=1, warps=warps, warps_kept=max(1, kept), held=ceil(n / warps))
    return found if kept and task.geometry.n_kept >= found.slots * CTAS_OF_ELEMENTS * task.machine else plan


def widened(task: Task, plan: Plan, states: int) -> Plan:
    """``plan`` with wider strips, if these are enough CTAs; a thread has registers for so many ``states``."""
    n, own = task.geometry.n_reduced, ceil(task.geometry.columns / plan.vector)
    warps = ceil2(ceil(n / min(HELD, states // plan.vector)))
    found = replace(plan, lanes=1, warps=warps, warps_kept=max(1, WARPS // warps), held=ceil(n / warps))
    filled = task.geometry.n_kept >= found.slots * CTAS * task.machine
    return found if 2 * own > WARP and 2 * warps <= WARPS and filled else plan
