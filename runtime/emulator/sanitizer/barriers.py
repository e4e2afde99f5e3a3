"""Barrier divergence: a barrier of the CTA that the threads of a warp do not reach together.

Judged when the barrier is complete, so that it does not depend on the schedule. A thread that has ended need not come:
``if (i >= n) return;`` is no fault. One that went around the barrier and on, and ended later, is: it ran more blocks of
code since its last barrier than the threads of its warp that came to this one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .findings import Findings
from .places import Places

if TYPE_CHECKING:
    from ..lanes import Lanes
    from ..machine import Machine
    from ..program import Block
    from ..types import Array


class Barriers:
    """``at`` holds for each barrier number the block at which each thread of the batch stands; -1: it does not.

    ``turns`` counts the blocks that each thread has run since its last barrier, ``came`` what it was when it got there;
    ``ended`` are those that have exited since the last barrier of their CTA.
    """

    def __init__(self, findings: Findings, places: Places) -> None:
        self.findings, self.places = findings, places

    def batch(self, machine: Machine) -> None:
        """No thread stands at a barrier."""
        self.machine = machine
        self.at: dict[int, Array] = {}
        self.counts = any(b.end in ("barrier", "arrive") for b in machine.program.blocks)
        size = machine.total if self.counts else 0
        self.turns, self.came = np.zeros(size, np.int32), np.zeros(size, np.int32)
        self.ended = np.zeros(size, bool)
        self.some_ended = False

    def step(self, block: Block, lanes: Lanes) -> None:
        """Threads run a block; one that only ends them does not count."""
        if not self.counts or (len(block.items) == 1 and block.end == "exit"):
            return
        if lanes.index is None:
            self.turns += 1
        else:
            self.turns[lanes.index] += 1

    def exit(self, lanes: Lanes) -> None:
        """Threads end."""
        if self.counts:
            self.ended[lanes.numbers] = True
            self.some_ended = True

    def arrive(self, machine: Machine, block: Block, lanes: Lanes, number: int) -> None:
        """Notes where the threads are."""
        if lanes.n == machine.living and not self.at and not self.some_ended:
            self.turns[:] = 0
            return
        at = self.at.get(number)
        if at is None:
            at = self.at[number] = np.full(machine.total, -1)
        at[lanes.numbers] = block.number
        self.came[lanes.numbers] = self.turns[lanes.numbers]
        self.turns[lanes.numbers] = 0

    def release(self, machine: Machine, number: int, ctas: Array) -> None:
        """Compares the places of the threads of each warp, now that the barrier is complete."""
        at = self.at.get(number)
        if at is None:
            return
        warps = machine.count, -1, 32
        rows = at.reshape(warps)[ctas]
        alive = machine.alive.reshape(warps)[ctas]
        most = rows.max(axis=2, keepdims=True)
        apart = alive & (rows != most) & (most >= 0)
        if self.some_ended:
            apart |= self._went_around(ctas, rows, warps)
        if apart.any():
            self._report(ctas, number, rows, apart)
        at.reshape(machine.count, -1)[ctas] = -1
        if not (at >= 0).any():
            del self.at[number]

    def _went_around(self, ctas: Array, rows: Array, warps: tuple[int, int, int]) -> Array:
        """Threads that ended after more blocks than it took others of their warp to get to the barrier."""
        ended = self.ended.reshape(warps)[ctas] & (rows < 0)
        here = np.where(rows >= 0, self.came.reshape(warps)[ctas], -1).max(axis=2, keepdims=True)
        self.ended.reshape(warps)[ctas] = False
        self.some_ended = bool(self.ended.any())
        result: Array = ended & (here >= 0) & (self.turns.reshape(warps)[ctas] > here)
        return result

    def _report(self, ctas: Array, number: int, rows: Array, apart: Array) -> None:
        """``rows`` (ctas, warps, 32) are the blocks where threads stand; ``apart``: away from others of their warp."""
        blocks = self.machine.program.blocks
        cta, warp, lane = (int(v[0]) for v in np.nonzero(apart))
        row = rows[cta, warp]
        here = int(np.argmax(row == row.max()))
        item = blocks[int(row.max())].last
        if "aligned" not in item.ins.mods and item.ins.opcode == "barrier":
            return
        base = int(self.places.first[int(ctas[cta])]) + 32 * warp
        elsewhere = int(row[lane])
        line = blocks[elsewhere].last.ins.line if elsewhere >= 0 else 0
        threads = self.places.place(base + here, item.ins.line), self.places.place(base + lane, line)
        what = f"stands at the one in line {line}" if line else "went around it"
        words = (
            f"barrier {number} is reached by a part of a warp only: lane {here} is here, lane {lane} {what}; all "
            "threads of a warp must reach the same barrier instruction: move it out of the branch or the loop"
        )
        self.findings.add("barrier-divergence", item.ins, threads, "", words, int(apart.any(axis=2).sum()))
