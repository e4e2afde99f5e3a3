"""Results of two neighbouring lanes, written together.

A thread whose results take more than the 16 bytes of a store writes them by several, and each store of a warp then
leaves half of every 32-byte sector to another one: the memory takes each sector twice. So two lanes, whose results
follow each other, exchange halves of their sectors. First both write those of the even lane, then those of the odd one,
a half each.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import bytes_of, i32, integer, memory_type, store
from ...compiler.ir.combine import elements, fragment, width, with_shape
from ...compiler.ir.dialect.base import element
from ...compiler.ir.lanes import exchange, lane_id
from ...compiler.ir.mlir import arith, ir, scf
from ...compiler.plan.tiles import SECTOR
from ...compiler.planner.alignment import WIDEST


def are_sectors(value: Any) -> bool:
    """Whether a thread's results are whole sectors."""
    return width(value.type) * bytes_of(memory_type(element(value.type))) % SECTOR == 0


def store_in_pairs(value: Any, base: Any, first: Any, on: Any) -> None:
    """Stores the results that begin with the element ``first``, and those of the lane beside, of lanes that are ``on``.

    All lanes of a warp come by, and a lane's results begin where those of the lane before it end.
    """
    t, count = element(value.type), width(value.type)
    half = WIDEST // bytes_of(memory_type(t))
    odd = arith.cmpi(arith.CmpIPredicate.ne, arith.andi(lane_id(), i32(1)), i32(0))
    others = exchange(on, i32(1))
    source, widen = _narrower(value)
    scalars = elements(source)
    halves = [fragment(scalars[k : k + half]) for k in range(0, count, half)]
    got = [exchange(arith.select(odd, low, high), i32(1)) for low, high in _twos(halves)]
    of_even = [arith.select(odd, other, low) for other, (low, _) in zip(got, _twos(halves), strict=True)]
    of_odd = [arith.select(odd, high, other) for other, (_, high) in zip(got, _twos(halves), strict=True)]
    for mine, wanted, (odds, evens) in (
        (of_even, arith.select(odd, others, on), (half - count, 0)),
        (of_odd, arith.select(odd, on, others), (half, count)),
    ):
        begin = arith.addi(first, arith.select(odd, integer(first.type, odds), integer(first.type, evens)))
        branch = scf.IfOp(wanted)
        with ir.InsertionPoint(branch.then_block):
            for k, x in enumerate(mine):
                store(widen(x), base, arith.addi(begin, integer(first.type, 2 * half * k)) if k else begin)
            scf.YieldOp([])


def _twos(halves: list[Any]) -> list[tuple[Any, Any]]:
    """The halves of each sector."""
    return list(zip(halves[::2], halves[1::2], strict=True))


def _narrower(value: Any) -> tuple[Any, Any]:
    """What is exchanged in place of ``value``, and what makes results of it: integers are widened afterwards."""
    maker = None if isinstance(value, ir.BlockArgument) else value.owner
    if maker is None or maker.name not in ("arith.extsi", "arith.extui"):
        return value, lambda x: x
    widen = arith.extsi if maker.name == "arith.extsi" else arith.extui
    t = element(value.type)
    return maker.operands[0], lambda x: widen(with_shape(t, width(x.type)), x)
