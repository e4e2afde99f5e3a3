"""Membermasks: checks the lanes that a warp-wide instruction names against those that run it and that it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..ptx.types import Imm, Reg
from .findings import Findings, Symbolizer
from .happens_before import HappensBefore

if TYPE_CHECKING:
    from ..machine.machine import Machine
    from ..machine.program import Block
    from ..machine.threads import Threads
    from ..ptx.types import Array, Instruction

_LANE = np.arange(32)
_FULL = 0xFFFFFFFF


class Membermasks:
    """``mask`` is the membermask of the running instruction: 32 flags for each lane, or None for all lanes."""

    def __init__(self, findings: Findings, symbols: Symbolizer, order: HappensBefore) -> None:
        self.findings, self.symbols, self.order = findings, symbols, order
        self.mask: Array | None = None

    def gathered(self, machine: Machine, block: Block, lanes: Threads) -> None:
        """Checks the mask against the lanes that are there; a warp barrier orders the accesses of these lanes."""
        item = block.items[0]
        ins, member = item.ins, item.op.member
        barrier = ins.opcode in ("bar", "barrier")
        if isinstance(member, Imm) and int(member.value) & _FULL == _FULL and lanes.whole:
            self.mask = None
            if barrier:
                self.order.barriers.warps_meet(lanes.warps)
            return
        if isinstance(member, Reg):
            masks = lanes.rows(np.asarray(machine.read(lanes, member.index)))
        else:
            assert isinstance(member, Imm)
            masks = np.full(lanes.present.shape, int(member.value) & _FULL, np.uint32)
        named = (masks[:, :, None] >> _LANE.astype(np.uint32) & 1).astype(bool)
        self.mask = named
        present = lanes.present
        exists = (lanes.warps[:, None] * 32 + _LANE) % self.symbols.per_cta < machine.launch.threads
        gone = (named & exists[:, None, :] & ~present[:, None, :]) & present[:, :, None]
        if gone.any():
            self._report(ins, lanes, gone, "names lane {other}, which has exited: name only lanes that are there")
        own = named[:, _LANE, _LANE] | ~present
        if not own.all():
            lacking = np.eye(32, dtype=bool) & ~own[:, :, None]
            self._report(ins, lanes, lacking, "lacks lane {other}, which runs it: add the lane")
        if barrier:
            alive = machine.alive.reshape(-1, 32)[lanes.warps]
            whole = (named & alive[:, None, :] == alive[:, None, :]).all(axis=2)
            self._meet(lanes, named, (present == alive).all(axis=1) & (whole | ~present).all(axis=1))

    def _meet(self, lanes: Threads, named: Array, whole: Array) -> None:
        if whole.any():
            self.order.barriers.warps_meet(lanes.warps[whole])
        if not whole.all():
            self.order.barriers.lanes_meet(lanes.warps[~whole], named[~whole] & lanes.present[~whole][:, :, None])

    def shuffle(self, ins: Instruction, lanes: Threads, source: Array, inside: Array) -> None:
        """Checks that every lane reads from a lane that takes part."""
        if self.mask is None and lanes.whole:
            return
        shape = lanes.present.shape
        source, inside = np.broadcast_to(source, shape), np.broadcast_to(inside, shape)
        rows = np.arange(shape[0])[:, None]
        allowed = lanes.present[rows, source]
        if self.mask is not None:
            allowed = allowed & self.mask[rows, _LANE, source]
        bad = ~allowed & inside & lanes.present
        if bad.any():
            pairs = bad[:, :, None] & (source[:, :, None] == _LANE)
            self._report(ins, lanes, pairs, "reads lane {other}, which its membermask lacks or which is not there")

    def _report(self, ins: Instruction, lanes: Threads, pairs: Array, words: str) -> None:
        """Reports ``pairs`` (warps, 32, 32) of a lane that runs the instruction and another lane."""
        row, lane, other = (int(v[0]) for v in np.nonzero(pairs))
        base = int(lanes.warps[row]) * 32
        a, b = (int(n) for n in self.symbols.numbers(np.array([base + lane, base + other])))
        threads = self.symbols.site(a, ins.line), self.symbols.site(b, 0)
        words = f"lane {lane} runs a warp-wide instruction and {words.format(other=other)}"
        self.findings.add("warp-mask", ins, threads, "", words, int(pairs.any(axis=2).sum()))
