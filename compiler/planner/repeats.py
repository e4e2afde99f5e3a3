"""Repeated elements: dims along which no input moves, as ``broadcast_to`` and ``expand`` make them.

A reduced one repeats the elements of a result: they are read once, and their state is combined with itself as many
times, if that changes anything. A kept one repeats results: they are reduced once, and stored everywhere.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import dropwhile, filterfalse
from math import prod

from ..program.analysis.proofs import proof
from ..space.geometry import Dim, Geometry, merged
from . import sittings
from .table import threshold
from .task import Task

LONG_RESULT = threshold(1 << 9, "elements of a result", sittings.REPEATS)
"""From here on reading a result's elements again takes longer than storing it once more."""
MANY_ELEMENTS = threshold(1 << 17, "elements of all results", sittings.REPEATS)
"""From here on copies pay: the threads that have a result store all its copies, and few short results leave most of the
machine idle meanwhile."""
FREE_COPIES = threshold(64, "copies of a result", sittings.REPEATS)
"""Up to here copies cost nothing in any case."""


def taken_out(g: Geometry, inputs: int, *, ordered: bool, indexed: bool) -> Geometry:
    """``g``, just collapsed, without what is repeated along its dims.

    Args:
        g: the geometry of ``inputs`` operands that are read, and outputs.
        inputs: how many operands are read; a mask is one of them.
        ordered: whether elements stay in order: (abc)(abc) is then a repeated state, and (aa)(bb)(cc) is not.
        indexed: whether numbers of elements do more than break ties, so that no element is repeated.
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
    """Whether the state of repeated elements must be combined with itself: an idempotent one need not."""
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
    """``g`` without the largest of the ``standing`` kept dims, if that pays; others stay."""
    copies = max(standing, key=lambda d: d.size, default=None)
    if copies is None:
        return g
    found = replace(g, kept=merged([d for d in g.kept if d is not copies]), copies=copies)
    pays = (
        found.n_reduced >= LONG_RESULT or found.n_kept * found.n_reduced >= MANY_ELEMENTS or copies.size <= FREE_COPIES
    )
    return found if pays else g
