"""A compiled program of arrays as the bytes of a file: a line with the SHA-256 of what follows, then JSON.

As of an artifact's file, every field is checked by type and bounds, and all must fit together: the kernels of a step
are those that its kernel program, its facts and its plan give.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, get_args

from .. import files
from ..errors import error
from ..plan.plan import Determinism
from ..program.array_program import ArrayProgram, Output, Split, View
from ..program.cuts.steps import Buffer, Operand, Step, Steps
from ..program.graph import Program, walk
from ..target import TARGETS
from . import artifact_file, graph_json
from . import json_fields as read
from .artifact import Artifact, without_code
from .artifact_checks import CHECKS, UnsoundError, expect_sound
from .program_artifact import ProgramArtifact

MAGIC = b"warpfold program 1 "
KINDS = get_args(Operand.__annotations__["kind"]) or ("view", "output", "buffer")


def save(found: ProgramArtifact, path: files.Name) -> None:
    """Writes a compiled program to ``path``: all of it, or nothing.

    Raises:
        FileError: WF505 when the file cannot be written.
    """
    body = to_bytes(found)
    files.write(path, lambda f: f.write(body))


def to_bytes(found: ProgramArtifact) -> bytes:
    """The bytes of a compiled program's file, which ``parse`` reads."""
    body = json.dumps(_to_json(found), separators=(",", ":")).encode()
    return MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def parse(data: bytes, path: object) -> ProgramArtifact:
    """The compiled program that the bytes of a file are; ``path`` is for the message.

    Raises:
        FileError: WF502 not a file of this format, WF503 cut short or altered, WF510 one whose parts do not fit
            together.
    """
    head, _, body = data.partition(b"\n")
    if not head.startswith(MAGIC):
        raise error("WF502", path=path)
    if head[len(MAGIC) :].decode("ascii", "replace") != hashlib.sha256(body).hexdigest():
        raise error("WF503", path=path)
    try:
        found = _from_json(json.loads(body))
        _expect_sound(found)
    except UnsoundError as e:
        raise error("WF510", path=path, problem=e) from e
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as e:  # of another format
        raise error("WF502", path=path) from e
    return found


# --- fields ----------------------------------------------------------------------------------------------------------
def _to_json(found: ProgramArtifact) -> dict[str, Any]:
    p = found.program
    return {
        "name": p.name,
        "arrays": [t.name for t in p.arrays],
        "dims": p.dims,
        "views": p.views,
        "outputs": [[o.axes, o.dtype.name, o.joined] for o in p.outputs],
        "graph": graph_json.to_json(p.roots),
        "structure": p.structure,
        "sizes": p.sizes,
        "most": p.most,
        "checks": p.checks,
        "splits": p.splits,
        "steps": [_step_to_json(s) for s in found.steps.steps],
        "buffers": [[b.dtype.name, b.dims] for b in found.steps.buffers],
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
    }


def _from_json(j: dict[str, Any]) -> ProgramArtifact:
    exprs = graph_json.from_json("graph", j["graph"])
    outputs = [
        Output(e, _axes(f"outputs[{i}]", axes), read.dtype(f"outputs[{i}]", t), _dims(f"outputs[{i}]", joined))
        for i, (e, (axes, t, joined)) in enumerate(zip(exprs, j["outputs"], strict=True))
    ]
    program = ArrayProgram(
        read.text("name", j["name"]),
        read.many("arrays", j["arrays"], read.dtype),
        read.many("dims", j["dims"], _pairs),
        read.many("views", j["views"], _view),
        tuple(outputs),
        artifact_file.structure(j["structure"]),
        read.many("sizes", j["sizes"], _three),
        most=read.many("most", j["most"], _pair),
        checks=read.many("checks", j["checks"], read.text),
        splits=read.many("splits", j["splits"], _split),
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
    kept, reduced, counted, numbered = (
        _dims(f"{name}.{key}", j[key]) for key in ("kept", "reduced", "counted", "numbered")
    )
    inputs, outputs = (read.many(f"{name}.{key}", j[key], _operand) for key in ("inputs", "outputs"))
    return Step(program, kept, reduced, inputs, outputs, counted, numbered)


def _dims(name: str, j: Any) -> tuple[int, ...]:
    return read.many(name, j, read.number)


def _axes(name: str, j: Any) -> tuple[int | None, ...]:
    return tuple(None if d is None else read.number(name, d) for d in read.of(name, j, list))


def _truths(name: str, j: Any) -> tuple[bool, ...]:
    return read.many(name, j, read.truth)


def _pair(name: str, j: Any) -> tuple[int, int]:
    a, b = _dims(name, j)
    return a, b


def _three(name: str, j: Any) -> tuple[int, int, int]:
    a, b, c = _dims(name, j)
    return a, b, c


def _pairs(name: str, j: Any) -> tuple[tuple[int, int], ...]:
    return read.many(name, j, _pair)


def _view(name: str, j: Any) -> View:
    array, axes = read.of(name, j, list)
    return View(read.number(name, array), _axes(name, axes))


def _split(name: str, j: Any) -> Split:
    array, axis, sizes = read.of(name, j, list)
    return Split(read.number(name, array), read.number(name, axis), _dims(name, sizes))


def _buffer(name: str, j: Any) -> Buffer:
    t, dims = read.of(name, j, list)
    return Buffer(read.dtype(name, t), _dims(name, dims))


def _operand(name: str, j: Any) -> Operand:
    kind, number = read.of(name, j, list)
    if kind not in KINDS:
        raise UnsoundError(f"{name} is {read.shown(kind)}: expected one of {' '.join(KINDS)}")
    return Operand(kind, read.number(name, number))


# --- whether it fits together ----------------------------------------------------------------------------------------
def _expect_sound(found: ProgramArtifact) -> None:
    """Raises ``UnsoundError`` where parts of a compiled program do not fit together."""
    p, steps = found.program, found.steps
    dims = len(p.dims)
    used = [d for s in steps.steps for d in (*s.kept, *s.reduced, *s.counted, *s.numbered)]
    used += [d for b in steps.buffers for d in b.dims]
    used += [d for axes in (*(v.axes for v in p.views), *(o.axes for o in p.outputs)) for d in axes if d is not None]
    _expect(all(d < dims for d in used), f"it names a dim beyond its {dims}")
    _expect(all(p.dims), "a dim has no axis")
    _expect(all(sum(o.joined) == len(o.axes) for o in p.outputs if o.joined), "a result joins other axes than it has")
    _expect(set(p.checks) <= set(CHECKS), f"checks is {p.checks}: expected some of {' '.join(CHECKS)}")
    pairs = [*(pair for axes in p.dims for pair in axes), *((array, axis) for array, axis, _ in p.sizes)]
    arrays = len(p.arrays)
    _expect(all(a < arrays for a, _ in pairs) and all(v.array < arrays for v in p.views), "it names no array of its")
    _expect(len(found.names) == len(found.ones) == arrays, "it has another number of names than of arrays")
    own = all(s.array < arrays and s.axis < len(found.ones[s.array]) and s.sizes for s in p.splits)
    _expect(own, "it splits no axis of an array")
    ranks = [len(x) + sum(len(s.sizes) - 1 for s in p.splits if s.array == i) for i, x in enumerate(found.ones)]
    _expect(all(axis < ranks[a] for a, axis in pairs), "it names no axis of an array")
    _expect(all(len(v.axes) == ranks[v.array] for v in p.views), "a view has other axes than its array")
    counts = {"view": len(p.views), "output": len(p.outputs), "buffer": len(steps.buffers)}
    written: set[Operand] = set()
    _expect(len(steps.steps) == len(found.kernels) > 0, "it has another number of kernels than of steps")
    for step, a in zip(steps.steps, found.kernels, strict=True):
        _expect(all(o.number < counts[o.kind] for o in (*step.inputs, *step.outputs)), "it names no operand of its")
        _expect(all(o.kind == "view" or o in written for o in step.inputs), "a step reads what no step has written")
        _expect(all(o.kind != "view" for o in step.outputs), "a step writes an array that it only reads")
        written |= set(step.outputs)
        _expect_kernels(step, a)
    _expect(all(Operand("output", i) in written for i in range(counts["output"])), "no step writes a result")


def _expect_kernels(step: Step, a: Artifact) -> None:
    """Checks the kernels of a step against its kernel program."""
    expect_sound(a)
    _expect(len(step.inputs) == len(step.program.inputs), "a step has another number of arrays than its program")
    _expect(len(step.outputs) == len(step.program.outputs), "a step has another number of results than its program")
    read_nodes = [(e.value, e.dtype) for e in walk(step.program.outputs) if e.op == "input"]
    _expect(set(read_nodes) <= set(enumerate(step.program.inputs)), "a step reads an array of another type")
    own = without_code(step.program, a.main.facts, a.plan, TARGETS[a.arch], a.key)
    _expect(a.without_code() == own, f"the kernels of {a.name} do not match its program")


def _expect(holds: object, problem: str) -> None:
    if not holds:
        raise UnsoundError(problem)
