"""What every part of a distributed kernel is written with: the function it comes from, its arguments, and ops."""

from __future__ import annotations

from typing import Any

from ...compiler.errors import WarpfoldError, error
from ...compiler.ir import attributes
from ...compiler.ir.combine import clone_block, pack, unpack, with_shape
from ...compiler.ir.dialect.base import element, is_constant, values
from ...compiler.ir.locations import named, place_of
from ...compiler.ir.mlir import arith, ir
from ...compiler.plan.abi import Param
from ...compiler.plan.plan import Plan


class Kernel:
    """One function on tensors, and the kernel that it becomes.

    Attributes:
        function, plan, facts, block: what is distributed, and its body.
        lay: the plan by which threads lie: this one, or when their warps have met what it says for then.
        reduce, reduced, results: its one ``fold.reduce``, the tensors with what that gives, and those it returns.
        sources, states, identity, combine: the tensors that are reduced, the types of the state, and the monoid.
        indexed, counted: whether it asks for the numbers of elements, and for their count.
        index: the type of an index.
        args: the kernel's arguments.
    """

    def __init__(self, function: Any) -> None:
        self.function = function
        self.plan, self.facts = attributes.read(function)
        self.lay = self.plan
        self.block = function.regions[0].blocks[0]
        ops = [o.operation for o in self.block.operations]
        reduces = [o for o in ops if o.name == "fold.reduce"]
        if len(reduces) != 1:
            raise self.refused("exactly one fold.reduce", len(reduces))
        self.reduce, self.results = reduces[0], list(ops[-1].operands)
        ranks = self.facts.kept_rank + self.facts.reduced_rank
        if any(t.rank != ranks for t in values(self.reduce.operands[0].type)):
            found = self.reduce.operands[0].type
            raise self.refused(f"tensors of kept_rank + reduced_rank = {ranks} dims", found)
        self.reduced = self._reduced()
        self._check_ragged()
        self.indexed, self.counted = (any(o.name == name for o in ops) for name in ("fold.iota", "fold.count"))
        self.index = ir.IntegerType.get_signless(self.facts.index_bits)
        self.sources = unpack(self.reduce.operands[0])
        self.states = [element(v.type) for v in self.sources]
        self.identity, self.combine = self.reduce.regions
        for region in self.reduce.regions:
            own_constants(region)
        self.args: dict[Param, Any] = {}

    def refused(self, expected: str, found: object) -> WarpfoldError:
        """The error of a function that is no program."""
        return error("WF320", expected=expected, found=found, where=place_of(self.function))

    def _check_ragged(self) -> None:
        """Ragged rows begin anywhere and are no longer than a CTA can take."""
        names = ("vector", "tile_bytes", "cluster", "finish")
        wanted, found = (", ".join(f"{n} = {getattr(p, n)}" for n in names) for p in (Plan(), self.plan))
        if self.facts.ragged and wanted != found:
            raise self.refused(f"{wanted} for ragged rows", found)

    def _reduced(self) -> list[Any]:
        """The tensors that carry the reduction's results: the result itself, or what its tuple is unpacked into."""
        (result,) = self.reduce.results
        if not isinstance(result.type, ir.TupleType):
            return [result]
        for use in result.uses:
            return list(use.owner.results)
        raise self.refused("a use of the fold.reduce", "none")

    def arg(self, role: str, operand: int = 0, dim: int = 0) -> Any:
        return self.args[Param(role, operand, dim)]  # type: ignore[arg-type]

    def name_values(self, *attributes: str) -> None:
        """Names the values of these attributes after them."""
        for word in attributes:
            named(getattr(self, word), word)

    def number(self, value: int) -> Any:
        return arith.constant(self.index, ir.IntegerAttr.get(self.index, value))

    def yes(self) -> Any:
        one = ir.IntegerType.get_signless(1)
        return arith.constant(one, ir.IntegerAttr.get(one, 1))

    def id(self, op: Any) -> Any:
        """A ``gpu`` id or dim along x or y as an index."""
        return arith.index_cast(self.index, op)

    def is_first(self, x: Any) -> Any:
        return arith.cmpi(arith.CmpIPredicate.eq, x, self.number(0))

    def modulo(self, x: Any, extent: int) -> Any:
        return arith.andi(x, self.number(extent - 1)) if extent > 1 else self.number(0)

    def divide(self, x: Any, extent: int) -> Any:
        return arith.shrui(x, self.number(extent.bit_length() - 1)) if extent > 1 else x

    def scaled(self, x: Any, factor: int, plus: Any = None) -> Any:
        product = arith.muli(x, self.number(factor)) if factor > 1 else x
        return product if plus is None else arith.addi(product, plus)

    # --- ops --------------------------------------------------------------------------------------------------------
    def make(self, name: str, scalar: Any, operands: list[Any], attributes: dict[str, Any], width: int) -> Any:
        return self.make_op(name, [with_shape(scalar, width)], operands, attributes).results[0]

    def stage(
        self,
        name: str,
        types: list[Any],
        operands: list[Any],
        attributes: dict[str, Any],
        regions: int = 1,
        combine: int = -1,
    ) -> Any:
        """A stage op whose region number ``combine`` is a copy of the reduce's combine region."""
        op = self.make_op(name, types, operands, attributes, regions)
        source = self.combine.blocks[0]
        block = op.regions[combine if combine >= 0 else regions - 1].blocks.append(*[a.type for a in source.arguments])
        with ir.InsertionPoint(block):
            ir.Operation.create("fold.yield", [], [pack(clone_block(source, list(block.arguments), 1))])
        return op

    def make_op(
        self, name: str, types: list[Any], operands: list[Any], attributes: dict[str, Any], regions: int = 0
    ) -> Any:
        i64 = ir.IntegerType.get_signless(64)
        made: dict[str, Any] = {}
        for key, v in attributes.items():
            plain = ir.IntegerAttr.get(i64, v) if not isinstance(v, bool | str) else None
            made[key] = plain or (ir.BoolAttr.get(v) if isinstance(v, bool) else ir.StringAttr.get(v))
        return ir.Operation.create(name, types, operands, made, regions=regions)


def own_constants(region: Any) -> None:
    """Gives the code of ``region`` constants of its own in place of those around it: it is copied into the kernel."""
    (block,) = region.blocks
    inside = {r for o in block.operations for r in o.operation.results}
    copies: dict[Any, Any] = {}
    for op in [o.operation for o in block.operations]:
        for i, v in enumerate(op.operands):
            if v not in inside and is_constant(v):
                if v not in copies:
                    with ir.InsertionPoint.at_block_begin(block):
                        copies[v] = v.owner.operation.clone().operation.results[0]
                op.operands[i] = copies[v]
