"""Where elements lie relative to the boundaries of the widest accesses."""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import address, integer, word_type
from ...compiler.ir.mlir import arith, ir, llvm

ACCESS = 16
"""The size and the alignment of the widest access, in bytes."""


def past_boundary(base: Any, index: Any, item: int) -> Any:
    """Elements of ``item`` bytes from the boundary of ``ACCESS`` bytes before element ``index`` of an array to it.

    The array begins at ``base``, at a multiple of ``item`` bytes. What is found has the type of ``index``.
    """
    start = llvm.ptrtoint(ir.IntegerType.get_signless(64), address(base, index, ir.IntegerType.get_signless(8 * item)))
    low = arith.trunci(word_type(), start)
    within = arith.andi(low, integer(low.type, ACCESS - 1))
    found = arith.shrui(within, integer(low.type, item.bit_length() - 1))
    return found if index.type.width == 32 else arith.extui(index.type, found)
