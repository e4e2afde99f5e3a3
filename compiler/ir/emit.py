"""Emission: a ``Kernel`` becomes a tensor program, one ``func.func`` on tensors of the collapsed dims.

Reads the graph, writes level 0 of the IR, with plan and facts as attributes of the function for ``distribute``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dtypes import I64, DType
from ..errors import Location
from ..plan.abi import Kernel
from ..program.analysis.proofs import is_at_most_zero
from ..program.graph import (
    ELEMENT,
    KEPT,
    REDUCED,
    SCALAR,
    SECTION,
    SIDE,
    Expr,
    MonoidGraph,
    ScanGraph,
    Space,
    union,
    walk,
)  # fmt: skip
from ..program.storage import encoded_as
from ..target import Target
from . import attributes
from .combine import pack, unpack
from .dialect.base import state_type
from .elementwise import Shape, attribute, convert_integer, elementwise, mlir_type
from .locations import named
from .mlir import arith, func, ir
from .source_lines import Lines, numbered

DYNAMIC = -(2**63)
AT_MOST_ZERO = "fold.at_most_zero"
"""The attribute of an op whose result is known to be at most 0, or NaN."""


def location(where: Location | None, number: int = 0) -> Any:
    """The MLIR location of a user's line, with the number of the place (``lines.py``) as its column."""
    return ir.Location.file(where.file, where.line, number) if where else ir.Location.unknown()


def scalars(roots: Sequence[Expr], params: Sequence[Any], lines: Lines | None = None) -> list[Any]:
    """Emits a scalar graph (a combine) at the insertion point; ``lines`` gives the location of each node."""
    values: dict[str, Any] = {}

    def splat(value: object, t: DType) -> Any:
        return arith.constant(mlir_type(t), attribute(value, t))

    for e in walk(tuple(roots)):
        with location(*lines.at(e, combine=True)) if lines else location(e.where):
            if e.op == "param":
                values[e.digest] = params[e.value]  # type: ignore[call-overload]
            elif e.op == "const":
                values[e.digest] = splat(e.value, e.dtype)
            else:
                values[e.digest] = elementwise(e, [values[a.digest] for a in e.args], Shape(lambda t: t, splat))
    return [values[r.digest] for r in roots]


def emit(kernels: Sequence[Kernel], target: Target) -> Any:
    """A module with the tensor program of each kernel; needs a context with the fold dialect loaded."""
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        for kernel, lines in zip(kernels, numbered(kernels), strict=True):
            with location(*lines.at()):
                _Emitter(kernel, lines).function(target)
    return module


class _Emitter:
    """Emits one kernel's program; holds what each graph node became."""

    def __init__(self, kernel: Kernel, lines: Lines) -> None:
        self.kernel, self.lines = kernel, lines
        self.kept = [DYNAMIC] * kernel.facts.kept_rank
        self.full = self.kept + [DYNAMIC] * kernel.facts.reduced_rank
        self.dims = ir.DenseI64ArrayAttr.get(list(range(len(self.kept), len(self.full))))
        self.values: dict[str, Any] = {}
        self.spaces: dict[str, Space] = {}

    def tensor(self, t: Any, space: Space) -> Any:
        """The tensor type of elements ``t`` in a space."""
        if space == SIDE:
            return ir.RankedTensorType.get(self.full[len(self.kept) :], t)
        return ir.RankedTensorType.get(self.full if space & (REDUCED | SECTION) else self.kept, t)

    def function(self, target: Target) -> None:
        k = self.kernel
        p = k.program
        inputs = [self.tensor(mlir_type(t), space) for t, space in zip(p.inputs, p.input_spaces, strict=True)]
        outputs = [self.tensor(mlir_type(o.dtype), o.space) for o in p.outputs]
        f = func.FuncOp(k.name, (inputs, outputs))
        for name, value in attributes.write(k, target).items():
            f.attributes[name] = value
        block = f.add_entry_block()
        for i, argument in enumerate(block.arguments):
            named(argument, f"input{i}")
        rounded = {o: found for o in p.outputs if target.has_byte_floats and (found := encoded_as(o))}
        with ir.InsertionPoint(block):
            for e in walk(tuple(rounded[o][0] if o in rounded else o for o in p.outputs)):
                self.spaces[e.digest] = self.space(e)
                with location(*self.lines.at(e)):
                    self.values[e.digest] = self.node(e, block)
            for o, (value, t) in rounded.items():
                with location(*self.lines.at(o)):
                    self.values[o.digest] = self.encode(value, t)
                self.spaces[o.digest] = self.spaces[value.digest]
            func.ReturnOp([self.at(o, _written_in(o)) for o in p.outputs])

    def space(self, e: Expr) -> Space:
        """The space of a node's value: that of its tensor, which an input is even where it is the same everywhere."""
        if e.op == "input":
            return e.space or KEPT
        if e.op in ("reduce", "scan", "result", "broadcast") or not e.args:
            return e.space
        return union(self.spaces[a.digest] for a in e.args)

    def node(self, e: Expr, block: Any) -> Any:
        """Emits one graph node; scalars stay scalars until something wider needs them."""
        if e.op == "input":
            return block.arguments[e.value]
        if e.op == "const":
            return arith.constant(mlir_type(e.dtype), attribute(e.value, e.dtype))
        if e.op == "count":
            i64 = ir.IntegerType.get_signless(64)
            count = ir.Operation.create("fold.count", [i64], [], _numbering(e)).results[0]
            return convert_integer(count, I64, e.dtype, lambda t: t)
        if e.op == "iota":
            return self.iota(e)
        if e.op == "gather":
            source, index = e.args
            operands = [self.values[source.digest], self.at(index, self.spaces[e.digest])]
            result = self.tensor(mlir_type(e.dtype), self.spaces[e.digest])
            return ir.Operation.create("fold.gather", [result], operands).results[0]
        if e.op == "broadcast":
            return self.at(e.args[0], e.space)
        if e.op in ("reduce", "scan"):
            return self.reduce(e)
        if e.op == "result":
            return self.values[e.args[0].digest][e.value]
        return self.elementwise(e)

    def iota(self, e: Expr) -> Any:
        """The numbers of elements or of rows."""
        dims = [d for d in range(len(self.full)) if e.space & (KEPT if d < len(self.kept) else REDUCED)]
        own = ir.DenseI64ArrayAttr.get(dims) if e.value is not None else self.dims
        attributes = {"dims": own, **_numbering(e)}
        return ir.Operation.create("fold.iota", [self.tensor(mlir_type(e.dtype), e.space)], [], attributes).results[0]

    def elementwise(self, e: Expr) -> Any:
        space = self.spaces[e.digest]

        def like(t: Any) -> Any:
            return t if space == SCALAR else self.tensor(t, space)

        def splat(value: object, t: DType) -> Any:
            return self.spread(arith.constant(mlir_type(t), attribute(value, t)), SCALAR, space)

        value = elementwise(e, [self.at(a, space) for a in e.args], Shape(like, splat))
        if e.dtype.is_float and is_at_most_zero(e):
            value.owner.attributes[AT_MOST_ZERO] = ir.UnitAttr.get()
        return value

    def encode(self, e: Expr, t: DType) -> Any:
        """The bytes of 8-bit floats nearest to a value, by the instruction that rounds to them."""
        byte, space = ir.IntegerType.get_signless(8), self.spaces[e.digest]
        result = byte if space == SCALAR else self.tensor(byte, space)
        named_so = {"format": ir.StringAttr.get(t.name)}
        return ir.Operation.create("fold.encode", [result], [self.values[e.digest]], named_so).results[0]

    def at(self, e: Expr, space: Space) -> Any:
        """The value of ``e`` in a space at least as wide as its own."""
        return self.spread(self.values[e.digest], self.spaces[e.digest], space)

    def spread(self, value: Any, source: Space, space: Space) -> Any:
        full, wide = bool(source & REDUCED), bool(space & REDUCED)
        if source == space or (source != SCALAR and full == wide):  # an array that is the same along some dims
            return value
        scalar = ir.ShapedType(value.type).element_type if source != SCALAR else value.type
        rank = self.tensor(scalar, space).rank
        dims = self.dims if source == KEPT else ir.DenseI64ArrayAttr.get(list(range(rank)))
        return ir.Operation.create("fold.broadcast", [self.tensor(scalar, space)], [value], {"dims": dims}).results[0]

    def reduce(self, e: Expr) -> list[Any]:
        scan = e.value if isinstance(e.value, ScanGraph) else None
        graph = scan.monoid if scan else e.value
        assert isinstance(graph, MonoidGraph)
        types = [mlir_type(t) for t in graph.state]
        source = pack([self.at(a, ELEMENT) for a in e.args])
        over = {SIDE: range(len(self.kept)), SECTION: range(0)}.get(e.space, range(len(self.kept), len(self.full)))
        attributes = {"dims": ir.DenseI64ArrayAttr.get([*over])}
        attributes |= (
            {"exclusive": ir.BoolAttr.get(scan.exclusive)} if scan
            else {"commutative": ir.BoolAttr.get(graph.commutative)}
        )  # fmt: skip
        if e.space == SECTION:
            attributes["section"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), self.kernel.facts.section)
        result = state_type([self.tensor(t, e.space) for t in types])
        op = ir.Operation.create(f"fold.{e.op}", [result], [source], attributes, regions=2)
        with ir.InsertionPoint(op.regions[0].blocks.append()):
            pairs = zip(types, graph.identity, graph.state, strict=True)
            values = [arith.constant(t, attribute(v, d)) for t, v, d in pairs]
            ir.Operation.create("fold.yield", [], [pack(values)])
        block = op.regions[1].blocks.append(*types, *types)
        for i, argument in enumerate(block.arguments):
            named(argument, "ab"[i // len(types)] + (str(i % len(types)) if len(types) > 1 else ""))
        with ir.InsertionPoint(block):
            ir.Operation.create("fold.yield", [], [pack(scalars(graph.combine, list(block.arguments), self.lines))])
        return unpack(op.results[0])


def _written_in(output: Expr) -> Space:
    """The space of the array to which a result is written."""
    return ELEMENT if output.space & REDUCED else output.space if output.space in (SIDE, SECTION) else KEPT


def _numbering(e: Expr) -> dict[str, Any]:
    """The attribute of an ``iota`` or a ``count`` that says in which of several numberings it is."""
    if not isinstance(e.value, int):
        return {}
    return {"numbering": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), e.value)}
