"""Repeated elements: dims along which no input moves, as ``broadcast_to`` and ``expand`` make them.

A reduced one has the same elements again and again: they are read once, and their state is combined with itself as many
times, if that changes anything. A kept one has the same results again and again: they are reduced once, and stored at
every place.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import dropwhile, filterfalse
from math import prod

from ..program.analysis.proofs import proof
from ..space.geometry import Dim, Geometry, merged
from .task import Task

LONG, MANY = 1 << 9, 1 << 17
"""Elements of a result, and of all results, from which on reading a result's elements again takes longer than storing
it once more. The threads that have a result store all copies of it: of few elements each, few results leave most of the
machine idle meanwhile."""
FEW = 64
"""Copies that cost nothing in any case."""


def taken_out(g: Geometry, inputs: int, *, ordered: bool, indexed: bool) -> Geometry:
    """``g``, just collapsed, without what is repeated along its dims.

    Args:
        g: the geometry of so many ``inputs``, and outputs.
        inputs: operands that are read; a mask is one of them.
        ordered: the elements stay in order: (abc)(abc) is a repeated state then, (aa)(bb)(cc) is none.
        indexed: the numbers of elements tell more than which of equals is the first, so none of them is repeated.
    """

    def stands(d: Dim) -> bool:
        return not any(d.strides[:inputs])

    if not g.n_kept * g.n_reduced:
        return g
    left = list(g.reduced)
    if not indexed:
        left = list(dropwhile(stands, left) if ordered else filterfalse(stands, left))
    found = replace(g, reduced=merged(left), times=g.n_reduced // prod(d.size for d in left))
    return _without_copies(found, [d for d in g.kept if stands(d)])


def is_raised(task: Task) -> bool:
    """Whether the state of elements that a result has several times is combined with itself: it may be so already."""
    return task.geometry.times > 1 and proof(task.monoid, "idempotence") is None


def repetitions(task: Task) -> list[str]:
    """What is repeated, in words."""
    g, found = task.geometry, []
    if g.times > 1:
        all_of_them = "their state, combined with itself, is that of all" if is_raised(task) else "once is as good"
        found.append(f"a result has its elements {g.times} times: {all_of_them}")
    if g.copies is not None:
        found.append(
            f"{g.copies.size} results are equal each time: they are reduced once, and stored at as many places"
        )
    return found


def _without_copies(g: Geometry, standing: list[Dim]) -> Geometry:
    """``g`` without the largest kept dim of those ``standing``, if that pays; others stay."""
    copies = max(standing, key=lambda d: d.size, default=None)
    if copies is None:
        return g
    found = replace(g, kept=merged([d for d in g.kept if d is not copies]), copies=copies)
    pays = found.n_reduced >= LONG or found.n_kept * found.n_reduced >= MANY or copies.size <= FEW
    return found if pays else g
