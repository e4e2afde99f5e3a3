"""Narrow elements packed in 32-bit words, and masks of such words.

Matches values by the op that defines them: constants, bytes that are tested, and what a loop yields.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import as_word, bytes_of, i32, integer, word_type
from ...compiler.ir.combine import width, with_shape
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, ir, llvm, vector
from ...compiler.postorder import postorder


def is_a(v: Any, *names: str) -> bool:
    """Whether an op with one of these names defines ``v``."""
    return not isinstance(v, ir.BlockArgument) and v.owner.name in names


def is_number(v: Any, number: int) -> bool:
    """Whether all elements of ``v`` are the constant ``number``, also where it has been widened."""
    while is_a(v, "arith.extsi", "arith.extui", "vector.broadcast"):
        v = v.owner.operands[0]
    if not is_a(v, "arith.constant"):
        return False
    value = v.owner.attributes["value"]
    values = list(ir.DenseIntElementsAttr(value)) if isinstance(v.type, ir.VectorType) else [value.value]
    return all(abs(int(x)) == number for x in values)  # a true is -1 to MLIR


def counts_up(v: Any) -> bool:
    """Whether the elements of ``v`` are the constants 0, 1, 2 and so on."""
    if is_a(v, "vector.from_elements"):
        return all(is_number(x, j) for j, x in enumerate(v.owner.operands))
    if not is_a(v, "arith.constant") or not isinstance(v.type, ir.VectorType):
        return False
    numbers = [int(x) for x in ir.DenseIntElementsAttr(v.owner.attributes["value"])]
    return numbers == list(range(len(numbers)))


def tested_bytes(v: Any) -> list[Any] | None:
    """The integers that the truth values ``v`` compare with zero, as a fragment or as scalars; None without one."""
    if is_a(v, "vector.from_elements"):
        each = [tested_bytes(x) for x in v.owner.operands]
        return [x for found in each for x in found or []] if all(each) else None
    if not is_a(v, "arith.cmpi") or not _tests_for_zero(v.owner):
        return None
    v = v.owner.operands[0]
    return [v.owner.operands[0] if is_a(v, "arith.extsi", "arith.extui") else v]


def _tests_for_zero(op: Any) -> bool:
    unequal = ir.IntegerAttr(op.attributes["predicate"]).value == int(arith.CmpIPredicate.ne)
    return unequal and is_number(op.operands[1], 0)


def yielded(op: Any) -> Any:
    """The fragment that the body of a ``fold.thread_reduce`` yields."""
    return list(op.regions[0].blocks[0].operations)[-1].operands[0]


BYTES = 4
"""Bytes of a word."""
LOW, HIGH = 0x7F7F7F7F, -0x7F7F7F80
"""The lower seven bits of each byte of a word, and the highest bit of each."""


def as_words(source: Any) -> list[Any]:
    """A fragment of narrow elements as words."""
    count = width(source.type) * bytes_of(element(source.type)) // BYTES
    words = vector.bitcast(ir.VectorType.get([count], word_type()), source)
    return [vector.extract(words, [], [i]) for i in range(count)]


def as_bytes(words: list[Any], count: int = 0) -> Any:
    """The first ``count`` bytes of the words, as a fragment; 0 means all."""
    together = vector.from_elements(ir.VectorType.get([len(words)], words[0].type), words)
    found = vector.bitcast(ir.VectorType.get([len(words) * BYTES], ir.IntegerType.get_signless(8)), together)
    return found if count in (0, len(words) * BYTES) else vector.shuffle(found, found, list(range(count)))


def high_bits(w: Any) -> Any:
    """The word ``w`` with each byte that is not zero replaced by 0x80."""
    return arith.andi(arith.ori(arith.addi(arith.andi(w, i32(LOW)), i32(LOW)), w), i32(HIGH))


def mixed(a: Any, b: Any, selectors: tuple[int, int]) -> list[Any]:
    """The words that ``prmt`` selects from the bytes of ``a`` and ``b``, one for each selector."""
    return [permuted(a, b, s) for s in selectors]


def permuted(a: Any, b: Any, selector: int) -> Any:
    """The word that ``prmt`` selects from the bytes of ``a`` and ``b``."""
    return llvm.call_intrinsic(a.type, "llvm.nvvm.prmt", [a, b, i32(selector)], [], [])


def chosen(mask: Any, a: Any, b: Any) -> Any:
    """The bits of ``a`` where ``mask`` is set, else those of ``b``."""
    return arith.ori(arith.andi(a, mask), arith.andi(b, arith.xori(mask, i32(-1))))


def mask_words(mask: Any, count: int, item: int = 1) -> list[Any]:
    """``count`` words with all bits of an element of ``item`` bytes set where the mask holds.

    A mask that compares indices with a bound takes a few instructions a word.
    """
    memo: dict[Any, list[Any]] = {}
    for m in postorder([mask], _masks):
        if is_a(m, "vector.broadcast"):
            memo[m] = memo[m.owner.operands[0]]
        elif width(m.type) > 1 and is_a(m, "arith.andi"):
            memo[m] = [arith.andi(a, b) for a, b in zip(*(memo[x] for x in m.owner.operands), strict=True)]
        else:
            memo[m] = _mask_words(m, count, item)
    return memo[mask]


def _masks(mask: Any) -> list[Any]:
    """The masks that ``mask`` joins or broadcasts."""
    joined = is_a(mask, "vector.broadcast") or (width(mask.type) > 1 and is_a(mask, "arith.andi"))
    return list(mask.owner.operands) if joined else []


def _mask_words(mask: Any, count: int, item: int) -> list[Any]:
    """The words of a mask that is no conjunction of other masks."""
    if width(mask.type) == 1:
        return [arith.extsi(word_type(), mask)] * count
    if (
        is_a(mask, "arith.cmpi")
        and counts_up(mask.owner.operands[0])
        and is_a(mask.owner.operands[1], "vector.broadcast")
    ):
        predicate = ir.IntegerAttr(mask.owner.attributes["predicate"]).value
        each = BYTES // item
        found = [below(mask.owner.operands[1].owner.operands[0], i * each, each) for i in range(count)]
        if predicate == int(arith.CmpIPredicate.slt):
            return found
        if predicate == int(arith.CmpIPredicate.sge):
            return [arith.xori(w, i32(-1)) for w in found]
    narrow = ir.IntegerType.get_signless(8 * item)
    return as_words(arith.extsi(with_shape(narrow, count * BYTES // item), mask))


def below(bound: Any, first: int, each: int) -> Any:
    """A word with all bits set of those elements whose index is less than ``bound``.

    The word has ``each`` elements, of which the first has the index ``first``. The other bits are shifted out in two
    halves of at most 16: a single shift by 32 would shift nothing.
    """
    t = bound.type
    count = arith.minsi(arith.maxsi(bound, integer(t, first)), integer(t, first + each))
    half = 4 * BYTES // each
    out = arith.subi(integer(t, half * (first + each)), arith.muli(count, integer(t, half)))
    out = as_word(out)
    return arith.shrui(arith.shrui(i32(-1), out), out)
