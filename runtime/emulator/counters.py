"""What a kernel did, as Nsight Compute counts it: the profile of a launch.

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
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from ...compiler.errors import Location
from . import traffic

if TYPE_CHECKING:
    pass


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


def add_traffic(memory: dict[str, Traffic], what: str, more: Traffic) -> None:
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
            add_traffic(out.memory, what, found)
        for name, own in one.arrays.items():
            for what, found in own.items():
                add_traffic(out.arrays.setdefault(name, {}), what, found)
        for what, banks in one.shared.items():
            out.shared.setdefault(what, Banks()).add(banks.requests, banks.wavefronts, banks.ideal)
    return out
