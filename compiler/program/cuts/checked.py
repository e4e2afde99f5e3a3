"""What holds of the steps of every program: where it did not, a kernel would read what no other has written.

Each buffer and each result is written once, as a whole, before a later step reads it. A step uses what it makes, reads
or is given, along its own dims. States of sections are stored with the elements of their rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ...errors import error
from ..array_program import ArrayProgram
from ..graph import KEPT, REDUCED, SECTION, SIDE, Expr, Space, walk
from .groups import space_of
from .steps import Buffer, Operand, Step, Steps

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
