"""Whether CTAs of a kernel may wait for each other: only then do all that are resident have to run side by side.

A wait is a loop that goes round until memory, or a clock, says otherwise. So a kernel in whose loops no branch depends
on what the loops read has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from .program import EXIT, Block, Item, Program, registers_of, successors

_OWN = ("param", "const")
"""Memory that no thread writes."""


@lru_cache(maxsize=512)
def may_wait(program: Program) -> bool:
    """Whether some loop may wait for what other CTAs write."""
    round_ = in_loops(program.blocks)
    items = [(*_masks(item), _reads_memory(item)) for block in round_ for item in block.items]
    read, before = 0, -1
    while read != before:
        before = read
        for uses, defs, reads in items:
            if reads or uses & read:
                read |= defs
    return any(_masks(b.last)[0] & read for b in round_ if len(set(successors(b))) > 1)


def in_loops(blocks: Sequence[Block]) -> list[Block]:
    """The blocks from which control may come back to them."""
    reached = [0] * len(blocks)
    grown = True
    while grown:
        grown = False
        for block in reversed(blocks):
            found = 0
            for s in successors(block):
                found |= 1 << s | reached[s] if s != EXIT else 0
            grown = grown or found != reached[block.number]
            reached[block.number] = found
    return [b for b in blocks if reached[b.number] >> b.number & 1]


def _masks(item: Item) -> tuple[int, int]:
    """The registers that an item looks at, and those that it sets, as bit masks."""
    op = item.op
    uses, defs = 0 if item.guard is None else 1 << item.guard.index, 0
    for reg in registers_of(op.reads):
        uses |= 1 << reg.index
    for reg in registers_of(op.writes):
        defs |= 1 << reg.index
    return uses, defs


def _reads_memory(item: Item) -> bool:
    """Whether the item sets registers by what others may have written, or by the time."""
    if not item.op.effect or item.op.member is not None or "nc" in item.ins.mods:
        return False
    access = getattr(item.op.run, "access", None)
    return access is None or access.space not in _OWN
