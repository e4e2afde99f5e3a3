"""The span of a thread: which accesses it makes along an axis, and the stage that reduces what they read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...compiler.ir.combine import pack, with_shape
from ...compiler.ir.dialect.base import state_type
from ...compiler.ir.locations import named
from ...compiler.ir.mlir import arith, ir
from ...compiler.ir.sorted_lists import inserts
from ...compiler.plan.layout import layout_of
from ...compiler.plan.modes import Unit
from ...compiler.plan.plan import Plan
from ...compiler.target import WARP
from .kernel import Kernel
from .place import Place


class Span(NamedTuple):
    """The accesses of a thread.

    Attributes:
        begin, end: accesses begin at ``begin`` or later, and before ``end``.
        first: elements before this one, and from ``end`` on, count as the identity.
        step: elements from one access to the next; where there is a period, periods.
        period: the elements of a period, where the walk is by periods; else None.
        beside: how far the accesses of the lane lie from those of the first lane, where lanes meet in steps; else None.
            Begin and end are then those of the first lane: all lanes of a warp make the same steps.
    """

    begin: Any
    end: Any
    first: Any
    step: int
    period: Any = None
    beside: Any = None


def span_of(kernel: Kernel, place: Place, plan: Plan, first: Any, end: Any, length: Any) -> Span:
    """The accesses by which a thread shares the elements in [first, end) with the others of its CTA.

    They are those of the layout of ``plan``, where the thread has the position of its place. If the layout is ordered,
    ``length`` elements are cut into as many pieces as there are threads.
    """
    layout = layout_of(plan)
    if plan.meets_in_steps:
        return _span_of_warp(kernel, place, plan, first, end, length)
    sizes: dict[Unit, Any] = {}
    if layout.ordered:
        sizes["piece"] = layout.piece(length, kernel)
    begin = arith.addi(first, layout.start(place.position, kernel, sizes))
    end = arith.minsi(end, arith.addi(begin, sizes["piece"])) if layout.ordered else end
    return Span(begin, end_in_range(kernel, place, first, end, plan.vector_reduced), first, layout.step)


def _span_of_warp(kernel: Kernel, place: Place, plan: Plan, first: Any, end: Any, length: Any) -> Span:
    """The accesses of a thread whose warp shares the elements in [first, end) with others, in pieces of whole steps.

    A thread without results reads for the last one, so that all lanes take part in each meeting.
    """
    layout, begin = layout_of(plan), first
    if plan.warps > 1:
        piece = layout.piece(length, kernel)
        begin = arith.addi(first, arith.muli(place.warp, piece))
        end = arith.minsi(end, arith.addi(begin, piece))
    nothing = arith.subi(begin, kernel.number(plan.vector))
    end = arith.select(kernel.less(begin, end), end, nothing)
    return Span(begin, end, begin, layout.step, beside=kernel.scaled(place.lane, plan.vector))


def end_in_range(kernel: Kernel, place: Place, first: Any, end: Any, vector: int) -> Any:
    """``end`` for a thread in range; else an element that no access begins before, not even one a vector early."""
    nothing = arith.subi(first, kernel.number(vector)) if vector > 1 else first
    return arith.select(place.in_range, end, nothing)


def reduce_span(
    kernel: Kernel,
    plan: Plan,
    span: Span,
    unroll: int,
    width: int,
    read: Callable[[Any], Any],
    known: Sequence[str] = (),
) -> Any:
    """The stage of the thread: what its elements combine to; along a period, for each element of an access.

    Threads are arranged by ``plan``; ``unroll`` accesses of ``width`` elements, which ``read`` makes, are in flight.
    ``known`` are attributes of a ``fold.thread_reduce`` that hold.
    """
    named(span.begin, "begin")
    named(span.end, "end")
    periods = [] if span.period is None else [span.period]
    state = state_type([with_shape(t, width if periods else plan.vector_kept) for t in kernel.states])
    operands = [span.begin, span.end, pack(kernel.neutral(1 if plan.meets_in_steps else width)), *periods]
    attributes = {"step": span.step, "unroll": unroll} | _known(kernel)
    attributes |= dict.fromkeys(known, True)
    attributes |= {"summed": plan.lanes_summed} if plan.meet == "mma" else {}
    attributes |= {"joined": plan.lanes} if plan.meets_in_steps else {}
    op = kernel.stage("fold.thread_reduce", [state], operands, attributes, regions=2)
    block = op.regions[0].blocks.append(kernel.index)
    (r,) = block.arguments
    named(r, "r")
    with ir.InsertionPoint(block):
        r = r if span.beside is None else arith.addi(r, span.beside)
        fragments = read(r)
        lanes = width if plan.vector_kept == 1 else 1
        counts = kernel.make("fold.live", ir.IntegerType.get_signless(1), [r, span.first, span.end], {}, lanes)
        counted = [arith.select(counts, v, i) for v, i in zip(fragments, kernel.neutral(width), strict=True)]
        ir.Operation.create("fold.yield", [], [pack(counted)])
    return op.results[0]


def makes_lists_of_warps(kernel: Kernel, plan: Plan) -> bool:
    """Whether threads that are arranged by ``plan`` have the sorted list of their warp as their state."""
    whole = (plan.fast, plan.lanes, plan.cta) == ("reduced", WARP, "shuffle")
    return kernel.facts.bounds and whole and inserts(kernel.combine)


def _known(kernel: Kernel) -> dict[str, Any]:
    """What is known of a walk: how few accesses it has, and how its elements are numbered."""
    facts = kernel.facts
    found = {"once": facts.once, "places": facts.places, "numbers": facts.numbers}
    return {name: value for name, value in found.items() if value}
