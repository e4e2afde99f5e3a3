"""A kernel as basic blocks of ops, with the registers that are live at the ends of each block."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from ....compiler.errors import error
from ....compiler.lazy import lazy
from ..instructions.move import TICKING
from ..instructions.op import Op
from ..instructions.table import build
from ..ptx.inline import Flat
from ..ptx.module import Function, Module
from ..ptx.types import WIDTH, Imm, Instruction, Not, Operand, Reg, Sink, Special, Sym

EXIT = -1
_NAMING = threading.Lock()
Cut = Literal["jumps", "accesses", "instructions"]
"""What begins a block beside the targets of jumps, and warp-wide instructions."""


@dataclass(eq=False)  # a frozen one takes three times as long to make
class Item:
    """One op of an instruction, with its guard, if that still applies."""

    ins: Instruction
    op: Op
    guard: Reg | None
    negated: bool


@dataclass(eq=False)
class Block:
    """A basic block; ``next`` and ``targets`` are block numbers or ``EXIT``, live sets are bit masks of registers."""

    number: int
    items: list[Item]
    next: int = EXIT
    targets: tuple[int, ...] = ()
    live_in: int = 0
    live_out: int = 0
    run: object = None
    visits: int = 0
    loop: Any = None
    facts: dict[str, object] = field(default_factory=dict)

    @property
    def last(self) -> Item:
        """The item that ends the block."""
        return self.items[-1]

    @lazy
    def waits(self) -> bool:
        """Whether its threads wait for others, and look again and again: they sleep, or look at an mbarrier."""
        return any(
            item.ins.opcode == "nanosleep" or not {"try_wait", "test_wait"}.isdisjoint(item.ins.mods)
            for item in self.items
        )

    @property
    def end(self) -> str:
        """How the block ends; empty when control falls through."""
        return self.items[-1].op.end if self.items else ""


def registers_of(operands: Iterable[tuple[Operand, str]]) -> list[Reg]:
    """The plain registers among operands, which come with the types of their uses."""
    return [op.reg if isinstance(op, Not) else op for op, _ in operands if isinstance(op, Reg | Not)]


class Program:
    """A kernel ready to run: ``flat`` holds the layout of its variables, ``blocks`` its code.

    Where ``cut`` says ``accesses``, every op that may touch shared or global memory begins a block, so that other
    threads can run in between; where it says ``instructions``, every instruction does.
    """

    def __init__(self, module: Module, kernel: Function, cut: Cut = "jumps") -> None:
        self.module, self.kernel, self.cut = module, kernel, cut
        self.flat = Flat(module, kernel)
        self.specials: dict[str, int] = {}
        self.types: dict[int, str] = {}
        items, starts = self._items()
        self._note_types(items)
        self.blocks = _split(items, starts, cut)
        _liveness(self.blocks)

    @lazy
    def stepwise(self) -> Program:
        """The same kernel with at most one access to shared or global memory in a block."""
        return Program(self.module, self.kernel, "accesses")

    @lazy
    def single(self) -> Program:
        """The same kernel with one instruction in a block."""
        return Program(self.module, self.kernel, "instructions")

    def special(self, name: str) -> int:
        """The register number under which a special register is kept."""
        with _NAMING:
            return self.specials.setdefault(name, self.flat.registers + len(self.specials))

    def _note_types(self, items: list[Item]) -> None:
        for item in items:
            for reg in registers_of((*item.op.reads, *item.op.writes)):
                self.types[reg.index] = reg.type
            if item.guard is not None:
                self.types[item.guard.index] = "pred"

    def _items(self) -> tuple[list[Item], list[int]]:
        """All ops in order, and the index of the first op of each instruction."""
        items: list[Item] = []
        starts: list[int] = []
        for k, ins in enumerate(self.flat.code):
            starts.append(len(items))
            ops = build(ins)
            for op in ops:
                _check_widths(ins, op)
            guard = ins.guard
            if guard is not None and any(op.member is not None or op.end in _WAITING for op in ops):
                around = Op(end="branch", targets=(k + 1,))
                items.append(Item(ins, around, guard, not ins.negated))
                guard = None
            items += [Item(ins, op, guard, ins.negated) for op in ops]
        starts.append(len(items))
        return items, starts


_WAITING = ("barrier", "arrive", "cluster_arrive", "cluster_wait", "table")


_WIDTHS = WIDTH | {"addr": 64}


def _check_widths(ins: Instruction, op: Op) -> None:
    """Raises unless registers are as wide as the types that use them; ld, st and cvt may use wider ones."""
    member = op.member
    if (
        member is not None
        and not isinstance(member, Imm)
        and not (isinstance(member, Reg) and WIDTH[member.type] == 32)
    ):
        raise _width_error(ins, "expected a number or a register of 32 bits as the membermask")
    loose = ins.opcode in ("ld", "st", "cvt", "ldu")
    for write, pairs in ((False, op.reads), (True, op.writes)):
        for operand, type_ in pairs:
            if type(operand) is Reg and WIDTH[operand.type] == _WIDTHS[type_]:
                continue  # as most are
            reg = operand.reg if isinstance(operand, Not) else operand
            if not write and not isinstance(reg, Imm | Special | Reg | Sym):
                raise _width_error(ins, f"expected a value as the operand, got {type(reg).__name__.lower()}")
            if isinstance(reg, Special) and reg.name in TICKING:
                raise _width_error(ins, f"expected mov to read %{reg.name}")
            if isinstance(reg, Imm | Special | Sink) or not isinstance(reg, Reg):
                if write and not isinstance(reg, Sink):
                    raise _width_error(ins, f"expected a register as the destination, got {type(reg).__name__.lower()}")
                continue
            have, want = WIDTH[reg.type], _WIDTHS[type_]
            wider = loose and 1 < want < have and 8 < have <= 64
            if have == want or (type_ == "addr" and have == 32) or wider:
                continue
            raise _width_error(ins, f"expected a register of {want} bits, got {reg.name} of type .{reg.type}")


def _width_error(ins: Instruction, problem: str) -> Exception:
    return error("WF703", line=ins.line, text=ins.text, problem=problem)


def _shared(op: Op) -> bool:
    """Whether ``op`` may touch memory that threads share: not parameters, constants or local memory."""
    access = getattr(op.run, "access", None)
    return op.effect and (access is None or access.space in ("global", "shared", "generic"))


def _split(items: list[Item], starts: list[int], cut: Cut) -> list[Block]:
    leaders = {0, len(items), *(starts if cut == "instructions" else ())}
    for k, item in enumerate(items):
        leaders.update(starts[t] for t in item.op.targets)
        if item.op.end:
            leaders.add(k + 1)
        if item.op.member is not None or (cut == "accesses" and _shared(item.op)):
            leaders.add(k)
    order = sorted(leaders)
    number = {at: k for k, at in enumerate(order)}
    count = len(order) - 1
    blocks = [Block(k, items[order[k] : order[k + 1]]) for k in range(count)]
    for block in blocks:
        block.next = block.number + 1 if block.number + 1 < count else EXIT
        targets = [number[starts[t]] for t in block.last.op.targets]
        block.targets = tuple(t if t < count else EXIT for t in targets)
    return blocks


def successors(block: Block) -> tuple[int, ...]:
    """The blocks that control may reach after ``block``."""
    if block.end == "branch":
        return block.targets if block.last.guard is None else (*block.targets, block.next)
    if block.end == "table":
        return block.targets
    if block.end in ("exit", "trap"):
        return () if block.last.guard is None else (block.next,)
    return (block.next,)


def _uses_and_defs(block: Block) -> tuple[int, int]:
    uses = defs = 0
    for item in block.items:
        reads = [r.index for r in registers_of(item.op.reads)]
        if isinstance(item.op.member, Reg):
            reads.append(item.op.member.index)
        writes = [op.index for op, _ in item.op.writes if isinstance(op, Reg)]
        if item.guard is not None:
            reads += [item.guard.index, *writes]  # a guarded write keeps the old value where the guard is false
        for r in reads:
            uses |= (1 << r) & ~defs
        for w in writes:
            defs |= 1 << w
    return uses, defs


def _liveness(blocks: list[Block]) -> None:
    """Computes the live sets, last block first, and again for the predecessors of each block that changes."""
    effects = [_uses_and_defs(b) for b in blocks]
    before: list[list[int]] = [[] for _ in blocks]
    for block in blocks:
        for s in successors(block):
            if s != EXIT:
                before[s].append(block.number)
    todo, waiting = list(range(len(blocks))), [True] * len(blocks)
    while todo:
        block = blocks[todo.pop()]
        waiting[block.number] = False
        block.live_out = 0
        for s in successors(block):
            block.live_out |= blocks[s].live_in if s != EXIT else 0
        uses, defs = effects[block.number]
        live = uses | (block.live_out & ~defs)
        if live != block.live_in:
            block.live_in = live
            for number in before[block.number]:
                if not waiting[number]:
                    waiting[number] = True
                    todo.append(number)
