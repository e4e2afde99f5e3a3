"""Loops that have run often become one Python function: which blocks they are, and which function runs them.

Compiles loops to Python functions: a ring of blocks that a set of threads runs while no other thread has a turn.

Between two blocks of a ring only the compiled code runs. So registers stay in local variables, invariant values are
computed before the loop, and the code counts steps and tells tools as the machine does. The function returns after the
block whose branch leads out of the ring, for any of the threads, or before it would exceed the steps that it may take.
It returns that block and how its branch went.

Compiles loops in which registers grow by a constant each round, so that addresses need no arithmetic on arrays.

Such a register is, in round ``j``, an array that the loop never changes plus ``j`` times a number. So is what follows
from it by sums, shifts, and conversions to 64 bits. The arrays are made before the loop, a load is told how far its
addresses have moved, and any other use adds the number. A conversion is linear as long as its operand does not wrap
around, which bounds the rounds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..instructions.load_store import Load
from ..instructions.move import same
from ..ptx.types import STORAGE, WIDTH, Array, Imm, Reg
from .address_resolution import moved
from .block_compiler import BlockCompiler, written
from .program import EXIT, Block, Item, Program, successors

_Phis = dict[int, np.dtype[Any]]


class LoopCompiler(BlockCompiler):
    """Compiles a ring of blocks.

    Attributes:
        before: the statements before the loop.
        fixed: the variables that these set, which the loop never changes.
        carried, types: the variable and the type of each register that the ring changes and carries to the next round.
        returned: the type of each carried register at the end of a round.
    """

    def __init__(self, program: Program, ring: Sequence[Block], phis: _Phis) -> None:
        super().__init__(program)
        self.ring, self.changed = ring, written(ring)
        self.before: list[str] = []
        self.fixed: set[str] = set()
        self.carried: dict[int, str] = {}
        self.types: _Phis = {}
        self.returned: _Phis = {}
        self.namespace["count"] = np.count_nonzero
        for index, reg in self.changed.items():
            if ring[0].live_in >> index & 1:
                words = STORAGE[WIDTH[reg.type]]
                self._carry(index, words, phis.get(index, words))

    def _carry(self, index: int, words: np.dtype[Any], dtype: np.dtype[Any]) -> None:
        name, self.types[index] = self._name(), dtype
        self.carried[index] = name
        view = "" if dtype == words else f".view({self._dtype(dtype)})"
        self.before.append(f"{name} = m.read(L, {index}){view}")
        self.known[index] = {dtype.str: name}

    def _line(self, text: str, *uses: str, effect: bool = False) -> None:
        """Adds a statement; one without effect whose variables never change goes before the loop."""
        if effect or any(u[:1] == "v" and u not in self.fixed for u in uses):
            super()._line(text, *(u for u in uses if u not in self.fixed), effect=effect)
        else:
            self.before.append(text)
            self.fixed.update(text.split(" = ")[0].split(", "))

    def compile_ring(self) -> Any:
        """The function ``loop(m, L, until)``."""
        for block, following in zip(self.ring, (*self.ring[1:], self.ring[0]), strict=True):
            self._step(block)
            flags = self._body(block)
            self._leave(block, following, flags)
            if following is self.ring[0]:
                self._stop(block, flags)
            if block.end == "branch":
                self._told(f"branch(m, {self._bind('b', block)}, L, {flags})", flags)
        self._round()
        body = self._with_deletes(*self.carried.values())
        source = ["def loop(m, L, until):", "    s, t, n = m.launch.stats, m.launch.tool, L.n"]
        source += [f"    until -= {len(self.ring)}", *(f"    {line}" for line in self.before), "    while True:"]
        source += [f"        {line}" for line in body]
        return self._made("\n".join(source) + "\n", f"loop {self.ring[0].number}")

    def _step(self, block: Block) -> None:
        self._line(f"s.steps += 1; s.instructions += {len(block.items)} * n", effect=True)
        self._told(f"step(m, {self._bind('b', block)}, L)")

    def _told(self, call: str, *uses: str) -> None:
        self._line(f"if t is not None: t.{call}", *uses, effect=True)

    def _leave(self, block: Block, following: Block, flags: str) -> None:
        """Returns if any thread leaves the ring at this block."""
        if block.last.guard is None or block.end != "branch" or block.targets[0] == block.next:
            return
        stay = f" != {flags}.size" if block.targets[0] == following.number else ""
        self._return(f"({flags}.item() if {flags}.size == 1 else count({flags})){stay}", block, flags)

    def _stop(self, block: Block, flags: str) -> None:
        """Returns if the steps do not suffice for another round."""
        self._return("s.steps > until", block, flags)

    def _return(self, condition: str, block: Block, flags: str) -> None:
        put, uses = self._putting(self.changed, self.ring[0].live_in, block.live_out)
        leave = f"{put or 'pass'}; return {self._bind('b', block)}, {flags}"
        self._line(f"if {condition}: {leave}", *uses, flags, effect=True)

    def _round(self) -> None:
        """Assigns the carried registers for the next round, all at once."""
        pairs, uses = [], []
        for index, name in self.carried.items():
            reg = self.changed[index]
            self.returned[index] = np.dtype(next(iter(self.known[index])))
            value = self._viewed(index, WIDTH[reg.type], self.types[index])
            if value != name:
                pairs.append((name, value))
                uses.append(value)
        if pairs:
            names, values = (", ".join(side) for side in zip(*pairs, strict=True))
            self._line(f"{names} = {values}", *uses, effect=True)


_CALL = re.compile(r"(v\d+) = f\d+\((.*)\)")
_VIEW = re.compile(r"(v\d+) = (v\d+)\.view\(\w+\)")
_NAME = re.compile(r"\bv\d+\b")
_INTEGERS = ("s32", "u32", "s64", "u64")
_WIDENING = (["s64", "s32"], ["u64", "u32"])


def steps_of(ring: Sequence[Block]) -> dict[int, int]:
    """The registers that a round of ``ring`` increases by a constant, and by how much."""
    at: dict[int, tuple[int, int]] = {}
    changed: set[int] = set()
    for item in (item for block in ring for item in block.items):
        dests = [d for d, _ in item.op.writes if isinstance(d, Reg)]
        found = _grown(item, at, changed)
        for dest in dests:
            changed.add(dest.index)
            at.pop(dest.index, None)
        if found is not None:
            at[dests[0].index] = found
    return {index: by for index, (of, by) in at.items() if of == index and by and ring[0].live_in >> index & 1}


def _grown(item: Item, at: dict[int, tuple[int, int]], changed: set[int]) -> tuple[int, int] | None:
    """The register at the start of the round that the item's result is more than, and by how much."""
    regs = [r for r, _ in item.op.reads if isinstance(r, Reg)]
    if item.guard is not None or len(regs) != 1 or not item.op.writes or not isinstance(item.op.writes[0][0], Reg):
        return None
    own = regs[0].index
    of = at.get(own) if own in changed else (own, 0)
    if of is None or item.op.run is same:
        return of
    numbers = [r for r, _ in item.op.reads if isinstance(r, Imm)]
    if item.ins.opcode != "add" or item.ins.mods[0] not in _INTEGERS or len(numbers) != 1:
        return None
    return of[0], of[1] + _signed(int(numbers[0].value), WIDTH[item.ins.mods[0]])


def _signed(value: int, width: int) -> int:
    return (value + (1 << width - 1)) % (1 << width) - (1 << width - 1)


class LinearLoopCompiler(LoopCompiler):
    """Compiles a ring with registers that grow by ``steps`` each round.

    Attributes:
        by: how much each linear variable grows in a round; the variable itself holds its value in round 0.
        loads: how many loads are told where they have moved.
    """

    def __init__(self, program: Program, ring: Sequence[Block], phis: dict[int, Any], steps: dict[int, int]) -> None:
        self.by: dict[str, int] = {}
        self.loads = 0
        self._item_now: Item | None = None
        super().__init__(program, ring, phis)
        self.steps = {index: by for index, by in steps.items() if index in self.carried}
        self.namespace |= {"moved": moved, "room": room}
        self.before.append("j = 0")
        for index, by in self.steps.items():
            self.by[self.carried[index]] = by
            self.fixed.add(self.carried[index])

    def _item(self, item: Item) -> None:
        self._item_now = item
        super()._item(item)
        self._item_now = None

    def _line(self, text: str, *uses: str, effect: bool = False) -> None:
        if not any(u in self.by for u in uses):
            super()._line(text, *uses, effect=effect)
        elif not (self._stays_linear(text) or self._moves(text)):
            super()._line(_NAME.sub(self._now, text), *uses, effect=True)

    def _now(self, name: re.Match[str]) -> str:
        """A variable's value in this round."""
        by = self.by.get(name[0])
        return name[0] if by is None else f"moved({name[0]}, {by} * j)"

    def _stays_linear(self, text: str) -> bool:
        """Puts a statement before the loop whose result is linear, too."""
        view, call = _VIEW.fullmatch(text), _CALL.fullmatch(text)
        if view is not None:
            return self._linear(text, view[1], self.by[view[2]])
        item = self._item_now
        if call is None or item is None or item.guard is not None:
            return False
        names = call[2].split(", ")
        if any(n[:1] == "v" and n not in self.fixed for n in names):
            return False
        by, mods = [self.by.get(n, 0) for n in names], item.ins.mods
        if item.ins.opcode == "add" and mods[0] in _INTEGERS:
            return self._linear(text, call[1], _signed(sum(by), WIDTH[mods[0]]))
        if item.ins.opcode == "shl" and isinstance(amount := item.op.reads[1][0], Imm) and int(amount.value) < 64:
            return self._linear(text, call[1], _signed(by[0] << int(amount.value), WIDTH[mods[0]]))
        if item.ins.opcode == "cvt" and list(mods) in _WIDENING:
            self.before.append(f"until = min(until, s.steps + room({names[0]}, {by[0]}) * {len(self.ring)})")
            return self._linear(text, call[1], by[0])
        return False

    def _linear(self, text: str, name: str, by: int) -> bool:
        self.before.append(text)
        self.fixed.add(name)
        self.by[name] = by
        return True

    def _moves(self, text: str) -> bool:
        """Writes a load whose address is linear."""
        item = self._item_now
        if item is None or item.guard is not None or not isinstance(item.op.run, Load) or not item.op.run.rowed:
            return False
        left, call = text.split(" = ")
        function, address = call.split("(")[0], call[:-1].split(", ")[-1]
        rows = self._name()
        self.before.append(f"{rows} = {function}.rows(m, {address})")
        self.loads += 1
        super()._line(f"{left} = {function}.at(m, L, {address}, {rows}, {self.by[address]} * j)", effect=True)
        return True

    def _round(self) -> None:
        carried = self.carried
        self.carried = {index: name for index, name in carried.items() if index not in self.steps}
        super()._round()
        self.carried = carried
        self._line("j += 1", effect=True)


def room(value: Array, by: int) -> int:
    """How many times an array can be increased by ``by`` before an element wraps around."""
    info = np.iinfo(value.dtype)
    if by == 0:
        return int(info.max)
    return (info.max - int(value.max())) // by if by > 0 else (int(value.min()) - info.min) // -by


LEAST_LINEAR = 1 << 10
"""From so many threads on, arithmetic on arrays costs more than a few calls."""
_HOT = 32
"""A block that has run this often is tried as a loop."""
_LONGEST = 16
"""The most blocks of a ring. Threads may enter at each of them, and each entry takes a function of its own."""


@dataclass(frozen=True, eq=False)
class Loop:
    """A compiled ring of blocks, in the order in which they run.

    ``run(machine, lanes, until)`` returns the last block that it ran, and the flags of its branch.

    ``lanes`` must have been entered, and ``until`` must be at least ``len(blocks)`` steps away.
    """

    blocks: tuple[Block, ...]
    run: Any

    @property
    def last(self) -> int:
        """The greatest block number in the ring."""
        return max(block.number for block in self.blocks)


def loop_of(program: Program, block: Block) -> Loop | None:
    """The loop through ``block``, compiled once the block has run often; None if there is none."""
    visits = block.visits = block.visits + 1  # threads may share the program
    if visits == _HOT and program.cut != "instructions":  # between them a tool reads registers, not variables
        ring = _ring(program, block)
        block.loop = Loop(ring, _written(program, ring)) if ring else None
    found: Loop | None = block.loop
    return found


def _ring(program: Program, first: Block) -> tuple[Block, ...]:
    """The shortest path from ``first`` back to it through blocks without barriers; empty if there is none."""
    ways: list[tuple[Block, ...]] = [(first,)] if _plain(first) else []
    seen = {first.number}
    for way in ways:
        for number in successors(way[-1]) if len(way) <= _LONGEST else ():
            if number == first.number:
                return way
            if number != EXIT and number not in seen and _plain(program.blocks[number]):
                seen.add(number)
                ways.append((*way, program.blocks[number]))
    return ()


def _plain(block: Block) -> bool:
    return block.end in ("", "branch") and block.items[0].op.member is None and not block.waits


def _written(program: Program, ring: Sequence[Block]) -> Any:
    """The function of the ring. It is compiled twice: a draft finds the types of registers at the end of a round."""
    draft = LoopCompiler(program, ring, {})
    draft.compile_ring()
    plain = LoopCompiler(program, ring, draft.returned).compile_ring()
    steps = steps_of(ring)
    if not steps:
        return plain
    linear = LinearLoopCompiler(program, ring, draft.returned, steps)
    moved = linear.compile_ring()
    if not linear.loads:
        return plain
    return lambda machine, lanes, until: (moved if lanes.n >= LEAST_LINEAR else plain)(machine, lanes, until)
