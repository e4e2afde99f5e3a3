"""The classes of instructions that a profile counts, and the state spaces that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .ptx.types import Instruction, is_float

if TYPE_CHECKING:
    pass


_CLASSES = {
    "mov": "move", "cvta": "move", "mapa": "move", "cvt": "convert", "bra": "control", "brx": "control",
    "ret": "control", "exit": "control", "trap": "control", "bar": "barrier", "barrier": "barrier", "shfl": "shuffle",
    "vote": "vote", "match": "vote", "redux": "vote", "elect": "vote", "activemask": "vote", "atom": "atomic",
    "red": "atomic", "fence": "fence", "membar": "fence", "mma": "tensor", "ldmatrix": "tensor", "stmatrix": "tensor",
}  # fmt: skip
CLASSES = ("integer", "float", "convert", "move", "load", "store", "atomic", "shuffle", "vote", "barrier", "fence",
           "control", "tensor", "other")  # fmt: skip
_OTHER = ("prefetch", "prefetchu", "discard", "applypriority", "nop", "nanosleep", "griddepcontrol", "mbarrier", "cp")


def class_of(ins: Instruction) -> str:
    """The class of an instruction, by its opcode or, for arithmetic, by its type."""
    if ins.opcode in _OTHER:
        return "other"
    found = _CLASSES.get(ins.opcode)
    if found:
        return found
    if ins.opcode in ("ld", "ldu", "st"):
        return "store" if ins.opcode == "st" else "load"
    if ins.opcode in ("wgmma", "tcgen05", "wmma"):
        return "tensor"
    return "float" if any(is_float(m) for m in ins.mods) else "integer"


def space_of(ins: Instruction) -> str:
    """The state space that a load or store names."""
    named = [m.partition("::")[0] for m in ins.mods]
    return next((s for s in ("global", "shared", "local", "param", "const") if s in named), "generic")
