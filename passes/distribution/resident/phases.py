"""The phases of a kernel that reads its rows again: folds whose results all threads of a row use, then the results.

The threads that share a row own the same elements in every phase. So elements that wait in registers need no exchange:
an access is a value of the kernel, which later phases use. After each fold the stages give the state to all threads of
the row, and the elementwise code goes on with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ....compiler.ir.build import bytes_of, i32, memory_type
from ....compiler.ir.combine import unpack
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import gpu, nvvm
from ....compiler.planner.alignment import LINE
from ..kernel import Kernel
from ..meeting import meet_in_cluster, meet_in_cta
from ..place import Place, Tile, existing, first_place
from .grid_row import distribute_over_grid
from .held_row import HeldRow
from .row_accesses import RowAccesses
from .row_tiles import row_tiles
from .tickets import distribute_by_tickets
from .values import fetched_first
from .walked_row import WalkedRow

SHARED_BY_CTAS = {"l2": distribute_by_tickets, "grid": distribute_over_grid}
"""For each residency of rows that CTAs share through memory what writes the body of the kernel."""
ROWS: dict[str, Any] = {"registers": HeldRow.of, "shared": HeldRow.of, "memory": WalkedRow.of}
"""For each residency what makes the row of a thread, if no loop walks its slots."""


def distribute_phases(kernel: Kernel) -> None:
    """Writes the body of a kernel that reads its rows again."""
    if kernel.plan.resident in SHARED_BY_CTAS:
        SHARED_BY_CTAS[kernel.plan.resident](kernel)
        return
    places = row_tiles if kernel.plan.tile_bytes else _in_place
    with places(kernel) as (tile, place, tiles):
        accesses = RowAccesses.of(kernel, place, tiles, results=tile.row)
        if _reads_parts_of_lines(kernel):
            accesses = accesses.by_lines()
        if kernel.facts.streams:
            accesses = accesses.cached("evict_first", _varying(kernel))
        row = _row_of(kernel)(accesses)
        fold_phases(kernel, tile, place, row)
        row.store()


def fold_phases(kernel: Kernel, tile: Tile, place: Place, row: Any, *, again: bool = False) -> None:
    """Folds a row, phase after phase: what the phases leave is known of the row then.

    Where the code runs ``again`` for another row, a single phase needs a second barrier, or a warp would leave its
    state for that row before all have read those of this one.
    """
    values = row.row.values
    fetched = fetched_first(values)
    values.prepare(fetched)
    for number in range(len(kernel.phases)):
        phase = kernel.of(number)
        with phase.reduce.location:
            state = row.reduced(phase)
            if again and len(kernel.phases) == 1 and place.plan.warps > 1:
                gpu.barrier()
            state = _met(replace(tile, row=replace(tile.row, kernel=phase)), state, place)
        values.kept.update(zip(phase.reduced, state, strict=True))
    written = fetched or kernel.plan.waits_in_tile  # where results go, other lanes have read
    if written and kernel.plan.warps == 1:
        nvvm.bar_warp_sync(i32(-1))  # between the warps of a row the stages have barriers


def _row_of(kernel: Kernel) -> Callable[[RowAccesses], HeldRow | WalkedRow]:
    """What makes the row of a thread."""
    if kernel.facts.walked:
        return WalkedRow.in_slots
    return WalkedRow.of if kernel.plan.waits_in_tile else ROWS[kernel.plan.resident]


def _varying(kernel: Kernel) -> list[int]:
    """The inputs with an element for each of a result's, and not one for a row or a column."""
    rank = kernel.facts.kept_rank + kernel.facts.reduced_rank
    return [i for i, x in enumerate(kernel.inputs) if x.type.rank == rank]


def _reads_parts_of_lines(kernel: Kernel) -> bool:
    """Whether a CTA that keeps columns reads parts of lines of the L2 cache, of which neighbours read the rest."""
    plan = kernel.plan
    rows = plan.fast == "reduced" and plan.fragments != "matrix"
    if rows or plan.resident == "memory" or plan.tile_bytes:
        return False
    return any(
        kernel.facts.access[i] not in ("aligned", "matrix")
        or plan.slots * bytes_of(memory_type(element(kernel.inputs[i].type))) < LINE
        for i in kernel.facts.waiting
    )


@contextmanager
def _in_place(kernel: Kernel) -> Iterator[tuple[Tile, Place, Mapping[int, Sequence[Any]]]]:
    """The results of the CTA and the place of a thread whose elements are read, and written, where they are."""
    tile, place = first_place(kernel)
    yield tile, replace(place, start=existing(kernel, place)), {}


def _met(tile: Tile, state: Any, place: Place) -> Sequence[Any]:
    """The values of the state of the whole row, in each of its threads."""
    if place.plan.cluster > 1:
        return unpack(meet_in_cluster(tile, state, place, everywhere=True))
    return unpack(meet_in_cta(tile, state, place)[0])
