"""Steps without folds: they write values of elements that no other step has, or gather for one that folds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from ..array_program import ArrayProgram
from ..graph import Expr, Space
from .groups import Group, Written, above_results, space_of

Along = Callable[[tuple[int, ...], tuple[int, ...]], tuple[int, ...]]
"""Along which dims the threads of a step without folds go, given the kept dims and those that they would go along."""


def maps_for(left: Sequence[Written], order: Sequence[int], whole: Collection[tuple[int, ...]]) -> list[Group]:
    """Steps without folds: one for all values along the same dims.

    Bits that share a word are along a row. If they fill their words, a row has more dims than these, as without bits.
    """
    groups: dict[tuple[Space, tuple[int, ...] | None], Group] = {}
    for w in left:
        alike = [x for x in left if x.space == w.space]
        words = next((x.words for x in (w, *alike) if x.words is not None), None)
        shared = _shared([x.value for x in alike], [d for d in order if w.space >> d & 1])
        own = space_of(words or ())
        fill = not own & ~shared and words is not None and words[-1:] in whole
        reduced = shared if words is None or fill else own
        along = (words or ()) if reduced == own else ()
        groups.setdefault((w.space, words), Group(w.space & ~reduced, reduced, along)).written.append(w)
    return list(groups.values())


def turned(group: Group, along: Along, program: ArrayProgram) -> Group:
    """A step without folds whose threads go along the dims that the planner says."""
    reduced = sum(1 << d for d in along(program.dims_of(group.kept), program.dims_of(group.reduced)))
    order = tuple(d for d in group.order if reduced >> d & 1)
    order = (*(d for d in program.dims_of(reduced) if order and d not in order), *order)
    return replace(group, kept=(group.kept | group.reduced) & ~reduced, reduced=reduced, order=order)


def gathering(gathers: Sequence[Expr], order: Sequence[int]) -> list[Group]:
    """The steps without folds before a plain step: they can write what it makes of the elements that it gathers."""
    found: dict[Space, Group] = {}
    for e in gathers:
        alike = tuple(x for x in gathers if x.space == e.space)
        reduced = _shared(alike, [d for d in order if e.space >> d & 1])
        found.setdefault(e.space, Group(e.space & ~reduced, reduced, first=alike))
    return list(found.values())


def _shared(values: Sequence[Expr], dims: Sequence[int]) -> Space:
    """The innermost ``dims`` along which the same arrays vary: threads share these."""
    spaces = [e.space for e in above_results(values) if e.op in ("input", "result")]
    found: Space = 0
    for d in reversed(dims):
        if any(space >> d & 1 != space >> dims[-1] & 1 for space in spaces):
            break
        found |= 1 << d
    return found
