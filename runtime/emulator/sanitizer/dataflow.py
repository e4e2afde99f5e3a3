"""What can be said of a kernel without running it: what branches depend on, and which registers hold what addresses."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ..machine.program import EXIT, Block, Item, Program, registers_of, successors
from ..machine.schedule import in_loops
from ..ptx.types import Instruction, Operand, Reg, Sym, Variable


@lru_cache(maxsize=512)
def decides(program: Program, atomic: Instruction, access: Instruction) -> bool:
    """Whether threads come to ``access`` by what they do with the old value that ``atomic`` returns.

    Only then does the value say that what it shows came before the access. A branch of a loop counts as one that leads
    out of it.
    """
    tainted, decided = _tainted(program, atomic)
    loops = {block.number for block in in_loops(program.blocks)}
    homes = [(b.number, item.guard) for b in program.blocks for item in b.items if item.ins is access]
    if any(number in decided or (guard is not None and guard.index in tainted) for number, guard in homes):
        return True
    return any(b.number in loops for b in program.blocks if tainted & {r.index for r in _chooses(b)})


def _tainted(program: Program, atomic: Instruction) -> tuple[set[int], set[int]]:
    """The registers that depend on what an atomic returns, also by way of memory, and the blocks whose run does."""
    found: set[int] = set()
    decided: set[int] = set()
    spaces: set[str] = set()
    before = -1
    while before != len(found) + len(spaces) + len(decided):
        before = len(found) + len(spaces) + len(decided)
        for block in program.blocks:
            for item in block.items:
                access = getattr(item.op.run, "access", None)
                loads = access is not None and access.verb == "read" and _meet(access.space, spaces)
                depends = block.number in decided or loads or bool(found & {reg.index for reg in reads_of(item)})
                if depends or item.ins is atomic:
                    found |= {op.index for op, _ in item.op.writes if isinstance(op, Reg)}
                if depends and access is not None and access.verb != "read" and item.ins is not atomic:
                    spaces.add(access.space)
            if block.items and block.number not in decided and found & {reg.index for reg in _chooses(block)}:
                decided |= _decided(program, block)
    return found, decided


def _chooses(block: Block) -> Iterator[Reg]:
    """The registers by which threads choose where to go behind a block."""
    item = block.items[-1] if block.items else None
    if item is None or not item.op.end:
        return
    if item.guard is not None:
        yield item.guard
    if item.op.end == "table":
        yield from registers_of(item.op.reads)


@lru_cache(maxsize=512)
def _decided(program: Program, block: Block) -> frozenset[int]:
    """The numbers of the blocks that threads reach or not by their choice behind ``block``."""
    behind = _from(program, block, set())
    always = {number for number in behind if number != EXIT and EXIT not in _from(program, block, {number})}
    return frozenset(_from(program, block, always) - always - {EXIT})


def _from(program: Program, block: Block, around: set[int]) -> set[int]:
    """The numbers of the blocks that threads can reach from the end of ``block`` on ways around some others."""
    todo, seen = [block], set[int]()
    while todo:
        at = todo.pop()
        for number in {*successors(at), *([EXIT] if at.end in ("exit", "trap") else [])} - around - seen:
            seen.add(number)
            if number != EXIT:
                todo.append(program.blocks[number])
    return seen


def _meet(space: str, spaces: set[str]) -> bool:
    """Whether memory of a space may be that of one of some others."""
    return bool(spaces) and (space in spaces or "generic" in (space, *spaces)) and space not in ("param", "const")


def reads_of(item: Item) -> Iterator[Reg]:
    """The registers that an op reads: as values, addresses, guard and membermask."""
    yield from registers_of(item.op.reads)
    if isinstance(item.op.member, Reg):
        yield item.op.member
    if item.guard is not None:
        yield item.guard


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
