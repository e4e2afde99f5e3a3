"""Arrays that lie across each other, such as ``x + y.T``: a thread has a block of elements, and transposes it.

The elements of some arrays lie side by side along the kept axis, and those of others along the reduced axis. A thread
has ``vector`` neighbouring rows and ``held`` neighbouring elements of each. It reads and writes every array by wide
accesses along the axis of that array, and exchanges the elements of a block in its registers. No lane needs another
one's elements, so there is no shared memory and no barrier.

Arrays that begin anywhere have no wide accesses along both axes. Then a CTA has a block. Its threads copy parts of the
inputs that lie across the results into shared memory, in accesses along the input, and each picks the elements of its
accesses to the other arrays there. In each row of an array the parts begin at a boundary: those of an input at that of
an access before what is needed, and those of the results at that of a sector, so that no sector is written in parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from ...dtypes import BIT
from ...plan import tiles
from ...plan.fields import Access
from ...plan.plan import Plan
from ...program.bit_arrays import BYTE
from ...program.bit_arrays import WORD as WORD_OF_BITS
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..layouts.tiled import WORD
from ..powers_of_two import ceil2, floor2, halvings
from ..table import threshold
from ..task import Task
from .accesses import NARROW, accesses, elements_of, has_bits, writes_bits

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
COLUMNS_EXCHANGED = threshold((128, 256), "columns of a CTA", sittings.EXCHANGED)
"""A CTA has so many of wide and of narrow elements, or fewer where rows have fewer,"""
COLUMNS_OF_BITS = threshold((256, 128), "columns of a CTA", sittings.EXCHANGED)
"""Where results are bits, and CTAs read two accesses of each row again, the second of halves,"""
ROWS_EXCHANGED = threshold((32, 64), "rows of a CTA", sittings.EXCHANGED)
"""and so many rows: the first of elements of WIDE bytes."""
LEAST_EXCHANGED = threshold(64, "elements of a row", sittings.EXCHANGED)
"""Arrays with shorter rows, or columns, are not: most of a block lay beyond them."""
LANES_EXCHANGING = threshold(8, "lanes of a warp", sittings.EXCHANGED)
"""So many lanes are along results, and write whole lines; the others are in rows beside each other, so that they read
different banks."""
WIDE = threshold(8, "bytes of an element", sittings.EXCHANGED)
"""So wide are they."""
TILE = threshold(1 << 16, "bytes", sittings.EXCHANGED)
"""CTAs that exchange several inputs have fewer rows, so that the parts of all have no more shared memory."""
CTAS_OF_SM = threshold(1, "CTAs of an SM", sittings.EXCHANGED)
"""Of small arrays CTAs have fewer rows, so that each SM has so many of them at least."""
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
        blocks = _of_bits(task)
        return blocks if blocks and not _is_narrow(task, blocks) else _exchanging(task) or blocks
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
    widest = WIDEST // _item(task)
    whole = "whole" in _accesses(task, plan)
    return not whole and min(plan.vector, plan.held) < min(widest, BLOCK // widest)


def _exchanging(task: Task) -> Plan | None:
    """The plan of blocks that CTAs exchange in shared memory; None where no inputs lie across, or rows are short."""
    g, across = task.geometry, _across(task)
    if not across or len(g.reduced) != 1 or min(g.n_reduced, g.columns) < LEAST_EXCHANGED:
        return None

    item = _item(task)
    vector = WIDEST // item
    most = COLUMNS_OF_BITS[item == NARROW] if writes_bits(task) else COLUMNS_EXCHANGED[item <= NARROW]
    slots = min(most, ceil2(g.columns + 2 * vector - 1))
    lanes_kept = min(LANES_EXCHANGING, slots // vector)
    lanes = WARP // lanes_kept
    warps = max(1, 2 * vector // lanes)
    held, pieces = ROWS_EXCHANGED[item < WIDE] // (lanes * warps), slots // (lanes_kept * vector)
    overlap = 2 * vector if writes_bits(task) else 0
    found = Plan("kept", "blocked", vector, 1, lanes, warps, pieces, resident="shared", held=held, overlap=overlap)
    while _shared(task, found) > TILE or _ctas(task, found) < CTAS_OF_SM * task.sms:
        smaller = replace(found, held=found.held // 2)
        if not smaller.held or not fits(task, smaller):
            break
        found = smaller
    if "aligned" in stores(task, found) and len(g.kept) > 1:
        return None  # lanes along both axes write whole sectors, too
    return found if fits(task, found) else None


def _ctas(task: Task, plan: Plan) -> int:
    """The CTAs that exchange arrays."""
    own = plan.positions * plan.held
    return tiles.exchanging_ctas(plan, stores(task, plan), task.geometry) * ceil(task.geometry.n_reduced / own)


def _item(task: Task) -> int:
    """The bytes of the widest elements, those of bits aside."""
    types = (task.operand_type(i) for i in elements_of(task))
    return max((t.itemsize for t in types if t != BIT), default=1)


def _shared(task: Task, plan: Plan) -> int:
    """The bytes of shared memory of the parts of inputs of a CTA that exchanges arrays."""
    inputs, found = len(task.program.inputs), _accesses(task, plan)
    items = [task.operand_type(i).itemsize for i in range(len(found))]
    return tiles.exchange_starts(plan, found[:inputs], found[inputs:], items)[1]


def stores(task: Task, plan: Plan) -> tuple[Access, ...]:
    """How results are accessed by blocks."""
    return _accesses(task, plan)[len(task.program.inputs) :]


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
    """Whether CTAs exchange inputs and bits alone, and accesses to the first other result begin at boundaries."""
    g, across, inputs = task.geometry, _across(task), len(task.program.inputs)
    numbered = task.program.numberings and len(g.kept) > 1
    if numbered or len(g.reduced) != 1 or plan.vector == 1 or floor2(plan.held) != plan.held:
        return False
    found = _accesses(task, plan)
    beside = [kind for kind in found[inputs:] if kind not in ("exchanged", "bits_exchanged")]
    whole = plan.vector * _item(task) <= WIDEST and plan.positions % (2 * plan.vector) == 0
    if (
        not across
        or not beside
        or beside[0] not in ("shifted", "aligned")
        or not whole
        or "exchanged" in found[inputs:]
    ):
        return False
    read = [task.operand_type(i).itemsize for i in across if found[i] == "exchanged"]
    begins = all(task.start(i) % task.operand_type(i).itemsize == 0 for i in across)
    parts = all(plan.held * plan.positions * item % WIDEST == 0 for item in read)
    return begins and parts and (not has_bits(task) or _exchanges_bits(task, plan, across))


def _exchanges_bits(task: Task, plan: Plan, across: Sequence[int]) -> bool:
    """Whether CTAs exchange all bits: they lie across, and rows and columns of a CTA are whole words."""
    g, outputs, vector = task.geometry, task.program.outputs, plan.vector
    types = (*task.program.inputs, *(o.dtype for o in outputs))
    bits = [i for i, t in enumerate(types) if t == BIT]
    words = plan.slots % WORD_OF_BITS == 0 and plan.held * plan.positions % WORD_OF_BITS == 0
    lanes = plan.lanes_kept * vector >= WORD_OF_BITS and plan.overlap == (2 * vector if writes_bits(task) else 0)
    bytes_of_rows = all(g.kept[-1].strides[i] % BYTE == 0 for i in bits)
    return set(bits) <= set(across) and len(g.kept) == 1 and bytes_of_rows and _have_bytes(task) and words and lanes


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
        return tuple(_beside(task, plan, i, kind) for i, kind in enumerate(found))
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


def _beside(task: Task, plan: Plan, operand: int, kind: Access) -> Access:
    """How an operand is accessed by CTAs that exchange arrays, if ``kind`` says how it is by accesses of columns.

    Accesses begin at boundaries of the first result. So do those of an array whose rows begin as that one's do; narrow
    elements of others are taken out of aligned accesses around them.
    """
    column, inputs = task.geometry.kept[-1].strides[operand], len(task.program.inputs)
    if kind in ("kept", "number"):
        return kind
    if operand in _across(task):
        return "bits_exchanged" if task.operand_type(operand) == BIT else "exchanged"
    if column == 0:
        return "uniform"
    results = (i for i in elements_of(task) if i >= inputs and task.operand_type(i) != BIT)
    first = next(results, inputs)
    item, own = task.operand_type(operand).itemsize, _lead(task, plan, operand)
    if column != 1 or own is None:
        return "strided"
    if own == _lead(task, plan, first):
        return "shifted" if any(own) or task.geometry.columns % plan.vector else "aligned"
    return "unaligned" if operand < inputs and item <= NARROW and plan.vector * item >= WORD else "strided"


def _lead(task: Task, plan: Plan, operand: int) -> tuple[int, ...] | None:
    """How far each row of results begins after a boundary of two accesses; None if between elements."""
    g, unit = task.geometry, 2 * plan.vector
    start, rest = divmod(task.start(operand), task.operand_type(operand).itemsize)
    others = (*g.kept[:-1], *g.reduced)
    return None if rest else (start % unit, *(d.strides[operand] % unit for d in others))


def _is_whole(task: Task, operand: int, plan: Plan) -> bool:
    """Whether the elements of each block follow each other, from a boundary of its accesses on."""
    g, item = task.geometry, task.operand_type(operand).itemsize
    strides = g.reduced[-1].strides[operand], g.kept[-1].strides[operand]
    if [d.size for d in g.reduced] != [plan.held] or strides != (1, plan.held):
        return False
    starts = [task.start(operand), *(d.strides[operand] * item for d in g.kept[:-1])]
    return all(n % min(WIDEST, plan.vector * item) == 0 for n in starts)
