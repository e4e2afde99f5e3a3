"""Where the slots of a tile lie: each has a place, and neither copies nor matrix accesses wait for a bank."""

from __future__ import annotations

import pytest

from warpfold.compiler.plan.tiles import AT_ONCE, COLUMNS, ROWS, named, placed

ACROSS = (1, 2, 4, 8, 16, 32)


@pytest.mark.parametrize("across", ACROSS)
def test_each_slot_has_a_place_of_its_own(across: int) -> None:
    slots = range(4 * ROWS * across)
    assert sorted(placed(s, across) for s in slots) == list(slots)
    assert [placed(s + ROWS * across, across) for s in slots] == [placed(s, across) + ROWS * across for s in slots]


@pytest.mark.parametrize("across", ACROSS)
def test_slots_that_are_accessed_together_are_at_all_banks(across: int) -> None:
    for first in range(0, ROWS * across, AT_ONCE):  # the copy, by neighbouring threads
        assert {placed(s, across) % AT_ONCE for s in range(first, first + AT_ONCE)} == set(range(AT_ONCE))
    for block in range(4):  # a block, by the lanes that name its rows
        for column in range(across):
            rows = [named(AT_ONCE * block + lane) for lane in range(AT_ONCE)]
            assert {placed(r * across + column, across) % AT_ONCE for r in rows} == set(range(AT_ONCE))


def test_lanes_name_each_row_once_and_get_neighbouring_ones() -> None:
    assert sorted(map(named, range(ROWS))) == list(range(ROWS))
    for part in range(4):  # a lane has the rows 2 * part and 2 * part + 1 of each block
        held = [named(AT_ONCE * block + 2 * part + k) for block in range(4) for k in (0, 1)]
        assert held == list(range(COLUMNS * part, COLUMNS * (part + 1)))
