"""What would order two accesses that race, in words."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ..machine.program import Program
from ..machine.schedule import in_loops
from .findings import Symbolizer
from .happens_before import HappensBefore
from .memory_model import GPU, strength

if TYPE_CHECKING:
    from ..machine.machine import Machine
    from ..ptx.types import Instruction

_VERB = {"st": "written", "atom": "updated", "red": "updated"}


class Cures:
    """Says what is missing between an access by a thread of the batch and one by another thread before."""

    def __init__(self, symbols: Symbolizer, order: HappensBefore, machine: Machine) -> None:
        self.symbols, self.order, self.machine = symbols, order, machine

    def missing(
        self, kind: str, thread: int, number: int, other: int, ins: Instruction, there: Instruction, time: int
    ) -> str:
        """The synchronisation between ``there``, run by ``other``, and ``ins``, run by ``thread`` (``number``)."""
        near = number // self.symbols.per_cta == other // self.symbols.per_cta
        strong = [s for s in (strength(x, _VERB.get(x.opcode, "read")) for x in (ins, there)) if s.level]
        if kind == "global-race" and not near and any(s.level < GPU for s in strong):
            return "the scope of an atomic or strong access does not reach the other CTA: .gpu is needed"
        between = f"between line {there.line} and line {ins.line}"
        if ins.line == there.line:
            if ins is there and (time == self.order.times.now or ins.line not in _repeated(self.machine.program)):
                return self._alone(number, other, ins.line)
            between = f"between two runs of line {ins.line}, or an index of each thread's own,"
        if kind == "warp-synchrony":
            return f"lanes of a warp need not run in step: a warp barrier (bar.warp.sync) {between} is missing"
        if kind == "cluster-race":
            return f"a barrier of the cluster (barrier.cluster.arrive.release, wait.acquire) {between} is missing"
        if near:
            if self.order.times.exited.early(other):
                return f"the thread of line {there.line} ended and met no barrier {between}"
            return f"a barrier (bar.sync) {between} is missing{self._crowd(number // self.symbols.per_cta)}"
        return "they are in different CTAs: " + self._by_memory(thread, other, ins, there, time)

    def _alone(self, number: int, other: int, line: int) -> str:
        """What is missing where threads meet in one run of a line."""
        if number >> 5 == other >> 5:
            whose = "lane"
        else:
            whose = "thread" if number // self.symbols.per_cta == other // self.symbols.per_cta else "CTA"
        return f"both run it once: an index of each {whose}'s own in line {line} is missing, or an atomic"

    def _crowd(self, cta: int) -> str:
        found = self.machine.barriers.crowded.get(int(self.symbols.local[cta]))
        if found is None:
            return ""
        barrier, count, came = found
        return f" (barrier {barrier} counts {count} threads, and {came} come to it at once: it does not order them all)"

    def _by_memory(self, thread: int, other: int, ins: Instruction, there: Instruction, time: int) -> str:
        memory = self.order.memory
        released, acquired = memory.released(other, time), memory.acquires_of(thread // self.symbols.per_cta)
        release = f"behind line {there.line}: fence.acq_rel.gpu, then an atomic or strong store"
        acquire = f"before line {ins.line}: an atomic or strong load that reads what the release wrote, then"
        acquire += " fence.acq_rel.gpu"
        if 0 < released < GPU:
            return f"the scope of the release behind line {there.line} does not reach the other CTA: .gpu is needed"
        if released and 0 < acquired < GPU:
            return f"the scope of the acquire before line {ins.line} does not reach the other CTA: .gpu is needed"
        if released and acquired:
            return "there is a release and an acquire, but the acquire does not read what the release wrote"
        if released:
            return f"there is a release, but an acquire is missing {acquire}"
        if acquired:
            return f"there is an acquire, but a release is missing {release}"
        return (
            "a release of the one (fence.acq_rel.gpu, then an atomic or strong store) that an acquire of the other (an "
            "atomic or strong load, then fence.acq_rel.gpu) reads is missing, or an atomic"
        )


@lru_cache(maxsize=512)
def _repeated(program: Program) -> frozenset[int]:
    """The lines of instructions that a thread may run more than once."""
    return frozenset(item.ins.line for block in in_loops(program.blocks) for item in block.items)
