"""Loops that have run often become one Python function: which blocks they are, and which function runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .linear_loops import LinearLoopCompiler, steps_of
from .loop_compiler import LoopCompiler
from .program import EXIT, Block, Program, successors

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
