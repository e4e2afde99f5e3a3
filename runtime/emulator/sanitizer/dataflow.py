"""What can be said of a kernel without running it: which registers are read, and which hold addresses of what."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ..machine.program import Item, Program, registers_of
from ..ptx.types import Instruction, Operand, Reg, Sym, Variable, Vec


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


@lru_cache(maxsize=512)
def pointed_at(program: Program) -> dict[int, frozenset[Variable]]:
    """For each register that is made of addresses of variables: of which, wherever it is used."""
    items = [item for block in program.blocks for item in block.items if getattr(item.op.run, "access", None) is None]
    found: dict[int, frozenset[Variable]] = {}
    grown = True
    while grown:
        grown = False
        for item in items:
            some = frozenset[Variable]().union(*(variables_of(op, found) for op, _ in item.op.reads))
            for op, _ in item.op.writes if some else ():
                if isinstance(op, Reg) and not some <= found.get(op.index, frozenset()):
                    found[op.index] = found.get(op.index, frozenset()) | some
                    grown = True
    return found


def variables_of(op: Operand, found: dict[int, frozenset[Variable]]) -> frozenset[Variable]:
    """The variables whose addresses an operand is made of."""
    if isinstance(op, Sym):
        return frozenset({op.variable})
    return found.get(op.index, frozenset()) if isinstance(op, Reg) else frozenset()
