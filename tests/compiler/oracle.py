"""The invariants of the planner's choices, for sizes that can be enumerated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from layouts import offsets_of
from ownership import (
    check_columns,
    check_launch,
    check_periods,
    check_reduced,
    check_run,
    check_staggered,
    check_threads,
)
from tiling import check_tile, results_of

from warpfold.compiler.plan.checks import check
from warpfold.compiler.plan.launch import cells_of, pieces, shared
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.planner.alignment import WIDEST
from warpfold.compiler.planner.choose import INDEX_LIMIT
from warpfold.compiler.planner.layouts.gapped_columns import as_read
from warpfold.compiler.planner.layouts.runs import as_rows
from warpfold.compiler.planner.task import Choice, Task
from warpfold.compiler.target import PORTABLE_CLUSTER, TARGETS


def check_choice(task: Task, choice: Choice) -> None:
    """Checks every invariant of a choice, for sizes that can be enumerated."""
    task = as_read(task, choice.plan)
    g, plan, run = task.geometry, choice.plan, choice.run
    check_target(task, plan)
    if plan.walk == "period":
        return check_rows(task, choice)
    check_threads(plan)
    check_launch(plan, run, g.n_kept, shared(plan, g), results_of(task, choice), choice.facts.row(g))
    if plan.walk == "runs":
        return check_runs(task, choice)
    for lead in leads(choice):
        check_reduced(plan, run, g.n_reduced, lead)
    assert task.monoid.commutative or plan.walk == "blocked"
    check_index_bits(task, choice)
    if g.n_kept * g.n_reduced:
        check_tile(task, choice) if plan.tile_bytes else check_access(task, choice)
        check_stores(task, choice)
    return None


def check_runs(task: Task, choice: Choice) -> None:
    """Checks the choice where a result is read run by run."""
    g, plan = task.geometry, choice.plan
    length = g.reduced[-1].size
    for number in range(shared(plan, g)):
        check_run(plan, choice.run, shared(plan, g), number)
    assert choice.run.length == pieces(plan, length)[1]
    assert choice.facts.pieces == (length > choice.run.length)
    assert task.monoid.commutative
    check_index_bits(task, choice)
    if plan.vector > 1 and g.n_kept * g.n_reduced:
        rows = as_rows(g)
        assert rows is not None
        check_access(replace(task, geometry=rows), choice)


def check_rows(task: Task, choice: Choice) -> None:
    """Checks the choice where rows without gaps are read as one."""
    g, plan, run = task.geometry, choice.plan, choice.run
    check_periods(plan, run, g.columns, g.n_kept, g.n_reduced)
    for lead in range(plan.vector):
        check_columns(plan, run, g.columns, g.n_reduced, lead)
    assert task.monoid.commutative
    assert task.determinism != "portable"
    check_index_bits(task, choice)
    assert set(choice.facts.access) == {"period"}
    assert not choice.facts.store_vector
    starts = [task.addresses[i] + g.offsets[i] * t.itemsize for i, t in enumerate(task.program.inputs)]
    leads = [divmod(at, t.itemsize) for at, t in zip(starts, task.program.inputs, strict=True)]
    assert {rest for _, rest in leads} == {0}
    assert len({lead % plan.vector for lead, _ in leads}) == 1
    for i, t in enumerate(task.program.inputs):
        assert plan.vector * t.itemsize <= WIDEST
        rows = offsets_of(g.reduced, i)[:, None] + np.arange(g.columns)
        assert np.array_equal(rows.ravel(), np.arange(g.n_reduced * g.columns))


def check_blocks(task: Task, choice: Choice, operand: int) -> None:
    """The elements of a thread's results are whole accesses, side by side, and those of a block are in order."""
    g, plan, item = task.geometry, choice.plan, task.operand_type(operand).itemsize
    elements, columns = choice.facts.block
    at = offsets_of(g.kept, operand)[:, None] + offsets_of(g.reduced, operand)[None, :]
    flat = at.reshape(-1, columns, elements).transpose(0, 2, 1).ravel()
    assert np.array_equal(flat, np.arange(g.n_kept * elements))
    assert (task.addresses[operand] + g.offsets[operand] * item) % WIDEST == 0
    assert plan.vector * elements * item % WIDEST == 0
    assert plan.vector % columns == 0


def check_target(task: Task, plan: Plan) -> None:
    """The plan does not depend on the target, except that targets with clusters may share another one."""
    for target in TARGETS.values():
        if target.has_clusters or plan.cluster == 1 or target == task.target:
            check(plan, target, task.state_bytes)


def leads(choice: Choice) -> range:
    return range(choice.plan.vector if choice.facts.cut == "shifted" else 1)


def check_index_bits(task: Task, choice: Choice) -> None:
    """Indices have 64 bits exactly when a size, a partial's number or an offset from the walk's start needs them."""
    g = task.geometry
    reach = [abs(bound - g.offsets[i]) for i in range(len(g.offsets)) for bound in g.span(i)]
    rows = g.n_kept * shared(choice.plan, g) if choice.plan.walk == "runs" else 0
    largest = max(g.n_reduced, g.n_kept * choice.run.split, rows, *reach)
    assert choice.facts.index_bits == (32 if largest < INDEX_LIMIT else 64)


def check_workspace(task: Task, choice: Choice) -> None:
    """The partial states of the planner's own plans fit in the workspace that a stream allocates once."""
    plan, g = choice.plan, task.geometry
    if plan.finish == "last_block":
        assert (
            cells_of(plan, g.n_kept, choice.facts.row(g)) * plan.parts(choice.run.split) * task.state_bytes <= 1 << 20
        )


def check_cluster(task: Task, plan: Plan) -> None:
    """Clusters are chosen only on targets that have them, and only if bits and order allow it."""
    if plan.cluster > 1:
        assert task.target.has_clusters
        assert task.determinism != "portable"
        assert task.monoid.commutative
        assert (plan.fast, plan.cluster, plan.finish) == ("reduced", PORTABLE_CLUSTER, "cta")


def check_access(task: Task, choice: Choice) -> None:
    """Each vector access reads neighbouring elements and begins at a boundary of its own size."""
    g, plan = task.geometry, choice.plan
    for i in range(len(task.program.inputs)):
        kind = choice.facts.access[i]
        if kind == "strided":
            continue
        if kind == "uniform":
            assert len(set(offsets_of(g.reduced if plan.fast == "reduced" else g.kept, i))) == 1
            continue
        item = task.operand_type(i).itemsize
        assert plan.vector > 1
        assert plan.vector * item <= 16
        if kind == "whole":
            check_blocks(task, choice, i)
            continue
        if kind == "staggered":
            for outer in offsets_of(g.kept[:-1], i):
                start = (task.addresses[i] + (g.offsets[i] + outer) * item) // item
                check_staggered(plan, choice.run, g.reduced[0].strides[i], g.columns, g.n_reduced, start)
            continue
        fast, slow = (g.reduced, g.kept) if plan.fast == "reduced" else (g.kept, g.reduced)
        rows = offsets_of(slow, i) + g.offsets[i]
        along = offsets_of(fast, i)
        row = choice.facts.row(g) if plan.fast == "kept" else len(along)
        for first in (b + at for b in range(0, len(along), row) for at in range(0, row, plan.vector)):
            run = along[first : min(first + plan.vector, first // row * row + row)]
            assert np.array_equal(run, run[0] + np.arange(len(run)))
            by_row = kind == "unaligned" and (len(g.kept) == 1 or choice.facts.by_row)
            assert len(run) == plan.vector or by_row or (plan.fast == "reduced" and len(g.reduced) == 1)
        if kind == "unaligned":
            check_unaligned(task, choice, i)
        elif kind == "aligned":
            starts = task.addresses[i] + (rows[:, None] + along[None, :: plan.vector]) * item
            assert not (starts % (plan.vector * item)).any()
        else:
            assert (len(g.reduced), plan.fast, len(task.program.inputs)) == (1, "reduced", 1)
            assert task.determinism != "portable"
            assert task.addresses[i] % item == 0
            assert np.array_equal(along, np.arange(len(along)))


def check_unaligned(task: Task, choice: Choice, i: int) -> None:
    """Both aligned accesses around a vector are inside the array, except at the first and last element of the axis."""
    g, vector, item = task.geometry, choice.plan.vector, task.operand_type(i).itemsize
    assert choice.plan.fast == "kept"
    assert task.determinism != "portable"
    assert task.addresses[i] % item == 0
    lowest, highest = (task.addresses[i] + bound * item for bound in g.span(i))
    kept = offsets_of(g.kept, i) + g.offsets[i]
    row = choice.facts.row(g)
    ends = np.minimum(np.arange(0, row, vector) + vector, row) - 1
    for reduced in offsets_of(g.reduced, i)[1:-1]:
        at = (task.addresses[i] + (kept + reduced) * item).reshape(-1, row)
        assert (at[:, ::vector] // WIDEST * WIDEST >= lowest).all()
        assert (at[:, ends] // WIDEST * WIDEST + WIDEST <= highest + item).all()


def check_stores(task: Task, choice: Choice) -> None:
    if not choice.facts.store_vector:
        return
    g, plan, inputs = task.geometry, choice.plan, len(task.program.inputs)
    assert plan.vector_kept > 1
    for o in range(inputs, len(g.offsets)):
        item = task.operand_type(o).itemsize
        at = (offsets_of(g.kept, o) + g.offsets[o]).reshape(-1, choice.facts.row(g))
        row = at.shape[1]
        whole = row // plan.vector * plan.vector if choice.facts.bounded else row  # others are stored apart
        at = at[:, :whole].reshape(-1, plan.vector)
        assert np.array_equal(at, at[:, :1] + np.arange(plan.vector))
        assert not ((task.addresses[o] + at[:, 0] * item) % min(WIDEST, plan.vector * item)).any()
