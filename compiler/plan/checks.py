"""Whether the passes can serve a plan, and a target can hold it."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from ..errors import error
from ..target import Target
from .fields import CHOICES, COUNTS, LARGEST, Finish, Walk, check_extent, expected_of, fits
from .plan import STATIC_SHARED, Plan
from .shared_memory import shared_bytes

THROUGH_A_TILE: dict[str, Any] = {"resident": "registers", "vector": 1, "cluster": 1}
"""The fields of a plan whose rows are read again and go through a tile; columns may also wait there, in ``shared``, and
rows may be scanned, in a ``chain``."""
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


def check(plan: Plan, target: Target, state_bytes: int, waiting_bytes: int = 0) -> None:
    """Checks that the passes can serve ``plan``, for a state of ``state_bytes``, and that ``target`` can hold it.

    ``waiting_bytes`` of shared memory hold the elements of rows that wait for the next phase.

    Raises:
        PlanError: WF403 for a bad value, WF404 for too many threads, WF405 for too much shared memory, WF406 for a
            blocked walk with vectors along the reduced axis, WF436 for lanes that cannot meet in steps, WF411 for
            shuffles in global memory, WF412 for coarsening where one CTA does all, WF413 for coarsening below an
            unrolled step, WF414 for a cluster on a target without clusters, WF415 for extents that the walk cannot
            have, WF417 for a tile of results that CTAs or warps share, WF428 for a tile of rows that are read again
            by more than single elements, WF429 for rows that need too much shared
            memory to wait there.
    """
    _check_fields(plan)
    if plan.threads > target.max_threads:
        raise error("WF404", threads=plan.threads, limit=target.max_threads, arch=target.arch)
    needed = shared_bytes(plan, state_bytes)
    if needed > STATIC_SHARED:
        raise error("WF405", needed=needed, limit=STATIC_SHARED, arch=target.arch)
    if needed + waiting_bytes > target.shared_per_cta:
        remedy = "lower held" if plan.resident == "grid" else "share a row among more CTAs (cluster)"
        limit = target.shared_per_cta
        raise error(
            "WF429", resident=plan.resident, needed=needed + waiting_bytes, limit=limit, arch=target.arch, remedy=remedy
        )
    _check_order(plan)
    if plan.cta == "shuffle" and plan.exchange == "global":
        raise error("WF411")
    if plan.coarsening and plan.finish == "cta":
        raise error("WF412", coarsening=plan.coarsening)
    if 0 < plan.coarsening < plan.unroll:
        raise error("WF413", coarsening=plan.coarsening, unroll=plan.unroll)
    if plan.cluster > (most := target.largest_cluster):
        has = f"clusters of up to {most}" if target.has_clusters else "no clusters of"
        raise error("WF414", cluster=plan.cluster, arch=target.arch, has=has, most=most)
    if plan.arrivals and plan.cluster == 1:
        raise error("WF444", arrivals=plan.arrivals)
    if plan.tile_bytes and not (plan.resident or plan.lies_in_warps):
        raise error("WF417", tile_bytes=plan.tile_bytes)
    waits = plan.is_chain or (plan.fast == "kept" and plan.waits_in_tile)
    wanted = THROUGH_A_TILE | ({"resident": plan.resident} if waits else {})
    wanted |= {"cluster": plan.cluster} if plan.fast == "kept" and plan.waits_in_tile else {}
    if plan.tile_bytes and plan.resident and any(getattr(plan, k) != v for k, v in wanted.items()):
        change = ",".join(f"{key}={value}" for key, value in THROUGH_A_TILE.items())
        raise error("WF428", tile_bytes=plan.tile_bytes, change=change)
    if plan != settled(plan):
        changes = differing(plan, settled(plan))
        raise error("WF415", walk=plan.walk, change=",".join(f"{key}={value}" for key, value in changes.items()))


def _check_order(plan: Plan) -> None:
    """Refuses vectors of threads with pieces (WF406), and steps in which lanes cannot meet (WF436)."""
    if plan.walk == "blocked" and plan.vector_reduced > 1 and not plan.meets_in_steps:
        raise error("WF406", vector=plan.vector)
    for key, expected in differing(plan, in_steps(plan)).items():
        raise error("WF436", meet=plan.meet, key=key, value=getattr(plan, key), expected=expected)


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


def in_steps(plan: Plan) -> Plan:
    """``plan`` with the fields that lanes which meet in steps must have; the plan itself where they do not meet so."""
    if not plan.meets_in_steps:
        return plan
    walk: Walk = "runs" if plan.walk == "runs" else "blocked"
    return replace(plan, fast="reduced", walk=walk, tile_bytes=0, cta="shuffle", exchange="shared", resident="")


def differing(plan: Plan, other: Plan) -> dict[str, int | str]:
    """The fields of ``other`` whose values differ from those of ``plan``."""
    return {key: value for key, value in asdict(other).items() if value != getattr(plan, key)}


def _check_fields(plan: Plan) -> None:
    """Checks each field by itself; raises WF403."""
    for key in CHOICES:
        if not fits(key, getattr(plan, key)):
            raise error("WF403", key=key, value=repr(getattr(plan, key)), expected=expected_of(key))
    for key in (*LARGEST, *COUNTS):
        extent = getattr(plan, key)
        check_extent(key, extent, extent)
    any_of = {"warps": plan.takes_side and plan.warps_kept == 1, "warps_kept": plan.keeps_columns}
    for key, holds in any_of.items():
        count = getattr(plan, key)
        if count & (count - 1) and not holds:
            raise error("WF403", key=key, value=count, expected=expected_of(key))
