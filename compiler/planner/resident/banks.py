"""How the lanes of a warp wait for each other at the banks of shared memory, where rows go through a tile."""

from __future__ import annotations

from collections.abc import Sequence

from ...plan.arithmetic import INTEGERS
from ...plan.layout import layout_of
from ...plan.plan import Plan
from ...space.geometry import Dim, Geometry
from ..layouts.tiled import BANKS, WORD


def waits(plan: Plan, geometry: Geometry, operand: int, item: int) -> int:
    """The most words of one bank that the lanes of a warp ask for at a time, of elements of ``item`` bytes in a tile.

    An access of 8 bytes serves half a warp at a time. A row may begin at any of the elements of a word.
    """
    width = max(WORD, item)
    together = BANKS // width
    layout, places = layout_of(plan), []
    for thread in range(together):
        at = layout.place({"lane": thread}, INTEGERS)
        places.append(_offset(geometry.kept, at["kept"], operand) + _offset(geometry.reduced, at["reduced"], operand))
    worst = 0
    for begin in range(width // item):
        words: dict[int, set[int]] = {}
        for place in places:
            word = (begin + place) * item // width
            words.setdefault(word % together, set()).add(word)
        worst = max(worst, *map(len, words.values()))
    return worst


def _offset(dims: Sequence[Dim], index: int, operand: int) -> int:
    """Where the element with an index over some dims lies, as if the outermost had no end."""
    found = 0
    for d in reversed(dims[1:]):
        index, at = divmod(index, d.size)
        found += at * d.strides[operand]
    return found + index * dims[0].strides[operand]
