"""Groups of rows that wait in tiles, where each phase reads them: a CTA has a group, or a cluster, each CTA a part."""

from __future__ import annotations

from math import ceil

from ...plan import tiles
from ...plan.fields import TILE_UNIT
from ...plan.plan import Plan
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..layouts.tiled import WORD
from ..powers_of_two import ceil2
from ..table import threshold
from ..task import Task
from . import columns
from .tile_groups import LARGE_GROUP, buffers_of, most_waits, rows_that_fit

TILE = threshold(52 << 10, "bytes of a tile", sittings.CLUSTERED_GROUPS)
"""The largest: an SM holds four CTAs. A larger group is shared by as few CTAs as need no larger tile."""
NARROW_PART = threshold(28 << 10, "bytes of a tile", sittings.CLUSTERED_GROUPS)
"""The same of what a CTA of a cluster reads, of narrow elements: an SM holds seven."""
LEAST_PART = threshold(150, "elements of a row", sittings.CLUSTERED_GROUPS)
"""No more CTAs share a group for that than have so many of each row: what they exchange takes longer."""
CLUSTERS = threshold((1, 2, 4, 8), "CTAs of a group", sittings.CLUSTERED_GROUPS)
"""In the order of choice."""
THREADS = threshold(256, "threads of a CTA", sittings.CLUSTERED_GROUPS)
"""As many lanes share a row: with more threads an SM has no registers for four CTAs."""
THREADS_OF_BYTES = threshold(512, "threads of a CTA", sittings.CLUSTERED_GROUPS)
"""The same where all elements have one byte, of which a tile holds more."""
WAITS = threshold(4, "words of one bank that a warp asks for at a time", sittings.CLUSTERED_GROUPS)
"""Lanes of a row are so many that they ask for no more."""
UNROLL = threshold(8, "accesses in flight", sittings.WAITING_GROUPS)
"""Of a thread that walks a tile."""


def plan(task: Task, own: tiles.Groups) -> Plan | None:
    """A plan of groups that wait in tiles, in which each phase reads them; None for others.

    A warp has some rows, and its lanes share each of them, so no warps of a CTA meet.
    """
    g, wide = task.geometry, max(task.operand_type(i).itemsize for i in own.units)
    small = g.n_reduced * own.rows * wide < LARGE_GROUP
    if not task.program.reduces or small or wide > WORD or columns.vector_of(task) * wide >= WIDEST // 2:
        return None
    most = min(WARP, (THREADS_OF_BYTES if wide == 1 else THREADS) // ceil2(own.rows))
    for cluster in CLUSTERS if len(g.reduced) == 1 and task.target.has_clusters else CLUSTERS[:1]:
        for lanes in (most >> k for k in range(most.bit_length())):
            kept = ceil2(ceil(own.rows * lanes / WARP))
            shape = Plan("kept", lanes=lanes, warps_kept=kept, unroll=UNROLL, resident="shared", cluster=cluster)
            found = _with_tile(task, own, shape)
            if found and most_waits(task, own, found) <= WAITS:
                return found
    return None


def _with_tile(task: Task, own: tiles.Groups, shape: Plan) -> Plan | None:
    """``shape`` with the least tile that holds a group, or the part of a CTA; None where that is too large.

    All results go back through it: lanes that share rows would write a few columns at a time to memory.
    """
    inputs, n = len(task.program.inputs), task.geometry.n_reduced
    buffers = buffers_of(task, own, shape.with_options(f"tile_bytes={TILE}"))
    if any(i not in buffers.own and i not in buffers.reused for i in own.units):
        return None
    nbytes = {i: ceil(n / shape.cluster) * ceil(own.units[i].span / n) * buffers.items[i] for i in buffers.own}
    read = sum(nbytes[i] + tiles.EDGE for i in buffers.own if i < inputs)
    narrow = shape.cluster > 1 and max(buffers.items[i] for i in own.units) <= columns.NARROW
    divides = shape.cluster == CLUSTERS[-1] or n >= 2 * shape.cluster * LEAST_PART
    if narrow and divides and read > NARROW_PART:
        return None
    least = sum(nbytes.values()) // TILE_UNIT
    plans = (shape.with_options(f"tile_bytes={size * TILE_UNIT}") for size in range(least, TILE // TILE_UNIT + 1))
    return next((p for p in plans if p.tile_bytes and rows_that_fit(task, own, p)), None)
