"""Whether the parts of a compiled program of arrays fit together, checked for every file before anything is launched.

Every step reads only what an earlier one has written, every result is written, and the kernels of a step are those that
its kernel program, its facts and its plan give.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..dtypes import I64
from ..plan.facts import numberings
from ..program.array_layouts import View
from ..program.array_program import ArrayProgram
from ..program.cuts.steps import Operand, Step
from ..program.graph import walk
from ..target import TARGETS
from . import artifact_checks
from .artifact import Artifact, without_code
from .artifact_checks import CHECKS, expect, expect_each
from .program_artifact import ProgramArtifact


def expect_sound(found: ProgramArtifact) -> None:
    """Raises ``UnsoundError`` where parts of a compiled program do not fit together."""
    p, steps = found.program, found.steps
    dims = len(p.dims)
    used = [d for s in steps.steps for dims in (s.kept, s.reduced, s.counted, *s.numbered) for d in dims]
    used += [d for b in steps.buffers for d in b.dims]
    used += [d for axes in (*(v.axes for v in p.views), *(o.axes for o in p.outputs)) for d in axes if d is not None]
    expect(all(d < dims for d in used), f"it names a dim beyond its {dims}")
    expect(all(p.dims), "a dim has no axis")
    expect_each(p.structure, len(p.outputs))
    expect(all(sum(o.joined) == len(o.axes) for o in p.outputs if o.joined), "a result joins other axes than it has")
    expect(set(p.checks) <= set(CHECKS), f"checks is {p.checks}: expected some of {' '.join(CHECKS)}")
    pairs = [*(pair for axes in p.dims for pair in axes), *((array, axis) for array, axis, _ in p.sizes)]
    expect(len(found.names) == len(found.ones) == len(p.arrays), "it has another number of names than of arrays")
    ranks = _ranks(p, [len(own) for own in found.ones])
    _expect_bits(p, dims)
    ranks += [sum(len(own) or 1 for own in b.axes) for b in reversed(p.bits)]
    arrays, least = len(ranks) - len(p.bits), -len(p.bits)
    own = all(least <= a < arrays for a in (*(a for a, _ in pairs), *(v.array for v in p.views)))
    expect(own, "it names no array of its")
    expect(all(axis < ranks[a] for a, axis in pairs), "it names no axis of an array")
    expect(all(len(v.axes) == ranks[v.array] for v in p.views), "a view has other axes than its array")
    own = all(v.gathered is None or v.axes[v.gathered : v.gathered + 1] == (None,) for v in p.views)
    expect(own, "a view gathers along no axis of its own")
    counts = {"view": len(p.views), "output": len(p.outputs), "buffer": len(steps.buffers)}
    written: set[Operand] = set()
    expect(len(steps.steps) == len(found.kernels) > 0, "it has another number of kernels than of steps")
    for step, a in zip(steps.steps, found.kernels, strict=True):
        expect(all(o.number < counts[o.kind] for o in (*step.inputs, *step.outputs)), "it names no operand of its")
        expect(all(o.kind == "view" or o in written for o in step.inputs), "a step reads what no step has written")
        expect(all(o.kind != "view" for o in step.outputs), "a step writes an array that it only reads")
        written |= set(step.outputs)
        _expect_gathers(step, p.views)
        _expect_kernels(step, a)
    expect(all(Operand("output", i) in written for i in range(counts["output"])), "no step writes a result")


def _ranks(p: ArrayProgram, whole: list[int]) -> list[int]:
    """How many axes each array and each slice has after the splits, of arrays with ``whole`` many."""
    for s in p.slices:
        sound = s.array < len(whole) and s.axis < whole[s.array] and s.part < len(s.sizes) and s.step != 0
        expect(sound and s.sizes.count(0) <= 1 and s.kind <= 2, "it slices no axis of an array")
        whole.append(whole[s.array] + len(s.sizes) - 1)
    own = all(s.array < len(whole) and s.axis < whole[s.array] and s.sizes for s in p.splits)
    expect(own, "it splits no axis of an array")
    return [n + sum(len(s.sizes) - 1 for s in p.splits if s.array == i) for i, n in enumerate(whole)]


def _expect_bits(p: ArrayProgram, dims: int) -> None:
    """Checks that bits are those of an array or a slice, along dims of known sizes."""
    arrays = len(p.arrays) + len(p.slices)
    expect(all(b.array < arrays for b in p.bits), "it unpacks no array of its")
    along = [d for b in p.bits for own in b.axes for d in own]
    expect(all(d < dims for d in along), f"it names a dim beyond its {dims}")
    known = {d for b in p.bits for d, _ in b.sizes}
    expect(all(d in known or any(a >= 0 for a, _ in p.dims[d]) for d in along), "bits lie along a dim without a size")


def _expect_gathers(step: Step, views: Sequence[View]) -> None:
    """Checks that a step gathers from views with a gathered axis, and only gathers from these."""
    nodes = list(walk(step.program.outputs))
    found = [e.args for e in nodes if e.op == "gather"]
    sound = all(len(args) == 2 and args[0].op == "input" and args[1].dtype == I64 for args in found)
    expect(sound, "a gather is of no array, or has no index of type i64")
    own = {i for i, o in enumerate(step.inputs) if o.kind == "view" and views[o.number].gathered is not None}
    expect(own == step.program.gathered, "a step gathers from other arrays than its views say")


def _expect_kernels(step: Step, a: Artifact) -> None:
    """Checks the kernels of a step against its kernel program."""
    artifact_checks.expect_sound(a)
    expect(len(step.inputs) == len(step.program.inputs), "a step has another number of arrays than its program")
    expect(len(step.outputs) == len(step.program.outputs), "a step has another number of results than its program")
    read_nodes = [(e.value, e.dtype) for e in walk(step.program.outputs) if e.op == "input"]
    expect(set(read_nodes) <= set(enumerate(step.program.inputs)), "a step reads an array of another type")
    plain = step.program.uses_index and not step.program.reads_again
    numbered = len(step.program.numberings) or int(plain)
    expect(len(step.numbered) == numbered, "a step has another number of numberings than its program")
    expect(a.main.facts.numberings == numberings(step.program), "a step's facts name other numberings than its program")
    own = without_code(step.program, a.main.facts, a.plan, TARGETS[a.arch], a.key)
    expect(a.without_code() == own, f"the kernels of {a.name} do not match its program")
