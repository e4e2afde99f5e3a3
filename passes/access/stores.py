"""Single stores of a fragment, none of which goes past the kept axis.

Results of two neighbouring lanes, written together.

A store writes at most 16 bytes, half of a 32-byte sector of memory. A thread whose results fill whole sectors needs
several stores, and each store of a warp then touches half of every sector: memory takes each sector twice. So two
neighbouring lanes, whose results follow each other, exchange 16-byte vectors. Both first write the results of the even
lane, a vector each of every sector, and then those of the odd lane.

Stores of elements of a row of which some may lie beside it: none of these is touched.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ...compiler.ir.build import (
    address,
    before,
    bytes_of,
    i32,
    if_then,
    integer,
    memory_type,
    replace,
    store,
    when,
    word_type,
)
from ...compiler.ir.combine import backwards, elements, fragment, width, with_shape
from ...compiler.ir.dialect.access import ELEMENT_ACCESS
from ...compiler.ir.dialect.base import bool_attr, element, int_attr, str_attr
from ...compiler.ir.lane_exchange import exchange, lane_id, of_lane
from ...compiler.ir.mlir import arith, ir, llvm, nvvm, scf
from ...compiler.plan.tiles import SECTOR
from ...compiler.planner.alignment import WIDEST
from ...compiler.program.bit_arrays import WORD as BITS_OF_WORD
from ..words.packed_bytes import as_stored
from .element_loads import is_inside
from .loads import begins_word, place_in_word, store_bytes, store_word
from .offsets import offset
from .unaligned import ALIGNED, WORD, WORDS, taken_out, words_of


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
        with when(wanted):
            for k, x in enumerate(mine):
                store(widen(x), base, arith.addi(begin, integer(first.type, 2 * each * k)) if k else begin)


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
            with when(on):
                _store(op, value, base, kept)
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
        with when(_is_kept(op, j)):
            store(x, base, at)


STORE = 7
"""Operands before the layout."""


def lower_element_store(op: Any) -> None:
    """Lowers a store to a branch around a vector store, or around stores of single elements."""
    value, base, kept, reduced, first, end, on = list(op.operands)[:STORE]
    access, along = str_attr(op, "access", ELEMENT_ACCESS), str_attr(op, "axis", ("kept", "reduced"))
    lanes, whole = width(value.type), bool_attr(op, "whole")
    with before(op):
        if access == "bits":
            _store_bits(op, whole=whole)
            replace(op, [])
            return
        value = as_stored(value)
        if access == "unaligned":
            _store_across(op)
            replace(op, [])
            return
        if access == "reversed":
            value, reduced = backwards(value), arith.addi(reduced, integer(reduced.type, lanes - 1))
            here = on if whole else arith.andi(on, is_inside(reduced, first, end, 1))
            if_then(here, lambda: store(value, base, offset(op, kept, reduced, STORE)))
            replace(op, [])
            return
        at_once = access != "strided" or lanes == 1
        cut = not whole and along == "reduced" and access != "aligned" and lanes > 1
        here = on if whole else arith.andi(on, is_inside(reduced, first, end, lanes if at_once and cut else 1))
        if at_once:
            if_then(here, lambda: store(value, base, offset(op, kept, reduced, STORE)))
        if cut:
            beside = arith.xori(here, integer(on.type, 1)) if at_once else on
            _store_apart(op, arith.andi(on, beside) if at_once else on, cut=True)
        elif not at_once:
            _store_apart(op, here, cut=False)
        replace(op, [])


def _store_bits(op: Any, *, whole: bool) -> None:
    """Stores a word by the lane that has its first element, or the bytes of each lane by that lane.

    Lanes write bytes up to the end of a word of which the row has an element, so that the bits behind it are zero.
    """
    word, base, kept, reduced, first, end, on = list(op.operands)[:STORE]
    at = offset(op, kept, reduced, STORE)
    count = int_attr(op, "own") if "own" in op.attributes else BITS_OF_WORD
    if count == BITS_OF_WORD:
        on, begin = arith.andi(on, begins_word(at)), reduced
    else:
        begin = arith.subi(reduced, place_in_word(at))
    here = on if whole else arith.andi(on, is_inside(begin, first, end, 1))
    if_then(here, lambda: store_word(word, base, at) if count == BITS_OF_WORD else store_bytes(word, base, at, count))


def _store_across(op: Any) -> None:
    """Stores fragments of neighbouring lanes that begin anywhere, in aligned accesses.

    A lane writes from the boundary in its fragment on: elements of its own, then those of the next lane before the
    boundary there. The last lane has the first elements of the first one, and writes both ends by words or by elements.
    So does a lane whose access an end of the row cuts.
    """
    value, base, kept, reduced, first, end, on = list(op.operands)[:STORE]
    neighbours, index, scalar = int_attr(op, "neighbours"), reduced.type, element(value.type)
    lanes, item = width(value.type), bytes_of(memory_type(scalar))
    unit = min(ALIGNED, lanes * item) // item
    at, own = offset(op, kept, reduced, STORE), words_of(value)
    start = arith.trunci(word_type(), llvm.ptrtoint(ir.IntegerType.get_signless(64), address(base, at, scalar)))
    place = arith.andi(arith.subi(i32(0), start), i32(unit * item - 1))  # bytes to the boundary
    lane = lane_id()
    following = arith.andi(arith.addi(lane, i32(1)), i32(neighbours - 1))
    of_group = arith.ori(arith.andi(lane, i32(-neighbours)), following)
    moved = taken_out([*own, *(of_lane(w, of_group) for w in own[:WORDS])], place, value.type)
    ahead = arith.shrui(place, i32(item.bit_length() - 1))
    ahead = ahead if index == word_type() else arith.extui(index, ahead)
    at, r = arith.addi(at, ahead), arith.addi(reduced, ahead)
    is_last = arith.cmpi(arith.CmpIPredicate.eq, following, i32(0))
    split = arith.andi(is_last, arith.cmpi(arith.CmpIPredicate.ne, place, i32(0)))
    whole = arith.andi(is_inside(r, first, end, lanes), arith.xori(split, integer(split.type, 1)))
    nvvm.bar_warp_sync(i32(-1))  # all lanes have read what others write, if a result takes an array's place

    def write_apart() -> None:
        back = arith.select(split, integer(index, -neighbours * lanes), integer(index, 0))
        of_next = arith.subi(integer(index, lanes), ahead)
        _store_pieces(moved, base, at, r, first, end, back, of_next)

    def write() -> None:
        branch = scf.IfOp(whole, has_else=True)
        for block, make in ((branch.then_block, partial(store, moved, base, at)), (branch.else_block, write_apart)):
            with ir.InsertionPoint(block):
                make()
                scf.YieldOp([])

    if_then(on, write)


def _store_pieces(value: Any, base: Any, at: Any, r: Any, first: Any, end: Any, back: Any, of_next: Any) -> None:
    """Stores what lies in the row of a fragment at offset ``at``: words where these are whole, or else elements.

    The elements from number ``of_next`` on lie ``back`` elements from there.
    """
    index, scalars = r.type, elements(value)
    each = max(1, WORD // bytes_of(memory_type(element(value.type))))
    moves, inside = [], []
    for j in range(len(scalars)):
        is_next = arith.cmpi(arith.CmpIPredicate.sge, integer(index, j), of_next)
        moves.append(arith.addi(integer(index, j), arith.select(is_next, back, integer(index, 0))))
        inside.append(is_inside(arith.addi(r, moves[j]), first, end, 1))

    def write(j: int, count: int) -> None:
        store(fragment(scalars[j : j + count]), base, arith.addi(at, moves[j]))

    for j in range(0, len(scalars), each):
        last = j + each - 1
        if each == 1:
            if_then(inside[j], partial(write, j, 1))
            continue
        together = arith.cmpi(arith.CmpIPredicate.eq, arith.subi(moves[last], moves[j]), integer(index, each - 1))
        branch = scf.IfOp(arith.andi(arith.andi(inside[j], inside[last]), together), has_else=True)
        with ir.InsertionPoint(branch.then_block):
            write(j, each)
            scf.YieldOp([])
        with ir.InsertionPoint(branch.else_block):
            for k in range(j, j + each):
                if_then(inside[k], partial(write, k, 1))
            scf.YieldOp([])


def _store_apart(op: Any, on: Any, *, cut: bool) -> None:
    """Stores a fragment element by element, inside one branch; if the row may cut it, those that lie in the row."""
    value, base, kept, reduced, first, end = list(op.operands)[: STORE - 1]
    along, one = str_attr(op, "axis", ("kept", "reduced")), reduced.type

    def write_all() -> None:
        for j, x in enumerate(elements(value)):
            step = integer(one, j)
            k = arith.addi(kept, step) if along == "kept" and j else kept
            r = arith.addi(reduced, step) if along == "reduced" and j else reduced

            def write(k: Any = k, r: Any = r, x: Any = x) -> None:
                store(x, base, offset(op, k, r, STORE))

            if_then(is_inside(r, first, end, 1), write) if cut else write()

    if_then(on, write_all)
