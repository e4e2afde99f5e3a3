"""Loads of elements of a row of which some may lie beside it: none of these is touched.

Those beside the row may be another thread's, which writes them if a result lies where an input does. An aligned access
lies in the row as a whole or not at all. A shifted one may be cut by either end: its elements are then read one by one,
unless no thread writes what lies beside the row. So are those of an unaligned one, where the aligned accesses around it
may not be read.

Vectors that go on from one row into the next: rows lie one behind another in memory, with gaps between them.

An access is read in parts, of which a row has the elements of one at least: so at most one end of a row is inside of a
part. What lies before that end is taken out of the words around it. What lies behind it is the end of a vector that
begins by the gap farther on: it is taken out of the words there. All words are asked for before any is used. An access
near the ends of the array may have words beyond it: it has single elements.

Which indices lie in a row, and which elements of an array can be read beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ...compiler.ir.build import (
    address,
    as_word,
    before,
    bytes_of,
    from_memory,
    i32,
    integer,
    load,
    memory_type,
    replace,
    word_type,
    zeros,
)
from ...compiler.ir.combine import backwards, fragment, splat, width, with_shape
from ...compiler.ir.dialect.access import ELEMENT_ACCESS
from ...compiler.ir.dialect.base import element, int_attr, str_attr
from ...compiler.ir.mlir import arith, ir, llvm, scf
from ...compiler.plan.fields import OF_BITS
from ..words.packed_bytes import of_bits
from ..words.packing import below, chosen
from .loads import load_bits, load_word
from .offsets import Part, behind_index, following, offset, parts
from .unaligned import ALIGNED, WORD, WORDS, fragment_of, shifted, taken_out, words_around, words_of


def is_inside(r: Any, first: Any, end: Any, lanes: int) -> Any:
    """Whether ``lanes`` elements from ``r`` on are in [first, end)."""
    low = arith.cmpi(arith.CmpIPredicate.sge, r, first)
    last = arith.addi(r, integer(r.type, lanes - 1)) if lanes > 1 else r
    return arith.andi(low, arith.cmpi(arith.CmpIPredicate.slt, last, end))


def is_readable(at: Any, lanes: int, readable: Any) -> Any:
    """Whether ``lanes`` elements from offset ``at`` of an array on are among its first ``readable`` elements."""
    after = arith.addi(at, integer(at.type, lanes))
    early = arith.cmpi(arith.CmpIPredicate.sge, at, integer(at.type, 0))
    return arith.andi(early, arith.cmpi(arith.CmpIPredicate.sle, after, readable))


def clamped(r: Any, first: Any, end: Any) -> Any:
    """The index in [first, end) that is nearest to ``r``."""
    return arith.minsi(arith.maxsi(r, first), arith.subi(end, integer(end.type, 1)))


def split(op: Any, fixed: int, apart: Callable[[], Any]) -> Any:
    """The fragment of a ``split`` load whose layout follows ``fixed`` operands; ``apart`` reads single elements."""
    base, kept, reduced = list(op.operands)[:3]
    end, t, index = op.operands[len(op.operands) - 1], op.results[0].type, reduced.type
    lanes, scalar, size = width(t), memory_type(element(t)), int_attr(op, "part")
    each = WORD // bytes_of(scalar)
    count, total = size // each, lanes // each
    # Elements lie in the order of their indices: the words of those in between lie in the array.
    early = arith.cmpi(arith.CmpIPredicate.sge, reduced, integer(index, each))
    late = arith.cmpi(arith.CmpIPredicate.sle, reduced, arith.subi(end, integer(index, lanes + each)))
    found = parts(op, kept, reduced, size, lanes // size, fixed)
    taken = 2 * (count + 2) + 1  # words of a part: those before and behind an end, with their places, and the end
    branch = scf.IfOp(arith.andi(early, late), [word_type()] * (taken * len(found)), has_else=True)
    with ir.InsertionPoint(branch.then_block):
        scf.YieldOp([w for part in found for w in _asked_for(base, part, size, scalar)])
    with ir.InsertionPoint(branch.else_block):
        single = words_of(apart())
        own = [single[k : k + count] for k in range(0, total, count)]
        scf.YieldOp([w for words in own for w in (*words, *[i32(0)] * (count + 4), i32(size))])
    words = list(branch.results)
    pieces = [_joined(words[k : k + taken], count, each) for k in range(0, len(words), taken)]
    return fragment_of([w for piece in pieces for w in piece], scalar, t)


def _asked_for(base: Any, part: Part, size: int, scalar: Any) -> list[Any]:
    """The words of a part before and behind the end in it, with their places, and how many elements are before it."""
    count = size * bytes_of(scalar) // WORD
    left = as_word(arith.minsi(part.left, integer(part.left.type, size)))
    here = _around(base, part.at, scalar, count)
    crosses = arith.cmpi(arith.CmpIPredicate.slt, left, i32(size))
    rest = scf.IfOp(crosses, [word_type()] * (count + 2), has_else=True)
    with ir.InsertionPoint(rest.then_block):
        scf.YieldOp(_around(base, arith.addi(part.at, part.gap), scalar, count))
    with ir.InsertionPoint(rest.else_block):
        scf.YieldOp([i32(0)] * (count + 2))
    return [*here, *rest.results, left]


def _joined(words: list[Any], count: int, each: int) -> list[Any]:
    """The ``count`` words of a part, of ``each`` elements a word, out of those that it has asked for."""
    *around, left = words
    (*here, place), (*there, next_place) = around[: count + 2], around[count + 2 :]
    masks = [below(left, each * k, each) for k in range(count)]
    return [chosen(*own) for own in zip(masks, shifted(here, place), shifted(there, next_place), strict=True)]


def _around(base: Any, at: Any, scalar: Any, count: int) -> list[Any]:
    """The ``count`` words and one more that hold elements from offset ``at`` on, and the first one's address."""
    i64 = ir.IntegerType.get_signless(64)
    start = llvm.ptrtoint(i64, address(base, at, scalar))
    boundary = llvm.inttoptr(base.type, arith.andi(start, integer(i64, -WORD)))
    return [*(load(boundary, i32(k), word_type()) for k in range(count + 1)), arith.trunci(word_type(), start)]


LOAD = 5
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
        elif access == "split":
            value = split(op, LOAD, lambda: fragment(_apart(op, stored)))
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
    return arith.ori(is_inside(reduced, first, end, lanes), is_readable(at, lanes, readable))


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
        if width(t) == 1:
            return [single(offset(op, kept, reduced, before + LOAD), element(t))]
        far = [arith.subi(r, reduced) for r in (low, arith.subi(behind, integer(index, 1)))]
        own = [arith.minsi(arith.maxsi(integer(index, j), far[0]), far[1]) for j in range(width(t))]
        return [single(at, element(t)) for at in behind_index(op, kept, reduced, own, before + LOAD)]

    def read_some() -> list[Any]:
        some = arith.cmpi(arith.CmpIPredicate.slt, low, behind)
        return _if_else(some, [element(t)] * width(t), read, nothing)

    def read_all() -> list[Any]:
        return [single(at, element(t)) for at in following(op, kept, reduced, width(t), before + LOAD)]

    def nothing() -> list[Any]:
        return [zeros(element(t))] * width(t)

    split_near_ends = str_attr(op, "access", ELEMENT_ACCESS) == "split"
    if width(t) == 1 or int_attr(op, "reduced_rank") < 2 or split_near_ends:
        return read_some()
    whole = is_inside(reduced, first, end, width(t))
    return _if_else(whole, [element(t)] * width(t), read_all, nothing if "uncut" in op.attributes else read_some)
