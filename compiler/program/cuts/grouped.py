"""Which steps an array program has, and which of them writes each result."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from ..array_program import ArrayProgram
from ..graph import Expr
from .groups import Group, Owns, Splits, Written, above_results, folds_below, space_of
from .maps import Along, gathering, maps_for, turned
from .phases import fold_groups
from .steps import Operand


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
