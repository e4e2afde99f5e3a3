"""Races with asynchronous copies: accesses to shared memory that a copy may still write, without a wait for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .findings import Findings
from .memory_model import is_copy, strength, verb_of
from .symbolizer import Symbolizer

if TYPE_CHECKING:
    from ..machine.address_resolution import Piece
    from ..machine.machine import Machine
    from ..ptx.types import Array
    from ..tool import Touch


class CopyRaces:
    """For each byte of shared memory the PTX line of the copy under way to it (0: none), and the thread that asked.

    A copy is under way from its instruction until it arrives, which the emulator delays until somebody waits for it. So
    an access in between follows no wait, and nothing orders it with the copy.
    """

    def __init__(self, findings: Findings, symbols: Symbolizer) -> None:
        self.findings, self.symbols = findings, symbols

    def batch(self, machine: Machine) -> None:
        """Begins a batch, without copies under way."""
        self.machine = machine
        self.lines: Array | None = None
        self.owners: Array = np.zeros(0, np.int64)

    def issue(self, touch: Touch, piece: Piece) -> None:
        """Notes copies that threads have asked for."""
        if piece.home is not None:
            return
        if self.lines is None:
            self.lines = np.zeros(self.machine.shared.size, np.int32)
            self.owners = np.zeros(self.machine.shared.size, np.int64)
        at = piece.index
        self._rows(self.lines, touch)[at] = touch.access.ins.line
        self._rows(self.owners, touch)[at] = self.symbols.numbers(touch.threads[piece.where])[:, None]

    def touch(self, touch: Touch, piece: Piece) -> bool:
        """Reports an access to bytes that a copy under way may write, and returns whether there was one.

        A copy that arrives here is no longer under way.
        """
        if self.lines is None or piece.home is not None or touch.access.space != "shared":
            return False
        rows = self._rows(self.lines, touch)
        verb = verb_of(touch.access)
        if is_copy(touch.access.ins) and verb == "written":
            rows[piece.index] = 0
            return False
        if verb == "read" and strength(touch.access.ins, verb).level:
            return False  # a volatile load looks at what is there now
        met = (rows[piece.index] != 0).any(axis=1)
        if met.any():
            self._report(touch, piece, np.flatnonzero(met))
        return bool(met.any())

    def _rows(self, octets: Array, touch: Touch) -> Array:
        """``octets`` as rows, one for each element of the access."""
        return octets.reshape(-1, touch.access.size)

    def _report(self, touch: Touch, piece: Piece, met: Array) -> None:
        access, first = touch.access, int(met[0])
        assert self.lines is not None
        at = int(piece.index[first])
        line = int(self._rows(self.lines, touch)[at].max())
        owner = int(self._rows(self.owners, touch)[at].max())
        threads = touch.threads[piece.where] if piece.index.size > 1 else touch.threads[:1]
        number = int(self.symbols.numbers(threads[first : first + 1])[0])
        here, there = self.symbols.site(number, access.ins.line), self.symbols.site(owner, line)
        did = {"read": "load", "written": "store", "updated": "atomic"}[verb_of(access)]
        words = (
            f"the copy that line {line} asks for may still be under way to what this {did} at line {access.ins.line} "
            f"touches: a wait for it (cp.async.wait_group or wait_all, or for the mbarrier on which it completes) "
            f"between line {line} and line {access.ins.line} is missing"
        )
        if number != owner:
            barrier = "bar.warp.sync" if number >> 5 == owner >> 5 else "bar.sync"
            words += f", by the thread that asked, and a barrier ({barrier}) behind it"
        where = self.symbols.where(access, at * access.size, None)
        self.findings.add("shared-race", access.ins, (here, there), where, words, met.size)
