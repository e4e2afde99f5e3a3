"""Lowers the writing of blocks to shared memory to ``stmatrix``: a warp writes 8 rows of 16 bytes a block.

Each lane gives the address of a row, and four bytes of every block. A target without the instruction (before sm_90)
writes words in its place, as ``lower_matrix_load.py`` reads them.

A transposed block of halves:

```mlir before
gpu.module @device {
  func.func @columns(%x: vector<2xbf16>, %tile: !llvm.ptr<3>, %row: i32) {
    "fold.matrix_store"(%x, %tile, %row) {blocks = 1, transposed = true} : (vector<2xbf16>, !llvm.ptr<3>, i32) -> ()
    func.return
  }
}
```

```mlir after
gpu.module @device {
  func.func @columns(%x: vector<2xbf16>, %tile: !llvm.ptr<3>, %row: i32) {
    %words = vector.bitcast %x : vector<2xbf16> to vector<1xi32>
    %word = vector.extract %words[0] : i32 from vector<1xi32>
    %at = llvm.getelementptr %tile[%row] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, bf16
    nvvm.stmatrix %at, %word {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<col>,
      shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : !llvm.ptr<3>, i32
    func.return
  }
}
```
"""

from __future__ import annotations

from typing import Any

from ..compiler.driver.pipeline import lowering
from ..compiler.ir.attributes import target_of
from ..compiler.ir.build import i32, integer, kernel_module, word_type
from ..compiler.ir.dialect.base import bool_attr
from ..compiler.ir.mlir import arith, ir, llvm, nvvm
from .access.matrix_blocks import Rows, shape, words_of


def _lowered(op: Any) -> list[Any]:
    x, base, row = op.operands
    words, rows = words_of(x), Rows(base, row, x.type.element_type)
    transposed = bool_attr(op, "transposed")
    if target_of(kernel_module(op)).has_matrix_stores:
        nvvm.stmatrix(rows.own(), words, **shape(transposed))
    else:
        nvvm.bar_warp_sync(i32(-1))  # as the instruction does: lanes may have read what others write
        for block, word in enumerate(words):
            (_write_pair if transposed else _write_word)(rows, block, word)
    return []


def _write_word(rows: Rows, block: int, word: Any) -> None:
    """Writes the lane's word of a block."""
    llvm.store(word, rows.word(block), alignment=4)


def _write_pair(rows: Rows, block: int, word: Any) -> None:
    """Writes the lane's two elements of a transposed block."""
    half = ir.IntegerType.get_signless(16)
    high = arith.shrui(word, integer(word_type(), 16))
    for part, at in zip((word, high), rows.pair(block), strict=True):
        llvm.store(arith.trunci(half, part), at, alignment=2)


PASS = lowering(
    "lower-matrix-store", {"fold.matrix_store": _lowered}, "write blocks of matrices to shared memory", stage=True
)
