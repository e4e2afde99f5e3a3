"""Options: what a user sets in place of the planner's choices. Fields that no option names give way to those."""

from __future__ import annotations

from dataclasses import replace

from ..errors import error
from ..plan import tiles
from ..plan.checks import check, differing, settled
from ..plan.fields import OWN_WALKS, RARE, Access
from ..plan.ladder import expand
from ..plan.plan import IN_WARPS, STATIC_TILE, Plan
from ..program.analysis.atomic import adds, exact
from . import in_order, matrix_sums, walks
from .layouts import tiled
from .limits import fitting
from .split import ctas_of
from .task import Notes, Task

_OF_REDUCTIONS = (("fragments", "words"), ("reads", "together"))
"""Values of fields for rows that are read again that a plan of one fold may have as well."""


def keeps_own(task: Task, plan: Plan, options: str) -> bool:
    """Whether ``options`` leave a plan what its layout needs; if not, an ordinary plan has the other fields."""
    chosen, keys = plan.with_options(options), named(options)
    if plan.tile_bytes:
        served = chosen.lies_in_warps and _vector_fits(task, chosen)
        return chosen.tile_bytes > 0 and (served or "tile_bytes" in keys)
    served = chosen == settled(chosen) and walks.serves(task, chosen)
    return chosen.walk == plan.walk and not chosen.tile_bytes and (served or "walk" in keys)


def overridden(task: Task, plan: Plan, parts: int, options: str, notes: Notes) -> tuple[Plan, int]:
    """``plan`` with ``options`` in it, and its CTAs along the reduced axis, of which the planner chose ``parts``.

    Raises:
        PlanError: WF402 to WF421, and WF427 for a residency, where that cannot be served.
    """
    for key, value in expand(options).items():
        if key in RARE and key not in ("meet", "arrivals") and (key, value) not in _OF_REDUCTIONS:
            raise error("WF427", name=task.program.name, key=key, value=value)
    later = Notes()
    chosen = _changed(task, plan, options, later)
    shared = ctas_of(task, chosen)
    changes = differing(plan, chosen)
    notes.forget({*changes, *(["parts"] if shared != parts else [])})
    keys = expand(options)
    for words, is_named in (("asked for", True), ("so also", False)):
        if own := [f"{key}={value}" for key, value in changes.items() if (key in keys) == is_named]:
            notes.because(f"{words}: {', '.join(own)}")
    notes.rejected += later.rejected
    return chosen, shared


def named(options: str) -> set[str]:
    """The fields of a plan that ``options`` set one by one; those that a rung sets may still give way."""
    return {key.strip() for key, equals, _ in (item.partition("=") for item in options.split(",")) if equals}


def ask_for_blocks(options: str) -> bool:
    """Whether options ask for a tile that warps read in turned blocks: elements that are read once wait there, too."""
    return expand(options).get("fragments") == "matrix"


def _changed(task: Task, plan: Plan, options: str, notes: Notes) -> Plan:
    """``plan`` with ``options`` in it; fields that they do not set give way."""
    named_fields = named(options)
    chosen = _in_one_cta(plan.with_options(options), named_fields, task.target.max_threads)
    if chosen.tile_bytes:
        chosen = replace(chosen, **{key: value for key, value in IN_WARPS.items() if key not in named_fields})
    if chosen.coarsening and chosen.finish == "cta" and "finish" not in named_fields:
        chosen = replace(chosen, finish="last_block")
    if chosen.walk in OWN_WALKS:
        chosen = _walking(task, plan, chosen, named_fields, notes)
    if chosen.cluster > 1 and not chosen.coarsening and "finish" not in named_fields:
        clusters = ctas_of(task, chosen) > chosen.cluster
        chosen = replace(chosen, finish="last_block" if clusters else "cta")
    chosen = _in_whole_steps(chosen, named_fields)
    if "warps" not in named_fields:
        chosen = fitting(task, chosen, notes)
        walks.check(task, chosen)
    chosen = in_order.giving_way(chosen, named_fields)
    blocked = chosen.walk == "blocked" and chosen.vector_reduced > 1 and not chosen.meets_in_steps
    if "vector" not in named_fields and (blocked or not _vector_fits(task, chosen)):
        chosen = replace(chosen, vector=1)
    check(chosen, task.target, task.state_bytes)
    _check_vector(task, chosen)
    matrix_sums.check(task, chosen)
    if chosen.tile_bytes:
        _check_tile(task, chosen)
    if chosen.finish == "atomic" and not exact(task.monoid):
        _check_atomic(task)
    if not chosen.keeps_order and not task.monoid.commutative:
        raise error("WF409", name=task.monoid.name, walk=chosen.walk)
    alone = not chosen.coarsening and "finish" not in expand(options) and ctas_of(task, chosen) <= chosen.cluster
    return replace(chosen, finish="cta") if alone else chosen  # no grid stage for one CTA, or one cluster


def _in_one_cta(plan: Plan, named_fields: set[str], threads: int) -> Plan:
    """``plan`` with at most ``threads`` a CTA, as far as options do not set its warps."""
    for key in ("warps_kept", "warps"):
        if key not in named_fields and plan.threads > threads:
            extent = max(1, getattr(plan, key) * threads // plan.threads)
            plan = replace(plan, **{key: extent})
    return plan


def _walking(task: Task, plan: Plan, chosen: Plan, named_fields: set[str], notes: Notes) -> Plan:
    """``chosen`` with what else its walk needs, in fields that options do not set."""
    fit = plan
    if plan.walk != chosen.walk:
        fit = walks.NEEDS[chosen.walk].fitted(task, chosen)
    own = {key: value for key, value in differing(chosen, fit).items() if key not in named_fields}
    found = _in_whole_steps(replace(chosen, **own), named_fields)  # type: ignore[arg-type]
    found = found if "warps" in named_fields else fitting(task, found, notes)
    check(found, task.target, task.state_bytes)
    walks.check(task, found)
    if plan.walk != chosen.walk and not found.coarsening and "finish" not in named_fields:
        found = replace(found, finish="last_block" if ctas_of(task, found) > 1 else "cta")
    return found


def _in_whole_steps(plan: Plan, named_fields: set[str]) -> Plan:
    """``plan`` with no more accesses in flight than a thread makes, unless options set them."""
    if 0 < plan.coarsening < plan.unroll and "unroll" not in named_fields:
        return replace(plan, unroll=plan.coarsening)
    return plan


def _check_atomic(task: Task) -> None:
    """Refuses (WF408) an atomic that is not exact, unless it is a float sum whose bits may differ from run to run."""
    why, loose = "no atomic instruction combines its states", ""
    if adds(task.monoid):
        why = "its result would depend on the order of the atomics"
        loose = ', or determinism="none" in Python (--determinism none of spread)'
    if not loose or task.determinism != "none":
        remedy = f"use finish=last_block or finish=two_kernels{loose}"
        raise error("WF408", name=task.monoid.name, why=why, remedy=remedy)


def _check_vector(task: Task, plan: Plan) -> None:
    """Refuses vectors that are wider than an access (WF421), or that the layout does not have (WF407)."""
    if _vector_fits(task, plan):
        return
    walks.check_width(task, plan.vector)
    wanted, other = "unit stride, whole vectors and aligned rows", ", or choose the other axis with fast="
    if plan.tile_bytes:
        wanted = "rows of unit stride, elements of 1 or 2 bytes, 4 bytes of them at least, and a combine that commutes"
        other = ""
    raise error("WF407", vector=plan.vector, axis=plan.fast, wanted=wanted, other=other)


def _check_tile(task: Task, plan: Plan) -> None:
    """Refuses (WF418) a tile that holds no result's elements, and names the smallest that does."""
    sizes = [1 << k for k in range(STATIC_TILE.bit_length())]
    served = [n for n in sizes if tiles.units(replace(plan, tile_bytes=n), task.geometry, task.program.inputs)]
    if plan.tile_bytes not in served:
        remedy = f"{served[0]}, or 0" if served else "0"
        raise error("WF418", tile_bytes=plan.tile_bytes, remedy=remedy)


def _vector_fits(task: Task, plan: Plan) -> bool:
    """Whether the layout has vectors of the plan's width, and its finish takes them: atomics are for whole ones."""
    if plan.tile_bytes:
        return plan.vector == 1 or tiled.takes_words(task, plan.vector)
    ordinary = plan.vector > 1 and plan.walk not in OWN_WALKS
    kinds = task.accesses(plan.fast, plan.vector) if ordinary else frozenset[Access]()
    return "strided" not in kinds and ("unaligned" not in kinds or plan.finish != "atomic")
