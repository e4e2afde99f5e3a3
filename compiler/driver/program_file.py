"""A compiled program of arrays as the bytes of a file of JSON with a checksum.

As of an artifact's file, every field is checked by type and by bounds, and all must fit together
(``program_checks.py``).
"""

from __future__ import annotations

import copyreg
from typing import Any

from .. import files
from ..plan.fields import Determinism
from ..program.array_layouts import Bits, Output, Slice, Split, View
from ..program.array_program import ArrayProgram
from ..program.cuts.steps import Buffer, Operand, OperandKind, Step, Steps
from ..program.graph import Expr, Program
from . import artifact_file, checksummed_json, graph_json
from . import json_fields as read
from .program_artifact import ProgramArtifact
from .program_checks import expect_sound

MAGIC = b"warpfold program 2 "
EARLIER = (b"warpfold program 1 ",)
"""The formats of earlier versions, which lack what this one needs."""


def save(found: ProgramArtifact, path: files.Name) -> None:
    """Writes a compiled program to ``path``: all of it, or nothing.

    Raises:
        FileError: WF505 when the file cannot be written.
    """
    body = to_bytes(found)
    files.write(path, lambda f: f.write(body))


def to_bytes(found: ProgramArtifact) -> bytes:
    """The bytes of a compiled program's file, which ``parse`` reads."""
    return checksummed_json.to_bytes(MAGIC, _to_json(found))


def parse(data: bytes, path: object) -> ProgramArtifact:
    """The compiled program that the bytes of a file are; ``path`` is for the message.

    Raises:
        FileError: WF502 not a file of this format, WF503 cut short or altered, WF510 one whose parts do not fit
            together.
    """
    return checksummed_json.parse(MAGIC, data, path, _sound)


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
        "given": [t.name for t in p.given],
        "made": [t.name for t in p.made],
        "steps": [_step_to_json(s) for s in found.steps.steps],
        "buffers": [[b.dtype.name, b.dims, b.sections] for b in found.steps.buffers],
        "kernels": [artifact_file.to_json(a) for a in found.kernels],
        "names": found.names,
        "ones": found.ones,
        "plan": found.plan,
        "determinism": found.determinism,
        "axes": found.reduced,
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


FIELDS = {
    "name", "arrays", "dims", "views", "outputs", "graph", "structure", "sizes", "most", "checks", "splits", "slices",
    "bits", "given", "made", "steps", "buffers", "kernels", "names", "ones", "plan", "determinism", "axes",
}  # fmt: skip
OF_STEPS = {"name", "types", "graph", "kept", "reduced", "inputs", "outputs", "counted", "numbered", "reverse"}
"""The fields of a file, and of each step in it."""


def _from_json(j: dict[str, Any]) -> ProgramArtifact:
    if set(j) != FIELDS:
        raise KeyError("fields")
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
        given=read.many("given", j["given"], read.dtype),
        made=read.many("made", j["made"], read.dtype),
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
        None if j["axes"] is None else _dims("axes", j["axes"]),
    )


def _step(name: str, j: Any) -> Step:
    if set(j) != OF_STEPS:
        raise KeyError("fields")
    types = read.many(f"{name}.types", j["types"], read.dtype)
    program = Program(read.text(f"{name}.name", j["name"]), types, graph_json.from_json(f"{name}.graph", j["graph"]))
    kept, reduced, counted = (_dims(f"{name}.{key}", j[key]) for key in ("kept", "reduced", "counted"))
    numbered = read.many(f"{name}.numbered", j["numbered"], _dims)
    inputs, outputs = (read.many(f"{name}.{key}", j[key], _operand) for key in ("inputs", "outputs"))
    reverse = read.truth(f"{name}.reverse", j["reverse"])
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
