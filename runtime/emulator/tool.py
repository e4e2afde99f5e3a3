"""What watches a launch: the seam between the machine and the instruments (sanitizer, profiler).

A ``Tool`` gets one call for each thing that a set of threads does. Its methods do nothing; an instrument overrides
those it needs. Without a tool the machine only asks, once an event, whether there is one.
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
    """One memory instruction of some threads, its addresses resolved, before it takes place.

    Attributes:
        access: the instruction, what it does (``verb``: read, written or updated), bytes a thread; the space is
            concrete, never generic.
        lanes: the threads that run; ``chosen`` are the positions among them that take part (None: all).
        addresses: int64, one for each thread that takes part, or one element for all of them; the byte address in the
            space is ``addresses + access.offset``.
        pieces: where that lies.
        values: what a store writes, in the access's unit: one for each thread that takes part, or one for all of them.
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
        """The numbers of the threads that take part, within the batch, ascending."""
        return self.lanes.numbers if self.chosen is None else self.lanes.numbers[self.chosen]


class Tool:
    """An instrument. Numbers of threads and CTAs are those of the batch: ``machine.order`` says which CTAs they are."""

    def launch(self, launch: Launch) -> None:
        """A launch begins."""

    def batch(self, machine: Machine) -> None:
        """A batch of CTAs begins."""

    def step(self, machine: Machine, block: Block, lanes: Threads) -> None:
        """``lanes`` run ``block`` next."""

    def touch(self, touch: Touch) -> None:
        """Threads are about to read or write memory."""

    def ordered(self, order: Array | slice) -> None:
        """The updates of a piece of the last ``atom`` or ``red`` told of take place in this order, piece by piece."""

    def issue(self, touch: Touch) -> None:
        """Threads ask for copies that may write from now on; ``touch`` comes when they arrive."""

    def fence(self, machine: Machine, ins: Instruction, lanes: Threads, mask: Array | None) -> None:
        """Threads pass a fence; ``mask`` says which of ``lanes`` (None: all)."""

    def branch(self, machine: Machine, block: Block, lanes: Threads, mask: Array | None) -> None:
        """Threads branch: those where ``mask`` is true jump (None: all)."""

    def gathered(self, machine: Machine, block: Block, lanes: Threads) -> None:
        """The threads that a warp-wide instruction (the first of ``block``) waited for are there."""

    def shuffle(self, machine: Machine, ins: Instruction, lanes: Threads, source: Array, inside: Array) -> None:
        """A shuffle reads: the source lane of each lane and whether it is in range; shapes broadcast to (warps, 32)."""

    def arrive(self, machine: Machine, block: Block, lanes: Threads, number: int) -> None:
        """Threads arrive at CTA barrier ``number``."""

    def release(self, machine: Machine, number: int, ctas: Array, sets: list[tuple[Threads, Block]]) -> None:
        """CTA barrier ``number`` is complete in ``ctas``; ``sets`` waited and go on."""

    def cluster_arrive(self, machine: Machine, block: Block, lanes: Threads) -> None:
        """Threads arrive at the barrier of their cluster."""

    def cluster_release(self, machine: Machine, block: Block, lanes: Threads) -> None:
        """Threads that waited for the barrier of their cluster go on."""

    def exit(self, machine: Machine, lanes: Threads) -> None:
        """Threads end."""

    def finish(self, launch: Launch) -> None:
        """All threads of the launch have ended."""


_EVENTS = tuple(name for name in vars(Tool) if not name.startswith("_"))


def in_turn(first: Tool, second: Tool) -> Tool:
    """A tool that passes every event to ``first``, then to ``second``."""
    made = Tool()
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
