"""Barrier divergence: a barrier of the CTA that a warp does not reach as one."""

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
    """``at`` holds for each barrier number the block at which each thread of the batch stands; -1: it does not."""

    def __init__(self, findings: Findings, places: Places) -> None:
        self.findings, self.places = findings, places

    def batch(self, machine: Machine) -> None:
        """No thread stands at a barrier."""
        self.at: dict[int, Array] = {}
        self.total = machine.total

    def arrive(self, machine: Machine, block: Block, lanes: Lanes, number: int) -> None:
        """Notes where the threads are."""
        if lanes.n == machine.living and not self.at:
            return
        at = self.at.get(number)
        if at is None:
            at = self.at[number] = np.full(self.total, -1)
        at[lanes.numbers] = block.number

    def release(self, machine: Machine, number: int, ctas: Array, sets: list[tuple[Lanes, Block]]) -> None:
        """Compares the places of the threads of each warp, now that the barrier is complete."""
        at = self.at.get(number)
        if at is None:
            return
        rows = at.reshape(machine.count, -1, 32)[ctas]
        alive = machine.alive.reshape(machine.count, -1, 32)[ctas]
        most = np.where(alive, rows, -1).max(axis=2, keepdims=True)
        apart = alive & (rows != most) & (most >= 0)
        if apart.any():
            self._report(machine, ctas, number, rows, apart)
        at.reshape(machine.count, -1)[ctas] = -1
        if not (at >= 0).any():
            del self.at[number]

    def _report(self, machine: Machine, ctas: Array, number: int, rows: Array, apart: Array) -> None:
        """``rows`` (ctas, warps, 32) are the blocks where threads stand; ``apart``: away from others of their warp."""
        blocks = machine.program.blocks
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
        what = f"stands at the one in line {line}" if line else "is elsewhere"
        words = (
            f"barrier {number} is reached by a part of a warp only: lane {here} is here, lane {lane} {what}; all threads "
            "of a warp must reach the same barrier instruction: move it out of the branch or the loop"
        )
        self.findings.add("barrier-divergence", item.ins, threads, "", words, int(apart.any(axis=2).sum()))
