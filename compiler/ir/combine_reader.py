"""Reads a combine of the IR as the nodes of ``program/analysis/formulas.py``.

Each stage of a kernel has a copy of the same combine. Nodes are numbers, so that equal copies have equal formulas, and
what is found of one holds for all: analyses keep their answers by formula.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..program.analysis.formulas import Node
from .combine import unpack

_OPS = {"arith.addf": "add", "arith.addi": "add", "arith.mulf": "mul", "arith.muli": "mul", "math.fma": "fma"}
KEPT = 256
"""The formulas of which an analysis keeps its answers."""


class Formula(NamedTuple):
    """A combine.

    Attributes:
        nodes: the nodes by number: both states, and then what the ops give, in their order.
        made: the numbers of the values that it yields.
    """

    nodes: tuple[Node, ...]
    made: tuple[int, ...]

    def read(self, number: int) -> Node:
        """The node of a number."""
        return self.nodes[number]


class Combine(NamedTuple):
    """A combine with its formula.

    Attributes:
        formula: the formula.
        values: the values of its nodes.
    """

    formula: Formula
    values: list[Any]

    @classmethod
    def of(cls, region: Any) -> Combine:
        """The combine of a region, each op of which is read once."""
        block = region.blocks[0]
        values = list(block.arguments)
        nodes = [Node("param", (), k) for k in range(len(values))]
        numbers = {v: k for k, v in enumerate(values)}

        def number(v: Any) -> int:
            if v not in numbers:
                add(v, Node(f"taken from outside, {len(nodes)}"))
            return numbers[v]

        def add(v: Any, node: Node) -> None:
            numbers[v] = len(nodes)
            values.append(v)
            nodes.append(node)

        *ops, last = [o.operation for o in block.operations]
        for op in ops:
            name, args = op.name, tuple(map(number, op.operands))
            details = [f"{a}={value}" for a, value in op.attributes.items()] if name not in _OPS else ()
            for k, v in enumerate(op.results):
                add(v, Node(_OPS.get(name) or " ".join((name, *details, str(v.type), str(k))), args))
        made = tuple(number(x) for v in last.operands for x in unpack(v))
        return cls(Formula(tuple(nodes), made), values)
