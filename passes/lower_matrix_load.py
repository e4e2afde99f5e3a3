"""Lowers the reading of blocks from shared memory to ``ldmatrix``: a warp gets 8 rows of 16 bytes a block.

Each lane gives the address of a row, and gets four bytes of every block. A target without the instruction reads words
in its place: lanes ask each other for the index of the row that holds their part. The bits are the same.

Two transposed blocks of halves:

```mlir before
gpu.module @device {
  func.func @columns(%tile: !llvm.ptr<3>, %row: i32) -> vector<4xbf16> {
    %x = "fold.matrix_load"(%tile, %row) {blocks = 2, transposed = true} : (!llvm.ptr<3>, i32) -> vector<4xbf16>
    func.return %x : vector<4xbf16>
  }
}
```

```mlir after
gpu.module @device {
  func.func @columns(%tile: !llvm.ptr<3>, %row: i32) -> vector<4xbf16> {
    %at = llvm.getelementptr %tile[%row] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, bf16
    %blocks = nvvm.ldmatrix %at {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>,
      num = 2 : i32, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)>
    %first = llvm.extractvalue %blocks[0] : !llvm.struct<(i32, i32)>
    %second = llvm.extractvalue %blocks[1] : !llvm.struct<(i32, i32)>
    %words = vector.from_elements %first, %second : vector<2xi32>
    %x = vector.bitcast %words : vector<2xi32> to vector<4xbf16>
    func.return %x : vector<4xbf16>
  }
}
```
"""

from __future__ import annotations

from typing import Any

from ..compiler.driver.pipeline import lowering
from ..compiler.ir.attributes import target_of
from ..compiler.ir.build import integer, kernel_module, word_type
from ..compiler.ir.dialect.base import bool_attr, int_attr
from ..compiler.ir.mlir import arith, ir, llvm, nvvm
from .access.matrix_blocks import Rows, fragment_of, shape


def _lowered(op: Any) -> list[Any]:
    fragment = op.results[0].type
    base, row = op.operands
    rows = Rows(base, row, fragment.element_type)
    blocks, transposed = int_attr(op, "blocks"), bool_attr(op, "transposed")
    if target_of(kernel_module(op)).has_matrix_loads:
        words = _by_instruction(rows, blocks, transposed)
    else:
        words = [(_pair if transposed else _word)(rows, k) for k in range(blocks)]
    return [fragment_of(words, fragment)]


def _by_instruction(rows: Rows, blocks: int, transposed: bool) -> list[Any]:
    """The words of the lane, all at once."""
    word = word_type()
    several = ir.Type.parse(f"!llvm.struct<({', '.join(['i32'] * blocks)})>")
    found = nvvm.ldmatrix(rows.own(), blocks, **shape(transposed), results=[word if blocks == 1 else several])
    return [found] if blocks == 1 else [llvm.extractvalue(word, found, [k]) for k in range(blocks)]


def _word(rows: Rows, block: int) -> Any:
    """The lane's word of a block, from shared memory."""
    return llvm.load(word_type(), rows.word(block), alignment=4)


def _pair(rows: Rows, block: int) -> Any:
    """The lane's two elements of a transposed block, as a word."""
    half = ir.IntegerType.get_signless(16)
    low, high = (arith.extui(word_type(), llvm.load(half, at, alignment=2)) for at in rows.pair(block))
    return arith.ori(low, arith.shli(high, integer(word_type(), 16)))


PASS = lowering(
    "lower-matrix-load", {"fold.matrix_load": _lowered}, "read blocks of matrices from shared memory", stage=True
)
