"""Which steps an array program has, and which of them writes each result.

Steps without folds: they write values of elements that no other step has, or gather for one that folds.

Which folds of an array program one step makes.

Folds over the same dims of the same elements are one step, in *phases*: a fold that uses the result of another one on
the elements belongs to a later phase. A step whose rows no CTA or cluster can own has one phase.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

from ..array_program import ArrayProgram, Fold, Scan
from ..graph import Expr, Space
from .groups import Group, Owns, Scanning, Splits, Written, above_results, folds_below, space_of
from .steps import Operand

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


def fold_groups(
    program: ArrayProgram, below: dict[str, frozenset[str]], owns: Owns, far: Owns, joins: Owns, splits: Splits
) -> list[Group]:
    """The steps of all folds, in an order in which each finds the results that it needs.

    A step is taken first if no fold of its dims has to wait for another step, or if side folds may join it. Before all
    of them come the folds that a row needs to write its elements.
    """
    early = _early(program, below, owns)
    groups: list[Group] = []
    for waiting in ([f for f in program.meetings if (f.digest in early) is first] for first in (True, False)):
        while waiting:
            found = [_foldable(program, key, waiting, below, owns, far) for key in dict.fromkeys(map(_key, waiting))]
            ready = [(g, whole) for g, whole in found if g.phases]
            takers = [g for g, _ in ready if g.owned and joins(*map(program.dims_of, (g.kept, g.reduced)))]
            joined = [replace(g, sides=_sides(g, waiting, below)) for g in takers]
            group = next((g for g in joined if g.sides), None) or next((g for g, whole in ready if whole), ready[0][0])
            left = frozenset(f.digest for f in waiting)
            group = _with_early(group, program, early - left, below)
            group.source = next((g for g in groups if {f.digest for f in g.sections} >= group.own), None)
            if group.source is None and group.owned:
                taken = {f for g in groups for f in g.sections}
                group.sections, group.sectioned = _sections(group, waiting, taken, below, program, splits)
            groups.append(group)
            waiting = [f for f in waiting if f.digest not in group.own]
    return groups


def _with_early(group: Group, program: ArrayProgram, early: frozenset[str], below: dict[str, frozenset[str]]) -> Group:
    """A step that makes folds of its dims again which a value of its rows needs: a map behind it would cost more.

    Those that its own first folds need are known already, and read from buffers. A fold that needs another one which is
    made again has a later phase: without an owner of the row it is read, too.
    """
    rows = [below[o.expr.digest] for o in program.outputs if space_of(o.axes) == group.kept]
    needed = frozenset().union(*(folds for folds in rows if folds & group.own)) & early
    needed -= frozenset().union(*(below[f.digest] for f in group.phases[0]))
    again = [f for f in program.folds if f.digest in needed and _key(f) == (group.kept, group.reduced, group.order)]
    if not again:
        return group
    phase: dict[str, int] = {}
    for f in (*again, *(f for own in group.phases for f in own)):
        phase[f.digest] = 1 + max((phase[b] for b in below[f.digest] if b in phase), default=-1)
    made = [f for f in again if group.owned or not phase[f.digest]]
    folds = (*made, *(f for own in group.phases for f in own))
    numbers = range(1 + max(phase[f.digest] for f in folds))
    return replace(group, phases=tuple(tuple(f for f in folds if phase[f.digest] == i) for i in numbers))


def _early(program: ArrayProgram, below: dict[str, frozenset[str]], owns: Owns) -> frozenset[str]:
    """The folds without which the owner of a row cannot write its elements, and which do not need that row's folds.

    Scans that these need are among them.
    """
    folds, meetings = {f.digest: f for f in program.folds}, {f.digest for f in program.meetings}
    early: frozenset[str] = frozenset()
    for o in program.outputs:
        space, needed = space_of(o.axes), below[o.expr.digest] & folds.keys()
        rows = {d for d in needed if folds[d].space | _fold(folds[d]).over == space and folds[d].space != space}
        if any(owns(*map(program.dims_of, _key(folds[d])[:2])) for d in rows):
            early |= {m for d in needed - rows if not below[d] & rows for m in below[d] & meetings}
    return early


_Key = tuple[Space, Space, tuple[int, ...] | Scanning]


def _key(fold: Expr) -> _Key:
    """What folds of one step have in common: kept dims, reduced dims, and an order of these if it is not the usual."""
    if isinstance(scan := fold.value, Scan):
        return fold.space & ~scan.over, scan.over, Scanning(scan.along, scan.exclusive, scan.reverse)
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
    if isinstance(order := key[2], Scanning):
        ready = tuple(f for f in alike if not (below[f.digest] & left) - {f.digest})
        group = Group(*key[:2], order.along, owned=False, phases=(ready,) if ready else (), scan=order)
        return group, len(ready) == len(alike)
    dims = tuple(map(program.dims_of, key[:2]))
    owned = all(_fold(f).monoid.commutative for f in alike) and owns(*dims)
    phase: dict[str, int] = {}
    for f in alike:
        before = (below[f.digest] & left) - {f.digest}
        if not before or (owned and before <= phase.keys()):
            phase[f.digest] = 1 + max((phase[b] for b in before), default=-1)
    numbers = range(1 + max(phase.values(), default=-1))
    phases = tuple(tuple(f for f in alike if phase.get(f.digest) == i) for i in numbers)
    return Group(*key[:2], order, owned, phases, far=owned and far(*dims)), len(phase) == len(alike)


def _sides(group: Group, waiting: Sequence[Expr], below: dict[str, frozenset[str]]) -> tuple[Expr, ...]:
    """The folds over the dims of the rows of ``group`` that it can make of elements that it reads anyway.

    They keep the dims of a row, need no results but those of its own phases, and take elements in any order.
    """
    left = {f.digest for f in waiting} - group.own
    read = _elements_read(group, group.folded)
    return tuple(
        f
        for f in waiting
        if isinstance(f.value, Fold)
        and f.space == group.reduced
        and _fold(f).over == group.kept
        and _fold(f).monoid.commutative
        and left.isdisjoint(below[f.digest] - {f.digest})
        and read & _elements_read(group, f.args)
    )


def _sections(
    group: Group,
    waiting: Sequence[Expr],
    taken: set[Expr],
    below: dict[str, frozenset[str]],
    program: ArrayProgram,
    splits: Splits,
) -> tuple[tuple[Expr, ...], Space]:
    """Folds over parts of the rows of ``group``, of elements that it reads anyway, and the dims of these parts.

    They are all folds of one later step, which then combines the states of sections; those ``taken`` have states from
    an earlier one. The step of the rows writes their elements: a reduction stays one.
    """
    whole, known = group.kept | group.reduced, {f.digest for phase in group.phases for f in phase}
    left = {f.digest for f in waiting} - known  # side folds are known when the step is over
    if not any(space_of(o.axes) == whole and below[o.expr.digest] & group.own for o in program.outputs):
        return (), 0
    read = _elements_read(group, group.folded)
    later = [f for f in waiting if f.digest not in group.own and isinstance(f.value, Fold)]
    for space, over, order in dict.fromkeys(map(_key, later)):
        inner, alike = over & group.reduced, tuple(f for f in later if _key(f) == (space, over, order))
        own = all(
            _fold(f).monoid.commutative
            and left.isdisjoint(below[f.digest] - {f.digest})
            and read & _elements_read(group, f.args)
            for f in alike
        )
        served = own and inner and not order and space | over == whole and taken.isdisjoint(alike)
        if served and splits(*map(program.dims_of, (group.kept, group.reduced, inner))):
            return alike, inner
    return (), 0


def _elements_read(group: Group, roots: Sequence[Expr]) -> set[object]:
    """The views of which values below ``roots`` need an element for each of the group's."""
    return {e.value for e in above_results(roots) if e.op == "input" and e.space == group.kept | group.reduced}


def grouped(
    program: ArrayProgram,
    owns: Owns,
    order: Sequence[int],
    whole: Collection[tuple[int, ...]] = (),
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
        whole: innermost dims of arrays of bits whose elements fill words.
        along: the planner's answer along which dims the threads of a step without folds go.
        far: the planner's answer which of the rows that are owned wait far from the threads, or are folded once.
        joins: the planner's answer in which steps of rows side folds may join.
        splits: the planner's answer whether steps of rows may leave states of sections along some dims.
    """
    below = folds_below(program.roots)
    groups = fold_groups(program, below, owns, far, joins, splits)
    step_of = {digest: i for i, g in reversed(list(enumerate(groups))) for digest in g.own}
    step_of |= {f.digest: i + 1 for i, g in enumerate(groups) for f in g.sides}  # known when the step is over
    left = [Written(Operand("output", i), o.expr, space_of(o.axes), o.words) for i, o in enumerate(program.outputs)]
    for serves in (_writes_sides, partial(_writes_elements, order, whole), _writes_rows):
        waiting, left = left, []
        for w in waiting:
            first = max(_steps(below, w.value, step_of), default=0) if serves is not _writes_sides else 0
            group = next((g for g in groups[first:] if serves(g, w)), None)
            (left if group is None else group.written).append(w)
    lacking = [g for g in groups if g.sections and not any(map(g.is_full, g.written))]
    if lacking:  # states of sections are stored with elements, which other steps write
        rows = [(program.dims_of(g.kept), program.dims_of(g.reduced)) for g in lacking]
        return grouped(
            program, owns, order, whole, along, far, joins, lambda *dims: dims[:2] not in rows and splits(*dims)
        )
    maps, found = [turned(g, along, program) for g in maps_for(left, order, whole)], list[Group]()
    most = max((g.space.bit_count() for g in maps), default=0)
    early = [g for g in maps if g.space.bit_count() < most and any(below[w.value.digest] for w in g.written)]
    maps = [*early, *(g for g in maps if g not in early)]  # steps of rows compute for those of elements
    for i, g in enumerate(groups):
        missing = [e for e in g.mapped if not any(e in before.first for before in found)]
        missing = [e for e in missing if not _gathers_for(e, groups[max(_steps(below, e, step_of), default=0) : i])]
        found += [*gathering(missing, order), g]
    return found + maps


def _steps(below: dict[str, frozenset[str]], e: Expr, step_of: dict[str, int]) -> list[int]:
    """The steps of the folds that a value depends on."""
    return [step_of[f] for f in below[e.digest]]


def _gathers_for(e: Expr, groups: Sequence[Group]) -> bool:
    """Whether one of ``groups``, whose rows have an element each, gathers it for a later step, as it then will."""
    group = next((g for g in groups if (g.far or not g.is_plain) and g.space == e.space and g.makes(e)), None)
    if group is not None:
        group.first += (e,)
    return group is not None


def _writes_elements(order: Sequence[int], whole: Collection[tuple[int, ...]], group: Group, written: Written) -> bool:
    """Whether a step with folds can write a value for each of its elements, and has read some of what that needs.

    Bits that share a word belong to one row, in which they follow each other.
    """
    if written.space != group.kept | group.reduced:
        return False
    if group.scan:
        value = written.value
        return written.words is None and group.makes(value) and any(map(group.folds, above_results((value,))))
    if not group.owned or group.source is not None:
        return False
    if written.words is not None and space_of(written.words) != group.reduced:
        runs = (written.words[k:] for k in range(len(written.words)))
        if not any(r in whole and r == (*order,)[-len(r) :] and not space_of(r) & ~group.reduced for r in runs):
            return False
    own = {e.value for e in above_results(group.roots) if e.op == "input"}
    return any(group.folds(e) or (e.op == "input" and e.value in own) for e in above_results((written.value,)))


def _writes_sides(group: Group, written: Written) -> bool:
    """Whether a step can write a value that its side folds leave; one that varies along no row is not such."""
    is_side = written.value.space == written.space == group.reduced
    return bool(group.sides) and is_side and written.words is None and group.makes(written.value)


def _writes_rows(group: Group, written: Written) -> bool:
    """Whether a step with folds can write a value for each of its rows."""
    return not group.scan and written.space == group.kept and written.words is None and group.makes(written.value)
