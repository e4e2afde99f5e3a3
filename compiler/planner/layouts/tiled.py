"""When a CTA copies the elements of its results into shared memory, and how its threads then read them there.

A copy is read from memory in whole aligned accesses, wherever rows begin and however they lie. In shared memory a
thread then walks a row of its own, element by element, or by up to 16 bytes where elements are narrower than a word;
lanes share one only where too few rows fit the copy, or where rows lie so that lanes would wait for each other at the
banks.
"""

from __future__ import annotations

from dataclasses import replace

from ...plan import tiles
from ...plan.plan import Access, Axis, Plan
from ...program.analysis.cost import operations
from ...space.geometry import Geometry
from ...target import WARP
from ..alignment import WIDEST, nearest, planned, ranks
from ..limits import LONG_COMBINE, LONGER_COMBINE, adds_bytes, compares_bytes, floor2, in_words, keyed, numbers_bytes
from ..split import THREADS
from ..task import Notes, Task

TILE = 1 << 14
"""Bytes of a copy: an SM holds eight, and each of 256 threads reads four accesses of 16 bytes."""
ROW, ROWS = 5 << 9, 1 << 13
"""Bytes, at most, of a row that is reduced from a copy, and of the rows of a middle axis: longer rows fill vectors."""
ROW_OF_NARROW, ROW_OF_NUMBERED = 1600, 1100
"""The same of rows of elements that are narrower than a word, where they are read by the word; and of bytes that are
numbered."""
TILES = 8
"""Copies an SM must get at least."""
LINE = 64
"""Bytes of which an aligned row is a multiple, or no more than these, so that nothing is gained by a copy."""
LONG = {1: 700, 2: 500, 4: 1408, 8: 1408}
"""Bytes of an aligned row, by those of an element, from which on the same holds: it has vectors enough."""
NUMBERED = 300
"""Bytes of a row of numbered ones from which on nothing is gained where rows lie whole accesses apart."""
HALF, OF_HALVES, SHORT = 8, 88, {1: 288, 2: 144}
"""Bytes of an access for which a row of narrow elements must be aligned, if it has no more than so many bytes, so that
nothing is gained by a copy; and the most bytes, by those of an element, of one that is aligned for whole accesses."""
SINGLE = {2: (28, 39), 4: (14, 40), 8: (14, 40)}
"""Bytes of rows, from and to, by those of an element, that are as fast by single elements where they are."""
GAP = {8: 9 / 8}
"""Times its bytes that a row is from the next one, by those of an element, from which on a copy would hold too much
that nobody reads: single elements so wide fill sectors anyway."""
PAIRS_IN_PLACE, TRUTHS_IN_PLACE, ADDED_IN_PLACE = (2, 8, 40), (2, 16, 32), (17, 1, 32)
"""(elements, elements, bytes) of a result and of a row of a middle axis that is aligned for words: from so many
elements on, up to so many or in rows of so many bytes at least, it is read where it is, and a thread has several
results. Elements of two bytes, truth values, and bytes that are added, of which those of four rows are taken at once.
"""
WORD = 4
"""Bytes that a bank of shared memory gives at once."""
OF_RESULT, OF_MEETING, OF_ACCESS = 60, 8, 4
"""Instructions of a warp: for its results, for a round of shuffles, for an access."""
LATENCY = 20
"""Cycles from one access of a thread to its next."""
WIDTHS: dict[int, tuple[tuple[float, int], ...]] = {
    1: ((4, 4), (8, 8), (12, 4), (25, 8), (ROWS, 16)), 2: ((39, 2), (69, 8), (ROWS, 16)),
}  # fmt: skip
"""(bytes, width), by the bytes of an element: of rows of so many bytes at most so many are read at once. Few more are
read than there are, and of a few pairs of bytes each by itself."""
IN_WORDS, FEW_WORDS, FEW_COMPARED = 20, 4, 48
"""Bytes of a row from which on words are read though they are taken apart; accesses of HALF from which on numbered ones
are read so; and bytes that are compared up to which a wider access is more to mask than to compare."""
LANES_OF_WORDS: dict[int, tuple[tuple[int, int], ...]] = {
    1: ((760, 1), (ROWS, 8)), 2: ((640, 1), (1400, 4), (ROWS, 8)),
}  # fmt: skip
LANES_OF_NUMBERED = ((760, 1), (ROWS, 4))
"""(bytes, lanes), by the bytes of an element, and of numbered bytes: rows of so many bytes at most, read by the word,
get so many lanes; each makes few accesses then."""
FEW_LANES = ((200, 2), (ROWS, 4))
"""(bytes, lanes): the same where rows lie whole accesses apart and are read half an access at once."""
BANKS = 128
"""Bytes that all banks give at once."""
WAYS, BETWEEN = (3, 2), (64, 300)
"""Words of one bank that a warp may have to wait for, where rows have a lane each and where they have several; and
bytes of rows, from and to, that are read from a copy all the same: others are then as fast where they are."""
ROW_OF_LONG = {LONG_COMBINE: {1: 260, 2: 520, 4: 800, 8: 800}, LONGER_COMBINE: {1: 260, 2: 520, 4: 800, 8: 160}}
"""Bytes, at most, of a row of elements whose combine is long, by its operations and the bytes of an element: a thread
combines it alone."""
UNROLL_OF_LONG, WAYS_OF_LONG = 8, 2
"""Its elements in flight, and words of one bank for which lanes may wait."""
UNROLL = ((18, 4), (10, 2), (1, 1))
UNROLL_OF_MIDDLE, UNROLL_OF_BYTES = ((18, 4), (4, 2), (1, 1)), ((4, 4), (1, 1))
UNROLL_OF_KEYED = {1: ((4, 4),), 2: ((32, 4),)}
"""(accesses, unroll): threads of at least so many accesses have so many in flight: of rows, of a middle axis, of bytes
of one, and of narrow elements that are numbered, by their bytes, one otherwise. Of fewer those that are left over would
cost more."""


def plan(task: Task, notes: Notes) -> Plan | None:
    """A thread or a few lanes a result, in a copy; None where that does not serve, or gains nothing."""
    g, inputs = task.geometry, task.program.inputs
    is_long = operations(task.monoid) >= LONG_COMBINE
    vector = 1 if is_long else _vector(task)
    own = Plan("reduced", vector=vector, warps_kept=THREADS // WARP, tile_bytes=TILE)
    each = tiles.units(own, g, inputs)
    if not each or tiles.ctas(g, each) < TILES * task.machine:
        return None
    unit = tiles.unit(g, 0)
    single = tiles.results(g) == 1
    narrow = ROW_OF_NUMBERED if numbers_bytes(task) else ROW_OF_NARROW
    longest = ROWS if not single else narrow if own.vector > 1 else ROW
    if unit is None or unit.stride * inputs[0].itemsize > longest or ranks(g)[1] > 1:
        return None
    if single and numbers_bytes(task) and g.n_reduced >= NUMBERED and _in_accesses(task):
        return None
    if single and unit.stride >= GAP.get(task.itemsize, unit.stride + 1) * unit.span:
        return None
    if _direct(task) or _few_lines(g, task.itemsize) or (is_long and not _alone(task)):
        return None
    results = each * tiles.results(g)
    lanes = 1 if is_long else _lanes(task, own.vector, results)
    if own.vector > 1 and _waits(task, own.vector, lanes):
        return None
    unroll = _unroll(task, own.vector, lanes)
    words = f"a CTA copies the elements of {results} results into {TILE} bytes of shared memory"
    notes.because(f"{words}: it does not matter there where rows begin", "tile_bytes", "fast", "vector")
    notes.because(f"{lanes} thread(s) a result", "lanes", "unroll")
    return replace(own, lanes=lanes, unroll=unroll)


def access(g: Geometry, operand: int) -> Access:
    """How a thread reads an input that the CTA copies, or that all its results share."""
    if tiles.unit(g, operand) is None:
        return "strided"
    return "tile" if g.n_reduced <= 1 or g.reduced[-1].strides[operand] == 1 else "tile_strided"


def takes_words(task: Task, vector: int) -> bool:
    """Whether ``vector`` elements of a copy can be read at once: words of rows whose elements are narrower."""
    g, inputs = task.geometry, range(len(task.program.inputs))
    copied = [i for i in inputs if tiles.unit(g, i) is not None]
    items = {task.operand_type(i).itemsize for i in copied}
    in_order = ranks(g)[1] == 1 and bool(g.reduced) and all(g.reduced[-1].strides[i] == 1 for i in copied)
    whole = all(item < WORD <= vector * item <= WIDEST for item in items)
    return in_order and whole and task.monoid.commutative


def _vector(task: Task) -> int:
    """Elements of an access to the copy."""
    item, n = task.itemsize, task.geometry.n_reduced
    if item not in WIDTHS:
        return 1
    nbytes = n * item
    if item == 1 and (not in_words(task) or (compares_bytes(task) and n <= FEW_COMPARED)):
        width = HALF if numbers_bytes(task) and n >= FEW_WORDS * HALF else WORD
        return width if n >= IN_WORDS and takes_words(task, width) else 1
    width = next(width for most, width in WIDTHS[item] if nbytes <= most or most == ROWS)
    width = HALF if width > HALF and _in_accesses(task) else width
    return width // item if takes_words(task, width // item) else 1


def _in_accesses(task: Task) -> bool:
    """Whether rows lie whole accesses apart."""
    return all(d.strides[0] * task.itemsize % WIDEST == 0 for d in task.geometry.kept)


def _direct(task: Task) -> bool:
    """Whether aligned vectors serve that lie well without a copy."""
    g, item = task.geometry, task.itemsize
    if all(d.strides[0] == 0 for d in g.reduced):  # an element a result: vectors along the kept axis hold several
        return True
    axis: Axis = "kept" if nearest(g.kept) < nearest(g.reduced) else "reduced"
    nbytes = (g.kept[-1].size if axis == "kept" else g.n_reduced) * item
    if axis == "kept" and _words_serve(task, nbytes):
        return True
    little = task.result_bytes <= item < WORD  # to write, so that results need not lie side by side
    halves = item < HALF and planned(task, axis, HALF // item) == {"aligned"}
    if planned(task, axis, WIDEST // item) != {"aligned"}:
        least, most = (WIDEST, OF_HALVES) if axis == "reduced" else (OF_HALVES, nbytes if little else 0)
        long = axis == "reduced" and item == 1 and nbytes >= LONG[item]
        return halves and item < WORD and (least <= nbytes <= most or long)
    if axis == "kept":
        return nbytes >= (1 if little else 2) * WIDEST
    return nbytes % LINE == 0 or WIDEST <= nbytes <= SHORT.get(item, LINE) or nbytes >= LONG[item]


def _words_serve(task: Task, nbytes: int) -> bool:
    """Whether a thread reads rows of so many bytes of a middle axis as fast where they are, by the word or more."""
    n, item = task.geometry.n_reduced, task.itemsize
    narrow = item < WORD and task.state_registers == 1 and not task.program.uses_index
    if not narrow or planned(task, "kept", WORD // item) != {"aligned"}:
        return False
    if item == 1 and not in_words(task):
        return False
    added = ADDED_IN_PLACE if adds_bytes(task) else TRUTHS_IN_PLACE
    least, most, row = PAIRS_IN_PLACE if item > 1 else added
    return n >= least and (n <= most or nbytes >= row)


def _few_lines(g: Geometry, item: int) -> bool:
    """Whether rows are so short that the single elements which a warp reads at a time lie in few lines."""
    in_order = len(g.kept) <= 1 and bool(g.reduced) and g.reduced[-1].strides[0] == 1
    low, high = SINGLE.get(item, (1, 0))
    return in_order and low <= g.n_reduced * item <= high


def _unroll(task: Task, vector: int, lanes: int) -> int:
    """Accesses in flight of a thread."""
    n = task.geometry.n_reduced
    if operations(task.monoid) >= LONG_COMBINE:
        return min(UNROLL_OF_LONG, floor2(n))
    if vector > 1:
        found = UNROLL_OF_KEYED[task.itemsize] if vector * task.itemsize >= HALF and keyed(task, "reduced") else ()
        return next((unroll for least, unroll in found if n // (vector * lanes) >= least), 1)
    table = UNROLL_OF_BYTES if task.itemsize == 1 else UNROLL_OF_MIDDLE
    table = UNROLL if nearest(task.geometry.reduced) <= 1 else table
    return next(unroll for least, unroll in table if max(1, n // lanes) >= least)


def _alone(task: Task) -> bool:
    """Whether rows are so short that a thread combines one alone as fast as several do, and reads it without a wait."""
    g, item, code = task.geometry, task.itemsize, operations(task.monoid)
    most = [most.get(item, 0) for least, most in ROW_OF_LONG.items() if code >= least][-1]
    short = tiles.results(g) == 1 and g.n_reduced * item <= most
    return short and _ways(g, item, 1, 1) <= WAYS_OF_LONG


def _waits(task: Task, vector: int, lanes: int) -> bool:
    """Whether lanes that read words would wait for each other at the banks, and rows are as fast where they are."""
    low, high = BETWEEN
    between = low < task.geometry.n_reduced * task.itemsize <= high
    return not between and _ways(task.geometry, task.itemsize, vector, lanes) > WAYS[lanes > 1]


def _lanes(task: Task, vector: int, results: int) -> int:
    """Lanes of a result: those that take least, of those that leave enough threads something to read.

    Rows that lie whole accesses apart get as many as fill what divides their distance.
    """
    g, item = task.geometry, task.itemsize
    if vector > 1:
        apart = _in_accesses(task)
        steps = FEW_LANES if apart else LANES_OF_NUMBERED if numbers_bytes(task) else LANES_OF_WORDS[item]
        least = next(lanes for most, lanes in steps if g.n_reduced * item <= most or most == ROWS)
        pitch = abs(g.kept[-1].strides[0]) * item if g.kept else 0
        return max(least, min(BANKS, pitch & -pitch) // HALF) if apart else least
    choices = [1 << k for k in range(WARP.bit_length())]
    return min(choices, key=lambda lanes: _cost(g, item, lanes, results))


def _cost(g: Geometry, item: int, lanes: int, results: int) -> float:
    """Cycles of an SM that a result takes, of so many in a copy: of shared memory and of its four schedulers.

    Shared memory gives the words of one bank, of those that a warp asks for, one after another. No result is ready
    before its threads have made their accesses, one after another, and an SM has those of TILES copies at work.
    """
    accesses = -(-g.n_reduced // lanes)
    instructions = OF_RESULT + OF_MEETING * (lanes.bit_length() - 1) + OF_ACCESS * accesses
    work = lanes / WARP * (_ways(g, item, 1, lanes) * accesses + instructions / 4)
    return max(work, accesses * LATENCY / (TILES * results))


def _ways(g: Geometry, item: int, vector: int, lanes: int) -> int:
    """How many words of one bank the lanes ask for that shared memory serves together: half a warp's of eight bytes."""
    width = max(WORD, item)
    together = WARP * WORD // width
    step = (g.reduced[-1].strides[0] if g.reduced else 0) * item * vector
    words: dict[int, set[int]] = {}
    for thread in range(together):
        result, lane = divmod(thread, lanes)
        word = (_offset(g, result) * item + lane * step) // width
        words.setdefault(word % together, set()).add(word)
    return max(map(len, words.values()))


def _offset(g: Geometry, result: int) -> int:
    """Where the elements of a result begin, in elements from those of the first."""
    offset = 0
    for d in reversed(g.kept):
        result, place = divmod(result, max(1, d.size))
        offset += place * d.strides[0]
    return offset
