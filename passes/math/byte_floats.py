"""Floats of 8 bits, by the instruction that rounds two f32 to the bytes of two: ``cvt.rn.satfinite.e4m3x2.f32``."""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import integer
from ...compiler.ir.combine import elements, width
from ...compiler.ir.dialect.base import str_attr
from ...compiler.ir.dialect.program import BYTE_FLOATS
from ...compiler.ir.mlir import arith, ir, llvm, vector

_ROUNDED = dict(zip(BYTE_FLOATS, ("llvm.nvvm.ff.to.e4m3x2.rn", "llvm.nvvm.ff.to.e5m2x2.rn"), strict=True))


def encode(op: Any) -> Any:
    """The bytes of the elements of a fragment; a last one without a neighbour is rounded beside itself."""
    (x,), name = op.operands, _ROUNDED[str_attr(op, "format", BYTE_FLOATS)]
    byte, pair = (ir.IntegerType.get_signless(bits) for bits in (8, 16))
    found, lanes = elements(x), width(x.type)
    both = [(found[min(k + 1, lanes - 1)], found[k]) for k in range(0, lanes, 2)]  # the first one is the upper byte
    pairs = [llvm.call_intrinsic(pair, name, list(two), [], []) for two in both]
    if lanes == 1:
        return arith.trunci(byte, pairs[0])
    words = [_joined(pairs[k : k + 2]) for k in range(0, len(pairs), 2)] if lanes % 4 == 0 else pairs
    together = vector.from_elements(ir.VectorType.get([len(words)], words[0].type), words)
    whole = vector.bitcast(ir.VectorType.get([2 * len(pairs)], byte), together)
    return whole if lanes % 2 == 0 else vector.shuffle(whole, whole, list(range(lanes)))


def _joined(pairs: list[Any]) -> Any:
    """The word whose lower and upper half two pairs of bytes are."""
    word = ir.IntegerType.get_signless(32)
    low, high = (arith.extui(word, p) for p in pairs)
    return arith.ori(low, arith.shli(high, integer(word, 16)))
