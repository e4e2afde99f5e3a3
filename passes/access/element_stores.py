"""Stores of elements of a row of which some may lie beside it: none of these is touched."""

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
    word_type,
)  # fmt: skip
from ...compiler.ir.combine import backwards, elements, fragment, width
from ...compiler.ir.dialect.access import ELEMENT_ACCESS
from ...compiler.ir.dialect.base import bool_attr, element, int_attr, str_attr
from ...compiler.ir.lane_exchange import lane_id, of_lane
from ...compiler.ir.mlir import arith, ir, llvm, nvvm, scf
from ...compiler.program.bit_arrays import WORD as BITS_OF_WORD
from ..words.packed_bytes import as_stored
from .bits import begins_word, place_in_word, store_bytes, store_word
from .in_row import is_inside
from .offsets import offset
from .unaligned import ALIGNED, WORD, WORDS, taken_out, words_of

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
