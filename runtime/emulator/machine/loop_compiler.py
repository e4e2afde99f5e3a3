"""Loops to Python functions: a ring of blocks that a set of threads runs round and round while nobody else has a turn.

Between two blocks of a ring nothing happens but what is written here: registers stay in local variables, what does not
change in the ring is worked out before it, and steps are counted and tools are told as the machine does. The function
ends after the block whose branch leads out of the ring, for any of the threads, or before the steps it may take are
spent, and says which block that was and how its branch went.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..ptx.types import STORAGE, WIDTH
from .block_compiler import BlockCompiler, written
from .program import EXIT, Block, Program, successors

_HOT = 32
"""How often a block runs before it is tried as a loop."""
_LONGEST = 16
"""Blocks of a ring. Each of them may be where threads come in again, which takes a function of its own."""
_Phis = dict[int, np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class Loop:
    """A ring; ``blocks`` in the order they run. ``run(machine, lanes, until)`` gives the last block run and its flags.

    ``lanes`` must have been entered, and ``until`` be ``len(blocks)`` steps away at least.
    """

    blocks: tuple[Block, ...]
    run: Any

    @property
    def last(self) -> int:
        """The greatest number of a block in it."""
        return max(block.number for block in self.blocks)


def loop_of(program: Program, block: Block) -> Loop | None:
    """The loop through ``block``, written once the block has run often."""
    block.visits += 1
    if block.visits == _HOT:
        ring = _ring(program, block)
        block.loop = Loop(ring, _written(program, ring)) if ring else None
    found: Loop | None = block.loop
    return found


def _ring(program: Program, first: Block) -> tuple[Block, ...]:
    """The shortest way from ``first`` back to it through blocks that wait for nobody; empty if there is none."""
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
    return block.end in ("", "branch") and block.items[0].op.member is None


def _written(program: Program, ring: Sequence[Block]) -> Any:
    """The ring's function: written once to see in which types its registers come back round, then with those types."""
    draft = LoopCompiler(program, ring, {})
    draft.compile_ring()
    return LoopCompiler(program, ring, draft.returned).compile_ring()


class LoopCompiler(BlockCompiler):
    """Writes the function of a ring.

    Attributes:
        before: the statements before the loop; ``fixed`` the variables they set, which the loop never changes.
        carried: the variable of each register that the ring changes and takes round, and ``types`` its type.
        returned: the type that it has at the end of a round, before it is viewed as that.
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
        """A statement whose variables never change stands before the loop, unless it has an effect."""
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
        """Ends the function where threads, or all, go another way than the ring."""
        if block.last.guard is None or block.end != "branch" or block.targets[0] == block.next:
            return
        stay = f" != {flags}.size" if block.targets[0] == following.number else ""
        self._return(f"({flags}.item() if {flags}.size == 1 else count({flags})){stay}", block, flags)

    def _stop(self, block: Block, flags: str) -> None:
        """Ends the function where the steps do not suffice for another round."""
        self._return("s.steps > until", block, flags)

    def _return(self, condition: str, block: Block, flags: str) -> None:
        put, uses = self._putting(self.changed, self.ring[0].live_in, block.live_out)
        leave = f"{put or 'pass'}; return {self._bind('b', block)}, {flags}"
        self._line(f"if {condition}: {leave}", *uses, flags, effect=True)

    def _round(self) -> None:
        """Takes the registers round, all at once."""
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
