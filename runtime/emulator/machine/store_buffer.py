"""A store buffer for CTAs: other CTAs see a store to global memory without a fence only some time later.

It is a tool that takes back each weak store after its step. It keeps the store until the CTA fences or releases (at a
scope wider than itself), touches the same bytes again, or the kernel ends; or until it lets it go by chance. The PTX
memory model orders weak stores of a CTA for other CTAs only by such a release, so a correct kernel cannot see the
difference. Stores are never late within their CTA, or in shared memory.
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
    """Stores of a step: ``ctas`` write ``values`` to ``view[index]`` of the allocation ``home``."""

    home: Allocation
    view: Array
    index: Array
    values: Array
    ctas: Array

    def part(self, mask: Array) -> _Stored:
        return _Stored(self.home, self.view, self.index[mask], self.values[mask], self.ctas[mask])

    @lazy
    def span(self) -> tuple[int, int]:
        """The addresses of the first element and the end of the last one."""
        return _span(self.view, self.index)


def _span(view: Array, index: Array) -> tuple[int, int]:
    """The addresses of the first element of ``view[index]`` and of the end of the last one."""
    start: int = view.__array_interface__["data"][0]
    return start + int(index.min()) * view.itemsize, start + (int(index.max()) + 1) * view.itemsize


class StoreBuffer(Tool):
    """The stores that other CTAs do not see yet.

    Attributes:
        kept: these stores, the oldest first.
        fresh: the stores of the current step, with the values that were there before.
        odds: the chance, at each step, that some of the kept stores become visible.
    """

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self.odds = float(random.choice([1.0, 1 / 8, 1 / 64]))
        self.kept: list[_Stored] = []
        self.fresh: list[_Stored] = []

    def step(self, machine: Machine, _block: Block, _lanes: Threads) -> None:
        """Takes back the stores of the last step, and makes kept stores visible now and then."""
        self._take_back()
        if self.kept and self.random.random() < self.odds:
            self.drain(machine, self.random.random(machine.count) < 0.5)

    def touch(self, touch: Touch) -> None:
        """Makes the stores of a CTA visible before it touches their bytes or releases, and notes weak stores.

        A generic store comes here once for each state space, before it takes effect: nothing is taken back yet.
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
        """Makes the stores of the CTA visible, those of other threads too: a barrier may have ordered them."""
        if "cta" not in ins.mods:
            self.drain(machine, _flags(machine, numbers(lanes, mask) // lanes.per_cta))

    def cluster_arrive(self, machine: Machine, _block: Block, lanes: Threads) -> None:
        """Makes the stores of the CTA visible: arriving at the barrier of the cluster releases."""
        self.drain(machine, _flags(machine, lanes.ctas))

    def drain(self, machine: Machine, ctas: Array | None = None) -> bool:
        """Writes the stores of ``ctas`` (flags; None: all) to memory, and returns whether there were any."""
        self._take_back()
        return self._go(self.kept, np.ones(machine.count, bool) if ctas is None else ctas)

    def _met(self, pieces: Sequence[Piece]) -> list[_Stored]:
        """The kept stores whose bytes ``pieces`` may touch."""
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
    """Whether an access may release at a scope wider than the CTA; operations on an mbarrier may."""
    mods = set(ins.mods)
    return ins.opcode == "mbarrier" or (bool(mods & {"release", "acq_rel"}) and "cta" not in mods)
