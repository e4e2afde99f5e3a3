"""The plan: how much of each axis every level of the machine owns. Frozen, hashable, pure Python.

It is what a kernel is compiled for. What one call adds to it, and who owns which element, says ``launch.py``.
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
Access = Literal["aligned", "shifted", "unaligned", "period", "staggered", "strided", "tile", "tile_strided", "whole"]
IN_TILE: tuple[Access, ...] = ("tile", "tile_strided")
"""The accesses to what the CTA has copied."""
Walk = Literal["interleaved", "blocked", "period", "staggered", "runs", "padded", "whole"]
OWN_WALKS: tuple[Walk, ...] = ("period", "staggered", "runs", "padded", "whole")
"""Walks that are for some layouts alone."""
Determinism = Literal["run", "portable", "none"]

STATIC_SHARED = 48 * 1024
"""Bytes of shared memory a kernel may declare on any target; more must be asked for at the launch."""
LARGEST_CLUSTER = 8
"""CTAs of a cluster that every device with clusters can hold; more must be asked for at the launch."""
ROWS_A_ROUND = 8
"""Rows of a period of which one is left after a round: few rounds, and few states for a thread to take in turn."""
IN_WARPS: dict[str, Any] = {
    "fast": "reduced", "warps": 1, "cluster": 1, "cta": "shuffle", "exchange": "shared", "finish": "cta",
}  # fmt: skip
"""What a plan must say whose results belong to a warp, or to lanes of one."""
MOST_STATES = 8
"""Accesses to partial states that a thread has in flight in the second round, at most."""
TICKET = 16
"""Bytes of the flag by which the last CTA knows itself, with its alignment."""
LARGEST = {
    "vector": 16, "unroll": 32, "lanes": WARP, "warps": 32, "warps_kept": 32, "tile_bytes": 1 << 15,
    "cluster": LARGEST_CLUSTER, "coarsening": 1 << 10,
}  # fmt: skip
"""What an extent may be at most: the threads of a CTA are 32 warps, a tile is no more than shared memory holds."""
_NUMBERS = {str(n): n for n in (0, *(1 << k for k in range(16)))}


@dataclass(frozen=True)
class Plan:
    """Extents per level, and how the levels meet. Every extent is a power of two.

    Attributes:
        fast: the axis along which neighbouring lanes, and the elements of one vector access, lie: or ``both``, where
            these follow each other, and a second kernel reduces what the first has kept
            (``planner/layouts/factored.py``).
        walk: how threads walk the reduced axis: ``interleaved`` (neighbouring threads read neighbouring vectors),
            ``blocked`` (a contiguous piece each, which keeps the order of the elements), ``period`` (all threads of
            a CTA lie side by side along several narrow rows, the *period*, and walk by so many rows; then each of the
            first threads owns a column), ``staggered`` (each warp of a CTA reads whole rows from the boundary before
            the CTA's columns on, and the last lane owns none of them), ``runs`` (the lanes of a warp that share a
            result lie along one run of the innermost reduced dim, or a piece of one that is long, and its warps take
            one after another), ``padded`` (as interleaved, but a thread has the results of one row alone, from a
            boundary of the array of results on: rows are *padded* to whole accesses), or ``whole`` (a thread reads all
            elements of some neighbouring results at once, in whole accesses).
        vector: elements of one access along the fast axis.
        unroll: accesses in flight per loop step of a thread.
        lanes: lanes of a warp along the reduced axis; the others lie along the kept axis.
        warps: warps of a CTA along the reduced axis.
        warps_kept: warps of a CTA along the kept axis.
        tile_bytes: shared memory into which a CTA copies all elements of as many results as fit, before its threads
            read them there, results in turn; 0: they read where the elements are.
        cluster: CTAs along the reduced axis that combine their states in the shared memory of the first of them.
        cta: how the threads of a CTA along the reduced axis meet. ``shuffle``: lanes by shuffles, then warps in shared
            memory; else all of them in one buffer of states, a barrier after each round. ``serial``: position 0 takes
            one state after another. ``interleaved``: at distances 1, 2, 4, ... each position that is a multiple of
            twice the distance takes the state at that distance. ``sequential``: at distances from half the positions
            down to 1 those below the distance do. ``warp_sync``: the same, but rounds within one warp wait for that
            warp alone. ``unrolled``: the same without loops.
        exchange: where that buffer lies, in ``shared`` memory or in ``global``; the latter is for teaching.
        coarsening: accesses that a thread makes before another CTA gets a part of its result; 0 fills the machine.
        finish: how the CTAs along the reduced axis meet, or their clusters; ``cta`` when there is one.
        tree: the name of the combining tree, so that its bits can be promised.
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
        """Elements of one access along the kept axis; those of a period are of columns that other threads own."""
        return self.vector if self.fast != "reduced" and self.walk != "period" else 1

    @property
    def slots(self) -> int:
        """Results a CTA works on at a time; of a period as many as there are columns, and no more than so many."""
        lanes = self.lanes_kept - (self.walk == "staggered")
        return self.warps_kept * lanes * self.vector_kept

    @property
    def step(self) -> int:
        """Distance along the reduced axis between a thread's accesses."""
        if self.walk == "blocked":
            return 1
        return (self.lanes if self.walk == "runs" else self.positions) * self.vector_reduced

    @property
    def tile(self) -> int:
        """Elements along the reduced axis a CTA takes in one unrolled loop step."""
        return self.positions * self.vector_reduced * self.unroll

    @property
    def met(self) -> Plan:
        """How the threads of a CTA lie when its warps have met: of results side by side each has as few as can be.

        So all of them share what is left to do.
        """
        return _along_kept(self, 1) if self._meets_anew else self

    @property
    def second_unroll(self) -> int:
        """Partial states a thread has in flight in a second round: there are few, and they are in the L2 cache."""
        return min(4, self.unroll)

    @property
    def second(self) -> Plan:
        """How the threads of the CTA that comes last lie in its round over the partial states: those are few.

        Where they lie anew, no lane has to give another the states of many results, and each has as much in flight.
        """
        few = replace(self, unroll=self.second_unroll)
        if not self._meets_anew:
            return few
        found = _along_kept(few, max(self.vector // self.lanes, min(self.vector, 4)))
        return replace(found, unroll=min(MOST_STATES, few.unroll * (self.vector // found.vector)))

    @property
    def _meets_anew(self) -> bool:
        """Whether its threads lie otherwise once warps have met in shared memory."""
        whole = self.cta == "shuffle" and self.cluster == 1 and not self.tile_bytes
        return self.vector_kept > 1 and self.warps > 1 and whole

    @property
    def walks_alone(self) -> bool:
        """Whether a thread along the kept axis has results of its own, and the lane beside it those that follow."""
        return self.fast == "kept" and self.positions == self.cluster == 1 and self.finish == "cta"

    @property
    def lies_in_warps(self) -> bool:
        """Whether one warp reads all elements of a result, along its lanes: only then may they lie in a tile."""
        return self.walk not in OWN_WALKS and all(getattr(self, key) == value for key, value in IN_WARPS.items())

    @property
    def exchanged(self) -> int:
        """States that the threads of a CTA leave for each other in memory, of all its results; 0 where none do."""
        if self.walk == "period":
            return self.threads * self.vector
        rows = self.warps if self.cta == "shuffle" else self.positions
        beside = 2 * self.vector if self.walk == "staggered" else 0
        return rows * (self.slots + beside) if rows > 1 else 0

    @property
    def global_states(self) -> int:
        """Those of them that lie in global memory."""
        return self.exchanged if self.exchange == "global" else 0

    @property
    def gathered(self) -> int:
        """States that the CTAs of a cluster leave in the first one's shared memory, of all its results; else 0.

        Warps leave theirs there at once, and not in their own CTA first.
        """
        rows = self.cluster * self.warps if self.cta == "shuffle" else self.cluster
        return rows * self.slots if self.cluster > 1 else 0

    def shared_bytes(self, state_bytes: int) -> int:
        """Shared memory the stages need, for a state of ``state_bytes`` in all: the last CTA has a round of its own."""
        round_of_a_cta = self.exchanged - self.global_states
        first = self.gathered if self.cluster > 1 and self.cta == "shuffle" else self.gathered + round_of_a_cta
        if self.finish != "last_block":
            return first * state_bytes + self.tile_bytes
        # Of a period both take place in one buffer.
        second = 0 if self.walk == "period" else self.second.exchanged - self.second.global_states
        return (first + second) * state_bytes + self.tile_bytes + TICKET

    def parts(self, split: int) -> int:
        """States of each result that ``split`` CTAs bring to the finish: one a cluster."""
        return split // self.cluster

    def to_dict(self) -> dict[str, int | str]:
        """Field names and values, for JSON and for IR attributes."""
        return asdict(self)

    def with_options(self, text: str) -> Plan:
        """This plan with ``key=value,...`` of ``text`` in place of its own values; a rung's name stands for its own.

        Raises:
            PlanError: WF402 unknown key, WF403 bad value; what ``expand`` refuses.
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
    """The number that ``value`` of an option says."""
    found = _NUMBERS.get(value, -1)
    _check_extent(key, found, repr(value))
    return found


def _check_extent(key: str, extent: int, shown: object) -> None:
    """WF403 for what the field ``key`` cannot be."""
    if not fits(key, extent):
        raise error("WF403", key=key, value=shown, expected=expected_of(key))


def fits(key: str, value: object) -> bool:
    """Whether the field ``key`` of a plan may have this value, whatever the others have."""
    if key in LARGEST:
        least = 0 if key in _MAY_BE_ZERO else 1
        return type(value) is int and least <= value <= LARGEST[key] and not value & (value - 1)
    return value in _CHOICES[key] if key in _CHOICES else isinstance(value, str)


def expected_of(key: str) -> str:
    """What the field ``key`` of a plan may be, in words."""
    if key in LARGEST:
        return "0, or " * (key in _MAY_BE_ZERO) + f"a power of two from 1 to {LARGEST[key]}"
    return "one of " + " ".join(_CHOICES[key]) if key in _CHOICES else "a name"


@lru_cache(maxsize=4096)
def _along_kept(plan: Plan, width: int) -> Plan:
    """The threads of a CTA of ``plan`` along its results, ``width`` of them each or as few more as leave none over."""
    results = plan.warps_kept * plan.lanes_kept * plan.vector_kept
    width = max(width, results // plan.threads)
    lanes = WARP // min(WARP, results // width)
    warps_kept = results // width * lanes // WARP
    walk: Walk = "interleaved" if plan.walk == "staggered" else plan.walk
    warps = plan.threads // WARP // warps_kept
    return replace(plan, walk=walk, vector=width, lanes=lanes, warps=warps, warps_kept=warps_kept)


_MAY_BE_ZERO = ("coarsening", "tile_bytes")
_CHOICES = {
    "fast": get_args(Fast),
    "walk": get_args(Walk),
    "cta": get_args(Meeting),
    "exchange": ("shared", "global"),
    "finish": get_args(Finish),
}


def check(plan: Plan, target: Target, state_bytes: int) -> None:
    """Checks that ``plan`` is one the passes can serve and ``target`` can hold.

    Raises:
        PlanError: WF403 bad value, WF404 too many threads, WF405 too much shared memory, WF406 a blocked walk with
            vectors along the reduced axis, WF411 shuffles in global memory, WF412 coarsening where one CTA does all,
            WF413 coarsening below an unrolled step, WF414 a cluster on a target without, WF415 extents that the walk
            cannot have, WF417 a tile of results that other CTAs or warps share.
    """
    _check_fields(plan)
    if plan.threads > target.max_threads:
        raise error("WF404", threads=plan.threads, limit=target.max_threads, arch=target.arch)
    if plan.shared_bytes(state_bytes) > STATIC_SHARED:
        raise error("WF405", needed=plan.shared_bytes(state_bytes), limit=STATIC_SHARED, arch=target.arch)
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
    if plan.tile_bytes and not plan.lies_in_warps:
        raise error("WF417", tile_bytes=plan.tile_bytes)
    if plan != settled(plan):
        changes = differing(plan, settled(plan))
        raise error("WF415", walk=plan.walk, change=",".join(f"{key}={value}" for key, value in changes.items()))


def settled(plan: Plan) -> Plan:
    """``plan`` with the extents that its walk must have.

    All threads of a CTA lie along the rows of a period, all lanes of staggered warps along one row, and those of a
    result along one run; a thread that walks padded rows, or reads whole ones, has results of its own.
    """
    if plan.walk not in OWN_WALKS:
        return plan
    finish: Finish = "cta" if plan.finish == "cta" else "last_block"
    found = replace(plan, cluster=1, cta="shuffle", exchange="shared", finish=finish)
    if plan.walk == "runs":
        return replace(found, fast="reduced")
    found = replace(found, fast="kept", lanes=1)
    if plan.walk == "period":
        return replace(found, warps=1)
    if plan.walk in ("padded", "whole"):
        unroll = 1 if plan.walk == "whole" else plan.unroll
        return replace(found, warps=1, vector=max(2, plan.vector), unroll=unroll, coarsening=0, finish="cta")
    return replace(found, warps=max(2, plan.warps), warps_kept=1, vector=max(2, plan.vector))


def differing(plan: Plan, other: Plan) -> dict[str, int | str]:
    """The fields of ``other`` that ``plan`` has otherwise."""
    own = plan.to_dict()
    return {key: value for key, value in other.to_dict().items() if value != own[key]}


def _check_fields(plan: Plan) -> None:
    """Each field by itself; WF403."""
    for key in _CHOICES:
        if not fits(key, getattr(plan, key)):
            raise error("WF403", key=key, value=repr(getattr(plan, key)), expected=expected_of(key))
    for key in LARGEST:
        extent = getattr(plan, key)
        _check_extent(key, extent, extent)
