"""Cuts an array program into steps: kernel programs in launch order, with buffers between them.

Folds over the same dims of the same elements, and uses of their results on these elements, are one step if a CTA or a
cluster can own a row. Side folds, over the dims of the rows themselves, join it. Everything else is cut at the grid: an
earlier step writes values to a buffer, and a later one reads them. What crosses is chosen as the cheapest cut of the
graph: few values, along few dims, of narrow types.

What holds of the steps of every program: where it did not, a kernel would read what no other has written.

Each buffer and each result is written once, as a whole, before a later step reads it. A step uses what it makes, reads
or is given, along its own dims. States of sections are stored with the elements of their rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import error
from ...postorder import postorder
from ..analysis.cost import COST
from ..array_program import ArrayProgram, Fold
from ..graph import KEPT, REDUCED, SECTION, SIDE, Expr, Space, walk
from ..rewrites.approximations import approximated
from ..rewrites.online import online, two_pass
from .grouped import Along, grouped
from .groups import Group, Owns, Splits, above_results, space_of
from .step_programs import Buffers, before, named, step_of
from .steps import Buffer, Operand, Step, Steps
from .vertex_cut import vertex_cut

OF_ARRAYS = ("fold", "param")
"""Nodes that kernel programs do not have: a fold is a ``reduce`` there."""
MEETINGS = ("reduce", "scan")


def checked(program: ArrayProgram, steps: Steps) -> Steps:
    """``steps``, if what must hold of them does.

    Raises:
        CompileError: WF333 where it does not, which is a mistake of the cut and not of its caller.
    """
    fault = next(faults(program, steps), None)
    if fault:
        raise error("WF333", name=program.name, reason=fault, where=program.where)
    return steps


def faults(program: ArrayProgram, steps: Steps) -> Iterator[str]:
    """What is wrong with the steps of a program, in words."""
    arrays = _Arrays(program, steps.buffers)
    for number, step in enumerate(steps.steps, 1):
        yield from (f"step {number} {fault}" for fault in _faults_of(step, arrays))
    wanted = [Operand("output", i) for i in range(len(program.outputs))]
    wanted += [Operand("buffer", i) for i in range(len(steps.buffers))]
    yield from (f"no step writes {o.kind} {o.number}" for o in wanted if o not in arrays.written)


@dataclass
class _Arrays:
    """What steps read and write.

    Attributes:
        program, buffers: the program, and what lies between its steps.
        written: the results and buffers that the steps so far have written.
    """

    program: ArrayProgram
    buffers: tuple[Buffer, ...]
    written: set[Operand] = field(default_factory=set)

    def space(self, o: Operand) -> Space:
        """The dims along which an array lies."""
        if o.kind == "view":
            return space_of(self.program.views[o.number].axes)
        return space_of(self.buffers[o.number].dims if o.kind == "buffer" else self.program.outputs[o.number].axes)


def _faults_of(step: Step, arrays: _Arrays) -> Iterator[str]:
    """What is wrong with the next step; what it writes is written then."""
    for o in step.inputs:
        if o.kind != "view" and o not in arrays.written:
            yield f"reads {o.kind} {o.number} before a step has written it"
    for e in walk(step.program.outputs):
        yield from _faults_of_node(e, step, arrays)
    spaces = [e.space for e in step.program.outputs]
    if not spaces:
        yield "writes nothing"
    for o, space in zip(step.outputs, spaces, strict=True):
        if o in arrays.written:
            yield f"writes {o.kind} {o.number}, which is written already"
        if arrays.space(o) != _written(step, space):
            yield f"writes {o.kind} {o.number} along other dims than it lies along"
        arrays.written.add(o)
    if SECTION in spaces and not any(space & REDUCED for space in spaces):
        yield "leaves states of sections, and writes no elements with which they are stored"


def _faults_of_node(e: Expr, step: Step, arrays: _Arrays) -> Iterator[str]:
    """What is wrong with a node of a kernel program."""
    if e.op in OF_ARRAYS or (e.op == "result" and e.args[0].op not in MEETINGS):
        yield f"uses the value of a {e.op} that it does not make"
    if e.op == "input":
        o = step.inputs[e.value]  # type: ignore[call-overload]
        space, kept, reduced = arrays.space(o), space_of(step.kept), space_of(step.reduced)
        needed = KEPT * bool(space & kept) | REDUCED * bool(space & reduced)
        if space & ~(kept | reduced) or needed & ~e.space:
            yield f"reads {o.kind} {o.number} along dims along which it does not vary there"


def _written(step: Step, space: Space) -> Space:
    """The dims along which a step writes a result of some space."""
    kept, reduced = space_of(step.kept), space_of(step.reduced)
    if space == SIDE:
        return reduced
    return kept | reduced if space & (REDUCED | SECTION) else kept


SIZE = 1 << 10
"""What a dim counts as when values are compared whose sizes are unknown."""


def cut(
    program: ArrayProgram,
    owns: Owns,
    order: Sequence[int] | None = None,
    far: Owns = lambda *_: False,
    along: Along = lambda _, reduced: reduced,
    *,
    portable: bool = False,
    whole: Collection[tuple[int, ...]] = (),
    joins: Owns = lambda *_: False,
    splits: Splits = lambda *_: False,
) -> Steps:
    """The steps of ``program``.

    Args:
        program: the program.
        owns: ``owns(kept, reduced)`` is the planner's answer whether one CTA or cluster may own the elements along the
            ``reduced`` dims of each row. It is asked for the dims of folds.
        order: the dims as they lie in memory, outermost first; by default in order of their numbers. Steps without
            folds share the innermost ones among threads.
        far: ``far(kept, reduced)`` says of rows that are owned whether they wait so far from the threads, or nowhere,
            that another read costs more than instructions do.
        along: the planner's answer along which dims the threads of a step without folds go.
        portable: whether results have the same bits on every GPU.
        whole: innermost dims of arrays of bits whose elements fill words.
        joins: ``joins(kept, reduced)`` says whether folds over the ``kept`` dims may be side folds of these rows.
        splits: ``splits(kept, reduced, inner)`` says whether these rows may leave states of sections, along the
            ``inner`` dims, for a later step.
    """
    program = rewritten(program, owns, far, portable=portable)
    order = range(len(program.dims)) if order is None else order
    groups = grouped(program, owns, order, whole, along, far, joins, splits)
    homes = _homes(program, groups)
    buffers = Buffers(program)
    early = frozenset[str]().union(*map(before, groups))
    crossing: list[list[Expr]] = []
    for group in reversed(groups):
        found = _crossing(group, groups, homes)
        for e in found:
            if e.digest in early:
                buffers.filled(e)
                continue
            groups[_writer(e, group, groups, homes)].written += buffers.written(e)
        crossing.insert(0, found)
    pairs = zip(groups, crossing, strict=True)
    steps = [step_of(program, g, found, buffers) for g, found in pairs if g.written or g.sections]
    return checked(program, Steps(named(program.name, [*buffers.steps(), *steps]), tuple(buffers.all)))


def only_step(program: ArrayProgram) -> Step:
    """The step of a program that is one, as a reduction is unless its folds need each other.

    Raises:
        TraceError: WF213 for a program of several steps.
    """
    steps = cut(program, lambda *_: False).steps
    if program.folds and (len(steps) > 1 or steps[0].program.reads_again):
        folds = [e.value.monoid.name for e in program.folds if isinstance(e.value, Fold)]
        raise error("WF213", name=program.name, outer=folds[-1], inner=folds[0], where=program.where)
    return steps[0]


def rewritten(program: ArrayProgram, owns: Owns, far: Owns, *, portable: bool) -> ArrayProgram:
    """``program`` with folds joined where that saves a read, and split where that takes fewer instructions.

    Exponentials of halves are approximate, unless the program is ``portable``.
    """

    def near(*spaces: Space) -> bool:
        dims = tuple(map(program.dims_of, spaces))
        return owns(*dims) and not far(*dims)

    program = two_pass(online(program, lambda *dims: not near(*dims)), near)
    return program if portable else approximated(program)


def _homes(program: ArrayProgram, groups: Sequence[Group]) -> dict[str, int]:
    """For each value that depends on a fold, or on what a step makes for a later one, the step after which it is known.

    That is the first one after which all these are. What a step needs that another makes before it is known after that
    one, whatever that needed.
    """
    in_reverse = reversed(list(enumerate(groups)))
    number = {digest: i for i, g in in_reverse for digest in (*g.own, *(e.digest for e in g.first))}
    known: dict[str, int] = {}
    for e in postorder(program.roots, lambda e: e.args):
        steps = [known[a.digest] for a in e.args if a.digest in known]
        if e.digest in number or steps:
            known[e.digest] = number[e.digest] if e.digest in number else max(steps)
    return known


def _crossing(group: Group, groups: Sequence[Group], homes: Mapping[str, int]) -> list[Expr]:
    """The values that a step reads from buffers: the cheapest ones that separate it from the folds of earlier steps.

    They separate it from functions of values of rows, too, if there is an earlier step of these rows.
    """
    nodes = list(above_results(group.roots))
    sources = [e for e in nodes if e.op == "result" and not group.folds(e)]
    sources += [e for e in nodes if e.op in COST and e.digest not in homes and _writer(e, group, groups, homes) >= 0]
    sources += group.mapped
    if not sources:
        return []
    weights = {e: _weight(e) for e in nodes if _writer(e, group, groups, homes) >= 0}
    edges = [(a, e) for e in nodes if e.op != "result" for a in e.args]
    return vertex_cut(nodes, edges, weights, sources, list(group.roots))


def _writer(e: Expr, group: Group, groups: Sequence[Group], homes: Mapping[str, int]) -> int:
    """The first step that can write ``e`` for each of its rows, for a later one; -1 where none can.

    It is the first one that knows the folds of ``e``, or one of the same rows after that, which folds nothing.
    """
    own, number = groups.index(group), homes.get(e.digest, -1)
    home = groups[number]
    known = (home.space, home.reduced) if home.sides else (home.space,)
    if 0 <= number < own and e.space in known and home.makes(e):
        return number
    return next((i for i in range(number + 1, own) if _is_of_rows(groups[i]) and groups[i].space == e.space), -1)


def _is_of_rows(group: Group) -> bool:
    """Whether a step folds nothing, and gathers nothing for others."""
    return not group.phases and not group.first


def _weight(e: Expr) -> int:
    """The bytes that a value counts as."""
    return int(e.dtype.itemsize * SIZE ** e.space.bit_count())
