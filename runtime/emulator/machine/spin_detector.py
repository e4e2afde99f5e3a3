"""Detects spin loops that no thread can end, by looking now and then whether anything still changes.

While no memory changes, no barrier is reached and no thread exits, every thread goes its own way, whatever the
schedule. A thread that comes back to the same block with the same registers will do so for ever. If that holds for all
threads that can run, the launch has no end. Lanes that meet at a warp-wide instruction go on together: they are
compared there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..instructions.op import broadcast
from ..ptx.types import Array, Instruction
from ..tool import Tool, Touch, in_turn, numbers
from .address_map import RANK_SHIFT

if TYPE_CHECKING:
    from .machine import Machine
    from .memory import Allocation
    from .program import Block
    from .threads import Threads

_FIRST = 512
"""Steps of a batch before the first look; each later look comes after twice as many, and lasts an eighth of them."""
_PATIENCE = 4
"""A look ends after threads have come back changed this many times: they make progress."""


class SpinDetector(Tool):
    """The looks at one batch; during a look it is part of the launch's tool.

    Attributes:
        due: the step at which the next look begins, or the current one ends.
        home: by thread, the block where the look saw it first (-1: not yet).
        saved: the registers of threads at their home, by block and register.
        again: by thread, whether it came back to its home with the same registers.
        last: by thread, the index of its last memory access in ``touches``.
        back: by thread, the PTX line of its last jump back.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.begun = machine.launch.stats.steps
        self.due = self.begun + _FIRST
        self.watching = False
        self.meets = np.array([bool(b.items) and b.items[0].op.member is not None for b in machine.program.blocks])
        self._forget()

    def _forget(self) -> None:
        total = self.machine.total if self.watching else 0
        self.patience = _PATIENCE
        self.home = np.full(total, -1)
        self.again = np.zeros(total, bool)
        self.last = np.full(total, -1)
        self.back = np.zeros(total, np.int64)
        self.saved: dict[tuple[int, int], Array] = {}
        self.touches: list[Touch] = []
        self.written: list[tuple[Array, Array, bytes]] = []

    def turn(self) -> None:
        """Begins a look, after draining the store buffer, for which a thread may wait; or ends the look."""
        launch, steps = self.machine.launch, self.machine.launch.stats.steps
        taken = steps - self.begun
        self.watching = not self.watching
        if self.watching:
            if launch.store_buffer is not None:
                launch.store_buffer.drain(self.machine)
            self.others, launch.tool = launch.tool, self if launch.tool is None else in_turn(self, launch.tool)
            self.due = steps + max(taken // 8, _FIRST // 2)
        else:
            launch.tool = self.others
            self.due = steps + taken
        self._forget()

    def end(self) -> None:
        """Ends the batch, and a look with it."""
        if self.watching:
            self.turn()

    def changed(self) -> None:
        """Ends the look soon: something changed, or a thread read a clock."""
        if self.watching:
            self.due = 0

    def touch(self, touch: Touch) -> None:
        """Notes what threads access, and the contents of memory before they write."""
        if touch.access.space in ("global", "shared"):
            self.last[touch.threads] = len(self.touches)
            self.touches.append(touch)
        if touch.access.verb != "read":
            self.written += [(view, index, view[index].tobytes()) for view, index, *_ in touch.pieces]

    def branch(self, _machine: Machine, block: Block, lanes: Threads, mask: Array | None) -> None:
        """Notes the lines from which threads jump back."""
        if 0 <= block.targets[0] <= block.number:
            self.back[numbers(lanes, mask)] = block.last.ins.line

    def arrive(self, *_: Any) -> None:
        """Threads reach a barrier of their CTA."""
        self.changed()

    def cluster_arrive(self, *_: Any) -> None:
        """Threads reach the barrier of their cluster."""
        self.changed()

    def exit(self, *_: Any) -> None:
        """Threads exit."""
        self.changed()

    def step(self, machine: Machine, block: Block, lanes: Threads) -> None:
        """Compares the threads with their state when they were first seen at this block."""
        if any(view[index].tobytes() != old for view, index, old in self.written):
            self.changed()
        self.written = []
        if self.due == 0:
            return
        same = self._compared(machine, block, lanes)
        if self.patience < 0:
            self.changed()
        self.again[lanes.numbers[same]] = True
        if same.any() and self.again[lanes.numbers].all() and self._all_again(machine):
            raise self._verdict(machine, block, lanes)

    def _all_again(self, machine: Machine) -> bool:
        return all(bool(self.again[s.numbers].all()) for sets in machine.pending.values() for s in sets)

    def _compared(self, machine: Machine, block: Block, lanes: Threads) -> Array:
        """Which threads are at their home with the same registers as before; threads seen first are recorded."""
        who, meets = lanes.numbers, bool(self.meets[block.number])
        home = self.home[who]
        new = (home < 0) | (meets & ~self.meets[home])
        same: Array = home == block.number
        for index in range(block.live_in.bit_length()):
            if block.live_in >> index & 1:
                value = broadcast(machine.registers.read(lanes, index), lanes.n)
                saved = self.saved.setdefault((block.number, index), np.zeros(machine.total, value.dtype))
                same &= saved[who] == value
                saved[who[new]] = value[new]
        self.patience -= bool((~same & (home == block.number)).any())
        self.home[who[new]] = block.number
        self.again[who[new]] = False
        if meets:
            together = (self.home.reshape(-1, 32)[lanes.warps] == block.number).sum(axis=1)
            same &= (np.bincount(lanes.row, same, together.size) == together)[lanes.row]
        return same

    def _verdict(self, machine: Machine, block: Block, lanes: Threads) -> Exception:
        launch, thread = machine.launch, int(lanes.numbers[0])
        spinning = lanes.n + sum(s.n for sets in machine.pending.values() for s in sets)
        facts: dict[str, Any] = {"threads": _count(spinning, "thread"), "others": self._others(machine, spinning)}
        if self.back[thread]:
            facts["threads"] += f" in a loop that ends in PTX line {self.back[thread]}"
        if self.last[thread] < 0:
            return launch.located("WF732", block.items[0].ins, machine, thread, **facts)
        ins, facts["read"] = self._read(machine, thread)
        later = launch.stats.ctas - machine.first - machine.count
        if later:
            facts |= {"later": later, "ctas": launch.stats.ctas, "resident": machine.count}
        return launch.located("WF731" if later else "WF730", ins, machine, thread, **facts)

    def _read(self, machine: Machine, thread: int) -> tuple[Instruction, str]:
        """The last memory access of a thread: its instruction, and its array, index and value in words."""
        touch = self.touches[self.last[thread]]
        at, size = int(np.searchsorted(touch.threads, thread)), touch.access.size
        address = int(touch.addresses[at if touch.addresses.size > 1 else 0]) + touch.access.offset
        home, value = _value(touch, at)
        if home is not None:
            name, start = repr(home.name) if home.name else f"allocation {home.address:#x}", home.address
        else:
            address &= (1 << RANK_SHIFT) - 1
            near = machine.launch.program.flat.shared.nearest(address)
            name, start = (f"shared {near[0].name!r}", near[1]) if near else ("shared memory", 0)
        got = f"{value:#x}" if isinstance(value, np.unsignedinteger) else value.tobytes().hex()
        return touch.access.ins, f"{name}[{(address - start) // size}] of {_count(size, 'byte')}, which is {got}"

    def _others(self, machine: Machine, spinning: int) -> str:
        """Where the threads are that could have changed the value, in words."""
        total = machine.count * machine.launch.threads
        waiting = machine.living - spinning
        parts = [(total - machine.living, "have ended"), (waiting, "wait at barriers or for lanes of their warp")]
        found = [f"{n} {what}" for n, what in parts if n]
        return f"of the other threads {' and '.join(found)}" if found else "there is no other thread"


def _value(touch: Touch, at: int) -> tuple[Allocation | None, Any]:
    """The allocation (None for shared memory) and the current value that thread ``at`` of an access reads."""
    for view, index, where, home in touch.pieces:
        inside = np.flatnonzero(np.arange(touch.threads.size)[where] == at)
        if inside.size:
            return home, view[index[inside[0] if index.size > 1 else 0]]
    raise AssertionError(at)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" + "s" * (n != 1)
