"""A compiled program of arrays as the bytes of a file of JSON with a checksum.

As of an artifact's file, every field is checked by type and by bounds, and all must fit together: every step reads
only what an earlier one has written, every result is written, and the kernels of a step are those that its kernel
program, its facts and its plan give.
"""

from __future__ import annotations

import copyreg
from collections.abc import Sequence
from typing import Any

from .. import files
from ..dtypes import I64
from ..plan.facts import numberings
from ..plan.fields import Determinism
from ..program.array_layouts import Bits, Output, Slice, Split, View
from ..program.array_program import ArrayProgram
from ..program.cuts.steps import Buffer, Operand, OperandKind, Step, Steps
from ..program.graph import Expr, Program, walk
from ..target import TARGETS
from . import artifact_checks, artifact_file, graph_json, json_fields
from . import json_fields as read
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


MAGIC = b"warpfold program 1 "


def save(found: ProgramArtifact, path: files.Name) -> None:
    """Writes a compiled program to ``path``: all of it, or nothing.

    Raises:
        FileError: WF505 when the file cannot be written.
    """
    body = to_bytes(found)
    files.write(path, lambda f: f.write(body))


def to_bytes(found: ProgramArtifact) -> bytes:
    """The bytes of a compiled program's file, which ``parse`` reads."""
    return json_fields.to_bytes(MAGIC, _to_json(found))


def parse(data: bytes, path: object) -> ProgramArtifact:
    """The compiled program that the bytes of a file are; ``path`` is for the message.

    Raises:
        FileError: WF502 not a file of this format, WF503 cut short or altered, WF510 one whose parts do not fit
            together.
    """
    return json_fields.parse(MAGIC, data, path, _sound)


def _sound(j: Any) -> ProgramArtifact:
    """The program whose fields these are, the parts of which fit together."""
    found = _from_json(j)
    expect_sound(found)
    return found


# A pickle holds the bytes of the file, which are checked when they are read.
copyreg.pickle(ProgramArtifact, lambda found: (parse, (to_bytes(found), "a pickle")))


# --- fields ----------------------------------------------------------------------------------------------------------
def _to_json(found: ProgramArtifact) -> dict[str, Any]:
    p = found.program
    return {
        "name": p.name,
        "arrays": [t.name for t in p.arrays],
        "dims": p.dims,
        "views": p.views,
        "outputs": [[o.axes, o.dtype.name, o.joined, o.flat] for o in p.outputs],
        "graph": graph_json.to_json(p.roots),
        "structure": p.structure,
        "sizes": p.sizes,
        "most": p.most,
        "checks": p.checks,
        "splits": p.splits,
        "slices": p.slices,
        "bits": p.bits,
        "steps": [_step_to_json(s) for s in found.steps.steps],
        "buffers": [[b.dtype.name, b.dims, b.sections] for b in found.steps.buffers],
        "kernels": [artifact_file.to_json(a) for a in found.kernels],
        "names": found.names,
        "ones": found.ones,
        "plan": found.plan,
        "determinism": found.determinism,
    }


def _step_to_json(step: Step) -> dict[str, Any]:
    return {
        "name": step.program.name,
        "types": [t.name for t in step.program.inputs],
        "graph": graph_json.to_json(step.program.outputs),
        "kept": step.kept,
        "reduced": step.reduced,
        "inputs": step.inputs,
        "outputs": step.outputs,
        "counted": step.counted,
        "numbered": step.numbered,
        "reverse": step.reverse,
    }


def _from_json(j: dict[str, Any]) -> ProgramArtifact:
    exprs = graph_json.from_json("graph", j["graph"])
    outputs = [_output(f"outputs[{i}]", *own) for i, own in enumerate(zip(exprs, j["outputs"], strict=True))]
    program = ArrayProgram(
        read.text("name", j["name"]),
        read.many("arrays", j["arrays"], read.dtype),
        read.many("dims", j["dims"], _pairs),
        read.many("views", j["views"], _view),
        tuple(outputs),
        artifact_file.structure(j["structure"]),
        read.many("sizes", j["sizes"], _size),
        most=read.many("most", j["most"], _pair),
        checks=read.many("checks", j["checks"], read.text),
        splits=read.many("splits", j["splits"], _split),
        slices=read.many("slices", j["slices"], _slice),
        bits=read.many("bits", j["bits"], _bits),
    )
    steps = Steps(read.many("steps", j["steps"], _step), read.many("buffers", j["buffers"], _buffer))
    return ProgramArtifact(
        program,
        steps,
        tuple(map(artifact_file.from_json, read.of("kernels", j["kernels"], list))),
        read.many("names", j["names"], read.text),
        read.many("ones", j["ones"], _truths),
        read.text("plan", j["plan"]),
        read.choice("determinism", j["determinism"], Determinism),
    )


def _step(name: str, j: Any) -> Step:
    types = read.many(f"{name}.types", j["types"], read.dtype)
    program = Program(read.text(f"{name}.name", j["name"]), types, graph_json.from_json(f"{name}.graph", j["graph"]))
    kept, reduced, counted = (_dims(f"{name}.{key}", j[key]) for key in ("kept", "reduced", "counted"))
    numbered = read.many(f"{name}.numbered", j["numbered"], _dims)
    inputs, outputs = (read.many(f"{name}.{key}", j[key], _operand) for key in ("inputs", "outputs"))
    reverse = read.truth(f"{name}.reverse", j.get("reverse", False))
    return Step(program, kept, reduced, inputs, outputs, counted, numbered, reverse)


def _output(name: str, e: Expr, j: Any) -> Output:
    axes, t, joined, flat = read.of(name, j, list)
    return Output(e, _axes(name, axes), read.dtype(name, t), _dims(name, joined), read.truth(name, flat))


def _dims(name: str, j: Any) -> tuple[int, ...]:
    return read.many(name, j, read.number)


def _axes(name: str, j: Any) -> tuple[int | None, ...]:
    return tuple(None if d is None else read.number(name, d) for d in read.of(name, j, list))


def _truths(name: str, j: Any) -> tuple[bool, ...]:
    return read.many(name, j, read.truth)


def _pair(name: str, j: Any) -> tuple[int, int]:
    a, b = _dims(name, j)
    return a, b


def _member(name: str, j: Any) -> tuple[int, int]:
    """An (array, axis) pair; bits have negative numbers."""
    array, axis = read.of(name, j, list)
    return read.of(name, array, int), read.number(name, axis)


def _size(name: str, j: Any) -> tuple[int, int, int]:
    array, axis, n = read.of(name, j, list)
    return *_member(name, [array, axis]), read.number(name, n)


def _pairs(name: str, j: Any) -> tuple[tuple[int, int], ...]:
    return read.many(name, j, _member)


def _view(name: str, j: Any) -> View:
    array, axes, gathered = read.of(name, j, list)
    own = None if gathered is None else read.number(name, gathered)
    return View(read.of(name, array, int), _axes(name, axes), own)


def _split(name: str, j: Any) -> Split:
    array, axis, sizes = read.of(name, j, list)
    return Split(read.number(name, array), read.number(name, axis), _dims(name, sizes))


def _slice(name: str, j: Any) -> Slice:
    array, axis, sizes, part, start, stop, step, *counts = read.of(name, j, list)
    ends = [_integer(name, n) for n in (start, stop, step)]
    own = (read.number(name, array), read.number(name, axis), _dims(name, sizes), read.number(name, part))
    return Slice(*own, ends[0], ends[1], ends[2], *_dims(name, counts))


def _bits(name: str, j: Any) -> Bits:
    array, axes, sizes, flat = read.of(name, j, list)
    own = read.number(name, array), read.many(name, axes, _dims), read.many(name, sizes, _pair)
    return Bits(*own, read.truth(name, flat))


def _integer(name: str, j: Any) -> int | None:
    """An integer of any sign, or None."""
    return None if j is None else read.of(name, j, int)


def _buffer(name: str, j: Any) -> Buffer:
    t, dims, sections = read.of(name, j, list)
    return Buffer(read.dtype(name, t), _dims(name, dims), _dims(name, sections))


def _operand(name: str, j: Any) -> Operand:
    kind, number = read.of(name, j, list)
    return Operand(read.choice(name, kind, OperandKind), read.number(name, number))
