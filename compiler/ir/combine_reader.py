"""Reads a combine of the IR as the nodes of ``program/analysis/formulas.py``."""

from __future__ import annotations

from typing import Any

from ..program.analysis.formulas import Node, Read
from .combine import unpack
from .mlir import ir

_OPS = {"arith.addf": "add", "arith.addi": "add", "arith.mulf": "mul", "arith.muli": "mul", "math.fma": "fma"}


def made_by(region: Any) -> tuple[list[Any], Read]:
    """The values that a combine yields, and a function that reads them and their operands as nodes."""
    block = region.blocks[0]
    made = [x for v in list(block.operations)[-1].operation.operands for x in unpack(v)]
    return made, _reader(block)


def _reader(block: Any) -> Read:
    """What reads the values of a block that has a combine: each once."""
    nodes = {v: Node("param", (), k) for k, v in enumerate(block.arguments)}

    def read(v: Any) -> Node:
        if v not in nodes and isinstance(v, ir.BlockArgument):
            nodes[v] = Node(f"taken from outside, {len(nodes)}")
        elif v not in nodes:
            op = v.owner.operation
            details = [f"{name}={value}" for name, value in op.attributes.items()] if op.name not in _OPS else ()
            nodes[v] = Node(_OPS.get(op.name) or " ".join((op.name, *details, str(v.type))), list(op.operands))
        return nodes[v]

    return read
