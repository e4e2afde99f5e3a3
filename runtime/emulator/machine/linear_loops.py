"""Compiles loops in which registers grow by a constant each round, so that addresses need no arithmetic on arrays.

Such a register is, in round ``j``, an array that the loop never changes plus ``j`` times a number. So is what follows
from it by sums, shifts, and conversions to 64 bits. The arrays are made before the loop, a load is told how far its
addresses have moved, and any other use adds the number. A conversion is linear as long as its operand does not wrap
around, which bounds the rounds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..instructions.load_store import Load
from ..instructions.move import same
from ..ptx.types import WIDTH, Array, Imm, Reg
from .loop_compiler import LoopCompiler
from .program import Block, Item, Program
from .rows import moved

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
