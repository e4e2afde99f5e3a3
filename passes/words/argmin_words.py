"""The words of an access: what they are made of, and words made again of elements and their numbers.

A program that looks for the first of the least or the greatest elements takes the least of words (``fold.word``). The
rank depends on the element alone, and the number decides between equal ranks. Narrow elements and f32 then have order
keys (``order_keys.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...compiler.ir.combine import constant, splat, width, with_shape
from ...compiler.ir.dialect.base import bool_attr, element, int_attr
from ...compiler.ir.mlir import ir
from ...compiler.postorder import postorder
from ..lower_word import written
from .order_keys import BITS, WORD, Key, key_of, tested
from .packing import is_a, is_number


@dataclass(frozen=True)
class Word:
    """The words of an access as functions of elements and numbers.

    Attributes:
        made: the words, as a fragment.
        masks: a word counts if all of these hold for it.
        source: the elements, or truth values that say whether bytes are not zero.
        numbers: the numbers of the elements, as a fragment.
        key: the order key of the elements.
    """

    made: Any
    masks: tuple[Any, ...]
    source: Any
    numbers: Any
    key: Key

    def again(self, v: Any) -> Word:
        """The words ``v`` of another access, which are made in the same way."""
        made, masks = _unmasked(v)
        source, numbers, _ = _leaves(made) or (None, None, False)
        return replace(self, made=made, masks=masks, source=source, numbers=numbers)

    def key_words(self) -> list[Any]:
        """The keys of the access, packed in words."""
        return self.key.words(self.source)

    def floats(self) -> Any:
        """The floats of the access, of which the greatest comes first."""
        return self.key.plain(self.source)

    def at(self, keys: Any, r: Any) -> Any:
        """The words of elements with these ``keys`` that are the first of the accesses at the indices ``r``."""
        block, lanes = self.made.owner.operation.block, width(keys.type)
        first = self.numbers.owner.operands[0]
        memo = {block.arguments[0]: r, self.source: self.key.elements(keys, element(self.source.type))}
        memo[self.numbers] = _rebuilt(first, memo, block, lanes)
        return written(_rebuilt(self.made, memo, block, lanes).owner.operation)


def word_of(v: Any, *, narrow: bool) -> Word | None:
    """The fragment ``v`` as words of elements with order keys and of numbers; None if it holds no such words."""
    made, masks = _unmasked(v)
    found = _leaves(made)
    if found is None:
        return None
    source, numbers, signed = found
    op, kind = made.owner, str(element(source.type))
    key = key_of(kind, signed=signed, falls=bool_attr(op, "falls"))
    fits = int_attr(op, "bits") == WORD or (narrow and int_attr(op, "bits") == BITS[kind])
    return Word(made, masks, source, numbers, key) if key and fits else None


# --- what words are made of ------------------------------------------------------------------------------------------
def _unmasked(v: Any) -> tuple[Any, tuple[Any, ...]]:
    """``v`` without its masks, and the masks, without those that are constant true."""
    masks: tuple[Any, ...] = ()
    while is_a(v, "arith.select") and _is_last(v.owner.operands[2]):
        mask, v = v.owner.operands[0], v.owner.operands[1]
        masks += () if is_number(mask, 1) else (mask,)
    return v, masks


def _is_last(v: Any) -> bool:
    """Whether ``v`` is the greatest integer of its type, which is the identity of min."""
    t = element(v.type)
    return isinstance(t, ir.IntegerType) and is_number(v, (1 << t.width - 1) - 1)


def _leaves(v: Any) -> tuple[Any, Any, bool] | None:
    """The elements as loaded (or tested bytes), the numbers, and whether elements have a sign, of the words ``v``."""
    if not is_a(v, "fold.word") or not is_a(v.owner.operands[1], "vector.from_elements"):
        return None
    source, numbers = v.owner.operands
    signed = not bool_attr(v.owner, "unsigned")
    while is_a(source, "arith.extsi", "arith.extui", "arith.extf"):
        signed, source = signed and source.owner.name != "arith.extui", source.owner.operands[0]
    return None if str(element(source.type)) == "i1" and tested(source) is None else (source, numbers, signed)


def _rebuilt(v: Any, memo: dict[Any, Any], block: Any, lanes: int) -> Any:
    """Clones the ops of ``block`` that compute ``v``, for fragments of ``lanes``; ``memo`` maps values to new ones."""
    for x in postorder([v], lambda x: _operands(x, block), memo):
        op = None if isinstance(x, ir.BlockArgument) else x.owner.operation
        if op is not None and op.name == "arith.constant":
            value = op.attributes["value"]
            value = ir.DenseElementsAttr(value).get_splat_value() if width(x.type) > 1 else value
            memo[x] = constant(value, lanes)
        elif op is not None and op.name == "vector.broadcast":
            memo[x] = memo[op.operands[0]]
        elif op is None or op.block != block:
            memo[x] = splat(x, lanes)
        else:
            operands = [memo[y] for y in op.operands]
            types = [with_shape(element(r.type), lanes) for r in op.results]
            made = ir.Operation.create(op.name, types, operands, dict(op.attributes.items()), loc=op.location)
            memo.update(zip(op.results, made.results, strict=True))
    return memo[v]


def _operands(v: Any, block: Any) -> list[Any]:
    """The operands of the op that defines ``v``, if it stands in ``block`` or broadcasts a scalar."""
    op = None if isinstance(v, ir.BlockArgument) else v.owner.operation
    return list(op.operands) if op is not None and (op.block == block or op.name == "vector.broadcast") else []
