"""A program and its steps in words: dims, arrays, buffers, and what each step reads and writes.

A dim has the name of the first axis that has its size: ``compiler/program/axis_labels.py`` says how axes are named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any, Protocol

from ...compiler.dtypes import BIT, DType
from ...compiler.plan.fields import Determinism
from ...compiler.program.array_layouts import View
from ...compiler.program.array_program import ArrayProgram
from ...compiler.program.arrays.trace import ArrayArg
from ...compiler.program.axis_labels import array_labels, axis_labels
from ...compiler.program.cuts.steps import Operand, Step
from ...compiler.program.tracing import leaf_names
from ...runtime.programs.plans import PreparedProgram
from .. import terminal


class Described(Protocol):
    """What is known of a call of a program: ``ProgramRequest`` says what its attributes are."""

    @property
    def names(self) -> Sequence[str]: ...

    @property
    def kinds(self) -> Sequence[ArrayArg]: ...

    @property
    def params(self) -> Mapping[str, Any]: ...

    @property
    def determinism(self) -> Determinism: ...

    def result_shape(self, number: int) -> tuple[int, ...]:
        """The shape of a result."""


class Words:
    """The words for a program, its dims and its steps."""

    def __init__(self, request: Described, prepared: PreparedProgram) -> None:
        self.request, self.prepared = request, prepared
        self.program = prepared.program
        self.sizes = self.program.sizes_of([a.shape for a in request.kinds])
        ranks = [len(a.shape) for a in request.kinds]
        self.arrays = array_labels(self.program, request.names, ranks)
        self.axes = axis_labels(self.program, request.names, ranks)
        self.names = [self.axis(*pairs[0]) for pairs in self.program.dims]
        self.results = [*map(_result, leaf_names(self.program.structure)), *("check" for _ in self.program.checks)]

    def axis(self, array: int, axis: int) -> str:
        """The name of an axis of an array or a slice, counted after the program's splits."""
        return self.axes[array][axis]

    def dims(self, dims: Iterable[int]) -> str:
        """Dims by their names."""
        return " ".join(self.names[d] for d in dims) or "no dim"

    def size(self, dims: Iterable[int]) -> int:
        """The elements along dims."""
        return prod(self.sizes[d] for d in dims)

    def operand(self, operand: Operand) -> str:
        """What a step reads or writes: an array of the call, a result, or a buffer."""
        if operand.kind == "buffer":
            return f"buffer {operand.number}"
        if operand.kind == "output":
            return self.results[operand.number]
        array = self.program.views[operand.number].array
        return self.arrays[array if array >= 0 else self.program.argument(array)]

    def operand_dims(self, operand: Operand) -> tuple[int, ...]:
        """The dims along which an array of a step lies."""
        if operand.kind == "buffer":
            return self.prepared.cut.buffers[operand.number].dims
        if operand.kind == "view":
            return self.program.read(operand.number)
        return tuple(d for d in self.program.outputs[operand.number].axes if d is not None)

    def nbytes(self, operand: Operand) -> int:
        """The bytes of an array of a step."""
        program, number = self.program, operand.number
        types = {
            "view": lambda: _view_type(program, program.views[number]),
            "output": lambda: program.outputs[number].dtype,
            "buffer": lambda: self.prepared.cut.buffers[number].dtype,
        }
        return types[operand.kind]().nbytes(self.size(self.operand_dims(operand))) // self._section(operand)

    def _section(self, operand: Operand) -> int:
        """The elements for which a buffer has one value."""
        if operand.kind != "buffer" or not self.prepared.cut.buffers[operand.number].sections:
            return 1
        return next(s.prepared.choice.facts.section for s in self.prepared.steps if operand in s.step.outputs)

    def operands(self, operands: Iterable[Operand]) -> str:
        """Several of them, each once."""
        return ", ".join(dict.fromkeys(map(self.operand, operands))) or "nothing"

    def rows(self, step: Step) -> str:
        """What the threads of a step share: ``rows along x.1, one for each x.0``."""
        each = f", one for each {self.dims(step.kept)}" if step.kept else ""
        kind = "rows" if step.program.reduces or step.program.scan else "elements"
        return f"{kind} along {self.dims(step.reduced)}{each}"

    def title(self, number: int) -> str:
        """A step in a line: number, name, dims, and buffers."""
        step, count = self.prepared.steps[number].step, len(self.prepared.steps)
        name = f"step {number + 1} of {count}: {step.program.name}" if count > 1 else f"one step: {step.program.name}"
        return f"{name}, {self.rows(step)}; reads {self.operands(step.inputs)}; writes {self.operands(step.outputs)}"

    def buffers(self) -> list[tuple[str, ...]]:
        """Each buffer between steps: type, dims and bytes."""
        found: list[tuple[str, ...]] = []
        for i, b in enumerate(self.prepared.cut.buffers):
            own = Operand("buffer", i)
            found.append(
                (self.operand(own), b.dtype.name, f"along {self.dims(b.dims)}", terminal.size(self.nbytes(own)))
            )
        return found

    def facts(self) -> dict[str, object]:
        """Arrays, dims and buffers as plain values."""
        request = self.request
        arrays = [
            {"name": name, "dtype": a.dtype.name, "shape": list(a.shape)}
            for name, a in zip(request.names, request.kinds, strict=True)
        ]
        dims = [{"name": name, "size": n} for name, n in zip(self.names, self.sizes, strict=True)]
        buffers = [
            {"dtype": b.dtype.name, "dims": [self.names[d] for d in b.dims], "bytes": self.nbytes(Operand("buffer", i))}
            for i, b in enumerate(self.prepared.cut.buffers)
        ]
        params = {key: str(value) for key, value in request.params.items()}
        return {"arrays": arrays, "params": params, "dims": dims, "buffers": buffers}

    def step_facts(self, number: int) -> dict[str, object]:
        """A step without its plan as plain values."""
        step = self.prepared.steps[number].step
        return {
            "name": step.program.name, "kept": [self.names[d] for d in step.kept],
            "reduced": [self.names[d] for d in step.reduced], "folds": len(step.program.reduces),
            "reads": [self.operand(o) for o in step.inputs], "writes": [self.operand(o) for o in step.outputs],
        }  # fmt: skip


def _result(name: str) -> str:
    """What a result is called: by its name, or by its position among several."""
    return f"result {name}".rstrip() if not name or name.isdigit() else name


def _view_type(program: ArrayProgram, view: View) -> DType:
    """The type of the elements of a view."""
    return BIT if program.is_bits(view.array) else program.arrays[program.argument(view.array)]
