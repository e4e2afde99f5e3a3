"""When a CTA copies the elements of its results into shared memory, and how its threads then read them there.

A copy is read from memory in whole aligned accesses, wherever rows begin and whatever their strides are. In shared
memory a thread then walks its row, element by element, or by up to 16 bytes where elements are narrower than a word.
Lanes share a row only where too few rows fit the copy, or where rows lie so that lanes would wait for each other at the
banks.
"""

from __future__ import annotations

from dataclasses import replace

from ...plan import tiles
from ...plan.fields import Access, Axis
from ...plan.plan import Plan
from ...space.geometry import Geometry
from ...target import WARP
from .. import sittings
from ..alignment import HALF, WIDEST, least_stride
from ..limits import CTA_THREADS
from ..powers_of_two import floor2
from ..table import Sitting, Table, threshold
from ..task import Notes, Task

WORD = 4
"""Bytes that a bank of shared memory gives at once."""
BANKS = 128
"""Bytes that all banks give at once."""

# --- which layouts are copied ---
COPY_BYTES = threshold(1 << 14, "bytes of a copy", sittings.COPIES)
"""A CTA copies these: an SM holds eight, and each of 256 threads reads four accesses of 16 bytes."""
COPIES_PER_SM = threshold(8, "copies per SM", sittings.COPIES)
"""An SM must get at least these."""
ROW_BYTES = threshold(5 << 9, "bytes of a row", sittings.COPIES)
"""Up to here a row is reduced from a copy: longer rows fill vectors."""
MIDDLE_BYTES = threshold(1 << 13, "bytes of the middle axis of one outer index", sittings.COPIES)
"""Up to here a middle axis is reduced from a copy."""
ROW_BYTES_OF_WORDS = threshold(1600, "bytes of a row", sittings.SIXTY_THOUSAND)
"""Replaces ROW_BYTES for elements narrower than a word that are read by the word."""
ROW_BYTES_OF_NUMBERED = threshold(1100, "bytes of a row", sittings.NUMBERED)
"""Replaces ROW_BYTES for numbered bytes that are read by the word."""
LINE_BYTES = threshold(64, "bytes", sittings.COPIES)
"""An aligned row of a multiple of these, or of at most these, gains nothing by a copy."""
LONG_ROW_BYTES = threshold(
    {1: 700, 2: 500, 4: 1408, 8: 1408}, "bytes of a row, by bytes of an element", sittings.LAST_RUN
)
"""From here on an aligned row has vectors enough, and gains nothing by a copy."""
NUMBERED_ROW_BYTES = threshold(300, "bytes of a row", sittings.FIFTEEN_THOUSAND)
"""From here on rows of numbered bytes that lie whole accesses apart gain nothing by a copy."""
HALF_ROW_BYTES = threshold(88, "bytes of a row", sittings.SIXTY_THOUSAND)
"""Up to here a row of narrow elements that is aligned for half accesses gains nothing by a copy."""
SHORT_ROW_BYTES = threshold({1: 288, 2: 144}, "bytes of a row, by bytes of an element", sittings.SIXTY_THOUSAND)
"""Up to here a row of narrow elements that is aligned for whole accesses gains nothing by a copy."""
SINGLE_ROW_BYTES = threshold(
    {2: (28, 39), 4: (14, 40), 8: (14, 40)},
    "bytes of a row from and to, by bytes of an element",
    sittings.SIXTY_THOUSAND,
)
"""Rows are as fast by single elements without a copy: those that a warp reads at a time lie in few lines."""
GAP = threshold(
    {8: 9 / 8}, "times the bytes of a row, by bytes of an element", Sitting("2026-11-22", "ac7323e", "Narrow elements")
)
"""From this distance of rows on a copy would hold too much that nobody reads: single elements fill sectors anyway."""
PAIRS_IN_PLACE = threshold(
    (2, 8, 40), "(elements of a result at least, elements at most, bytes of a row at least)", sittings.OTHER_PLANS
)
"""A middle axis of 2-byte elements that is aligned for words is not copied from the first number on, up to the second
or in rows of the third: a thread has several results."""
TRUTHS_IN_PLACE = threshold(
    (2, 16, 32), "(elements of a result at least, elements at most, bytes of a row at least)", sittings.OTHER_PLANS
)
"""Replaces PAIRS_IN_PLACE for truth values and bytes that are compared."""
ADDED_IN_PLACE = threshold(
    (17, 1, 32), "(elements of a result at least, elements at most, bytes of a row at least)", sittings.OTHER_PLANS
)
"""Replaces PAIRS_IN_PLACE for bytes that are added, of which those of four rows are taken at once."""
ROW_BYTES_OF_LONG = threshold(
    {1: 260, 2: 520, 4: 800, 8: 800}, "bytes of a row, by bytes of an element", sittings.LONG_BYTES
)
"""Up to here a thread combines a row of a long combine alone, from a copy."""
ROW_BYTES_OF_VERY_LONG = threshold(
    {1: 260, 2: 520, 4: 800, 8: 160}, "bytes of a row, by bytes of an element", sittings.LONG_BYTES
)
"""Replaces ROW_BYTES_OF_LONG for very long combines."""

# --- accesses to the copy ---
WIDTHS_OF_BYTES = Table(
    "bytes of a row", "bytes of an access", sittings.SIXTY_THOUSAND, ((4, 4), (8, 8), (12, 4), (25, 8))
)
"""Bytes that are combined by the word, read from a copy: few more than there are, and 16 bytes beyond."""
WIDTHS_OF_PAIRS = Table("bytes of a row", "bytes of an access", sittings.SIXTY_THOUSAND, ((39, 2), (69, 8)))
"""2-byte elements, read from a copy: a few each by itself, and by 16 bytes beyond."""
WORD_ROW_BYTES = threshold(20, "bytes of a row", sittings.LAST_RUN)
"""From here on words are read of bytes that are then taken apart."""
WORDS_OF_NUMBERED = threshold(4, "half accesses of a row", sittings.LAST_RUN)
"""From here on numbered bytes are read by half accesses."""
COMPARED_ROW_BYTES = threshold(48, "bytes of a row", sittings.LAST_RUN)
"""Up to here bytes that are compared are read by the word: a wider access is more to mask than to compare."""
UNROLL_OF_ROWS = threshold(
    ((18, 4), (10, 2), (1, 1)), "(accesses of a thread at least, accesses in flight)", sittings.SIXTY_THOUSAND
)
"""Threads of rows have these: of fewer accesses those that are left over would cost more."""
UNROLL_OF_MIDDLE = threshold(
    ((18, 4), (4, 2), (1, 1)), "(accesses of a thread at least, accesses in flight)", sittings.FIFTEEN_THOUSAND
)
"""Threads of a middle axis have these."""
UNROLL_OF_MIDDLE_BYTES = threshold(
    ((4, 4), (1, 1)), "(accesses of a thread at least, accesses in flight)", sittings.FIFTEEN_THOUSAND
)
"""Threads of a middle axis of bytes have these."""
FOUR_OF_KEYED = threshold({1: 4, 2: 32}, "accesses of a thread, by bytes of an element", sittings.FLOATS)
"""From here on threads of numbered narrow elements that are read by half accesses or more have four in flight; one
below."""
UNROLL_OF_LONG = threshold(8, "elements in flight", sittings.LONG_COMBINES)
"""A thread has at most these of a long combine."""

# --- lanes of a row ---
LANES_OF_BYTES = Table("bytes of a row", "lanes", sittings.SIXTY_THOUSAND, ((760, 1),))
"""Bytes that are read by the word, so that each lane makes few accesses; 8 lanes beyond."""
LANES_OF_PAIRS = Table("bytes of a row", "lanes", sittings.SIXTY_THOUSAND, ((640, 1), (1400, 4)))
"""2-byte elements that are read by the word; 8 lanes beyond."""
LANES_OF_NUMBERED = Table("bytes of a row", "lanes", sittings.NUMBERED, ((760, 1),))
"""Numbered bytes; 4 lanes beyond."""
LANES_OF_ALIGNED = Table("bytes of a row", "lanes", sittings.SIXTY_THOUSAND, ((200, 2),))
"""Narrow elements of rows that lie whole accesses apart, which are read by half accesses; 4 lanes beyond."""
BANK_WORDS = threshold(
    {1: 3, 2: 2}, "words of one bank, by lanes of a row (2 stands for several)", sittings.SIXTY_THOUSAND
)
"""Up to here a warp may wait at a bank for words of narrow elements: rows are then still faster from a copy."""
COPIED_ANYHOW = threshold((64, 300), "bytes of a row from and to", sittings.SIXTY_THOUSAND)
"""Rows of narrow elements are read from a copy all the same: others are then as fast without."""
BANK_WORDS_OF_LONG = threshold(2, "words of one bank", sittings.LONG_COMBINES)
"""Up to here lanes may wait at a bank for elements of a long combine."""
BANK_WORDS_IN_ORDER = threshold(2, "words of one bank", sittings.IN_ORDER)
"""Up to here lanes that take pieces of a row, to keep its order, may wait at a bank."""
RESULT_COST = threshold(60, "instructions of a warp", sittings.FIFTEEN_THOUSAND)
"""What its results cost."""
SHUFFLE_COST = threshold(8, "instructions of a warp", sittings.FIFTEEN_THOUSAND)
"""What a round of shuffles costs."""
ACCESS_COST = threshold(4, "instructions of a warp", sittings.FIFTEEN_THOUSAND)
"""What an access costs."""
LATENCY = threshold(20, "cycles", sittings.FIFTEEN_THOUSAND)
"""From one access of a thread to its next."""


def plan(task: Task, notes: Notes) -> Plan | None:
    """A thread or a few lanes a result, in a copy; None where that does not serve, or gains nothing."""
    g, inputs = task.geometry, task.program.inputs
    vector = 1 if task.has_long_combine else _vector(task)
    own = Plan("reduced", vector=vector, warps_kept=CTA_THREADS // WARP, tile_bytes=COPY_BYTES)
    each = tiles.units(own, g, inputs)
    if not each or tiles.ctas(g, each) < COPIES_PER_SM * task.machine or not _pays(task, vector):
        return None
    results = each * tiles.results(g)
    lanes = 1 if task.has_long_combine else _lanes(task, vector, results)
    if vector > 1 and _waits(task, vector, lanes):
        return None
    if not task.monoid.commutative and _bank_words(task, vector, lanes) > BANK_WORDS_IN_ORDER:
        return None
    words = f"a CTA copies the elements of {results} results into {COPY_BYTES} bytes of shared memory"
    notes.because(f"{words}: it does not matter there where rows begin", "tile_bytes", "fast", "vector")
    notes.because(f"{lanes} thread(s) a result", "lanes", "unroll")
    return replace(own, lanes=lanes, unroll=_unroll(task, vector, lanes))


def access(g: Geometry, operand: int) -> Access:
    """How a thread reads an input that the CTA copies, or that all its results share."""
    if tiles.unit(g, operand) is None:
        return "strided"
    return "tile" if g.n_reduced <= 1 or g.reduced[-1].strides[operand] == 1 else "tile_strided"


def takes_words(task: Task, vector: int) -> bool:
    """Whether ``vector`` elements of a copy are read at once: whole words, of rows whose elements are narrower."""
    g, inputs = task.geometry, range(len(task.program.inputs))
    copied = [i for i in inputs if tiles.unit(g, i) is not None]
    items = {task.operand_type(i).itemsize for i in copied}
    in_order = task.ranks[1] == 1 and bool(g.reduced) and all(g.reduced[-1].strides[i] == 1 for i in copied)
    whole = all(item < WORD <= vector * item <= WIDEST for item in items)
    return in_order and whole and task.monoid.commutative


# --- which layouts are copied ---
def _pays(task: Task, vector: int) -> bool:
    """Whether a copy that is read by ``vector`` elements is faster than reading the array."""
    g, item = task.geometry, task.itemsize
    unit, single = tiles.unit(g, 0), tiles.results(g) == 1
    narrow = ROW_BYTES_OF_NUMBERED if task.ranks_bytes else ROW_BYTES_OF_WORDS
    longest = MIDDLE_BYTES if not single else narrow if vector > 1 else ROW_BYTES
    if unit is None or unit.stride * task.program.inputs[0].itemsize > longest or task.ranks[1] > 1:
        return False
    if single and task.ranks_bytes and g.n_reduced >= NUMBERED_ROW_BYTES and _lie_whole_accesses_apart(task):
        return False
    if single and unit.stride >= GAP.get(item, unit.stride + 1) * unit.span:
        return False
    direct = _is_direct(task) or _lies_in_few_lines(task)
    return not direct and (not task.has_long_combine or _serves_one_thread(task))


def _is_direct(task: Task) -> bool:
    """Whether aligned vectors read the array well without a copy."""
    g, item = task.geometry, task.itemsize
    if all(d.strides[0] == 0 for d in g.reduced):  # an element a result: vectors along the kept axis hold several
        return True
    axis: Axis = "kept" if least_stride(g.kept) < least_stride(g.reduced) else "reduced"
    nbytes = (g.kept[-1].size if axis == "kept" else g.n_reduced) * item
    if axis == "kept" and _is_read_by_words(task, nbytes):
        return True
    little = task.result_bytes <= item < WORD  # to write, so that results need not lie side by side
    halves = item < HALF and task.is_aligned(axis, HALF // item)
    if not task.is_aligned(axis, WIDEST // item):
        least, most = (WIDEST, HALF_ROW_BYTES) if axis == "reduced" else (HALF_ROW_BYTES, nbytes if little else 0)
        long = axis == "reduced" and item == 1 and nbytes >= LONG_ROW_BYTES[item]
        return halves and item < WORD and (least <= nbytes <= most or long)
    if axis == "kept":
        return nbytes >= (1 if little else 2) * WIDEST
    short = WIDEST <= nbytes <= SHORT_ROW_BYTES.get(item, LINE_BYTES)
    return nbytes % LINE_BYTES == 0 or short or nbytes >= LONG_ROW_BYTES[item]


def _is_read_by_words(task: Task, nbytes: int) -> bool:
    """Whether a thread reads rows of ``nbytes`` of a middle axis as fast without a copy, by the word or more."""
    n, item = task.geometry.n_reduced, task.itemsize
    narrow = item < WORD and task.state_registers == 1 and not task.program.uses_index
    if not narrow or not task.is_aligned("kept", WORD // item):
        return False
    if item == 1 and not task.combines_words:
        return False
    of_bytes = ADDED_IN_PLACE if task.adds_bytes else TRUTHS_IN_PLACE
    least, most, row = PAIRS_IN_PLACE if item > 1 else of_bytes
    return n >= least and (n <= most or nbytes >= row)


def _lies_in_few_lines(task: Task) -> bool:
    """Whether rows are so short that the single elements which a warp reads at a time lie in few lines."""
    g, item = task.geometry, task.itemsize
    in_order = len(g.kept) <= 1 and bool(g.reduced) and g.reduced[-1].strides[0] == 1
    low, high = SINGLE_ROW_BYTES.get(item, (1, 0))
    return in_order and low <= g.n_reduced * item <= high


def _lie_whole_accesses_apart(task: Task) -> bool:
    """Whether all rows begin at the same offset from a boundary of accesses."""
    return all(d.strides[0] * task.itemsize % WIDEST == 0 for d in task.geometry.kept)


def _serves_one_thread(task: Task) -> bool:
    """Whether a thread combines a row alone as fast as several do, since it is short, and reads it without a wait."""
    g, item = task.geometry, task.itemsize
    most = (ROW_BYTES_OF_VERY_LONG if task.has_very_long_combine else ROW_BYTES_OF_LONG).get(item, 0)
    short = tiles.results(g) == 1 and g.n_reduced * item <= most
    return short and _bank_words(task, 1, 1) <= BANK_WORDS_OF_LONG


# --- accesses to the copy ---
def _vector(task: Task) -> int:
    """Elements of an access to the copy."""
    item, n = task.itemsize, task.geometry.n_reduced
    if item > 2:
        return 1
    if item == 1 and (not task.combines_words or (task.compares_bytes and n <= COMPARED_ROW_BYTES)):
        width = HALF if task.ranks_bytes and n >= WORDS_OF_NUMBERED * HALF else WORD
        return width if n >= WORD_ROW_BYTES and takes_words(task, width) else 1
    width = (WIDTHS_OF_BYTES if item == 1 else WIDTHS_OF_PAIRS).at(n * item) or WIDEST
    width = HALF if width > HALF and _lie_whole_accesses_apart(task) else width
    return width // item if takes_words(task, width // item) else 1


def _unroll(task: Task, vector: int, lanes: int) -> int:
    """Accesses in flight of a thread."""
    n = task.geometry.n_reduced
    if task.has_long_combine:
        return min(UNROLL_OF_LONG, floor2(n))
    if vector > 1:
        keyed = vector * task.itemsize >= HALF and task.is_keyed("reduced")
        return 4 if keyed and n // (vector * lanes) >= FOUR_OF_KEYED[task.itemsize] else 1
    middle = UNROLL_OF_MIDDLE_BYTES if task.itemsize == 1 else UNROLL_OF_MIDDLE
    steps = UNROLL_OF_ROWS if least_stride(task.geometry.reduced) <= 1 else middle
    return next(unroll for least, unroll in steps if max(1, n // lanes) >= least)


# --- lanes of a row ---
def _lanes(task: Task, vector: int, results: int) -> int:
    """Lanes of a result: those that take least, of those that leave enough threads something to read.

    Rows that lie whole accesses apart get as many as fill what divides their distance.
    """
    g, item = task.geometry, task.itemsize
    if vector == 1:
        choices = [1 << k for k in range(WARP.bit_length())]
        return min(choices, key=lambda lanes: _cost(task, lanes, results))
    nbytes = g.n_reduced * item
    if _lie_whole_accesses_apart(task):
        pitch = abs(g.kept[-1].strides[0]) * item if g.kept else 0
        return max(LANES_OF_ALIGNED.at(nbytes) or 4, min(BANKS, pitch & -pitch) // HALF)
    if task.ranks_bytes:
        return LANES_OF_NUMBERED.at(nbytes) or 4
    return (LANES_OF_BYTES if item == 1 else LANES_OF_PAIRS).at(nbytes) or 8


def _waits(task: Task, vector: int, lanes: int) -> bool:
    """Whether lanes that read words would wait for each other at the banks, and rows are as fast without a copy."""
    low, high = COPIED_ANYHOW
    between = low < task.geometry.n_reduced * task.itemsize <= high
    return not between and _bank_words(task, vector, lanes) > BANK_WORDS[min(2, lanes)]


def _cost(task: Task, lanes: int, results: int) -> float:
    """Cycles of an SM that one of ``results`` in a copy takes: of shared memory and of the four schedulers.

    Shared memory gives the words of one bank, of those that a warp asks for, one after another. No result is ready
    before its threads have made their accesses, one after another, and an SM has COPIES_PER_SM copies at work.
    """
    accesses = -(-task.geometry.n_reduced // lanes)
    instructions = RESULT_COST + SHUFFLE_COST * (lanes.bit_length() - 1) + ACCESS_COST * accesses
    work = lanes / WARP * (_bank_words(task, 1, lanes) * accesses + instructions / 4)
    return max(work, accesses * LATENCY / (COPIES_PER_SM * results))


def _bank_words(task: Task, vector: int, lanes: int) -> int:
    """The most words of one bank that lanes served together ask for: a warp's, or half a warp's of eight bytes."""
    g, item = task.geometry, task.itemsize
    width = max(WORD, item)
    together = WARP * WORD // width
    step = (g.reduced[-1].strides[0] if g.reduced else 0) * item * _lanes_apart(task, vector, lanes)
    words: dict[int, set[int]] = {}
    for thread in range(together):
        result, lane = divmod(thread, lanes)
        word = (_offset(g, result) * item + lane * step) // width
        words.setdefault(word % together, set()).add(word)
    return max(map(len, words.values()))


def _lanes_apart(task: Task, vector: int, lanes: int) -> int:
    """Elements from one lane of a result to the next: an access, or in order a piece of whole groups of accesses."""
    if task.monoid.commutative:
        return vector
    unroll = _unroll(task, vector, lanes)
    return -(-task.geometry.n_reduced // (lanes * unroll)) * unroll


def _offset(g: Geometry, result: int) -> int:
    """Where the elements of a result begin, in elements from those of the first."""
    offset = 0
    for d in reversed(g.kept):
        result, index = divmod(result, max(1, d.size))
        offset += index * d.strides[0]
    return offset
