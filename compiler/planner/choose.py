"""The planner: which plan serves a geometry on a target. A pure function that can say why.

Nothing here reads a device; ``sms`` is all it knows of one. There are only a few plans: sizes and strides are arguments
of a kernel, and a program must not ask for a kernel for every shape.

This file has the order of the questions, and the facts that follow. ``layouts/`` has the plans of layouts with a way of
their own, which are asked first; ``rows/plan.py`` and ``columns.py`` have the plans of all others. ``split.py`` chooses
how many CTAs share a result, and ``options.py`` puts in what a user sets. ``task.py`` says what the layout and the
program allow, and ``limits.py`` what registers do. docs/planner.md lists all thresholds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from ..dtypes import DType
from ..plan import tiles
from ..plan.checks import check
from ..plan.facts import INDEX_LIMIT, NUMBER_BITS, Facts
from ..plan.fields import OWN_WALKS, Access, Axis
from ..plan.kernels import second_of_both
from ..plan.ladder import menu_of
from ..plan.launch import Launch, cells_of, launch, pieces, shared, tiles_of, walks_once
from ..plan.plan import Plan
from ..plan.rounds import met_plan
from ..space.geometry import Geometry
from . import columns, few, in_order, lists, options, tally, walks
from .alignment import least_stride
from .layouts import blocks, crowded_columns, factored, padded_rows, runs, small_columns, tiled
from .layouts.gapped_columns import as_read
from .layouts.periods import periodic
from .layouts.staggered_columns import are_better, staggered
from .limits import fitting
from .repeats import is_raised, repetitions
from .rows import plan as rows
from .split import coarsened, parts_of
from .stores import goes_by_row, row_of, stores_vector
from .task import PORTABLE_SMS, Choice, Notes, Task

NUMBERS = 1 << NUMBER_BITS
"""Elements of a result whose numbers fit a word beside a byte."""


def choose(task: Task, wanted: str = "", *, split: bool = True) -> Choice:
    """The plan for ``task``.

    Args:
        task: what to reduce, and on which machine.
        wanted: options, ``key=value,...``, that override the plan's own choices.
        split: whether several CTAs may share one result.

    Raises:
        PlanError: WF402 to WF422 when ``wanted`` asks for what cannot be served.
    """
    asks, wanted = menu_of(wanted)
    if asks and few.serves(task):
        task = replace(task, few=True)
    if task.program.reads_again or options.ask_for_blocks(wanted):
        from .resident.choose import choose as choose_resident  # not imported for one reduction

        return choose_resident(task, wanted)
    if task.program.scatters:
        return _of_counters(task)
    notes = Notes()
    if split and not task.few and (found := factored.task_of(task, wanted)):
        return _of_both(found, wanted, notes)
    plan = _own_plan(task, notes)
    if wanted and not options.keeps_own(task, plan, wanted):
        notes = Notes()
        plan = _ordinary_plan(task, notes)
    plan = _ordered(task, plan, notes)
    parts = parts_of(task, plan, notes) if split else 1
    plan = replace(plan, finish="last_block" if parts > plan.cluster else "cta")
    for reason in repetitions(task):
        notes.because(reason)
    if task.is_portable:
        notes.because(f"portable: planned for {PORTABLE_SMS} SMs and aligned arrays, whatever they are")
    if wanted:
        plan, parts = options.overridden(task, plan, parts, wanted, notes)
    task = as_read(task, plan)
    if task.geometry.gap:
        notes.because(f"the {task.geometry.gap} column(s) between rows are read, and not written", "walk")
    if goes_by_row(task, plan):
        notes.because(f"tiles go by row: no access goes on from one of {task.geometry.columns} results in the next")
    check(plan, task.target, task.state_bytes)
    return _choice(task, plan, parts, notes)


def _of_both(task: Task, wanted: str, notes: Notes) -> Choice:
    """The choice of two kernels, whose lanes lie along both axes; ``task`` is the first kernel's."""
    plan = factored.plan(task, wanted, notes)
    parts = parts_of(task, plan, Notes())
    if wanted:
        plan, parts = options.overridden(task, plan, parts, factored.rest(wanted), notes)
    for each in (plan, second_of_both(plan)):
        check(each, task.target, task.state_bytes)
    found = _choice(task, plan, parts, notes)
    return replace(found, plan=replace(plan, fast="both"))


def _of_counters(task: Task) -> Choice:
    """The choice of a kernel whose elements choose the results that they count in."""
    notes = Notes()
    plan = tally.plan(task, notes)
    check(plan, task.target, task.state_bytes)
    found = _choice(task, plan, tally.parts(task, plan), notes)
    known = replace(found.facts, cleared=tally.has_cells(task))
    return replace(found, facts=known, run=tally.of_one_row(found.run))


def _choice(task: Task, plan: Plan, parts: int, notes: Notes) -> Choice:
    """``plan`` with the launch and the facts that follow from it."""
    run = launch_of(plan, task.geometry, parts, task.program.inputs, row_of(task, plan))
    known = _facts_of_launch(task, plan, run, notes)
    return Choice(plan, known, run, [reason for reason, _ in notes.reasons], notes.rejected)


def _ordinary_plan(task: Task, notes: Notes) -> Plan:
    """The plan of threads that read where the elements are, as any layout allows."""
    fast = _fast(task, notes)
    if task.few:
        return few.plan(task, fast, notes)
    return columns.plan(task, notes) if fast == "kept" else rows.plan(task, notes)


def _own_plan(task: Task, notes: Notes) -> Plan:
    """The plan of a layout that has a way of its own, in the order in which they are tried; else the ordinary one."""
    if task.needs_ordinary:
        return _ordinary_plan(task, notes)
    if task.few and not few.walks(task, _fast(task, Notes())):
        return _ordinary_plan(task, notes)
    own = () if task.few else (crowded_columns.plan, blocks.plan, padded_rows.plan, tiled.plan)
    for plan_of in own:
        if found := plan_of(task, notes):
            return found
    plan = _ordinary_plan(task, notes)
    if plan.fast == "reduced":
        return runs.plan(task, plan, notes)
    wide = columns.wide(task, fitting(task, plan, Notes()))
    if found := small_columns.plan(task, wide, plan, notes):
        return found
    plan = periodic(task, wide, plan, notes)
    return staggered(task, wide, plan, notes) if are_better(task, wide, plan) else plan


def _ordered(task: Task, plan: Plan, notes: Notes) -> Plan:
    """``plan`` with the walk that a combine needs, and room for its states."""
    if not task.monoid.commutative:
        plan = in_order.plan(task, plan, notes)
    return fitting(task, plan, notes)


def _fast(task: Task, notes: Notes) -> Axis:
    """The axis that holds the least stride of the first input: along it neighbouring lanes read neighbours."""
    kept, reduced = least_stride(task.geometry.kept), least_stride(task.geometry.reduced)
    if task.geometry.kept and kept < reduced:
        notes.because(f"lanes lie along the kept axis: its stride {kept:.0f} is the smallest", "fast")
        notes.rejected.append(("fast=reduced", "neighbouring lanes would read distant addresses (uncoalesced)"))
        return "kept"
    why = f"its stride {reduced:.0f} is the smallest" if reduced < float("inf") else "no stride says more"
    notes.because(f"lanes lie along the reduced axis: {why}", "fast")
    if kept < float("inf"):
        notes.rejected.append(("fast=kept", "neighbouring lanes would read distant addresses (uncoalesced)"))
    return "reduced"


def launch_of(plan: Plan, geometry: Geometry, parts: int, inputs: Sequence[DType], row: int) -> Launch:
    """Grid and chunk of ``plan``, with ``parts`` CTAs along the reduced axis, and tiles that go by rows of results."""
    run = launch(plan, geometry.n_kept, shared(plan, geometry), parts, row)
    if plan.walk == "runs":
        return run._replace(length=pieces(plan, geometry.reduced[-1].size)[1])
    if not plan.tile_bytes:
        return run
    each = max(1, tiles.units(plan, geometry, inputs))
    return run._replace(tiles=tiles.ctas(geometry, each), units=each)


def facts(task: Task, plan: Plan) -> Facts:
    """What the kernel must know of the geometry, for this plan."""
    g, by_row = task.geometry, goes_by_row(task, plan)
    accesses = _accesses(task, plan)
    outputs = range(len(accesses), len(g.offsets))
    several = task.ranks[0] > 1
    flat = several and not by_row and not task.few and all(_is_one_run(g, o) for o in outputs)
    vectors = met_plan(plan).vector_kept > 1 and (flat or by_row or not several) and "staggered" not in accesses
    bounded = not {"unaligned", "whole"}.isdisjoint(accesses)
    return Facts(
        *task.ranks,
        32 if _largest_index(task, plan) < INDEX_LIMIT else 64,
        accesses,
        vectors and all(stores_vector(task, o, plan, bounded=bounded) for o in outputs),
        repeats=is_raised(task) or g.copies is not None,
        flat=flat,
        by_row=by_row,
        gapped=g.gap > 0,
        pieces=plan.walk == "runs" and shared(plan, g) > g.runs,
        block=blocks.block(task) or () if plan.walk == "whole" else (),
        places=task.is_keyed(plan.fast) and g.count <= NUMBERS >> 8 * (task.itemsize - 1),
        numbers=g.numbers if task.is_ranked(plan.fast) else "",
    )


def _accesses(task: Task, plan: Plan) -> tuple[Access, ...]:
    """How the threads of ``plan`` read each input."""
    g, inputs = task.geometry, range(len(task.program.inputs))
    if plan.tile_bytes:
        copies = tiles.units(plan, g, task.program.inputs)
        return tuple(tiled.access(g, i) if copies else "strided" for i in inputs)
    if plan.walk in OWN_WALKS:
        return tuple(walks.access(task, i, plan) for i in inputs)
    return tuple(task.access(i, plan.fast, plan.vector) for i in inputs)


def _largest_index(task: Task, plan: Plan) -> int:
    """The largest offset or number that the kernel reckons with.

    Kernels count from where the walk starts, which a flip moves away from the first element. Partial states count only
    where the plan coarsens: else a result is shared only while the CTAs of all results are few.
    """
    g = task.geometry
    seen = [g] if g.after is None else [g, g.after]  # the second kernel writes results
    reach = [abs(bound - start) for s in seen for i, start in enumerate(s.offsets) for bound in s.span(i)]
    row = row_of(task, plan)
    partials = cells_of(plan, g.n_kept, row) * coarsened(plan, shared(plan, g), row) if plan.coarsening else 0
    slots = tiles_of(plan, g.n_kept, row) * plan.slots
    rows = g.n_kept * shared(plan, g) if plan.walk == "runs" else max(g.n_kept, slots)
    return max(rows, g.count, partials, *reach)


def _facts_of_launch(task: Task, plan: Plan, run: Launch, notes: Notes) -> Facts:
    """The facts of a kernel that is compiled for launches like ``run``."""
    found = facts(task, plan)
    few = walks_once(plan, run, task.geometry.n_reduced) and not task.has_long_combine
    once = few and found.cut != "shifted"
    if once:
        notes.because(f"no loop: {plan.unroll} accesses in flight are all that a thread makes")
    bounds = not task.few and lists.have_bounds(task, plan, run)
    if bounds:
        notes.because("a warp has one list: only elements below its last one are inserted")
    return replace(found, once=once and not task.few, bounds=bounds)


def _is_one_run(g: Geometry, operand: int) -> bool:
    """Whether the results of all kept dims follow each other at one stride, as those of a new array do."""
    return all(outer.strides[operand] == inner.strides[operand] * inner.size for outer, inner in pairwise(g.kept))
