"""The artifact: a compiled reduction as a value and as one file, runnable without MLIR.

The file is one header line with the SHA-256 of what follows, then JSON: PTX, cubins, launch recipe, plan, provenance.
A file that is cut short, altered or foreign fails the checksum and is refused, never run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from .abi import Facts, Param
from .dtypes import BY_NAME, DType
from .errors import error
from .plan import Determinism, Plan

MAGIC = b"warpfold artifact 1 "
Role = Literal["init", "main", "second"]


@dataclass(frozen=True)
class CompiledKernel:
    """One entry of the PTX and how it is launched.

    Attributes:
        name: the entry's name.
        role: ``main`` reduces the inputs, ``second`` the partial states, ``init`` sets them to the identity.
        plan, facts: what it was compiled for.
        params: its parameters, in order.
    """

    name: str
    role: Role
    plan: Plan
    facts: Facts
    params: tuple[Param, ...]


@dataclass(frozen=True)
class Artifact:
    """A compiled reduction.

    Attributes:
        name: the program's name.
        inputs, outputs, state: element types of the input arrays, the results and the monoid's state.
        kernels: what is launched, in order.
        arch: the architecture the PTX is for, ``sm_90a``.
        ptx: PTX text of all kernels.
        source: the tensor program in MLIR, from which ``stages`` are made again.
        key: the cache key: a digest of everything that went in.
        provenance: versions of what made it.
        has_identity: whether reducing nothing has a value.
        cubins: machine code by architecture, where ``ptxas`` was there and asked for.
        axis: the reduced axes of a saved artifact: what the file's user need not say again. None is all of them.
        results: the element types of the arrays that the caller gets; the outputs are their parts, then the checks.
        structure: how the results nest, see ``programs.py``.
        checks: for each trailing output the code of the error that a true value means.
        arrays: the element types of the arrays that the caller gives; the inputs are their parts.
        masked: whether the last array is a mask.
        determinism: what the bits of a result may depend on, see ``Task``.
        most: the elements of a result that it serves at most; None for any number.
    """

    name: str
    inputs: tuple[DType, ...]
    outputs: tuple[DType, ...]
    state: tuple[DType, ...]
    kernels: tuple[CompiledKernel, ...]
    arch: str
    ptx: str
    source: str
    key: str
    provenance: Mapping[str, str]
    has_identity: bool = True
    cubins: Mapping[str, bytes] = field(default_factory=dict)
    axis: tuple[int, ...] | None = None
    results: tuple[DType, ...] = ()
    structure: Any = 0
    checks: tuple[str, ...] = ()
    masked: bool = False
    arrays: tuple[DType, ...] = ()
    determinism: Determinism = "run"
    most: int | None = None

    @property
    def indexed(self) -> bool:
        """Whether the program numbers its elements."""
        return any(p.role == "index_base" for p in self.main.params)

    @property
    def main(self) -> CompiledKernel:
        """The kernel that reads the inputs."""
        return next(k for k in self.kernels if k.role == "main")

    @property
    def plan(self) -> Plan:
        """The plan of the main kernel."""
        return self.main.plan

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the artifact to ``path``: whole or not at all.

        Raises:
            FileError: WF505 when the file cannot be written.
        """
        target = Path(path)
        body = json.dumps(self._to_json(), separators=(",", ":")).encode()
        try:
            handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        except OSError as e:
            raise error("WF505", path=target, reason=e.strerror or e) from e
        try:
            with os.fdopen(handle, "wb") as f:
                f.write(MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
            Path(temporary).replace(target)
        except OSError as e:
            raise error("WF505", path=target, reason=e.strerror or e) from e
        finally:
            Path(temporary).unlink(missing_ok=True)

    def _to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "inputs": [t.name for t in self.inputs],
            "outputs": [t.name for t in self.outputs],
            "state": [t.name for t in self.state],
            "kernels": [asdict(k) for k in self.kernels],
            "arch": self.arch,
            "ptx": self.ptx,
            "source": self.source,
            "key": self.key,
            "provenance": dict(self.provenance),
            "has_identity": self.has_identity,
            "axis": self.axis,
            "results": [t.name for t in self.results],
            "structure": self.structure,
            "checks": list(self.checks),
            "masked": self.masked,
            "arrays": [t.name for t in self.arrays],
            "determinism": self.determinism,
            "most": self.most,
            "cubins": {arch: base64.b85encode(code).decode() for arch, code in self.cubins.items()},
        }


def load(path: str | os.PathLike[str]) -> Artifact:
    """Reads an artifact; imports neither MLIR nor CUDA.

    Raises:
        FileError: WF501 unreadable, WF502 not an artifact of this format, WF503 cut short or altered.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as e:
        raise error("WF501", path=path, reason=e.strerror or e) from e
    head, _, body = data.partition(b"\n")
    if not head.startswith(MAGIC):
        raise error("WF502", path=path)
    if head[len(MAGIC) :].decode("ascii", "replace") != hashlib.sha256(body).hexdigest():
        raise error("WF503", path=path)
    try:
        found = _from_json(json.loads(body))
    except (LookupError, TypeError, ValueError, AttributeError) as e:  # whole, but of another format
        raise error("WF502", path=path) from e
    if not any(k.role == "main" for k in found.kernels):
        raise error("WF502", path=path)
    return found


def _from_json(j: dict[str, Any]) -> Artifact:
    def types(names: list[str]) -> tuple[DType, ...]:
        return tuple(BY_NAME[n] for n in names)

    return Artifact(
        j["name"], types(j["inputs"]), types(j["outputs"]), types(j["state"]),
        tuple(_kernel(k) for k in j["kernels"]), j["arch"], j["ptx"], j["source"], j["key"], j["provenance"],
        j["has_identity"], {arch: base64.b85decode(code) for arch, code in j["cubins"].items()},
        None if j["axis"] is None else tuple(j["axis"]), types(j["results"]), _structure(j["structure"]),
        tuple(j["checks"]), j["masked"], types(j["arrays"]), j["determinism"], j["most"],
    )  # fmt: skip


def _structure(j: Any) -> Any:
    """Lists of JSON as the tuples they were."""
    return j if isinstance(j, int | str) else tuple(_structure(part) for part in j)


def _kernel(k: dict[str, Any]) -> CompiledKernel:
    told: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in k["facts"].items()}
    facts = Facts(**told)
    return CompiledKernel(k["name"], k["role"], Plan(**k["plan"]), facts, tuple(Param(**p) for p in k["params"]))
