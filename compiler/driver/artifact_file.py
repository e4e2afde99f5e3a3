"""An artifact as the bytes of a file of JSON with a checksum: PTX, cubins, launch recipe, plan and provenance.

Every field is checked by type and by bounds, and all must fit together (``artifact_checks.py``): a file is refused
before anything of it is launched.
"""

from __future__ import annotations

import base64
import copyreg
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

from .. import files
from ..errors import error
from ..plan.abi import Param
from ..plan.abi import Role as ParamRole
from ..plan.facts import NUMBERS, Facts
from ..plan.fields import Determinism
from ..plan.kernels import Role
from ..plan.plan import Plan
from . import checksummed_json
from . import json_fields as read
from .artifact import Artifact, CompiledKernel
from .artifact_checks import UnsoundError, expect_sound, expect_whole

MAGIC = b"warpfold artifact 1 "
_SAMPLES: dict[type, Any] = {Plan: Plan(), Facts: Facts(1, 1, 32, (), store_vector=False), Param: Param("input")}
"""A value of each class, for the types of its fields."""


def save(artifact: Artifact, path: files.Name) -> None:
    """Writes an artifact to ``path``: all of it, or nothing.

    Raises:
        FileError: WF505 when the file cannot be written.
    """
    body = to_bytes(artifact)
    files.write(path, lambda f: f.write(body))


def to_bytes(artifact: Artifact) -> bytes:
    """The bytes of an artifact's file, which ``parse`` reads."""
    return checksummed_json.to_bytes(MAGIC, to_json(artifact))


def to_json(artifact: Artifact) -> dict[str, Any]:
    """The fields of an artifact for a file, which ``from_json`` reads."""
    return {
        "name": artifact.name,
        "inputs": [t.name for t in artifact.inputs],
        "outputs": [t.name for t in artifact.outputs],
        "state": [t.name for t in artifact.state],
        "kernels": [asdict(k) for k in artifact.kernels],
        "arch": artifact.arch,
        "ptx": artifact.ptx,
        "source": artifact.source,
        "key": artifact.key,
        "provenance": dict(artifact.provenance),
        "has_identity": artifact.has_identity,
        "axis": artifact.axis,
        "results": [t.name for t in artifact.results],
        "structure": artifact.structure,
        "checks": list(artifact.checks),
        "masked": artifact.masked,
        "arrays": [t.name for t in artifact.arrays],
        "determinism": artifact.determinism,
        "most": artifact.most,
        "cubins": {arch: base64.b85encode(code).decode() for arch, code in artifact.cubins.items()},
    }


def load(path: files.Name) -> Artifact:
    """Reads an artifact that ``save`` wrote; imports neither MLIR nor CUDA.

    Raises:
        FileError: WF501 unreadable, WF502 not an artifact of this format, WF503 cut short or altered, WF510 one whose
            parts do not fit together.
    """
    found = parse(files.read(path, "WF501"), path)
    try:
        expect_whole(found)
    except UnsoundError as e:
        raise error("WF510", path=path, problem=e) from e
    return found


def parse(data: bytes, path: object) -> Artifact:
    """The artifact that the bytes of a file are; ``path`` is for the message.

    Raises:
        FileError: WF502, WF503, WF510, as ``load``.
    """
    return checksummed_json.parse(MAGIC, data, path, _sound)


def _sound(j: Any) -> Artifact:
    """The artifact whose fields these are, the parts of which fit together."""
    found = from_json(j)
    expect_sound(found)
    return found


# A pickle holds the bytes of the file, which are checked when they are read.
copyreg.pickle(Artifact, lambda artifact: (parse, (to_bytes(artifact), "a pickle")))


# --- fields --------------------------------------------------------------------------------------------------------
def from_json(j: dict[str, Any]) -> Artifact:
    """The artifact whose fields these are; raises ``UnsoundError`` or Python's own errors for others."""
    if set(j) != {f.name for f in fields(Artifact)}:
        raise KeyError("fields")
    types = {name: read.many(name, j[name], read.dtype) for name in ("inputs", "outputs", "state", "results", "arrays")}
    return Artifact(
        name=read.text("name", j["name"]),
        kernels=read.many("kernels", j["kernels"], _kernel),
        arch=read.text("arch", j["arch"]),
        ptx=read.of("ptx", j["ptx"], str),
        source=read.of("source", j["source"], str),
        key=read.text("key", j["key"]),
        provenance=read.mapping("provenance", j["provenance"], read.text),
        has_identity=read.of("has_identity", j["has_identity"], bool),
        cubins=read.mapping("cubins", j["cubins"], read.code),
        axis=None if j["axis"] is None else read.many("axis", j["axis"], read.number),
        structure=structure(j["structure"]),
        checks=read.many("checks", j["checks"], read.text),
        masked=read.of("masked", j["masked"], bool),
        determinism=read.choice("determinism", j["determinism"], Determinism),
        most=None if j["most"] is None else read.number("most", j["most"]),
        **types,
    )


def _kernel(name: str, j: Any) -> CompiledKernel:
    read.of(name, j, dict)
    if set(j) != {f.name for f in fields(CompiledKernel)}:
        raise KeyError(name)
    return CompiledKernel(
        read.text(f"{name}.name", j["name"]),
        read.choice(f"{name}.role", j["role"], Role),
        _record(f"{name}.plan", j["plan"], Plan),
        _record(f"{name}.facts", j["facts"], Facts),
        read.many(f"{name}.params", j["params"], _param),
    )


def _param(name: str, j: Any) -> Param:
    found: Param = _record(name, j, Param)
    read.choice(f"{name}.role", found.role, ParamRole)
    return found


def _record(name: str, j: Any, kind: type) -> Any:
    """A value of a class whose fields are texts, numbers, truth values, or tuples of texts or numbers."""
    read.of(name, j, dict)
    sample, given = _SAMPLES[kind], {}
    if set(j) != {f.name for f in fields(kind)}:
        raise KeyError(name)
    for key, value in j.items():
        own = type(getattr(sample, key))
        one: Callable[[str, Any], Any] = {str: read.text, int: read.number, bool: read.truth, tuple: _tuple}[own]
        given[key] = one(f"{name}.{key}", value)
    return kind(**given)


def _tuple(name: str, value: Any) -> tuple[Any, ...]:
    """Numbers of a block or of operands, or the names of accesses."""
    return read.many(name, value, read.number if name.rpartition(".")[2] in ("block", *NUMBERS) else read.text)


def structure(j: Any) -> Any:
    """Lists of JSON as the tuples they were."""
    if isinstance(j, int | str) and type(j) is not bool:
        return j
    return tuple(structure(part) for part in read.of("structure", j, list))
