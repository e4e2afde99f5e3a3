"""The lifetime of another CTA's shared memory: from the first barrier of the cluster until the CTA ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .findings import Findings, Symbolizer
from .happens_before import HappensBefore

if TYPE_CHECKING:
    from ..machine.machine import Machine
    from ..machine.threads import Threads
    from ..ptx.types import Array
    from .access_history import Event


class SharedLifetime:
    """The last accesses to the shared memory of each CTA of the batch by threads of other CTAs (``remote``)."""

    def __init__(self, findings: Findings, symbols: Symbolizer, order: HappensBefore, machine: Machine) -> None:
        self.findings, self.symbols, self.order, self.machine = findings, symbols, order, machine
        self.remote: dict[int, dict[int, tuple[Event, int]]] = {}

    def touch(self, event: Event, cell: int) -> None:
        """Checks and notes accesses to the shared memory of other CTAs, in cells of ``cell`` bytes."""
        target = event.cells * cell // self.machine.launch.shared_stride
        away = np.flatnonzero(target != event.threads // self.symbols.per_cta)
        if not away.size:
            return
        early = away[self.order.times.phase[event.threads[away]] == 0]
        if early.size:
            self._report(event, int(early[0]), target, "has begun: a barrier of the cluster before it is missing")
        alive = np.asarray(self.machine.alive.reshape(self.machine.count, -1).any(axis=1))
        late = away[~alive[target[away]]]
        if late.size:
            self._report(event, int(late[0]), target, "has not ended: a barrier of the cluster after it is missing")
        for k in away:
            self.remote.setdefault(int(target[k]), {})[int(event.threads[k])] = event, int(k)

    def _report(self, event: Event, k: int, target: Array, words: str) -> None:
        ins = event.access.ins
        words = f"shared memory of another CTA is {event.access.verb}, and nothing says that this CTA {words}"
        first = int(self.symbols.numbers(target[k : k + 1] * self.symbols.per_cta)[0])
        sites = self.symbols.site(int(event.numbers[k]), ins.line), self.symbols.site(first, 0)
        self.findings.add("cluster-race", ins, sites, event.where(self.symbols, k), words)

    def exit(self, lanes: Threads) -> None:
        """Reports accesses to a CTA's shared memory that are not ordered before its last threads exit."""
        alive = self.machine.alive.copy()
        alive[lanes.numbers] = False
        ended = np.asarray(~alive.reshape(self.machine.count, -1).any(axis=1))
        for cta in [c for c in self.remote if ended[c]]:
            own = lanes.numbers[lanes.ctas == cta]
            if not own.size:  # it ended before; the access was reported then
                del self.remote[cta]
                continue
            for event, k in self.remote.pop(cta).values():
                number, ins = int(event.numbers[k]), event.access.ins
                if self.order.knows(own, np.full(own.size, number), np.full(own.size, event.time)).any():
                    continue
                last = int(self.symbols.numbers(own[:1])[0])
                sites = self.symbols.site(number, ins.line), self.symbols.site(last, 0)
                words = f"nothing orders this access before the end of CTA {sites[1].cta}, whose shared memory it is: "
                words += "a barrier of the cluster between it and the end is missing"
                self.findings.add("cluster-race", ins, sites, event.where(self.symbols, k), words)
