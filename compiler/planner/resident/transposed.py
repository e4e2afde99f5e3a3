"""Arrays that lie across each other, such as ``x + y.T``: a thread has a block of elements, and transposes it.

The elements of some arrays lie side by side along the kept axis, and those of others along the reduced axis. A thread
has ``vector`` neighbouring rows and ``held`` neighbouring elements of each. It reads and writes every array by wide
accesses along the axis of that array, and exchanges the elements of a block in its registers. No lane needs another
one's elements, so there is no shared memory and no barrier.

Arrays that begin anywhere have no wide accesses along both axes. Then a CTA has a block. Its threads read the inputs
that lie across the results element by element, those side by side in the input by neighbouring lanes, and put them
into shared memory. Each thread picks the elements of its accesses to the other arrays there.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from ...dtypes import BIT
from ...plan import tiles
from ...plan.fields import Access
from ...plan.plan import Plan
from ...program.bit_arrays import BYTE
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..layouts.tiled import WORD
from ..powers_of_two import ceil2, floor2, halvings
from ..table import threshold
from ..task import Task
from .accesses import NARROW, accesses, elements_of, has_bits, vector_of, writes_bits

BLOCK = threshold(64, "elements of a thread", sittings.TRANSPOSED)
"""The largest block: a thread keeps two or three of them in registers."""
LANES = threshold(8, "lanes of a warp", sittings.TRANSPOSED)
"""So many lanes are along the rows, and the others across: each array is accessed by whole sectors."""
BESIDE = threshold(256, "bytes along the kept axis", sittings.TRANSPOSED)
"""So many warps are along the kept axis, up to twice WARPS, that those of a CTA access whole lines."""
WARPS = threshold(8, "warps of a CTA", sittings.TRANSPOSED)
"""If those are fewer, the others are along the rows."""
WARPS_OF_BITS = threshold(2, "warps of a CTA", sittings.BITS_ACROSS)
"""So many of them are along the rows where these are bytes of bits, and the others along the columns."""
LANES_WRITING = threshold(4, "lanes of a warp", sittings.BITS_ACROSS)
"""Up to so many are along the rows where bytes of bits are written, which then lie beside each other."""
BESIDE_BITS = threshold(64, "bytes along the kept axis", sittings.BITS_ACROSS)
"""As long as the other lanes access so many."""
LEAST_WRITTEN = threshold(40, "elements of a row", sittings.BITS_ACROSS)
"""Shorter rows of bits are written by single elements: their warps read most of each sector."""
ROWS_EXCHANGED = threshold(32, "elements of a row of a CTA", sittings.EXCHANGED)
"""A CTA exchanges so many,"""
BESIDE_EXCHANGED = threshold(256, "bytes along the kept axis", sittings.EXCHANGED)
"""of so many bytes of columns,"""
COLUMNS_EXCHANGED = threshold((64, 128), "columns of a CTA", sittings.EXCHANGED)
"""which are so many at the least, and at the most."""
WARPS_EXCHANGING = threshold((8, 16), "warps of a CTA", sittings.EXCHANGED)
"""The first for narrow elements, the second for others."""
LEAST_EXCHANGED = threshold(64, "elements of a row", sittings.EXCHANGED)
"""Arrays with shorter rows, or columns, are not: most of a block lay beyond them."""
SHORT = threshold(128, "bytes of a row", sittings.TRANSPOSED)
"""Blocks do not write shorter rows: a warp would write a few bytes of many rows at a time."""


def plan(task: Task) -> Plan | None:
    """The plan of blocks; None where no arrays lie across each other, or rows or columns are no whole accesses."""
    g = task.geometry
    if task.program.reduces or task.is_portable or task.program.gathered:
        return None
    if not g.kept or not g.reduced or not g.n_kept or not g.n_reduced:
        return None
    if has_bits(task):
        return _of_bits(task)
    widest = WIDEST // max(task.operand_type(i).itemsize for i in elements_of(task))
    plans = (_of(task, held, min(widest, BLOCK // held)) for held in _lengths(g.reduced[-1].size, widest))
    blocks = min((found for found in plans if fits(task, found)), key=lambda found: _apart(task, found), default=None)
    return blocks if blocks and not _is_narrow(task, blocks) else _exchanging(task) or blocks


def has_wide_blocks(task: Task) -> bool:
    """Whether threads have blocks of wide accesses in registers."""
    found = plan(task)
    return found is not None and not found.exchanges and not _is_narrow(task, found)


def are_exchanged(task: Task) -> bool:
    """Whether CTAs exchange blocks in shared memory."""
    found = plan(task)
    return found is not None and found.exchanges


def _is_narrow(task: Task, plan: Plan) -> bool:
    """Whether threads access their blocks by narrow accesses, since the arrays begin anywhere."""
    widest = WIDEST // max(task.operand_type(i).itemsize for i in elements_of(task))
    whole = "whole" in _accesses(task, plan)
    return not whole and min(plan.vector, plan.held) < min(widest, BLOCK // widest)


def _exchanging(task: Task) -> Plan | None:
    """The plan of blocks that CTAs exchange in shared memory; None where no inputs lie across, or rows are short."""
    g = task.geometry
    across = _across(task)
    beside = [i for i in elements_of(task) if i not in across]
    two_dims = len(g.kept) == len(g.reduced) == 1  # a place in more of them takes divisions
    if not across or not beside or not two_dims or min(g.n_reduced, g.columns) < LEAST_EXCHANGED:
        return None
    vector, item = vector_of(task, "kept", beside), max(task.operand_type(i).itemsize for i in elements_of(task))
    if vector == 1 and item < NARROW:
        return None
    if vector == 1 and item == NARROW:
        vector = WIDEST // item  # the accesses begin anywhere
    least, most = COLUMNS_EXCHANGED
    columns = min(most, max(least, BESIDE_EXCHANGED // item))
    lanes_kept = min(WARP, columns // vector)
    kept, lanes = columns // (lanes_kept * vector), WARP // lanes_kept
    warps = WARPS_EXCHANGING[item > NARROW] // kept
    held = max(1, ROWS_EXCHANGED // (lanes * warps))
    found = Plan("kept", "blocked", vector, 1, lanes, warps, kept, resident="shared", held=held)
    return found if fits(task, found) else None


def _across(task: Task) -> list[int]:
    """The operands that lie side by side along the reduced axis."""
    kept, row = task.geometry.kept[-1], task.geometry.reduced[-1]
    return [i for i in elements_of(task) if row.strides[i] == 1 and kept.strides[i] != 1]


def _of_bits(task: Task) -> Plan | None:
    """The plan of blocks whose rows are bytes of bits, and whose columns are accesses of other arrays.

    A thread reads the byte of each of its rows once. Single elements of lanes beside each other serve, too.
    """
    item = max(task.operand_type(i).itemsize for i in elements_of(task))
    g, most = task.geometry, LANES_WRITING if writes_bits(task) else 1
    if writes_bits(task) and g.n_reduced < LEAST_WRITTEN:
        return None

    def of(vector: int) -> Plan:
        count = ceil2(ceil(g.n_reduced / BYTE))
        lanes = min(max(1, WARP * vector * item // BESIDE_BITS), most, count)
        lanes = max(lanes, WARP // min(WARP, ceil2(ceil(g.columns / vector))))
        warps = min(WARPS_OF_BITS, max(1, count // lanes))
        return Plan("kept", "blocked", vector, 1, lanes, warps, WARPS // warps, resident="registers", held=BYTE)

    plans = map(of, (*halvings(min(WIDEST // item, BLOCK // BYTE)), 1))
    return next((found for found in plans if fits(task, found)), None)


def _lengths(n: int, widest: int) -> list[int]:
    """The elements of a row that a block may have: those of a wide access, or short rows as a whole."""
    wide, *narrow = halvings(widest)
    return [wide, *([n] if n * widest <= BLOCK else []), *narrow]


def _of(task: Task, held: int, most: int) -> Plan:
    """The plan of blocks of ``held`` elements of up to ``most`` rows."""
    g = task.geometry
    vector = next((n for n in halvings(floor2(most)) if g.columns % n == 0), 1)
    item = max(task.operand_type(i).itemsize for i in elements_of(task))
    least = WARP // ceil2(ceil(g.columns / vector)) if g.columns < WARP * vector else 1
    lanes = max(min(LANES, ceil2(ceil(g.n_reduced / held))), least)
    beside = max(1, min(2 * WARPS, BESIDE // (WARP // lanes * vector * item)))
    warps = min(max(1, WARPS // beside), ceil2(ceil(g.n_reduced / (held * lanes))))
    beside = max(beside, WARPS // warps)
    return Plan("kept", "blocked", vector, 1, lanes, warps, beside, resident="registers", held=held)


def fits(task: Task, plan: Plan) -> bool:
    """Whether blocks of ``plan`` divide the rows and the columns, and serve arrays that lie across each other."""
    g = task.geometry
    blocked = (plan.fast, plan.walk, plan.tile_bytes) == ("kept", "blocked", 0)
    if task.program.reduces or not blocked or not g.kept or not g.reduced:
        return False
    if plan.exchanges:
        return _exchanges(task, plan)
    if plan.held == 1 or g.columns % plan.vector or g.reduced[-1].size % plan.held:
        return False
    found = _accesses(task, plan)
    if has_bits(task):
        return all(_is_at_once(task, plan, i, found[i]) for i in elements_of(task)) and _have_bytes(task)
    if plan.vector == 1:
        return False
    kinds = {found[i] for i in elements_of(task)}
    results = {found[i] for i in elements_of(task) if i >= len(task.program.inputs)}
    wide: set[Access] = {"aligned", "transposed", "whole"}
    return len(kinds & wide) > 1 and "aligned" in kinds and results <= wide and not _writes_pieces(task, plan, results)


def _exchanges(task: Task, plan: Plan) -> bool:
    """Whether inputs alone lie across, which CTAs exchange, and all other arrays are accessed at once."""
    if floor2(plan.held) != plan.held:
        return False
    across, found = _across(task), _accesses(task, plan)
    inputs = all(i < len(task.program.inputs) for i in across)
    others = (i for i in elements_of(task) if i not in across)
    return bool(across) and inputs and not has_bits(task) and all(_is_at_once(task, plan, i, found[i]) for i in others)


def _is_at_once(task: Task, plan: Plan, operand: int, access: Access) -> bool:
    """Whether lanes access whole sectors of an array, or bytes of bits."""
    beside = plan.vector == 1 and task.geometry.kept[-1].strides[operand] == 1
    if task.operand_type(operand) == BIT:
        return access == "bits_transposed"
    return access in ("aligned", "transposed", "unaligned") or (access == "strided" and beside)


def _have_bytes(task: Task) -> bool:
    """Whether the rows of results of bits are whole bytes side by side, and so are the padding bits behind them."""
    inputs, one_row = len(task.program.inputs), True
    for i in (inputs + i for i, o in enumerate(task.program.outputs) if o.dtype == BIT):
        inner = 1
        for d in reversed(task.geometry.reduced):
            one_row &= d.strides[i] == inner
            inner *= d.size
        one_row &= all(d.strides[i] % BYTE == 0 for d in task.geometry.kept)
    return one_row


def _writes_pieces(task: Task, plan: Plan, results: set[Access]) -> bool:
    """Whether lanes write less than a sector of short rows each, at a time."""
    item = max(o.dtype.itemsize for o in task.program.outputs)
    short, sector = task.geometry.n_reduced * item < SHORT, plan.vector * plan.held * item <= tiles.SECTOR
    return short and ("transposed" in results or ("whole" in results and not sector))


def _accesses(task: Task, plan: Plan) -> tuple[Access, ...]:
    """How operands are accessed by blocks."""
    return transposed(task, plan, accesses(task, "kept", plan.vector))


def _apart(task: Task, plan: Plan) -> int:
    """The arrays whose elements are read one by one."""
    return _accesses(task, plan).count("strided")


def transposed(task: Task, plan: Plan, found: Sequence[Access]) -> tuple[Access, ...]:
    """How operands are accessed by blocks, if ``found`` says how they are by the accesses along the kept axis."""
    if plan.exchanges:
        across = _across(task)
        beside = tuple("unaligned" if _begins_anywhere(task, i, plan, x) else x for i, x in enumerate(found))
        return tuple("exchanged" if i in across else other for i, other in enumerate(beside))
    one = plan.held & (plan.held - 1) == 0
    along, rows = accesses(task, "reduced", plan.held if one else 1, waits=False), elements_of(task)

    def access(operand: int, other: Access) -> Access:
        if other == "bits_strided":
            return "bits_transposed" if along[operand] == "bits" and operand in rows else other
        if other != "strided":
            return other
        if _is_whole(task, operand, plan):
            return "whole"
        return "transposed" if along[operand] == "aligned" else other

    return tuple(access(i, other) for i, other in enumerate(found))


def _begins_anywhere(task: Task, operand: int, plan: Plan, access: Access) -> bool:
    """Whether accesses of narrow elements along the kept axis are made of aligned ones around them."""
    item = task.operand_type(operand).itemsize
    wide = access == "strided" and item <= NARROW and plan.vector * item >= WORD and len(task.geometry.kept) == 1
    return wide and task.geometry.kept[-1].strides[operand] == 1 and task.start(operand) % item == 0


def _is_whole(task: Task, operand: int, plan: Plan) -> bool:
    """Whether the elements of each block follow each other, from a boundary of its accesses on."""
    g, item = task.geometry, task.operand_type(operand).itemsize
    strides = g.reduced[-1].strides[operand], g.kept[-1].strides[operand]
    if [d.size for d in g.reduced] != [plan.held] or strides != (1, plan.held):
        return False
    starts = [task.start(operand), *(d.strides[operand] * item for d in g.kept[:-1])]
    return all(n % min(WIDEST, plan.vector * item) == 0 for n in starts)
