"""What can be said of a kernel's registers without running it: which of them anything reads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ..machine.program import Item, Program, registers_of
from ..ptx.types import Instruction, Reg, Vec


@lru_cache(maxsize=512)
def registers_read(program: Program) -> frozenset[int]:
    """The numbers of the registers whose values anything in the kernel reads."""
    return frozenset(reg.index for block in program.blocks for item in block.items for reg in reads_of(item))


def reads_of(item: Item) -> Iterator[Reg]:
    """The registers that an op reads: as values, addresses, guard and membermask."""
    yield from registers_of(item.op.reads)
    if isinstance(item.op.member, Reg):
        yield item.op.member
    if item.guard is not None:
        yield item.guard


def is_looked_at(program: Program, ins: Instruction) -> bool:
    """Whether anything depends on the old value that an atomic returns: only then it says what came before it."""
    if ins.opcode != "atom":
        return ins.opcode != "red"
    first = ins.operands[0]
    dests = first.items if isinstance(first, Vec) else (first,)
    return any(isinstance(d, Reg) and d.index in registers_read(program) for d in dests)
