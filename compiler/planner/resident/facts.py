"""The facts and the launch of a plan by which rows are read again."""

from __future__ import annotations

from collections.abc import Sequence

from ...plan import tiles
from ...plan.facts import INDEX_LIMIT, Facts, numberings
from ...plan.fields import OF_BITS, PARTS_OF, Access
from ...plan.launch import Launch, layers
from ...plan.layout import layout_of
from ...plan.plan import Plan
from ..layouts import rows_abreast
from ..task import Task
from . import (
    grid_facts,
    grid_teams,
    held,
    l2,
    lasting,
    maps,
    matrix_tiles,
    rows,
    sections,
    sides,
    tile_groups,
    tile_sizes,
    transposed,
)
from .accesses import accesses, elements_of, part_of, runs

AT_ONCE = ("aligned", "shifted", "unaligned", "split")
"""The accesses to several elements at once, in place of which a plan may ask for single ones."""


def facts_of(task: Task, plan: Plan) -> Facts:
    """What the kernel must know of the arrays."""
    g, inputs = task.geometry, len(task.program.inputs)
    turns = plan.fragments == "matrix"
    anywhere = plan.resident != "grid" or grid_facts.are_whole(task, plan)
    found = accesses(task, plan.fast, plan.vector, waits=plan.held > 0 and anywhere and not turns)
    if plan.resident == "grid":  # what does not wait is read in loops, which have no branches
        found = tuple("strided" if kind == "unaligned" else kind for kind in found)
    if plan.accesses == "single":
        found = tuple("strided" if kind in AT_ONCE else kind for kind in found)
    if plan.tile_bytes:
        found = tile_groups.tiled(task, plan, found)
    if plan.walk == "blocked":
        found = transposed.transposed(task, plan, found)
    if turns:
        found = matrix_tiles.turned(task, found)
    reach = max((abs(bound) for i in range(len(g.offsets)) for bound in g.span(i)), default=0)
    run = launch_of(task, plan)
    covered = run.split * (plan.held * layout_of(plan).span("reduced") or run.chunk)
    keeps = plan.held > 0 and plan.resident != "grid"
    if plan.resident == "grid":
        keeps = plan.in_teams and run.chunk == plan.held * layout_of(plan).span("reduced")
        covered = max(covered, run.split * run.chunk)
    numbers = max(reach, g.n_kept + plan.slots, g.n_reduced + covered, l2.tickets(task, run), run.ctas * run.chunk)
    kept_rank, reduced_rank = task.ranks
    return Facts(
        kept_rank,
        reduced_rank if len(g.reduced) > 1 else 1,  # accesses may begin before a row of one dim
        32 if numbers < INDEX_LIMIT else 64,
        found[:inputs],
        store_vector=False,
        by_row=plan.exchanges and len(g.kept) > 1,
        stores=found[inputs:],
        full=keeps and covered == g.n_reduced and "shifted" not in found,
        waiting=_waiting(task, plan, found),
        lasting=lasting.operands(task, found) if plan.takes_side and plan.reads else (),
        rows_first=maps.shares_weights(task),
        numberings=numberings(task.program),
        section=sections.elements(task) if task.program.section else 0,
        runs=runs(task, plan.fast),
        part=part_of(task, plan.vector) if "split" in found else 0,
        narrow=rows_abreast.is_narrow(g, plan),
    )


def _waiting(task: Task, plan: Plan, found: Sequence[Access]) -> tuple[int, ...]:
    """The inputs with a value for each element of each row: those along the row alone are read again, from caches.

    In a program without a fold they are those that go through a tile.
    """
    if not plan.held or not task.program.reduces:
        return tuple(i for i in range(len(task.program.inputs)) if found[i] == "matrix")
    inputs, apart = len(task.program.inputs), ("uniform", "kept", "gathered", "number", *OF_BITS)
    own = grid_facts.waiting_elements(task) if plan.resident == "grid" else elements_of(task)
    return tuple(i for i in own if i < inputs and found[i] not in apart)


def launch_of(task: Task, plan: Plan) -> Launch:
    """The grid: as many CTAs as the rows need, and along a row those of a cluster; or of a map, as many as it needs."""
    if plan.tile_bytes:
        return tile_sizes.launch(task, plan)
    g, span = task.geometry, layout_of(plan).span("reduced")
    if plan.resident == "l2":
        return l2.launch(task, plan)
    if plan.resident == "grid":
        return grid_teams.launch(task, plan) if plan.in_teams else grid_facts.launch(task, plan)
    own = span * (held.needed(task, plan) if task.program.reduces else plan.held)
    length = rows.count_of(task, plan.vector) * plan.vector if plan.fast == "reduced" else g.n_reduced
    if plan.takes_side:
        return sides.launch(task, plan, own)
    if task.program.reduces:
        if plan.fast == "kept":
            own = max(1, -(-g.n_reduced // plan.cluster))  # equal parts: the last accesses alone may be outside
        elif plan.cluster > 1:
            whole = PARTS_OF * plan.vector
            own = min(own, -(-length // (plan.cluster * whole)) * whole)
        return Launch(-(-g.n_kept // plan.own), plan.cluster, own)
    split = max(1, -(-length // own))
    z = layers(split)
    ctas = -(-g.n_kept // plan.slots)
    if plan.exchanges:
        ctas = tiles.exchanging_ctas(plan, transposed.stores(task, plan), g)
    return Launch(ctas, -(-split // z) * z, own)
