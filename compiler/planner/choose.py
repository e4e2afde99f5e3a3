"""The planner: which plan serves a geometry on a target. A pure function that can say why.

Rules, with the reason beside each number. Nothing here reads a device; ``sms`` is all it knows of one. Each plan is one
of a few: sizes and strides are arguments of a kernel, and a program must not ask for a kernel for every shape.

Here are the order of the questions and the facts that follow. ``planner/rows/plan.py`` and ``columns.py`` have the
lanes, warps and accesses of a result; ``planner/layouts/factored.py``, ``planner/layouts/blocks.py``,
``planner/layouts/padded_rows.py``, ``planner/layouts/tiled.py``, ``planner/layouts/runs.py``,
``planner/layouts/periods.py`` and ``planner/layouts/staggered_columns.py`` those of layouts with a way of their own;
``planner/layouts/gapped_columns.py`` reads the gaps between rows as columns; ``alignment.py`` says what the layout
allows, ``limits.py`` what registers do, ``split.py`` how many CTAs share a result, and ``options.py`` has what a user
asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from ..dtypes import DType
from ..plan import tiles
from ..plan.abi import NUMBER_BITS, Facts
from ..plan.kernels import second_of_both
from ..plan.launch import Launch, cells_of, launch, piece, shared, tiles_of, walks_once
from ..plan.plan import OWN_WALKS, Access, Plan, check
from ..program.analysis.cost import operations
from ..space.geometry import Geometry
from . import columns, serving
from . import options as asked
from .alignment import access, goes_by_row, nearest, ranks, row_of, stores_vector
from .layouts import blocks, factored, padded_rows, runs, tiled
from .layouts.gapped_columns import laid
from .layouts.periods import periodic
from .layouts.staggered_columns import serve_better, staggered
from .limits import LONG_COMBINE, fitting, keyed, ranked
from .repeats import is_raised, repetitions
from .rows import plan as rows
from .split import coarsened, parts_of
from .task import PORTABLE_SMS, Choice, Notes, Task

NUMBERS = 1 << NUMBER_BITS
"""Elements of a result whose numbers fit a word beside a byte."""
INDEX_LIMIT = 2**31 - 2**24
"""Offsets below this fit 32-bit arithmetic with room for one step past the end."""


def choose(task: Task, options: str = "", *, split: bool = True) -> Choice:
    """The plan for ``task``.

    Args:
        task: what to reduce, and on which machine.
        options: ``key=value,...`` that override the plan's own choices.
        split: whether several CTAs may share one result.

    Raises:
        PlanError: WF402 to WF422 when ``options`` ask for what cannot be served.
    """
    notes = Notes()
    if split and (found := factored.task_of(task, options)):
        return _of_both(found, options, notes)
    plan = _own_plan(task, notes)
    if options and not asked.keeps_own(task, plan, options):
        notes = Notes()
        plan = _ordinary_plan(task, notes)
    plan = _ordered(task, plan, notes)
    parts = parts_of(task, plan, notes) if split else 1
    plan = replace(plan, finish="last_block" if parts > plan.cluster else "cta")
    for reason in repetitions(task):
        notes.because(reason)
    if task.determinism == "portable":
        notes.because(f"portable: planned for {PORTABLE_SMS} SMs and aligned arrays, whatever they are")
    if options:
        plan, parts = asked.overridden(task, plan, parts, options, notes)
    task = laid(task, plan)
    if task.geometry.gap:
        notes.because(f"the {task.geometry.gap} column(s) between rows are read, and not written", "walk")
    if goes_by_row(task, plan):
        notes.because(f"tiles go by row: no access goes on from one of {task.geometry.columns} results in the next")
    check(plan, task.target, task.state_bytes)
    run = launch_of(plan, task.geometry, parts, task.program.inputs, row_of(task, plan))
    known = _facts_of_launch(task, plan, run, notes)
    return Choice(plan, known, run, [reason for reason, _ in notes.reasons], notes.rejected)


def _of_both(task: Task, options: str, notes: Notes) -> Choice:
    """The choice for the first kernel's ``task`` where lanes lie along both axes."""
    plan = factored.plan(task, options, notes)
    parts = parts_of(task, plan, Notes())
    if options:
        plan, parts = asked.overridden(task, plan, parts, factored.rest(options), notes)
    for each in (plan, second_of_both(plan)):
        check(each, task.target, task.state_bytes)
    run = launch_of(plan, task.geometry, parts, task.program.inputs, row_of(task, plan))
    known = _facts_of_launch(task, plan, run, notes)
    reasons = [reason for reason, _ in notes.reasons]
    return Choice(replace(plan, fast="both"), known, run, reasons, notes.rejected)


def _ordinary_plan(task: Task, notes: Notes) -> Plan:
    """The plan of threads that read where the elements are, as any layout allows."""
    return columns.plan(task, notes) if _fast(task, notes) == "kept" else rows.plan(task, notes)


def _own_plan(task: Task, notes: Notes) -> Plan:
    """The plan of a layout that has a way of its own, in the order in which they are tried; else the ordinary one."""
    found = blocks.plan(task, notes) or padded_rows.plan(task, notes) or tiled.plan(task, notes)
    if found is not None:
        return found
    plan = _ordinary_plan(task, notes)
    if plan.fast == "reduced":
        return runs.plan(task, plan, notes)
    wide = columns.wide(task, fitting(task, plan, Notes()))
    plan = periodic(task, wide, plan, notes)
    return staggered(task, wide, plan, notes) if serve_better(task, wide, plan) else plan


def _ordered(task: Task, plan: Plan, notes: Notes) -> Plan:
    """``plan`` with the walk that a combine needs, and room for its states."""
    if not task.monoid.commutative:
        if plan.vector_reduced > 1:
            notes.forget({"vector"})
            words = f"1 element(s) an access ({task.itemsize} bytes, single elements)"
            notes.because(f"{words}: each thread takes a piece of its own, in order", "vector")
            plan = replace(plan, vector=1)
        plan = replace(plan, walk="blocked")
        notes.rejected.append(("walk=interleaved", f"{task.monoid.name} is not commutative: its order must be kept"))
    return fitting(task, plan, notes)


def facts(task: Task, plan: Plan) -> Facts:
    """What the kernel must know of the geometry, for this plan."""
    g = task.geometry
    inputs = range(len(task.program.inputs))
    # Kernels count from where the walk starts, which a flip moves away from the first element. Partials need a look
    # only where the plan coarsens: else a result is shared only while the CTAs of all results are few.
    seen = [g] if g.after is None else [g, g.after]  # results are the second kernel's
    reach = [abs(bound - start) for s in seen for i, start in enumerate(s.offsets) for bound in s.span(i)]
    row, by_row = row_of(task, plan), goes_by_row(task, plan)
    partials = cells_of(plan, g.n_kept, row) * coarsened(plan, shared(plan, g), row) if plan.coarsening else 0
    tiles_seen = tiles_of(plan, g.n_kept, row)
    rows = g.n_kept * shared(plan, g) if plan.walk == "runs" else max(g.n_kept, tiles_seen * plan.slots)
    largest = max(rows, g.count, partials, *reach)
    outputs = range(len(inputs), len(g.offsets))
    accesses: tuple[Access, ...]
    if plan.tile_bytes:
        each = tiles.units(plan, g, task.program.inputs)
        accesses = tuple(tiled.access(g, i) if each else "strided" for i in inputs)
    elif plan.walk in OWN_WALKS:
        accesses = tuple(serving.access(task, i, plan) for i in inputs)
    else:
        accesses = tuple(access(task, i, plan.fast, plan.vector) if plan.vector > 1 else "strided" for i in inputs)
    several = ranks(g)[0] > 1
    flat = several and not by_row and all(_in_one_run(g, o) for o in outputs)
    vectors = plan.met.vector_kept > 1 and (flat or by_row or not several) and "staggered" not in accesses
    bounded = not {"unaligned", "whole"}.isdisjoint(accesses)
    return Facts(
        *ranks(g),
        32 if largest < INDEX_LIMIT else 64,
        accesses,
        vectors and all(stores_vector(task, o, plan, bounded=bounded) for o in outputs),
        repeats=is_raised(task) or g.copies is not None,
        flat=flat,
        by_row=by_row,
        gapped=g.gap > 0,
        pieces=plan.walk == "runs" and shared(plan, g) > g.runs,
        block=blocks.block(task) or () if plan.walk == "whole" else (),
        places=keyed(task, plan.fast) and g.count <= NUMBERS >> 8 * (task.itemsize - 1),
        numbers=g.numbers if ranked(task, plan.fast) else "",
    )


def _facts_of_launch(task: Task, plan: Plan, run: Launch, notes: Notes) -> Facts:
    """What the kernel may also know, since it is for launches like this one."""
    found = facts(task, plan)
    few = walks_once(plan, run, task.geometry.n_reduced) and operations(task.monoid) < LONG_COMBINE
    once = few and found.cut != "shifted"
    if once:
        notes.because(f"no loop: {plan.unroll} accesses in flight are all that a thread makes")
    return replace(found, once=once)


def _in_one_run(g: Geometry, operand: int) -> bool:
    """Whether the results of all kept dims follow each other at one stride, as those of a new array do."""
    return all(outer.strides[operand] == inner.strides[operand] * inner.size for outer, inner in pairwise(g.kept))


def _fast(task: Task, notes: Notes) -> str:
    """The axis that holds the smallest stride of the first input: along it neighbouring lanes read neighbours."""
    kept, reduced = task.geometry.kept, task.geometry.reduced

    if kept and nearest(kept) < nearest(reduced):
        notes.because(f"lanes lie along the kept axis: its stride {nearest(kept):.0f} is the smallest", "fast")
        notes.rejected.append(("fast=reduced", "neighbouring lanes would read distant addresses (uncoalesced)"))
        return "kept"
    why = (
        f"its stride {nearest(reduced):.0f} is the smallest"
        if nearest(reduced) < float("inf")
        else "no stride says more"
    )
    notes.because(f"lanes lie along the reduced axis: {why}", "fast")
    if nearest(kept) < float("inf"):
        notes.rejected.append(("fast=kept", "neighbouring lanes would read distant addresses (uncoalesced)"))
    return "reduced"


def launch_of(plan: Plan, geometry: Geometry, parts: int, inputs: Sequence[DType], row: int) -> Launch:
    """Grid and chunk of ``plan``, with so many CTAs along the reduced axis, and tiles that go by rows of results."""
    run = launch(plan, geometry.n_kept, shared(plan, geometry), parts, row)
    if plan.walk == "runs":
        return replace(run, length=piece(plan, geometry.reduced[-1].size))
    if not plan.tile_bytes:
        return run
    each = max(1, tiles.units(plan, geometry, inputs))
    return replace(run, tiles=tiles.ctas(geometry, each), units=each)
