"""Elementwise code, as fragments: what a thread reads, the program's code around the reduction, elements' numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...compiler.errors import error
from ...compiler.ir.combine import clone_block, constant, with_shape
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, ir, vector
from ...compiler.postorder import postorder
from .row import Row


class Elements(Row):
    """The fragments of a thread.

    Attributes:
        kept: the first result that the thread reads for.
        count: how many elements its result has, where a program asks.
        origin: the place of the element that has the number 0; none where it is the first.
        copies: by input, the copy in shared memory that its elements are read from, and where in it they begin.
        extents: by input that is read from the boundary before a row, the elements from its first to its last.
        beside: by input whose columns begin anywhere, its elements before the CTA's row of results, and behind it.
    """

    kept: Any
    count: Any
    origin: Any
    extents: dict[int, Any]
    beside: dict[int, list[Any]]

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self.copies: dict[int, list[Any]] = {}

    def value(self, v: Any, width: int, memo: dict[Any, Any], r: Any) -> Any:
        """The fragment of the tensor (or the scalar) ``v``, made at the insertion point if it is not in ``memo``."""
        for x in postorder([v], self.operands, memo):
            if isinstance(x, ir.BlockArgument):
                memo[x] = self.load(ir.BlockArgument(x).arg_number, element(x.type), r)
            else:
                memo[x] = self.node(x.owner, width if isinstance(x.type, ir.RankedTensorType) else 1, memo, r)
        return memo[v]

    @staticmethod
    def operands(v: Any) -> Sequence[Any]:
        """What ``v`` is made of."""
        return () if isinstance(v, ir.BlockArgument) else list(v.owner.operation.operands)

    def node(self, op: Any, width: int, memo: dict[Any, Any], r: Any) -> Any:
        """The fragment of what ``op`` makes, of which ``memo`` has the operands."""
        op = op.operation
        if op.name == "arith.constant":
            return constant(op.attributes["value"], 1)
        if op.name == "fold.count":
            t = op.results[0].type
            return self.count if self.count.type == t else arith.extsi(t, self.count)
        if op.name == "fold.iota":
            return self.numbers(element(op.results[0].type), r, width)
        operands = [memo[v] for v in op.operands]
        if op.name == "fold.broadcast":
            same = width == 1 or isinstance(operands[0].type, ir.VectorType)
            return operands[0] if same else vector.broadcast(with_shape(operands[0].type, width), operands[0])
        if len(op.results) != 1 or len(op.regions):
            raise error("WF321", stage="distribute", op=op.name, dtype=", ".join(str(x.type) for x in op.results))
        attributes = dict(op.attributes.items())
        t = with_shape(element(op.results[0].type), width)
        return ir.Operation.create(op.name, [t], operands, attributes, loc=op.location).results[0]

    def numbers(self, t: Any, r: Any, width: int) -> Any:
        """The caller's numbers of the elements of the access at ``r``."""
        layout = [self.arg("reduced_size", 0, d) for d in range(1, self.facts.reduced_rank)]
        layout += [self.arg("index_stride", 0, d) for d in range(self.facts.reduced_rank)]
        attributes = {"reduced_rank": self.facts.reduced_rank, "axis": self.plan.fast}
        number = r if self.origin is None else arith.subi(r, self.origin)
        return self.make("fold.position", t, [number, self.arg("index_base"), *layout], attributes, width)

    def load(self, operand: int, t: Any, r: Any) -> Any:
        facts = self.facts
        kept, reduced = self.kept_dims, range(facts.reduced_rank)
        layout = [self.arg("kept_size", 0, d) for d in kept[1:]] + [self.arg("reduced_size", 0, d) for d in reduced[1:]]
        layout += [self.arg("kept_stride", operand, d) for d in kept]
        layout += [self.arg("reduced_stride", operand, d) for d in reduced]
        layout += [self.extents[operand]] if operand in self.extents else []
        if operand in self.beside:
            layout += [*self.beside[operand], self.columns, self.arg("n_reduced")]
        base = self.starts[operand]
        if operand in self.copies:
            base, origin = self.copies[operand]
            layout += [origin]
        attributes = self.load_attributes(len(kept), len(reduced), self.plan.fast, facts.access[operand])
        return self.make("fold.load", t, [base, self.kept, r, *layout], attributes, self.plan.vector)

    def extent(self, operand: int) -> Any:
        """How many elements of an input lie from its first to its last."""
        one, found = self.number(1), self.number(1)
        for axis, rank in (("reduced", self.facts.reduced_rank), ("kept", self.facts.kept_rank)):
            for d, size in enumerate(self.sizes(axis, rank)):
                reach = arith.muli(arith.subi(size, one), self.arg(f"{axis}_stride", operand, d))
                found = arith.addi(found, reach)
        return found

    def sizes(self, axis: str, rank: int) -> list[Any]:
        """The sizes of the dims of an axis: that of the outermost is what the others leave of all its elements."""
        inner = [self.arg(f"{axis}_size", 0, d) for d in range(1, rank)]
        outermost = self.arg(f"n_{axis}")
        for size in inner:
            outermost = arith.divui(outermost, arith.maxui(size, self.number(1)))  # of an empty axis it is 0
        return [outermost, *inner]

    def load_attributes(self, kept_rank: int, reduced_rank: int, axis: str, access: str) -> dict[str, Any]:
        return {"kept_rank": kept_rank, "reduced_rank": reduced_rank, "axis": axis, "access": access}

    def neutral(self, width: int) -> list[Any]:
        """The identity state, as fragments."""
        return clone_block(self.identity.blocks[0], [], width)
