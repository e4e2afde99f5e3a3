"""Tools that watch a launch: the interface between the machine and its instruments, such as sanitizer and profiler.

The machine calls a method of the ``Tool`` for each event of a set of threads. The methods of the base class do nothing;
an instrument overrides those it needs. Without a tool the machine only checks, once an event, whether there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...compiler.lazy import lazy
from .machine.threads import Threads
from .ptx.types import Array, Instruction

if TYPE_CHECKING:
    from .machine.address_resolution import Access, Piece
    from .machine.launch import Launch
    from .machine.machine import Machine
    from .machine.program import Block


@dataclass(frozen=True, eq=False)
class Touch:
    """One memory instruction of some threads with resolved addresses, before it takes effect.

    Attributes:
        access: the instruction, its ``verb`` (read, written or updated) and its bytes a thread. Its space is concrete,
            never generic.
        lanes: the threads that run the instruction.
        chosen: the positions among ``lanes`` of the threads that take part (None: all).
        addresses: int64, one for each thread that takes part, or one element for all of them; the byte address in the
            space is ``addresses + access.offset``.
        pieces: the memory elements at these addresses.
        values: the values that a store writes, in the access's unit: one for each thread that takes part, or one for
            all.
    """

    machine: Machine
    access: Access
    lanes: Threads
    chosen: Array | None
    addresses: Array
    pieces: list[Piece]
    values: Array | None = None

    @lazy
    def threads(self) -> Array:
        """The numbers in the batch of the threads that take part, ascending."""
        return self.lanes.numbers if self.chosen is None else self.lanes.numbers[self.chosen]


class Tool:
    """An instrument. Threads and CTAs are given by their numbers in the batch; ``machine.order`` holds its CTAs.

    With ``single`` each instruction is a block: ``step`` is called for each, with all registers as they are then.
    """

    single = False

    def launch(self, launch: Launch) -> None:
        """A launch begins."""

    def batch(self, machine: Machine) -> None:
        """A batch of CTAs begins."""

    def step(self, machine: Machine, block: Block, lanes: Threads) -> None:
        """``lanes`` run ``block`` next."""

    def touch(self, touch: Touch) -> None:
        """Threads are about to read or write memory."""

    def ordered(self, order: Array | slice) -> None:
        """The updates of the last ``atom`` or ``red`` take effect in this order; called once for each of its pieces."""

    def issue(self, touch: Touch, source: Touch | None) -> None:
        """Threads start asynchronous copies, which may write from now on; ``touch`` is called when they arrive.

        ``source`` is what bulk copies read, from now until ``freed`` is called.
        """

    def freed(self, source: Touch) -> None:
        """Bulk copies have read their source."""

    def fence(self, machine: Machine, ins: Instruction, lanes: Threads, mask: Array | None) -> None:
        """Those of ``lanes`` whose ``mask`` is true (None: all) pass a fence."""

    def branch(self, machine: Machine, block: Block, lanes: Threads, mask: Array | None) -> None:
        """Threads branch; those whose ``mask`` is true jump (None: all)."""

    def gathered(self, machine: Machine, block: Block, lanes: Threads) -> None:
        """All threads for which a warp-wide instruction, the first of ``block``, waited have come."""

    def shuffle(self, machine: Machine, ins: Instruction, lanes: Threads, source: Array, inside: Array) -> None:
        """A shuffle reads from lane ``source``, if it is ``inside`` the range; shapes broadcast to (warps, 32)."""

    def arrive(self, machine: Machine, block: Block, lanes: Threads, number: int) -> None:
        """Threads arrive at CTA barrier ``number``."""

    def release(self, machine: Machine, number: int, ctas: Array, sets: list[tuple[Threads, Block]]) -> None:
        """CTA barrier ``number`` is complete in ``ctas``; the threads in ``sets`` waited for it and go on."""

    def cluster_arrive(self, machine: Machine, block: Block, lanes: Threads) -> None:
        """Threads arrive at the barrier of their cluster."""

    def cluster_release(self, machine: Machine, block: Block, lanes: Threads) -> None:
        """Threads that waited for the barrier of their cluster go on."""

    def exit(self, machine: Machine, lanes: Threads) -> None:
        """Threads exit."""

    def finish(self, launch: Launch) -> None:
        """All threads of the launch have exited."""


_EVENTS = tuple(name for name, value in vars(Tool).items() if callable(value) and not name.startswith("_"))


def in_turn(first: Tool, second: Tool) -> Tool:
    """A tool that passes every event to ``first``, then to ``second``."""
    made = Tool()
    made.single = first.single or second.single
    for name in _EVENTS:
        setattr(made, name, _one_after_another(getattr(first, name), getattr(second, name)))
    return made


def _one_after_another(first: Callable[..., None], second: Callable[..., None]) -> Callable[..., None]:
    def event(*facts: object) -> None:
        first(*facts)
        second(*facts)

    return event


def numbers(lanes: Threads, mask: Array | None) -> Array:
    """The thread numbers of ``lanes`` where ``mask`` is true."""
    return lanes.numbers if mask is None else lanes.numbers[np.broadcast_to(mask, (lanes.n,))]
