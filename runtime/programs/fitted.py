"""Which arrays compiled kernels serve, and how these are launched for them."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter

from ...compiler.driver.artifact import Artifact
from ...compiler.errors import PlanError
from ...compiler.plan import tiles
from ...compiler.plan.facts import Facts
from ...compiler.plan.kernels import first_of_both
from ...compiler.plan.launch import shared
from ...compiler.planner import choose as planner
from ...compiler.planner.layouts.factored import as_columns_of_any_size
from ...compiler.planner.layouts.gapped_columns import as_read
from ...compiler.planner.split import ctas
from ...compiler.planner.task import Choice, Task
from ..prepare import Prepared
from ..tuned_plans import words as plan_words


class Unfit(Exception):  # noqa: N818 - it says what does not fit, and is no error of its own
    """Kernels that do not serve some arrays.

    Attributes:
        expected: what they were compiled for.
        found: what the arrays need.
    """

    def __init__(self, expected: str, found: str) -> None:
        super().__init__(expected, found)
        self.expected, self.found = expected, found


def fitted(task: Task, kernels: Artifact, options: str) -> Prepared:
    """How to launch the kernels of a step for the arrays of ``task``.

    Args:
        task: what the planner is asked for the step.
        kernels: the kernels.
        options: the fields of plans that were asked for.

    Raises:
        Unfit: they do not serve these arrays.
    """
    program = task.program
    if program.reads_again or program.scatters or kernels.plan.resident:
        return Prepared(task, _chosen(task, kernels, options))
    return _launched(task, kernels)


def _chosen(task: Task, kernels: Artifact, options: str) -> Choice:
    """The planner's choice, where it is the plan of the kernels."""
    for wanted in dict.fromkeys((options, plan_words(kernels.plan))):
        try:
            choice = planner.choose(task, wanted)
        except PlanError:
            continue
        if choice.plan == kernels.plan and serves(kernels.main.facts, choice.facts):
            return choice
        if task.program.reads_again:  # another plan would hold other rows
            break
    raise Unfit(words_of(kernels.main.facts), "another plan")


def _launched(task: Task, kernels: Artifact) -> Prepared:
    """The launch of a plain reduction's kernels, whose plan need not be the one that the planner would choose."""
    facts, plan, geometry = kernels.main.facts, first_of_both(kernels.plan), task.geometry
    if plan != kernels.plan:
        left = as_columns_of_any_size(geometry, len(task.program.inputs))
        if left is None:
            dims = f"{len(geometry.kept)} kept and {len(geometry.reduced)} reduced dims"
            words = "two dims around one kept one reduced, which with the inner is one run"
            raise Unfit(words, f"another plan, since its {dims} do not lie so")
        task = replace(task, geometry=left)
    if plan.tile_bytes and not tiles.units(plan, task.geometry, kernels.inputs):
        words = f"results whose elements lie in one run of memory of {plan.tile_bytes} bytes at most"
        raise Unfit(words, "another plan")
    read = as_read(task, plan)
    geometry = read.geometry
    needed = planner.facts(read, plan)
    places = facts.places and geometry.count <= planner.NUMBERS
    ranks = max(1, len(geometry.kept)), max(1, len(geometry.reduced))
    needed = replace(needed, kept_rank=ranks[0], reduced_rank=ranks[1], places=places)
    if geometry.n_reduced == 0:  # nothing is read
        needed = replace(needed, access=facts.access)
    if not serves(facts, needed):
        raise Unfit(words_of(facts), words_of(needed))
    state = sum(t.itemsize for t in kernels.state)
    row = facts.row(geometry)
    parts = ctas(plan, geometry.n_kept, shared(plan, geometry), read.machine, state, read.itemsize, row)
    run = planner.launch_of(plan, geometry, parts, kernels.inputs, row)
    return Prepared(read, Choice(kernels.plan, facts, run), geometry)


def words_of(f: Facts) -> str:
    ranks = f"{f.kept_rank} kept and {f.reduced_rank} reduced dims"
    results = ", results at one stride" if f.flat else ", results side by side" if f.store_vector else ""
    rows = f", {f.block[0]} elements of each of {f.block[1]} results in a block" if f.block else ""
    rows += ", gaps between rows" * f.gapped + ", runs in pieces" * f.pieces
    rows += ", few elements a result" * f.places + ", rows that fill the accesses of all threads" * f.full
    return f"{ranks}, {f.index_bits}-bit offsets, {', '.join(f.access)} access{results}{rows}"


_AS_WELL = (("shifted", "aligned"), ("tile_strided", "tile"))
"""Pairs (a, b) of accesses: a kernel with access a also serves arrays that allow access b."""


def serves(own: Facts, needed: Facts) -> bool:
    """Whether a kernel compiled for the facts ``own`` serves arrays with the facts ``needed``."""
    access, stores = (zip(of(own), of(needed), strict=True) for of in (attrgetter("access"), attrgetter("stores")))
    return (
        own.kept_rank >= needed.kept_rank
        and own.reduced_rank >= needed.reduced_rank
        and own.index_bits >= needed.index_bits
        and all(a in (b, "strided") or (a, b) in _AS_WELL for a, b in (*access, *stores))
        and (not own.full or needed.full)
        and (not own.store_vector or needed.store_vector)
        and (own.repeats or not needed.repeats)
        and (not own.flat or needed.flat or needed.kept_rank == 1)
        and (own.by_row or not needed.by_row)
        and (own.gapped or not needed.gapped)
        and (own.pieces or not needed.pieces)
        and own.block == needed.block
        and own.narrow == needed.narrow
        and (not own.places or needed.places)
    )
