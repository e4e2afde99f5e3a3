"""Lowers the sums of the rows of a matrix to ``mma.sync``: the product with a matrix of ones, on the tensor cores.

Each column of the product has the sums of all rows, so the lanes of a row hold them all. They are added to what the
lane starts from. A target that has no such instruction is refused.

The rows of two blocks of f16:

```mlir before
gpu.module @device {
  func.func @sums(%x: vector<4xf16>, %start: vector<2xf32>) -> vector<2xf32> {
    %sums = "fold.matrix_reduce"(%x, %start) : (vector<4xf16>, vector<2xf32>) -> vector<2xf32>
    func.return %sums : vector<2xf32>
  }
}
```

```mlir after
gpu.module @device {
  func.func @sums(%x: vector<4xf16>, %start: vector<2xf32>) -> vector<2xf32> {
    %words = vector.bitcast %x : vector<4xf16> to vector<2xi32>
    %upper_word = vector.extract %words[0] : i32 from vector<2xi32>
    %lower_word = vector.extract %words[1] : i32 from vector<2xi32>
    %upper = llvm.bitcast %upper_word : i32 to vector<2xf16>
    %lower = llvm.bitcast %lower_word : i32 to vector<2xf16>
    %ones_word = arith.constant 1006648320 : i32
    %ones = llvm.bitcast %ones_word : i32 to vector<2xf16>
    %start_upper = vector.extract %start[0] : f32 from vector<2xf32>
    %start_lower = vector.extract %start[1] : f32 from vector<2xf32>
    %product = nvvm.mma.sync A[%upper, %lower] B[%ones] C[%start_upper, %start_upper, %start_lower, %start_lower]
      {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 8>}
      : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %sum_upper = llvm.extractvalue %product[0] : !llvm.struct<(f32, f32, f32, f32)>
    %sum_lower = llvm.extractvalue %product[2] : !llvm.struct<(f32, f32, f32, f32)>
    %sums = vector.from_elements %sum_upper, %sum_lower : vector<2xf32>
    func.return %sums : vector<2xf32>
  }
}
```
"""

from __future__ import annotations

from typing import Any

from ..compiler.driver.pipeline import lowering
from ..compiler.errors import error
from ..compiler.ir.attributes import target_of
from ..compiler.ir.build import bytes_of, i32, kernel_module
from ..compiler.ir.combine import elements, fragment
from ..compiler.ir.dialect.base import bool_attr, int_attr
from ..compiler.ir.dialect.shared import HALVES
from ..compiler.ir.lane_exchange import lane_id
from ..compiler.ir.mlir import arith, ir, llvm, nvvm
from ..compiler.plan.plan import QUAD
from .access.matrix_blocks import words_of

ONES = {"f16": 0x3C003C00, "bf16": 0x3F803F80, "i8": 0x01010101}
"""A word of ones."""
NAMES = {"f16": "f16", "bf16": "bf16", "i8": "s8"}
"""The instruction's names of the types of elements; bytes have a sign."""


def _lowered(op: Any) -> list[Any]:
    x, start = op.operands
    unsigned = "unsigned" in op.attributes and bool_attr(op, "unsigned")
    name = "u8" if unsigned else NAMES[str(x.type.element_type)]
    arch = target_of(kernel_module(op))
    if not arch.has_matrix_sums:
        raise error("WF325", op=op.name, arch=arch.arch)
    lanes = int_attr(op, "lanes") if "lanes" in op.attributes else QUAD
    return [_sums(x, start, name, lanes)]


def _sums(x: Any, start: Any, name: str, lanes: int) -> Any:
    """The sums of the lane's two rows, over the elements that ``lanes`` lanes hold."""
    element, words = x.type.element_type, words_of(x)
    as_factor = _halves if name == "f16" else lambda word: word
    factors = [as_factor(word) for word in words]
    ones = as_factor(_ones(str(element), lanes))
    columns = 16 // bytes_of(element) * (len(words) // 2)
    upper, lower = elements(start)
    scalar = upper.type
    product = nvvm.mma_sync(
        ir.Type.parse(f"!llvm.struct<({', '.join([str(scalar)] * 4)})>"),
        ir.Attribute.parse(f"#nvvm.shape<m = 16, n = 8, k = {columns}>"),
        nvvm.MMALayout.row,
        nvvm.MMALayout.col,
        factors,
        [ones] * (len(factors) // 2),
        [upper, upper, lower, lower],
        **_types(name),
    )
    return fragment([llvm.extractvalue(scalar, product, [k]) for k in (0, 2)])


def _ones(element: str, lanes: int) -> Any:
    """The lane's word of the matrix of ones.

    A lane takes its sums from a column of its own, and the lane holds a word of column l // 4 for the elements of
    lanes l % 4. Where fewer lanes are summed, columns have zeros for the elements of all others.
    """
    ones = i32(ONES[element])
    if lanes == QUAD:
        return ones
    lane, shift = lane_id(), i32(lanes.bit_length() - 1)
    taker = arith.shrui(arith.shrui(lane, i32(3)), shift)
    holder = arith.shrui(arith.andi(lane, i32(QUAD - 1)), shift)
    return arith.select(arith.cmpi(arith.CmpIPredicate.eq, taker, holder), ones, i32(0))


def _halves(word: Any) -> Any:
    """A word as two f16."""
    return llvm.bitcast(ir.VectorType.get([2], ir.F16Type.get()), word)


def _types(name: str) -> dict[str, Any]:
    """The attributes that say what words hold."""
    kind = getattr(nvvm.MMATypes, name)
    overflow = {} if name in HALVES else {"int_overflow_behavior": nvvm.MMAIntOverflow.wrapped}
    return {"multiplicand_a_ptx_type": kind, "multiplicand_b_ptx_type": kind, **overflow}


PASS = lowering("lower-matrix-reduce", {"fold.matrix_reduce": _lowered}, "sum the rows of matrices by mma", stage=True)
