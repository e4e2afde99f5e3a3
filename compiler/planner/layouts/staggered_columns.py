"""Columns that begin anywhere, read in aligned accesses all the same.

A row may begin between two boundaries of an access, and the next one at another place. But rows as many apart as a CTA
has warps begin at the same place, if that many row strides are whole accesses. So a warp that reads one row in so many
begins each at the boundary before, and the elements of its accesses stay those of the same columns throughout. How far
the warps of a CTA are *staggered* against each other matters only where they meet in shared memory.

Where there are several kept dims, the columns of a CTA are those of one index of the outer ones: each such row is read
as if it were alone.
"""

from __future__ import annotations

from dataclasses import replace

from ...plan.plan import Plan
from ...target import WARP
from ..alignment import planned
from ..columns import SEVERAL, is_heavy
from ..limits import UNROLL, adds_bytes, joins_truths, keyed, unroll_of
from ..split import CTAS_PER_SM, THREADS
from ..task import Notes, Task

WIDEST = 8
"""Elements of an access at most: with 16 the states of two rounds would not fit shared memory, and bytes come fast
enough."""
WIDTH = 8
"""Bytes of an access, where that is two elements or more: lanes then keep half as many columns as with wider ones, and
the rows of a warp end with fewer that another owns."""
STATES, PAIR = 16, 2
"""Registers of states that a thread may hold; and elements of an access at most where a state takes SEVERAL."""
IN_FLIGHT = {1: 2, 2: 8, 4: 4, 8: 4}
"""Accesses in flight, by the bytes of an element: with more of bytes a thread takes more registers than it gains."""
OF_TRUTHS = 4
"""The same of truth values, of which a word holds four."""
LANES, LANES_OF_BYTES = 12, 24
"""Lanes of a warp that a row must occupy at least; and one of bytes, but of truth values and of numbered ones."""
SMALLEST = {1: 4 << 20, 2: 6 << 20, 4: 6 << 20, 8: 32 << 20}
"""Bytes of an array at least, by those of an element; single ones of 8 bytes fill sectors anyway."""
SINGLE = 8
"""Bytes of an element from which on single ones of a middle axis are as fast."""
OF_PAIRS = 8 << 20
"""The same of elements of two bytes whose states take several registers."""
ALONE = 160
"""Narrow elements of a result from which on a thread does not walk them alone where accesses begin anywhere."""
STEPS = 2
"""Unrolled steps that a thread must make at least: the first and the last row are read element by element."""
MOSTLY, FEW_CTAS, TWO, LITTLE_MORE = 3 / 4, 2, 2, 1.2
"""Of the lanes along a row of a middle axis those that must have columns for accesses of 16 bytes, CTAs an SM that
there must be then, and accesses in flight of others; and how often the CTAs that are resident must go into all of them
at most, if the last few are to begin with the others."""
TWICE, FEW_WAVES = 2, 4
"""The same of bytes that are added, from LITTLE_MORE on, and the accesses in flight then."""
WANTED, RAISE = (
    "columns of one input side by side, rows that begin at one place if as far apart as there are warps, accesses of at"
    " most 16 bytes and rows no shorter, and a result that may depend on its address",
    "warps",
)
"""What a layout must be, in words, and the extent that makes more layouts so."""
LEAST = 16
"""Bytes of a row, and from one row to the next, at least; and of an access at most: one that begins before a row ends
in the one before, and one that ends after a row begins in it."""


def widest(task: Task) -> int:
    """Elements of an access at most, for the states that a thread may hold."""
    most = WIDEST if task.state_registers < SEVERAL else PAIR
    return 1 << min(most, max(1, STATES // task.state_registers)).bit_length() - 1


def staggered(task: Task, wide: Plan, plan: Plan, notes: Notes) -> Plan:
    """A plan with staggered warps and the accesses of ``wide``, where ``plan`` has none that are aligned."""
    g = task.geometry
    vector = min(wide.vector, widest(task), max(2, WIDTH // task.itemsize))
    others = joins_truths(task) or task.program.uses_index
    most = OF_TRUTHS if task.itemsize == 1 and others else IN_FLIGHT[task.itemsize]
    if task.program.shared or keyed(task, "kept"):
        most = unroll_of(task, "kept", vector)
    unroll = min(most, max(wide.unroll, wide.unroll * wide.vector // vector)) if task.itemsize > 1 else most
    found = replace(wide, walk="staggered", vector=vector, unroll=unroll, lanes=1, warps=THREADS // WARP, warps_kept=1)
    if len(g.kept) > 1:
        found = _of_middle(task, wide, found)
    vector = found.vector
    lanes = LANES if task.itemsize > 1 or others else LANES_OF_BYTES
    wide_states = task.itemsize == 2 and task.state_registers > 1
    small = g.n_kept * g.n_reduced * task.itemsize < (OF_PAIRS if wide_states else SMALLEST[task.itemsize])
    small = small or (len(g.kept) > 1 and task.itemsize >= SINGLE)
    short = vector == 1 or small or g.n_reduced < STEPS * found.tile or g.columns < lanes * vector
    if short or not task.monoid.commutative or not serves(task, found):
        return plan
    notes.forget({"vector", "lanes", "warps", "unroll"})
    words = (
        f"each of {found.warps} warps reads every {found.warps}th row, from the boundary before the CTA's columns on"
    )
    notes.because(f"{words}: {vector} element(s) an access", "walk", "vector", "lanes", "warps", "unroll")
    notes.rejected.append(
        ("walk=interleaved", "columns that begin anywhere take two accesses for one, or single elements")
    )
    return found


def _of_middle(task: Task, wide: Plan, plan: Plan) -> Plan:
    """``plan`` for a middle axis: where there are CTAs enough without sharing rows, these are better all resident.

    So threads have fewer accesses in flight, of twice the bytes where most lanes then still have columns. Of truth
    values, and of bytes that are added, they have more where few CTAs would be left over.
    """
    if task.state_registers > 1:
        return plan
    if task.itemsize == 1:
        waves = _ctas(task, plan.vector) / (CTAS_PER_SM * task.machine)
        if joins_truths(task):
            return replace(plan, unroll=UNROLL) if 1 < waves <= LITTLE_MORE else plan
        return replace(plan, unroll=FEW_WAVES) if adds_bytes(task) and LITTLE_MORE < waves <= TWICE else plan
    vector = min(wide.vector, widest(task))
    accesses, ctas = -(-task.geometry.columns // vector), _ctas(task, vector)
    rows = task.geometry.n_kept // task.geometry.columns
    fits = rows * accesses >= MOSTLY * ctas * WARP and ctas >= FEW_CTAS * task.machine
    return replace(plan, vector=vector, unroll=1) if fits else replace(plan, unroll=min(TWO, plan.unroll))


def _ctas(task: Task, vector: int) -> int:
    """CTAs of all rows of a middle axis, each of so many columns that all lanes but the last have an access."""
    columns = task.geometry.columns
    return task.geometry.n_kept // columns * -(-columns // (vector * (WARP - 1)))


def serve_better(task: Task, wide: Plan, plan: Plan) -> bool:
    """Whether ``plan`` is one of columns without whole accesses whose elements are worth sharing among warps."""
    if plan.walk != "interleaved" or is_heavy(task, plan.vector) or planned(task, "kept", wide.vector) == {"aligned"}:
        return False
    if plan.warps == THREADS // WARP:
        return True
    anywhere = plan.vector == 1 or "unaligned" in planned(task, "kept", plan.vector)
    return task.itemsize <= 2 and anywhere and task.geometry.n_reduced >= ALONE


def serves(task: Task, plan: Plan) -> bool:
    """Whether the layout is one of rows that staggered warps can read, in accesses of ``plan``."""
    g, item = task.geometry, task.itemsize
    one = len(task.program.inputs) == len(g.reduced) == 1 and 1 <= len(g.kept) <= 3
    if not one or plan.vector * item > LEAST or task.determinism == "portable":
        return False
    stride = g.reduced[0].strides[0]
    start = task.addresses[0] + g.offsets[0] * item
    in_place = plan.warps * stride % plan.vector == 0 and start % item == 0
    apart = min(stride, g.columns) * item >= LEAST
    return g.kept[-1].strides[0] == 1 and in_place and apart
