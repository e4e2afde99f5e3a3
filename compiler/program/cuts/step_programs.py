"""The kernel program of a step: nodes of an array program become those of a program with kept and reduced dims.

A plain reduction counts the elements along one set of dims, and numbers those along its reduced dims in one way. Other
counts and numbers that it needs are written to buffers by steps of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ...dtypes import BIT, NUMBER, DType
from ...errors import error
from ...postorder import postorder
from ..analysis.cost import COST
from ..array_program import ArrayProgram, Fold, Scan
from ..graph import ELEMENT, KEPT, REDUCED, SCALAR, SECTION, SIDE, Expr, Program, ScanGraph, Space, union
from ..storage import parts
from ..tracing import product
from .groups import Group, Written, above_results
from .steps import Buffer, Operand, Step


@dataclass
class Buffers:
    """The buffers between the steps of a program.

    Attributes:
        program: the program.
        all: the buffers.
        before: counts, numbers of elements and costly values of rows for other steps, by the dims along which they lie.
        costly: the digests of the costly values.
    """

    program: ArrayProgram
    all: list[Buffer] = field(default_factory=list)
    before: dict[Space, list[Written]] = field(default_factory=dict)
    costly: set[str] = field(default_factory=set)
    _numbers: dict[str, int] = field(default_factory=dict)

    def written(self, e: Expr) -> list[Written]:
        """What the step that makes ``e`` has to write for later ones; nothing if it is written already."""
        if e.digest in self._numbers:
            return []
        return [Written(self.operand(e), e, e.space)]

    def operand(self, e: Expr) -> Operand:
        """The buffer of a value; a new one for a value without a buffer."""
        if e.digest not in self._numbers:
            self._numbers[e.digest] = len(self.all)
            self.all.append(Buffer(e.dtype, self.program.dims_of(e.space)))
        return Operand("buffer", self._numbers[e.digest])

    def of_sections(self, fold: Expr, group: Group) -> list[Operand]:
        """The buffers of the states of sections that the step ``group`` leaves for a fold, one for each value."""
        found = []
        for i, a in enumerate(fold.args):
            key = f"{fold.digest}.{i}"
            if key not in self._numbers:
                self._numbers[key] = len(self.all)
                dims = (*map(self.program.dims_of, (group.kept, group.reduced & ~group.sectioned, group.sectioned)),)
                self.all.append(Buffer(a.dtype, (*dims[0], *dims[1], *dims[2]), dims[2]))
            found.append(Operand("buffer", self._numbers[key]))
        return found

    def filled(self, e: Expr) -> Operand:
        """The buffer of a value that depends on no fold, such as a count, which a step before the others writes."""
        if written := self.written(e):
            self.before.setdefault(e.space, []).extend(written)
            self.costly |= {e.digest} if e.args else set()
        return self.operand(e)

    def steps(self) -> list[Step]:
        """The steps that write what is needed before: one for all values along the same dims.

        A value may read those along fewer dims, which are written earlier.
        """
        found: list[Step] = []
        while self.before:
            space = max(self.before, key=int.bit_count)
            group = Group(SCALAR, space, written=self.before.pop(space))
            found.insert(0, step_of(self.program, group, (), self))
        return found


def step_of(program: ArrayProgram, group: Group, crossing: Sequence[Expr], buffers: Buffers) -> Step:
    """The step that computes what ``group`` says; it reads the values ``crossing`` from buffers."""
    made = _Translation(program, group, frozenset(e.digest for e in crossing), buffers)
    outputs = (*(made.output(w) for w in group.written), *made.states_of_sections())
    kernel = Program(program.name, tuple(made.inputs.values()), outputs, program.where)
    return Step(
        kernel,
        program.dims_of(group.kept),
        group.order or program.dims_of(group.reduced),
        tuple(made.inputs),
        (*(w.operand for w in group.written), *(o for f in group.sections for o in buffers.of_sections(f, group))),
        made.counted if kernel.uses_count else (),
        tuple(n.dims for n in made.numbered) if kernel.uses_index or kernel.numberings else (),
        reverse=group.scan is not None and group.scan.reverse,
    )


def named(name: str, steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps of the program ``name`` with names of their own where there are several."""
    if len(steps) == 1:
        return tuple(steps)
    return tuple(replace(s, program=replace(s.program, name=f"{name}_{i}")) for i, s in enumerate(steps))


class Numbering(NamedTuple):
    """What a kernel takes as a numbering: the numbers (``iota``) of the elements along dims, or how many there are."""

    op: str
    dims: tuple[int, ...]


class _Translation:
    """Nodes of an array program as nodes of a step's kernel program.

    Attributes:
        inputs: the operands that the kernel reads, each with the type of its elements.
        before: the values that a step before it computes.
        counted: the dims that a ``count`` counts.
        numbered: the numberings, and the counts beside that of ``counted``.
    """

    def __init__(self, program: ArrayProgram, group: Group, crossing: frozenset[str], buffers: Buffers) -> None:
        self.program, self.group, self.buffers, self.crossing = program, group, buffers, crossing
        made_here = {w.value.digest for w in group.written if w.operand.kind == "buffer"}
        self.before = (before(group) | buffers.costly) - made_here
        self.inputs: dict[Operand, DType] = {}
        self.made: dict[str, Expr] = {}
        nodes = list(postorder(group.roots, self._operands))
        counts = [program.dims_of(e.value) for e in nodes if e.op == "count"]  # type: ignore[arg-type]
        numbers = [_numbering(e) for e in nodes if e.op == "iota" and e.space & group.reduced]
        own = program.dims_of(group.reduced)
        self.counted = own if own in counts else next(iter(counts), ())
        self.numbered: list[Numbering] = []
        if group.is_plain and numbers:
            self.numbered.append(Numbering("iota", own if own in numbers else numbers[0]))
        if group.is_plain:  # whose planner goes by the first input, as callers pass them: bits and numbers come last
            read = {e for e in nodes if e.op == "input" and e.dtype not in (BIT, NUMBER)}
            for e in sorted(read, key=lambda e: e.value):  # type: ignore[arg-type, return-value]
                self._input(Operand("view", e.value), e)  # type: ignore[arg-type]
        for phase in group.phases:
            self._fold(phase, ELEMENT if group.scan else KEPT)
        if group.sides:
            self._fold(group.sides, SIDE)
        if group.sections:
            self._fold(group.sections, SECTION)

    def states_of_sections(self) -> list[Expr]:
        """The kernel's outputs for the states of sections, in the order of their buffers."""
        return [self.made[_value_of(f, i).digest] for f in self.group.sections for i in range(len(f.args))]

    def output(self, written: Written) -> Expr:
        """The kernel's output for a value: in the type of the array, for each element or each row."""
        e = self._translated(written.value)
        if written.operand.kind == "output":
            (t,) = parts(self.program.outputs[written.operand.number].dtype)
            e = e if e.dtype == t else Expr("cast", (e,), t, e.space, None, e.where)
        if self.group.is_full(written) and not e.space & REDUCED:
            e = Expr("broadcast", (e,), e.dtype, ELEMENT, None, e.where)
        return e

    def _operands(self, e: Expr) -> tuple[Expr, ...]:
        """The nodes that the kernel needs for ``e``."""
        return () if e.digest in self.crossing or e.digest in self.before or e.op == "result" else e.args

    def _translated(self, root: Expr) -> Expr:
        for e in postorder((root,), self._operands):
            if e.digest not in self.made:
                self.made[e.digest] = self._node(e)
        return self.made[root.digest]

    def _node(self, e: Expr) -> Expr:
        """The kernel's node for ``e``, whose operands are translated."""
        if e.digest in self.crossing:
            return self._input(self.buffers.operand(e), e)
        if e.digest in self.before:
            return self._input(self.buffers.filled(e), e)
        if e.op == "input":
            return self._input(Operand("view", e.value), e)  # type: ignore[arg-type]
        if e.op == "count":
            return self._count(e)
        if e.op == "iota":
            return self._plain_number(e) if self.group.is_plain else self._number(e)
        if e.op == "result":
            raise error(
                "WF333", name=self.program.name, reason="a step uses a fold of another one, and reads no buffer"
            )
        args = tuple(self.made[a.digest] for a in e.args)
        if e.op == "gather":
            return Expr("gather", args, e.dtype, union(a.space or KEPT for a in args), None, e.where)
        return Expr(e.op, args, e.dtype, union(a.space for a in args), e.value, e.where, e.chosen)

    def _input(self, operand: Operand, e: Expr) -> Expr:
        """The node that reads an element of an array along the dims of ``e``."""
        numbers = {o: i for i, o in enumerate(self.inputs)}
        self.inputs[operand] = e.dtype
        return Expr("input", (), e.dtype, self._space(e.space), numbers.get(operand, len(numbers)), e.where)

    def _space(self, space: Space) -> Space:
        """The space of an array that varies along some dims of the program."""
        kept, reduced = self.group.kept, self.group.reduced
        if self.group.is_plain or not reduced:
            return ELEMENT
        if not space & reduced:
            return KEPT
        return REDUCED if kept and not space & kept else ELEMENT

    def _number(self, e: Expr) -> Expr:
        """The number of an element or of a row, which the kernel makes of its place."""
        space = KEPT * bool(e.space & self.group.kept) | REDUCED * bool(e.space & self.group.reduced)
        return Expr("iota", (), e.dtype, space, self._numbering("iota", _numbering(e)), e.where)

    def _count(self, e: Expr) -> Expr:
        """How many elements lie along some dims."""
        dims = self.program.dims_of(e.value)  # type: ignore[arg-type]
        if dims != self.counted and self.group.is_plain:
            return self._input(self.buffers.filled(e), e)
        number = None if dims == self.counted else self._numbering("count", dims)
        return Expr("count", (), e.dtype, SCALAR, number, e.where)

    def _numbering(self, op: str, dims: tuple[int, ...]) -> int:
        """The number of a numbering, or of a count."""
        own = Numbering(op, dims)
        if own not in self.numbered:
            self.numbered.append(own)
        return self.numbered.index(own)

    def _plain_number(self, e: Expr) -> Expr:
        """The number of an element: what the kernel's own numbers say of it, and what buffers do."""
        own = self.group.reduced if Numbering("iota", _numbering(e)) in self.numbered else SCALAR
        rest = e.space & ~own
        terms = [Expr("iota", (), e.dtype, ELEMENT, None, e.where)] if e.space & own else []
        for part in (rest & self.group.kept, rest & self.group.reduced):
            if part:
                numbers = replace(e, space=part)
                terms.append(self._input(self.buffers.filled(numbers), numbers))
        while len(terms) > 1:
            a, b = terms[:2]
            terms[:2] = [Expr("add", (a, b), e.dtype, a.space | b.space, None, e.where)]
        return terms[0]

    def _fold(self, phase: Sequence[Expr], space: Space) -> None:
        """Makes the folds of a phase one fold, over the product of their monoids, which leaves values in ``space``."""
        graphs = [e.value.monoid for e in phase if isinstance(e.value, Fold | Scan)]
        args = tuple(a for e in phase for a in self._folded(e))
        graph = graphs[0] if len(graphs) == 1 else product(graphs)
        scan = self.group.scan
        op, value = ("scan", ScanGraph(graph, scan.exclusive)) if scan else ("reduce", graph)
        whole = Expr(op, args, args[0].dtype, space, value, phase[0].where)
        position = 0
        for e in phase:
            for i, a in enumerate(e.args):
                self.made[_value_of(e, i).digest] = Expr("result", (whole,), a.dtype, space, position)
                position += 1

    def _folded(self, fold: Expr) -> list[Expr]:
        """The values that a fold combines: those of elements, or the states of sections that an earlier step left."""
        if self.group.source is None:
            return [self._translated(a) for a in fold.args]
        pairs = zip(self.buffers.of_sections(fold, self.group.source), fold.args, strict=True)
        return [self._input(operand, a) for operand, a in pairs]


def _value_of(fold: Expr, position: int) -> Expr:
    """The node of a value of the state that a fold leaves."""
    return Expr("result", (fold,), fold.args[position].dtype, fold.space, position)


def before(group: Group) -> frozenset[str]:
    """The values of rows that a plain step folds, and that take several instructions: once a row, not an element."""
    if not group.is_plain:
        return frozenset()
    rows, late, long, used = (set[str]() for _ in range(4))
    for e in above_results(group.folded):
        below = () if e.op == "result" else [a.digest for a in e.args]
        if e.op == "result" or not late.isdisjoint(below):
            late.add(e.digest)
        if is_of_row := bool(e.space and e.args and not e.space & group.reduced):
            rows.add(e.digest)
        else:
            used.update(below)
        if (is_of_row and e.op in COST) or not long.isdisjoint(below):
            long.add(e.digest)
    return frozenset(used & rows & long - late)


def _numbering(e: Expr) -> tuple[int, ...]:
    """The dims whose elements an ``iota`` numbers."""
    return e.value  # type: ignore[return-value]
