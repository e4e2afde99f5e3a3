"""The stages: an op for each level whose extent along the reduced axis is more than one."""

from __future__ import annotations

from typing import Any

from ...compiler.ir.combine import pack, with_shape
from ...compiler.ir.dialect.base import state_type
from ...compiler.ir.locations import named
from ...compiler.ir.mlir import arith, ir
from .place import Standing


class Stages(Standing):
    """How the states of elements, and then of threads, come together.

    Attributes:
        rank: the number of the thread's CTA in its cluster.
    """

    rank: Any

    def walked(self, begin: Any, end: Any, step: int, unroll: int, width: int, body: Any, *period: Any) -> Any:
        """What a thread's own elements combine to; with a period, in each place of its access."""
        named(begin, "begin")
        named(end, "end")
        state = state_type([with_shape(t, width if period else self.lay.vector_kept) for t in self.states])
        op = self.stage(
            "fold.thread_reduce",
            [state],
            [begin, end, pack(self.neutral(width)), *period],
            {"step": step, "unroll": unroll, **self.known},
            regions=2,
        )
        block = op.regions[0].blocks.append(self.index)
        named(block.arguments[0], "r")
        with ir.InsertionPoint(block):
            ir.Operation.create("fold.yield", [], [pack(body(block.arguments[0]))])
        return op.results[0]

    @property
    def known(self) -> dict[str, Any]:
        """What a walk may know: how few accesses it has, and how its elements are numbered."""
        found = {"once": self.facts.once, "places": self.facts.places, "numbers": self.facts.numbers}
        return {name: value for name, value in found.items() if value}

    def counted_in(self, values: list[Any], r: Any, first: Any, end: Any, width: int) -> list[Any]:
        """The fragments at ``r`` with the identity in place of what does not lie in [first, end)."""
        lanes = width if self.lay.vector_kept == 1 else 1
        mask = self.make("fold.live", ir.IntegerType.get_signless(1), [r, first, end], {}, lanes)
        return [arith.select(mask, v, i) for v, i in zip(values, self.neutral(width), strict=True)]

    @property
    def lanes(self) -> dict[str, Any]:
        """How the lanes of a warp lie that share a result."""
        stride = 1 if self.lay.fast == "reduced" else self.lay.lanes_kept
        return {"lanes": self.lay.lanes, "stride": stride, "ordered": self.lay.walk == "blocked"}

    def meet(self, value: Any) -> Any:
        """The stages that join the positions of a CTA: all at once in memory, or lanes first, then warps."""
        if self.lay.cta != "shuffle":
            return self.meet_in_memory(value)
        value = self.meet_in_warp(value)
        return self.meet_in_cta(value) if self.lay.warps > 1 else value

    def meet_in_cluster(self, value: Any) -> Any:
        """The stages that join the positions of all CTAs of a cluster: lanes first, then the warps of all of them.

        Positions that meet in memory do so in their CTA: to the cluster it is one warp.
        """
        plan = self.plan
        if plan.cta == "shuffle":
            value, row, rows, first = self.meet_in_warp(value), self.row, plan.warps, self.is_first(self.lane)
        else:
            value, row, rows, first = self.meet_in_memory(value), self.number(0), 1, self.is_first(self.position)
        attributes = {"ctas": plan.cluster, "rows": rows, "slots": plan.slots} | self.lanes
        operands = [self.rank, row, self.lane, self.slot, first, value]
        return self.stage("fold.cluster_reduce", [value.type], operands, attributes).results[0]

    def meet_in_warp(self, value: Any) -> Any:
        if self.lay.lanes == 1:
            return value
        return self.stage("fold.warp_reduce", [value.type], [value], self.lanes).results[0]

    def meet_in_cta(self, value: Any) -> Any:
        """The stages that join warps: their states lie in shared memory for a moment, and threads then lie anew."""
        to, slots, how = self.left_in_cta()
        rows = {"rows": self.lay.warps, "slots": slots}
        shared = [ir.Type.parse("!llvm.ptr<3>")] * len(self.states)
        operands = [self.row, to, self.is_first(self.lane), value]
        buffers = list(self.make_op("fold.shared_store", shared, operands, rows | how).results)
        if self.lay != self.plan.met:
            self.lie(self.plan.met)
        state = state_type([with_shape(t, self.lay.vector_kept) for t in self.states])
        operands = [self.lane, self.found_in_cta(), *buffers]
        return self.stage("fold.interwarp_accumulate", [state], operands, rows | self.lanes).results[0]

    def left_in_cta(self) -> tuple[Any, int, dict[str, Any]]:
        """Where among those of its warp a thread leaves its states in shared memory, how many there are, and how."""
        return self.slot, self.lay.slots, {}

    def found_in_cta(self) -> Any:
        """Where among those of a warp the states begin that a thread takes from there."""
        return self.slot

    def meet_in_memory(self, value: Any) -> Any:
        plan = self.plan
        if plan.positions == 1:
            return value
        scratch = [self.arg("exchange", i) for i in range(len(self.states)) if plan.global_states]
        sizes = {"rows": plan.positions, "lanes": plan.lanes, "slots": plan.slots}
        attributes = {"method": plan.cta, **sizes, "ordered": plan.walk == "blocked"}
        operands = [self.position, self.slot, value, *scratch]
        return self.stage("fold.cta_reduce", [value.type], operands, attributes).results[0]
