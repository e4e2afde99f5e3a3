"""Sums of elements of 8 and 16 bits over several lanes, by the tensor cores.

The words that a lane has read, as they are, are its part of the rows of a matrix. Its product with a matrix of ones has
the sums over up to four neighbouring lanes (``fold.matrix_reduce``): there is nothing to unpack, and no shuffle. The
order of the elements of a row does not matter to its sum, so no lane needs another one's words.

All lanes of a warp multiply together, so they stay in the loop until the last of them is done. A lane without accesses
has words of zeros.

Halves are added to f32, as the unit rounds it. Bytes are added to i32; where the state has 64 bits, those of a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...compiler.errors import error
from ...compiler.ir.build import bytes_of, i32, integer, made, word_type
from ...compiler.ir.combine import clone_block, fragment, single_op, width
from ...compiler.ir.dialect.base import element, int_attr
from ...compiler.ir.dialect.shared import SUMS
from ...compiler.ir.locations import place_of
from ...compiler.ir.mlir import arith, ir, nvvm, scf, vector
from ..access.matrix_blocks import fragment_of
from ..access.thread_loop import apart
from .byte_reductions import counting, lift_of, widened
from .packing import BYTES, as_words, is_a, is_number, mask_words, yielded

MOST_WORDS = 4
"""Words of a lane that one product adds."""


@dataclass(frozen=True)
class Addends:
    """The elements of an access that are added.

    Attributes:
        type: the name of their type: f16, bf16 or i8.
        unsigned: whether bytes have no sign.
        count: how many words hold them.
        masks: an element counts if all of these hold for it; those of bytes are in ``source``.
        source: the elements, or the lift of bytes.
    """

    type: str
    unsigned: bool
    count: int
    masks: tuple[Any, ...]
    source: Any

    def words(self) -> list[Any]:
        """The words, with zeros for elements that do not count."""
        if self.type == "i8":
            return counting(self.source)
        found = as_words(self.source)
        for mask in self.masks:
            inside = mask_words(mask, self.count, BYTES // 2)
            found = [arith.andi(w, m) for w, m in zip(found, inside, strict=True)]
        return found


def addends(v: Any) -> Addends | None:
    """The elements of 8 or 16 bits that the fragment ``v`` has as f32 or as integers; None if it has others."""
    if isinstance(element(v.type), ir.IntegerType):
        lift = lift_of(v, "arith.addi")
        return Addends("i8", not lift.signed, lift.lanes // BYTES, (), lift) if lift else None
    masks: tuple[Any, ...] = ()
    while is_a(v, "arith.select") and _is_zero(v.owner.operands[2]):
        mask, v = v.owner.operands[0], v.owner.operands[1]
        masks += () if is_number(mask, 1) else (mask,)
    if not is_a(v, "arith.extf") or str(element(v.type)) != "f32":
        return None
    source = v.owner.operands[0]
    scalar, nbytes = element(source.type), width(source.type) * bytes_of(element(source.type))
    known = str(scalar) in SUMS and nbytes % BYTES == 0
    return Addends(str(scalar), False, nbytes // BYTES, masks, source) if known else None


def _is_zero(v: Any) -> bool:
    """Whether all elements of a float fragment are the constant 0."""
    while is_a(v, "vector.broadcast"):
        v = v.owner.operands[0]
    if not is_a(v, "arith.constant"):
        return False
    value = v.owner.attributes["value"]
    return all(x == 0 for x in (ir.DenseFPElementsAttr(value) if isinstance(v.type, ir.VectorType) else [value.value]))


def lower(op: Any) -> Any:
    """Writes the loop of a ``fold.thread_reduce`` that is ``summed``, and returns its state.

    Raises:
        CompileError: WF326 where it adds no elements of 8 or 16 bits.
    """
    init, result, add = op.operands[2], op.results[0].type, single_op(op.regions[1])
    several = isinstance(init.type, ir.TupleType)
    if several or add not in ("arith.addf", "arith.addi") or addends(yielded(op)) is None:
        raise error("WF326", type=str(init.type), where=place_of(op))
    sums = _loop(op, [vector.extract(init, [], [k]) for k in range(2)])
    if result == init.type:
        return vector.insert(sums[1], vector.insert(sums[0], init, [], [0]), [], [1])
    return arith.addf(*sums) if add == "arith.addf" else arith.addi(*sums)


def _loop(op: Any, first: list[Any]) -> list[Any]:
    """Two sums after all steps; the loop ends for all lanes of a warp at once."""
    begin, end = list(op.operands)[:2]
    if "once" in op.attributes:
        return _step(op, begin, _before(begin, end), first)
    types = [begin.type, *(v.type for v in first)]
    loop = scf.WhileOp(types, [begin, *first])
    r, *sums = loop.before.blocks.append(*types).arguments
    with ir.InsertionPoint(loop.before.blocks[0]):
        some = nvvm.vote_sync(i32(-1), _before(r, end), nvvm.VoteSyncKind.any)
        scf.ConditionOp(some, [r, *sums])
    r, *sums = loop.after.blocks.append(*types).arguments
    with ir.InsertionPoint(loop.after.blocks[0]):
        then = _step(op, r, _before(r, end), list(sums))
        scf.YieldOp([arith.addi(r, apart(op, int_attr(op, "unroll"))), *then])
    return list(loop.results)[1:]


def _before(r: Any, end: Any) -> Any:
    return arith.cmpi(arith.CmpIPredicate.slt, r, end)


def _step(op: Any, r: Any, here: Any, sums: list[Any]) -> list[Any]:
    """The sums after the accesses of one step, which a lane makes if it is ``here``."""
    unroll, kind = int_attr(op, "unroll"), addends(yielded(op))
    assert kind is not None
    branch = scf.IfOp(here, [word_type()] * (unroll * kind.count), has_else=True)
    with ir.InsertionPoint(branch.then_block):
        starts = [arith.addi(r, apart(op, u)) if u else r for u in range(unroll)]
        read = [addends(clone_block(op.regions[0].blocks[0], [start], 1)[0]) for start in starts]
        scf.YieldOp([w for each in read for w in each.words()])  # type: ignore[union-attr]
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp([i32(0)] * (unroll * kind.count))
    words = [*branch.results, *[i32(0)] * (len(branch.results) % 2)]
    total, own = ir.Type.parse(SUMS[kind.type]), sums[0].type
    found = sums if own == total else [integer(total, 0)] * 2
    for k in range(0, len(words), MOST_WORDS):
        found = _added(op, words[k : k + MOST_WORDS], kind, found)
    if own == total:
        return found
    return [arith.addi(x, widened(y, own, signed=not kind.unsigned)) for x, y in zip(sums, found, strict=True)]


def _added(op: Any, words: Sequence[Any], kind: Addends, sums: Sequence[Any]) -> list[Any]:
    """Two sums, to which the elements in the words of several lanes are added."""
    scalar, start = ir.Type.parse(kind.type), fragment(sums)
    t = ir.VectorType.get([len(words) * BYTES // bytes_of(scalar)], scalar)
    attributes: dict[str, Any] = {"lanes": op.attributes["summed"]}
    if kind.unsigned:
        attributes["unsigned"] = ir.BoolAttr.get(True)
    operands = [fragment_of(words, t), start]
    (found,) = made(ir.Operation.create("fold.matrix_reduce", [start.type], operands, attributes)).results
    return [vector.extract(found, [], [k]) for k in range(2)]
