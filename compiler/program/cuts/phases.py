"""Which folds of an array program one step makes, and which step writes each result.

Folds over the same dims of the same elements are one step, in *phases*: a fold that uses the result of another one on
the elements belongs to a later phase. A step whose rows no CTA or cluster can own has one phase.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ...lazy import lazy
from ...postorder import postorder
from ..array_program import ArrayProgram, Fold
from ..graph import Expr, Space
from .steps import Operand

Owns = Callable[[tuple[int, ...], tuple[int, ...]], bool]
"""Whether a CTA or a cluster may own the elements of each result, given the kept and the reduced dims.

The planner decides: ``owning`` in ``compiler/planner/resident/residency.py``.
"""

Splits = Callable[[tuple[int, ...], tuple[int, ...], tuple[int, ...]], bool]
"""Whether a step may leave states of sections along the last dims, given the kept and the reduced dims of its rows."""

Along = Callable[[tuple[int, ...], tuple[int, ...]], tuple[int, ...]]
"""Along which dims the threads of a step without folds go, given the kept dims and those that they would go along."""


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


@dataclass(eq=False)
class Group:
    """What one step computes.

    Attributes:
        kept, reduced: the dims of its rows, and those along a row.
        owned: whether a CTA or a cluster may own a row; its threads combine elements in any order.
        phases: its folds; those of a phase use none of the others' results.
        order: the reduced dims, outermost first, where the elements are combined in their order; else empty.
        written: what it writes.
        first: the elements that it gathers for a later one.
        far: whether rows wait far from the threads, or are folded once: another read costs more than instructions.
        sides: its side folds, over the dims of its rows, of elements that it has anyway.
        sections: folds over parts of its rows, and maybe over rows: it leaves the states of sections for a later step.
        sectioned: the innermost dims of its rows, of which these sections are parts.
        source: the step that leaves the states of sections which this one combines; None where it folds elements.
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

    @property
    def space(self) -> Space:
        """The dims of what it writes for later steps: those of its rows, or without folds of its elements."""
        return self.kept if self.phases else self.kept | self.reduced

    @lazy
    def own(self) -> frozenset[str]:
        """The digests of its folds."""
        return frozenset(f.digest for phase in (*self.phases, self.sides) for f in phase)

    @property
    def is_plain(self) -> bool:
        """Whether it is one reduction, whose results no element uses: a step for the planner of reductions."""
        aside = self.sides or self.sections
        single = len(self.phases) == 1 and not aside and not any(map(self.is_full, self.written))
        own = any(map(_gathers, (*self.first, *(w.value for w in self.written))))
        return single and not own and (not self.gathers or bool(self.mapped))

    @lazy
    def gathers(self) -> tuple[Expr, ...]:
        """The elements that it folds and that are gathered."""
        return tuple(e for e in above_results(self.folded) if e.op == "gather")

    @property
    def mapped(self) -> tuple[Expr, ...]:
        """Those of them that a map gathers before it.

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
            return all(x.op == "const" or (x.op == "result" and x.args[0].digest in own) for x in leaves)
        if e.space & ~self.space:
            return False
        if not self.is_plain or (self.far and _gathers(e)):
            return True
        return all(x.op == "const" or (x.op == "count" and x.value == self.reduced) or self.folds(x) for x in leaves)

    def folds(self, e: Expr) -> bool:
        """Whether ``e`` is a result of its folds."""
        return e.op == "result" and e.args[0].digest in self.own


def _gathers(e: Expr) -> bool:
    """Whether a value is made of an element that an index chooses."""
    return any(x.op == "gather" for x in above_results((e,)))


def above_results(roots: Sequence[Expr]) -> Iterator[Expr]:
    """The nodes below ``roots`` down to the results of folds, operands before users."""
    return postorder(roots, lambda e: () if e.op == "result" else e.args)


def folds_below(roots: Sequence[Expr], *, gathers: bool = False) -> dict[str, frozenset[str]]:
    """For each node below ``roots`` the digests of the folds that it depends on, and of the ``gathers`` if asked for.

    A fold depends on itself, and not on what it gathers: a step may fold what a later one gathers again.
    """
    found: dict[str, frozenset[str]] = {}
    gathered = frozenset[str]()
    for e in postorder(roots, lambda e: e.args):
        below = frozenset[str]().union(*(found[a.digest] for a in e.args))
        if e.op == "fold":
            below = below - gathered | {e.digest}
        elif gathers and e.op == "gather":
            below, gathered = below | {e.digest}, gathered | {e.digest}
        found[e.digest] = below
    return found


def space_of(axes: Sequence[int | None]) -> Space:
    """The dims of axes."""
    return sum(1 << d for d in axes if d is not None)


def grouped(
    program: ArrayProgram,
    owns: Owns,
    order: Sequence[int],
    whole: Collection[int] = (),
    along: Along = lambda _, reduced: reduced,
    far: Owns = lambda *_: False,
    joins: Owns = lambda *_: False,
    splits: Splits = lambda *_: False,
) -> list[Group]:
    """What the steps of ``program`` compute and write, in order.

    A step of a plain reduction gathers nothing: an earlier step of the same rows does so, or else a map before it.

    Args:
        program: the program.
        owns: the planner's answer which rows a CTA or a cluster may own.
        order: the dims as they lie in memory, outermost first.
        whole: the dims along which elements fill words of bits.
        along: the planner's answer along which dims the threads of a step without folds go.
        far: the planner's answer which of the rows that are owned wait far from the threads, or are folded once.
        joins: the planner's answer in which steps of rows side folds may join.
        splits: the planner's answer whether steps of rows may leave states of sections along some dims.
    """
    below = folds_below(program.roots)
    groups = _fold_groups(program, below, owns, far, joins, splits)
    step_of = {digest: i for i, g in reversed(list(enumerate(groups))) for digest in g.own}
    step_of |= {f.digest: i + 1 for i, g in enumerate(groups) for f in g.sides}  # known when the step is over
    left = [Written(Operand("output", i), o.expr, space_of(o.axes), o.words) for i, o in enumerate(program.outputs)]
    for serves in (_writes_sides, _writes_elements, _writes_rows):
        waiting, left = left, []
        for w in waiting:
            first = max(_steps(below, w.value, step_of), default=0) if serves is not _writes_sides else 0
            group = next((g for g in groups[first:] if serves(g, w)), None)
            (left if group is None else group.written).append(w)
    maps, found = [_turned(g, along, program) for g in _maps(left, order, whole)], list[Group]()
    for i, g in enumerate(groups):
        missing = [e for e in g.mapped if not any(e in before.first for before in found)]
        missing = [e for e in missing if not _gathers_for(e, groups[max(_steps(below, e, step_of), default=0) : i])]
        found += [*_gathering(missing, order), g]
    return found + maps


def _steps(below: dict[str, frozenset[str]], e: Expr, step_of: dict[str, int]) -> list[int]:
    """The steps of the folds that a value depends on."""
    return [step_of[f] for f in below[e.digest]]


# --- folds -----------------------------------------------------------------------------------------------------------
def _fold_groups(
    program: ArrayProgram, below: dict[str, frozenset[str]], owns: Owns, far: Owns, joins: Owns, splits: Splits
) -> list[Group]:
    """The steps of all folds, in an order in which each finds the results that it needs.

    A step is taken first if no fold of its dims has to wait for another step, or if side folds may join it. Before all
    of them come the folds that a row needs to write its elements.
    """
    early = _early(program, below, owns)
    groups: list[Group] = []
    for waiting in ([f for f in program.folds if (f.digest in early) is first] for first in (True, False)):
        while waiting:
            found = [_foldable(program, key, waiting, below, owns, far) for key in dict.fromkeys(map(_key, waiting))]
            ready = [(g, whole) for g, whole in found if g.phases]
            takers = [g for g, _ in ready if g.owned and joins(*map(program.dims_of, (g.kept, g.reduced)))]
            joined = [replace(g, sides=_sides(g, waiting, below)) for g in takers]
            group = next((g for g in joined if g.sides), None) or next((g for g, whole in ready if whole), ready[0][0])
            group = _with_early(group, program, early - group.own, below)
            group.source = next((g for g in groups if {f.digest for f in g.sections} >= group.own), None)
            if group.source is None and group.owned:
                group.sections, group.sectioned = _sections(group, waiting, below, program, splits)
            groups.append(group)
            waiting = [f for f in waiting if f.digest not in group.own]
    return groups


def _with_early(group: Group, program: ArrayProgram, early: frozenset[str], below: dict[str, frozenset[str]]) -> Group:
    """A step that makes folds of its dims again which a value of its rows needs: a map behind it would cost more."""
    rows = [below[o.expr.digest] for o in program.outputs if space_of(o.axes) == group.kept]
    needed = frozenset().union(*(folds for folds in rows if folds & group.own)) & early
    again = [f for f in program.folds if f.digest in needed and _key(f) == (group.kept, group.reduced, group.order)]
    return replace(group, phases=((*again, *group.phases[0]), *group.phases[1:])) if again else group


def _early(program: ArrayProgram, below: dict[str, frozenset[str]], owns: Owns) -> frozenset[str]:
    """The folds without which the owner of a row cannot write its elements, and which do not need that row's folds."""
    folds = {f.digest: f for f in program.folds}
    early: frozenset[str] = frozenset()
    for o in program.outputs:
        space, needed = space_of(o.axes), below[o.expr.digest]
        rows = {d for d in needed if folds[d].space | _fold(folds[d]).over == space and folds[d].space != space}
        if any(owns(*map(program.dims_of, _key(folds[d])[:2])) for d in rows):
            early |= {d for d in needed - rows if not below[d] & rows}
    return early


_Key = tuple[Space, Space, tuple[int, ...]]


def _key(fold: Expr) -> _Key:
    """What folds of one step have in common: kept dims, reduced dims, and an order of these if it is not the usual."""
    order = _fold(fold).order
    return fold.space, _fold(fold).over, order if order != tuple(sorted(order)) else ()


def _fold(e: Expr) -> Fold:
    """What a ``fold`` node does."""
    assert isinstance(e.value, Fold)
    return e.value


def _foldable(
    program: ArrayProgram,
    key: _Key,
    waiting: Sequence[Expr],
    below: dict[str, frozenset[str]],
    owns: Owns,
    far: Owns,
) -> tuple[Group, bool]:
    """The folds over some dims that a step can make now, and whether no others over these dims wait."""
    left = frozenset(f.digest for f in waiting)
    alike = [f for f in waiting if _key(f) == key]
    dims = tuple(map(program.dims_of, key[:2]))
    owned = all(_fold(f).monoid.commutative for f in alike) and owns(*dims)
    phase: dict[str, int] = {}
    for f in alike:
        before = (below[f.digest] & left) - {f.digest}
        if not before or (owned and before <= phase.keys()):
            phase[f.digest] = 1 + max((phase[b] for b in before), default=-1)
    numbers = range(1 + max(phase.values(), default=-1))
    phases = tuple(tuple(f for f in alike if phase.get(f.digest) == i) for i in numbers)
    return Group(*key, owned, phases, far=owned and far(*dims)), len(phase) == len(alike)


def _sides(group: Group, waiting: Sequence[Expr], below: dict[str, frozenset[str]]) -> tuple[Expr, ...]:
    """The folds over the dims of the rows of ``group`` that it can make of elements that it reads anyway.

    They keep the dims of a row, need no results but those of its own phases, and take elements in any order.
    """
    left = {f.digest for f in waiting} - group.own
    read = _elements_read(group, group.folded)
    return tuple(
        f
        for f in waiting
        if f.space == group.reduced
        and _fold(f).over == group.kept
        and _fold(f).monoid.commutative
        and left.isdisjoint(below[f.digest] - {f.digest})
        and read & _elements_read(group, f.args)
    )


def _sections(
    group: Group, waiting: Sequence[Expr], below: dict[str, frozenset[str]], program: ArrayProgram, splits: Splits
) -> tuple[tuple[Expr, ...], Space]:
    """Folds over parts of the rows of ``group``, of elements that it reads anyway, and the dims of these parts.

    They are all folds of one later step, which then combines the states of sections. The step of the rows writes their
    elements: a reduction stays one.
    """
    whole, left = group.kept | group.reduced, {f.digest for f in waiting} - group.own
    if not any(space_of(o.axes) == whole and below[o.expr.digest] & group.own for o in program.outputs):
        return (), 0
    read = _elements_read(group, group.folded)
    for space, over, order in dict.fromkeys(_key(f) for f in waiting if f.digest in left):
        inner, alike = over & group.reduced, tuple(f for f in waiting if _key(f) == (space, over, order))
        own = all(
            _fold(f).monoid.commutative
            and left.isdisjoint(below[f.digest] - {f.digest})
            and read & _elements_read(group, f.args)
            for f in alike
        )
        served = own and inner and not order and space | over == whole
        if served and splits(*map(program.dims_of, (group.kept, group.reduced, inner))):
            return alike, inner
    return (), 0


def _elements_read(group: Group, roots: Sequence[Expr]) -> set[object]:
    """The views of which values below ``roots`` need an element for each of the group's."""
    return {e.value for e in above_results(roots) if e.op == "input" and e.space == group.kept | group.reduced}


# --- results ---------------------------------------------------------------------------------------------------------
def _writes_elements(group: Group, written: Written) -> bool:
    """Whether a step with folds can write a value for each of its elements, and has read some of what that needs.

    Bits that share a word belong to one row.
    """
    if not group.owned or group.source is not None or written.space != group.kept | group.reduced:
        return False
    if written.words is not None and space_of(written.words) != group.reduced:
        return False
    own = {e.value for e in above_results(group.roots) if e.op == "input"}
    return any(group.folds(e) or (e.op == "input" and e.value in own) for e in above_results((written.value,)))


def _writes_sides(group: Group, written: Written) -> bool:
    """Whether a step can write a value that its side folds leave."""
    return bool(group.sides) and written.space == group.reduced and written.words is None and group.makes(written.value)


def _writes_rows(group: Group, written: Written) -> bool:
    """Whether a step with folds can write a value for each of its rows."""
    return written.space == group.kept and written.words is None and group.makes(written.value)


def _maps(left: Sequence[Written], order: Sequence[int], whole: Collection[int]) -> list[Group]:
    """Steps without folds: one for all values along the same dims.

    Bits that share a word are along a row. If they fill their words, a row has more dims than these, as without bits.
    """
    groups: dict[tuple[Space, tuple[int, ...] | None], Group] = {}
    for w in left:
        alike = [x for x in left if x.space == w.space]
        words = next((x.words for x in (w, *alike) if x.words is not None), None)
        shared = _shared([x.value for x in alike], [d for d in order if w.space >> d & 1])
        own = space_of(words or ())
        fill = not own & ~shared and set(words[-1:] if words else ()) & set(whole)
        reduced = shared if words is None or fill else own
        along = (words or ()) if reduced == own else ()
        groups.setdefault((w.space, words), Group(w.space & ~reduced, reduced, along)).written.append(w)
    return list(groups.values())


def _turned(group: Group, along: Along, program: ArrayProgram) -> Group:
    """A step without folds whose threads go along the dims that the planner says."""
    reduced = sum(1 << d for d in along(program.dims_of(group.kept), program.dims_of(group.reduced)))
    order = tuple(d for d in group.order if reduced >> d & 1)
    return replace(group, kept=(group.kept | group.reduced) & ~reduced, reduced=reduced, order=order)


def _gathers_for(e: Expr, groups: Sequence[Group]) -> bool:
    """Whether one of ``groups``, whose rows have an element each, gathers it for a later step, as it then will."""
    group = next((g for g in groups if (g.far or not g.is_plain) and g.space == e.space and g.makes(e)), None)
    if group is not None:
        group.first += (e,)
    return group is not None


def _gathering(gathers: Sequence[Expr], order: Sequence[int]) -> list[Group]:
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
