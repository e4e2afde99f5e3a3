"""Accesses past the end of a variable in shared or local memory that land in its neighbour.

The variable that an instruction means is one whose address its own address is made of. Where that cannot be said, as of
a pointer that was loaded from memory, nothing is checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..ptx.demangle import demangle
from ..ptx.types import Mem
from .dataflow import pointed_at, variables_of
from .findings import Findings, Symbolizer, element

if TYPE_CHECKING:
    from ..machine.address_resolution import Access, Piece
    from ..machine.launch import Launch
    from ..ptx.regions import Region
    from ..ptx.types import Array, Variable
    from ..tool import Touch


class Neighbours:
    """The variables of a launch that each access may touch, with the bytes at which they begin and end."""

    def __init__(self, findings: Findings, symbols: Symbolizer, launch: Launch) -> None:
        self.findings, self.symbols, self.launch = findings, symbols, launch
        flat = launch.program.flat
        self.regions: dict[str, tuple[Region, int, int]] = {
            "shared": (flat.shared, launch.shared_stride, launch.shared_size),
            "local": (flat.local, launch.local_stride, flat.local.size),
        }
        self.meant: dict[tuple[int, str, str], list[tuple[int, int, Variable]]] = {}

    def touch(self, touch: Touch, piece: Piece) -> None:
        """Reports an access to bytes of another variable than the one that its address is made of."""
        access = touch.access
        if access.space not in self.regions or len(self.regions[access.space][0].at) < 2:
            return
        key = id(access.ins), access.verb, access.space
        meant = self.meant.get(key)
        if meant is None:
            meant = self.meant[key] = self._meant(access)
        if not meant:
            return
        at = piece.index * access.size % self.regions[access.space][1]
        inside = np.zeros(at.shape, bool)
        for first, end, _ in meant:
            inside |= (at >= first) & (at + access.size <= end)
        if not inside.all():
            self._report(touch, piece, at, np.flatnonzero(~inside), meant)

    def _meant(self, access: Access) -> list[tuple[int, int, Variable]]:
        mems = [op for op in access.ins.operands if isinstance(op, Mem)]
        which = {"written": 0, "read": 1, "updated": -1}[access.verb] if len(mems) > 1 else 0
        region, _, size = self.regions[access.space]
        found = variables_of(mems[which].base, pointed_at(self.launch.program)) if mems else ()
        known = [(region.at[v], v) for v in found if v in region.at]
        return sorted(((at, size if v.external else at + v.size, v) for at, v in known), key=lambda x: x[:2])

    def _report(
        self, touch: Touch, piece: Piece, at: Array, outside: Array, meant: list[tuple[int, int, Variable]]
    ) -> None:
        access, first = touch.access, int(outside[0])
        byte, size = int(at[first]), access.size
        start, end, variable = next((x for x in reversed(meant) if x[0] <= byte), meant[0])
        threads = touch.threads[piece.where] if at.size > 1 else touch.threads[:1]
        number = int(self.symbols.numbers(threads[first : first + 1])[0])
        other = next((v for v, a in self.regions[access.space][0].at.items() if a <= byte < a + v.size), None)
        name, where = (
            demangle(variable.name),
            "between two variables" if other is None else f"in {demangle(other.name)!r}",
        )
        words = (
            f"{size} bytes are {access.verb} at byte {byte - start} of {name!r}, which has {end - start}: they lie "
            f"{where}, next to it in {access.space} memory; bound the index, or make the array larger"
        )
        place = f"{name}{element(byte - start, size)} ({access.space})"
        self.findings.add("out-of-bounds", access.ins, (self.symbols.site(number, access.ins.line),), place, words,
                          outside.size if at.size > 1 else touch.threads.size)  # fmt: skip
