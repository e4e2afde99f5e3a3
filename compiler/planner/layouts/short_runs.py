"""Short runs of narrow elements: how wide an access to one is, how many lanes share it, what each has in flight.

All that is in flight is masked at both ends of a run, so that it is little, and what lies in a wide access beside a
short run is read for nothing. Which of both costs more depends on where runs lie.
"""

from __future__ import annotations

from typing import NamedTuple

from ...program.analysis.cost import operations
from ..alignment import WIDEST
from ..limits import LONG_COMBINE, calm_widest, in_words, joins_truths
from ..task import Task


class Run(NamedTuple):
    """How runs of up to ``most`` elements are read.

    Attributes:
        most: the longest.
        vector, lanes, unroll: elements of an access, lanes along the run, accesses in flight.
    """

    most: int
    vector: int
    lanes: int
    unroll: int


WHOLE = (
    Run(40, 16, 1, 1), Run(96, 16, 2, 2), Run(128, 16, 4, 2), Run(170, 8, 4, 1), Run(235, 16, 4, 1), Run(256, 16, 8, 2),
    Run(300, 8, 4, 1),
)  # fmt: skip
TABLES: dict[str, tuple[Run, ...]] = {
    "beside": (
        Run(29, 8, 1, 2), Run(36, 4, 1, 2), Run(70, 8, 1, 2), Run(90, 8, 2, 2), Run(150, 16, 2, 1), Run(300, 8, 4, 2),
    ),
    "apart": (
        Run(10, 8, 1, 2), Run(32, 8, 1, 1), Run(46, 8, 1, 2), Run(110, 8, 2, 2), Run(130, 16, 4, 2), Run(180, 8, 4, 1),
        Run(300, 8, 4, 2),
    ),
    "whole": WHOLE,
    "whole truths": (*WHOLE[:4], Run(235, 16, 2, 2), *WHOLE[5:]),
    "others": (Run(48, 8, 1, 1), Run(75, 8, 1, 2), Run(130, 8, 2, 1), Run(170, 8, 2, 2), Run(300, 8, 4, 2)),
    "pairs": (Run(40, 4, 1, 2), Run(150, 8, 2, 2)),
}  # fmt: skip
"""Of bytes that are taken up by the word: of runs beside those of the next result, of others, and of these where they
lie whole accesses apart, of which truth values have a table of their own. ``others`` are bytes that are not.
And of pairs of bytes, where a result has few runs (``are_pairs``)."""
MANY = 14
"""Short runs of a result from which on the warps of a CTA share it, however many results there are."""


def short(task: Task, length: int) -> Run | None:
    """How runs of so many elements are read, if they are short, with as many elements an access as states allow."""
    if task.itemsize > 1 and not are_pairs(task):
        return None
    found = next((run for run in TABLES[_place(task, length)] if length <= run.most), None)
    return found and found._replace(vector=min(found.vector, calm_widest(task)))


def are_pairs(task: Task) -> bool:
    """Whether elements are pairs of bytes with a state of one register, in a few runs a result."""
    light = task.itemsize == 2 and task.state_registers == 1 and operations(task.monoid) < LONG_COMBINE
    return light and task.geometry.runs < MANY


def _place(task: Task, length: int) -> str:
    """Which of TABLES counts."""
    g = task.geometry
    if task.itemsize > 1:
        return "pairs"
    if not in_words(task):
        return "others"
    if g.kept and g.kept[-1].strides[0] <= 2 * length:
        return "beside"
    if any(d.strides[0] % WIDEST for d in (*g.kept, *g.reduced[:-1])):
        return "apart"
    return "whole truths" if joins_truths(task) else "whole"
