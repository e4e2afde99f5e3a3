"""Short runs of narrow elements: how wide an access to one is, how many lanes share it, what each has in flight.

All that is in flight is masked at both ends of a run, so it is little, and what an access holds beside a short run is
read for nothing. Which of the two costs more depends on how far runs lie apart.
"""

from __future__ import annotations

from typing import NamedTuple

from .. import sittings
from ..alignment import WIDEST
from ..limits import widest_of_row
from ..table import Table, threshold
from ..task import Task


class Reading(NamedTuple):
    """How a run is read: elements of an access, lanes along the run, accesses in flight of a lane."""

    vector: int
    lanes: int
    unroll: int


BOUND = "elements of a run"
CHOICE = "(elements of an access, lanes, accesses in flight)"
NEIGHBOURS = Table(
    BOUND,
    CHOICE,
    sittings.PADDED,
    (
        (29, Reading(8, 1, 2)), (36, Reading(4, 1, 2)), (70, Reading(8, 1, 2)), (90, Reading(8, 2, 2)),
        (150, Reading(16, 2, 1)), (300, Reading(8, 4, 2)),
    ),
)  # fmt: skip
"""Bytes that are combined by the word, in runs beside those of the next result."""
DISTANT = Table(
    BOUND,
    CHOICE,
    sittings.PADDED,
    (
        (10, Reading(8, 1, 2)), (32, Reading(8, 1, 1)), (46, Reading(8, 1, 2)), (110, Reading(8, 2, 2)),
        (130, Reading(16, 4, 2)), (180, Reading(8, 4, 1)), (300, Reading(8, 4, 2)),
    ),
)  # fmt: skip
"""Bytes that are combined by the word, in other runs."""
WHOLE_ACCESSES = Table(
    BOUND,
    CHOICE,
    sittings.PADDED,
    (
        (40, Reading(16, 1, 1)), (96, Reading(16, 2, 2)), (128, Reading(16, 4, 2)), (170, Reading(8, 4, 1)),
        (235, Reading(16, 4, 1)), (256, Reading(16, 8, 2)), (300, Reading(8, 4, 1)),
    ),
)  # fmt: skip
"""Bytes that are added or compared, in other runs that lie whole accesses apart."""
WHOLE_ACCESSES_OF_TRUTHS = Table(
    BOUND,
    CHOICE,
    sittings.PADDED,
    (
        (40, Reading(16, 1, 1)), (96, Reading(16, 2, 2)), (128, Reading(16, 4, 2)), (170, Reading(8, 4, 1)),
        (235, Reading(16, 2, 2)), (256, Reading(16, 8, 2)), (300, Reading(8, 4, 1)),
    ),
)  # fmt: skip
"""Truth values, in other runs that lie whole accesses apart."""
MANY_ADDED = Table(
    BOUND,
    CHOICE,
    sittings.NEAR_THE_GATE,
    (
        (26, Reading(16, 1, 1)), (48, Reading(16, 2, 1)), (96, Reading(16, 4, 1)), (128, Reading(16, 8, 1)),
        (198, Reading(8, 4, 1)), (214, Reading(16, 4, 1)), (230, Reading(8, 4, 2)), (246, Reading(16, 8, 2)),
        (256, Reading(16, 16, 1)), (300, Reading(8, 4, 1)),
    ),
)  # fmt: skip
"""Bytes that are added, where are_many holds: most runs are one step."""
MANY_TRUTHS = Table(
    BOUND,
    CHOICE,
    sittings.NEAR_THE_GATE,
    (
        (40, Reading(16, 1, 1)), (96, Reading(16, 2, 2)), (150, Reading(16, 4, 2)), (170, Reading(8, 4, 1)),
        (300, Reading(16, 4, 4)),
    ),
)  # fmt: skip
"""Truth values, where are_many holds."""
OTHER_BYTES = Table(
    BOUND,
    CHOICE,
    sittings.PADDED,
    (
        (48, Reading(8, 1, 1)), (75, Reading(8, 1, 2)), (130, Reading(8, 2, 1)), (170, Reading(8, 2, 2)),
        (300, Reading(8, 4, 2)),
    ),
)  # fmt: skip
"""Bytes that are not combined by the word."""
PAIRS = Table(BOUND, CHOICE, sittings.SHORT_PAIRS, ((40, Reading(4, 1, 2)), (150, Reading(8, 2, 2))))
"""2-byte elements with a state of one register, where a result has fewer than MANY_RUNS."""
MANY_RUNS = threshold(14, "runs of a result", sittings.SHORT_PAIRS)
"""From here on the warps of a CTA share the short runs of a result, however many results there are."""


CROP_RUNS = threshold(24, "runs of a result", sittings.NEAR_THE_GATE)
"""From here on runs are many: each warp of a CTA has several."""
CROP_BYTES = threshold(64 << 20, "bytes of an array", sittings.NEAR_THE_GATE)
"""From here on runs are many: those of a smaller array are over before it matters how they are read."""


def short(task: Task, length: int) -> Reading | None:
    """How runs of ``length`` elements are read, if they are short, with as many elements an access as states allow."""
    if task.itemsize > 1 and not are_pairs(task):
        return None
    found = _table(task).at(length)
    return found and found._replace(vector=min(found.vector, widest_of_row(task)))


def are_pairs(task: Task) -> bool:
    """Whether elements have 2 bytes, their state has one register and a short combine, and a result has few runs."""
    light = task.itemsize == 2 and task.state_registers == 1 and not task.has_long_combine
    return light and task.geometry.runs < MANY_RUNS


def are_many(task: Task) -> bool:
    """Whether a large array has many runs a result, apart from those of the next result and by whole accesses."""
    many = task.geometry.runs >= CROP_RUNS and is_large(task)
    return many and not _are_neighbours(task) and _are_whole_accesses_apart(task)


def is_large(task: Task) -> bool:
    """Whether an array has CROP_BYTES."""
    return task.geometry.n_kept * task.geometry.n_reduced * task.itemsize >= CROP_BYTES


def _are_neighbours(task: Task) -> bool:
    g = task.geometry
    return bool(g.kept) and g.kept[-1].strides[0] <= 2 * g.reduced[-1].size


def _are_whole_accesses_apart(task: Task) -> bool:
    dims = (*task.geometry.kept, *task.geometry.reduced[:-1])
    return not any(d.strides[0] * task.itemsize % WIDEST for d in dims)


def _table(task: Task) -> Table[Reading]:
    """The table that decides how runs are read."""
    if task.itemsize > 1:
        return PAIRS
    if not task.combines_words:
        return OTHER_BYTES
    if _are_neighbours(task):
        return NEIGHBOURS
    if not _are_whole_accesses_apart(task):
        return DISTANT
    if task.joins_truths:
        return MANY_TRUTHS if are_many(task) else WHOLE_ACCESSES_OF_TRUTHS
    return MANY_ADDED if task.adds_bytes and are_many(task) else WHOLE_ACCESSES
