"""Races: two threads access a byte, one writes, and nothing orders them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from .cells import Cells, Record
from .findings import Findings
from .order import Order
from .places import Places
from .strength import ATOMIC, LEVEL, VOLATILE, Strength, strength, verb_of

if TYPE_CHECKING:
    from ..lanes import Lanes
    from ..machine import Machine
    from ..memory import Allocation
    from ..spaces import Access, Piece
    from ..tool import Touch
    from ..types import Array, Instruction

_DONE = {"read": "reads", "written": "writes", "updated": "updates"}


def _agree(event: Event, some: Array) -> Array:
    """Whether the lanes store what the last one stores in their cell."""
    if event.values is None:
        return np.ones(some.size, bool)
    _, cell = np.unique(event.cells, return_inverse=True)
    last = np.zeros(event.cells.size, np.int64)
    last[cell] = np.arange(cell.size)
    result: Array = event.values[some] == event.values[last[cell[some]]]
    return result


@dataclass(frozen=True, eq=False)
class Event:
    """One instruction of some threads on one piece of memory, an entry for each cell it touches.

    ``threads`` are numbers in the batch, ``numbers`` in the launch; ``bytes`` is where the access of each begins.
    """

    access: Access
    home: Allocation | None
    strong: Strength
    time: int
    threads: Array
    numbers: Array
    cells: Array
    bytes: Array
    same: Array | None
    values: Array | None
    """Whether a store leaves its cell as it is, and what it stores."""


class Races:
    """The cells of shared memory of the batch, and of each allocation that is written in the launch.

    ``deferred`` are the reads of allocations that nobody has written so far.
    """

    def __init__(self, findings: Findings, places: Places, order: Order) -> None:
        self.findings, self.places, self.order = findings, places, order
        self.lines: dict[int, Instruction] = {}
        self.cells: WeakKeyDictionary[Allocation, Cells] = WeakKeyDictionary()
        self.deferred: WeakKeyDictionary[Allocation, list[tuple[Touch, Piece, int, Array]]] = WeakKeyDictionary()

    def batch(self, machine: Machine) -> None:
        """Shared memory that nobody touched."""
        self.machine = machine
        self.shared: Cells | None = None
        self.remote: dict[int, dict[int, tuple[Event, int]]] = {}

    def touch(self, touch: Touch, piece: Piece) -> None:
        """Compares an access with those before it."""
        time, home = self.order.tick(), piece.home
        verb = verb_of(touch.access)
        strong = strength(touch.access.ins, verb)
        threads = touch.threads if isinstance(piece.where, slice) else touch.threads[piece.where]
        self.lines[touch.access.ins.line] = touch.access.ins
        if home is not None and home not in self.cells:
            if verb == "read":
                self.deferred.setdefault(home, []).append((touch, piece, time, self.places.numbers(threads)))
                return
            self._begin(home)
        event = self._event(touch, piece, threads, self.places.numbers(threads), time)
        self._look(event, self._cells(home, event.access.size), verb)
        if strong.level or self.order.logs:
            self._synchronise(touch, piece, threads, strong)
        if home is None and self.machine.launch.cluster_size > 1:
            self._remote(event)

    def issue(self, touch: Touch, piece: Piece) -> None:
        """A copy that may write from now on: compares it with the accesses before."""
        home = piece.home
        if home is not None and home not in self.cells:
            return
        threads = touch.threads[piece.where]
        self.lines[touch.access.ins.line] = touch.access.ins
        event = self._event(touch, piece, threads, self.places.numbers(threads), self.order.tick())
        cells = self._cells(home, event.access.size)
        self._compare(event, cells.write, "written")
        self._compare(event, cells.first, "written", reads=True)
        self._compare(event, cells.second, "written", reads=True)

    def _synchronise(self, touch: Touch, piece: Piece, threads: Array, strong: Strength) -> None:
        home = piece.home
        key = ("shared", 0) if home is None else ("global", home.address)
        index = np.broadcast_to(piece.index, threads.shape) * touch.access.size
        self.order.synchronise(*key, threads, index, strong, verb_of(touch.access))

    def _begin(self, home: Allocation) -> None:
        """The first write to an allocation: now the reads before it matter."""
        base = home.address % 32
        cells = self.cells[home] = Cells(home.size + base)
        for touch, piece, time, numbers in self.deferred.pop(home, []):
            threads = np.full(numbers.shape, -1)
            event = self._event(touch, piece, threads, numbers, time)
            self._remember_reads(event, self._cells(home, event.access.size))
        assert cells is self.cells[home]

    def _cells(self, home: Allocation | None, size: int) -> Cells:
        if home is not None:
            found = self.cells[home]
        else:
            if self.shared is None:
                self.shared = Cells(self.machine.shared.size)
            found = self.shared
        if size < found.size or found.size == 1:
            if found.size > 1:
                found.cut()
        return found

    def _event(self, touch: Touch, piece: Piece, threads: Array, numbers: Array, time: int) -> Event:
        access, home, size = touch.access, piece.home, touch.access.size
        start = 0 if home is None else home.address % 32 + -home.address % size
        octets = np.broadcast_to(piece.index, threads.shape) * size + start
        found = self._cells(home, size)
        values = same = None
        if touch.values is not None:
            values = np.broadcast_to(touch.values if touch.values.size == 1 else touch.values[piece.where], threads.shape)
            same = np.broadcast_to(piece.view[piece.index] == values, threads.shape)
        wide = size // found.size
        cells = octets // found.size
        if wide > 1:
            cells = (cells[:, None] + np.arange(wide)).reshape(-1)
            threads, numbers, octets = (np.repeat(v, wide) for v in (threads, numbers, octets))
            same, values = (None if v is None else np.repeat(v, wide) for v in (same, values))
        strong = strength(access.ins, verb_of(access))
        return Event(access, home, strong, time, threads, numbers, cells, octets, same, values)

    def _look(self, event: Event, cells: Cells, verb: str) -> None:
        if event.strong.cached and cells.write.thread[event.cells].any():
            self._cached(event, cells)
        else:
            self._compare(event, cells.write, verb)
        if verb == "read":
            self._remember_reads(event, cells)
            cells.read = True
            return
        if cells.read:
            self._compare(event, cells.first, verb, reads=True)
            self._compare(event, cells.second, verb, reads=True)
            cells.first.thread[event.cells] = 0
            cells.second.thread[event.cells] = 0
        cells.write.put(event.cells, event.numbers + 1, event.time, event.access.ins.line, event.strong.code)
        self._among_themselves(event, cells, verb)

    def _remember_reads(self, event: Event, cells: Cells) -> None:
        first, second, at, who = cells.first, cells.second, event.cells, event.numbers + 1
        told = event.time, event.access.ins.line, event.strong.code
        before = first.thread[at]
        held = (before != 0) & (before != who)
        if held.any() and event.threads[0] >= 0:
            some = np.flatnonzero(held)
            known = self.order.knows(event.threads[some], before[some].astype(np.int64) - 1, first.time[at[some]])
            held[some[known]] = False
        free = ~held
        if free.any():
            first.put(at[free][::-1], who[free][::-1], *told)
        others = who != first.thread[at]
        if others.any():
            self._second(event, cells, others)

    def _second(self, event: Event, cells: Cells, others: Array) -> None:
        """Reads beside the first: of another warp rather than of the same."""
        second, at, who = cells.second, event.cells[others], event.numbers[others] + 1
        near = (who - 1) >> 5 == (cells.first.thread[at] - 1) >> 5
        empty = second.thread[at] == 0
        put = ~near | empty | ((second.thread[at] - 1) >> 5 == (who - 1) >> 5)
        second.put(at[put], who[put], event.time, event.access.ins.line, event.strong.code)

    def _compare(self, event: Event, record: Record, verb: str, reads: bool = False) -> None:
        """Reports those accesses of ``record`` that conflict with the event and are not known to its threads."""
        before = record.thread[event.cells]
        some = np.flatnonzero((before != 0) & (before != event.numbers + 1))
        if not some.size:
            return
        cells = event.cells[some]
        others, codes = before[some].astype(np.int64) - 1, record.code[cells]
        safe = self._strong(event, some, others, codes, verb, reads)
        if safe.all():
            return
        some, cells, others = some[~safe], cells[~safe], others[~safe]
        known = self.order.knows(event.threads[some], others, record.time[cells])
        if known.all():
            return
        some, cells, others = some[~known], cells[~known], others[~known]
        lines = record.line[cells]
        for line in np.unique(lines):
            at = np.flatnonzero(lines == line)
            inside = others[at] >> 5 == event.numbers[some[at]] >> 5
            for part in (at[inside], at[~inside]):
                if part.size:
                    k = int(part[0])
                    self._report(event, int(some[k]), int(others[k]), int(line), part.size, reads)

    def _strong(self, event: Event, some: Array, others: Array, codes: Array, verb: str, reads: bool) -> Array:
        """Which pairs may meet unordered: both strong, at scopes that hold both threads, and not a lost update."""
        distance = self.order.distance(event.threads[some], others)
        both = (event.strong.level >= distance) & (codes & LEVEL >= distance)
        lost = np.zeros(some.size, bool)
        if verb == "written" and not reads and not event.strong.code & ATOMIC:
            lost = codes & ATOMIC == 0
            if event.same is not None:
                lost &= ~event.same[some]
        warp = others >> 5 == event.numbers[some] >> 5
        volatile = warp & (codes & VOLATILE != 0) & bool(event.strong.code & VOLATILE)
        result: Array = both & ~lost & ~volatile
        return result

    def _among_themselves(self, event: Event, cells: Cells, verb: str) -> None:
        """Lanes of one instruction that write one cell: harmless in a warp if they write the same, or atomically."""
        lost = cells.write.thread[event.cells] != event.numbers + 1
        if not lost.any():
            return
        some = np.flatnonzero(lost)
        winners = cells.write.thread[event.cells[some]].astype(np.int64) - 1
        if verb == "updated":
            fine = event.strong.level >= self.order.distance(event.threads[some], winners)
        else:
            fine = (winners >> 5 == event.numbers[some] >> 5) & _agree(event, some)
        bad = some[~fine]
        if bad.size:
            k = int(bad[0])
            other = int(cells.write.thread[event.cells[k]]) - 1
            self._report(event, k, other, event.access.ins.line, bad.size, False)

    def _report(self, event: Event, k: int, other: int, line: int, count: int, reads: bool) -> None:
        access, ins, number = event.access, event.access.ins, int(event.numbers[k])
        kind = self._kind(event.home, number, other)
        there = self.lines[line]
        base = event.home.address % 32 if event.home is not None else 0
        where = self.places.where(access, int(event.bytes[k]) - base, event.home)
        places = self.places.place(number, ins.line), self.places.place(other, line)
        did = "read" if reads else "write"
        words = f"nothing orders the {did} at line {line} by CTA {places[1].cta}, thread {places[1].thread} before this"
        words += f" {_NOUN[access.verb]} at line {ins.line}: {self._missing(kind, number, other, ins, there)}"
        self.findings.add(kind, ins, places, where, words, count)

    def _kind(self, home: Allocation | None, number: int, other: int) -> str:
        if number >> 5 == other >> 5:
            return "warp-synchrony"
        if home is not None:
            return "global-race"
        return "shared-race" if number // self.places.per_cta == other // self.places.per_cta else "cluster-race"

    def _missing(self, kind: str, number: int, other: int, ins: Instruction, there: Instruction) -> str:
        """The synchronisation that would order the two."""
        between = f"between line {there.line} and line {ins.line}"
        if kind == "warp-synchrony":
            return f"lanes of a warp need not run in step: a warp barrier (bar.warp.sync) {between} is missing"
        if kind == "cluster-race":
            return f"a barrier of the cluster (barrier.cluster.arrive.release, wait.acquire) {between} is missing"
        if number // self.places.per_cta == other // self.places.per_cta:
            return f"a barrier (bar.sync) {between} is missing"
        strong = [s for s in (strength(x, _VERB.get(x.opcode, "read")) for x in (ins, there)) if s.level]
        if any(s.level < 3 for s in strong):
            return "the scope of an atomic or strong access does not reach the other CTA: .gpu is needed"
        return (
            "they are in different CTAs: a release of the one (fence.acq_rel.gpu, then an atomic or strong store) that "
            "an acquire of the other (an atomic or strong load, then fence.acq_rel.gpu) reads is missing, or an atomic"
        )

    def _cached(self, event: Event, cells: Cells) -> None:
        k = int(np.flatnonzero(cells.write.thread[event.cells])[0])
        ins, cell = event.access.ins, event.cells[k]
        line, other = int(cells.write.line[cell]), int(cells.write.thread[cell]) - 1
        places = self.places.place(int(event.numbers[k]), ins.line), self.places.place(other, line)
        base = event.home.address % 32 if event.home is not None else 0
        where = self.places.where(event.access, int(event.bytes[k]) - base, event.home)
        words = f"the array is written at line {line} in the same launch, and a load of .nc may see what was there "
        words += "before, whatever orders the two: load without .nc"
        self.findings.add("global-race", ins, places, where, words, event.cells.size)

    # the shared memory of other CTAs

    def _remote(self, event: Event) -> None:
        """Notes accesses to the shared memory of other CTAs, which must have begun and must not have ended."""
        cells = self.shared
        assert cells is not None
        target = event.bytes // self.machine.launch.shared_stride
        own = event.threads // self.places.per_cta
        away = np.flatnonzero(target != own)
        if not away.size:
            return
        early = away[self.order.phase[event.threads[away]] == 0]
        if early.size:
            self._lifetime(event, int(early[0]), "has begun: a barrier of the cluster before it is missing")
        alive = self.machine.alive.reshape(self.machine.count, -1).any(axis=1)
        late = away[~alive[target[away]]]
        if late.size:
            self._lifetime(event, int(late[0]), "has not ended: a barrier of the cluster after it is missing")
        for k in away:
            self.remote.setdefault(int(target[k]), {})[int(event.threads[k])] = event, int(k)

    def _lifetime(self, event: Event, k: int, words: str) -> None:
        where = self.places.where(event.access, int(event.bytes[k]), None)
        place = self.places.place(int(event.numbers[k]), event.access.ins.line)
        words = f"shared memory of another CTA is {event.access.verb}, and nothing says that this CTA {words}"
        self.findings.add("cluster-race", event.access.ins, (place,), where, words)

    def exit(self, machine: Machine, lanes: Lanes) -> None:
        """Threads end: what others did in the shared memory of a CTA must come before its last one does."""
        alive = machine.alive.copy()
        alive[lanes.numbers] = False
        ended = ~alive.reshape(machine.count, -1).any(axis=1)
        for cta in [c for c in self.remote if ended[c]]:
            own = lanes.numbers[lanes.ctas == cta]
            for event, k in self.remote.pop(cta).values():
                number, ins = int(event.numbers[k]), event.access.ins
                knows = self.order.knows(own, np.full(own.size, number), np.full(own.size, event.time))
                if knows.any():
                    continue
                last = int(self.places.numbers(own[:1])[0])
                places = self.places.place(number, ins.line), self.places.place(last, 0)
                words = f"nothing orders this access before the end of CTA {places[1].cta}, whose shared memory it is: a "
                words += "barrier of the cluster between it and the end is missing"
                where = self.places.where(event.access, int(event.bytes[k]), None)
                self.findings.add("cluster-race", ins, places, where, words)


_NOUN = {"read": "load", "written": "store", "updated": "atomic"}
_VERB = {"st": "written", "atom": "updated", "red": "updated"}
