"""Barrier divergence: threads of a warp that do not reach a barrier of the CTA or the cluster together.

It is judged when the barrier completes, so the result does not depend on the schedule. A thread that exits before any
work need not reach the barrier: ``if (i >= n) return;`` is no fault. A thread that has written to memory, taken part in
a barrier, or gone around this one, and then exits, leaves its warp behind at an aligned barrier.

Membermasks: checks the lanes that a warp-wide instruction names against those that run it and that it reads.
"""

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
    from ..tool import Touch


_CLUSTER = (-1, -2)
_WENT_ON, _WROTE, _MET = 1, 2, 3
_DID = {
    _WENT_ON: "for it went around it and on",
    _WROTE: "after it had written to memory",
    _MET: "after it had met a barrier",
}
"""What a thread had done when it exited, as the end of a sentence."""


class BarrierDivergence:
    """The barriers at which threads of the batch stand.

    Attributes:
        at: by barrier number, the block at which each thread stands; -1 if it does not stand at this barrier.
        turn: which of the two numbers ``_CLUSTER`` the next cluster barrier of a thread has. They alternate, since
            lanes may arrive at the next cluster barrier while others of their warp have not left the last one.
        did: the key of ``_DID`` with the most that each thread has done; 0 for nothing.
        exited: the threads that have exited since the last barrier of their warp.
        behind: the numbers of the blocks that follow a barrier.
    """

    def __init__(self, findings: Findings, symbols: Symbolizer) -> None:
        self.findings, self.symbols = findings, symbols

    def batch(self, machine: Machine) -> None:
        """Begins a batch, in which no thread stands at a barrier."""
        self.machine = machine
        self.at: dict[int, Array] = {}
        blocks = machine.program.blocks
        ends = [b for b in blocks if b.end in ("barrier", "arrive", "cluster_wait")]
        self.behind = {b.next for b in ends if len(b.items) == 1 or not _only_ends(blocks[b.next])}
        self.counts = bool(ends)
        size = machine.total if self.counts else 0
        self.did, self.exited = np.zeros(size, np.int8), np.zeros(size, bool)
        self.some_ended = False
        self.turn = np.zeros(size, np.int8)

    def step(self, block: Block, lanes: Threads) -> None:
        """Notes threads in a block after a barrier, which they may have gone around."""
        if block.number in self.behind:
            self._note(lanes.index, _WENT_ON)

    def wrote(self, touch: Touch) -> None:
        """Notes threads that write to memory that other threads see."""
        if self.counts:
            self._note(None if touch.chosen is None and touch.lanes.index is None else touch.threads, _WROTE)

    def exit(self, lanes: Threads) -> None:
        """Notes threads that exit."""
        if self.counts:
            self.exited[lanes.numbers] = True
            self.some_ended = True

    def arrive(self, machine: Machine, block: Block, lanes: Threads, number: int) -> None:
        """Notes the barrier instruction at which threads arrive."""
        self._note(lanes.index, _MET)
        if lanes.n == machine.living and not self.at and not self.some_ended:
            return
        at = self.at.get(number)
        if at is None:
            at = self.at[number] = np.full(machine.total, -1)
        at[lanes.numbers] = block.number

    def release(self, machine: Machine, number: int, ctas: Array) -> None:
        """Compares where the threads of each warp stand, now that the barrier is complete."""
        at = self.at.get(number)
        if at is None:
            return
        warps = machine.count, -1, 32
        rows = at.reshape(warps)[ctas]
        alive = machine.alive.reshape(warps)[ctas]
        most = rows.max(axis=2, keepdims=True)
        apart = alive & (rows != most) & (most >= 0)
        if self.some_ended:
            apart |= self._left_behind(ctas, rows, most, warps)
        if apart.any():
            self._report(ctas, number, rows, apart)
        at.reshape(machine.count, -1)[ctas] = -1
        if not (at >= 0).any():
            del self.at[number]

    def cluster_arrive(self, machine: Machine, block: Block, lanes: Threads) -> None:
        """Notes the instruction at which threads arrive at the barrier of their cluster."""
        if not self.counts:
            return
        threads = lanes.numbers
        self.turn[threads] ^= 1
        for turn in np.unique(self.turn[threads]):
            self.arrive(machine, block, lanes.select(self.turn[threads] == turn), _CLUSTER[turn])

    def cluster_release(self, machine: Machine, lanes: Threads) -> None:
        """Judges a complete barrier of the cluster when the first threads of a CTA leave it."""
        if not self.counts:
            return
        turns = self.turn[lanes.numbers]
        for turn in np.unique(turns):
            self.release(machine, _CLUSTER[turn], np.unique(lanes.ctas[turns == turn]))

    def _note(self, threads: Array | None, what: int) -> None:
        where = slice(None) if threads is None else threads
        self.did[where] = np.maximum(self.did[where], what)

    def _left_behind(self, ctas: Array, rows: Array, most: Array, warps: tuple[int, int, int]) -> Array:
        """The threads that exited after some work, in warps whose other threads reached the barrier."""
        ended = self.exited.reshape(warps)[ctas]
        judged: Array = ended & (rows < 0) & (most >= 0)
        self.exited.reshape(warps)[ctas] = ended & ~judged
        self.some_ended = bool(self.exited.any())
        result: Array = judged & (self.did.reshape(warps)[ctas] > 0)
        return result

    def _report(self, ctas: Array, number: int, rows: Array, apart: Array) -> None:
        """Reports threads ``apart`` from their warp; ``rows`` (ctas, warps, 32) holds the block of each thread."""
        blocks = self.machine.program.blocks
        cta, warp, lane = (int(v[0]) for v in np.nonzero(apart))
        row = rows[cta, warp]
        here = int(np.argmax(row == row.max()))
        item = blocks[int(row.max())].last
        if "aligned" not in item.ins.mods and item.ins.opcode == "barrier":
            return
        base = int(self.symbols.first[int(ctas[cta])]) + 32 * warp
        elsewhere = int(row[lane])
        line = blocks[elsewhere].last.ins.line if elsewhere >= 0 else 0
        threads = self.symbols.site(base + here, item.ins.line), self.symbols.site(base + lane, line)
        thread = 32 * warp + lane + int(ctas[cta]) * self.symbols.per_cta
        what = f"stands at the one in line {line}" if line else self._without(thread)
        name = f"barrier {number}" if number >= 0 else "the barrier of the cluster"
        words = (
            f"{name} is reached by a part of a warp only: lane {here} is here, lane {lane} {what}; all "
            "threads of a warp must reach the same barrier instruction, unless they return before all work: "
            "move it out of the branch or the loop"
        )
        self.findings.add("barrier-divergence", item.ins, threads, "", words, int(apart.any(axis=2).sum()))

    def _without(self, thread: int) -> str:
        """What a thread of the batch did that is at no barrier, in words."""
        if self.machine.alive[thread]:
            return "went around it"
        return f"ended without it, {_DID[int(self.did[thread])]}"


def _only_ends(block: Block) -> bool:
    return len(block.items) == 1 and block.end == "exit"


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
