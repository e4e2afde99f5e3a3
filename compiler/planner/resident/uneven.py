"""Rows of persistent CTAs that a power of two of warps divides badly: as many warps as their accesses need.

A row of 4,095 elements that begins anywhere has up to 513 accesses of eight: one more than 128 threads make in four
turns. With 256 threads that make three each, a third of them reads nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, gcd
from typing import NamedTuple

from ...plan.fields import COUNTS, LARGEST
from ...target import WARP
from .. import sittings
from ..table import threshold

UNUSED = threshold(1.12, "times the accesses of a row", sittings.UNEVEN_ROWS)
"""Up to here a power of two of warps may make more than a row has."""
ONCE = threshold(8, "elements", sittings.UNEVEN_ROWS)
"""What a thread does once a row takes as long as what it does with so many of them."""
LEAST = threshold(8, "warps of an SM", sittings.UNEVEN_ROWS)
"""Fewer wait for memory too long."""
SPARE = threshold(8, "registers", sittings.UNEVEN_ROWS)
"""Of a thread of other rows that begin anywhere."""
FILES = threshold(4, "register files of an SM", sittings.UNEVEN_ROWS)
"""Warps are dealt out to as many."""
OF_A_LANE = threshold(512, "registers for a lane of all warps of a file", sittings.UNEVEN_ROWS)
"""They share these, in whole eights."""
MOST_REGISTERS = threshold(255, "registers of a thread", sittings.UNEVEN_ROWS)
"""However few warps there are."""


class Shares(NamedTuple):
    """How a row is shared: by so many warps, whose threads keep so many accesses each; and the CTAs of an SM."""

    warps: int
    held: int
    ctas: int


def ctas_of(warps: int, registers: int) -> int:
    """The CTAs of so many warps that an SM holds, whose threads have so many registers; they come in eights.

    If it can be, so many that each register file has as many warps.
    """
    found = max((c for c in range(1, COUNTS["persistent"] + 1) if _registers_of(c * warps) >= registers), default=0)
    alike = FILES // gcd(warps, FILES)
    return found // alike * alike or found


def _registers_of(warps: int) -> int:
    """The registers of a thread where an SM has so many warps."""
    return min(MOST_REGISTERS, OF_A_LANE // ceil(warps / FILES) // 8 * 8)


def shared(count: int, vector: int, registers: Callable[[int], int]) -> Shares | None:
    """Who shares a row of ``count`` accesses of ``vector`` elements in the least time; None where an SM lacks warps.

    ``registers`` says how many a thread needs that keeps so many elements.
    """
    found = []
    for held in range(1, ceil(count / WARP) + 1):
        warps = ceil(count / (held * WARP))
        if warps > LARGEST["warps"]:
            continue
        ctas = ctas_of(warps, registers(held * vector))
        if ctas * warps >= LEAST:
            found.append((warps * (held * vector + ONCE), held, Shares(warps, held, ctas)))
    return min(found)[-1] if found else None
