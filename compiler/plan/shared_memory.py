"""The states that the threads of a CTA leave for each other, and the shared memory of states and of rows that wait."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..dtypes import DType
from . import tiles
from .facts import Facts
from .fields import IN_BULK
from .launch import Launch
from .layout import layout_of
from .plan import Plan
from .rounds import second_plan

MOST_LEFT = 32
"""The most states that a lane combines of its columns, those of the warps of a cluster."""
DYNAMIC = "held_0"
"""The symbol of dynamic shared memory in the module of a kernel."""
HALF = 2
"""Bytes of an element of a block that a warp turns."""
TICKET = 16
"""Bytes of the flag that tells a CTA whether it is the last one, or of its mbarrier, with their alignment."""
COUNTED = (4, 8)
"""Bytes of a value that ``st.async`` stores."""


def exchanged(plan: Plan) -> int:
    """States of all its results that the threads of a CTA leave for each other in memory; 0 where none do."""
    if plan.walk == "period" or plan.in_periods:
        return plan.threads * plan.vector
    rows = plan.warps if plan.cta == "shuffle" else plan.positions
    beside = 2 * plan.vector if plan.walk == "staggered" else 0
    return rows * (plan.states_apart + beside) if rows > 1 else 0


def global_states(plan: Plan) -> int:
    """How many of the ``exchanged`` states are in global memory: all of them or none."""
    return exchanged(plan) if plan.exchange == "global" else 0


def meets_in_ctas(plan: Plan) -> bool:
    """Whether the threads of a CTA meet before those of its cluster do: those of columns with many states do."""
    many = plan.warps > 1 and plan.cluster * plan.warps * plan.vector > MOST_LEFT * plan.lanes
    return plan.cta != "shuffle" or (plan.fast == "kept" and bool(plan.resident) and many)


def gathered(plan: Plan) -> int:
    """States of all results that the CTAs of a cluster leave in the first one's shared memory; 0 without clusters.

    Warps leave their states there directly, unless they have met in their own CTA first.
    """
    rows = plan.cluster if meets_in_ctas(plan) else plan.cluster * plan.warps
    return rows * plan.states_apart if plan.cluster > 1 else 0


def counts_bytes(plan: Plan, sizes: Iterable[int]) -> bool:
    """Whether CTAs of a cluster count the bytes of states that come to them; a value has one of these ``sizes``."""
    return plan.cluster > 1 and plan.arrivals != "barrier" and set(sizes) <= set(COUNTED)


def shared_bytes(plan: Plan, state_bytes: int) -> int:
    """Bytes of shared memory that all stages need, if a state has ``state_bytes``.

    The round of the last CTA over the partial states has a buffer of its own.
    """
    first = gathered(plan)
    if plan.cluster == 1 or meets_in_ctas(plan):
        first += exchanged(plan) - global_states(plan)
    tile = 0 if plan.is_large_tile else plan.tile_bytes
    counter = TICKET if plan.cluster > 1 and plan.arrivals != "barrier" else 0
    if plan.resident == "l2":  # rounds over warps and over chunks, for chunks in a row and at its ends
        return 4 * first * state_bytes + TICKET
    if plan.has_roles:  # the states of segments, of a chunk, and of those before it; a ticket, and five barriers
        return plan.places * ((first + 2 * plan.slots) * state_bytes + 6 * TICKET)
    if plan.is_chain:  # the states of warps, of a chunk, and of those before it; the rows of a tile
        return (first + 2 * plan.slots) * state_bytes + 2 * TICKET + tile
    if plan.resident == "grid":  # rounds over warps and over parts, which share the states of a period
        return (1 if plan.in_periods else 2) * first * state_bytes + TICKET
    if plan.finish != "last_block":
        return first * state_bytes + tile + counter
    again = second_plan(plan)  # both rounds of a period use one buffer
    second = 0 if plan.walk == "period" else exchanged(again) - global_states(again)
    return (first + second) * state_bytes + tile + TICKET + counter


def waiting_bytes(plan: Plan, facts: Facts, inputs: Sequence[DType], run: Launch | None = None) -> int:
    """Bytes of dynamic shared memory of a CTA: a large tile, or a slot for each access that a thread keeps of an input.

    Persistent CTAs have the next row there, that which they work on unless it waits in registers, and what lasts.

    Where rows of any length share a kernel, a launch needs slots for its own rows; without ``run`` they are the most.
    """
    if plan.is_large_tile:
        return plan.tiles * plan.tile_bytes
    if plan.resident not in ("shared", "grid") and (plan.tile_bytes or not plan.persistent):
        return 0
    if plan.has_roles:
        staged = (t.itemsize for t, kind in zip(inputs, facts.access, strict=True) if kind in IN_BULK)
        return plan.places * sum(staged) * plan.held * plan.threads * plan.vector
    if plan.exchanges:
        return tiles.exchange_starts(plan, facts.access, facts.stores, [t.itemsize for t in inputs])[1]
    last = plan.held
    if run and (facts.walked or plan.resident == "grid"):
        last = min(last, -(-run.chunk // layout_of(plan).span("reduced")))
    items = [inputs[i].itemsize for i in facts.waiting]  # the slots of an input begin where those of the one before end
    own = facts.stores.count("matrix") - facts.access.count("matrix")  # the others lie where an input did
    items += [HALF] * max(0, own)
    accesses = plan.held * sum(items[:-1]) + last * sum(items[-1:])
    lasting = plan.held * sum(inputs[i].itemsize for i in facts.lasting)
    return (plan.sets * accesses + lasting) * plan.threads * plan.vector
