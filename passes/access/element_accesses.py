"""Accesses to elements of a row of which some may lie beside it: none of these is touched.

Those beside the row may be another thread's, which writes them if a result lies where an input does. An aligned access
lies in the row as a whole or not at all. A shifted one may be cut by either end: its elements are then read one by one,
unless no thread writes what lies beside the row. So are those of an unaligned one, where the aligned accesses around it
may not be read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ...compiler.ir.build import (
    address,
    before,
    bytes_of,
    from_memory,
    i32,
    integer,
    load,
    memory_type,
    replace,
    store,
    word_type,
    zeros,
)  # fmt: skip
from ...compiler.ir.combine import backwards, elements, fragment, splat, width, with_shape
from ...compiler.ir.dialect.base import bool_attr, element, int_attr, str_attr
from ...compiler.ir.dialect.element_access import ELEMENT_ACCESS
from ...compiler.ir.lane_exchange import lane_id, of_lane
from ...compiler.ir.mlir import arith, ir, llvm, nvvm, scf
from ...compiler.plan.fields import OF_BITS
from ...compiler.program.bit_arrays import WORD as BITS_OF_WORD
from ..words.truths import as_stored, of_bits
from .bits import begins_word, load_bits, load_word, place_in_word, store_bytes, store_word
from .offsets import following, offset, offsets
from .unaligned import ALIGNED, WORD, WORDS, taken_out, words_around, words_of

LOAD, STORE = 5, 7
"""Operands before the layout."""


def lower_element_load(op: Any) -> None:
    """Lowers a load to one vector load, to single loads, or to a branch between both."""
    base, kept, reduced, first, end = list(op.operands)[:LOAD]
    access, t = str_attr(op, "access", ELEMENT_ACCESS), op.results[0].type
    along = str_attr(op, "axis", ("kept", "reduced"))
    with before(op):
        stored = with_shape(memory_type(element(t)), width(t))  # branches give bytes of truth values, which stay words
        if access == "shifted":
            at, at_once = offset(op, kept, reduced, LOAD), "at_once" in op.attributes
            beside = (lambda: [llvm.mlir_undef(stored)]) if at_once else (lambda: [fragment(_apart(op, stored))])
            whole = _is_whole(op, at, reduced, first, end)
            value = from_memory(_if_else(whole, [stored], lambda: [load(base, at, stored)], beside)[0], t)
        elif access == "unaligned":
            value = _taken_out(op)
        elif access in ("aligned", "reversed", "bits") or along == "kept":
            there = arith.cmpi(arith.CmpIPredicate.slt, reduced, end)
            own = stored if access == "aligned" else word_type() if access == "bits" else t
            read = partial(_at, op, base, kept, reduced, access, own)
            value = _if_else(there, [own], lambda: [read()], lambda: [zeros(own)])[0]
            value = of_bits(value, width(t)) if access == "bits" else from_memory(value, t)
        elif access == "uniform":
            value = splat(load(base, offset(op, kept, clamped(reduced, first, end), LOAD), element(t)), width(t))
        else:
            value = fragment(_apart(op, t))
        replace(op, [value])


def lower_element_rest(op: Any) -> None:
    """Lowers what completes a load to a branch in which single elements are read."""
    found, _, kept, reduced, first, end = list(op.operands)[: LOAD + 1]
    with before(op):
        whole = _is_whole(op, offset(op, kept, reduced, LOAD + 1), reduced, first, end)
        replace(op, _if_else(whole, [found.type], lambda: [found], lambda: [fragment(_apart(op, found.type, 1))]))


def _is_whole(op: Any, at: Any, reduced: Any, first: Any, end: Any) -> Any:
    """Whether a shifted access at offset ``at`` is read at once: it lies in the row, or can be read beside it."""
    lanes, readable = width(op.results[0].type), op.operands[len(op.operands) - 1]
    return arith.ori(_inside(reduced, first, end, lanes), is_readable(at, lanes, readable))


def is_readable(at: Any, lanes: int, readable: Any) -> Any:
    """Whether ``lanes`` elements from offset ``at`` of an array on are among its first ``readable`` elements."""
    after = arith.addi(at, integer(at.type, lanes))
    early = arith.cmpi(arith.CmpIPredicate.sge, at, integer(at.type, 0))
    return arith.andi(early, arith.cmpi(arith.CmpIPredicate.sle, after, readable))


def _taken_out(op: Any) -> Any:
    """The fragment of an access that begins anywhere, taken out of the aligned accesses around it.

    The branch gives their words, so that no thread waits for them in it. If one of them leaves the array, or if other
    threads write there, it gives the words of single elements.
    """
    base, kept, reduced, _, end = list(op.operands)[:LOAD]
    readable = op.operands[len(op.operands) - 1]
    t, i64 = op.results[0].type, ir.IntegerType.get_signless(64)
    scalar, at = element(t), offset(op, kept, reduced, LOAD)
    lanes, item = width(t), bytes_of(memory_type(scalar))
    start = llvm.ptrtoint(i64, address(base, at, scalar))
    count = lanes * item // 4
    words = count + min(count, WORDS)

    def around() -> list[Any]:
        last = arith.addi(start, integer(i64, (lanes - 1) * item))
        return [*words_around(start, last, base.type, t), arith.trunci(word_type(), start)]

    def apart() -> list[Any]:
        return [*words_of(fragment(_apart(op, t))), *[i32(0)] * (words - count + 1)]

    if "inside" in op.attributes:
        *found, place = around()
        return taken_out(found, place, t)
    exists = arith.cmpi(arith.CmpIPredicate.slt, reduced, end)
    inside = arith.andi(exists, _is_around_readable(at, start, lanes, item, readable))
    *found, place = _if_else(inside, [word_type()] * (words + 1), around, apart)
    return taken_out(found, place, t)


def _is_around_readable(at: Any, start: Any, lanes: int, item: int, readable: Any) -> Any:
    """Whether the aligned accesses around ``lanes`` elements from offset ``at`` on are among the first ``readable``.

    ``start`` is the address of the first one, an i64.
    """
    unit = min(ALIGNED, lanes * item) // item
    number = arith.shrui(start, integer(start.type, item.bit_length() - 1))
    past = _resized(arith.andi(number, integer(start.type, unit - 1)), at.type)
    low = arith.subi(at, past)
    beyond = arith.andi(arith.subi(integer(at.type, 0), past), integer(at.type, unit - 1))
    high = arith.addi(arith.addi(at, integer(at.type, lanes)), beyond)
    early = arith.cmpi(arith.CmpIPredicate.sge, low, integer(at.type, 0))
    return arith.andi(early, arith.cmpi(arith.CmpIPredicate.sle, high, readable))


def _resized(x: Any, t: Any) -> Any:
    """An i64 as type ``t``, i32 or i64."""
    return x if x.type == t else arith.trunci(t, x)


def _at(op: Any, base: Any, kept: Any, reduced: Any, access: str, t: Any) -> Any:
    """The fragment at indices that exist."""
    lanes, scalar = width(t), element(t)
    if access == "bits":
        return load_word(base, offset(op, kept, reduced, LOAD), width(op.results[0].type))
    if access == "reversed":
        last = arith.addi(reduced, integer(reduced.type, lanes - 1))
        return backwards(load(base, offset(op, kept, last, LOAD), t))
    single = partial(load_bits if access == "bits_strided" else load, base)
    if access == "aligned" or lanes == 1:
        return single(offset(op, kept, reduced, LOAD), t)
    if access == "uniform":
        return splat(load(base, offset(op, kept, reduced, LOAD), scalar), lanes)
    columns = [arith.addi(kept, integer(kept.type, j)) if j else kept for j in range(lanes)]
    return fragment([single(offset(op, k, reduced, LOAD), scalar) for k in columns])


def _if_else(
    condition: Any, types: list[Any], there: Callable[[], list[Any]], else_: Callable[[], list[Any]]
) -> list[Any]:
    """Values of these types that one of two branches makes."""
    branch = scf.IfOp(condition, types, has_else=True)
    for block, make in ((branch.then_block, there), (branch.else_block, else_)):
        with ir.InsertionPoint(block):
            scf.YieldOp(make())
    return list(branch.results)


def _apart(op: Any, t: Any, before: int = 0) -> list[Any]:
    """The elements of a fragment of type ``t``, read one by one: those in the row, and one of them for each other one.

    The branch gives single elements, so that no thread waits for them in it. ``before`` says how many operands stand
    before those of the load.
    """
    base, kept, reduced, first, end = list(op.operands)[before : before + LOAD]
    index = reduced.type
    single = partial(load_bits if str_attr(op, "access", ELEMENT_ACCESS) in OF_BITS else load, base)
    low = arith.maxsi(reduced, first) if width(t) > 1 else reduced
    behind = arith.minsi(arith.addi(reduced, integer(index, width(t))), end)

    def read() -> list[Any]:
        high = arith.subi(behind, integer(index, 1))
        indices = [arith.addi(reduced, integer(index, j)) if j else reduced for j in range(width(t))]
        own = [arith.minsi(arith.maxsi(r, low), high) for r in indices] if width(t) > 1 else indices
        return [single(at, element(t)) for at in offsets(op, kept, own, before + LOAD)]

    def read_some() -> list[Any]:
        some = arith.cmpi(arith.CmpIPredicate.slt, low, behind)
        return _if_else(some, [element(t)] * width(t), read, nothing)

    def read_all() -> list[Any]:
        return [single(at, element(t)) for at in following(op, kept, reduced, width(t), before + LOAD)]

    def nothing() -> list[Any]:
        return [zeros(element(t))] * width(t)

    if width(t) == 1 or int_attr(op, "reduced_rank") < 2:
        return read_some()
    whole = _inside(reduced, first, end, width(t))
    return _if_else(whole, [element(t)] * width(t), read_all, nothing if "uncut" in op.attributes else read_some)


def clamped(r: Any, first: Any, end: Any) -> Any:
    """The index in [first, end) that is nearest to ``r``."""
    return arith.minsi(arith.maxsi(r, first), arith.subi(end, integer(end.type, 1)))


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
            here = on if whole else arith.andi(on, _inside(reduced, first, end, 1))
            _if(here, lambda: store(value, base, offset(op, kept, reduced, STORE)))
            replace(op, [])
            return
        at_once = access != "strided" or lanes == 1
        cut = not whole and along == "reduced" and access != "aligned" and lanes > 1
        here = on if whole else arith.andi(on, _inside(reduced, first, end, lanes if at_once and cut else 1))
        if at_once:
            _if(here, lambda: store(value, base, offset(op, kept, reduced, STORE)))
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
    here = on if whole else arith.andi(on, _inside(begin, first, end, 1))
    _if(here, lambda: store_word(word, base, at) if count == BITS_OF_WORD else store_bytes(word, base, at, count))


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
    whole = arith.andi(_inside(r, first, end, lanes), arith.xori(split, integer(split.type, 1)))
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

    _if(on, write)


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
        inside.append(_inside(arith.addi(r, moves[j]), first, end, 1))

    def write(j: int, count: int) -> None:
        store(fragment(scalars[j : j + count]), base, arith.addi(at, moves[j]))

    for j in range(0, len(scalars), each):
        last = j + each - 1
        if each == 1:
            _if(inside[j], partial(write, j, 1))
            continue
        together = arith.cmpi(arith.CmpIPredicate.eq, arith.subi(moves[last], moves[j]), integer(index, each - 1))
        branch = scf.IfOp(arith.andi(arith.andi(inside[j], inside[last]), together), has_else=True)
        with ir.InsertionPoint(branch.then_block):
            write(j, each)
            scf.YieldOp([])
        with ir.InsertionPoint(branch.else_block):
            for k in range(j, j + each):
                _if(inside[k], partial(write, k, 1))
            scf.YieldOp([])


def _inside(r: Any, first: Any, end: Any, lanes: int) -> Any:
    """Whether ``lanes`` elements from ``r`` on are in [first, end)."""
    low = arith.cmpi(arith.CmpIPredicate.sge, r, first)
    last = arith.addi(r, integer(r.type, lanes - 1)) if lanes > 1 else r
    return arith.andi(low, arith.cmpi(arith.CmpIPredicate.slt, last, end))


def _if(condition: Any, write: Any) -> None:
    branch = scf.IfOp(condition)
    with ir.InsertionPoint(branch.then_block):
        write()
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

            _if(_inside(r, first, end, 1), write) if cut else write()

    _if(on, write_all)
