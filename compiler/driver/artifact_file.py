"""An artifact as the bytes of a file: a line with the SHA-256 of what follows, then JSON.

The JSON holds PTX, cubins, launch recipe, plan and provenance.

A file that is cut short, altered or foreign fails the checksum. One with a checksum made anew is still read field by
field, by type and by bounds, and must fit together (``artifact_checks.py``): it is refused before anything is launched.
"""

from __future__ import annotations

import base64
import copyreg
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any, get_args

from .. import files
from ..dtypes import ALL, STORED, DType
from ..errors import error
from ..plan.abi import Facts, Param
from ..plan.abi import Role as ParamRole
from ..plan.kernels import Role
from ..plan.plan import Determinism, Plan
from .artifact import Artifact, CompiledKernel
from .artifact_checks import UnsoundError, expect_sound, expect_whole

MAGIC = b"warpfold artifact 1 "
LARGEST = 2**62
"""More than any number in an artifact: of elements, of operands, of dims."""
_TYPES = {t.name: t for t in (*ALL, *STORED)}
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
    body = json.dumps(_to_json(artifact), separators=(",", ":")).encode()
    return MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def _to_json(artifact: Artifact) -> dict[str, Any]:
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
    head, _, body = data.partition(b"\n")
    if not head.startswith(MAGIC):
        raise error("WF502", path=path)
    if head[len(MAGIC) :].decode("ascii", "replace") != hashlib.sha256(body).hexdigest():
        raise error("WF503", path=path)
    try:
        found = _artifact(json.loads(body))
        expect_sound(found)
    except UnsoundError as e:
        raise error("WF510", path=path, problem=e) from e
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as e:  # of another format
        raise error("WF502", path=path) from e
    return found


# A pickle holds the bytes of the file, which are checked when they are read.
copyreg.pickle(Artifact, lambda artifact: (parse, (to_bytes(artifact), "a pickle")))


# --- fields --------------------------------------------------------------------------------------------------------
def _artifact(j: dict[str, Any]) -> Artifact:
    if set(j) != {f.name for f in fields(Artifact)}:
        raise KeyError("fields")
    types = {name: _many(name, j[name], _type) for name in ("inputs", "outputs", "state", "results", "arrays")}
    return Artifact(
        name=_text("name", j["name"]),
        kernels=_many("kernels", j["kernels"], _kernel),
        arch=_text("arch", j["arch"]),
        ptx=_of("ptx", j["ptx"], str),
        source=_of("source", j["source"], str),
        key=_text("key", j["key"]),
        provenance=_mapping("provenance", j["provenance"], _text),
        has_identity=_of("has_identity", j["has_identity"], bool),
        cubins=_mapping("cubins", j["cubins"], _code),
        axis=None if j["axis"] is None else _many("axis", j["axis"], _number),
        structure=_structure(j["structure"]),
        checks=_many("checks", j["checks"], _text),
        masked=_of("masked", j["masked"], bool),
        determinism=_choice("determinism", j["determinism"], Determinism),
        most=None if j["most"] is None else _number("most", j["most"]),
        **types,
    )


def _kernel(name: str, j: Any) -> CompiledKernel:
    _of(name, j, dict)
    if set(j) != {f.name for f in fields(CompiledKernel)}:
        raise KeyError(name)
    return CompiledKernel(
        _text(f"{name}.name", j["name"]),
        _choice(f"{name}.role", j["role"], Role),
        _record(f"{name}.plan", j["plan"], Plan),
        _record(f"{name}.facts", j["facts"], Facts),
        _many(f"{name}.params", j["params"], _param),
    )


def _param(name: str, j: Any) -> Param:
    found: Param = _record(name, j, Param)
    _choice(f"{name}.role", found.role, ParamRole)
    return found


def _record(name: str, j: Any, kind: type) -> Any:
    """A value of a class whose fields are texts, numbers, truth values, or tuples of texts or numbers."""
    _of(name, j, dict)
    sample, given = _SAMPLES[kind], {}
    if set(j) != {f.name for f in fields(kind)}:
        raise KeyError(name)
    for key, value in j.items():
        own = type(getattr(sample, key))
        one: Callable[[str, Any], Any] = {str: _text, int: _number, bool: _truth, tuple: _tuple}[own]
        given[key] = one(f"{name}.{key}", value)
    return kind(**given)


def _tuple(name: str, value: Any) -> tuple[Any, ...]:
    """Numbers of a block or of inputs, or the names of accesses."""
    return _many(name, value, _number if name.endswith((".block", ".waiting")) else _text)


def _structure(j: Any) -> Any:
    """Lists of JSON as the tuples they were."""
    if isinstance(j, int | str) and type(j) is not bool:
        return j
    return tuple(_structure(part) for part in _of("structure", j, list))


# --- values --------------------------------------------------------------------------------------------------------
def _of(name: str, value: Any, kind: type) -> Any:
    """``value``, if it is of this type and of no other that is like it."""
    if type(value) is not kind:
        raise UnsoundError(f"{name} is {_shown(value)}: expected {_WORDS[kind]}")
    return value


def _text(name: str, value: Any) -> str:
    """A line of text that can be printed."""
    if not _of(name, value, str).isprintable():
        raise UnsoundError(f"{name} is {_shown(value)}: expected a line of text")
    return value  # type: ignore[no-any-return]


def _number(name: str, value: Any) -> int:
    if not 0 <= _of(name, value, int) < LARGEST:
        raise UnsoundError(f"{name} is {_shown(value)}: expected a number from 0 to {LARGEST - 1}")
    return value  # type: ignore[no-any-return]


def _truth(name: str, value: Any) -> bool:
    return _of(name, value, bool)  # type: ignore[no-any-return]


def _type(name: str, value: Any) -> DType:
    found = _TYPES.get(_of(name, value, str))
    if found is None:
        raise UnsoundError(f"{name} is {_shown(value)}: expected one of {' '.join(_TYPES)}")
    return found


def _choice(name: str, value: Any, choices: Any) -> Any:
    known = get_args(choices)
    if _of(name, value, str) not in known:
        raise UnsoundError(f"{name} is {_shown(value)}: expected one of {' '.join(known)}")
    return value


def _code(name: str, value: Any) -> bytes:
    """Machine code, in base 85."""
    try:
        found = base64.b85decode(_of(name, value, str))
    except ValueError:
        found = b""
    if not found.startswith(b"\x7fELF") or not re.fullmatch(r"cubins\.sm_\d+[af]?", name):
        raise UnsoundError(f"{name} is {_shown(value)}: expected machine code for an architecture")
    return found


def _many(name: str, value: Any, one: Callable[[str, Any], Any]) -> tuple[Any, ...]:
    return tuple(one(f"{name}[{i}]", v) for i, v in enumerate(_of(name, value, list)))


def _mapping(name: str, value: Any, one: Callable[[str, Any], Any]) -> Mapping[str, Any]:
    return {_text(name, key): one(f"{name}.{key}", v) for key, v in _of(name, value, dict).items()}


_WORDS = {
    str: "a text", int: "a whole number", bool: "true or false", list: "a list", dict: "an object"
}  # fmt: skip


def _shown(value: Any) -> str:
    """A value in a message, cut where it is long."""
    if type(value) is int and abs(value) >= LARGEST:  # which Python may refuse to print
        return "too large a number"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
