"""Rows of persistent CTAs that begin anywhere: what an access has of beside the row counts nothing in a fold.

All rows of a CTA begin equally far after a boundary, so the same few threads have accesses that an end cuts. These put
zeros in place of what is not the row's when they read it; the others jump over that. A source of a fold that is zero
where the elements are, such as a square, then needs no mask. For others each thread has the bits of its elements.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any

from ....compiler.ir.build import bytes_of, i32, memory_type, word_type, zeros
from ....compiler.ir.combine import splat, unpack, width, with_shape
from ....compiler.ir.dialect.base import element
from ....compiler.ir.mlir import arith, ir, scf, vector
from ....compiler.ir.uniform_fragments import constant
from ....compiler.planner.layouts.tiled import WORD
from ....compiler.postorder import postorder
from ..kernel import Kernel
from ..reader import operands_of
from .row_accesses import RowAccesses

FLOATS = ("f16", "bf16", "f32", "f64")
"""The types of elements that get zeros."""
ZERO_OF_ZEROS = ("arith.addf", "arith.subf", "arith.mulf", "arith.negf", "arith.extf", "arith.truncf", "math.absf")
"""Functions that are zero where all of their operands are."""


def with_zeros(row: RowAccesses, value: Any, r: Any, *, begins: bool) -> Any:
    """The fragment that was read at ``r``, with zeros in place of what lies beside the row."""
    limit = arith.subi(row.chunk.limit, row.kernel.number(row.kernel.plan.vector - 1))
    whole = row.kernel.less(r, limit)
    if begins:
        whole = arith.andi(whole, arith.cmpi(arith.CmpIPredicate.sge, r, row.chunk.first))
    count = width(value.type) * bytes_of(memory_type(element(value.type))) // WORD
    words = vector.bitcast(with_shape(word_type(), count), value)
    branch = scf.IfOp(whole, [words.type], has_else=True)  # of words: of halves each would be a value of its own
    with ir.InsertionPoint(branch.then_block):
        scf.YieldOp([words])
    with ir.InsertionPoint(branch.else_block):
        own = arith.select(of_row(row, r, begins=begins), value, zeros(value.type))
        scf.YieldOp([vector.bitcast(words.type, own)])
    return vector.bitcast(value.type, branch.results[0])


def with_zeros_beside(kernel: Kernel) -> list[int]:
    """The inputs that all rows share whose slots have zeros beside the row: ``cp.async`` copies others as they are."""
    return [i for i in kernel.facts.lasting if kernel.facts.access[i] != "aligned"]


def of_row(row: RowAccesses, r: Any, *, begins: bool) -> Any:
    """Which elements of the access at ``r`` lie in the row: bits of a word, which are tested one by one."""
    plan, index, word = row.kernel.plan, row.kernel.index, word_type()
    most = row.kernel.number(plan.vector)

    def ones_from(x: Any) -> Any:
        count = arith.minsi(arith.maxsi(x, row.kernel.number(0)), most)
        count = count if index == word else arith.trunci(word, count)
        return arith.shli(i32(-1), count)

    bits = arith.xori(ones_from(arith.subi(row.chunk.limit, r)), i32(-1))
    if begins:
        bits = arith.andi(bits, ones_from(arith.subi(row.chunk.first, r)))
    each = with_shape(word, plan.vector)
    own = ir.DenseElementsAttr.get([ir.IntegerAttr.get(word, 1 << k) for k in range(plan.vector)], each)
    found = arith.andi(splat(bits, plan.vector), arith.constant(each, own))
    return arith.cmpi(arith.CmpIPredicate.ne, found, zeros(each))


def begins_with_zeros(phase: Kernel) -> bool:
    """Whether the identity of a fold is zeros."""
    (block,) = phase.reduce.regions[0].blocks
    *_, last = block.operations
    return all(constant(x) == 0 for v in last.operands for x in unpack(v))


def masked_first(sources: Sequence[Any], zero: Container[Any], varies: Callable[[Any], bool]) -> list[Any]:
    """The values to put zeros into, so that all ``sources`` of a fold are zero beside the row, as ``zero`` is there.

    They are the values that are not zero where what they are made of is, such as differences from a mean.
    """
    made: dict[Any, bool] = {}  # whether a value is zero by itself
    for v in postorder(sources, operands_of, made):
        if isinstance(v, ir.BlockArgument):
            made[v] = v in zero
        else:
            made[v] = v.owner.name in ZERO_OF_ZEROS and all(made[x] or varies(x) for x in operands_of(v))
    return list(dict.fromkeys(v for source in sources for v in _ends(source, made)))


def _ends(v: Any, made: Mapping[Any, bool]) -> Iterator[Any]:
    """The values that are not zero by themselves from which ``v`` is made by functions that are."""
    if not made[v]:
        yield v
    elif not isinstance(v, ir.BlockArgument):
        for x in operands_of(v):
            yield from _ends(x, made)
