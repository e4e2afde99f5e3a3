"""What the planner is asked and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ..dtypes import DType
from ..plan.abi import Facts
from ..plan.launch import Launch
from ..plan.plan import Determinism, Plan
from ..program.graph import MonoidGraph, Program
from ..space.geometry import Geometry
from ..target import Target

PORTABLE_SMS = 128
"""The machine that portable plans are made for: of the size of large GPUs, so that none is left half empty."""


@dataclass
class Choice:
    """A plan with everything derived from it.

    Attributes:
        plan, facts, run: what is compiled, and launched.
        reasons: why each extent is what it is, in words.
        rejected: (alternative, why not) in words.
    """

    plan: Plan
    facts: Facts
    run: Launch
    reasons: list[str] = field(default_factory=list)
    rejected: list[tuple[str, str]] = field(default_factory=list)

    @property
    def for_any_size(self) -> Choice:
        """The same plan for a kernel that also serves larger arrays: its walks have loops."""
        return replace(self, facts=replace(self.facts, once=False))


@dataclass
class Notes:
    """What the planner thinks on its way.

    Attributes:
        reasons: each with the fields of the plan that it speaks of; ``parts`` are the CTAs that share a result.
        rejected: (field=value, why not).
    """

    reasons: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    rejected: list[tuple[str, str]] = field(default_factory=list)

    def because(self, reason: str, *fields: str) -> None:
        """Notes a reason for the values of ``fields``."""
        self.reasons.append((reason, fields))

    def forget(self, fields: set[str]) -> None:
        """Leaves out what speaks of ``fields``, of which another has decided."""
        self.reasons = [(reason, about) for reason, about in self.reasons if not fields.intersection(about)]
        self.rejected = [(what, why) for what, why in self.rejected if what.partition("=")[0] not in fields]


@dataclass(frozen=True)
class Task:
    """What the planner is asked: a program over a geometry, with operand addresses and a machine.

    Attributes:
        program, geometry: what to reduce.
        addresses: byte address of each operand's first element; only its place in WIDEST bytes matters.
        target, sms: the machine.
        determinism: what the bits of a result may depend on: on the arrays and the machine (``run``), on shape, strides
            and types alone (``portable``), or also on the order in which CTAs end (``none``).
    """

    program: Program
    geometry: Geometry
    addresses: tuple[int, ...]
    target: Target
    sms: int
    determinism: Determinism = "run"

    @property
    def monoid(self) -> MonoidGraph:
        """The monoid of the program's one reduction."""
        return self.program.monoid

    @property
    def machine(self) -> int:
        """Multiprocessors to plan for: a portable plan must not look at the device."""
        return PORTABLE_SMS if self.determinism == "portable" else self.sms

    @property
    def itemsize(self) -> int:
        """Bytes of the widest input element."""
        return max((t.itemsize for t in self.program.inputs), default=4)

    @property
    def result_bytes(self) -> int:
        """Bytes of the widest result."""
        return max(o.dtype.itemsize for o in self.program.outputs)

    @property
    def state_bytes(self) -> int:
        """Bytes of one monoid state."""
        return sum(t.itemsize for t in self.monoid.state)

    @property
    def state_registers(self) -> int:
        """32-bit registers one monoid state takes."""
        return sum(-(-t.itemsize // 4) for t in self.monoid.state)

    @property
    def element_registers(self) -> int:
        """Those of them that each element of an access has to itself."""
        own = (t for k, t in enumerate(self.monoid.state) if k not in self.program.shared)
        return max(1, sum(-(-t.itemsize // 4) for t in own))

    def operand_type(self, operand: int) -> DType:
        """Element type of an input or output."""
        inputs = self.program.inputs
        return inputs[operand] if operand < len(inputs) else self.program.outputs[operand - len(inputs)].dtype
