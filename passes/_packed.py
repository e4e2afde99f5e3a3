"""Bytes added four at a time: sums of 8-bit integers, and counts of bytes that are not zero.

Where a thread adds up bytes and the elements of its vector are combined in the end, any order gives the same integer.
So the bytes of an access are added as words, ``dp4a`` with a one for each byte, instead of widened one by one. Of a
byte that is not zero the highest bit is set first, and the others cleared, which counts 128: ((w & 0x7f) + 0x7f) | w
has it for each byte of w, and no carry leaves its byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

from ..compiler.build import i32, integer, splat
from ..compiler.combine import clone_block, horizontal, single_op, width
from ..compiler.dialect.base import integer as attribute
from ..compiler.mlir import arith, ir, llvm, scf, vector

_BYTES = 4
_LOW, _HIGH, _ONES = 0x7F7F7F7F, -0x7F7F7F80, 0x01010101
_COUNT_BITS = 7
"""A byte that is not zero counts 2^7."""


@dataclass(frozen=True)
class _Lift:
    """How an element is made of a byte.

    Attributes:
        source: the bytes of an access.
        mask: which of them count; None for all.
        signed: whether they are signed.
        counts: whether an element is one for each byte that is not zero, else the byte.
    """

    source: Any
    mask: Any
    signed: bool
    counts: bool


def lower(op: Any) -> list[Any] | None:
    """The state that the ``fold.thread_reduce`` gives, its loop added before it; None where it does not add bytes."""
    begin, end, init = op.operands
    body, region = op.regions
    if not _folds(op) or single_op(region) != "arith.addi" or _lift(_yielded(body.blocks[0])) is None:
        return None
    step, unroll, t = attribute(op, "step"), attribute(op, "unroll"), begin.type
    first = vector.extract(init, [], [0])
    loop = scf.ForOp(begin, end, integer(t, step * unroll), [first])
    with ir.InsertionPoint(loop.body):
        r = loop.induction_variable
        starts = [arith.addi(r, integer(t, u * step)) if u else r for u in range(unroll)]
        lifts = [_lift(clone_block(body.blocks[0], [start], 1)[0]) for start in starts]
        scf.YieldOp([arith.addi(loop.inner_iter_args[0], _widened([x for x in lifts if x], first.type))])
    state = [vector.insert(loop.results[0], init, [], [0])]
    return state if op.results[0].type == init.type else horizontal(region, state, width(init.type))


def _yielded(block: Any) -> Any:
    return list(block.operations)[-1].operands[0]


def _folds(op: Any) -> bool:
    """Whether the state is one vector, whose elements are combined here or in a later piece of the walk."""
    init = op.operands[2]
    if isinstance(init.type, ir.TupleType) or width(init.type) == 1:
        return False
    while op.results[0].type == init.type:
        users = [u.owner for u in op.results[0].uses]
        if len(users) != 1 or users[0].name != "fold.thread_reduce":
            return False
        op = users[0]
    return True


def _lift(v: Any) -> _Lift | None:
    """How the fragment ``v`` is made of bytes; None where it is not."""
    mask = None
    if _is(v, "arith.select") and _is_number(v.owner.operands[2], 0):
        mask, v = v.owner.operands[0], v.owner.operands[1]
        mask = None if _is_number(mask, 1) else mask
    if not _is(v, "arith.extsi", "arith.extui"):
        return None
    signed, source = v.owner.name == "arith.extsi", v.owner.operands[0]
    counts = not signed and _is(source, "arith.cmpi") and _tests_for_zero(source.owner)
    if counts:
        source = source.owner.operands[0]
        source = source.owner.operands[0] if _is(source, "arith.extsi", "arith.extui") else source
    known = str(source.type.element_type) == "i8" and width(source.type) % _BYTES == 0
    return _Lift(source, mask, signed, counts) if known else None


def _is(v: Any, *names: str) -> bool:
    return not isinstance(v, ir.BlockArgument) and v.owner.name in names


def _tests_for_zero(op: Any) -> bool:
    unequal = ir.IntegerAttr(op.attributes["predicate"]).value == int(arith.CmpIPredicate.ne)
    return unequal and _is_number(op.operands[1], 0)


def _is_number(v: Any, number: int) -> bool:
    """Whether all elements of ``v`` are this constant, as it stands or widened."""
    while _is(v, "arith.extsi", "arith.extui", "vector.broadcast"):
        v = v.owner.operands[0]
    if not _is(v, "arith.constant"):
        return False
    value = v.owner.attributes["value"]
    values = [value.value] if isinstance(value, ir.IntegerAttr) else list(ir.DenseIntElementsAttr(value))
    return all(abs(int(x)) == number for x in values)  # a true is -1 to MLIR


def _sum(lift: _Lift) -> Any:
    """The sum over one access, of counts 128 times as much, as an i32."""
    lanes, source = width(lift.source.type), lift.source
    if lift.mask is not None:
        source = arith.select(lift.mask, source, splat(integer(source.type.element_type, 0), lanes))
    word = ir.IntegerType.get_signless(32)
    words, total = vector.bitcast(ir.VectorType.get([lanes // _BYTES], word), source), i32(0)
    for i in range(lanes // _BYTES):
        w = vector.extract(words, [], [i])
        if lift.counts:
            w = arith.andi(arith.ori(arith.addi(arith.andi(w, i32(_LOW)), i32(_LOW)), w), i32(_HIGH))
        name = "llvm.nvvm.idp4a.s.s" if lift.signed else "llvm.nvvm.idp4a.u.u"
        total = llvm.call_intrinsic(word, name, [w, i32(_ONES), total], [], [])
    return total


def _widened(lifts: list[_Lift], t: Any) -> Any:
    """What the accesses of a step add to the state of type ``t``."""
    total = reduce(arith.addi, [_sum(x) for x in lifts])
    if lifts[0].counts:
        total = arith.shrui(total, i32(_COUNT_BITS))
    if t.width == total.type.width:
        return total
    return (arith.extsi if lifts[0].signed else arith.extui)(t, total)
