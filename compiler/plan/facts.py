"""The facts: what else a kernel is compiled for besides its plan."""

from __future__ import annotations

from dataclasses import dataclass

from ..program.graph import ELEMENT, KEPT, REDUCED, SCALAR, Program
from ..space.geometry import Geometry
from .fields import RARE as RARE_IN_PLANS
from .fields import Access

NUMBER_BITS = 24
"""Bits of a word that an 8-bit element leaves to its number."""
INDEX_LIMIT = 2**31 - 2**24
"""Offsets below this fit 32-bit arithmetic with room for one step past the end."""
RARE = (
    "repeats", "flat", "by_row", "gapped", "pieces", "block", "places", "bounds", "cleared", "numbers", "once",
    "stores", "full", "waiting", "lasting", "walked", "leading", "spare", "rows_first", "numberings", "section",
    "follows", "streams", "runs", "part", "narrow", *RARE_IN_PLANS,
)  # fmt: skip
"""The facts, and the fields of a plan, that the IR leaves out where they have their default."""

NUMBERS = ("waiting", "lasting", "leading", "runs")
"""The facts that are numbers of operands."""


@dataclass(frozen=True)
class Facts:
    """What a kernel is compiled for besides its plan.

    Attributes:
        kept_rank, reduced_rank: dims that the kernel has, at least as many as the collapsed geometry.
        index_bits: 32 where every offset fits, else 64.
        access: for each input, how its elements are read. ``aligned``: vectors. ``shifted``: vectors along rows that
            start anywhere, from the boundary before each row on. ``unaligned``: vectors along the kept axis that start
            anywhere. ``period``: vectors along narrow rows that follow each other. ``staggered``: vectors of warps that
            begin their rows at the boundary before. ``strided``: single elements. ``tile``: vectors that start anywhere
            in the CTA's copy in shared memory. ``tile_strided``: single elements of that copy. ``whole``: all elements
            of a thread's results, in aligned vectors. ``uniform``: one element that is the same along the access.
            ``kept``: one element for each result, of an input without reduced dims. ``gathered``: single elements, at
            indices along one more axis of the array. ``transposed``: vectors along the reduced axis, where a thread
            has a block of elements and its other accesses are along the kept axis. ``bits_transposed``: a byte of
            bits along the reduced axis, in such blocks. ``exchanged``: single elements along the reduced axis, which
            the CTA puts into shared memory, where a thread reads its block of them. ``matrix``: vectors along the
            reduced axis, of a tile whose rows lie along the kept axis. ``reversed``: vectors of rows that are walked
            backwards. ``split``: vectors that begin anywhere and go on from one row of the innermost dim into the next,
            which lies behind a gap. ``side``: of an output, one element for each of a row, which a side fold leaves;
            ``section``: one for each section of ``section`` elements of a row, one behind another.
        store_vector: whether each thread's results are neighbours and aligned in every output.
        ragged: whether arrays say where each row begins and ends.
        repeats: whether the launch says how often elements and results are repeated.
        flat: whether the results of several kept dims follow each other at one stride, as those of a new array do.
        by_row: whether the results of a CTA are in one row, along the innermost of several kept dims.
        gapped: whether the columns at the end of each row are read and not written.
        pieces: whether runs are cut into pieces.
        block: the elements of a result, and the columns of a block, where a kernel is for blocks of that shape alone;
            else nothing.
        places: whether elements have 8 or 16 bits, and their numbers leave room for them in a word.
        bounds: whether a warp has one list, whose bound most elements are compared with alone.
        cleared: whether the cells to which CTAs add their counters are zero between launches: the last CTA stores the
            results, and clears them.
        numbers: ``up`` where the numbers of a result's elements rise along the walk, ``down`` where they fall; nothing
            where they do neither, or the program does not number elements.
        once: whether no thread makes more accesses in a walk than it has in flight; of a scan, whether a CTA has whole
            rows.
        stores: for each output how it is written: ``kept``, one element a result; or one for each element, as an
            access of that name reads it. Empty where all outputs are ``kept``.
        full: whether every thread makes all accesses that it keeps, and each lies in the row.
        waiting: the numbers of the inputs whose elements wait for a later phase, since each row has its own.
        lasting: the numbers of the inputs whose elements are those of all rows, and wait for all rows of a CTA.
        walked: whether phases walk the accesses that wait in shared memory in a loop, for rows of any length.
        leading: the numbers of the inputs that lie along all rows, from a boundary on, where rows that begin anywhere
            are walked: accesses to them are as far before a boundary as the row begins behind one.
        spare: whether threads may keep more accesses than their row has, so that a kernel serves shorter rows as well.
        rows_first: whether CTAs of a map that follow each other have other rows, and not other parts of one.
        numberings: along which dims the numbers of each numbering of the program rise: ``kept``, ``reduced``,
            ``both`` or ``none``, for a count of elements.
        section: the elements of a section of a row of which the kernel leaves a state; 0 where it leaves none.
        follows: whether the launch before it, of the same call, may still run when the kernel begins: it waits for the
            end of that launch before it reads or writes memory.
        streams: whether the L2 cache is told not to keep the elements that it reads and writes.
        runs: the numbers of the operands whose elements follow each other through all reduced dims, where bits are
            numbered so, inputs first: their accesses go on from one row of the innermost dim into the next.
        part: the elements of the parts in which split accesses are read; 0 without any.
        narrow: whether a strip of periods is no longer than one, so that it has each column once.
    """

    kept_rank: int
    reduced_rank: int
    index_bits: int
    access: tuple[Access, ...]
    store_vector: bool
    ragged: bool = False
    repeats: bool = False
    flat: bool = False
    by_row: bool = False
    gapped: bool = False
    pieces: bool = False
    block: tuple[int, ...] = ()
    places: bool = False
    bounds: bool = False
    cleared: bool = False
    numbers: str = ""
    once: bool = False
    stores: tuple[str, ...] = ()
    full: bool = False
    waiting: tuple[int, ...] = ()
    lasting: tuple[int, ...] = ()
    walked: bool = False
    leading: tuple[int, ...] = ()
    spare: bool = False
    rows_first: bool = False
    numberings: tuple[str, ...] = ()
    section: int = 0
    follows: bool = False
    streams: bool = False
    runs: tuple[int, ...] = ()
    part: int = 0
    narrow: bool = False

    def row(self, geometry: Geometry) -> int:
        """The results of a row: those of a CTA are in one row."""
        return geometry.columns if self.by_row or "period" in self.access else geometry.n_kept

    @property
    def cut(self) -> str:
        """``shifted`` or ``unaligned`` where an input is read so, else nothing; staggered counts as unaligned."""
        if "staggered" in self.access:
            return "unaligned"
        return next((kind for kind in ("shifted", "unaligned") if kind in self.access), "")

    @property
    def bounded(self) -> bool:
        """Whether the last vector along the kept axis may reach beyond its end."""
        return self.cut == "unaligned" or bool(self.block)


def numberings(program: Program) -> tuple[str, ...]:
    """The fact of this name for a program."""
    names = {SCALAR: "none", KEPT: "kept", REDUCED: "reduced", ELEMENT: "both"}
    return tuple(names[space] for space in program.numberings)
