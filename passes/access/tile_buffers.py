"""Where a tile lies: in an array of static shared memory, or in dynamic shared memory, where an SM has more of it."""

from __future__ import annotations

from typing import Any

from ...compiler.ir.build import address, dynamic_shared, i32, integer, shared_buffer, word_type
from ...compiler.ir.dialect.base import int_attr
from ...compiler.ir.mlir import arith


def tile_buffer(op: Any, name: str, place: Any = None) -> Any:
    """The address of the tile of ``op``: of a new array ``name``, or behind ``dynamic`` bytes of dynamic memory.

    There, tiles may have several places, of ``bytes`` each.
    """
    if place is not None:
        words = arith.muli(place, integer(place.type, int_attr(op, "bytes") // 4))
        words = arith.addi(words, integer(place.type, int_attr(op, "dynamic") // 4))
        return address(dynamic_shared(op), words, word_type())
    if "dynamic" not in op.attributes:
        return shared_buffer(op, name, int_attr(op, "bytes") // 4, word_type())
    start = int_attr(op, "dynamic") // 4
    return address(dynamic_shared(op), i32(start), word_type()) if start else dynamic_shared(op)
