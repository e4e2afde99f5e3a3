"""The plan: how much of each axis every level of the machine owns, and how the levels combine their states.

A kernel is compiled for a plan, so plans are frozen and hashable. ``fields.py`` has the values that its fields may
have, and ``checks.py`` says which of them go together. ``layout.py`` derives from a plan which thread owns which
element, ``rounds.py`` who owns the states of later rounds, ``shared_memory.py`` what those need, and ``launch.py`` what
one call adds to it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from ..errors import error, near
from ..target import WARP
from .fields import (
    OWN_WALKS,
    RARE,
    Arrivals,
    Fast,
    Finish,
    Fragments,
    Meet,
    Meeting,
    Reads,
    Residency,
    Walk,
    Word,
    extent_of,
)
from .ladder import expand

QUAD = 4
"""Lanes that have the elements of one row of a matrix."""
LINE_WORDS = 32
"""Words of 32 bits in a line of the L2 cache."""
STATIC_SHARED = 48 * 1024
"""Bytes of shared memory that a kernel may declare on any target; a launch would have to ask for more."""
ROWS_A_ROUND = 8
"""Rows of a period that one round combines to one: there are few rounds, and a thread takes few states in each."""
IN_WARPS: dict[str, Any] = {
    "fast": "reduced", "warps": 1, "cluster": 1, "cta": "shuffle", "exchange": "shared", "finish": "cta",
}  # fmt: skip
"""The fields of a plan whose results belong to one warp each, or to some lanes of a warp."""
STATIC_TILE = 1 << 15
"""Bytes of the largest tile in static shared memory: a larger one is of rows that are read again."""


@dataclass(frozen=True)
class Plan:
    """Extents per level, and how the levels combine their states. Most extents are powers of two.

    Attributes:
        fast: the axis that neighbouring lanes, and the elements of one vector access, are along: ``reduced`` or
            ``kept``. With ``both`` they are along a kept dim and the reduced dim inside it, which are one run of
            memory: the first kernel keeps the inner dim, and a second kernel reduces it
            (``planner/layouts/factored.py``).
        walk: how threads walk the reduced axis. ``interleaved``: neighbouring threads read neighbouring vectors.
            ``blocked``: each thread reads contiguous elements, or each warp whose lanes meet in ``steps`` does, which
            keeps their order; in a program without a fold
            it has ``held`` of each of ``vector`` rows, a block that it transposes. ``period``: the threads of a CTA
            read several narrow rows, the *period*, as one row, and then the next period; in the end each of the first
            threads owns a column. ``staggered``: each warp of a CTA reads whole rows, starting at the boundary
            before the CTA's columns; the last lane owns no column. ``runs``: a *run* is the elements of a result along
            the innermost reduced dim; the lanes of a warp read one run, or one piece of a long run, and warp w takes
            runs w, w + warps, and so on. ``padded``: like interleaved, but each row of results is *padded* to whole
            accesses, so that a thread's results are in one row and begin at a boundary of the result array. ``whole``:
            a thread reads all elements of several neighbouring results at once, in whole accesses. The set of walks is
            closed: a new way to assign elements to threads is a view of the array, an origin, another order of the
            layout's modes, or a relay between two layouts, and no new walk.
        vector: elements of one access along the fast axis.
        unroll: accesses that a thread has in flight in each step of its loop; where rows of persistent CTAs wait in
            shared memory, 2 if the next one has room there beside the present one; tiles of a CTA that keeps columns.
        lanes: lanes of a warp along the reduced axis; the others are along the kept axis.
        warps: warps of a CTA along the reduced axis.
        warps_kept: warps of a CTA along the kept axis.
        tile_bytes: bytes of shared memory into which a CTA first copies all elements of as many results as fit; its
            threads then read them there, some results at a time. 0: threads read the elements where they are. Where
            rows are read again, the results of their elements go back through the tile as well.
        cluster: CTAs along the reduced axis that combine their states in the shared memory of the first of them.
        cta: how the threads of a CTA along the reduced axis combine their states. ``shuffle``: lanes by shuffles, then
            warps in shared memory. All others use one buffer of states and a barrier after each round. ``serial``:
            position 0 takes one state after another. ``interleaved``: at distances 1, 2, 4, ... each position that is
            a multiple of twice the distance takes the state at that distance. ``sequential``: at distances from half
            the positions down to 1, each position below the distance does so. ``warp_sync``: like sequential, but
            rounds within one warp wait for that warp alone. ``unrolled``: like warp_sync, without loops.
        exchange: whether that buffer is in ``shared`` or in ``global`` memory; the latter is for teaching.
        coarsening: accesses that a thread makes before a further CTA gets a part of its result; 0 fills the machine.
        finish: how the CTAs along the reduced axis, or their clusters, combine their states; ``cta`` where there is
            only one.
        tree: the name of the combining tree, so that its bits can be promised.
        resident: where the elements of a row wait for the next phase of a program that reads them again: in
            ``registers`` of the threads that own them, in ``shared`` memory, in that of the whole ``grid`` and what it
            has no room for in the L2 cache, in the ``l2`` cache, where the CTAs of the grid take chunks of them in
            turns, or in ``memory``, from which they are read again. ``chain``: in registers, where a scan goes along
            rows; CTAs have chunks of a row, and each warp of a CTA a segment of its chunk. Empty for a program of one
            fold, which reads each element once.
        held: accesses of a row that each thread keeps in registers or shared memory, or makes to a chunk of a row that
            waits in the L2 cache; 0 where rows wait in memory.
        in_registers: accesses that each thread keeps in registers as well, where the grid shares a row.
        in_cache: accesses of each thread that the L2 cache is told to keep, where the grid shares a row of which the
            cache cannot hold the rest; others are read from memory again. 0: the cache is told to keep all.
        word: how the lanes of a word put its bits together, where a result is one of bits. ``shuffle``: each lane
            shifts its bits to their place, and lanes at distances 1, 2, 4, ... join their registers by ``or``.
            ``ballot``: a ballot for each element of an access, whose bits are then spread. ``redux``: one ``or`` of
            the registers of all lanes of the word. ``byte``: nothing joins, and each lane stores the bytes that its
            bits fill. Empty for ballots of single elements and shuffles of several.
        persistent: CTAs of an SM that stay. For side folds each takes one row after another, so that a thread keeps
            states of its own columns; where the grid shares rows, teams of CTAs take tile after tile; of a scan they
            take chunk after chunk, or walk along the columns of a tile. 0 where each CTA has rows of its own.
        overlap: results that a CTA folds beside its own: the first ones of the next CTA. So CTAs write whole sectors of
            memory where columns that are read again begin between sectors: each those that begin among its own results.
        meet: how the lanes of a warp that share a result combine their elements. ``shuffle``, or empty: each lane its
            own, and then their states by shuffles. ``steps``: shuffles join what they read in each step, so that
            neighbouring lanes read neighbours and the order is kept; a warp has contiguous elements. ``mma``: groups of
            QUAD lanes at once, by the product of their registers and a matrix of ones, which the tensor cores compute;
            shuffles join the groups.
        fragments: how threads read a tile across its rows. ``words``, or empty: each its own elements. ``matrix``: the
            lanes of a warp together, in blocks of 8x8 elements of 16 bits, which ``ldmatrix`` turns on the way to
            registers, and ``stmatrix`` on the way back. So columns have plans of rows: QUAD lanes share a column.
        accesses: ``single`` where a thread reads and writes each element of an access by an instruction of its own,
            which is for teaching; empty where it takes as few as it can.
        reads: ``ahead`` where a thread reads what only results need, such as weights, before the first phase, and keeps
            it in registers: its latency passes while that of the row does. Persistent CTAs read weights once, which
            wait in shared memory. ``together`` where a thread of a reduction makes the accesses that are left after its
            last full group as one more group, though its combine is long. Empty where a thread reads when it needs.
        abreast: elements of a column that follow each other and lie abreast in one wide row, where the grid shares
            columns: the strips of CTAs are then whole lines of memory, though rows are not. CTAs leave states of the
            wide row's columns, and those of one column meet with its parts. 1: as many as CTAs have one access for, so
            that accesses go on from one row in the next; a CTA leaves a state of each column of the array. 0 where rows
            are read as they are.
        arrivals: ``barrier`` where the CTAs of a cluster know that their states have come since all threads meet. Empty
            where they need not: states come by asynchronous stores, whose bytes an mbarrier of each CTA counts, if
            their values have 4 or 8 bytes.
    """

    fast: Fast = "reduced"
    walk: Walk = "interleaved"
    vector: int = 1
    unroll: int = 1
    lanes: int = WARP
    warps: int = 1
    warps_kept: int = 1
    tile_bytes: int = 0
    cluster: int = 1
    cta: Meeting = "shuffle"
    exchange: Literal["shared", "global"] = "shared"
    coarsening: int = 0
    finish: Finish = "cta"
    tree: str = "tree-v7"
    resident: Residency = ""
    held: int = 0
    in_registers: int = 0
    in_cache: int = 0
    word: Word = ""
    overlap: int = 0
    meet: Meet = ""
    fragments: Fragments = ""
    accesses: Literal["", "single"] = ""
    persistent: int = 0
    reads: Reads = ""
    abreast: int = 0
    arrivals: Arrivals = ""

    @property
    def lanes_summed(self) -> int:
        """Lanes along the reduced axis whose elements are one state before any shuffle."""
        return {"mma": min(QUAD, self.lanes), "steps": self.lanes}.get(self.meet, 1)

    @property
    def keeps_order(self) -> bool:
        """Whether states are combined in the order of the elements."""
        return self.walk == "blocked" or self.meets_in_steps

    @property
    def meets_in_steps(self) -> bool:
        """Whether the lanes that share a result join what they read in each step."""
        return self.meet == "steps"

    @property
    def lanes_kept(self) -> int:
        """Lanes of a warp along the kept axis."""
        return WARP // self.lanes

    @property
    def threads(self) -> int:
        """Threads of a CTA."""
        return WARP * self.warps * self.warps_kept

    @property
    def positions(self) -> int:
        """Threads of a CTA along the reduced axis."""
        return self.warps * self.lanes

    @property
    def vector_reduced(self) -> int:
        """Elements of one access along the reduced axis."""
        return self.vector if self.fast == "reduced" else 1

    @property
    def vector_kept(self) -> int:
        """Elements of one access along the kept axis; 1 along a period, whose columns other threads own."""
        return self.vector if self.fast != "reduced" and self.walk != "period" else 1

    @property
    def slots(self) -> int:
        """Results that a CTA works on at a time; for a period, the most columns that it may have."""
        lanes = self.lanes_kept - (self.walk == "staggered")
        return self.warps_kept * lanes * self.vector_kept

    @property
    def states_apart(self) -> int:
        """How far apart the states of two warps for one result lie: QUAD lanes read those of different banks."""
        turned = self.fragments == "matrix" and self.warps_kept > 1
        return self.slots + WARP // QUAD * turned

    @property
    def own(self) -> int:
        """Results of a CTA that no other one writes."""
        return self.slots - self.overlap

    @property
    def tile(self) -> int:
        """Elements along the reduced axis that a CTA takes in one unrolled step."""
        return self.positions * self.vector_reduced * self.unroll

    @property
    def walks_alone(self) -> bool:
        """Whether each thread has results of its own, and the next lane has those that follow."""
        return self.fast == "kept" and self.positions == self.cluster == 1 and self.finish == "cta"

    @property
    def lies_in_warps(self) -> bool:
        """Whether one warp reads all elements of a result, along its lanes: only such plans may have a tile."""
        return self.walk not in OWN_WALKS and all(getattr(self, key) == value for key, value in IN_WARPS.items())

    @property
    def waits_in_tile(self) -> bool:
        """Whether rows that are read again wait in the tile: each phase reads their elements there."""
        return self.tile_bytes > 0 and self.resident == "shared"

    @property
    def is_far(self) -> bool:
        """Whether CTAs of the grid share rows that are read again, and leave their states in memory."""
        return self.resident in ("grid", "l2")

    @property
    def is_chain(self) -> bool:
        """Whether the program scans rows: their chunks, and the segments of the warps of a chunk, follow each other."""
        return self.resident == "chain"

    @property
    def has_roles(self) -> bool:
        """Whether the warps of a CTA that stays share the work of a scan on one chunk after another."""
        return self.is_chain and self.persistent > 0 and not self.tile_bytes

    @property
    def keeps_columns(self) -> bool:
        """Whether a CTA of a scan stays with its columns, and has a tile of rows of them after the other."""
        return self.is_chain and self.persistent > 0 and self.tile_bytes > 0

    @property
    def places(self) -> int:
        """Chunks of a scan in a CTA that stays: one is on its way, one looks back, and one is written.

        One more fits where chunks have three quarters of the bytes.
        """
        return 4 if self.held % 3 == 0 else 3

    @property
    def exchanges(self) -> bool:
        """Whether arrays that lie across others wait in shared memory, where the threads of a CTA exchange them."""
        return self.walk == "blocked" and self.resident == "shared"

    @property
    def takes_side(self) -> bool:
        """Whether persistent CTAs keep the states of side folds."""
        return self.persistent > 0 and self.resident not in ("grid", "chain")

    @property
    def in_teams(self) -> bool:
        """Whether teams of CTAs take tile after tile of rows that the grid shares."""
        return self.persistent > 0 and self.resident == "grid"

    @property
    def in_periods(self) -> bool:
        """Whether any number of rows lie abreast: a wide row is a number of periods, after which columns come again."""
        return self.abreast == 1

    @property
    def waits_in_slots(self) -> bool:
        """Whether all accesses of a thread to its row wait in slots of shared memory."""
        return (self.resident == "shared" and not self.exchanges) or self.in_teams

    @property
    def sets(self) -> int:
        """Sets of slots in which rows wait in turn: one is filled while another one is read."""
        return min(2, self.unroll) if self.takes_side and self.waits_in_slots else 1

    @property
    def counter_words(self) -> int:
        """Words from one counter of the CTAs that share rows to the next.

        Teams that wait at the same time poll lines of the L2 cache of their own.
        """
        return LINE_WORDS if self.in_teams else 1

    @property
    def is_large_tile(self) -> bool:
        """Whether rows that are read again go through a tile in dynamic shared memory, each thread with one of them."""
        return self.waits_in_tile or (bool(self.resident) and self.tile_bytes > STATIC_TILE) or self.tiles > 1

    @property
    def tiles(self) -> int:
        """Tiles of a CTA that keeps columns: some are copied while one is scanned."""
        return self.unroll if self.keeps_columns else 1

    def parts(self, split: int) -> int:
        """Partial states of each result that ``split`` CTAs leave: one a cluster."""
        return split // self.cluster

    def to_dict(self) -> dict[str, int | str]:
        """Field names and values, for JSON and for IR attributes."""
        return {key: value for key, value in asdict(self).items() if value or key not in RARE}

    def with_options(self, text: str) -> Plan:
        """This plan with the fields that ``text`` gives as ``key=value,...``; a rung's name stands for its fields.

        Raises:
            PlanError: WF402 for an unknown key, WF403 for a bad value, and the errors of ``expand``.
        """
        known = [f.name for f in fields(self) if f.name != "tree"]
        changes: dict[str, int | str] = {}
        for key, value in expand(text).items():
            if key not in known:
                raise error("WF402", key=key, near=near(key, known), known=" ".join(known))
            if isinstance(getattr(self, key), int):
                changes[key] = extent_of(key, value)
            else:
                changes[key] = value
        return replace(self, **changes)  # type: ignore[arg-type]
