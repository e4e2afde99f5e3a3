"""The invariants of a choice's tiles, enumerated from the arguments of the kernel."""

from __future__ import annotations

import numpy as np
from layouts import offsets_of

from warpfold.compiler.plan import tiles
from warpfold.compiler.plan.abi import Param, Role, value
from warpfold.compiler.plan.fields import IN_TILE
from warpfold.compiler.planner.alignment import WIDEST
from warpfold.compiler.planner.task import Choice, Task


def results_of(task: Task, choice: Choice) -> int | None:
    """The results whose elements a CTA copies; None where none does."""
    return choice.run.units * tiles.results(task.geometry) if choice.plan.tile_bytes else None


def told(task: Task, choice: Choice, role: Role, operand: int = 0) -> int:
    """The arguments of the kernel."""
    return value(Param(role, operand), task.geometry, choice.run, task.geometry.n_reduced)


def check_tile(task: Task, choice: Choice) -> None:
    """Every CTA copies all elements of its results from inside the array into memory that holds them.

    Other inputs have the same elements for all CTAs.
    """
    g, plan, inputs = task.geometry, choice.plan, range(len(task.program.inputs))
    items = [task.operand_type(i).itemsize for i in inputs]
    copied = [choice.facts.access[i] in IN_TILE for i in inputs]
    assert told(task, choice, "tile_results") == results_of(task, choice)
    assert sum(tiles.share(plan, items, copied, i) for i in inputs if copied[i]) <= plan.tile_bytes
    for i in inputs:
        offsets = offsets_of(g.kept, i)[:, None] + offsets_of(g.reduced, i)
        if copied[i]:
            check_copies(task, choice, i, offsets, tiles.share(plan, items, copied, i))
        else:
            assert choice.facts.access[i] == "strided"
            units = offsets.reshape(-1, tiles.results(g), g.n_reduced)
            assert (units == units[:1]).all()


def check_copies(task: Task, choice: Choice, i: int, offsets: np.ndarray, room: int) -> None:
    """The copies of one input, of which the elements of each result lie at ``offsets``."""
    item, start = (
        task.operand_type(i).itemsize,
        task.addresses[i] + task.geometry.offsets[i] * task.operand_type(i).itemsize,
    )
    pitch, length, extent = (told(task, choice, role, i) for role in ("tile_pitch", "tile_length", "tile_extent"))
    assert extent == offsets.max() + 1
    assert offsets.min() >= 0
    results = told(task, choice, "tile_results")
    for tile in range(choice.run.tiles):
        own = offsets[tile * results : (tile + 1) * results]
        begin, end = tile * pitch, min(tile * pitch + length, extent)
        assert begin <= own.min()
        assert own.max() < end
        first, last = (start + begin * item) // WIDEST, -(-(start + end * item) // WIDEST)
        assert (last - first) * WIDEST <= room
