"""How far apart the accesses of a thread lie: a number, or so many times the period that the kernel is told."""

from __future__ import annotations

from typing import Any

from ..compiler.build import integer
from ..compiler.dialect.base import integer as attribute
from ..compiler.mlir import arith


def apart(op: Any, count: int) -> Any:
    """The distance of ``count`` accesses of a ``fold.thread_reduce``, at the insertion point."""
    distance = integer(op.operands[0].type, count * attribute(op, "step"))
    return arith.muli(op.operands[3], distance) if len(op.operands) > 3 else distance
