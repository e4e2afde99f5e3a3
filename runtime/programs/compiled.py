"""``CompiledProgram``: a compiled program of arrays, which can be inspected, saved and called."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...compiler.driver import program_file
from ...compiler.driver.artifact import Artifact
from ...compiler.driver.program_artifact import ProgramArtifact
from ...compiler.errors import PlanError, error
from ...compiler.plan.ladder import menu_of
from ...compiler.plan.plan import Plan
from ...compiler.planner import choose as planner
from ...compiler.planner.task import Choice, Task
from ...compiler.program.array_program import ArrayProgram
from ...compiler.program.axis_labels import array_labels, axis_labels
from ...compiler.program.cuts.steps import Operand
from ...compiler.program.frames import caller, outermost, shown
from ...compiler.program.rewrites.narrowing import narrowed
from ...compiler.program.spelling import wrong_count
from ...compiler.program.tracing import Traced, leaf_names
from ...compiler.target import target
from ..arrays.torch_compile import opaque
from ..calls.operands import Operands
from ..calls.recall import Memo
from ..calls.recipe import MISS
from ..compiled import serves, words_of
from ..prepare import Prepared, artifact
from ..tuned_plans import words as plan_words
from ..view import ArraySpec
from . import run, traces
from .machine import Machine
from .planned import Planned
from .plans import PreparedProgram, PreparedStep, StepPlanner, asked_of
from .step_tasks import StepTasks

if TYPE_CHECKING:
    from ...compiler.driver.pipeline import Stage


class CompiledProgram:
    """A compiled program of arrays, from the ``compile`` of a program or from ``wf.load``.

    Calling it runs the program on arrays of the types and ranks that it was compiled for, in that order.
    """

    def __init__(self, artifact: ProgramArtifact) -> None:
        self._artifact = artifact
        self._memo = Memo()

    def __repr__(self) -> str:
        a = self._artifact
        types = ", ".join(f"{name} {t.name}" for name, t in zip(a.names, a.program.arrays, strict=True))
        plans = "; ".join(f"{k.name}: {plan_words(k.plan)}" for k in a.kernels)
        return f"<warpfold.CompiledProgram: {a.program.name} of {types}, for {a.kernels[0].arch}; {plans}>"

    def __reduce__(self) -> tuple[type[CompiledProgram], tuple[ProgramArtifact]]:
        """Pickles the artifact only: remembered calls belong to this process."""
        return CompiledProgram, (self._artifact,)

    @property
    def artifact(self) -> ProgramArtifact:
        """The steps and their kernels with all that is known of them."""
        return self._artifact

    @property
    def ptx(self) -> str:
        """The PTX text of all steps."""
        return "\n".join(k.ptx for k in self._artifact.kernels)

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plan of each step."""
        return tuple(k.plan for k in self._artifact.kernels)

    @property
    def stages(self) -> list[Stage]:
        """The tensor program of each step, and the IR after every pass; imports MLIR."""
        from ...compiler.driver.compile import stages
        from ...passes import steps

        kernels = self._artifact.kernels
        found = [(k.name, s) for k in kernels for s in stages(k.source, steps(target(k.arch), k.plan))]
        return [replace(s, name=f"{name}: {s.name}") if len(kernels) > 1 else s for name, s in found]

    @outermost
    def save(self, path: str | os.PathLike[str], *, cubins: Sequence[str] = ()) -> None:
        """Writes one file that ``wf.load`` runs without MLIR.

        Args:
            path: the file, written whole or not at all.
            cubins: architectures (``sm_90a``) to add machine code for; the PTX must target the same or an older one.

        Raises:
            FileError: WF505 when the file cannot be written.
            BackendError: WF606 or WF607 when ptxas, which makes cubins, is missing or fails.
        """
        from ..ptxas import with_cubins  # not imported to run a kernel

        kernels = tuple(with_cubins(k, cubins) for k in self._artifact.kernels)
        program_file.save(replace(self._artifact, kernels=kernels), path)

    def __prepare_scriptable__(self) -> None:
        """Tells ``torch.jit.script`` that it cannot compile this."""
        raise error("WF223", name="a compiled program", where=caller())

    @opaque
    def __call__(self, *xs: Any, out: Any = None, device: str = "auto") -> Any:
        """Runs the program on the arrays ``xs``; see ``wf.program``."""
        outs = () if out is None else out if type(out) is tuple else (out,)
        key: Hashable = (len(xs), tuple(x is None for x in outs), type(out) is tuple, device)
        outs = tuple(x for x in outs if x is not None)
        arrays = (*xs, *outs)
        recipe = self._memo.last.get(key)
        if recipe is not None:
            found = recipe(*arrays)
            if found is not MISS:
                return found
        try:
            return self._memo.missed(key, None, arrays, lambda: self._run(xs, out, device))
        except Exception as e:
            raise shown(e)  # noqa: B904  # WARPFOLD_TRACEBACK=full shows the frames between

    def _run(self, xs: Sequence[Any], out: Any, device: str) -> Any:
        """A call in full, without a look at earlier calls."""
        a = self._artifact
        if len(xs) != len(a.names):
            raise wrong_count(a.program.name, len(a.names), len(xs), a.names)
        operands = run.operands_of(xs, device)
        if operands.types != a.program.arrays:
            expected, found = (", ".join(t.name for t in own) for own in (a.program.arrays, operands.types))
            raise self._mismatch(f"elements of type {expected}", found)
        self._check_shapes([v.shape for v in operands.inputs])
        run.allocate(operands, a.program, out)
        return run.run(operands, self._fitted(operands), a.kernels)

    def _check_shapes(self, shapes: Sequence[tuple[int, ...]]) -> None:
        """Checks that the program serves arrays of these shapes."""
        a = self._artifact
        ones = tuple(tuple(n == 1 for n in shape) for shape in shapes)
        if ones != a.ones or not traces.serves(a.program, shapes):
            raise self._mismatch(f"shapes {_shapes_of(a)}", ", ".join(map(str, shapes)))

    def _fitted(self, operands: Operands) -> PreparedProgram:
        """The steps with the plans that the kernels have; WF123 if they do not serve these arrays."""
        a, backend = self._artifact, operands.backend
        arrays, outputs = (
            tuple(ArraySpec(v.shape, v.strides, v.address % 16, v.dtype) for v in views)
            for views in (operands.inputs, operands.outputs)
        )
        machine = Machine(target(a.kernels[0].arch), backend.sms)
        asks, options = menu_of(a.plan)
        own = StepTasks(a.program, arrays, outputs, machine, a.determinism, few=asks)
        tasks, asked = own.of(a.steps), asked_of(a.steps, options)
        plans = [self._choice(*each) for each in zip(tasks, a.kernels, asked, strict=True)]
        ready = [Prepared(Traced(t.program, (), 0), t, c) for t, c in zip(tasks, plans, strict=True)]
        return StepPlanner(own).planned(a.steps, ready)

    def _choice(self, task: Task, kernels: Artifact, options: str) -> Choice:
        """How to launch the kernels of a step; WF123 if they do not serve its arrays."""
        for wanted in (options, plan_words(kernels.plan)):
            try:
                choice = planner.choose(task, wanted)
            except PlanError:
                continue
            if choice.plan == kernels.plan and serves(kernels.main.facts, choice.facts):
                return choice
            if task.program.reads_again:  # another plan would hold other rows
                break
        raise self._mismatch(words_of(kernels.main.facts), "another plan")

    def _mismatch(self, expected: str, found: str) -> Exception:
        name = self._artifact.program.name
        return error("WF123", name=name, expected=expected, found=found, call=f"call {name} itself")


def _shapes_of(a: ProgramArtifact) -> str:
    """The shapes that a program serves, with a letter for each dim; an axis that is read as several is a product."""
    names: dict[tuple[int, int], str] = {}
    for d, axes in enumerate(a.program.dims):
        names |= dict.fromkeys(axes, chr(ord("a") + d % 26))
    names |= {(array, axis): str(n) for array, axis, n in a.program.sizes}
    return ", ".join(f"({', '.join(_axes_of(a, i, names))})" for i in range(len(a.ones)))


def _axes_of(a: ProgramArtifact, array: int, names: Mapping[tuple[int, int], str]) -> Iterator[str]:
    """The axes of an array in words; ``names`` are those of the axes after splits."""
    split = {s.axis: s.sizes for s in a.program.splits if s.array == array}
    place = 0
    for axis, one in enumerate(a.ones[array]):
        sizes = split.get(axis, (int(one),))
        yield "*".join(str(n) if n else names.get((array, place + i), "?") for i, n in enumerate(sizes))
        place += len(sizes)


def compiled(planned: Planned) -> CompiledProgram:
    """Compiles the steps of a program for arrays of any sizes that their plans serve."""
    prepared = planned.prepared
    program, steps, kernels = prepared.program, [], []
    for own in prepared.steps:
        ready = replace(own.prepared, choice=own.prepared.choice.for_any_size)
        program = _bounded(program, own)
        steps.append(replace(own.step, program=ready.program))
        kernels.append(artifact(ready))
    cut = replace(prepared.cut, steps=tuple(steps))
    ones = tuple(tuple(n == 1 for n in spec.shape) for spec in planned.arrays)
    asked = (planned.plan, planned.determinism)
    return CompiledProgram(ProgramArtifact(program, cut, tuple(kernels), planned.names, ones, *asked))


def _bounded(program: ArrayProgram, own: PreparedStep) -> ArrayProgram:
    """``program`` with the most elements that a step serves, if it adds them in a narrow type."""
    if own.prepared.program == own.step.program:
        return program
    _, most = narrowed(own.step.program)
    over = sum(1 << d for d in own.step.reduced)
    return program if most is None else replace(program, most=(*program.most, (over, most)))


def explained(planned: Planned) -> str:
    """The steps of a program in words."""
    program = planned.prepared.program
    results = [name or "the result" for name in leaf_names(program.structure)]
    results += [f"the check {code}" for code in program.checks]
    ranks = [len(a.shape) for a in planned.arrays]
    arrays, axes = array_labels(program, planned.names, ranks), axis_labels(program, planned.names, ranks)
    labels = [axes[array][axis] for (array, axis), *_ in program.dims]

    def named(o: Operand) -> str:
        if o.kind == "view":
            return arrays[program.views[o.number].array]
        return results[o.number] if o.kind == "output" else f"buffer {o.number}"

    lines = []
    for own in planned.prepared.steps:
        step, choice = own.step, own.prepared.choice
        reads, writes = (", ".join(dict.fromkeys(map(named, os))) or "nothing" for os in (step.inputs, step.outputs))
        along, each = (" ".join(labels[d] for d in dims) for dims in (step.reduced, step.kept))
        rows = f"rows along {along or 'nothing'}" + (f", one for each {each}" if each else "")
        lines.append(f"{step.program.name}: {rows}; reads {reads}; writes {writes}")
        lines += [f"  {reason}" for reason in choice.reasons]
        lines.append(f"  plan {plan_words(choice.plan)}")
    return "\n".join(lines)
