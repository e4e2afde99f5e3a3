"""Emission: a ``Kernel`` becomes a tensor program, one ``func.func`` on tensors of the collapsed dims.

Reads the graph, writes level 0 of the IR, with plan and facts as attributes of the function for ``distribute``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import attributes
from .abi import Kernel
from .combine import pack, unpack
from .dialect.base import state_type
from .dtypes import BOOL, I64, DType, compute
from .errors import Location
from .graph import Expr, MonoidGraph, walk
from .mlir import arith, func, ir, math
from .target import Target

DYNAMIC = -(2**63)


def mlir_type(t: DType) -> Any:
    """The scalar MLIR type of ``t``; integers are signless."""
    if t.is_float:
        return {"f16": ir.F16Type, "bf16": ir.BF16Type, "f32": ir.F32Type, "f64": ir.F64Type}[t.name].get()
    return ir.IntegerType.get_signless(t.bits)


def location(where: Location | None) -> Any:
    """The MLIR location of a user's line."""
    return ir.Location.file(where.file, where.line, 0) if where else ir.Location.unknown()


def attribute(value: object, t: DType) -> Any:
    """``value`` as a typed attribute."""
    if t.is_float:
        return ir.FloatAttr.get(mlir_type(t), float(value))  # type: ignore[arg-type]
    bits = int(value) & ((1 << t.bits) - 1)  # type: ignore[call-overload]
    signed = bits - (1 << t.bits) if t.bits > 1 and bits >> (t.bits - 1) else bits
    return ir.IntegerAttr.get(mlir_type(t), -signed if t.bits == 1 else signed)


_FLOAT = {"add": arith.addf, "sub": arith.subf, "mul": arith.mulf, "div": arith.divf,
          "min": arith.minimumf, "max": arith.maximumf, "neg": arith.negf, "abs": math.absf, "sqrt": math.sqrt,
          "exp": math.exp, "log": math.log, "floor": math.floor, "ceil": math.ceil, "fma": math.fma}  # fmt: skip
_INT = {"add": arith.addi, "sub": arith.subi, "mul": arith.muli, "and": arith.andi, "or": arith.ori,
        "xor": arith.xori, "shl": arith.shli}  # fmt: skip
_SIGNED = {"min": arith.minsi, "max": arith.maxsi, "floordiv": arith.floordivsi, "shr": arith.shrsi}
_UNSIGNED = {"min": arith.minui, "max": arith.maxui, "floordiv": arith.divui, "shr": arith.shrui}
_COMPARE = {"eq": ("oeq", "eq", "eq"), "ne": ("une", "ne", "ne"), "lt": ("olt", "slt", "ult"),
            "le": ("ole", "sle", "ule"), "gt": ("ogt", "sgt", "ugt"), "ge": ("oge", "sge", "uge")}  # fmt: skip


def compare(op: str, t: DType, a: Any, b: Any) -> Any:
    """The comparison ``op`` of two values of type ``t``; with NaN all are false but ``ne``."""
    ordered, signed, unsigned = _COMPARE[op]
    if t.is_float:
        names = ["false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une"]
        return arith.cmpf(names.index(ordered), a, b)
    predicates = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"]
    return arith.cmpi(predicates.index(signed if t.kind == "int" else unsigned), a, b)


def convert(x: Any, source: DType, target: DType, like: Callable[[Any], Any]) -> Any:
    """``x`` of type ``source`` as ``target``; ``like`` gives a scalar type the shape of ``x``."""
    t = like(mlir_type(target))
    if source.is_float and target.is_float:
        if source.bits == target.bits:  # f16 and bf16 meet in f32, which holds both
            wide = arith.extf(like(ir.F32Type.get()), x)
            return arith.truncf(t, wide)
        return (arith.extf if target.bits > source.bits else arith.truncf)(t, x)
    if source.is_float:
        return (arith.fptosi if target.kind == "int" else arith.fptoui)(t, x)
    if target.is_float:
        return (arith.sitofp if source.kind == "int" else arith.uitofp)(t, x)
    if target.bits == source.bits:
        return x
    if target.bits < source.bits:
        return arith.trunci(t, x)
    return (arith.extsi if source.kind == "int" else arith.extui)(t, x)


def elementwise(e: Expr, args: Sequence[Any], like: Callable[[Any], Any], splat: Callable[[Any, DType], Any]) -> Any:
    """Emits the elementwise node ``e`` on ``args``.

    Args:
        e: the node.
        args: its operands, all of the result's shape.
        like: gives a scalar type that shape.
        splat: makes a constant of that shape from a Python number and a dtype.
    """
    op, t = e.op, e.args[-1].dtype
    if op == "where":
        return arith.select(args[0], args[1], args[2])
    if op == "cast":
        return convert(args[0], t, e.dtype, like)
    if op == "bitcast":
        both_integers = t.is_integer and e.dtype.is_integer  # the same type in MLIR, where integers have no sign
        return args[0] if both_integers else arith.bitcast(like(mlir_type(e.dtype)), args[0])
    if compute(t) != t and t.is_integer:
        # GPUs compute in 32 bits, and LLVM without its optimiser forgets the sign of narrow operands of a comparison
        wide = _arithmetic(op, compute(t), [convert(a, t, compute(t), like) for a in args], splat)
        return wide if e.dtype == BOOL else convert(wide, compute(t), t, like)
    return _arithmetic(op, t, args, splat)


def _arithmetic(op: str, t: DType, args: Sequence[Any], splat: Callable[[Any, DType], Any]) -> Any:
    """An operation or comparison whose operands are all of type ``t``."""
    if op in _COMPARE:
        return compare(op, t, args[0], args[1])
    if t.is_float:
        return _FLOAT[op](*args)
    if op == "neg":
        return arith.subi(splat(0, t), args[0])
    if op == "abs":
        return arith.maxsi(args[0], arith.subi(splat(0, t), args[0]))
    return (_INT.get(op) or (_SIGNED if t.kind == "int" else _UNSIGNED)[op])(*args)


def scalars(roots: Sequence[Expr], params: Sequence[Any]) -> list[Any]:
    """Emits a scalar graph (a combine) at the insertion point."""
    values: dict[str, Any] = {}

    def splat(value: object, t: DType) -> Any:
        return arith.constant(mlir_type(t), attribute(value, t))

    for e in walk(tuple(roots)):
        with location(e.where):
            if e.op == "param":
                values[e.digest] = params[e.value]  # type: ignore[call-overload]
            elif e.op == "const":
                values[e.digest] = splat(e.value, e.dtype)
            else:
                values[e.digest] = elementwise(e, [values[a.digest] for a in e.args], lambda t: t, splat)
    return [values[r.digest] for r in roots]


def emit(kernels: Sequence[Kernel], target: Target) -> Any:
    """A module with the tensor program of each kernel; needs a context with the fold dialect loaded."""
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        for kernel in kernels:
            _Emitter(kernel).function(target)
    return module


class _Emitter:
    """Emits one kernel's program; holds what each graph node became."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.kept = [DYNAMIC] * kernel.facts.kept_rank
        self.full = self.kept + [DYNAMIC] * kernel.facts.reduced_rank
        self.dims = ir.DenseI64ArrayAttr.get(list(range(len(self.kept), len(self.full))))
        self.values: dict[str, Any] = {}

    def tensor(self, t: Any, space: str) -> Any:
        """The tensor type of elements ``t`` in a space."""
        return ir.RankedTensorType.get(self.full if space == "element" else self.kept, t)

    def function(self, target: Target) -> None:
        k = self.kernel
        inputs = [self.tensor(mlir_type(t), "element") for t in k.program.inputs]
        outputs = [self.tensor(mlir_type(o.dtype), "kept") for o in k.program.outputs]
        f = func.FuncOp(k.name, (inputs, outputs))
        for name, value in attributes.write(k, target).items():
            f.attributes[name] = value
        block = f.add_entry_block()
        with ir.InsertionPoint(block):
            for e in walk(k.program.outputs):
                with location(e.where):
                    self.values[e.digest] = self.node(e, block)
            func.ReturnOp([self.at(o, "kept") for o in k.program.outputs])

    def node(self, e: Expr, block: Any) -> Any:
        """Emits one graph node; scalars stay scalars until something wider needs them."""
        if e.op == "input":
            return block.arguments[e.value]
        if e.op == "const":
            return arith.constant(mlir_type(e.dtype), attribute(e.value, e.dtype))
        if e.op == "count":
            i64 = ir.IntegerType.get_signless(64)
            count = ir.Operation.create("fold.count", [i64]).results[0]
            return convert(count, I64, e.dtype, lambda t: t)
        if e.op == "iota":
            attributes = {"dims": self.dims}
            return ir.Operation.create(
                "fold.iota", [self.tensor(mlir_type(e.dtype), "element")], [], attributes
            ).results[0]
        if e.op == "reduce":
            return self.reduce(e)
        if e.op == "result":
            return self.values[e.args[0].digest][e.value]
        return self.elementwise(e)

    def elementwise(self, e: Expr) -> Any:
        def like(t: Any) -> Any:
            return t if e.space == "scalar" else self.tensor(t, e.space)

        def splat(value: object, t: DType) -> Any:
            return self.spread(arith.constant(mlir_type(t), attribute(value, t)), "scalar", e.space)

        return elementwise(e, [self.at(a, e.space) for a in e.args], like, splat)

    def at(self, e: Expr, space: str) -> Any:
        """The value of ``e`` in a space at least as wide as its own."""
        return self.spread(self.values[e.digest], e.space, space)

    def spread(self, value: Any, source: str, space: str) -> Any:
        if source == space:
            return value
        scalar = ir.ShapedType(value.type).element_type if source != "scalar" else value.type
        dims = self.dims if source == "kept" else ir.DenseI64ArrayAttr.get(
            list(range(len(self.full if space == "element" else self.kept))))  # fmt: skip
        return ir.Operation.create("fold.broadcast", [self.tensor(scalar, space)], [value], {"dims": dims}).results[0]

    def reduce(self, e: Expr) -> list[Any]:
        graph = e.value
        assert isinstance(graph, MonoidGraph)
        types = [mlir_type(t) for t in graph.state]
        source = pack([self.at(a, "element") for a in e.args])
        attributes = {"dims": self.dims, "commutative": ir.BoolAttr.get(graph.commutative)}
        result = state_type([self.tensor(t, "kept") for t in types])
        op = ir.Operation.create("fold.reduce", [result], [source], attributes, regions=2)
        with ir.InsertionPoint(op.regions[0].blocks.append()):
            pairs = zip(types, graph.identity, graph.state, strict=True)
            values = [arith.constant(t, attribute(v, d)) for t, v, d in pairs]
            ir.Operation.create("fold.yield", [], [pack(values)])
        block = op.regions[1].blocks.append(*types, *types)
        with ir.InsertionPoint(block):
            ir.Operation.create("fold.yield", [], [pack(scalars(graph.combine, list(block.arguments)))])
        return unpack(op.results[0])
