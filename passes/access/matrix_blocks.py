"""What the reading and the writing of blocks of matrices share: the rows that lanes name, and the words of a fragment.

A lane has a word of four bytes of every block. By words of shared memory it finds the row of its word at the lane that
names it: row l // 4 of a block as it lies, rows 2 * (l % 4) and the next one of a transposed block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...compiler.ir.build import address, bytes_of, i32, word_type
from ...compiler.ir.lane_exchange import lane_id, of_lane
from ...compiler.ir.mlir import arith, ir, nvvm, vector

ROWS = 8
"""Rows of a block."""


def words_of(x: Any) -> list[Any]:
    """The words of a fragment, one of each block."""
    t = ir.VectorType(x.type)
    count = t.shape[0] * bytes_of(t.element_type) // 4
    words = vector.bitcast(ir.VectorType.get([count], word_type()), x)
    return [vector.extract(words, [], [k]) for k in range(count)]


def fragment_of(words: Sequence[Any], t: Any) -> Any:
    """The fragment of type ``t`` that has these words."""
    held = vector.from_elements(ir.VectorType.get([len(words)], word_type()), list(words))
    return vector.bitcast(t, held)


def shape(transposed: bool) -> dict[str, Any]:
    """The attributes of an instruction that moves blocks of 8 rows of 16 bytes."""
    return {
        "layout": nvvm.MMALayout.col if transposed else nvvm.MMALayout.row,
        "shape": ir.Attribute.parse("#nvvm.ld_st_matrix_shape<m = 8, n = 8>"),
        "elt_type": ir.Attribute.parse("#nvvm.ld_st_matrix_elt_type<b16>"),
    }


class Rows:
    """The rows that the lanes of a warp name, each by the index of its first element of type ``element``."""

    def __init__(self, base: Any, row: Any, element: Any) -> None:
        self.base, self.row, self.element = base, row, element

    def own(self) -> Any:
        """The address of the row that this lane names."""
        return address(self.base, self.row, self.element)

    def word(self, block: int) -> Any:
        """The address of this lane's word of a block."""
        lane = lane_id()
        named = of_lane(self.row, arith.addi(arith.shrui(lane, i32(2)), i32(ROWS * block)))
        column = arith.muli(arith.andi(lane, i32(3)), i32(4 // bytes_of(self.element)))
        return address(self.base, arith.addi(named, self._index(column)), self.element)

    def pair(self, block: int) -> list[Any]:
        """The addresses of this lane's two elements of a transposed block."""
        lane = lane_id()
        first = arith.addi(arith.shli(arith.andi(lane, i32(3)), i32(1)), i32(ROWS * block))
        column = self._index(arith.shrui(lane, i32(2)))
        return [
            address(self.base, arith.addi(of_lane(self.row, at), column), self.element)
            for at in (first, arith.addi(first, i32(1)))
        ]

    def _index(self, x: Any) -> Any:
        """An i32 in the type of an index."""
        return x if x.type == self.row.type else arith.extui(self.row.type, x)
