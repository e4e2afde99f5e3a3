"""The artifact: a compiled reduction as a value and as one file, runnable without MLIR.

The file is one header line with the SHA-256 of what follows, then JSON: PTX, cubins, launch recipe, plan, provenance.
``stored_form.py`` reads it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from .. import files
from ..dtypes import DType
from ..plan.abi import Facts, Param
from ..plan.kernels import Role, kernels
from ..plan.plan import Determinism, Plan
from ..program.graph import Program
from ..target import Target

MAGIC = b"warpfold artifact 1 "


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
        structure: how the results nest, see ``program/tracing.py``.
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

    def __reduce__(self) -> Any:
        """Pickles by the bytes of its file, which are checked when they are read."""
        from .stored_form import parse

        return parse, (self.to_bytes(), "a pickle")

    def without_code(self) -> Artifact:
        """All of it that no compiler has to make; see ``without_code`` below."""
        return replace(self, ptx="", source="", provenance={}, cubins={})

    def save(self, path: files.Name) -> None:
        """Writes the artifact to ``path``: whole or not at all.

        Raises:
            FileError: WF505 when the file cannot be written.
        """
        body = self.to_bytes()
        files.write(path, lambda f: f.write(body))

    def to_bytes(self) -> bytes:
        """The bytes of its file, which ``stored_form.py`` reads."""
        body = json.dumps(self._to_json(), separators=(",", ":")).encode()
        return MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body

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


def without_code(program: Program, facts: Facts, plan: Plan, target: Target, key: str) -> Artifact:
    """All of an artifact that does not have to be compiled: PTX, source and provenance are empty."""
    compiled = tuple(
        CompiledKernel(k.name, role, plan if role == "main" else k.plan, k.facts, k.params)
        for role, k in kernels(program, facts, plan)
    )
    outputs = tuple(o.dtype for o in program.outputs)
    monoid = program.monoid
    return Artifact(
        program.name, program.inputs, outputs, monoid.state, compiled, target.arch, "", "", key, {}, monoid.has_identity
    )
