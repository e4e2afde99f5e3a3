"""The plan: how much of each axis every level of the machine owns, and how the levels combine their states.

A kernel is compiled for a plan, so plans are frozen and hashable. ``layout.py`` derives from a plan which thread owns
which element, and ``launch.py`` what one call adds to it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from typing import Any, Literal, get_args

from ..errors import error, near
from ..target import WARP, Target
from .ladder import expand

Axis = Literal["reduced", "kept"]
Fast = Literal["reduced", "kept", "both"]
Finish = Literal["cta", "last_block", "two_kernels", "atomic"]
Meeting = Literal["shuffle", "serial", "interleaved", "sequential", "warp_sync", "unrolled"]
Access = Literal[
    "aligned", "shifted", "unaligned", "period", "staggered", "strided", "tile", "tile_strided", "whole", "uniform",
    "kept", "gathered", "number", "bits", "bits_across", "bits_strided", "bits_transposed", "transposed", "exchanged",
    "reversed", "side", "section", "matrix",
]  # fmt: skip
IN_TILE: tuple[Access, ...] = ("tile", "tile_strided")
"""The accesses to elements that the CTA has copied into shared memory."""
OF_BITS: tuple[Access, ...] = ("bits", "bits_across", "bits_strided", "bits_transposed")
"""The accesses to elements that are bits of words: to all of an access at once, in one word or across two, to single
ones, or to those of each row of a block."""
TRANSPOSED: tuple[Access, ...] = ("transposed", "whole", "bits_transposed")
"""The accesses to a block along its rows, where others are along its columns."""
Walk = Literal["interleaved", "blocked", "period", "staggered", "runs", "padded", "whole"]
OWN_WALKS: tuple[Walk, ...] = ("period", "staggered", "runs", "padded", "whole")
"""Walks that serve only some arrays; the two others serve all."""
Determinism = Literal["run", "portable", "none"]
Residency = Literal["", "registers", "shared", "grid", "l2", "memory"]
Word = Literal["", "shuffle", "ballot", "redux", "byte"]
Meet = Literal["", "shuffle", "mma"]
Fragments = Literal["", "words", "matrix"]
WORDS = tuple(filter(None, get_args(Word)))
"""The ways in which lanes make words of bits."""
QUAD = 4
"""Lanes that have the elements of one row of a matrix."""
MOST_HELD = 64
"""The most accesses of a row that a thread keeps."""
COUNTS = {"held": MOST_HELD, "in_registers": MOST_HELD, "persistent": 16}
"""The largest values of fields that may be any number."""

LINE_WORDS = 32
"""Words of 32 bits in a line of the L2 cache."""
STATIC_SHARED = 48 * 1024
"""Bytes of shared memory that a kernel may declare on any target; a launch would have to ask for more."""
LARGEST_CLUSTER = 8
"""CTAs of a cluster that every device with clusters can hold; a launch would have to ask for more."""
ROWS_A_ROUND = 8
"""Rows of a period that one round combines to one: there are few rounds, and a thread takes few states in each."""
IN_WARPS: dict[str, Any] = {
    "fast": "reduced", "warps": 1, "cluster": 1, "cta": "shuffle", "exchange": "shared", "finish": "cta",
}  # fmt: skip
"""The fields of a plan whose results belong to one warp each, or to some lanes of a warp."""
THROUGH_A_TILE: dict[str, Any] = {"resident": "registers", "vector": 1, "cluster": 1}
"""The fields of a plan whose rows are read again and go through a tile; columns may also wait there, in ``shared``."""
MOST_STATES = 8
"""The most accesses to partial states that a thread has in flight in the second round."""
MOST_LEFT = 32
"""The most states that a lane combines of its columns, those of the warps of a cluster."""
TICKET = 16
"""Bytes of the flag that tells a CTA whether it is the last one, with its alignment."""
TILE_UNIT, LARGEST_TILE = 1 << 10, 224 << 10
"""Bytes of a tile beyond LARGEST are a multiple of the first, up to the second: an SM holds one CTA or two of them."""
LARGEST = {
    "vector": 16, "unroll": 32, "lanes": WARP, "warps": 32, "warps_kept": 32, "tile_bytes": 1 << 16,
    "cluster": LARGEST_CLUSTER, "coarsening": 1 << 10, "overlap": 32,
}  # fmt: skip
"""The largest extents: a CTA has at most 32 warps, and an SM has room for three tiles."""
STATIC_TILE = 1 << 15
"""Bytes of the largest tile in static shared memory: a larger one is of rows that are read again."""
_NUMBERS = {str(n): n for n in (0, *(1 << k for k in range(17)))}


@dataclass(frozen=True)
class Plan:
    """Extents per level, and how the levels combine their states. Most extents are powers of two.

    Attributes:
        fast: the axis that neighbouring lanes, and the elements of one vector access, are along: ``reduced`` or
            ``kept``. With ``both`` they are along a kept dim and the reduced dim inside it, which are one run of
            memory: the first kernel keeps the inner dim, and a second kernel reduces it
            (``planner/layouts/factored.py``).
        walk: how threads walk the reduced axis. ``interleaved``: neighbouring threads read neighbouring vectors.
            ``blocked``: each thread reads contiguous elements, which keeps their order; in a program without a fold
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
        unroll: accesses that a thread has in flight in each step of its loop.
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
            turns, or in ``memory``, from which they are read again. Empty for a program of one fold, which reads each
            element once.
        held: accesses of a row that each thread keeps in registers or shared memory, or makes to a chunk of a row that
            waits in the L2 cache; 0 where rows wait in memory.
        in_registers: accesses that each thread keeps in registers as well, where the grid shares a row.
        word: how the lanes of a word put its bits together, where a result is one of bits. ``shuffle``: each lane
            shifts its bits to their place, and lanes at distances 1, 2, 4, ... join their registers by ``or``.
            ``ballot``: a ballot for each element of an access, whose bits are then spread. ``redux``: one ``or`` of
            the registers of all lanes of the word. ``byte``: nothing joins, and each lane stores the bytes that its
            bits fill. Empty for ballots of single elements and shuffles of several.
        persistent: CTAs of an SM that stay. For side folds each takes one row after another, so that a thread keeps
            states of its own columns; where the grid shares rows, teams of CTAs take tile after tile. 0 where each CTA
            has rows of its own.
        overlap: results that a CTA folds beside its own: the first ones of the next CTA. So CTAs write whole sectors of
            memory where columns that are read again begin between sectors: each those that begin among its own results.
        meet: how the lanes of a warp that share a result combine their elements. ``shuffle``, or empty: each lane its
            own, and then their states by shuffles. ``mma``: groups of QUAD lanes at once, by the product of their
            registers and a matrix of ones, which the tensor cores compute; shuffles join the groups.
        fragments: how threads read a tile across its rows. ``words``, or empty: each its own elements. ``matrix``: the
            lanes of a warp together, in blocks of 8x8 elements of 16 bits, which ``ldmatrix`` turns on the way to
            registers, and ``stmatrix`` on the way back. So columns have plans of rows: QUAD lanes share a column.
        accesses: ``single`` where a thread reads and writes each element of an access by an instruction of its own,
            which is for teaching; empty where it takes as few as it can.
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
    word: Word = ""
    overlap: int = 0
    meet: Meet = ""
    fragments: Fragments = ""
    accesses: Literal["", "single"] = ""
    persistent: int = 0

    @property
    def lanes_summed(self) -> int:
        """Lanes along the reduced axis whose elements are one state before any shuffle."""
        return min(QUAD, self.lanes) if self.meet == "mma" else 1

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
    def met(self) -> Plan:
        """The plan that assigns results to threads once the warps of a CTA have combined their states.

        Each thread then has as few neighbouring results as possible, so that all threads share what is left to do.
        """
        return _along_kept(self, 1) if self._reassigns else self

    @property
    def second_unroll(self) -> int:
        """Partial states that a thread has in flight in a second round: there are few, and they are in the L2 cache."""
        return min(4, self.unroll)

    @property
    def second(self) -> Plan:
        """The plan of the last CTA's round over the partial states, which are few, and read one by one along a result.

        Where it assigns other results to threads than this plan does, lanes exchange the states of few results, and
        each has as many accesses in flight.
        """
        vector = 1 if self.fast == "reduced" else self.vector
        walk = _OF_STATES.get(self.walk, self.walk)
        few = replace(self, walk=walk, vector=vector, unroll=self.second_unroll, meet="")
        if not self._reassigns:
            return few
        found = _along_kept(few, max(self.vector // self.lanes, min(self.vector, 4)))
        return replace(found, unroll=min(MOST_STATES, few.unroll * (self.vector // found.vector)))

    @property
    def _reassigns(self) -> bool:
        """Whether threads have other results once warps have combined their states in shared memory."""
        in_shared = self.cta == "shuffle" and self.cluster == 1 and not self.tile_bytes and not self.resident
        return self.vector_kept > 1 and self.warps > 1 and in_shared

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
    def exchanges(self) -> bool:
        """Whether arrays that lie across others wait in shared memory, where the threads of a CTA exchange them."""
        return self.walk == "blocked" and self.resident == "shared"

    @property
    def takes_side(self) -> bool:
        """Whether persistent CTAs keep the states of side folds."""
        return self.persistent > 0 and self.resident != "grid"

    @property
    def in_teams(self) -> bool:
        """Whether teams of CTAs take tile after tile of rows that the grid shares."""
        return self.persistent > 0 and self.resident == "grid"

    @property
    def waits_in_slots(self) -> bool:
        """Whether all accesses of a thread to its row wait in slots of shared memory."""
        return (self.resident == "shared" and not self.exchanges) or self.in_teams

    @property
    def counter_words(self) -> int:
        """Words from one counter of the CTAs that share rows to the next.

        Teams that wait at the same time poll lines of the L2 cache of their own.
        """
        return LINE_WORDS if self.in_teams else 1

    @property
    def is_large_tile(self) -> bool:
        """Whether rows that are read again go through a tile in dynamic shared memory, each thread with one of them."""
        return self.waits_in_tile or (bool(self.resident) and self.tile_bytes > STATIC_TILE)

    @property
    def exchanged(self) -> int:
        """States of all its results that the threads of a CTA leave for each other in memory; 0 where none do."""
        if self.walk == "period":
            return self.threads * self.vector
        rows = self.warps if self.cta == "shuffle" else self.positions
        beside = 2 * self.vector if self.walk == "staggered" else 0
        return rows * (self.states_apart + beside) if rows > 1 else 0

    @property
    def global_states(self) -> int:
        """How many of the ``exchanged`` states are in global memory: all of them or none."""
        return self.exchanged if self.exchange == "global" else 0

    @property
    def meets_in_ctas(self) -> bool:
        """Whether the threads of a CTA meet before those of its cluster do: those of columns with many states do."""
        many = self.warps > 1 and self.cluster * self.warps * self.vector > MOST_LEFT * self.lanes
        return self.cta != "shuffle" or (self.fast == "kept" and bool(self.resident) and many)

    @property
    def gathered(self) -> int:
        """States of all results that the CTAs of a cluster leave in the first one's shared memory; 0 without clusters.

        Warps leave their states there directly, unless they have met in their own CTA first.
        """
        rows = self.cluster if self.meets_in_ctas else self.cluster * self.warps
        return rows * self.states_apart if self.cluster > 1 else 0

    def shared_bytes(self, state_bytes: int) -> int:
        """Bytes of shared memory that all stages need, if a state has ``state_bytes``.

        The round of the last CTA over the partial states has a buffer of its own.
        """
        round_of_a_cta = self.exchanged - self.global_states
        first = self.gathered if self.cluster > 1 and not self.meets_in_ctas else self.gathered + round_of_a_cta
        tile = 0 if self.is_large_tile else self.tile_bytes
        if self.resident == "l2":  # rounds over warps and over chunks, for chunks in a row and at its ends
            return 4 * first * state_bytes + TICKET
        if self.resident == "grid":  # rounds over warps and over parts
            return 2 * first * state_bytes + TICKET
        if self.finish != "last_block":
            return first * state_bytes + tile
        # Both rounds of a period use one buffer.
        second = 0 if self.walk == "period" else self.second.exchanged - self.second.global_states
        return (first + second) * state_bytes + tile + TICKET

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
                changes[key] = _extent(key, value)
            else:
                changes[key] = value
        return replace(self, **changes)  # type: ignore[arg-type]


def _extent(key: str, value: str) -> int:
    """The extent that an option gives as ``value``; WF403 for what is none."""
    found = int(value) if key in (*COUNTS, "tile_bytes") and value.isdecimal() else _NUMBERS.get(value, -1)
    _check_extent(key, found, repr(value))
    return found


def _check_extent(key: str, extent: int, shown: object) -> None:
    """WF403 for an extent that the field ``key`` cannot have."""
    if not fits(key, extent):
        raise error("WF403", key=key, value=shown, expected=expected_of(key))


def fits(key: str, value: object) -> bool:
    """Whether the field ``key`` of a plan may have this value, whatever values the other fields have."""
    if key in COUNTS:
        return type(value) is int and 0 <= value <= COUNTS[key]
    if key == "tile_bytes" and type(value) is int and LARGEST[key] < value <= LARGEST_TILE:
        return value % TILE_UNIT == 0
    if key in LARGEST:
        least = 0 if key in _MAY_BE_ZERO else 1
        return type(value) is int and least <= value <= LARGEST[key] and not value & (value - 1)
    return value in _CHOICES[key] if key in _CHOICES else isinstance(value, str)


def expected_of(key: str) -> str:
    """The values that the field ``key`` of a plan may have, in words."""
    if key in COUNTS:
        return f"a number from 0 to {COUNTS[key]}"
    if key in LARGEST:
        beyond = f", or a multiple of {TILE_UNIT} up to {LARGEST_TILE}" if key == "tile_bytes" else ""
        return "0, or " * (key in _MAY_BE_ZERO) + f"a power of two from 1 to {LARGEST[key]}{beyond}"
    return "one of " + " ".join(filter(None, _CHOICES[key])) if key in _CHOICES else "a name"


@lru_cache(maxsize=4096)
def _along_kept(plan: Plan, width: int) -> Plan:
    """A plan whose threads have ``width`` results of a CTA each, or more where there are too few threads for that."""
    results = plan.warps_kept * plan.lanes_kept * plan.vector_kept
    width = max(width, results // plan.threads)
    lanes = WARP // min(WARP, results // width)
    warps_kept = results // width * lanes // WARP
    walk, warps = _OF_STATES.get(plan.walk, plan.walk), plan.threads // WARP // warps_kept
    return replace(plan, walk=walk, vector=width, lanes=lanes, warps=warps, warps_kept=warps_kept)


_OF_STATES: dict[Walk, Walk] = {"staggered": "interleaved", "runs": "interleaved"}
"""The walks over states in place of those that only elements ask for."""
_EXTENTS: dict[Walk, dict[str, Any]] = {
    "period": {"fast": "kept", "lanes": 1, "warps": 1},
    "staggered": {"fast": "kept", "lanes": 1, "warps_kept": 1},
    "runs": {"fast": "reduced"},
    "padded": {"fast": "kept", "lanes": 1, "warps": 1, "coarsening": 0, "finish": "cta"},
    "whole": {"fast": "kept", "lanes": 1, "warps": 1, "coarsening": 0, "finish": "cta", "unroll": 1},
}
"""The fields that walks of their own prescribe."""
_AT_LEAST_TWO: dict[Walk, tuple[str, ...]] = {
    "staggered": ("vector", "warps"),
    "padded": ("vector",),
    "whole": ("vector",),
}
"""The extents that must be more than one."""
_MAY_BE_ZERO = ("coarsening", "tile_bytes", "overlap")
RARE = ("resident", "held", "in_registers", "word", "overlap", "meet", "fragments", "accesses", "persistent")
"""The fields that are only shown, and only written in IR, where they are set."""
_CHOICES = {
    "fast": get_args(Fast),
    "walk": get_args(Walk),
    "cta": get_args(Meeting),
    "exchange": ("shared", "global"),
    "finish": get_args(Finish),
    "resident": get_args(Residency),
    "word": get_args(Word),
    "meet": get_args(Meet),
    "fragments": get_args(Fragments),
    "accesses": ("", "single"),
}


def check(plan: Plan, target: Target, state_bytes: int, waiting_bytes: int = 0) -> None:
    """Checks that the passes can serve ``plan``, for a state of ``state_bytes``, and that ``target`` can hold it.

    ``waiting_bytes`` of shared memory hold the elements of rows that wait for the next phase.

    Raises:
        PlanError: WF403 for a bad value, WF404 for too many threads, WF405 for too much shared memory, WF406 for a
            blocked walk with vectors along the reduced axis, WF411 for shuffles in global memory, WF412 for coarsening
            where one CTA does all, WF413 for coarsening below an unrolled step, WF414 for a cluster on a target without
            clusters, WF415 for extents that the walk cannot have, WF417 for a tile of results that CTAs or warps share,
            WF428 for a tile of rows that are read again by more than single elements, WF429 for rows that need too much
            shared memory to wait there.
    """
    _check_fields(plan)
    if plan.threads > target.max_threads:
        raise error("WF404", threads=plan.threads, limit=target.max_threads, arch=target.arch)
    needed = plan.shared_bytes(state_bytes)
    if needed > STATIC_SHARED:
        raise error("WF405", needed=needed, limit=STATIC_SHARED, arch=target.arch)
    if needed + waiting_bytes > target.shared_per_cta:
        remedy = "lower held" if plan.resident == "grid" else "share a row among more CTAs (cluster)"
        limit = target.shared_per_cta
        raise error(
            "WF429", resident=plan.resident, needed=needed + waiting_bytes, limit=limit, arch=target.arch, remedy=remedy
        )
    if plan.walk == "blocked" and plan.vector_reduced > 1:
        raise error("WF406", vector=plan.vector)
    if plan.cta == "shuffle" and plan.exchange == "global":
        raise error("WF411")
    if plan.coarsening and plan.finish == "cta":
        raise error("WF412", coarsening=plan.coarsening)
    if 0 < plan.coarsening < plan.unroll:
        raise error("WF413", coarsening=plan.coarsening, unroll=plan.unroll)
    if plan.cluster > 1 and not target.has_clusters:
        raise error("WF414", cluster=plan.cluster, arch=target.arch)
    if plan.tile_bytes and not (plan.resident or plan.lies_in_warps):
        raise error("WF417", tile_bytes=plan.tile_bytes)
    wanted = THROUGH_A_TILE | ({"resident": "shared"} if plan.fast == "kept" and plan.waits_in_tile else {})
    if plan.tile_bytes and plan.resident and any(getattr(plan, k) != v for k, v in wanted.items()):
        change = ",".join(f"{key}={value}" for key, value in THROUGH_A_TILE.items())
        raise error("WF428", tile_bytes=plan.tile_bytes, change=change)
    if plan != settled(plan):
        changes = differing(plan, settled(plan))
        raise error("WF415", walk=plan.walk, change=",".join(f"{key}={value}" for key, value in changes.items()))


def settled(plan: Plan) -> Plan:
    """``plan`` with the extents that its walk must have.

    Along a period, all threads of a CTA follow each other; along staggered rows, all lanes of a warp do, and along a
    run, all lanes that share a result. A thread that walks padded rows, or reads whole ones, shares no result.
    """
    if plan.walk not in _EXTENTS:
        return plan
    finish: Finish = "cta" if plan.finish == "cta" else "last_block"
    found = replace(plan, cluster=1, cta="shuffle", exchange="shared", finish=finish)
    found = replace(found, **_EXTENTS[plan.walk])
    return replace(found, **{key: max(2, getattr(found, key)) for key in _AT_LEAST_TWO.get(plan.walk, ())})


def differing(plan: Plan, other: Plan) -> dict[str, int | str]:
    """The fields of ``other`` whose values differ from those of ``plan``."""
    return {key: value for key, value in asdict(other).items() if value != getattr(plan, key)}


def _check_fields(plan: Plan) -> None:
    """Checks each field by itself; raises WF403."""
    for key in _CHOICES:
        if not fits(key, getattr(plan, key)):
            raise error("WF403", key=key, value=repr(getattr(plan, key)), expected=expected_of(key))
    for key in (*LARGEST, *COUNTS):
        extent = getattr(plan, key)
        _check_extent(key, extent, extent)
