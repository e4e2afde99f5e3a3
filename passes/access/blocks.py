"""Short rows that a thread holds in registers: the accesses of its rows, and the elements of each result in them.

All accesses are aligned. The accesses of the last thread with results may reach beyond the array. This thread reads the
last whole access of the array in their place, and the elements after it one by one.

Which element belongs to which result is known at compile time, so results pick their elements from registers. Truth
values stay words: a mask selects the bytes of a result, and four results make a word again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from ...compiler.ir.anchored import joined
from ...compiler.ir.build import address, before, from_memory, i32, integer, load, memory_type, replace, word_type
from ...compiler.ir.combine import elements, fragment, pack, single_op, unpack, width, with_shape
from ...compiler.ir.dialect.base import element, int_attr, values
from ...compiler.ir.mlir import arith, ir, llvm, scf, vector
from ..words.byte_reductions import is_set, lift_of, write_truths
from ..words.packing import BYTES, HIGH, as_bytes
from .unaligned import ALIGNED, WORDS


# --- the accesses --------------------------------------------------------------------------------------------------
def lower_load(op: Any) -> None:
    """Lowers a ``fold.block_load``: to whole accesses where they all lie in the array."""
    base, first, total = op.operands
    t, count = op.results[0].type, len(op.results)
    each, scalar = width(t), memory_type(element(t))
    with before(op):
        after = arith.addi(first, integer(first.type, count * each))
        words = with_shape(word_type(), WORDS)
        firsts = [arith.addi(first, integer(first.type, k * each)) if k else first for k in range(count)]
        branch = scf.IfOp(arith.cmpi(arith.CmpIPredicate.sle, after, total), [words] * count, has_else=True)
        with ir.InsertionPoint(branch.then_block):
            scf.YieldOp([_access(base, k, scalar) for k in firsts])
        with ir.InsertionPoint(branch.else_block):
            scf.YieldOp(_last(base, firsts, total, with_shape(scalar, each)))
        inside = [vector.bitcast(with_shape(scalar, each), x) for x in branch.results]
        replace(op, [from_memory(x, t) for x in inside])


def _access(base: Any, first: Any, scalar: Any) -> Any:
    """The words of the access that begins with element number ``first``."""
    where = address(base, first, scalar)
    return llvm.load(with_shape(word_type(), WORDS), where, alignment=ALIGNED, invariant=True)


def _last(base: Any, firsts: Sequence[Any], total: Any, t: Any) -> list[Any]:
    """The words of the accesses of a thread that may reach beyond the ``total`` elements of an array."""
    index, each, scalar = total.type, width(t), element(t)
    whole = arith.andi(total, integer(index, -each))
    final, greatest = arith.subi(whole, integer(index, each)), arith.subi(total, integer(index, 1))
    at = [arith.minsi(arith.addi(whole, integer(index, j)), greatest) for j in range(each)]
    left = fragment([load(base, k, scalar, invariant=True) for k in at])
    left = vector.bitcast(with_shape(word_type(), WORDS), left)
    read = [_access(base, arith.minsi(k, final), scalar) for k in firsts]
    cut = [arith.cmpi(arith.CmpIPredicate.eq, k, whole) for k in firsts]
    return [arith.select(here, left, x) for here, x in zip(cut, read, strict=True)]


# --- the results ---------------------------------------------------------------------------------------------------
def lower_reduce(op: Any) -> None:
    """Lowers a ``fold.block_reduce``."""
    with before(op):
        found = _truths(op)
        replace(op, [pack(_combined(op)) if found is None else found])


def _numbers(op: Any) -> list[list[int]]:
    """For each result the numbers of its elements among those of all accesses."""
    count, columns = int_attr(op, "elements"), int_attr(op, "columns")
    results = width(values(op.results[0].type)[0])
    firsts = [k // columns * count * columns + k % columns for k in range(results)]
    return [[first + r * columns for r in range(count)] for first in firsts]


def _combined(op: Any) -> list[Any]:
    """The results: fragments of their first elements, of their second ones, and so on, combined as a tree."""
    accesses, columns = [unpack(x) for x in op.operands], list(zip(*_numbers(op), strict=True))
    each = width(accesses[0][0].type)
    if columns == [tuple(range(k, k + each)) for k in range(0, each * len(accesses), each)]:
        return joined(op.regions[0], [partial(list, own) for own in accesses])
    flat = [[e for x in value for e in elements(x)] for value in zip(*accesses, strict=True)]

    def of(r: tuple[int, ...]) -> list[Any]:
        return [fragment([each[k] for k in r]) for each in flat]

    return joined(op.regions[0], [partial(of, r) for r in columns])


def _truths(op: Any) -> Any:
    """Whether any element of a result, or every element, is true, as a fragment; None if elements are not bytes."""
    combine = single_op(op.regions[0])
    if combine not in _JOINED or str(element(values(op.results[0].type)[0])) != "i1":
        return None
    lifts = [lift_of(x, combine) for x in op.operands]
    if not all(lifts):
        return None
    words = [w for lift in lifts for w in lift.words()]
    truths = [_JOINED[combine](words, numbers) for numbers in _numbers(op)]
    ones = [_in_a_word(truths[k : k + BYTES]) for k in range(0, len(truths), BYTES)]
    write_truths(op.results[0], ones)
    return is_set(as_bytes(ones, len(truths)))


def _any(words: list[Any], numbers: list[int]) -> Any:
    """1 if any of the bytes with these numbers is not zero, else 0."""
    found = [x if mask == -1 else arith.andi(x, i32(mask)) for mask, x in _by_mask(words, numbers, arith.ori)]
    return arith.minui(reduce(arith.ori, found), i32(1))


def _all(words: list[Any], numbers: list[int]) -> Any:
    """1 if all bytes with these numbers have their highest bit set, else 0."""
    found = [x if mask == -1 else arith.ori(x, i32(~mask)) for mask, x in _by_mask(words, numbers, arith.andi)]
    whole = arith.andi(reduce(arith.andi, found), i32(HIGH))
    return arith.extui(word_type(), arith.cmpi(arith.CmpIPredicate.eq, whole, i32(HIGH)))


_JOINED = {"arith.ori": _any, "arith.andi": _all}


def _by_mask(words: list[Any], numbers: list[int], join: Callable[[Any, Any], Any]) -> list[tuple[int, Any]]:
    """Pairs of a mask and a word that hold the bytes with these numbers; words with the same mask are joined."""
    masks: dict[int, int] = {}
    for k in numbers:
        masks[k // BYTES] = masks.get(k // BYTES, 0) | 0xFF << 8 * (k % BYTES)
    found: dict[int, Any] = {}
    for k, mask in masks.items():
        found[mask] = join(found[mask], words[k]) if mask in found else words[k]
    return [(mask - (mask >> 31 << 32), x) for mask, x in found.items()]


def _in_a_word(truths: list[Any]) -> Any:
    """Up to four ones and zeros as the bytes of a word."""
    return reduce(arith.ori, [arith.shli(x, i32(8 * j)) if j else x for j, x in enumerate(truths)])
