"""Regions of memory in which variables are laid out one after another."""

from __future__ import annotations

from collections.abc import Iterable

from .types import Variable

RESERVED = "reserved shared memory"
"""The name of the part of each CTA's shared memory that system software reserves, where a kernel asks for it."""


def align_up(value: int, align: int) -> int:
    """The least multiple of ``align`` not below ``value``."""
    return -(-value // align) * align


class Region:
    """Variables laid out one after another; ``at`` holds their offsets, ``size`` the bytes that they take."""

    def __init__(self) -> None:
        self.at: dict[Variable, int] = {}
        self.size = 0
        self.align = 1

    def place(self, variable: Variable) -> int:
        """The offset of ``variable``, which is added at the end the first time."""
        if variable not in self.at:
            self.at[variable] = align_up(self.size, variable.align)
            self.size = self.at[variable] + variable.size
            self.align = max(self.align, variable.align)
        return self.at[variable]

    def place_external(self, variables: Iterable[Variable]) -> None:
        """Adds dynamic shared variables, all of which begin where the others end."""
        found = [v for v in variables if v.external]
        if found:
            start = align_up(self.size, max(16, *(v.align for v in found)))
            for variable in found:
                self.at[variable] = start
            self.size = start

    def nearest(self, offset: int) -> tuple[Variable, int] | None:
        """The last variable that begins at or before ``offset``, or else the first one, and its offset."""
        if not self.at:
            return None
        before = [(at, v) for v, at in self.at.items() if at <= offset]
        at, variable = (
            max(before, key=lambda pair: pair[0])
            if before
            else min(((at, v) for v, at in self.at.items()), key=lambda pair: pair[0])
        )
        return variable, at
