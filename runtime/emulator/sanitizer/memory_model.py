"""The strength of an access in the PTX memory model: weak, or strong with a scope; and whether it releases or acquires.

From the PTX ISA, chapter "Memory Consistency Model": volatile is relaxed at system scope, and an atom or red without
qualifiers is relaxed at GPU scope. Scopes are numbers: 1 is the CTA, 2 the cluster, 3 the GPU and everything wider.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ..ptx.types import Instruction

if TYPE_CHECKING:
    from ..machine.address_resolution import Access

CTA, CLUSTER, GPU = 1, 2, 3
_LEVELS = {"cta": CTA, "cluster": CLUSTER, "gpu": GPU, "gl": GPU, "sys": GPU}
ATOMIC, VOLATILE = 4, 8
LEVEL = 3


@dataclass(frozen=True)
class Strength:
    """The strength of one access.

    Attributes:
        code: the scope (0: weak), plus ``ATOMIC`` or ``VOLATILE``.
        acquires, releases: the order that it establishes.
        cached: whether it reads through the read-only path (``ld.global.nc``).
        alone: whether a release is of what its thread has done itself, and of nothing that the thread knows of others.
    """

    code: int
    acquires: bool
    releases: bool
    cached: bool
    alone: bool = False

    @property
    def level(self) -> int:
        """The scope, 0 for a weak access."""
        return self.code & LEVEL


def level_of(mods: tuple[str, ...], default: int) -> int:
    """The scope that the modifiers name, or ``default``."""
    return next((_LEVELS[m] for m in mods if m in _LEVELS), default)


def verb_of(access: Access) -> str:
    """Whether an access reads, writes or updates memory. mbarrier.init and .inval write: they ignore the old value."""
    return "written" if access.ins.opcode == "mbarrier" and {"init", "inval"} & set(access.ins.mods) else access.verb


def is_copy(ins: Instruction) -> bool:
    """Whether what an instruction writes arrives later: a copy, or an asynchronous store."""
    return ins.opcode == "cp" or (ins.opcode == "st" and "async" in ins.mods)


def is_bulk(ins: Instruction) -> bool:
    """Whether an instruction reaches memory through the async proxy."""
    return ins.opcode == "cp" and "bulk" in ins.mods


@lru_cache(maxsize=4096)
def strength(ins: Instruction, verb: str) -> Strength:
    """The strength of the access that ``ins`` makes: read, written or updated."""
    mods = set(ins.mods)
    if ins.opcode == "mbarrier" and verb != "written":
        waits = "test_wait" in mods or "try_wait" in mods
        return Strength(ATOMIC + GPU, waits and "relaxed" not in mods, "arrive" in mods or "arrive_drop" in mods, False)
    if is_copy(ins) and verb == "updated":  # bytes of a copy that arrive at their mbarrier
        return Strength(ATOMIC + (GPU if ins.opcode == "cp" else CLUSTER), False, True, False, alone=True)
    acquires, releases = bool(mods & {"acquire", "acq_rel"}), bool(mods & {"release", "acq_rel"})
    if verb == "updated":
        return Strength(ATOMIC + level_of(ins.mods, GPU), acquires, releases, False)
    if "volatile" in mods or "mmio" in mods:
        return Strength(VOLATILE + GPU, False, False, False)
    strong = ins.opcode in ("ld", "st") and ("relaxed" in mods or acquires or releases)
    return Strength(level_of(ins.mods, GPU) if strong else 0, acquires, releases, "nc" in mods)
