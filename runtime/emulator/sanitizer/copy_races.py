"""Races with asynchronous copies: accesses to shared memory that a copy may still write, without a wait for it.

Bulk copies under way: writes to what they still read, and accesses to global memory that they still write.

What they write in shared memory is in ``copy_races.py``, with that of other copies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .findings import Findings, Symbolizer
from .memory_model import is_copy, strength, verb_of

if TYPE_CHECKING:
    from ..machine.address_resolution import Piece
    from ..machine.machine import Machine
    from ..machine.memory import Allocation
    from ..machine.threads import Threads
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


_UNIT = 16  # bytes, of which bulk copies move multiples


class _UnderWay:
    """For each 16 bytes of one memory the number of copies under way there, and the line and thread of the last."""

    def __init__(self, nbytes: int, skip: int) -> None:
        size = (nbytes + skip) // _UNIT + 2
        self.skip = skip
        self.count, self.lines, self.owners = (
            np.zeros(size, np.int32),
            np.zeros(size, np.int32),
            np.zeros(size, np.int64),
        )

    def units(self, touch: Touch, piece: Piece) -> Array:
        """The unit of the first byte of each element of an access."""
        size = touch.access.size
        first = 0 if piece.home is None else self.skip + -piece.home.address % size
        result: Array = first + piece.index * size >> 4
        return result

    def met(self, touch: Touch, piece: Piece) -> Array:
        """The positions of the elements where a copy is under way, among those of the access."""
        units = self.units(touch, piece)
        found = self.count[units] > 0
        if touch.access.size > _UNIT:
            found |= self.count[units + 1] > 0
        return np.flatnonzero(found)

    def begin(self, touch: Touch, piece: Piece, numbers: Array) -> None:
        """Notes copies by threads with these ``numbers`` in the launch."""
        units = self.units(touch, piece)
        np.add.at(self.count, units, 1)
        self.lines[units], self.owners[units] = touch.access.ins.line, numbers

    def end(self, touch: Touch, piece: Piece) -> None:
        """Notes that copies are over."""
        np.subtract.at(self.count, self.units(touch, piece), 1)


class BulkCopies:
    """The memory that bulk copies of a batch read and write: shared memory (None), and allocations."""

    def __init__(self, findings: Findings, symbols: Symbolizer) -> None:
        self.findings, self.symbols = findings, symbols

    def batch(self, machine: Machine) -> None:
        """Begins a batch, without copies under way."""
        self.machine = machine
        self.read: dict[Allocation | None, _UnderWay] = {}
        self.written: dict[Allocation | None, _UnderWay] = {}

    def issue(self, touch: Touch, source: Touch | None) -> None:
        """Notes the copies that threads ask for, whose target others must not touch, nor write their source."""
        if source is None:
            return
        for piece in touch.pieces:
            self._check(touch, piece, "copy")
            if piece.home is not None:
                self._of(self.written, piece).begin(touch, piece, self._numbers(touch, piece))
        for piece in source.pieces:
            self._of(self.read, piece).begin(source, piece, self._numbers(source, piece))

    def freed(self, source: Touch) -> None:
        """Notes that the source of copies has been read."""
        for piece in source.pieces:
            self.read[piece.home].end(source, piece)

    def touch(self, touch: Touch, piece: Piece) -> bool:
        """Reports an access that a copy under way must not meet, and returns whether a copy may be writing there."""
        if not self.read or touch.access.space not in ("shared", "global"):
            return False
        verb = verb_of(touch.access)
        if is_copy(touch.access.ins) and verb == "written":
            if piece.home in self.written:
                self.written[piece.home].end(touch, piece)
            return False
        return self._check(touch, piece, {"read": "load", "written": "store", "updated": "atomic"}[verb])

    def exit(self, lanes: Threads) -> None:
        """Reports copies that may still read the shared memory of a CTA whose last threads exit."""
        reads = self.read.get(None)
        if reads is None:
            return
        machine = self.machine
        alive = machine.alive.copy()
        alive[lanes.numbers] = False
        ended = np.asarray(~alive.reshape(machine.count, -1).any(axis=1))
        stride = machine.launch.shared_stride // _UNIT
        for cta in np.unique(lanes.ctas[ended[lanes.ctas]]):
            at = np.flatnonzero(reads.count[cta * stride : (cta + 1) * stride]) + cta * stride
            if at.size:
                last = int(self.symbols.numbers(lanes.numbers[lanes.ctas == cta][:1])[0])
                self._ended(int(reads.lines[at[0]]), int(reads.owners[at[0]]), last, int(at.size))
                reads.count[at] = 0

    def _ended(self, line: int, owner: int, last: int, count: int) -> None:
        items = (item for block in self.machine.program.blocks for item in block.items if item.ins.line == line)
        ins = next(item.ins for item in items if item.ins.opcode == "cp")
        words = (
            "its CTA ends while the copy may still read the CTA's shared memory: a wait for it by this thread before "
            f"the end ({_WAITS['read']}) is missing"
        )
        sites = self.symbols.site(owner, line), self.symbols.site(last, 0)
        self.findings.add("shared-race", ins, sites, "", words, count)

    def _of(self, table: dict[Allocation | None, _UnderWay], piece: Piece) -> _UnderWay:
        found = table.get(piece.home)
        if found is None:
            home = piece.home
            made = (self.machine.shared.size, 0) if home is None else (home.size, home.address % _UNIT)
            found = table[home] = _UnderWay(*made)
        return found

    def _numbers(self, touch: Touch, piece: Piece) -> Array:
        return self.symbols.numbers(touch.threads[piece.where])

    def _check(self, touch: Touch, piece: Piece, did: str) -> bool:
        verb = "written" if did == "copy" else verb_of(touch.access)
        if verb != "read" and piece.home in self.read:
            met = self.read[piece.home].met(touch, piece)
            if met.size:
                self._report(touch, piece, met, self.read[piece.home], did, "read")
        if piece.home not in self.written or (verb == "read" and strength(touch.access.ins, verb).level):
            return False
        met = self.written[piece.home].met(touch, piece)
        if met.size:
            self._report(touch, piece, met, self.written[piece.home], did, "write")
        return bool(met.size)

    def _report(self, touch: Touch, piece: Piece, met: Array, under_way: _UnderWay, did: str, does: str) -> None:
        access, first = touch.access, int(met[0])
        unit = int(under_way.units(touch, piece)[first])
        unit += int(not under_way.count[unit])
        line, owner = int(under_way.lines[unit]), int(under_way.owners[unit])
        threads = touch.threads[piece.where] if piece.index.size > 1 else touch.threads[:1]
        number = int(self.symbols.numbers(threads[first : first + 1])[0])
        here, there = self.symbols.site(number, access.ins.line), self.symbols.site(owner, line)
        touches = "touches" if does == "write" else "writes"
        words = (
            f"the copy that line {line} asks for may still {does} what this {did} at line {access.ins.line} {touches}: "
            f"a wait for it ({_WAITS[does]}) between line {line} and line {access.ins.line} is missing"
        )
        if number != owner:
            barrier = "bar.warp.sync" if number >> 5 == owner >> 5 else "bar.sync"
            words += f", by the thread that asked, and a barrier ({barrier}) behind it"
        offset = int(piece.index[first]) * access.size
        offset += 0 if piece.home is None else -piece.home.address % access.size
        kind = "shared-race" if piece.home is None else "global-race"
        self.findings.add(
            kind, access.ins, (here, there), self.symbols.where(access, offset, piece.home), words, met.size
        )


_WAITS = {
    "read": "cp.async.bulk.wait_group or wait_group.read, or for the mbarrier on which it completes",
    "write": "cp.async.bulk.wait_group without .read",
}
