"""Vectors that go on from one row into the next: rows lie one behind another in memory, with gaps between them.

An access is read in parts, of which a row has the elements of one at least: so at most one end of a row is inside of a
part. What lies before that end is taken out of the words around it. What lies behind it is the end of a vector that
begins by the gap farther on: it is taken out of the words there. All words are asked for before any is used. An access
near the ends of the array may have words beyond it: it has single elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...compiler.ir.build import address, as_word, bytes_of, i32, integer, load, memory_type, word_type
from ...compiler.ir.combine import width
from ...compiler.ir.dialect.base import element, int_attr
from ...compiler.ir.mlir import arith, ir, llvm, scf
from ..words.packing import below, chosen
from .offsets import Part, parts
from .unaligned import WORD, fragment_of, shifted, words_of


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
