"""Compiles loops to Python functions: a ring of blocks that a set of threads runs while no other thread has a turn.

Between two blocks of a ring only the compiled code runs. So registers stay in local variables, invariant values are
computed before the loop, and the code counts steps and tells tools as the machine does. The function returns after the
block whose branch leads out of the ring, for any of the threads, or before it would exceed the steps that it may take.
It returns that block and how its branch went.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ptx.types import STORAGE, WIDTH
from .block_compiler import BlockCompiler, written
from .program import Block, Program

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
