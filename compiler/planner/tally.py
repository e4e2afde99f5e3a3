"""The plan of sums that are scattered: threads walk all elements, and CTAs have counters for the results.

Elements choose the results that they count in. So one row of CTAs reads them, whatever the results are.
"""

from __future__ import annotations

from ..plan.launch import Launch, shared
from ..plan.plan import Plan
from ..target import WARP
from . import sittings
from .alignment import WIDEST
from .limits import vector_of
from .repeats import is_raised
from .table import threshold
from .task import Notes, Task

THREADS = threshold(512, "threads", sittings.COUNTERS)
"""Those of a CTA that counts: few CTAs of an SM leave room for counters, and add them up in the end."""
UNROLL = threshold(4, "accesses", sittings.COUNTERS)
"""A thread that counts has these in flight."""
CTAS = threshold(4, "CTAs of an SM", sittings.COUNTERS)
"""An SM has so many of them at a time."""
CHUNK = threshold(1 << 14, "elements", sittings.COUNTERS)
"""A CTA has at least these, which cost about what adding up its counters does."""
CHUNK_OF_FEW = threshold(1 << 13, "elements", sittings.FEW_ELEMENTS)
"""A CTA has at least these while SMs are left without one."""
SHARED_BYTES = threshold(1 << 15, "bytes", sittings.COUNTERS)
"""The counters of a CTA take at most these, so that four CTAs fit an SM, and copies half of them."""


def capacity(results: int, nbytes: int) -> int:
    """The counters of so many bytes that a CTA has for so many results, a power of two; 0 if they lie in memory."""
    found = 1 << max(0, results - 1).bit_length()
    return found if found * nbytes <= SHARED_BYTES else 0


def copies(counters: int, nbytes: int, warps: int) -> int:
    """How many copies of counters of so many bytes the warps of a CTA have."""
    return max(1, min(warps, SHARED_BYTES // (2 * nbytes * max(1, counters))))


def plan(task: Task, notes: Notes) -> Plan:
    """The plan of a kernel that counts."""
    vector, warps = vector_of(task, "reduced", WIDEST // task.itemsize, notes), THREADS // WARP
    notes.because(f"{THREADS} threads of a CTA add elements to its counters, {vector} of an access", "lanes", "warps")
    last = ", and the last CTA stores these" * has_cells(task)
    notes.because(f"sums are scattered: CTAs add their counters to those of the grid{last}", "finish")
    return Plan("reduced", vector=vector, unroll=UNROLL, lanes=WARP, warps=warps, warps_kept=1, finish="atomic")


def has_cells(task: Task) -> bool:
    """Whether one kernel counts: CTAs have counters, so results are few, and no element counts several times."""
    return task.program.counters > 0 and not is_raised(task)


def parts(task: Task, plan: Plan) -> int:
    """The CTAs that share the elements."""
    elements = shared(plan, task.geometry)
    return max(1, min(task.machine, elements // CHUNK_OF_FEW), min(CTAS * task.machine, elements // CHUNK))


def of_one_row(run: Launch) -> Launch:
    """The launch of a kernel that counts: all results belong to the same CTAs."""
    return run._replace(tiles=1)
