"""What one step of an array program computes: its rows, its folds in phases, and what it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...dtypes import BIT
from ...lazy import lazy
from ...postorder import postorder
from ..graph import Expr, Space
from .steps import Operand

Owns = Callable[[tuple[int, ...], tuple[int, ...]], bool]
"""Whether a CTA or a cluster may own the elements of each result, given the kept and the reduced dims.

The planner decides: ``owning`` in ``compiler/planner/resident/residency.py``.
"""

Splits = Callable[[tuple[int, ...], tuple[int, ...], tuple[int, ...]], bool]
"""Whether a step may leave states of sections along the last dims, given the kept and the reduced dims of its rows."""


class Written(NamedTuple):
    """A value that a step writes.

    Attributes:
        operand: the array that it is written to.
        value: its elements.
        space: the dims of the array; the value may vary along fewer.
        words: for bits the dims along which they share words, outermost first; None for other elements.
    """

    operand: Operand
    value: Expr
    space: Space
    words: tuple[int, ...] | None = None


class Scanning(NamedTuple):
    """What scans of one step have in common, beside their dims.

    Attributes:
        along: the dims that they go along, outermost first.
        exclusive, reverse: as those of ``Scan``.
    """

    along: tuple[int, ...]
    exclusive: bool
    reverse: bool


@dataclass(eq=False)
class Group:
    """What one step computes.

    Attributes:
        kept, reduced: the dims of its rows, and those along a row.
        owned: whether a CTA or a cluster may own a row; its threads combine elements in any order.
        phases: its folds; those of a phase use none of the others' results.
        order: the reduced dims, outermost first, where the elements are combined in their order; else empty.
        written: what it writes.
        first: the elements that it gathers, or reads as bits, for a later one.
        far: whether rows wait far from the threads, or are folded once: another read costs more than instructions.
        sides: its side folds, over the dims of its rows, of elements that it has anyway.
        sections: folds over parts of its rows, and maybe over rows: it leaves the states of sections for a later step.
        sectioned: the innermost dims of its rows, of which these sections are parts.
        source: the step that leaves the states of sections which this one combines; None where it folds elements.
        scan: what its scans have in common, which are its only phase; None for a step that folds, or does neither.
    """

    kept: Space
    reduced: Space
    order: tuple[int, ...] = ()
    owned: bool = True
    phases: tuple[tuple[Expr, ...], ...] = ()
    written: list[Written] = field(default_factory=list)
    first: tuple[Expr, ...] = ()
    far: bool = False
    sides: tuple[Expr, ...] = ()
    sections: tuple[Expr, ...] = ()
    sectioned: Space = 0
    source: Group | None = None
    scan: Scanning | None = None

    @property
    def space(self) -> Space:
        """The dims of what it writes for later steps: those of its rows, or without folds of its elements."""
        return self.kept if self.phases and not self.scan else self.kept | self.reduced

    @lazy
    def own(self) -> frozenset[str]:
        """The digests of its folds."""
        return frozenset(f.digest for phase in (*self.phases, self.sides) for f in phase)

    @property
    def is_plain(self) -> bool:
        """Whether it is one reduction, whose results no element uses: a step for the planner of reductions."""
        aside = self.sides or self.sections
        single = len(self.phases) == 1 and not (aside or self.scan) and not any(map(self.is_full, self.written))
        own = any(map(_gathers, (*self.first, *(w.value for w in self.written))))
        return single and not own and (not self.gathers or bool(self.mapped))

    @lazy
    def gathers(self) -> tuple[Expr, ...]:
        """The elements that it folds and that are gathered, or bits that it does not read."""
        return tuple(e for e in above_results(self.folded) if self._is_apart(e))

    @property
    def mapped(self) -> tuple[Expr, ...]:
        """Those of them that a map makes before it.

        All are where no CTA owns a row, or where a step comes before it anyway: the threads of a map are more than
        those of a row, and a plain reduction follows.
        """
        single = len(self.phases) == 1 and not any(map(self.is_full, self.written))
        after_another = single and any(e.op == "result" for e in above_results(self.folded))
        return self.gathers if not self.owned or after_another else ()

    def is_full(self, written: Written) -> bool:
        """Whether a value is written for each element, and not for each row or by a side fold."""
        return not self.phases or (bool(written.space & self.reduced) and not self.is_side(written))

    def is_side(self, written: Written) -> bool:
        """Whether a value is what a side fold leaves along the row: elements have the dims of rows, too."""
        return bool(self.sides) and written.space == self.reduced

    @property
    def folded(self) -> tuple[Expr, ...]:
        """The values that it folds."""
        phases = (*self.phases, self.sides) if self.source is None else ()
        return tuple(a for phase in (*phases, self.sections) for f in phase for a in f.args)

    @property
    def roots(self) -> tuple[Expr, ...]:
        """The values that it needs: those that it folds, then those that it writes."""
        return (*self.folded, *(w.value for w in self.written))

    def makes(self, e: Expr) -> bool:
        """Whether it can write ``e`` for each row, or after its side folds.

        A plain step makes expressions of its results, of constants and of its count alone. Where rows are far, a step
        that gathers is another one: its CTAs fold rows by themselves, and make anything of the results.
        """
        leaves = [x for x in above_results((e,)) if not x.args or x.op in ("result", "gather")]
        if self.sides and e.space == self.reduced:
            own = {f.digest for f in self.sides}
            counted = [x for x in leaves if x.op == "count" and x.value == self.kept]
            return all(
                x.op == "const" or x in counted or (x.op == "result" and x.args[0].digest in own) for x in leaves
            )
        if e.space & ~self.space or (self.scan and any(map(self._is_apart, above_results((e,))))):
            return False
        if not self.is_plain or (self.far and _gathers(e)):
            return True
        return all(x.op == "const" or (x.op == "count" and x.value == self.reduced) or self.folds(x) for x in leaves)

    def _is_apart(self, e: Expr) -> bool:
        """Whether a value is of an element that an index chooses, or of bits, which are not read from the last on."""
        return e.op == "gather" or bool(self.scan and self.scan.reverse and any(a.dtype == BIT for a in e.args))

    def folds(self, e: Expr) -> bool:
        """Whether ``e`` is a result of its folds."""
        return e.op == "result" and e.args[0].digest in self.own


def _gathers(e: Expr) -> bool:
    """Whether a value is made of an element that an index chooses."""
    return any(x.op == "gather" for x in above_results((e,)))


def above_results(roots: Sequence[Expr]) -> Iterator[Expr]:
    """The nodes below ``roots`` down to the results of folds, operands before users."""
    return postorder(roots, lambda e: () if e.op == "result" else e.args)


def folds_below(roots: Sequence[Expr]) -> dict[str, frozenset[str]]:
    """For each node below ``roots`` the digests of the folds that it depends on; a fold depends on itself."""
    found: dict[str, frozenset[str]] = {}
    for e in postorder(roots, lambda e: e.args):
        below = frozenset[str]().union(*(found[a.digest] for a in e.args))
        found[e.digest] = below | {e.digest} if e.op in ("fold", "scan") else below
    return found


def space_of(axes: Sequence[int | None]) -> Space:
    """The dims of axes."""
    return sum(1 << d for d in axes if d is not None)
