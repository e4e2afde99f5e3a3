"""Counts what a kernel does: ``profile`` runs a kernel once, ``Profiler`` watches launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from . import traffic
from .instructions.op import broadcast
from .machine.address_map import RANK_SHIFT
from .machine.program import EXIT
from .machine.threads import WARP, Threads
from .ptx.types import Array, Instruction
from .tool import Tool, Touch

if TYPE_CHECKING:
    from .machine.launch import Argument, Launch
    from .machine.machine import Machine
    from .machine.memory import Memory
    from .machine.program import Block, Program
    from .ptx.module import Module

from .counters import Banks, Line, Profile, Traffic, add_traffic
from .instruction_classes import class_of, space_of

_VERBS = {"read": "load", "written": "store", "updated": "atomic"}
_IN_CTA = (1 << RANK_SHIFT) - 1


class Profiler(Tool):
    """A tool that counts; ``profiles`` holds a profile for each launch, in order."""

    def __init__(self) -> None:
        self.profiles: list[Profile] = []
        self._ran: dict[Block, list[int]] = {}
        self._branched: dict[Block, list[int]] = {}
        self._memory: dict[tuple[int, str, str], tuple[Instruction, Traffic]] = {}
        self._shared: dict[tuple[int, str], tuple[Instruction, str, Banks]] = {}

    def launch(self, launch: Launch) -> None:  # noqa: ARG002
        """Begins a launch with all counters at zero."""
        self._ran, self._branched, self._memory, self._shared = {}, {}, {}, {}

    def step(self, machine: Machine, block: Block, lanes: Threads) -> None:  # noqa: ARG002
        """Counts the warps and threads that run the block; ``finish`` multiplies them with its instructions."""
        counts = self._ran.get(block)
        if counts is None:
            counts = self._ran[block] = [0, 0]
        counts[0] += lanes.warps.size
        counts[1] += lanes.n

    def branch(self, machine: Machine, block: Block, lanes: Threads, mask: Array | None) -> None:  # noqa: ARG002
        """Counts branches of warps, and those whose threads go both ways."""
        if mask is None:
            return  # a jump that nobody chooses is no branch target of Nsight Compute's either
        counts = self._branched.get(block)
        if counts is None:
            counts = self._branched[block] = [0, 0]
        counts[0] += lanes.warps.size
        if mask.size == 1:
            return
        hits = np.count_nonzero(mask)
        if 0 < hits < mask.size:
            jump = lanes.rows(mask)
            every = jump.all(axis=1) if lanes.whole else (jump | ~lanes.present).all(axis=1)
            counts[1] += int(np.count_nonzero(jump.any(axis=1) & ~every))

    def touch(self, touch: Touch) -> None:
        """Counts requests, sectors, bytes and wavefronts."""
        access, space = touch.access, touch.access.space
        if access.verb == "updated" and access.ins.opcode in ("cp", "st"):
            return  # bytes that arrive at an mbarrier: no request of a warp
        if space == "shared":
            self._bank(touch)
        elif space in ("global", "local"):
            what = f"{space} {_VERBS[access.verb]}"
            key = id(access.ins), what, _array(touch)
            if key not in self._memory:
                self._memory[key] = access.ins, Traffic()
            counted = self._memory[key][1]
            n = touch.lanes.n if touch.chosen is None else touch.chosen.size
            if n == 1 and space == "global":
                counted.add(1, 1, access.size, 1)
            elif n:
                self._sectors(touch, space, counted)

    def _sectors(self, touch: Touch, space: str, counted: Traffic) -> None:
        access, threads = touch.access, touch.threads
        addresses = broadcast(touch.addresses + access.offset, threads.size)
        atomic = access.verb == "updated"
        if space == "global" and not atomic and _whole(touch):
            rows = traffic.in_rows(addresses, access.size)
            if rows is not None:
                counted.add(threads.size // WARP, *rows)
                return
        warps = threads >> 5
        requests = int(np.count_nonzero(warps[1:] != warps[:-1])) + 1
        if space == "global":
            counted.add(requests, *traffic.sectors(addresses, warps, access.size, atomic))
            return
        words = traffic.interleaved(addresses, threads & 31, access.size)
        warps = np.repeat(warps, len(words))
        found = traffic.sectors(words.T.reshape(-1), warps, traffic.WORD, False)
        counted.add(requests, found.sectors, threads.size * access.size, found.ideal)

    def _bank(self, touch: Touch) -> None:
        access, threads = touch.access, touch.threads
        if not threads.size:
            return
        verb = _VERBS[access.verb]
        key = id(access.ins), verb
        if key not in self._shared:
            self._shared[key] = access.ins, verb, Banks()
        counted = self._shared[key][2]
        addresses = broadcast((touch.addresses + access.offset) & _IN_CTA, threads.size)
        threads, addresses, times = _alike(threads, addresses, touch.machine.per_cta)
        requests = int(np.count_nonzero((threads[1:] >> 5) != (threads[:-1] >> 5))) + 1
        waves = traffic.wavefronts(addresses, threads, access.size, access.verb)
        counted.add(times * requests, times * waves.wavefronts, times * waves.ideal)

    def finish(self, launch: Launch) -> None:
        """Sums the counters of a launch to its profile."""
        made = Profile(launch.program.kernel.name, launch.grid, launch.block)
        self._instructions(launch.program, made)
        for block, (branches, divergent) in self._branched.items():
            if not _is_branch(launch.program, block):
                continue
            made.branches += branches
            made.divergent += divergent
            line = _line(made, block.last.ins)
            line.branches, line.divergent = line.branches + branches, line.divergent + divergent
        for (_, what, array), (ins, found) in self._memory.items():
            add_traffic(made.memory, what, found)
            if array:
                add_traffic(made.arrays.setdefault(array, {}), what, found)
            line = _line(made, ins)
            line.sectors, line.ideal_sectors = line.sectors + found.sectors, line.ideal_sectors + found.ideal
        for ins, verb, banks in self._shared.values():
            made.shared.setdefault(verb, Banks()).add(banks.requests, banks.wavefronts, banks.ideal)
            _line(made, ins).conflicts += banks.conflicts
        for number, line in made.lines.items():
            line.source = launch.program.module.source.origins.at(number)
        self.profiles.append(made)

    def _instructions(self, program: Program, made: Profile) -> None:
        last: Instruction | None = None
        for block in program.blocks:
            warps, threads = self._ran.get(block, (0, 0))
            for item in block.items:
                ins, previous, last = item.ins, last, item.ins
                if ins is previous or not warps:
                    continue  # one instruction of several steps
                kind = class_of(ins)
                made.warp_instructions[kind] += warps
                made.thread_instructions[kind] += threads
                made.ballots += warps * (kind == "vote" and "ballot" in ins.mods)
                if kind in ("load", "store"):
                    made.accesses[f"{kind} {space_of(ins)}"] += warps
                line = _line(made, ins)
                line.warp_instructions += warps
                line.thread_instructions += threads


def _array(touch: Touch) -> str:
    """The allocation in global memory that some threads access; empty for other memory, and for several of them."""
    names = {piece.home.name for piece in touch.pieces if piece.home is not None}
    return names.pop() if len(names) == 1 else ""


def _whole(touch: Touch) -> bool:
    """Whether all 32 lanes of each warp take part."""
    if touch.chosen is None:
        return touch.lanes.whole
    threads = touch.threads
    return threads.size % WARP == 0 and bool((threads[::WARP] >> 5 == threads[WARP - 1 :: WARP] >> 5).all())


def _is_branch(program: Program, block: Block) -> bool:
    """Whether the branch at the end of ``block`` is a branch in SASS, too.

    ``ptxas`` turns a branch to a ``ret`` into a guarded EXIT. The jump by which this machine goes around a guarded
    barrier or shuffle is no branch there.
    """
    if block.last.ins.opcode != "bra" or block.targets[0] == EXIT:
        return False
    goal = program.blocks[block.targets[0]].items[0]
    return goal.op.end != "exit" or goal.guard is not None


def _alike(threads: Array, addresses: Array, per_cta: int) -> tuple[Array, Array, int]:
    """The threads and addresses of the first CTA and the number of CTAs, if all CTAs do the same; else all, and 1."""
    ctas = int(threads[-1]) // per_cta - int(threads[0]) // per_cta + 1
    each, rest = divmod(threads.size, ctas)
    if ctas == 1 or rest:
        return threads, addresses, 1
    first = threads[:each], addresses[:each]
    same = (addresses.reshape(ctas, each) == first[1]).all()
    within = threads.reshape(ctas, each) - np.arange(ctas)[:, None] * per_cta
    return (*first, ctas) if same and (within == first[0]).all() else (threads, addresses, 1)


def _line(made: Profile, ins: Instruction) -> Line:
    return made.lines.setdefault(ins.line, Line(ins.text))


def profile(
    module: Module,
    entry: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    args: Sequence[Argument],
    memory: Memory,
    *,
    shared_bytes: int = 0,
    cluster: tuple[int, int, int] | None = None,
    max_steps: int | None = None,
) -> Profile:
    """Runs kernel ``entry`` of ``module`` to its end, as ``launch`` does, and returns its counters.

    Raises:
        EmulatorError: whatever ``launch`` raises.
    """
    from .machine.launch import launch

    tool = Profiler()
    own = {"shared_bytes": shared_bytes, "cluster": cluster, "max_steps": max_steps, "tool": tool}
    launch(module, entry, grid, block, args, memory, **own)  # type: ignore[arg-type]
    return tool.profiles[0]
