"""CTA barriers: counts arrivals by CTA and barrier, reduces predicates over them, and explains deadlocks.

The barrier of a cluster, whose arrive and wait are separate instructions, in phases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..instructions.op import broadcast
from ..ptx.types import Array
from .program import Block
from .threads import WARP, Threads, union

if TYPE_CHECKING:
    from .machine import Machine


NUMBERS = 16
"""The number of barriers of a CTA."""


class Barriers:
    """The named barriers of every CTA of a batch.

    Attributes:
        arrived: by barrier number, the threads that have arrived in each CTA.
        expected: by barrier number, the number of threads that an instruction names for each CTA; 0 stands for all
            threads of the CTA that have not exited.
        held: by barrier number, the sets of threads that wait, each with the block that ends in its barrier.
        here: by barrier number, the threads that have come to a barrier that names a number of threads. Such a barrier
            counts whole warps, with the lanes that have exited.
        parts: by barrier number, parts of warps that have come to an aligned one that names a number, with that number.
        crowded: by CTA, a barrier to which more threads have come at once than it counts: its number, its count, and
            how many came. ``crowd`` are the CTAs of which a barrier takes such threads now: which of their warps meet
            is open.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.arrived: dict[int, Array] = {}
        self.expected: dict[int, Array] = {}
        self.held: dict[int, list[tuple[Threads, Block]]] = {}
        self.here: dict[int, Array] = {}
        self.parts: dict[int, list[tuple[Threads, Block, Array]]] = {}
        self.crowded: dict[int, tuple[int, int, int]] = {}
        self.crowd: Array = np.zeros(0, np.int64)
        self.votes: Array = np.zeros(0, bool)
        self.popc: Array = np.zeros(0, np.int64)
        self.voters: Array = np.zeros(0, np.int64)

    def arrive(self, block: Block, lanes: Threads, values: Any) -> None:
        """Threads reach a barrier instruction; ``values`` are its number, then its count and predicate, if any."""
        op, machine = block.last.op, self.machine
        number, *rest = values
        counted = "count" in op.detail
        reduces = "red" in op.detail
        self._check(block, lanes, number, NUMBERS - 1, 1, "a barrier from 0 to 15")
        if counted:
            self._check(block, lanes, rest[0], (1 << 32) - 1, WARP, "a number of threads that is a multiple of 32")
        if reduces:
            self._vote(lanes, rest[-1])
        if number.size == 1 and not counted and not self.arrived and lanes.n == machine.living and op.end == "barrier":
            if reduces:
                self._tally([lanes])
            tool = machine.launch.tool
            if tool is not None:
                tool.arrive(machine, block, lanes, int(number[0]))
                tool.release(machine, int(number[0]), lanes.homes, [(lanes, block)])
            machine.go(block.next, lanes)
            return
        numbers = broadcast(number, lanes.n)
        for value in np.unique(numbers):
            same = numbers == value
            part = lanes if same.all() else lanes.select(same)
            if counted and (block.last.ins.opcode == "bar" or "aligned" in block.last.ins.mods):
                self._join_warps(int(value), part, block, broadcast(rest[0], lanes.n)[same])
            elif counted:
                self._join_counted(int(value), part, block, broadcast(rest[0], lanes.n)[same])
            else:
                self._join(int(value), part, block)

    def _check(self, block: Block, lanes: Threads, values: Array, most: int, step: int, expected: str) -> None:
        """Raises if the number of a barrier, or of threads, has no meaning in the ISA."""
        wrong = (values > most) | (values % step != 0)
        if wrong.any():
            at = int(np.argmax(wrong))
            problem = f"expected {expected}, got {int(values[at])}"
            raise self.machine.launch.located(
                "WF722", block.last.ins, self.machine, int(lanes.numbers[at]), problem=problem
            )

    def _join_warps(self, number: int, lanes: Threads, block: Block, counts: Array) -> None:
        """Lets warps join an aligned barrier that names a number of threads, once all their lanes have come."""
        together = lanes.n == self.machine.living or lanes.whole
        if number not in self.parts and (together or not self._lacking(lanes).any()):
            self._join_counted(number, lanes, block, counts)
            return
        self.parts.setdefault(number, []).append((lanes, block, counts))
        self._gather(number)

    def _lacking(self, lanes: Threads) -> Array:
        """Whether a living lane of the warp of each thread is not among these threads."""
        alive = self.machine.alive.reshape(-1, WARP)[lanes.warps]
        missing = np.asarray((alive & ~lanes.present).any(axis=1))
        return missing[lanes.row]

    def _gather(self, number: int) -> None:
        """Lets the warps join of which no lane is missing any more."""
        parts = self.parts.pop(number)
        every = union([lanes for lanes, _, _ in parts], self.machine.start)
        lacking = np.zeros(self.machine.total // WARP, bool)
        lacking[every.numbers >> 5] = self._lacking(every)
        late = [lacking[lanes.numbers >> 5] for lanes, _, _ in parts]
        rest = [(p[0].select(k), p[1], p[2][k]) for p, k in zip(parts, late, strict=True) if k.any()]
        if rest:
            self.parts[number] = rest
        for warp in every.warps[~lacking[every.warps]].tolist():
            for lanes, block, counts in parts:
                here = lanes.numbers >> 5 == warp
                if here.any():
                    self._join_counted(number, lanes.select(here), block, counts[here])

    def _same(self, number: int, count: int) -> bool:
        """Whether all that have come to a barrier name this number of threads."""
        expected = self.expected[number]
        return bool(((expected == count) | (expected == 0)).all())

    def _join_counted(self, number: int, lanes: Threads, block: Block, counts: Array) -> None:
        """Lets threads join a barrier that names a number of threads: if more come than it takes, warp after warp."""
        machine, ctas = self.machine, lanes.ctas
        here = np.bincount(ctas, minlength=machine.count)
        before = self.arrived.get(number)
        uniform = (counts == counts[0]).all() and (before is None or self._same(number, int(counts[0])))
        if uniform and ((here if before is None else here + before) <= counts[0]).all():  # as nearly always
            self._join(number, lanes, block, counts, here)
            return
        expected = self.expected.setdefault(number, np.zeros(machine.count, np.int64))
        known = expected[ctas]
        wanted = np.where(known > 0, known, counts[np.searchsorted(ctas, ctas)])
        if (counts != wanted).any():
            at = int(np.argmax(counts != wanted))
            problem = f"expected {int(wanted[at])} threads, as others at barrier {number} say, got {int(counts[at])}"
            raise machine.launch.located("WF722", block.last.ins, machine, int(lanes.numbers[at]), problem=problem)
        expected[ctas] = counts
        arrived = self.arrived.setdefault(number, np.zeros(machine.count, np.int64))
        first = np.searchsorted(lanes.numbers, lanes.numbers & -WARP) - np.searchsorted(ctas, ctas)
        turn = np.where(counts > 0, (arrived[ctas] + first) // np.maximum(counts, 1), 0)
        if not turn.any():
            self._join(number, lanes, block, counts)
            return
        for cta in np.unique(ctas[turn > 0]).tolist():
            self.crowded[cta] = number, int(counts[ctas == cta][0]), int(np.count_nonzero(ctas == cta))
        for k in range(int(turn.max()) + 1):
            here = turn == k
            self.crowd = np.unique(ctas[(turn > 0) & (counts > WARP)])
            self._join(number, lanes.select(here), block, counts[here])
        self.crowd = np.zeros(0, np.int64)

    def _join(
        self, number: int, lanes: Threads, block: Block, count: Array | None = None, come: Array | None = None
    ) -> None:
        ctas = self.machine.count
        arrived = self.arrived.setdefault(number, np.zeros(ctas, np.int64))
        expected = self.expected.setdefault(number, np.zeros(ctas, np.int64))
        arrived += np.bincount(lanes.ctas, minlength=ctas) if come is None else come
        if self.machine.launch.tool is not None:
            self.machine.launch.tool.arrive(self.machine, block, lanes, number)
        if count is not None:
            expected[lanes.ctas] = count
            self.here.setdefault(number, np.zeros(self.machine.total, bool))[lanes.numbers] = True
        if block.last.op.end == "arrive":
            self.machine.go(block.next, lanes)
        else:
            self.held.setdefault(number, []).append((lanes, block))
        self._release(number)

    def _absent(self, number: int) -> Array:
        """By CTA, the lanes that do not exist any more, or never did, in warps whose other lanes have all come."""
        shape = self.machine.count, -1, WARP
        here, alive = self.here[number].reshape(shape), self.machine.alive.reshape(shape)
        come = here.any(axis=2) & (here | ~alive).all(axis=2)
        result: Array = ((~here).sum(axis=2) * come).sum(axis=1)
        return result

    def _living(self) -> Array:
        machine = self.machine
        result: Array = machine.alive.reshape(machine.count, machine.per_cta).sum(axis=1)
        return result

    def _release(self, number: int) -> None:
        """Releases the CTAs whose count is complete."""
        arrived, expected = self.arrived[number], self.expected[number]
        need = np.where(expected > 0, expected, self._living())
        done = (arrived >= need) & (arrived > 0)
        if number in self.here and not done.all():
            done = (arrived + self._absent(number) >= need) & (arrived > 0)
        if not done.any():
            return
        freed: list[tuple[Threads, Block]] = []
        kept: list[tuple[Threads, Block]] = []
        for lanes, block in self.held.get(number, []):
            free = done[lanes.ctas]
            if free.all():
                freed.append((lanes, block))
            elif not free.any():
                kept.append((lanes, block))
            else:
                freed.append((lanes.select(free), block))
                kept.append((lanes.select(~free), block))
        self.held[number] = kept
        arrived[done] = 0
        expected[done] = 0
        if number in self.here:
            self.here[number].reshape(done.size, -1)[done] = False
        if not arrived.any():
            del self.arrived[number], self.expected[number], self.held[number]
            self.here.pop(number, None)
        if self.machine.launch.tool is not None:
            self.machine.launch.tool.release(self.machine, number, np.flatnonzero(done), freed)
        self._tally([lanes for lanes, block in freed if "red" in block.last.op.detail])
        for lanes, block in freed:
            self.machine.go(block.next, lanes)

    def _vote(self, lanes: Threads, predicate: Array) -> None:
        if not self.votes.size:
            total = self.machine.total
            self.votes = np.zeros(total, bool)
            self.popc, self.voters = np.zeros(total, np.int64), np.zeros(total, np.int64)
        self.votes[lanes.numbers] = predicate

    def _tally(self, sets: list[Threads]) -> None:
        """Counts the true predicates of the threads just released, by CTA."""
        if not sets:
            return
        ctas = np.concatenate([s.ctas for s in sets])
        votes = np.concatenate([self.votes[s.numbers] for s in sets])
        voters = np.bincount(ctas, minlength=self.machine.count)
        popc = np.bincount(ctas[votes], minlength=self.machine.count)
        for s in sets:
            self.popc[s.numbers], self.voters[s.numbers] = popc[s.ctas], voters[s.ctas]

    def exited(self) -> None:
        """Releases barriers that are complete without the threads that have just exited."""
        for number in list(self.parts):
            self._gather(number)
        for number in list(self.arrived):
            self._release(number)

    def explain_deadlock(self) -> None:
        """Raises if threads wait at a barrier. It is called when no thread can run."""
        none = np.zeros(self.machine.count, np.int64)
        held = {n: [*self.held.get(n, []), *(p[:2] for p in self.parts.get(n, []))] for n in (*self.held, *self.parts)}
        for number, sets in held.items():
            for lanes, block in sets:
                cta = int(lanes.ctas[0])
                arrived = int(self.arrived.get(number, none)[cta])
                expected = int(self.expected.get(number, none)[cta]) or int(self._living()[cta])
                here = {int(n) for s, _ in sets for n in s.numbers[s.ctas == cta]}
                own = np.flatnonzero(self.machine.alive.reshape(-1, self.machine.per_cta)[cta])
                late = [int(t) for t in own if cta * self.machine.per_cta + int(t) not in here][:8]
                where = "; threads not there: " + ", ".join(map(str, late)) if late else ""
                raise self.machine.launch.located(
                    "WF714",
                    block.last.ins,
                    self.machine,
                    int(lanes.numbers[0]),
                    barrier=f"barrier {number}",
                    arrived=arrived,
                    expected=expected,
                    absent=where,
                )


class ClusterBarrier:
    """The barriers of all clusters: ``phase`` counts completed phases, ``arrived`` the arrivals in the current one."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        clusters = -(-machine.count // machine.launch.cluster_size)
        self.phase = np.zeros(clusters, np.int64)
        self.arrived = np.zeros(clusters, np.int64)
        self.goal: Array | None = None
        self.held: list[tuple[Threads, Block]] = []

    def _clusters(self, lanes: Threads) -> Array:
        return lanes.ctas // self.machine.launch.cluster_size

    def reach(self, block: Block, lanes: Threads) -> None:
        """Threads reach ``barrier.cluster.arrive`` or ``.wait``."""
        if self.goal is None:
            self.goal = np.zeros(self.machine.total, np.int64)
        if block.end == "cluster_wait":
            self.held.append((lanes, block))
        else:
            clusters = self._clusters(lanes)
            self.goal[lanes.numbers] = self.phase[clusters] + 1
            self.arrived += np.bincount(clusters, minlength=self.arrived.size)
            if self.machine.launch.tool is not None:
                self.machine.launch.tool.cluster_arrive(self.machine, block, lanes)
            self.machine.go(block.next, lanes)
        self._complete()

    def _late(self) -> Array:
        """The number of living threads of each cluster that have not arrived in its current phase."""
        assert self.goal is not None
        per_cluster = self.machine.per_cta * self.machine.launch.cluster_size
        behind = self.machine.alive & (self.goal <= np.repeat(self.phase, per_cluster)[: self.machine.total])
        return np.add.reduceat(behind, np.arange(0, self.machine.total, per_cluster), dtype=np.int64)

    def _complete(self) -> None:
        done = (self._late() == 0) & (self.arrived > 0)
        self.phase[done] += 1
        self.arrived[done] = 0
        held, self.held = self.held, []
        assert self.goal is not None
        for lanes, block in held:
            free = self.phase[self._clusters(lanes)] >= self.goal[lanes.numbers]
            if free.any():
                going = lanes if free.all() else lanes.select(free)
                if self.machine.launch.tool is not None:
                    self.machine.launch.tool.cluster_release(self.machine, block, going)
                self.machine.go(block.next, going)
            if not free.all():
                self.held.append((lanes.select(~free), block))

    def exited(self) -> None:
        """Completes phases without the threads that have just exited."""
        if self.goal is not None:
            self._complete()

    def explain_deadlock(self) -> None:
        """Raises if threads wait for a phase. It is called when no thread can run."""
        for lanes, block in self.held:
            cluster = int(self._clusters(lanes)[0])
            raise self.machine.launch.located(
                "WF714",
                block.last.ins,
                self.machine,
                int(lanes.numbers[0]),
                barrier="the cluster barrier",
                arrived=int(self.arrived[cluster]),
                expected=int(self.arrived[cluster] + self._late()[cluster]),
                absent="",
            )
