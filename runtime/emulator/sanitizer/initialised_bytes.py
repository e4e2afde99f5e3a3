"""Reads of uninitialised memory. A shadow byte for each byte of memory says whether it has been written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ....compiler.lazy import lazy
from ..ptx.regions import RESERVED
from .findings import Findings, Symbolizer
from .memory_model import verb_of

if TYPE_CHECKING:
    from ..machine.address_resolution import Access, Piece
    from ..machine.machine import Machine
    from ..machine.memory import Allocation
    from ..ptx.types import Array
    from ..tool import Touch

_WRITTEN: WeakKeyDictionary[Allocation, Array] = WeakKeyDictionary()
"""The shadow of each allocation that began without values: 0xFF for each initialised byte. It outlives the launch."""
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


class InitialisedBytes:
    """The shadow of the batch's shared and local memory, and of global memory."""

    def __init__(self, findings: Findings, symbols: Symbolizer) -> None:
        self.findings, self.symbols = findings, symbols

    def batch(self, machine: Machine) -> None:
        """Begins a batch, in whose shared and local memory nothing is written."""
        self.machine = machine
        for name in ("shared", "local"):
            self.__dict__.pop(name, None)

    @lazy
    def shared(self) -> Array:
        """The shadow of shared memory; what system software reserves counts as initialised."""
        out, launch = np.zeros(self.machine.shared.size, np.uint8), self.machine.launch
        for variable, at in launch.program.flat.shared.at.items():
            if variable.name == RESERVED:
                out.reshape(-1, launch.shared_stride)[:, at : at + variable.size] = 0xFF
        return out

    @lazy
    def local(self) -> Array:
        """The shadow of local memory."""
        return np.zeros(self.machine.local.size, np.uint8)

    def touch(self, touch: Touch, piece: Piece) -> None:
        """Notes what an access writes, and reports what it reads uninitialised."""
        access, home = touch.access, piece.home
        if home is not None and home.initialised:
            return
        written = self._typed(access, home)
        if verb_of(access) != "written":
            got = written.take(piece.index)
            if not _whole(got):
                self._report(touch, piece, got)
        if access.verb != "read":
            written[piece.index] = np.frombuffer(b"\xff" * access.size, written.dtype)[0]

    def _typed(self, access: Access, home: Allocation | None) -> Array:
        """The shadow as elements of the access's unit, with the same indices as the memory."""
        if home is None:
            octets, skip = (self.shared if access.space == "shared" else self.local), 0
        else:
            found = _WRITTEN.get(home)
            if found is None:
                found = _WRITTEN[home] = np.zeros(home.size, np.uint8)
            octets, skip = found, -home.address % access.size
        unit: np.dtype[Any] = np.dtype(f"u{access.size}") if access.size <= 8 else np.dtype(f"V{access.size}")
        count = max(octets.size - skip, 0) // access.size
        return octets[skip : skip + count * access.size].view(unit)

    def _report(self, touch: Touch, piece: Piece, got: Array) -> None:
        access, size = touch.access, touch.access.size
        octets = np.ascontiguousarray(got).view(np.uint8).reshape(-1, size)
        bad = np.flatnonzero((octets != 0xFF).any(axis=1))
        first = int(bad[0])
        threads = touch.threads[piece.where] if piece.index.size > 1 else touch.threads[:1]
        number = int(self.symbols.numbers(threads[first : first + 1])[0])
        byte = int(np.argmax(octets[first] != 0xFF))
        index = int(piece.index[first])
        skip = -piece.home.address % size if piece.home is not None else 0
        where = self.symbols.where(access, skip + index * size + byte, piece.home)
        whose = {"shared": "of its CTA", "local": "of its thread", "global": ""}[access.space]
        words = f"nobody has written {access.space} memory {whose} here before it is {access.verb}".replace("  ", " ")
        words += ": a store to it is missing, or this index is not the one that was written"
        self.findings.add("uninitialised", access.ins, (self.symbols.site(number, access.ins.line),), where, words,
                          bad.size if piece.index.size > 1 else touch.threads.size)  # fmt: skip


def _whole(got: Array) -> bool:
    """Whether every bit of ``got`` is set."""
    if got.dtype.kind == "V":
        got = np.ascontiguousarray(got).view(np.uint64)
    return bool((got == got.dtype.type(_FULL & np.uint64(2 ** (8 * got.itemsize) - 1))).all())
