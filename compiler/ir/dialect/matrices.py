"""Level 1: fragments of matrices: blocks of 8 rows of 16 bytes that a warp reads, writes and sums together.

A block is 8x8 elements of 16 bits, or 8x16 of 8 bits. Of each block every lane holds four bytes: lane l has the
elements of row l // 4 from byte 4 * (l % 4) on. A transposed block of 16-bit elements is held the other way: lane l has
the elements of column l // 4 in the rows 2 * (l % 4) and the next one.
"""

from typing import Any

from ...plan.plan import QUAD
from ..mlir import ext, ir
from .base import SHARED, Fold, bool_attr, check_index, check_pointer, check_result, coded, expect, power_of_two

BLOCKS = 4
"""The most blocks of an access."""
HALVES, BYTES = ("f16", "bf16", "i16"), ("i8",)
"""The types of elements of 16 and of 8 bits."""
SUMS = {"f16": "f32", "bf16": "f32", "i8": "i32"}
"""The type of the sums of elements that a matrix unit adds."""


class MatrixLoadOp(Fold.Operation, name="matrix_load"):  # type: ignore[misc]
    """Reads blocks from shared memory into the registers of a warp.

    ``x = fold.matrix_load base, row {blocks, transposed}``: lane 8 * b + r names row r of block b by the index ``row``
    of its first element; ``blocks`` is 1, 2 or 4, and the rows that other lanes name are not read. A row is 16 bytes on
    a boundary of 16 bytes. The vector ``x`` has the lane's elements of the first block, then those of the second, and
    so on. All lanes of the warp take part.
    """

    base: ext.Operand[Any]
    row: ext.Operand[Any]
    x: ext.Result[Any]
    blocks: Any
    transposed: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        _check_access(op, op.results[0].type, "as a result", 0)


class MatrixStoreOp(Fold.Operation, name="matrix_store"):  # type: ignore[misc]
    """Writes blocks from the registers of a warp into shared memory.

    ``fold.matrix_store x, base, row {blocks, transposed}``: as ``fold.matrix_load``, the other way.
    """

    x: ext.Operand[Any]
    base: ext.Operand[Any]
    row: ext.Operand[Any]
    blocks: Any
    transposed: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        _check_access(op, op.operands[0].type, "as operand 0", 1)


class MatrixReduceOp(Fold.Operation, name="matrix_reduce"):  # type: ignore[misc]
    """Adds the elements of each row of a matrix to a sum: the product of the matrix and one of ones.

    ``sums = fold.matrix_reduce x, start {[lanes], [unsigned]}``: ``x`` is a matrix of 16 rows, in two blocks or in
    four. The first block has its upper rows, the second one its lower rows, the third and the fourth one more columns
    of these.
    Lane l gets the sums of rows l // 4 and l // 4 + 8, each added to ``start``: f32 of halves, i32 of bytes, which are
    signed without ``unsigned``. With ``lanes``, 1 or 2, the sums are of the elements that so many neighbouring lanes
    hold, and not of whole rows: of bytes alone, since the unit multiplies the other elements of the row by zero, and
    an infinity times zero is no zero. All lanes of the warp take part.
    """

    x: ext.Operand[Any]
    start: ext.Operand[Any]
    sums: ext.Result[Any]

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        t = op.operands[0].type
        scalar, count = _vector(t)
        expect(scalar in SUMS and count in _counts(scalar)[1:], op, "two or four blocks of f16, bf16 or i8", t)
        check_result(op, ir.VectorType.get([2], ir.Type.parse(SUMS[scalar])))
        start = op.operands[1].type
        expect(start == op.results[0].type, op, f"a {op.results[0].type} as operand 1", start)
        if "lanes" in op.attributes:
            lanes = power_of_two(op, "lanes", QUAD)
            expect(scalar == "i8" or lanes == QUAD, op, f"{QUAD} lanes for {t}", lanes)
        if "unsigned" in op.attributes:
            bool_attr(op, "unsigned")
            expect(scalar == "i8", op, "unsigned for i8 alone", t)


def _check_access(op: Any, t: Any, where: str, base: int) -> None:
    """Checks an access whose fragment has the type ``t``."""
    check_pointer(op, base, SHARED)
    check_index(op, base + 1)
    blocks, transposed = power_of_two(op, "blocks", BLOCKS), bool_attr(op, "transposed")
    scalar, count = _vector(t)
    known = HALVES if transposed else (*HALVES, *BYTES)
    expect(scalar in known, op, f"a vector of {' '.join(known)} {where}", t)
    expect(count == blocks * _each(scalar), op, f"a vector of {blocks * _each(scalar)} elements {where}", count)


def _each(scalar: str) -> int:
    """The elements of a block that a lane holds."""
    return 4 if scalar in BYTES else 2


def _counts(scalar: str) -> tuple[int, ...]:
    """The lengths of fragments of 1, 2 and 4 blocks."""
    return tuple(blocks * _each(scalar) for blocks in (1, 2, 4))


def _vector(t: Any) -> tuple[str, int]:
    """The element type and the length of a vector; of anything else its own name, and none."""
    if isinstance(t, ir.VectorType) and len(t.shape) == 1 and not any(t.scalable_dims):
        return str(t.element_type), int(t.shape[0])
    return str(t), 0
