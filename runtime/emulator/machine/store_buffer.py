"""Late stores: what a CTA writes to global memory without a fence reaches the other CTAs when it likes.

A tool that takes each weak store back after its step and keeps it until the CTA fences or releases (at a scope wider
than itself), touches the same bytes again, or the kernel ends; or until chance lets it go. The PTX memory model orders
weak stores of one CTA for another only by such a release, so a kernel that is right cannot tell. Nothing is late within
a CTA, or in shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ....compiler.lazy import lazy
from ..ptx.types import Array, Instruction
from ..tool import Tool, Touch, numbers
from .address_resolution import Piece

if TYPE_CHECKING:
    from .machine import Machine
    from .memory import Allocation
    from .program import Block
    from .threads import Threads

_STRONG = {"relaxed", "release", "volatile", "mmio", "async"}
_MOST = 64


@dataclass(eq=False)
class _Stored:
    """What a step stored: ``view[index]`` of the allocation ``home`` shall be ``values``, written by ``ctas``."""

    home: Allocation
    view: Array
    index: Array
    values: Array
    ctas: Array

    def part(self, mask: Array) -> _Stored:
        return _Stored(self.home, self.view, self.index[mask], self.values[mask], self.ctas[mask])

    @lazy
    def span(self) -> tuple[int, int]:
        """The memory from its first to its last element."""
        return _span(self.view, self.index)


def _span(view: Array, index: Array) -> tuple[int, int]:
    """The memory between the first and the last element meant."""
    start: int = view.__array_interface__["data"][0]
    return start + int(index.min()) * view.itemsize, start + (int(index.max()) + 1) * view.itemsize


class StoreBuffer(Tool):
    """The stores that other CTAs do not see yet.

    ``kept`` are those, ``fresh`` the stores of the step that runs, with the values that were there before; ``odds`` is
    the chance, step by step, that some of those kept go.
    """

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self.odds = float(random.choice([1.0, 1 / 8, 1 / 64]))
        self.kept: list[_Stored] = []
        self.fresh: list[_Stored] = []

    def step(self, machine: Machine, _block: Block, _lanes: Threads) -> None:
        """Takes back what the last step stored; now and then lets stores go."""
        self._take_back()
        if self.kept and self.random.random() < self.odds:
            self.drain(machine, self.random.random(machine.count) < 0.5)

    def touch(self, touch: Touch) -> None:
        """Before a CTA touches what it stored, or releases, its stores go; a weak store is noted.

        A generic store comes here once a state space it meets, and only then takes place: nothing is taken back yet.
        """
        machine, own = touch.machine, touch.lanes.ctas if touch.chosen is None else touch.lanes.ctas[touch.chosen]
        if self.kept:
            met = self.kept if _releases(touch.access.ins) else self._met(touch.pieces)
            self._go(met, _flags(machine, own))
        if touch.access.verb != "written" or touch.access.ins.opcode != "st" or _STRONG & set(touch.access.ins.mods):
            return
        for piece in touch.pieces:
            if piece.home is not None:
                ctas = own[piece.where]
                index = np.broadcast_to(piece.index, ctas.shape)
                self.fresh.append(_Stored(piece.home, piece.view, index, piece.view[index], ctas))

    def fence(self, machine: Machine, ins: Instruction, lanes: Threads, mask: Array | None) -> None:
        """What the CTA stored goes, by its other threads as well: a barrier may have put that before the fence."""
        if "cta" not in ins.mods:
            self.drain(machine, _flags(machine, numbers(lanes, mask) // lanes.per_cta))

    def cluster_arrive(self, machine: Machine, _block: Block, lanes: Threads) -> None:
        """Arriving at the barrier of the cluster releases."""
        self.drain(machine, _flags(machine, lanes.ctas))

    def drain(self, machine: Machine, ctas: Array | None = None) -> bool:
        """Lets the stores of ``ctas`` (flags; None: all) reach memory, and says whether there were any."""
        self._take_back()
        return self._go(self.kept, np.ones(machine.count, bool) if ctas is None else ctas)

    def _met(self, pieces: Sequence[Piece]) -> list[_Stored]:
        """The stores whose bytes ``pieces`` may touch."""
        spans = [(piece.home, *_span(piece.view, piece.index)) for piece in pieces if piece.home is not None]
        return [
            stored
            for stored in self.kept
            if any(h is stored.home and first < stored.span[1] and stored.span[0] < last for h, first, last in spans)
        ]

    def _take_back(self) -> None:
        for stored in self.fresh:
            new = stored.view[stored.index]
            stored.view[stored.index] = stored.values
            stored.values = new
        self.kept += self.fresh
        self.fresh = []
        while len(self.kept) > _MOST:
            oldest = self.kept.pop(0)
            oldest.view[oldest.index] = oldest.values

    def _go(self, some: Sequence[_Stored], ctas: Array) -> bool:
        went, kept = False, []
        for stored in self.kept:
            going = ctas[stored.ctas] if stored in some else np.zeros(1, bool)
            if not going.any():
                kept.append(stored)
                continue
            went = True
            gone = stored.part(going)
            gone.view[gone.index] = gone.values
            if not going.all():
                kept.append(stored.part(~going))
        self.kept = kept
        return went


def _flags(machine: Machine, ctas: Array) -> Array:
    found = np.zeros(machine.count, bool)
    found[ctas] = True
    return found


def _releases(ins: Instruction) -> bool:
    """Whether an access orders what came before it for other CTAs; what an mbarrier does may."""
    mods = set(ins.mods)
    return ins.opcode == "mbarrier" or (bool(mods & {"release", "acq_rel"}) and "cta" not in mods)
