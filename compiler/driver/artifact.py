"""The artifact: the kernels of one step as a value, which runs without MLIR; see ``artifact_file.py`` for its bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ..dtypes import DType
from ..plan.abi import Param
from ..plan.facts import Facts
from ..plan.kernels import Role, kernels
from ..plan.plan import Plan
from ..program.graph import Program
from ..target import Target


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
    """The kernels of one step.

    Attributes:
        name: the program's name.
        inputs, outputs, state: element types of the input arrays, the results and the monoid's state; with side folds,
            the state of these,
            and of a program that scans the state of its scan.
        kernels: what is launched, in order.
        arch: the architecture the PTX is for, ``sm_90a``.
        ptx: PTX text of all kernels.
        source: the tensor program in MLIR, from which ``stages`` are made again.
        key: the cache key: a digest of everything that went in.
        provenance: versions of what made it.
        has_identity: whether reducing nothing has a value.
        cubins: machine code by architecture, where ``ptxas`` was there and asked for.
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

    @property
    def main(self) -> CompiledKernel:
        """The kernel that reads the inputs."""
        return next(k for k in self.kernels if k.role == "main")

    @property
    def plan(self) -> Plan:
        """The plan of the main kernel."""
        return self.main.plan

    def without_code(self) -> Artifact:
        """All of it that no compiler has to make; see ``without_code`` below."""
        return replace(self, ptx="", source="", provenance={}, cubins={})


def without_code(program: Program, facts: Facts, plan: Plan, target: Target, key: str) -> Artifact:
    """All of an artifact that does not have to be compiled: PTX, source and provenance are empty."""
    compiled = tuple(
        CompiledKernel(k.name, role, plan if role == "main" else k.plan, k.facts, k.params)
        for role, k in kernels(program, facts, plan)
    )
    outputs = tuple(o.dtype for o in program.outputs)
    has_identity = all(monoid.has_identity for monoid in program.monoids)
    return Artifact(
        program.name,
        program.inputs,
        outputs,
        program.side_states or program.states or program.scanned,
        compiled,
        target.arch,
        "",
        "",
        key,
        {},
        has_identity,
    )
