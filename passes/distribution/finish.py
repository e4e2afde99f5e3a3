"""Repeated elements, as code: their state combined with itself, and results stored at several places.

The state of elements that a result has several times is a power of the state of them once, whatever the order of these
is. The threads that come out of the last stage with a result share its places.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...compiler.ir.build import address, integer
from ...compiler.ir.combine import combine
from ...compiler.ir.dialect.base import element
from ...compiler.ir.lanes import lane_id, of_lane
from ...compiler.ir.mlir import arith, ir, scf
from .meeting import Stages


def power(region: Any, state: list[Any], times: Any) -> list[Any]:
    """``state`` combined with itself, so that there are ``times`` of it: at least one, and doubled in every round."""
    t, n = times.type, len(state)
    zero, one = integer(t, 0), integer(t, 1)
    types = [t, *(v.type for v in state), *(v.type for v in state)]
    loop = scf.WhileOp(types, [arith.subi(times, one), *state, *state])
    asked, body = (part.blocks.append(*types) for part in (loop.before, loop.after))
    with ir.InsertionPoint(asked):
        more = arith.cmpi(arith.CmpIPredicate.sgt, asked.arguments[0], zero)
        scf.ConditionOp(more, list(asked.arguments))
    with ir.InsertionPoint(body):
        left, *states = body.arguments
        found, doubled = states[:n], states[n:]
        odd = arith.cmpi(arith.CmpIPredicate.ne, arith.andi(left, one), zero)
        joined = combine(region, found, doubled)
        found = [arith.select(odd, new, old) for new, old in zip(joined, found, strict=True)]
        scf.YieldOp([arith.shrui(left, one), *found, *combine(region, doubled, doubled)])
    return list(loop.results)[1 : 1 + n]


class Repeats(Stages):
    """The parts of the distributor that are there for what is repeated.

    Attributes:
        in_range, owner: whether the thread's results exist, and whether it is the one that has them in the end.
    """

    in_range: Any
    owner: Any

    def power(self, state: list[Any]) -> list[Any]:
        """The state of all elements, from that of them once."""
        return power(self.combine, state, self.arg("times")) if self.facts.repeats else state

    @contextmanager
    def places(self, value: Any, result: int) -> Iterator[tuple[Any, Any, Any]]:
        """Where a thread stores the ``value`` of a result: what is made inside is made for each place.

        Gives the value, where the array begins as seen from that place, and whether this thread stores there.
        """
        base = self.in_row(self.arg("output", result), len(self.block.arguments) + result, element(value.type))
        if not self.facts.repeats:
            yield value, base, self.owner
            return
        writers, number, on = self.writers()
        value = self.of_first(value) if writers > 1 else value
        copies, stride = self.arg("copies"), self.arg("copy_stride", len(self.block.arguments) + result)
        loop = scf.ForOp(self.number(0), copies, self.number(writers))
        with ir.InsertionPoint(loop.body):
            place = arith.addi(loop.induction_variable, number)
            there = arith.andi(on, arith.cmpi(arith.CmpIPredicate.slt, place, copies))
            yield value, address(base, arith.muli(place, stride), element(value.type)), there
            scf.YieldOp([])

    def writers(self) -> tuple[int, Any, Any]:
        """How many threads have a result, which of them this one is, and whether it is one.

        Shuffles give it to all positions, or to the lanes of the first warp of a cluster.
        """
        plan = self.lay
        if plan.cta != "shuffle" or plan.walk == "period":
            return 1, self.number(0), self.owner
        if plan.cluster == 1 or plan.finish != "cta":
            return plan.positions, self.position, self.in_range
        first = arith.andi(self.is_first(self.rank), self.is_first(self.row))
        return plan.lanes, self.lane, arith.andi(self.in_range, first)

    def of_first(self, value: Any) -> Any:
        """The ``value`` of the first lane, which counts: a combine may give others other bits."""
        plan = self.lay
        if plan.lanes == 1:
            return value
        bits = plan.lanes_kept - 1 if plan.fast == "kept" else -plan.lanes
        return of_lane(value, arith.andi(lane_id(), integer(lane_id().type, bits)))
