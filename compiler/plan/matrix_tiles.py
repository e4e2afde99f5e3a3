"""Where the slots of a tile lie whose blocks warps turn, so that no two lanes wait for a bank of shared memory.

A row of the tile is ``across`` slots of 16 bytes, a power of two: slot c of row r has the number ``r * across + c``. A
matrix access reads eight slots at a time, whose banks would be the same. So a slot lies at another place among eight
neighbouring ones, by an exclusive or. Then these eight are at all banks, and so are eight that follow each other.
"""

from __future__ import annotations

COLUMNS = 8
"""Columns of a slot, which are those of a warp."""
ROWS = 32
"""Rows that a warp reads at once: four blocks, of which each lane gets eight neighbouring elements of a column."""
AT_ONCE = 8
"""Slots that shared memory serves at once."""


def named(lane: int) -> int:
    """The row, of ROWS, that a lane names. Lane t of a column then has the rows 8t to 8t + 7 in its four registers."""
    block, row = divmod(lane, AT_ONCE)
    return COLUMNS * (row // 2) + 2 * block + row % 2


def moves(across: int) -> list[tuple[int, int]]:
    """Bits of a slot's number, and the lower bits that take their exclusive or.

    The rows that a block's lanes name differ in bits 0, 3 and 4. Bit 0 may be among the three lowest ones.
    """
    row = across.bit_length() - 1
    free = [bit for bit in range(3) if bit != row]
    return list(zip([row + 3, row + 4, row][: len(free)], free, strict=True))


def placed(slot: int, across: int) -> int:
    """Where a slot lies, as a number of slots."""
    found = slot
    for source, to in moves(across):
        found ^= (slot >> source & 1) << to
    return found
