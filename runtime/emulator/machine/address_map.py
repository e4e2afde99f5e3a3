"""The emulator's address map.

Global memory (and constants) lie below 2^56; shared, local and parameter memory have a window each above it in the
generic address space. A shared address keeps the rank of the CTA it was mapped to (plus one; zero is the own CTA) in
bits 24 to 31, so ``mapa`` is arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..ptx.types import Variable

WINDOW_BITS = 56
WINDOW_MASK = (1 << WINDOW_BITS) - 1
SHARED_WINDOW = 1 << WINDOW_BITS
LOCAL_WINDOW = 2 << WINDOW_BITS
PARAM_WINDOW = 3 << WINDOW_BITS
RANK_SHIFT = 24
GLOBAL_FIRST = 1 << 36
GLOBAL_LAST = 1 << 47
POISON = 0xCD
RESERVED = "reserved shared memory"
"""The name of what system software keeps of each CTA's shared memory, where a kernel asks for it."""


def align_up(value: int, align: int) -> int:
    """The least multiple of ``align`` not below ``value``."""
    return -(-value // align) * align


class Region:
    """Variables laid out one after another; ``size`` in bytes, ``at`` the offset of each."""

    def __init__(self) -> None:
        self.at: dict[Variable, int] = {}
        self.size = 0
        self.align = 1

    def place(self, variable: Variable) -> int:
        """The offset of ``variable``, placing it at the end the first time."""
        if variable not in self.at:
            self.at[variable] = align_up(self.size, variable.align)
            self.size = self.at[variable] + variable.size
            self.align = max(self.align, variable.align)
        return self.at[variable]

    def place_external(self, variables: Iterable[Variable]) -> None:
        """Dynamic shared variables: all start where the others end."""
        found = [v for v in variables if v.external]
        if found:
            start = align_up(self.size, max(16, *(v.align for v in found)))
            for variable in found:
                self.at[variable] = start
            self.size = start

    def nearest(self, offset: int) -> tuple[Variable, int] | None:
        """The last variable that starts at or before ``offset``, or the first one, and where it starts."""
        if not self.at:
            return None
        before = [(at, v) for v, at in self.at.items() if at <= offset]
        at, variable = (
            max(before, key=lambda pair: pair[0])
            if before
            else min(((at, v) for v, at in self.at.items()), key=lambda pair: pair[0])
        )
        return variable, at
