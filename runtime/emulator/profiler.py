"""Counts what a kernel does, as Nsight Compute would: ``profile`` runs a kernel once, ``Profiler`` watches launches.

The counters, and Nsight Compute's names for them (Kernel Profiling Guide, metrics decoder; ``ncu --query-metrics``):

    warp_instructions           smsp__inst_executed.sum
    thread_instructions         smsp__thread_inst_executed.sum: active threads, whatever their predicate says
    branches, divergent         smsp__sass_branch_targets.sum, smsp__sass_branch_targets_threads_divergent.sum
    branch_efficiency           smsp__sass_average_branch_targets_threads_uniform.pct: branches where all active threads
                                of the warp go the same way
    requests, sectors           l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum, l1tex__t_sectors_pipe_lsu_...
    used                        smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct
    wavefronts, conflicts       l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum, l1tex__data_bank_conflicts_...

PTX instructions stand for SASS instructions. ``ptxas`` merges address arithmetic, unrolls loops and turns short
branches into predicates, so the counts of instructions and branches differ. Requests, sectors and wavefronts agree
unless ``ptxas`` moves or merges accesses. Distributed shared memory counts as shared memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.errors import Location
from . import traffic
from .instructions.op import broadcast
from .machine.address_map import RANK_SHIFT
from .machine.program import EXIT
from .machine.threads import WARP, Threads
from .ptx.types import Array, Instruction, is_float
from .tool import Tool, Touch

if TYPE_CHECKING:
    from .machine.launch import Argument, Launch
    from .machine.machine import Machine
    from .machine.memory import Memory
    from .machine.program import Block, Program
    from .ptx.module import Module

_VERBS = {"read": "load", "written": "store", "updated": "atomic"}
_CLASSES = {
    "mov": "move", "cvta": "move", "mapa": "move", "cvt": "convert", "bra": "control", "brx": "control",
    "ret": "control", "exit": "control", "trap": "control", "bar": "barrier", "barrier": "barrier", "shfl": "shuffle",
    "vote": "vote", "match": "vote", "redux": "vote", "elect": "vote", "activemask": "vote", "atom": "atomic",
    "red": "atomic", "fence": "fence", "membar": "fence", "mma": "tensor", "ldmatrix": "tensor", "stmatrix": "tensor",
}  # fmt: skip
CLASSES = ("integer", "float", "convert", "move", "load", "store", "atomic", "shuffle", "vote", "barrier", "fence",
           "control", "tensor", "other")  # fmt: skip
_IN_CTA = (1 << RANK_SHIFT) - 1
_OTHER = ("prefetch", "prefetchu", "discard", "applypriority", "nop", "nanosleep", "griddepcontrol", "mbarrier", "cp")


@dataclass
class Traffic:
    """Requests of warps to global or local memory; ``ideal`` is the fewest sectors that hold their bytes."""

    requests: int = 0
    sectors: int = 0
    nbytes: int = 0
    ideal: int = 0

    def add(self, requests: int, sectors: int, nbytes: int, ideal: int) -> None:
        """Counts more of them."""
        self.requests += requests
        self.sectors += sectors
        self.nbytes += nbytes
        self.ideal += ideal

    @property
    def sectors_per_request(self) -> float:
        """Sectors a request; 0 without requests."""
        return self.sectors / self.requests if self.requests else 0.0

    @property
    def used(self) -> float:
        """The fraction of the sectors' bytes that was asked for; 1 without sectors."""
        return self.nbytes / (traffic.SECTOR * self.sectors) if self.sectors else 1.0


@dataclass
class Banks:
    """Requests of warps to shared memory; ``ideal`` is the fewest wavefronts for their lanes."""

    requests: int = 0
    wavefronts: int = 0
    ideal: int = 0

    def add(self, requests: int, wavefronts: int, ideal: int) -> None:
        """Counts more of them."""
        self.requests += requests
        self.wavefronts += wavefronts
        self.ideal += ideal

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond the fewest."""
        return self.wavefronts - self.ideal


@dataclass
class Line:
    """The counters of one PTX line; ``text`` is its instruction, ``source`` the source line from which it comes."""

    text: str
    source: Location | None = None
    warp_instructions: int = 0
    thread_instructions: int = 0
    branches: int = 0
    divergent: int = 0
    sectors: int = 0
    ideal_sectors: int = 0
    conflicts: int = 0


@dataclass
class Profile:
    """The counters of one launch, or of several (``total``).

    Attributes:
        kernel, grid, block: the launch.
        warp_instructions, thread_instructions: by class, one of ``CLASSES``; ``loads`` and ``stores`` by space.
        branches, divergent: branches taken by warps, and those whose active threads did not all go the same way.
        ballots: the votes that give a word of the warp's truth values (``vote.ballot``), once for each warp.
        memory: ``global load``, ``global store``, ``global atomic``, ``local load``, ``local store``.
        arrays: the requests to global memory of ``memory``, for each allocation by its name.
        shared: ``load``, ``store``, ``atomic``.
        lines: by PTX line.
    """

    kernel: str = ""
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)
    warp_instructions: Counter[str] = field(default_factory=Counter)
    thread_instructions: Counter[str] = field(default_factory=Counter)
    accesses: Counter[str] = field(default_factory=Counter)
    branches: int = 0
    divergent: int = 0
    ballots: int = 0
    memory: dict[str, Traffic] = field(default_factory=dict)
    arrays: dict[str, dict[str, Traffic]] = field(default_factory=dict)
    shared: dict[str, Banks] = field(default_factory=dict)
    lines: dict[int, Line] = field(default_factory=dict)

    @property
    def instructions(self) -> int:
        """Warp instructions of all classes."""
        return self.warp_instructions.total()

    @property
    def lanes_active(self) -> float:
        """Active threads of a warp instruction, on average, of 32."""
        return self.thread_instructions.total() / max(self.instructions, 1)

    @property
    def branch_efficiency(self) -> float:
        """The fraction of branches at which all active threads of the warp go the same way; 1 without branches."""
        return 1 - self.divergent / self.branches if self.branches else 1.0

    @property
    def bank_conflicts(self) -> int:
        """The bank conflicts of loads, stores and atomics."""
        return sum(b.conflicts for b in self.shared.values())

    def traffic(self, what: str) -> Traffic:
        """The requests called ``what``, such as ``global load``."""
        return self.memory.get(what, Traffic())

    def banks(self, what: str) -> Banks:
        """The shared memory's requests called ``what``: ``load``, ``store`` or ``atomic``."""
        return self.shared.get(what, Banks())

    def to_dict(self) -> dict[str, Any]:
        """All counters as plain values, with the derived fractions."""
        found: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        found |= {name: dict(v) for name, v in found.items() if isinstance(v, Counter)}
        found["lines"] = {number: asdict(line) for number, line in self.lines.items()}
        found["memory"] = _plain(self.memory)
        found["arrays"] = {name: _plain(own) for name, own in self.arrays.items()}
        found["shared"] = {what: asdict(one) | {"conflicts": one.conflicts} for what, one in self.shared.items()}
        derived = {"instructions": self.instructions, "lanes_active": self.lanes_active}
        return found | derived | {"branch_efficiency": self.branch_efficiency, "bank_conflicts": self.bank_conflicts}


def _plain(memory: dict[str, Traffic]) -> dict[str, Any]:
    """Requests as plain values, with the derived fractions."""
    return {
        what: asdict(one) | {"sectors_per_request": one.sectors_per_request, "used": one.used}
        for what, one in memory.items()
    }


def _add(memory: dict[str, Traffic], what: str, more: Traffic) -> None:
    """Adds requests to those called ``what``."""
    memory.setdefault(what, Traffic()).add(more.requests, more.sectors, more.nbytes, more.ideal)


def total(profiles: Iterable[Profile]) -> Profile:
    """The sum of the launches, without lines: they belong to one PTX text."""
    out = Profile()
    for one in profiles:
        out.kernel = ", ".join(filter(None, (out.kernel, one.kernel)))
        out.warp_instructions += one.warp_instructions
        out.thread_instructions += one.thread_instructions
        out.accesses += one.accesses
        out.branches += one.branches
        out.divergent += one.divergent
        out.ballots += one.ballots
        for what, found in one.memory.items():
            _add(out.memory, what, found)
        for name, own in one.arrays.items():
            for what, found in own.items():
                _add(out.arrays.setdefault(name, {}), what, found)
        for what, banks in one.shared.items():
            out.shared.setdefault(what, Banks()).add(banks.requests, banks.wavefronts, banks.ideal)
    return out


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
            _add(made.memory, what, found)
            if array:
                _add(made.arrays.setdefault(array, {}), what, found)
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
                    made.accesses[f"{kind} {_space(ins)}"] += warps
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


def class_of(ins: Instruction) -> str:
    """The class of an instruction, by its opcode or, for arithmetic, by its type."""
    if ins.opcode in _OTHER:
        return "other"
    found = _CLASSES.get(ins.opcode)
    if found:
        return found
    if ins.opcode in ("ld", "ldu", "st"):
        return "store" if ins.opcode == "st" else "load"
    if ins.opcode in ("wgmma", "tcgen05", "wmma"):
        return "tensor"
    return "float" if any(is_float(m) for m in ins.mods) else "integer"


def _space(ins: Instruction) -> str:
    """The state space that a load or store names."""
    named = [m.partition("::")[0] for m in ins.mods]
    return next((s for s in ("global", "shared", "local", "param", "const") if s in named), "generic")


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
