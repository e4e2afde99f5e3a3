"""Global memory: allocations far apart in one 64-bit address space, so that a stray address hits none.

A store buffer for CTAs: other CTAs see a store to global memory without a fence only some time later.

It is a tool that takes back each weak store after its step. It keeps the store until the CTA fences or releases (at a
scope wider than itself), touches the same bytes again, or the kernel ends; or until it lets it go by chance. The PTX
memory model orders weak stores of a CTA for other CTAs only by such a release, so a correct kernel cannot see the
difference. Stores are never late within their CTA, or in shared memory.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ....compiler.errors import error
from ....compiler.lazy import lazy
from ..ptx.demangle import demangle
from ..ptx.regions import align_up
from ..ptx.types import Array, Instruction
from ..tool import Tool, Touch, numbers
from .address_map import GLOBAL_FIRST, GLOBAL_LAST, POISON
from .address_resolution import Piece

if TYPE_CHECKING:
    from .machine import Machine
    from .program import Block
    from .threads import Threads


_GUARD = 1 << 28
_PAGE = 256


@dataclass(eq=False)
class Allocation:
    """``size`` bytes at ``address``, up to ``end``; ``buffer`` holds them.

    ``initialised`` says whether all bytes have a value.
    """

    address: int
    size: int
    buffer: Array
    read_only: bool
    name: str
    constant: bool = False
    initialised: bool = True
    views: dict[np.dtype[Any], tuple[Array, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.end = self.address + self.size

    def typed(self, dtype: np.dtype[Any]) -> tuple[Array, int]:
        """The allocation as an array of ``dtype``, and the address of its first element (a multiple of the size)."""
        found = self.views.get(dtype)
        if found is None:
            skip = -self.address % dtype.itemsize
            count = max(self.size - skip, 0) // dtype.itemsize
            found = (self.buffer[skip : skip + count * dtype.itemsize].view(dtype), self.address + skip)
            self.views[dtype] = found
        return found


class Memory:
    """One flat address space. Guard bands of 256 MiB lie between allocations; address 0 is never mapped."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._allocations: list[Allocation] = []
        self._next = GLOBAL_FIRST
        self._last: Allocation | None = None  # the allocation found last, which is likely the next one, too
        self.modules: WeakKeyDictionary[object, dict[Any, Allocation]] = WeakKeyDictionary()

    def allocate(self, nbytes: int, align: int = 256, *, name: str = "", initialised: bool = False) -> int:
        """The address of ``nbytes`` new bytes, filled with 0xCD so that reading them by mistake shows.

        ``initialised`` tells tools that the caller writes the bytes before a launch.
        """
        align = max(align, 1)
        raw = np.full(nbytes + max(align, _PAGE), POISON, np.uint8)
        buffer = raw[-raw.ctypes.data % max(align, _PAGE) :][:nbytes]
        made = self._insert(buffer, max(align, _PAGE), 0, False, name)
        made.initialised = initialised
        return made.address

    def bind(self, buffer: Array, *, read_only: bool = False, name: str = "", initialised: bool = True) -> int:
        """The address of ``buffer`` (1-D uint8, C-contiguous), used in place; congruent to its pointer modulo 256."""
        if buffer.dtype != np.uint8 or buffer.ndim != 1 or not buffer.flags.c_contiguous:
            raise error("WF718", problem=f"expected a contiguous 1-D uint8 array, got {buffer.ndim}-D {buffer.dtype}")
        read_only = read_only or not buffer.flags.writeable
        made = self._insert(buffer, _PAGE, buffer.ctypes.data % _PAGE, read_only, name)
        made.initialised = initialised
        return made.address

    def free(self, address: int) -> None:
        """Forgets the allocation that starts at ``address``."""
        at = bisect_right(self._starts, address) - 1
        if at < 0 or self._starts[at] != address:
            raise error("WF718", problem=f"expected the address of an allocation, got {address:#x}")
        del self._starts[at], self._allocations[at]
        self._last = None
        self._next = align_up(self._allocations[-1].end + _GUARD, _PAGE) if self._allocations else GLOBAL_FIRST

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        """All allocations by their addresses."""
        return tuple(self._allocations)

    def view(self, address: int, nbytes: int) -> Array:
        """The bytes ``address`` to ``address + nbytes`` of one allocation, as a uint8 view."""
        found = self.find(address)
        if found is None or address + nbytes > found.end:
            raise error("WF718", problem=f"expected {nbytes} bytes inside one allocation, got {self.describe(address)}")
        return found.buffer[address - found.address : address - found.address + nbytes]

    def find(self, address: int) -> Allocation | None:
        """The allocation that holds ``address``."""
        found = self._last
        if found is not None and found.address <= address < found.end:
            return found
        at = bisect_right(self._starts, address) - 1
        if at < 0 or address >= self._allocations[at].end:
            return None
        self._last = self._allocations[at]
        return self._last

    def element(self, address: int, dtype: np.dtype[Any]) -> Array | None:
        """A copy of the element at ``address``; None if it is not aligned or not inside an allocation."""
        found = self.find(address)
        if found is None:
            return None
        view, first = found.typed(dtype)
        at, rest = divmod(address - first, dtype.itemsize)
        return None if rest or not 0 <= at < view.size else view[at : at + 1].copy()

    def nearest(self, address: int) -> Allocation | None:
        """The allocation that holds ``address``, or the nearest one; None without allocations."""
        at = bisect_right(self._starts, address)

        def distance(found: Allocation) -> int:
            return max(found.address - address, address - found.end + 1, 0)

        return min(self._allocations[max(at - 1, 0) : at + 1], key=distance, default=None)

    def describe(self, address: int) -> str:
        """The position of ``address`` relative to the nearest allocation, in words."""
        best = self.nearest(address)
        if best is None:
            return f"{address:#x}, and there is no allocation"
        label = f"{best.name!r} " if best.name else ""
        what = f"allocation {label}of {best.size} bytes at {best.address:#x}"
        if address < best.address:
            return f"{address:#x}, {best.address - address} bytes before the {what}"
        if address >= best.end:
            return f"{address:#x}, {address - best.end} bytes past the end of the {what}"
        return f"{address:#x}, {address - best.address} bytes into the {what}"

    def place(self, variable: Any, data: Array, align: int, constant: bool) -> Allocation:
        """Allocates a module-level variable."""
        found = self._insert(data, max(align, _PAGE), 0, constant, demangle(variable.name))
        found.constant = constant
        return found

    def _insert(self, buffer: Array, align: int, residue: int, read_only: bool, name: str) -> Allocation:
        address = align_up(self._next, align) + residue
        if address + buffer.nbytes > GLOBAL_LAST:
            address = self._gap(buffer.nbytes, align, residue)
        made = Allocation(address, buffer.nbytes, buffer, read_only, name)
        at = bisect_right(self._starts, address)
        self._starts.insert(at, address)
        self._allocations.insert(at, made)
        self._next = max(self._next, align_up(made.end + _GUARD, _PAGE))
        return made

    def _gap(self, nbytes: int, align: int, residue: int) -> int:
        """The address of the first gap that is large enough, once the address space has been used up."""
        at = align_up(GLOBAL_FIRST, align) + residue
        for allocation in self._allocations:
            if at + nbytes + _GUARD <= allocation.address:
                break
            at = align_up(allocation.end + _GUARD, align) + residue
        if at + nbytes > GLOBAL_LAST:
            raise error("WF718", problem=f"expected room for {nbytes} bytes, got a full address space")
        return at


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
