"""The sanitizer as a tool: passes each event of a launch to the checkers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....compiler.errors import WarpfoldError
from ..machine.launch import Argument, launch, parse
from ..ptx.module import Module
from ..tool import Tool, Touch, numbers
from .barrier_divergence import BarrierDivergence, Membermasks
from .copy_races import BulkCopies, CopyRaces
from .findings import Finding, Findings, Symbolizer
from .happens_before import HappensBefore
from .initialised_bytes import InitialisedBytes
from .launch_errors import of_error
from .memory_model import level_of
from .neighbours import Neighbours
from .races import Races

if TYPE_CHECKING:
    from ..machine.launch import Launch
    from ..machine.machine import Machine
    from ..machine.memory import Memory
    from ..machine.program import Block
    from ..machine.threads import Threads
    from ..ptx.types import Array, Instruction


class Sanitizer(Tool):
    """A tool for any number of launches, one after another; ``findings`` holds the faults of all of them.

    ``launches``, ``threads`` and ``accesses`` count what was checked. An access is a memory access of one thread.
    """

    def __init__(self) -> None:
        self.findings = Findings()
        self.launches = self.threads = self.accesses = 0

    def launch(self, launch: Launch) -> None:
        """Begins a launch, with new checkers: everything before it is ordered."""
        self.launches += 1
        self.threads += launch.stats.threads
        self.symbols = Symbolizer(launch)
        self.order = HappensBefore(launch)
        self.initialised = InitialisedBytes(self.findings, self.symbols)
        self.races = Races(self.findings, self.symbols, self.order)
        self.warps = Membermasks(self.findings, self.symbols, self.order)
        self.barriers = BarrierDivergence(self.findings, self.symbols)
        self.copies = CopyRaces(self.findings, self.symbols)
        self.bulk = BulkCopies(self.findings, self.symbols)
        self.neighbours = Neighbours(self.findings, self.symbols, launch)

    def batch(self, machine: Machine) -> None:
        """Begins a batch: its shared and local memory is unwritten, and its threads know nothing of each other."""
        self.symbols.batch(machine)
        for part in (self.order, self.initialised, self.races, self.barriers, self.copies, self.bulk):
            part.batch(machine)

    def touch(self, touch: Touch) -> None:
        """Checks an access for uninitialised memory, races and copies under way."""
        n = touch.lanes.n if touch.chosen is None else touch.chosen.size
        self.accesses += n
        if touch.access.space in ("param", "const") or not n:
            return
        for piece in touch.pieces:
            home = piece.home
            if home is not None and (home.read_only or home.constant) and home.initialised:
                continue
            if home is None:
                self.neighbours.touch(touch, piece)
            met = self.copies.touch(touch, piece) | self.bulk.touch(touch, piece)
            if met and touch.access.verb == "read":
                continue
            self.initialised.touch(touch, piece)
            if touch.access.space != "local":
                self.races.touch(touch, piece)
        if touch.access.space != "local" and touch.access.verb != "read":
            self.barriers.wrote(touch)

    def ordered(self, order: Array | slice) -> None:
        """Tells the order in which threads update a location at once."""
        self.races.ordered(order)

    def issue(self, touch: Touch, source: Touch | None) -> None:
        """Notes an asynchronous copy, and checks it for races."""
        for piece in touch.pieces:
            self.copies.issue(touch, piece)
            self.races.issue(touch, piece)
        self.bulk.issue(touch, source)

    def freed(self, source: Touch) -> None:
        """Notes that a bulk copy has read its source."""
        self.bulk.freed(source)
        for piece in source.pieces:
            self.races.freed(source, piece)

    def step(self, machine: Machine, block: Block, lanes: Threads) -> None:  # noqa: ARG002
        """Tells the checker of barriers which block threads run."""
        self.barriers.step(block, lanes)

    def fence(self, machine: Machine, ins: Instruction, lanes: Threads, mask: Array | None) -> None:  # noqa: ARG002
        """Makes what threads know releasable, and acquires what they have read."""
        threads = numbers(lanes, mask)
        if threads.size:
            self.order.memory.fence(threads, level_of(ins.mods, 1 if ins.mods[:1] == ("proxy",) else 3))
            self.order.proxies.fence(ins, threads)

    def gathered(self, machine: Machine, block: Block, lanes: Threads) -> None:
        """Checks the membermask of a warp-wide instruction."""
        self.warps.gathered(machine, block, lanes)

    def shuffle(self, machine: Machine, ins: Instruction, lanes: Threads, source: Array, inside: Array) -> None:  # noqa: ARG002
        """Checks the lanes from which a shuffle reads."""
        self.warps.shuffle(ins, lanes, source, inside)

    def arrive(self, machine: Machine, block: Block, lanes: Threads, number: int) -> None:
        """Notes threads that arrive at a barrier of their CTA."""
        self.barriers.arrive(machine, block, lanes, number)
        self.order.barriers.arrive(block, lanes, number)

    def release(self, machine: Machine, number: int, ctas: Array, sets: list[tuple[Threads, Block]]) -> None:
        """Checks a complete barrier for divergence, and orders the threads that met there."""
        self.barriers.release(machine, number, ctas)
        self.order.barriers.release(number, ctas, sets)

    def cluster_arrive(self, machine: Machine, block: Block, lanes: Threads) -> None:
        """Notes threads that arrive at the barrier of their cluster."""
        self.barriers.cluster_arrive(machine, block, lanes)
        self.order.barriers.cluster_arrive(block, lanes)

    def cluster_release(self, machine: Machine, block: Block, lanes: Threads) -> None:  # noqa: ARG002
        """Checks the barrier of a cluster for divergence, and orders the threads that met there."""
        self.barriers.cluster_release(machine, lanes)
        self.order.barriers.cluster_release(lanes)

    def exit(self, machine: Machine, lanes: Threads) -> None:
        """Notes threads that exit; the shared memory of a CTA ends with its last thread."""
        self.barriers.exit(lanes)
        self.bulk.exit(lanes)
        self.order.barriers.exit(lanes)
        if machine.launch.cluster_size > 1:
            self.races.lifetime.exit(lanes)


def sanitize(
    module: Module | str,
    entry: str,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    args: Sequence[Argument],
    memory: Memory,
    *,
    shared_bytes: int = 0,
    cluster: tuple[int, int, int] | None = None,
    max_steps: int | None = None,
    seed: int | None = None,
) -> list[Finding]:
    """Launches kernel ``entry`` as ``launch`` does, and returns its faults; an empty list if none were found.

    ``module`` may be PTX text. The sanitizer remembers from launch to launch which bytes of ``memory`` are initialised.
    A fault after which the kernel cannot go on (an address outside all arrays, a deadlock) ends the launch. Races are
    reported for each pair of lines; ``grouped`` joins those that one barrier would order.

    Raises:
        WarpfoldError: the text or the request is wrong (WF701 to WF709, WF718, WF733).
    """
    tool = Sanitizer()
    module = parse(module) if isinstance(module, str) else module
    try:
        launch(
            module, entry, grid, block, args, memory,
            shared_bytes=shared_bytes, cluster=cluster, max_steps=max_steps, tool=tool, seed=seed,
        )  # fmt: skip
    except WarpfoldError as e:
        of_error(tool.findings, e, memory)
    return list(tool.findings)
