"""The span of a thread: which accesses it makes along an axis, and the stage that reduces what they read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...compiler.ir.combine import pack, with_shape
from ...compiler.ir.dialect.base import state_type
from ...compiler.ir.locations import named
from ...compiler.ir.mlir import arith, ir
from ...compiler.plan.plan import Plan
from .kernel import Kernel
from .place import Place


@dataclass(frozen=True, eq=False)
class Span:
    """The accesses of a thread.

    Attributes:
        begin, end: the element that the first access begins with, and one that no access begins with or behind.
        first: the first element that counts: those before it, and from ``end`` on, count as the identity.
        step: elements from one access to the next one; along a period a multiple of it, and 1.
        period: the elements of a period, which are the distance between accesses there; else None.
    """

    begin: Any
    end: Any
    first: Any
    step: int
    period: Any = None

    @classmethod
    def of(cls, kernel: Kernel, place: Place, first: Any, end: Any, length: Any, vector: int) -> Span:
        """The accesses, of ``vector`` elements, by which a thread shares the elements in [first, end) with others.

        They are those of the plan of its place; a blocked walk cuts ``length`` elements into as many pieces as there
        are threads. A thread whose results are out of range has none.
        """
        plan = place.plan
        if plan.walk != "blocked":
            begin, step = arith.addi(first, kernel.scaled(place.position, vector)), plan.positions * vector
        else:
            piece = kernel.divide(arith.addi(length, kernel.number(plan.positions - 1)), plan.positions)
            begin, step = arith.addi(first, arith.muli(place.position, piece)), 1
            end = arith.minsi(end, arith.addi(begin, piece))
        return cls(begin, cls.none_outside(kernel, place, first, end, vector), first, step)

    @staticmethod
    def none_outside(kernel: Kernel, place: Place, first: Any, end: Any, vector: int) -> Any:
        """``end`` for a thread in range; else an element that no access begins before, even a vector early."""
        nothing = arith.subi(first, kernel.number(vector)) if vector > 1 else first
        return arith.select(place.in_range, end, nothing)


def reduce_span(kernel: Kernel, plan: Plan, span: Span, unroll: int, width: int, read: Callable[[Any], Any]) -> Any:
    """The stage of the thread: what its elements combine to; along a period, for each element of an access.

    Args:
        kernel: the kernel.
        plan: the plan by which the threads are arranged.
        span: the thread's accesses.
        unroll: accesses in flight.
        width: elements of an access.
        read: gives the fragments at an element.
    """
    named(span.begin, "begin")
    named(span.end, "end")
    periods = [] if span.period is None else [span.period]
    state = state_type([with_shape(t, width if periods else plan.vector_kept) for t in kernel.states])
    operands = [span.begin, span.end, pack(kernel.neutral(width)), *periods]
    attributes = {"step": span.step, "unroll": unroll} | _known(kernel)
    op = kernel.stage("fold.thread_reduce", [state], operands, attributes, regions=2)
    block = op.regions[0].blocks.append(kernel.index)
    (r,) = block.arguments
    named(r, "r")
    with ir.InsertionPoint(block):
        fragments = read(r)
        lanes = width if plan.vector_kept == 1 else 1
        counts = kernel.make("fold.live", ir.IntegerType.get_signless(1), [r, span.first, span.end], {}, lanes)
        counted = [arith.select(counts, v, i) for v, i in zip(fragments, kernel.neutral(width), strict=True)]
        ir.Operation.create("fold.yield", [], [pack(counted)])
    return op.results[0]


def _known(kernel: Kernel) -> dict[str, Any]:
    """What is known of a walk: how few accesses it has, and how its elements are numbered."""
    facts = kernel.facts
    found = {"once": facts.once, "places": facts.places, "numbers": facts.numbers}
    return {name: value for name, value in found.items() if value}
