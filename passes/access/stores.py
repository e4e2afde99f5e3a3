"""Single stores of a fragment, none of which goes past the kept axis.

Results of two neighbouring lanes, written together.

A store writes at most 16 bytes, half of a 32-byte sector of memory. A thread whose results fill whole sectors needs
several stores, and each store of a warp then touches half of every sector: memory takes each sector twice. So two
neighbouring lanes, whose results follow each other, exchange 16-byte vectors. Both first write the results of the even
lane, a vector each of every sector, and then those of the odd lane.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import before, bytes_of, i32, integer, memory_type, replace, store
from ...compiler.ir.combine import elements, fragment, width, with_shape
from ...compiler.ir.dialect.base import bool_attr, element, int_attr
from ...compiler.ir.lane_exchange import exchange, lane_id
from ...compiler.ir.mlir import arith, ir, scf
from ...compiler.plan.tiles import SECTOR
from ...compiler.planner.alignment import WIDEST
from .offsets import offset


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


def lower_store(op: Any) -> None:
    """Lowers a store to a branch around vector stores of up to 16 bytes, or around one store an element.

    A fragment never goes past the innermost dim. One that may reach beyond the kept axis (``bounded``) is stored whole
    where it does not. ``paired`` lanes store their results two lanes at a time.
    """
    value, base, kept, on = list(op.operands)[:4]
    with before(op):
        if "paired" in op.attributes:
            store_in_pairs(value, base, offset(op, kept, kept, 4), on)
        else:
            branch = scf.IfOp(on)
            with ir.InsertionPoint(branch.then_block):
                _store(op, value, base, kept)
                scf.YieldOp([])
        replace(op, [])


def _store(op: Any, value: Any, base: Any, kept: Any) -> None:
    """Writes the stores of one thread's fragment."""
    if not bool_attr(op, "vector"):
        return _store_elements(op, value, base, kept)
    if "bounded" not in op.attributes:
        return store(value, base, offset(op, kept, kept, 4))
    fits = scf.IfOp(_fits(op, width(value.type) - 1), has_else=True)
    with ir.InsertionPoint(fits.then_block):
        store(value, base, offset(op, kept, kept, 4))
        scf.YieldOp([])
    with ir.InsertionPoint(fits.else_block):
        _store_elements(op, value, base, kept)
        scf.YieldOp([])
    return None


def _fits(op: Any, last: int) -> Any:
    """Whether the elements 0 to ``last`` of a store's fragment lie on the kept axis."""
    found = _is_kept(op, last)
    return arith.andi(_is_kept(op, 0), found) if "early" in op.attributes else found


def _is_kept(op: Any, j: int) -> Any:
    """Whether element ``j`` of a store's fragment lies on the kept axis; with ``early`` it may also be before it."""
    kept, n_kept = op.operands[2], op.operands[len(op.operands) - 1]
    less = arith.CmpIPredicate.ult if "early" in op.attributes else arith.CmpIPredicate.slt
    return arith.cmpi(less, arith.addi(kept, integer(kept.type, j)) if j else kept, n_kept)


def _store_elements(op: Any, value: Any, base: Any, kept: Any) -> None:
    """Stores the elements one by one, leaving out those beyond the kept axis if the store is ``bounded``."""
    rank, bounded = int_attr(op, "kept_rank"), "bounded" in op.attributes
    first, inner = offset(op, kept, kept, 4), op.operands[4 + 2 * rank - 2]
    for j, x in enumerate(elements(value)):
        along = arith.muli(integer(kept.type, j), inner) if j else None
        at = arith.addi(first, along) if j else first
        if not bounded or (not j and "early" not in op.attributes):
            store(x, base, at)
            continue
        branch = scf.IfOp(_is_kept(op, j))
        with ir.InsertionPoint(branch.then_block):
            store(x, base, at)
            scf.YieldOp([])
