"""Matches values by the op that defines them: constants, bytes that are tested, and what a loop yields."""

from __future__ import annotations

from typing import Any

from ...compiler.ir.mlir import arith, ir


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
