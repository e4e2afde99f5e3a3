"""The barrier of a cluster, whose arrive and wait are separate instructions, in phases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..ptx.types import Array
from .program import Block
from .threads import Threads

if TYPE_CHECKING:
    from .machine import Machine


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
