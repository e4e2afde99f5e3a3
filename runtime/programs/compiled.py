"""``Compiled``: a compiled program of arrays, which can be inspected, saved and called."""

from __future__ import annotations

import inspect
import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import is_not
from typing import TYPE_CHECKING, Any

from ...compiler.driver import program_file
from ...compiler.driver.artifact import Artifact
from ...compiler.driver.program_artifact import ProgramArtifact
from ...compiler.errors import error
from ...compiler.plan.ladder import menu_of
from ...compiler.plan.plan import Plan
from ...compiler.planner.task import Task
from ...compiler.program.array_program import ArrayProgram
from ...compiler.program.axis_labels import array_labels, axis_labels
from ...compiler.program.cuts.steps import Operand
from ...compiler.program.frames import caller, outermost, shown
from ...compiler.program.rewrites.narrowing import narrowed
from ...compiler.program.spelling import unknown, wrong_count
from ...compiler.program.tracing import leaf_names
from ...compiler.target import target
from .. import tuned_plans
from ..arrays.torch_compile import opaque
from ..calls.operands import Operands, check_keepdims
from ..calls.recall import Memo
from ..calls.recipe import MISS
from ..prepare import Prepared, artifact
from ..tuned_plans import words as plan_words
from ..view import real_specs, spec_of
from . import run, traces
from .fitted import Unfit, fitted
from .machine import Machine
from .planned import Planned
from .plans import PreparedProgram, PreparedStep, StepPlanner, asked_of
from .step_tasks import StepTasks

if TYPE_CHECKING:
    from ...compiler.driver.pipeline import Stage


class Compiled:
    """A compiled program of arrays: a reduction from ``wf.compile``, any from its ``compile``, or one from ``wf.load``.

    Calling it runs the program on arrays of the types and ranks that it was compiled for, in that order. An array may
    be given by its name, as the mask of a reduction is: ``where``.
    """

    def __init__(self, artifact: ProgramArtifact) -> None:
        self._artifact = artifact
        self._memo = Memo()
        self._last = self._memo.last

    def __repr__(self) -> str:
        a = self._artifact
        given = zip(a.names, a.program.takes, shapes_of(a), strict=True)
        arrays = ", ".join(f"{name} {t.name} {shape}" for name, t, shape in given)
        kernels = "; ".join(
            f"kernels {', '.join(own.name for own in k.kernels)}, plan {plan_words(k.plan)}" for k in a.kernels
        )
        return f"<warpfold.Compiled: {a.program.name} of {arrays}, for {a.kernels[0].arch}; {kernels}>"

    def __reduce__(self) -> tuple[type[Compiled], tuple[ProgramArtifact]]:
        """Pickles the artifact only: remembered calls belong to this process."""
        return Compiled, (self._artifact,)

    @property
    def artifact(self) -> ProgramArtifact:
        """The steps and their kernels with all that is known of them."""
        return self._artifact

    @property
    def ptx(self) -> str:
        """The PTX text of all steps."""
        return "\n".join(k.ptx for k in self._artifact.kernels)

    @property
    def plan(self) -> Plan:
        """The plan of the first step, which is the only one of a reduction."""
        return self._artifact.kernels[0].plan

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
    def __call__(self, *xs: Any, out: Any = None, keepdims: bool = False, device: str = "auto", **named: Any) -> Any:
        """Runs the program.

        Args:
            xs: the arrays.
            out: an array to write into, or a tuple of one per result, in which None stands for a new one.
            keepdims: of a reduction: whether results keep the reduced axes, with size 1.
            device: as for ``wf.reduce``.
            named: arrays by name, behind those of ``xs``.
        """
        if named or keepdims is not False:
            try:
                xs = self._in_order(xs, named)
            except Exception as e:
                raise shown(e)  # noqa: B904  # WARPFOLD_TRACEBACK=full shows the frames between
        key: Hashable = len(xs)
        if out is None:
            arrays = xs
        elif type(out) is tuple:
            key, arrays = (key, *map(is_given, out)), (*xs, *filter(is_given, out))
        else:
            key, arrays = -len(xs), (*xs, out)
        if keepdims is not False or device != "auto":
            key = key, keepdims, device
        recipe = self._last.get(key)
        if recipe is not None:
            found = recipe(*arrays)
            if found is not MISS:
                return found
        try:
            return self._memo.missed(key, None, arrays, lambda: self._run(xs, out, device, keepdims=keepdims))
        except Exception as e:
            raise shown(e)  # noqa: B904  # WARPFOLD_TRACEBACK=full shows the frames between

    def _in_order(self, xs: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """All arrays in the order of the program's."""
        a, given = self._artifact, {name: x for name, x in named.items() if x is not None and x is not True}
        rest = a.names[len(xs) :]
        for name in given:
            if name not in rest:
                known = dict.fromkeys(rest, inspect.Parameter.empty)
                raise unknown(a.program.name, name, known, array=name in a.names, where=caller())
        return (*xs, *(given[name] for name in rest if name in given))

    def _run(self, xs: Sequence[Any], out: Any, device: str, *, keepdims: bool) -> Any:
        """A call in full, without a look at earlier calls."""
        a = self._artifact
        check_keepdims(keepdims)
        if keepdims and a.reduced is None:
            raise unknown(a.program.name, "keepdims", {}, array=False, where=caller())
        if len(xs) != len(a.names):
            raise self._miscounted(xs)
        operands = run.operands_of(xs, device)
        if operands.types != a.program.takes:
            expected, found = (", ".join(t.name for t in own) for own in (a.program.takes, operands.types))
            raise self._mismatch(f"elements of type {expected}", found)
        self._check_shapes([v.shape for v in operands.parts])
        program = keeping(a.program, a.reduced) if keepdims and a.reduced is not None else a.program
        run.allocate(operands, program, out)
        return run.run(operands, self._fitted(operands, program), a.kernels)

    def _miscounted(self, xs: Sequence[Any]) -> Exception:
        """The error for another number of arrays."""
        a = self._artifact
        if a.names[-1:] == (MASK,) and len(xs) == len(a.names) - 1:
            return self._mismatch(f"calls with {MASK}=", f"calls without {MASK}=")
        return wrong_count(a.program.name, len(a.names), len(xs), a.names)

    def _check_shapes(self, shapes: Sequence[tuple[int, ...]]) -> None:
        """Checks that the program serves arrays of these shapes: an axis of size 1 may be one of any size."""
        a = self._artifact
        alike = len(a.ones) == len(shapes) and all(
            len(own) == len(shape) and all(n == 1 for n, one in zip(shape, own, strict=True) if one)
            for own, shape in zip(a.ones, shapes, strict=True)
        )
        most = min((n for _, n in a.program.most), default=0)
        if alike and traces.serves(replace(a.program, most=()), shapes) and not traces.serves(a.program, shapes):
            raise self._mismatch(f"at most {most} elements a result", "more")
        if not alike or not traces.serves(a.program, shapes):
            raise self._mismatch(f"shapes {', '.join(shapes_of(a))}", ", ".join(map(str, shapes)))

    def _fitted(self, operands: Operands, program: ArrayProgram) -> PreparedProgram:
        """The steps with the plans that the kernels have; WF123 if they do not serve these arrays."""
        a, backend = self._artifact, operands.backend
        arrays, outputs = (real_specs(map(spec_of, own)) for own in (operands.inputs, operands.outputs))
        machine = Machine(target(a.kernels[0].arch), backend.sms)
        asks, options = menu_of(a.plan)
        own = StepTasks(program, arrays, outputs, machine, a.determinism, few=asks, as_given=True)
        tasks, asked = own.of(a.steps), asked_of(a.steps, options)
        ready = [self._prepared(*each) for each in zip(tasks, a.kernels, asked, strict=True)]
        return StepPlanner(own).planned(a.steps, ready)

    def _prepared(self, task: Task, kernels: Artifact, options: str) -> Prepared:
        """How to launch the kernels of a step; WF123 if they do not serve its arrays."""
        try:
            return fitted(task, kernels, options)
        except Unfit as e:
            raise self._mismatch(e.expected, e.found) from None

    def _mismatch(self, expected: str, found: str) -> Exception:
        name = self._artifact.program.name
        return error("WF123", name=name, expected=expected, found=found, call=f"call {name} itself")


is_given = partial(is_not, None)
"""Whether an array for a result is given, and not a new one."""
MASK = "where"
"""The name of the mask of a reduction among its arrays."""


def keeping(program: ArrayProgram, reduced: tuple[int, ...]) -> ArrayProgram:
    """The program of a reduction whose results keep the reduced axes, with size 1."""
    outputs = []
    for o in program.outputs:
        axes = list(o.axes)
        for axis in sorted(reduced):
            axes.insert(axis, None)
        outputs.append(o._replace(axes=tuple(axes)))
    return replace(program, outputs=tuple(outputs))


def shapes_of(a: ProgramArtifact) -> list[str]:
    """The shapes that a program serves, with a letter for each dim; an axis that is read as several is a product."""
    names: dict[tuple[int, int], str] = {}
    for d, axes in enumerate(a.program.dims):
        names |= dict.fromkeys(axes, chr(ord("a") + d % 26))
    names |= {(array, axis): str(n) for array, axis, n in a.program.sizes}
    return [f"({', '.join(_axes_of(a, i, names))})" for i in a.program.firsts]


def _axes_of(a: ProgramArtifact, array: int, names: Mapping[tuple[int, int], str]) -> Iterator[str]:
    """The axes of an array in words; ``names`` are those of the axes after splits."""
    split = {s.axis: s.sizes for s in a.program.splits if s.array == array}
    place = 0
    for axis, one in enumerate(a.ones[array]):
        sizes = split.get(axis, (int(one),))
        yield "*".join(str(n) if n else names.get((array, place + i), "?") for i, n in enumerate(sizes))
        place += len(sizes)


def compiled(planned: Planned, reduced: tuple[int, ...] | None = None) -> Compiled:
    """Compiles the steps of a program for arrays of any sizes that their plans serve.

    Args:
        planned: the steps.
        reduced: the axes of a reduction; None for another program.
    """
    prepared = planned.prepared
    program, steps, kernels = prepared.program, [], []
    for own in prepared.steps:
        ready = for_any_size(own.prepared, planned.plan)
        program = _bounded(program, own)
        steps.append(replace(own.step, program=ready.program))
        kernels.append(artifact(ready))
    cut = replace(prepared.cut, steps=tuple(steps))
    ones = tuple(tuple(n == 1 for n in spec.shape) for spec in real_specs(planned.arrays))
    asked = (planned.plan, planned.determinism)
    return Compiled(
        ProgramArtifact(replace(program, lines=""), cut, tuple(kernels), planned.names, ones, *asked, reduced)
    )


def for_any_size(ready: Prepared, plan: str = "") -> Prepared:
    """``ready``, planned with the options ``plan``, with kernels that also serve other sizes."""
    choice = ready.choice
    if not plan and not ready.program.reads_again:
        choice = tuned_plans.for_any_size(ready.task, choice)
    return replace(ready, choice=choice.for_any_size)


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
