"""Records a launch instruction by instruction: which threads run it, what they touch, and what registers hold then.

Every thread's accesses to global memory are kept, as far as ``ACCESSES`` reaches; all else is kept of some warps,
``chosen``, and of the first ``STEPS`` instructions that one of them runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from . import traffic
from .instructions.op import broadcast
from .machine.address_map import RANK_SHIFT
from .machine.threads import WARP, Threads
from .ptx.types import Array, Instruction, Reg
from .tool import Tool, Touch, numbers

if TYPE_CHECKING:
    from .machine.launch import Launch
    from .machine.machine import Machine
    from .machine.program import Block, Program

WARPS = 8
"""The most warps of which everything is kept."""
FEW = 4
"""The most warps of one CTA among them, where there are several CTAs."""
STEPS = 4096
"""The most instructions that are kept."""
ACCESSES = 1 << 18
"""The most accesses of single threads to global memory that are kept."""
_IN_CTA = (1 << RANK_SHIFT) - 1
_BIT = np.uint64(1) << np.arange(WARP, dtype=np.uint64)
Masks = dict[int, int]
"""By the number of a chosen warp, its lanes as bits."""


@dataclass(frozen=True)
class Place:
    """A warp of which everything is kept: the position of its CTA in cluster order, and its number in the CTA."""

    cta: int
    warp: int


@dataclass(frozen=True)
class Access:
    """One access of a chosen warp.

    Attributes:
        where: the allocation in global memory, or the space.
        verb: read, written or updated.
        size: bytes of a lane.
        lanes: the lanes that take part, ascending, and ``addresses`` theirs, from the begin of the allocation or space.
        taken, ideal: the sectors of global memory, or the wavefronts of shared memory, and the fewest for the bytes.
    """

    where: str
    verb: str
    size: int
    lanes: Array
    addresses: Array
    taken: int
    ideal: int


@dataclass
class Moment:
    """One instruction that some chosen warps run together.

    Attributes:
        line: its PTX line.
        threads: how many threads run it, of all warps.
        lanes: those of chosen warps that run it; a thread whose guard is false does not.
        written: by register and chosen warp, what its 32 lanes hold afterwards, as unsigned words.
        accesses: by chosen warp.
        sources: for a shuffle, by chosen warp, the lane that each lane reads.
        taken: for a branch, the lanes that jump.
        arrived, released, exited: lanes that come to a barrier, go on after one, and end.
    """

    line: int
    threads: int
    lanes: Masks
    written: dict[int, dict[int, Array]] = field(default_factory=dict)
    accesses: dict[int, list[Access]] = field(default_factory=dict)
    sources: dict[int, Array] = field(default_factory=dict)
    taken: Masks = field(default_factory=dict)
    arrived: Masks = field(default_factory=dict)
    released: Masks = field(default_factory=dict)
    exited: Masks = field(default_factory=dict)


@dataclass(frozen=True)
class Touched:
    """An access of many threads to one allocation of global memory.

    Attributes:
        step: the number of the moment, or of the next one where no chosen warp takes part.
        line: its PTX line.
        where, verb, size: as of ``Access``.
        threads: numbers in the grid, CTA by CTA in cluster order, each CTA with whole warps.
        addresses: bytes from the begin of the allocation.
    """

    step: int
    line: int
    where: str
    verb: str
    size: int
    threads: Array
    addresses: Array


@dataclass
class Recording:
    """What is kept of a launch.

    Attributes:
        program: the kernel, one instruction a block.
        per_cta: the threads of a CTA, with those that fill its last warp.
        places: the chosen warps, by number.
        arrays: name, address and bytes of each allocation in global memory.
        moments: what they do.
        touched: what all threads do in global memory.
        steps: all instructions that a chosen warp runs, of which ``moments`` are the first.
        beyond: accesses of single threads that are not kept.
    """

    program: Program
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int]
    per_cta: int
    places: list[Place]
    arrays: list[tuple[str, int, int]]
    moments: list[Moment] = field(default_factory=list)
    touched: list[Touched] = field(default_factory=list)
    steps: int = 0
    beyond: int = 0


def chosen(ctas: int, warps: int) -> list[Place]:
    """The warps of which everything is kept: of the first CTA, of the last, which often finishes, then of others."""
    each = min(warps, WARPS if ctas == 1 else FEW)
    order = [0, *([ctas - 1] if ctas > 1 else []), *range(1, min(ctas - 1, WARPS))]
    return [Place(cta, warp) for cta in sorted(order[: WARPS // each]) for warp in range(each)]


class Recorder(Tool):
    """The tool; ``recordings`` holds one for each launch, in order."""

    single = True

    def __init__(self) -> None:
        self.recordings: list[Recording] = []
        self._kept = 0
        self._now: Moment | None = None
        self._ran: tuple[Machine, Block, Threads] | None = None
        self._rows: dict[int, int] = {}

    def launch(self, launch: Launch) -> None:
        per_cta = launch.threads + -launch.threads % WARP
        places = chosen(launch.stats.ctas, per_cta // WARP)
        shape = launch.grid, launch.block, launch.cluster
        arrays = [(a.name, a.address, a.size) for a in launch.memory.allocations]
        self.recordings.append(Recording(launch.program, *shape, per_cta, places, arrays))
        self._kept = 0

    def batch(self, machine: Machine) -> None:
        each = machine.per_cta // WARP
        at = {int(cta): k for k, cta in enumerate(machine.order)}
        self._rows = {at[p.cta] * each + p.warp: k for k, p in enumerate(self.recordings[-1].places) if p.cta in at}
        self._now = self._ran = None

    def step(self, machine: Machine, block: Block, lanes: Threads) -> None:
        self._keep_registers()
        own, ins = self.recordings[-1], block.items[0].ins
        mask = None
        guard = block.items[0].guard
        if guard is not None and block.end != "branch":
            held = machine.registers.of(lanes.numbers, guard.index)
            mask = None if held is None else held != block.items[0].negated
        masks = self._masks(lanes, mask)
        present = masks if mask is None else self._masks(lanes, None)
        self._now = Moment(ins.line, lanes.n, masks)
        self._ran = machine, block, lanes
        if not present:
            return
        own.steps += 1
        if len(own.moments) < STEPS:
            own.moments.append(self._now)

    def touch(self, touch: Touch) -> None:
        now, access = self._now, touch.access
        if now is None or access.space not in ("global", "shared", "local") or not touch.threads.size:
            return
        found = broadcast(touch.addresses + access.offset, touch.threads.size)
        for where, chosen_, base in _homes(touch):
            at = found[chosen_] - base if access.space != "shared" else found & _IN_CTA
            threads = touch.threads[chosen_]
            if access.space == "global":
                self._keep(touch, now, where, threads, at)
            self._accesses(touch, now, where, threads, at)

    def shuffle(self, machine: Machine, ins: Instruction, lanes: Threads, source: Array, inside: Array) -> None:  # noqa: ARG002
        rows = np.broadcast_to(np.where(inside, source, np.arange(WARP)), (lanes.warps.size, WARP))
        for k, warp in self._here(lanes):
            self._moment.sources[warp] = rows[k]

    def branch(self, machine: Machine, block: Block, lanes: Threads, mask: Array | None) -> None:  # noqa: ARG002
        if mask is not None:
            self._moment.taken = self._masks(lanes, mask)

    def arrive(self, machine: Machine, block: Block, lanes: Threads, number: int) -> None:  # noqa: ARG002
        _join(self._moment.arrived, self._masks(lanes, None))

    def release(self, machine: Machine, number: int, ctas: Array, sets: list[tuple[Threads, Block]]) -> None:  # noqa: ARG002
        for lanes, _ in sets:
            _join(self._moment.released, self._masks(lanes, None))

    def cluster_arrive(self, machine: Machine, block: Block, lanes: Threads) -> None:  # noqa: ARG002
        _join(self._moment.arrived, self._masks(lanes, None))

    def cluster_release(self, machine: Machine, block: Block, lanes: Threads) -> None:  # noqa: ARG002
        _join(self._moment.released, self._masks(lanes, None))

    def exit(self, machine: Machine, lanes: Threads) -> None:  # noqa: ARG002
        _join(self._moment.exited, self._masks(lanes, None))

    @property
    def _moment(self) -> Moment:
        assert self._now is not None
        return self._now

    def _here(self, lanes: Threads) -> Iterator[tuple[int, int]]:
        """The rows of the chosen warps in the warp view of ``lanes``, and their numbers."""
        for k, row in enumerate(lanes.warps.tolist()):
            if row in self._rows:
                yield k, self._rows[row]

    def _masks(self, lanes: Threads, mask: Array | None) -> Masks:
        """The lanes of chosen warps among those of ``lanes`` whose ``mask`` is true (None: all)."""
        found = Masks()
        threads = numbers(lanes, mask)
        for row, warp in self._rows.items():
            low, high = np.searchsorted(threads, (row * WARP, (row + 1) * WARP))
            if high > low:
                found[warp] = int(_BIT[threads[low:high] % WARP].sum())
        return found

    def _keep_registers(self) -> None:
        """Keeps what the instruction that ran last has written, in threads that run on."""
        if self._ran is None or self._now is None or not self._now.lanes:
            return
        machine, block, _ = self._ran
        rows = {warp: row for row, warp in self._rows.items()}
        for reg in _written(block):
            for warp in self._now.lanes:
                held = machine.registers.of(np.arange(rows[warp] * WARP, (rows[warp] + 1) * WARP), reg.index)
                if held is not None:
                    self._now.written.setdefault(reg.index, {})[warp] = held

    def _keep(self, touch: Touch, now: Moment, where: str, threads: Array, at: Array) -> None:
        """Keeps an access of all threads."""
        own = self.recordings[-1]
        if self._kept + threads.size > ACCESSES:
            own.beyond += threads.size
            return
        self._kept += threads.size
        order = touch.machine.order[threads // own.per_cta]
        step = max(0, len(own.moments) - (bool(own.moments) and own.moments[-1] is now))
        numbered = order * own.per_cta + threads % own.per_cta
        own.touched.append(Touched(step, now.line, where, touch.access.verb, touch.access.size, numbered, at))

    def _accesses(self, touch: Touch, now: Moment, where: str, threads: Array, at: Array) -> None:
        """Keeps an access of each chosen warp, with its cost."""
        access = touch.access
        for row, warp in self._rows.items():
            low, high = np.searchsorted(threads, (row * WARP, (row + 1) * WARP))
            if low == high:
                continue
            own, addresses = threads[low:high], at[low:high]
            taken, ideal = _cost(access.space, access.verb, access.size, own, addresses)
            made = Access(where, access.verb, access.size, own % WARP, addresses, taken, ideal)
            now.accesses.setdefault(warp, []).append(made)


def _homes(touch: Touch) -> Iterator[tuple[str, Array | slice, int]]:
    """For each allocation that is touched its name, the positions of the threads that do, and its address."""
    if touch.access.space != "global":
        yield touch.access.space, slice(None), 0
        return
    for piece in touch.pieces:
        if piece.home is not None:
            yield piece.home.name, piece.where, piece.home.address


def _cost(space: str, verb: str, size: int, threads: Array, addresses: Array) -> tuple[int, int]:
    """Sectors, or wavefronts of shared memory, of one warp's access, and the fewest."""
    if space == "shared":
        waves = traffic.wavefronts(addresses, threads, size, verb)
        return waves.wavefronts, waves.ideal
    if space == "local":
        words = traffic.interleaved(addresses, threads % WARP, size)
        addresses, size = words.T.reshape(-1), traffic.WORD
        threads = np.repeat(threads, len(words))
    found = traffic.sectors(addresses, threads >> 5, size, verb == "updated")
    return found.sectors, found.ideal


def _written(block: Block) -> Iterator[Reg]:
    """The registers that an instruction writes."""
    for item in block.items:
        yield from (dest for dest, _ in item.op.writes if isinstance(dest, Reg))


def _join(masks: Masks, more: Masks) -> None:
    for warp, lanes in more.items():
        masks[warp] = masks.get(warp, 0) | lanes
