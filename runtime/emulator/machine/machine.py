"""The machine that runs one batch of CTAs: registers, shared and local memory, and the loop that runs blocks.

Every thread stands at a block. The schedule of the launch chooses the block that runs next, and which of the threads
that stand there run it. Warp-wide instructions and barriers hold threads back until those they wait for have come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....compiler.lazy import lazy
from ..ptx.regions import align_up
from ..ptx.types import Array, Imm, Reg
from .address_map import POISON
from .barriers import Barriers, ClusterBarrier
from .block_compiler import constant, function_of
from .copy_engine import finish
from .loops import loop_of
from .program import EXIT, Block, Program
from .registers import Registers, special_register
from .spin_detector import SpinDetector
from .threads import WARP, Threads, union

if TYPE_CHECKING:
    from .launch import Launch

_BITS = np.uint32(1) << np.arange(WARP, dtype=np.uint32)


class Machine:
    """Runs ``count`` CTAs of a launch, after ``first`` others; ``order`` holds their positions in cluster order."""

    def __init__(self, launch: Launch, first: int, count: int) -> None:
        self.launch, self.first, self.count = launch, first, count
        self.order = launch.schedule.order(launch, first, count)
        self.program: Program = launch.program
        self.per_cta = align_up(launch.threads, WARP)
        self.total = count * self.per_cta
        real = np.arange(self.total) % self.per_cta < launch.threads
        self.start = Threads(None if real.all() else np.flatnonzero(real), self.total, self.per_cta)
        self.alive = real
        self.living = self.start.n
        self.registers = Registers(self)
        self.read, self.put = self.registers.read, self.registers.put
        self.pending: dict[int, list[Threads]] = {0: [self.start]}
        self.waiting: dict[int, list[Threads]] = {}
        self.barriers = Barriers(self)
        self.cluster = ClusterBarrier(self)
        self.views: dict[Any, Array] = {}
        self.spin = SpinDetector(self)

    @lazy
    def shared(self) -> Array:
        """Shared memory of all CTAs of the batch, one row after another, as bytes."""
        return _poisoned(self.count * self.launch.shared_stride)

    @lazy
    def local(self) -> Array:
        """Local memory of all threads of the batch, one row after another, as bytes."""
        return _poisoned(self.total * self.launch.local_stride)

    def view(self, space: str, dtype: np.dtype[Any]) -> Array:
        """Shared or local memory as an array of ``dtype``."""
        found = self.views.get((space, dtype))
        if found is None:
            found = self.views[space, dtype] = (self.shared if space == "shared" else self.local).view(dtype)
        return found

    def special(self, lanes: Threads, name: str) -> Array:
        """A special register's value for ``lanes``."""
        return self.read(lanes, self.program.special(name))

    def special_by_number(self, index: int) -> Array | None:
        """The values, for all threads, of the special register with number ``index``; None if it is an ordinary one."""
        for name, number in self.program.specials.items():
            if number == index:
                return special_register(self, name)
        return None

    def ticks(self) -> int:
        """The number of steps that the launch has taken, which is what clocks read."""
        self.spin.changed()
        return self.launch.stats.steps

    def run(self) -> None:
        """Runs until every thread has exited."""
        blocks, stats, schedule = self.program.blocks, self.launch.stats, self.launch.schedule
        if not blocks:
            return
        if self.launch.tool is not None:
            self.launch.tool.batch(self)
        while self.pending or self._stuck():
            number, lanes = schedule.next(self)
            block = blocks[number]
            if block.items[0].op.member is not None:
                gathered = self._gathered(block, lanes)
                if gathered is None:
                    continue
                lanes = gathered
            loop = loop_of(self.program, block)
            if loop is not None and stats.steps + len(loop.blocks) <= (until := schedule.until(self, loop)):
                self.registers.enter(lanes)
                self._advance(lanes, *loop.run(self, lanes, until))
                continue
            if stats.steps >= self.spin.due:
                self.spin.turn()
            self._step(block, lanes)
        self.spin.end()
        finish(self)
        if self.launch.store_buffer is not None:
            self.launch.store_buffer.drain(self)

    def _step(self, block: Block, lanes: Threads) -> None:
        stats, tool = self.launch.stats, self.launch.tool
        stats.steps += 1
        if stats.steps > self.launch.max_steps:
            raise self._budget(block, lanes)
        stats.instructions += len(block.items) * lanes.n
        self.registers.enter(lanes)
        if tool is not None:
            tool.step(self, block, lanes)
            if block.items[0].op.member is not None:
                tool.gathered(self, block, lanes)
        self._advance(lanes, block, function_of(self.program, block)(self, lanes))

    def go(self, number: int, lanes: Threads) -> None:
        """Sends threads to block ``number``."""
        if number == EXIT:
            self._exit(lanes)
        else:
            self.pending.setdefault(number, []).append(lanes)

    def _advance(self, lanes: Threads, block: Block, result: Any) -> None:
        end = block.end
        if end == "branch" and self.launch.tool is not None:
            self.launch.tool.branch(self, block, lanes, result)
        if end in ("", "branch", "exit", "trap"):
            taken = block.targets[0] if end == "branch" else EXIT
            self._fork(block, lanes, result, block.next if end == "" else taken)
        elif end == "table":
            self._table(block, lanes, result[0])
        elif end in ("barrier", "arrive"):
            self.barriers.arrive(block, lanes, result)
        else:
            self.cluster.reach(block, lanes)

    def _fork(self, block: Block, lanes: Threads, mask: Array | None, taken: int) -> None:
        """Sends the threads whose flag is set to block ``taken``, the others to the next block."""
        if mask is not None:
            hits = int(np.count_nonzero(mask)) if mask.size > 1 else int(mask[0]) * lanes.n
            if hits == 0:
                self.go(block.next, lanes)
                return
            if hits < lanes.n:
                self.go(block.next, lanes.select(~mask))
                lanes = lanes.select(mask)
        if block.end == "trap":
            code, facts = block.last.op.fault
            raise self.launch.located(code, block.last.ins, self, int(lanes.numbers[0]), **facts)
        self.go(taken, lanes)

    def _table(self, block: Block, lanes: Threads, index: Array) -> None:
        index = np.broadcast_to(index, (lanes.n,))
        count = len(block.targets)
        if int(index.max()) >= count:
            at = int(np.argmax(index >= count))
            facts = {"index": int(index[at]), "count": count}
            raise self.launch.located("WF719", block.last.ins, self, int(lanes.numbers[at]), **facts)
        for value in np.unique(index):
            self.go(block.targets[int(value)], lanes.select(index == value))

    def _exit(self, lanes: Threads) -> None:
        if self.launch.tool is not None:
            self.launch.tool.exit(self, lanes)
        self.alive[lanes.numbers] = False
        self.living -= lanes.n
        for number, sets in self.waiting.items():  # threads that waited for an exited lane can go on
            self.pending.setdefault(number, []).extend(sets)
        self.waiting = {}
        self.barriers.exited()
        self.cluster.exited()

    def _gathered(self, block: Block, lanes: Threads) -> Threads | None:
        """The threads at a warp-wide instruction all of whose membermask is there; the others wait."""
        lanes = union([lanes, *self.waiting.pop(block.number, [])], self.start)
        member = block.items[0].op.member
        if lanes.index is None or (lanes.whole and isinstance(member, Imm)):
            return lanes
        missing = self._missing(block, lanes)
        ready = missing == 0
        if ready.all():
            return lanes
        if not ready.any():
            self.waiting[block.number] = [lanes]
            return None
        self.waiting[block.number] = [lanes.select(~ready)]
        return lanes.select(ready)

    def _missing(self, block: Block, lanes: Threads) -> Array:
        """For each thread, as bits, the living lanes of its membermask that are not there."""
        member = block.items[0].op.member
        if isinstance(member, Reg):
            self.registers.enter(lanes)
            mask = self.read(lanes, member.index)
        else:
            assert isinstance(member, Imm)
            mask = constant(member, "b32")
        present = (lanes.present * _BITS).sum(axis=1, dtype=np.uint32)
        alive = (self.alive.reshape(-1, WARP)[lanes.warps] * _BITS).sum(axis=1, dtype=np.uint32)
        rows: Array = (alive & ~present)[lanes.row]
        return rows & mask

    def _stuck(self) -> bool:
        """Raises if threads wait for others that never come. It is called when no thread can run; returns False."""
        for number, sets in self.waiting.items():
            block = self.program.blocks[number]
            lanes = union(sets, self.start)
            missing = np.broadcast_to(self._missing(block, lanes), (lanes.n,))
            at = int(np.argmax(missing != 0))
            absent = ", ".join(str(k) for k in range(WARP) if int(missing[at]) >> k & 1)
            raise self.launch.located("WF715", block.items[0].ins, self, int(lanes.numbers[at]), absent=absent)
        self.barriers.explain_deadlock()
        self.cluster.explain_deadlock()
        return False

    def _budget(self, block: Block, lanes: Threads) -> Exception:
        facts = {"budget": self.launch.max_steps, "active": lanes.n}
        ins = block.items[0].ins
        return self.launch.located("WF716", ins, self, int(lanes.numbers[0]), **facts)


def _poisoned(size: int) -> Array:
    """``size`` bytes of poison, aligned for every access width."""
    return np.full(align_up(size, 32) // 8, int.from_bytes(bytes([POISON] * 8), "little"), np.uint64).view(np.uint8)
