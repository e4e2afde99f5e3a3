"""When a CTA copies the elements of its results into shared memory, and how its threads then read them there.

A copy is read from memory in whole aligned accesses, wherever rows begin and however they lie. In shared memory a
thread then walks a row of its own, element by element; lanes share one only where too few rows fit the copy, or where
rows lie so that lanes would wait for each other at the banks.
"""

from __future__ import annotations

from dataclasses import replace

from . import tiles
from .access import WIDEST, nearest, planned, ranks
from .cost import operations
from .geometry import Geometry
from .plan import Access, Axis, Plan
from .split import THREADS
from .target import WARP
from .task import Notes, Task

TILE = 1 << 14
"""Bytes of a copy: an SM holds eight, and each of 256 threads reads four accesses of 16 bytes."""
ROW, ROWS = 5 << 9, 1 << 13
"""Bytes, at most, of a row that is reduced from a copy, and of the rows of a middle axis: longer rows fill vectors."""
TILES = 8
"""Copies an SM must get at least."""
LINE = 64
"""Bytes of which an aligned row is a multiple, or no more than these, so that nothing is gained by a copy."""
LONG = 1408
"""Bytes of an aligned row of wider elements than bytes from which on the same holds: it has vectors enough."""
SINGLE = (14, 40)
"""Bytes of rows, from and to, that are as fast by single elements where they are."""
WORD = 4
"""Bytes that a bank of shared memory gives at once."""
OF_RESULT, OF_MEETING, OF_ACCESS = 120, 8, 5
"""Instructions of a warp, counted in machine code: for its results, for a round of shuffles, for an access."""
RESULTS = 32
"""Threads that read a copy at least, lanes of a result included."""
IN_WORDS = 20
"""Elements of a row for each byte of one, from which on bytes and pairs of them are read by the word: the masks at both
its ends cost as much as reading a few elements alone."""
LONG_COMBINE = 16
"""Operations of a combine from which on a chain of single elements takes longer than the reads that it saves."""
UNROLL, UNROLL_OF_BYTES = ((18, 4), (10, 2), (1, 1)), ((18, 2), (1, 1))
"""(accesses, unroll): threads of at least so many accesses have so many in flight. Of fewer those that are left over
would cost more; and so would words of bytes, of which some are masked at both ends of a row."""


def plan(task: Task, notes: Notes) -> Plan | None:
    """A thread or a few lanes a result, in a copy; None where that does not serve, or gains nothing."""
    g, inputs = task.geometry, task.program.inputs
    own = Plan("reduced", vector=_vector(task), warps_kept=THREADS // WARP, tile_bytes=TILE)
    each = tiles.units(own, g, inputs)
    if not each or tiles.ctas(g, each) < TILES * task.machine:
        return None
    unit = tiles.unit(g, 0)
    longest = ROW if tiles.results(g) == 1 else ROWS
    if unit is None or unit.stride * inputs[0].itemsize > longest or ranks(g)[1] > 1:
        return None
    if operations(task.monoid) >= LONG_COMBINE or _direct(task) or _few_lines(g, task.itemsize):
        return None
    results = each * tiles.results(g)
    lanes = _lanes(g, task.itemsize, own.vector, results)
    steps = UNROLL_OF_BYTES if task.itemsize == 1 else UNROLL
    unroll = next(unroll for least, unroll in steps if max(1, g.n_reduced // (lanes * own.vector)) >= least)
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
    """Whether ``vector`` elements of a copy can be read at once: bytes of a word, of the rows of one input.

    The words of a row begin where its address says, and so does the tree.
    """
    g, inputs = task.geometry, task.program.inputs
    alone = len(inputs) == 1 and ranks(g)[1] == 1 and task.determinism != "portable" and task.monoid.commutative
    in_order = bool(g.reduced) and g.reduced[-1].strides[0] == 1
    return alone and in_order and vector * task.itemsize <= WORD


def _vector(task: Task) -> int:
    """Elements of an access to the copy."""
    words = max(1, WORD // task.itemsize)
    long = task.geometry.n_reduced >= IN_WORDS * task.itemsize
    return words if long and takes_words(task, words) else 1


def _direct(task: Task) -> bool:
    """Whether aligned vectors serve that lie well without a copy."""
    g, item = task.geometry, task.itemsize
    if all(d.strides[0] == 0 for d in g.reduced):  # an element a result: vectors along the kept axis hold several
        return True
    axis: Axis = "kept" if nearest(g.kept) < nearest(g.reduced) else "reduced"
    if planned(task, axis, WIDEST // item) != {"aligned"}:
        return False
    nbytes = (g.kept[-1].size if axis == "kept" else g.n_reduced) * item
    if axis == "kept":
        return nbytes >= 2 * WIDEST
    return nbytes % LINE == 0 or WIDEST <= nbytes <= LINE or (item > 1 and nbytes >= LONG)


def _few_lines(g: Geometry, item: int) -> bool:
    """Whether rows are so short that the single elements which a warp reads at a time lie in few lines."""
    in_order = len(g.kept) <= 1 and bool(g.reduced) and g.reduced[-1].strides[0] == 1
    return in_order and item > 1 and SINGLE[0] <= g.n_reduced * item <= SINGLE[1]


def _lanes(g: Geometry, item: int, vector: int, results: int) -> int:
    """Lanes of a result: those that take least, of those that leave enough threads something to read."""
    choices = [1 << k for k in range(WARP.bit_length())]
    enough = [n for n in choices if results * n >= RESULTS] or [WARP]
    return min(enough, key=lambda lanes: _cost(g, item, vector, lanes))


def _cost(g: Geometry, item: int, vector: int, lanes: int) -> float:
    """Cycles of an SM that a result takes, of shared memory and of its four schedulers.

    Shared memory gives the words of one bank, of those that a warp asks for, one after another.
    """
    accesses = -(-g.n_reduced // (vector * lanes))
    instructions = OF_RESULT + OF_MEETING * (lanes.bit_length() - 1) + OF_ACCESS * accesses
    return lanes / WARP * (_ways(g, item, vector, lanes) * accesses + instructions / 4)


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
