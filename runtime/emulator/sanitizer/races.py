"""Races: two threads access the same byte, at least one of them writes, and nothing orders the two accesses."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from .access_history import AccessHistory, Event, event_of, stamp, thread_of, time_of
from .cures import Cures
from .dataflow import decides
from .findings import Findings, Symbolizer
from .happens_before import HappensBefore
from .memory_model import ATOMIC, GPU, VOLATILE, Strength, is_bulk, is_copy, strength, verb_of
from .shared_lifetime import SharedLifetime

if TYPE_CHECKING:
    from ..machine.address_resolution import Piece
    from ..machine.machine import Machine
    from ..machine.memory import Allocation
    from ..ptx.types import Array, Instruction
    from ..tool import Touch


class Races:
    """The access histories of the batch's shared memory and of each allocation that the launch writes.

    Attributes:
        cells: the history of each allocation; ``shared`` is the one of shared memory.
        deferred: the reads of allocations that nobody has written so far.
        told: the instruction and the strength of each event, by its time.
        updates: atomics whose order is not told yet.
    """

    def __init__(self, findings: Findings, symbols: Symbolizer, order: HappensBefore) -> None:
        self.findings, self.symbols, self.order = findings, symbols, order
        self.told: dict[int, tuple[Instruction, Strength]] = {}
        self.cells: WeakKeyDictionary[Allocation, AccessHistory] = WeakKeyDictionary()
        self.deferred: WeakKeyDictionary[Allocation, list[tuple[Touch, Piece, int, Array]]] = WeakKeyDictionary()

    def batch(self, machine: Machine) -> None:
        """Begins a batch, whose shared memory nobody has touched."""
        self.machine = machine
        self.shared: AccessHistory | None = None
        self.updates: deque[tuple[tuple[str, int], Array, Array, Event]] = deque()
        self.lifetime = SharedLifetime(self.findings, self.symbols, self.order, machine)
        self.has_fences = any(i.ins.opcode in ("fence", "membar") for b in machine.program.blocks for i in b.items)
        self.cures = Cures(self.symbols, self.order, machine)

    def touch(self, touch: Touch, piece: Piece) -> None:
        """Compares an access with those before it, and records it."""
        time, home, ins = self.order.times.tick(), piece.home, touch.access.ins
        verb = verb_of(touch.access)
        strong = strength(ins, verb)
        self.told[time] = ins, strong
        threads = touch.threads if isinstance(piece.where, slice) else touch.threads[piece.where]
        if self.has_fences:
            self.order.memory.touches(threads)
        if home is not None and home not in self.cells:
            if verb == "read":
                self.deferred.setdefault(home, []).append((touch, piece, time, self.symbols.numbers(threads)))
                return
            self._begin(home)
        event = self._event(touch, piece, threads, self.symbols.numbers(threads), time)
        if home is None:
            self.order.times.exited.touches(threads, time)
        self._look(event, self.cells_of(home, touch.access.size))
        if verb == "read" and is_bulk(ins):
            self._by_proxy(event, self.cells_of(home, touch.access.size))
        key = ("shared", 0) if home is None else ("global", home.address)
        if strong.level or (verb != "read" and key in self.order.memory.homes):
            index = np.broadcast_to(piece.index, threads.shape) * touch.access.size
            if ins.opcode in ("atom", "red"):
                self.updates.append((key, threads, index, event))
            else:
                self.order.memory.synchronise(*key, threads, index, strong, verb)
        if home is None and self.machine.launch.cluster_size > 1:
            self.lifetime.touch(event, self.cells_of(home, touch.access.size).size)

    def ordered(self, order: Array | slice) -> None:
        """Takes the order of the oldest atomics in ``updates``: the last one wrote the value that others will find."""
        if not self.updates:
            return
        key, threads, index, event = self.updates.popleft()
        if not isinstance(order, slice):
            at = (order[:, None] * event.wide + np.arange(event.wide)).reshape(-1)
            cells = self.cells_of(event.home, event.access.size)
            cells.write[event.cells[at]] = stamp(event.time, event.numbers)[at]
        self.order.memory.synchronise(*key, threads[order], index[order], event.strong, "updated")

    def issue(self, touch: Touch, piece: Piece) -> None:
        """Compares an asynchronous copy, which may write from now on, with the accesses before it."""
        home, ins, time = piece.home, touch.access.ins, self.order.times.tick()
        if home is not None and home not in self.cells:
            return
        self.told[time] = ins, strength(ins, "written")
        threads = touch.threads[piece.where]
        event = self._event(touch, piece, threads, self.symbols.numbers(threads), time)
        self._compare_all(event, self.cells_of(home, touch.access.size))
        if is_bulk(ins):
            self._by_proxy(event, self.cells_of(home, touch.access.size))
        if home is None and self.machine.launch.cluster_size > 1:
            self.lifetime.touch(event, self.cells_of(home, touch.access.size).size)

    def freed(self, source: Touch, piece: Piece) -> None:
        """Notes that a bulk copy has read its source only now."""
        if piece.home is not None and piece.home not in self.cells:
            return
        time, threads = self.order.times.tick(), source.threads[piece.where]
        self.told[time] = source.access.ins, strength(source.access.ins, "read")
        event = self._event(source, piece, threads, self.symbols.numbers(threads), time)
        self._remember_reads(event, self.cells_of(piece.home, source.access.size))

    def _by_proxy(self, event: Event, cells: AccessHistory) -> None:
        """Reports writes before a bulk copy that are ordered before it, but by no proxy fence."""
        before = cells.write[event.cells]
        some = np.flatnonzero(before)
        if not some.size:
            return
        times, which = np.unique(time_of(before[some]), return_inverse=True)
        some = some[~np.array([is_bulk(self.told[int(t)][0]) for t in times])[which]]
        threads, stamps = event.threads[some], before[some]
        known = thread_of(stamps) == event.numbers[some]
        known |= self.order.knows(threads, thread_of(stamps), time_of(stamps))
        space = "shared" if event.home is None else "global"
        some = some[known]
        some = some[self.order.proxies.missing(space, event.threads[some], before[some])] if some.size else some
        if not some.size:
            return
        k, ins = int(some[0]), event.access.ins
        there, other = self.told[int(time_of(before[k : k + 1])[0])][0], int(thread_of(before[k : k + 1])[0])
        sites = self.symbols.site(int(event.numbers[k]), ins.line), self.symbols.site(other, there.line)
        words = (
            f"the write at line {there.line} by CTA {sites[1].cta}, thread {sites[1].thread} need not have reached the "
            f"async proxy, through which this copy at line {ins.line} {_DOES[event.verb]}: fence.proxy.async between "
            "the two is missing, by the thread that writes, before the barrier that the copy waits for"
        )
        self.findings.add(f"{space}-race", ins, sites, event.where(self.symbols, k), words, some.size)

    def _begin(self, home: Allocation) -> None:
        """Begins the history of an allocation at its first write, with the deferred reads."""
        self.cells[home] = AccessHistory(home.size + home.address % 32)
        for touch, piece, time, numbers in self.deferred.pop(home, []):
            event = self._event(touch, piece, np.full(numbers.shape, -1), numbers, time)
            self._remember_reads(event, self.cells_of(home, touch.access.size))

    def cells_of(self, home: Allocation | None, size: int) -> AccessHistory:
        """The history of an allocation, or of shared memory if None, in cells of at most ``size`` bytes."""
        if home is not None:
            found = self.cells[home]
        elif self.shared is None:
            found = self.shared = AccessHistory(self.machine.shared.size)
        else:
            found = self.shared
        if size < found.size:
            found.cut()
        return found

    def _event(self, touch: Touch, piece: Piece, threads: Array, numbers: Array, time: int) -> Event:
        cells = self.cells_of(piece.home, touch.access.size)
        return event_of(touch, piece, threads, numbers, time, cells.size)

    def _look(self, event: Event, cells: AccessHistory) -> None:
        if event.verb == "read":
            if event.strong.cached and cells.write[event.cells].any():
                self._cached(event, cells)
            elif not self._all_known(event, cells.wrote):
                self._compare(event, *cells.writes, observers=cells)
            self._remember_reads(event, cells)
            if event.strong.level:
                cells.see(event.cells, stamp(event.time, event.numbers))
            return
        self._compare_all(event, cells)
        if cells.read:
            for reads in cells.reads:
                self._forget(event, reads)
        own = stamp(event.time, event.numbers)
        if event.strong.level:
            self._hide(event, cells)
            cells.put_strong(event.cells, own, event.verb == "updated")
        else:
            cells.put(event.cells, own)
        cells.wrote = event.time
        lost = cells.write[event.cells] != own
        if lost.any():
            if event.strong.level:
                cells.hide(event.cells[lost], own[lost])
            self._among_themselves(event, cells, np.flatnonzero(lost))

    def _forget(self, event: Event, reads: Array) -> None:
        """Forgets the reads before a write; if it is strong, only those that are ordered before it."""
        gone = event.cells
        if event.strong.level:
            before = reads[gone]
            gone = gone[self.order.knows(event.threads, thread_of(before), time_of(before))]
        reads[gone] = 0

    def _hide(self, event: Event, cells: AccessHistory) -> None:
        """Keeps the writes that a strong write replaces, if they are weaker or not ordered before it."""
        before = cells.write[event.cells]
        some = np.flatnonzero(before)
        if not some.size:
            return
        before, at = before[some], event.cells[some]
        times, which = np.unique(time_of(before), return_inverse=True)
        weaker = np.array([self.told[int(t)][1].level < GPU for t in times])[which]
        if weaker.any():
            cells.weaken(at[weaker], before[weaker])
        if not self._all_known(event, cells.wrote):
            known = self.order.knows(event.threads[some], thread_of(before), time_of(before))
            if not known.all():
                cells.hide(at[~known], before[~known])

    def _all_known(self, event: Event, latest: int) -> bool:
        """Whether all threads know what was done up to ``latest``, as in shared memory after a barrier."""
        return event.home is None and self.order.times.size == 1 and latest <= self.order.times.floor

    def _compare_all(self, event: Event, cells: AccessHistory) -> None:
        """Compares a write with the writes and reads in the history."""
        if not self._all_known(event, cells.wrote):
            self._compare(event, *cells.writes, observers=cells)
        if cells.read and not self._all_known(event, cells.read):
            self._compare(event, *cells.reads, reads=True)

    def _remember_reads(self, event: Event, cells: AccessHistory) -> None:
        first, at, own = cells.first, event.cells, stamp(event.time, event.numbers)
        if self._all_known(event, cells.read):
            first[at] = own
        else:
            before = first[at]
            held = (before != 0) & (thread_of(before) != event.numbers)
            if held.any() and event.threads[0] >= 0:
                some = np.flatnonzero(held)
                stamps = before[some]
                held[some] = ~self.order.knows(event.threads[some], thread_of(stamps), time_of(stamps))
            free = ~held
            first[at[free]] = own[free]
        cells.read = event.time
        others = first[at] != own
        if others.any():
            self._second(cells, at[others], own[others])

    def _second(self, cells: AccessHistory, at: Array, own: Array) -> None:
        """Records a second read of cells, preferably from another warp than the first."""
        if cells.second is None:
            cells.second = np.zeros_like(cells.first)
        warp, before = thread_of(own) >> 5, cells.second[at]
        put = (warp != thread_of(cells.first[at]) >> 5) | (before == 0) | (warp == thread_of(before) >> 5)
        cells.second[at[put]] = own[put]

    def _compare(
        self, event: Event, *records: Array, observers: AccessHistory | None = None, reads: bool = False
    ) -> None:
        """Reports the accesses in ``records`` that conflict with the event and are not known to its threads.

        A thread that knows an access which observed a write is ordered after that write.
        """
        for k, stamps in enumerate(records):
            before = stamps[event.cells]
            some = np.flatnonzero((before != 0) & (thread_of(before) != event.numbers))
            if not some.size:
                continue
            before = before[some]
            known = self.order.knows(event.threads[some], thread_of(before), time_of(before))
            if observers is not None and not known.all():
                for by in observers.observers(event.cells[some]):
                    known |= self._observed(event, some, before, by)
            some, before = some[~known], before[~known]
            for time in np.unique(time_of(before)):
                same = time_of(before) == time
                self._pairs(event, some[same], thread_of(before[same]), int(time), reads, k == 0)

    def _observed(self, event: Event, some: Array, before: Array, by: Array) -> Array:
        """Which writes ``before`` precede the event because its threads know accesses ``by`` that observed them.

        An atomic counts if threads come here by what it found: in another run it may come before what it saw here.
        """
        found: Array = (time_of(by) >= time_of(before)) & self.order.knows(
            event.threads[some], thread_of(by), time_of(by)
        )
        for time in np.unique(time_of(by[found])):
            ins = self.told[int(time)][0]
            if ins.opcode in ("atom", "red") and not decides(self.machine.program, ins, event.access.ins):
                found &= time_of(by) != time
        for time in np.unique(time_of(before[found])):
            strong = self.told[int(time)][1]
            same = np.flatnonzero(found & (time_of(before) == time))
            far = self.order.times.apart(thread_of(by[same]), thread_of(before[same]))
            found[same] = far <= strong.level
        return found

    def _pairs(self, event: Event, some: Array, others: Array, time: int, reads: bool, last: bool) -> None:
        """Reports entries that are unordered with the event at ``time``, unless the memory model allows that."""
        ins, strong = self.told[time]
        bad = ~self._allowed(event, some, others, strong, last and not reads)
        if ins is event.access.ins and event.verb == "written" and last and not reads:
            bad &= (others >> 5 != event.numbers[some] >> 5) | ~event.unchanged(some)
        self._each(event, some, others, (ins, time), bad, reads)

    def _allowed(self, event: Event, some: Array, others: Array, strong: Strength, over: bool) -> Array:
        """Which pairs are no race: both strong, at scopes that include both threads, and no store ``over`` a store."""
        level = min(event.strong.level, strong.level)
        if not level:
            return np.zeros(some.size, bool)
        allowed = self.order.times.distance(event.threads[some], others) <= level
        if event.verb == "written" and over and not (event.strong.code | strong.code) & ATOMIC:
            allowed &= event.unchanged(some)
        if event.strong.code & strong.code & VOLATILE:
            allowed &= others >> 5 != event.numbers[some] >> 5
        result: Array = allowed
        return result

    def _among_themselves(self, event: Event, cells: AccessHistory, some: Array) -> None:
        """Reports lanes of an instruction that write the same cell, unless atomically or, in a warp, the same value."""
        winners = thread_of(cells.write[event.cells[some]])
        if event.verb == "updated":
            fine = self.order.times.distance(event.threads[some], winners) <= event.strong.level
        else:
            fine = (winners >> 5 == event.numbers[some] >> 5) & event.agreed(some)
        self._each(event, some, winners, (event.access.ins, event.time), ~fine, False)

    def _each(
        self, event: Event, some: Array, others: Array, there: tuple[Instruction, int], bad: Array, reads: bool
    ) -> None:
        """Reports the ``bad`` pairs, those within a warp as a finding of its own; ``there`` ran at a time before."""
        inside = others >> 5 == event.numbers[some] >> 5
        for part in (bad & inside, bad & ~inside):
            if part.any():
                k = int(np.argmax(part))
                self._report(event, int(some[k]), int(others[k]), *there, int(np.count_nonzero(part)), reads)

    def _report(self, event: Event, k: int, other: int, there: Instruction, time: int, count: int, reads: bool) -> None:
        ins, number = event.access.ins, int(event.numbers[k])
        kind = self._kind(event.home, number, other)
        if self.findings.again(kind, ins, (there.line,), count):
            return
        sites = self.symbols.site(number, ins.line), self.symbols.site(other, there.line)
        did = "read" if reads else "write"
        words = f"nothing orders the {did} at line {there.line} by CTA {sites[1].cta}, thread {sites[1].thread} and "
        words += f"this {_noun(ins, event.verb)} at line {ins.line}: "
        words += self.cures.missing(kind, int(event.threads[k]), number, other, ins, there, time)
        self.findings.add(kind, ins, sites, event.where(self.symbols, k), words, count)

    def _kind(self, home: Allocation | None, number: int, other: int) -> str:
        if number >> 5 == other >> 5:
            return "warp-synchrony"
        if home is not None:
            return "global-race"
        return "shared-race" if number // self.symbols.per_cta == other // self.symbols.per_cta else "cluster-race"

    def _cached(self, event: Event, cells: AccessHistory) -> None:
        k = int(np.flatnonzero(cells.write[event.cells])[0])
        ins, last = event.access.ins, cells.write[event.cells[k : k + 1]]
        there, _ = self.told[int(time_of(last)[0])]
        sites = (
            self.symbols.site(int(event.numbers[k]), ins.line),
            self.symbols.site(int(thread_of(last)[0]), there.line),
        )
        words = (
            f"the array is written at line {there.line} in the same launch, and a load of .nc may see what was there "
        )
        words += "before, whatever orders the two: load without .nc"
        self.findings.add("global-race", ins, sites, event.where(self.symbols, k), words, event.cells.size)


def _noun(ins: Instruction, verb: str) -> str:
    return "copy" if is_copy(ins) else _NOUN[verb]


_DOES = {"read": "reads", "written": "writes"}
_NOUN = {"read": "load", "written": "store", "updated": "atomic"}
