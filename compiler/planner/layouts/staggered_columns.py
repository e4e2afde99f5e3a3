"""Columns that begin anywhere, read in aligned accesses all the same.

A row may begin between two boundaries of an access, and the next one at another offset. But rows as many apart as a CTA
has warps begin at the same offset, if that many row strides are whole accesses. A warp that reads every such row begins
each at the boundary before, and the elements of its accesses stay those of the same columns. The offsets by which the
warps of a CTA are *staggered* against each other matter only where they meet in shared memory.

Where there are several kept dims, the columns of a CTA are those of one index of the outer ones: each such row is read
as if it were alone.
"""

from __future__ import annotations

from dataclasses import replace

from ...plan.plan import Plan
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..columns import SEVERAL_REGISTERS, is_heavy
from ..limits import CTA_THREADS, UNROLL, unroll_of
from ..powers_of_two import floor2
from ..split import CTAS_PER_SM
from ..table import threshold
from ..task import Notes, Task

MOST_ELEMENTS = threshold(8, "elements of an access", sittings.STAGGERED)
"""An access has at most these: with 16 the states of two rounds would not fit shared memory."""
ELEMENTS_OF_SEVERAL = threshold(2, "elements of an access", sittings.FIFTEEN_THOUSAND)
"""An access has at most these where a state takes SEVERAL_REGISTERS."""
ACCESS_BYTES = threshold(8, "bytes of an access", sittings.SIXTY_THOUSAND)
"""An access has these, or two elements: lanes keep half as many columns as with wider ones, and the rows of a warp end
with fewer columns that another owns."""
STATE_REGISTERS = threshold(16, "registers", sittings.FIFTEEN_THOUSAND)
"""A thread holds states of at most these."""
IN_FLIGHT = threshold({1: 2, 2: 8, 4: 4, 8: 4}, "accesses in flight, by bytes of an element", sittings.SIXTY_THOUSAND)
"""A thread has at most these: with more of bytes it takes more registers than it gains."""
IN_FLIGHT_OF_TRUTHS = threshold(4, "accesses in flight", sittings.SIXTY_THOUSAND)
"""A thread has at most these of truth values, of which a register holds four, and of numbered bytes."""
TRUTHS = threshold(16, "elements of an access", sittings.NEAR_THE_GATE)
"""An access to many truth values has these: the states of as many columns are four registers."""
WARPS_OF_TRUTHS = threshold(16, "warps of a CTA", sittings.NEAR_THE_GATE)
"""A CTA has these for accesses of TRUTHS: rows as many apart begin at one place in an access, however long they are."""
TRUTHS_FROM = threshold(150, "columns", sittings.NEAR_THE_GATE)
"""From here on accesses of TRUTHS, two in flight, are faster than periods."""
MANY_TRUTHS = threshold(257, "columns", sittings.NEAR_THE_GATE)
"""From here on one access of TRUTHS is in flight."""
TRUTH_BYTES = threshold(16 << 20, "bytes of an array", sittings.NEAR_THE_GATE)
"""From here on accesses of TRUTHS pay for fewer than MANY_TRUTHS along one kept dim."""
MANY_TRUTH_BYTES = threshold(64 << 20, "bytes of an array", sittings.NEAR_THE_GATE)
"""From here on they pay for MANY_TRUTHS: there are few CTAs, and a smaller array is over before all have read much."""
TRUTH_ELEMENTS = threshold(2048, "elements of a result", sittings.NEAR_THE_GATE)
"""From here on they pay for MANY_TRUTHS: of fewer rows each of the sixteen warps has few."""
DOUBLES_FROM = threshold(77, "columns", sittings.NEAR_THE_GATE)
"""From here on staggered warps read 8-byte elements faster than periods do, whose CTAs leave a state a column."""
BUSY_LANES = threshold(12, "lanes", sittings.SIXTY_THOUSAND)
"""A row must occupy at least these lanes of a warp."""
BUSY_LANES_OF_BYTES = threshold(24, "lanes", sittings.SIXTY_THOUSAND)
"""A row of bytes must occupy at least these, but not one of truth values or numbered bytes."""
ARRAY_BYTES = threshold(
    {1: 4 << 20, 2: 6 << 20, 4: 6 << 20, 8: 32 << 20},
    "bytes of an array, by bytes of an element",
    sittings.HEAVY_COLUMNS,
)
"""From here on staggered warps pay; single elements of 8 bytes fill sectors anyway."""
ARRAY_BYTES_OF_WIDE_PAIRS = threshold(8 << 20, "bytes of an array", sittings.HEAVY_COLUMNS)
"""Replaces ARRAY_BYTES for 2-byte elements whose states take several registers."""
SECTOR_ITEM = threshold(8, "bytes of an element", sittings.BY_ROW)
"""From here on single elements of a middle axis are as fast."""
SHARED_ELEMENTS = threshold(160, "elements of a result", sittings.OTHER_PLANS)
"""From here on staggered warps share narrow elements that a thread would walk alone in unaligned accesses."""
STEPS = threshold(2, "unrolled steps", sittings.STAGGERED)
"""A thread makes at least these: the first and the last row are read element by element."""
MIDDLE_BUSY = threshold(3 / 4, "part of the lanes", sittings.STAGGERED_WAVES)
"""Lanes along a row of a middle axis read 16 bytes an access where at least this part has columns then."""
MIDDLE_CTAS_PER_SM = threshold(2, "CTAs per SM", sittings.STAGGERED_WAVES)
"""From here on CTAs of a middle axis read 16 bytes an access, one in flight, so that all are resident."""
MIDDLE_IN_FLIGHT = threshold(2, "accesses in flight", sittings.STAGGERED_WAVES)
"""A thread of another middle axis has at most these."""
LITTLE_MORE = threshold(1.2, "times the resident CTAs", sittings.STAGGERED_WAVES)
"""Up to here a middle axis of truth values has UNROLL accesses in flight, so that the last CTAs begin with the
others."""
TWICE = threshold(2, "times the resident CTAs", sittings.STAGGERED_WAVES)
"""From LITTLE_MORE up to here a middle axis of added bytes has IN_FLIGHT_OF_FEW_WAVES."""
IN_FLIGHT_OF_FEW_WAVES = threshold(4, "accesses in flight", sittings.STAGGERED_WAVES)
"""A thread of a middle axis of added bytes has these where few waves of CTAs run."""
NEEDS = (
    "columns of one input side by side, rows that begin at one place if as far apart as there are warps, accesses of at"
    " most 16 bytes and rows no shorter, and a result that may depend on its address"
)
"""What a layout must be, in the words of an error."""
RAISE = "warps"
"""The extent that makes more layouts so."""


def widest(task: Task) -> int:
    """Elements of an access at most, for the states that a thread may hold."""
    most = MOST_ELEMENTS if task.state_registers < SEVERAL_REGISTERS else ELEMENTS_OF_SEVERAL
    return floor2(min(most, STATE_REGISTERS // task.state_registers))


def staggered(task: Task, wide: Plan, plan: Plan, notes: Notes) -> Plan:
    """A plan with staggered warps and the accesses of ``wide``, where ``plan`` has none that are aligned."""
    g, others = task.geometry, task.joins_truths or task.program.uses_index
    found = _found(task, wide)
    lanes = BUSY_LANES if task.itemsize > 1 or others else BUSY_LANES_OF_BYTES
    narrow = g.columns < lanes * min(MOST_ELEMENTS, found.vector)
    if found.vector == 1 or _is_small(task) or g.n_reduced < STEPS * found.tile or narrow:
        return plan
    if not task.monoid.commutative or not serves(task, found):
        return plan
    notes.forget({"walk", "vector", "lanes", "warps", "unroll"})
    rows = f"each of {found.warps} warps reads every {found.warps}th row"
    words = f"{rows}, from the boundary before the CTA's columns on"
    notes.because(f"{words}: {found.vector} element(s) an access", "walk", "vector", "lanes", "warps", "unroll")
    notes.rejected.append(
        ("walk=interleaved", "columns that begin anywhere take two accesses for one, or single elements")
    )
    return found


def _is_small(task: Task) -> bool:
    """Whether the array is too small for staggered warps, or single elements are as fast."""
    g = task.geometry
    wide_pairs = task.itemsize == 2 and task.state_registers > 1
    least = ARRAY_BYTES_OF_WIDE_PAIRS if wide_pairs else ARRAY_BYTES[task.itemsize]
    small = g.n_kept * g.n_reduced * task.itemsize < least
    return small or (len(g.kept) > 1 and task.itemsize >= SECTOR_ITEM)


def _found(task: Task, wide: Plan) -> Plan:
    """The plan with staggered warps, whether it pays or not."""
    if has_many_truths(task):
        unroll = 1 if task.geometry.columns >= MANY_TRUTHS else 2
        wide = replace(wide, vector=TRUTHS, unroll=unroll)
        return replace(wide, walk="staggered", lanes=1, warps=WARPS_OF_TRUTHS, warps_kept=1)
    vector = min(wide.vector, widest(task), max(2, ACCESS_BYTES // task.itemsize))
    others = task.joins_truths or task.program.uses_index
    most = IN_FLIGHT_OF_TRUTHS if task.itemsize == 1 and others else IN_FLIGHT[task.itemsize]
    if task.program.shared or task.is_keyed("kept"):
        most = unroll_of(task, "kept", vector)
    unroll = min(most, max(wide.unroll, wide.unroll * wide.vector // vector)) if task.itemsize > 1 else most
    warps = CTA_THREADS // WARP
    found = replace(wide, walk="staggered", vector=vector, unroll=unroll, lanes=1, warps=warps, warps_kept=1)
    return _of_middle(task, wide, found) if len(task.geometry.kept) > 1 else found


def has_many_truths(task: Task) -> bool:
    """Whether truth values are so many that accesses of TRUTHS pay."""
    g = task.geometry
    if not task.joins_truths or task.program.shared or g.columns < TRUTHS_FROM:
        return False
    nbytes = g.n_kept * g.n_reduced
    if g.columns < MANY_TRUTHS:
        return len(g.kept) == 1 and nbytes >= TRUTH_BYTES
    return nbytes >= MANY_TRUTH_BYTES and g.n_reduced >= TRUTH_ELEMENTS


def _of_middle(task: Task, wide: Plan, plan: Plan) -> Plan:
    """``plan`` for a middle axis: where there are CTAs enough without sharing rows, these are better all resident.

    So threads have fewer accesses in flight, of twice the bytes where most lanes then still have columns. Of truth
    values, and of bytes that are added, they have more where few CTAs would be left over.
    """
    if task.state_registers > 1:
        return plan
    if task.itemsize == 1:
        waves = _ctas(task, plan.vector) / (CTAS_PER_SM * task.machine)
        if task.joins_truths:
            return replace(plan, unroll=UNROLL) if 1 < waves <= LITTLE_MORE else plan
        few = task.adds_bytes and LITTLE_MORE < waves <= TWICE
        return replace(plan, unroll=IN_FLIGHT_OF_FEW_WAVES) if few else plan
    vector = min(wide.vector, widest(task))
    accesses, ctas = -(-task.geometry.columns // vector), _ctas(task, vector)
    rows = task.geometry.n_kept // task.geometry.columns
    fits = rows * accesses >= MIDDLE_BUSY * ctas * WARP and ctas >= MIDDLE_CTAS_PER_SM * task.machine
    return replace(plan, vector=vector, unroll=1) if fits else replace(plan, unroll=min(MIDDLE_IN_FLIGHT, plan.unroll))


def _ctas(task: Task, vector: int) -> int:
    """CTAs of all rows of a middle axis, of as many columns that all lanes but the last have an access."""
    columns = task.geometry.columns
    return task.geometry.n_kept // columns * -(-columns // (vector * (WARP - 1)))


def are_better(task: Task, wide: Plan, plan: Plan) -> bool:
    """Whether ``plan`` is one of columns without whole accesses whose elements are worth sharing among warps."""
    if plan.walk == "period":
        return _are_better_than_periods(task)
    if plan.walk != "interleaved" or is_heavy(task, plan.vector) or task.is_aligned("kept", wide.vector):
        return False
    if plan.warps == CTA_THREADS // WARP:
        return True
    anywhere = plan.vector == 1 or "unaligned" in task.accesses("kept", plan.vector)
    return task.itemsize <= 2 and anywhere and task.geometry.n_reduced >= SHARED_ELEMENTS


def _are_better_than_periods(task: Task) -> bool:
    if len(task.geometry.kept) > 1 or task.has_long_combine:
        return False
    return has_many_truths(task) or (task.itemsize == 8 and task.geometry.columns >= DOUBLES_FROM)


def serves(task: Task, plan: Plan) -> bool:
    """Whether the layout is one of rows that staggered warps can read, in accesses of ``plan``.

    Rows and their strides are at least as long as an access: one that begins before a row then ends in the row before,
    and one that ends after a row begins in it.
    """
    g, item = task.geometry, task.itemsize
    one = len(task.program.inputs) == len(g.reduced) == 1 and 1 <= len(g.kept) <= 3
    if not one or plan.vector * item > WIDEST or task.is_portable:
        return False
    stride = g.reduced[0].strides[0]
    same_offset = plan.warps * stride % plan.vector == 0 and task.start(0) % item == 0
    apart = min(stride, g.columns) * item >= WIDEST
    return g.kept[-1].strides[0] == 1 and same_offset and apart
