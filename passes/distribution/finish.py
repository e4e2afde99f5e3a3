"""The finish: the grid stage, where a result has elements in several CTAs, and the results stored.

The state of elements that a result has several times is the state of them once, combined with itself: a power of it,
whatever the order of the elements is. Results that are stored several times are so by all threads that hold them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...compiler.ir.build import address, integer, repeat, when
from ...compiler.ir.combine import combine, unpack
from ...compiler.ir.dialect.base import element
from ...compiler.ir.lane_exchange import lane_id, of_lane
from ...compiler.ir.mlir import arith, gpu, ir, scf
from ...compiler.plan.layout import layout_of
from ...compiler.plan.plan import Plan
from ..access.stores import are_sectors
from .kernel import Kernel
from .place import Place, Row
from .reader import Reader
from .walk import Walk


def finish(walk: Walk, state: Any, place: Place) -> None:
    """The grid stage if there is one, and the results, of the state and the place that the first round leaves."""
    kernel, plan = walk.kernel, walk.kernel.plan
    if plan.finish == "cta":
        store_results(kernel, walk.tile.row, walk.count, state, place)
    elif plan.cluster == 1:
        _grid(walk, state, place)
    else:
        with when(kernel.is_first(place.rank)):
            _grid(walk, state, place)


def _grid(walk: Walk, state: Any, place: Place) -> None:
    """The grid stage: the CTA or cluster is one of several that have elements of its results."""
    kernel, plan, partials = walk.kernel, walk.kernel.plan, walk.partials
    y = gpu.Dimension.y
    part, parts = (kernel.divide(kernel.id(of(y)), plan.cluster) for of in (gpu.block_id, gpu.grid_dim))
    operands = [part, parts, *partials.cell(place, parts), partials.leaves(place), state]
    operands += [kernel.arg("partial", i) for i in range(len(kernel.states))]
    operands += [kernel.arg("counter")] if plan.finish == "last_block" else []
    location = kernel.reduce.location
    with location:
        op = kernel.stage("fold.grid_finish", [], operands, {"finish": plan.finish}, regions=2, combine=0)
    with ir.InsertionPoint(op.regions[1].blocks.append()):
        if plan.finish == "last_block":
            with location:
                state, place = partials.second_round(place, parts)
            store_results(kernel, walk.tile.row, walk.count, state, place)
        ir.Operation.create("fold.yield", [], [])


def store_results(kernel: Kernel, row: Row, count: Any, state: Any, place: Place) -> None:
    """Applies the elementwise code after the reduction, and stores the results."""
    facts = kernel.facts
    reduced = power(kernel.combine, unpack(state), kernel.arg("times")) if facts.repeats else unpack(state)
    memo = dict(zip(kernel.reduced, reduced, strict=True))
    reader = Reader(kernel, count)
    dims = row.kept_dims[-1:] if facts.flat else row.kept_dims
    for i, result in enumerate(kernel.results):
        value = reader.fragment(result, place.plan.vector_kept, memo)
        layout = kernel.dims("kept_size", 0, dims[1:])
        layout += kernel.dims("kept_stride", len(kernel.inputs) + i, dims)
        attributes: dict[str, Any] = {"kept_rank": len(dims), "reduced_rank": 0, "vector": facts.store_vector}
        if facts.bounded:
            layout, attributes = [*layout, row.columns], attributes | {"bounded": True}
        elif facts.store_vector and kernel.plan.walks_alone and are_sectors(value):
            attributes["paired"] = True
        if kernel.plan.walk == "padded":
            attributes["early"] = True
        with _copies(kernel, row, value, i, place) as (own, base, on):
            kernel.make_op("fold.store", [], [own, base, place.kept, on, *layout], attributes)


@contextmanager
def _copies(kernel: Kernel, row: Row, value: Any, result: int, place: Place) -> Iterator[tuple[Any, Any, Any]]:
    """Where a thread stores the ``value`` of a result: what is made inside is made for each copy of the result.

    Gives the value, where the copy's array begins, and whether the thread stores there.
    """
    operand, t = len(kernel.inputs) + result, element(value.type)
    base = row.start(kernel.arg("output", result), operand, t)
    if not kernel.facts.repeats:
        yield value, base, place.owner
        return
    holders, number, on = _holders(kernel, place)
    value = _of_first(value, place.plan) if holders > 1 else value
    copies, stride = kernel.arg("copies"), kernel.arg("copy_stride", operand)
    with repeat(kernel.number(0), copies, kernel.number(holders)) as i:
        copy = arith.addi(i, number)
        there = arith.andi(on, kernel.less(copy, copies))
        yield value, address(base, arith.muli(copy, stride), t), there


def power(region: Any, state: list[Any], times: Any) -> list[Any]:
    """``state`` combined with itself, so that there are ``times`` of it, at least one; it is doubled in every round."""
    t, n = times.type, len(state)
    zero, one = integer(t, 0), integer(t, 1)
    types = [t, *(v.type for v in state), *(v.type for v in state)]
    loop = scf.WhileOp(types, [arith.subi(times, one), *state, *state])
    before, body = (part.blocks.append(*types) for part in (loop.before, loop.after))
    with ir.InsertionPoint(before):
        more = arith.cmpi(arith.CmpIPredicate.sgt, before.arguments[0], zero)
        scf.ConditionOp(more, list(before.arguments))
    with ir.InsertionPoint(body):
        left, *states = body.arguments
        found, doubled = states[:n], states[n:]
        odd = arith.cmpi(arith.CmpIPredicate.ne, arith.andi(left, one), zero)
        joined = combine(region, found, doubled)
        found = [arith.select(odd, new, old) for new, old in zip(joined, found, strict=True)]
        scf.YieldOp([arith.shrui(left, one), *found, *combine(region, doubled, doubled)])
    return list(loop.results)[1 : 1 + n]


def _holders(kernel: Kernel, place: Place) -> tuple[int, Any, Any]:
    """How many threads hold a result after the last stage, the number of this one, and whether it is one of them.

    Shuffles give a result to all positions, or to the lanes of the first warp of a cluster.
    """
    plan = place.plan
    if plan.cta != "shuffle" or layout_of(plan).chunked == "flat":
        return 1, kernel.number(0), place.owner
    if plan.cluster == 1 or plan.finish != "cta":
        return plan.positions, place.position, place.in_range
    first = arith.andi(kernel.is_first(place.rank), kernel.is_first(place.warp))
    return plan.lanes, place.lane, arith.andi(place.in_range, first)


def _of_first(value: Any, plan: Plan) -> Any:
    """The ``value`` of the first lane, the one that counts: a combine may have left other bits in other lanes."""
    if plan.lanes == 1:
        return value
    bits = plan.lanes_kept - 1 if plan.fast == "kept" else -plan.lanes
    return of_lane(value, arith.andi(lane_id(), integer(lane_id().type, bits)))
