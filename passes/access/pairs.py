"""Results of two neighbouring lanes, written together.

A store writes at most 16 bytes, half of a 32-byte sector of memory. A thread whose results fill whole sectors needs
several stores, and each store of a warp then touches half of every sector: memory takes each sector twice. So two
neighbouring lanes, whose results follow each other, exchange 16-byte vectors. Both first write the results of the even
lane, a vector each of every sector, and then those of the odd lane.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import bytes_of, i32, integer, memory_type, store
from ...compiler.ir.combine import elements, fragment, width, with_shape
from ...compiler.ir.dialect.base import element
from ...compiler.ir.lane_exchange import exchange, lane_id
from ...compiler.ir.mlir import arith, ir, scf
from ...compiler.plan.tiles import SECTOR
from ...compiler.planner.alignment import WIDEST


def are_sectors(value: Any) -> bool:
    """Whether a thread's results fill whole sectors."""
    return width(value.type) * bytes_of(memory_type(element(value.type))) % SECTOR == 0


def store_in_pairs(value: Any, base: Any, first: Any, on: Any) -> None:
    """Stores the results of this lane and of its neighbour.

    All lanes of a warp must take part. The results of a lane begin where those of the lane before it end.

    Args:
        value: this lane's results, which fill whole sectors.
        base: where the array of results begins.
        first: the number of this lane's first result.
        on: whether this lane's results are to be stored.
    """
    t, count = element(value.type), width(value.type)
    each = WIDEST // bytes_of(memory_type(t))
    odd = arith.cmpi(arith.CmpIPredicate.ne, arith.andi(lane_id(), i32(1)), i32(0))
    neighbour_on = exchange(on, i32(1))
    source, widen = _narrower(value)
    scalars = elements(source)
    vectors = [fragment(scalars[k : k + each]) for k in range(0, count, each)]
    sectors = list(zip(vectors[::2], vectors[1::2], strict=True))
    got = [exchange(arith.select(odd, low, high), i32(1)) for low, high in sectors]
    of_even = [arith.select(odd, other, low) for other, (low, _) in zip(got, sectors, strict=True)]
    of_odd = [arith.select(odd, high, other) for other, (_, high) in zip(got, sectors, strict=True)]
    for mine, wanted, (odds, evens) in (
        (of_even, arith.select(odd, neighbour_on, on), (each - count, 0)),
        (of_odd, arith.select(odd, on, neighbour_on), (each, count)),
    ):
        begin = arith.addi(first, arith.select(odd, integer(first.type, odds), integer(first.type, evens)))
        branch = scf.IfOp(wanted)
        with ir.InsertionPoint(branch.then_block):
            for k, x in enumerate(mine):
                store(widen(x), base, arith.addi(begin, integer(first.type, 2 * each * k)) if k else begin)
            scf.YieldOp([])


def _narrower(value: Any) -> tuple[Any, Any]:
    """The value to exchange in place of ``value``, and what makes results of it: integers are widened afterwards."""
    maker = None if isinstance(value, ir.BlockArgument) else value.owner
    if maker is None or maker.name not in ("arith.extsi", "arith.extui"):
        return value, lambda x: x
    widen = arith.extsi if maker.name == "arith.extsi" else arith.extui
    t = element(value.type)
    return maker.operands[0], lambda x: widen(with_shape(t, width(x.type)), x)
