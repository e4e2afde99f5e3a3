"""Level 0, the tensor program: elementwise ``arith``/``math`` on tensors, and these ops.

Tensors have the dims of the collapsed geometry: kept dims first, then reduced ones. All extents are dynamic.
"""

from collections.abc import Sequence
from typing import Any

from ...errors import error
from ..mlir import ext, ir
from .base import (
    Fold,
    bool_attr,
    check_combine,
    check_isolated,
    check_result,
    check_yield,
    coded,
    element,
    expect,
    int_attr,
    power_of_two,
    state_type,
    str_attr,
    values,
)


class YieldOp(Fold.Operation, name="yield", traits=[ir.IsTerminatorTrait]):  # type: ignore[misc]
    """Ends a region of a fold op, with the region's state if it has one: ``fold.yield state``."""

    state: Sequence[ext.Operand[Any]]


class ReduceOp(Fold.Operation, name="reduce"):  # type: ignore[misc]
    """Reduces tensors over ``dims`` with a monoid: ``fold.reduce input {dims, commutative} ({identity}, {combine})``.

    With ``section`` it reduces each section of so many elements that follow each other along the innermost dims:
    ``dims`` is empty, and the result has, for each element, the state of its section.

    A state of several values comes and goes as one tuple of tensors, all of one shape. The identity region yields a
    state of scalars; the combine region takes the values of two such states (left, then right) and yields one.
    """

    input: ext.Operand[Any]
    output: ext.Result[Any]
    dims: Any
    commutative: Any
    identity: ext.Region
    combine: ext.Region

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        types, results = values(op.operands[0].type), values(op.results[0].type)
        tensors = all(isinstance(t, ir.RankedTensorType) for t in types)
        expect(tensors, op, "a ranked tensor or a tuple of them", str(op.operands[0].type))
        bool_attr(op, "commutative")
        rank = types[0].rank
        dims = _dims(op, rank)
        expect(all(t.rank == rank for t in types), op, f"inputs of rank {rank}", str(op.operands[0].type))
        if "section" in op.attributes:
            power_of_two(op, "section", 1 << 10)
            expect(not dims, op, "no dims with a section", dims)
        wanted = [
            ir.RankedTensorType.get([t.shape[d] for d in range(rank) if d not in dims], t.element_type) for t in types
        ]
        expect(wanted == results, op, f"a result of type {state_type(wanted)}", str(op.results[0].type))

    @coded
    def verify_region_invariants(op: Any) -> None:  # noqa: N805
        state = op.operands[0].type
        check_yield(op, op.regions[0], [str(state_type([element(t) for t in values(state)]))])
        check_isolated(op, op.regions[0])
        check_combine(op, op.regions[1], state)


class ScanOp(Fold.Operation, name="scan"):  # type: ignore[misc]
    """Reduces along ``dims`` so that every element gets the state of those up to it.

    ``fold.scan input {dims, exclusive} ({identity}, {combine})``: elements are combined in row-major order of the dims.
    With ``exclusive`` an element gets the state of those before it, and the first one the identity. States and regions
    are those of ``fold.reduce``; the result has the type of the input.
    """

    input: ext.Operand[Any]
    output: ext.Result[Any]
    dims: Any
    exclusive: Any
    identity: ext.Region
    combine: ext.Region

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        types = values(op.operands[0].type)
        tensors = all(isinstance(t, ir.RankedTensorType) for t in types)
        expect(tensors, op, "a ranked tensor or a tuple of them", str(op.operands[0].type))
        bool_attr(op, "exclusive")
        rank = types[0].rank
        dims = _dims(op, rank)
        expect(bool(dims), op, "at least one dim", dims)
        expect(all(t.rank == rank for t in types), op, f"inputs of rank {rank}", str(op.operands[0].type))
        check_result(op, op.operands[0].type)

    verify_region_invariants = ReduceOp.verify_region_invariants


class BroadcastOp(Fold.Operation, name="broadcast"):  # type: ignore[misc]
    """A scalar, or a tensor of the kept dims, repeated along ``dims`` of the result: ``fold.broadcast x {dims}``."""

    source: ext.Operand[Any]
    result_: ext.Result[Any]
    dims: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        source, result = op.operands[0].type, op.results[0].type
        expect(isinstance(result, ir.RankedTensorType), op, "a ranked tensor result", str(result))
        rank = ir.RankedTensorType(result).rank
        own = ir.RankedTensorType(source).rank if isinstance(source, ir.RankedTensorType) else 0
        dims = _dims(op, rank)
        expect(own + len(dims) == rank, op, f"a source of rank {rank - len(dims)}", f"rank {own}")
        expect(element(source) == element(result), op, f"elements of type {element(result)}", str(element(source)))


class IotaOp(Fold.Operation, name="iota"):  # type: ignore[misc]
    """The number of each element in the caller's row-major order: ``fold.iota {dims, [numbering]}``.

    It is the element's position among the reduced ones, and ``dims`` are these. With ``numbering`` it is the number in
    that one of the numberings that the launch gives, and ``dims`` are those along which it rises.
    """

    result_: ext.Result[Any]
    dims: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        t = op.results[0].type
        expect(isinstance(t, ir.RankedTensorType), op, "a ranked tensor result", str(t))
        expect(isinstance(element(t), ir.IntegerType), op, "integer elements", str(element(t)))
        _dims(op, ir.RankedTensorType(t).rank)
        _check_numbering(op)


class GatherOp(Fold.Operation, name="gather"):  # type: ignore[misc]
    """Elements of an array at indices along an axis of it that is no dim of its tensor: ``fold.gather x, i``.

    Only gathers read the array ``x``, an argument of the function. An element whose index is not from 0 to the size of
    the axis - 1 is 0.
    """

    source: ext.Operand[Any]
    index: ext.Operand[Any]
    result_: ext.Result[Any]

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        source, index = op.operands[0], op.operands[1].type
        expect(isinstance(source, ir.BlockArgument), op, "an argument of the function as operand 0", "another value")
        users = {use.owner.name for use in source.uses}
        expect(users == {"fold.gather"}, op, "an array that only gathers read", ", ".join(sorted(users)))
        expect(isinstance(index, ir.RankedTensorType), op, "a tensor of indices as operand 1", str(index))
        expect(str(element(index)) == "i64", op, "indices of type i64", str(element(index)))
        rank = ir.RankedTensorType(source.type).rank
        expect(rank <= index.rank, op, f"indices of rank {rank} or more", f"rank {index.rank}")
        check_result(op, ir.RankedTensorType.get(list(index.shape), element(source.type)))


MOST_ROUNDS = 16
"""Rounds of Philox, each of which is code of its own: as many as its authors' library has at most."""


class PhiloxOp(Fold.Operation, name="philox"):  # type: ignore[misc]
    """Random bits of elements: ``fold.philox number, seed, offset {rounds}``, on tensors or on fragments.

    A word of the generator Philox 4x32 for each element, as ``passes/lower_philox.py`` says. All elements of a fragment
    have the same seed, and the same offset.
    """

    number: ext.Operand[Any]
    seed: ext.Operand[Any]
    offset: ext.Operand[Any]
    result_: ext.Result[Any]
    rounds: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        types = [v.type for v in op.operands]
        expect(len({*map(str, types)}) == 1, op, "operands of one type", ", ".join(map(str, types)))
        expect(str(element(types[0])) == "i64", op, "operands of i64", str(element(types[0])))
        expect(0 < int_attr(op, "rounds") <= MOST_ROUNDS, op, f"1 to {MOST_ROUNDS} rounds", int_attr(op, "rounds"))
        word = ir.IntegerType.get_signless(32)
        check_result(op, word if not isinstance(types[0], ir.ShapedType) else _in_shape_of(types[0], word))


class WordOp(Fold.Operation, name="word"):  # type: ignore[misc]
    """Words of elements: ``fold.word element, number {bits, falls, unsigned}``, on tensors or on fragments.

    The rank of an element above its number, as one integer: ``bits`` of the rank in 32 bits, or all 32 in 64. The rank
    grows with the element, or ``falls``. See ``compiler/program/words.py``.
    """

    element: ext.Operand[Any]
    number: ext.Operand[Any]
    result_: ext.Result[Any]
    bits: Any
    falls: Any
    unsigned: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        x, number = (v.type for v in op.operands)
        _, unsigned, bits = bool_attr(op, "falls"), bool_attr(op, "unsigned"), int_attr(op, "bits")
        expect(str(element(x)) in ("i8", "i32", "f32"), op, "an element of i8, i32 or f32", str(element(x)))
        expect(not unsigned or str(element(x)) != "f32", op, "integers if unsigned", str(element(x)))
        expect(bits in (8, 16, 32), op, "bits of 8, 16 or 32", bits)
        word = ir.IntegerType.get_signless(64 if bits == 32 else 32)
        i32 = ir.IntegerType.get_signless(32)
        shaped = isinstance(x, ir.ShapedType)
        wanted = _in_shape_of(x, i32) if shaped else i32
        expect(number == wanted, op, f"a number of type {wanted}", str(number))
        check_result(op, _in_shape_of(x, word) if shaped else word)


def _in_shape_of(t: Any, scalar: Any) -> Any:
    """The tensor or the fragment of elements ``scalar`` in the shape of ``t``."""
    return type(t).get(list(t.shape), scalar)


BYTE_FLOATS = ("f8e4m3fn", "f8e5m2")
"""The formats of floats of 8 bits."""


class EncodeOp(Fold.Operation, name="encode"):  # type: ignore[misc]
    """The bytes of the nearest floats of 8 bits: ``fold.encode x {format = "f8e4m3fn"}``, on tensors or on fragments.

    Of two the even one; of what is beyond the range the last finite one. NaN is 0x7f.
    """

    x: ext.Operand[Any]
    result_: ext.Result[Any]
    format: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        x, byte = op.operands[0].type, ir.IntegerType.get_signless(8)
        expect(str(element(x)) == "f32", op, "values of f32", str(element(x)))
        str_attr(op, "format", BYTE_FLOATS)
        check_result(op, _in_shape_of(x, byte) if isinstance(x, ir.ShapedType) else byte)


class ScatterOp(Fold.Operation, name="scatter"):  # type: ignore[misc]
    """Elements of results that they choose: ``fold.scatter value, index {counters}``, on tensors or on fragments.

    An element counts as its value in the result whose number along the kept dim is its index, and as zero in all
    others. A CTA has so many ``counters`` for them in shared memory, or none. Only a sum reduces it.
    """

    value: ext.Operand[Any]
    index: ext.Operand[Any]
    result_: ext.Result[Any]
    counters: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        value, index = (v.type for v in op.operands)
        expect(str(element(value)) in ("i32", "i64"), op, "values of i32 or i64", str(value))
        expect(str(element(index)) == "i32", op, "indices of i32", str(index))
        long = ir.IntegerType.get_signless(64)
        shaped = isinstance(value, ir.ShapedType)
        check_result(op, type(value).get(list(value.shape), long) if shaped else long)
        if int_attr(op, "counters"):
            power_of_two(op, "counters", 1 << 16)


class BinOp(Fold.Operation, name="bin"):  # type: ignore[misc]
    """The bin of each element: ``fold.bin x, lower, upper {uniform, steps}``, of bins whose edges rise.

    ``lower`` and ``upper`` are arguments of the function, which vary along the kept dim alone: the edges of each bin.
    An element belongs to the bin whose lower edge is not above it and whose upper edge is, and to the last one also
    where it equals its upper edge; the bin of others, and of NaN, is -1. With ``uniform`` all bins are about as wide;
    else there are at most 2^``steps``.
    """

    x: ext.Operand[Any]
    lower: ext.Operand[Any]
    upper: ext.Operand[Any]
    result_: ext.Result[Any]
    uniform: Any
    steps: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        t = op.operands[0].type
        expect(str(element(t)) in ("f32", "f64"), op, "elements of f32 or f64", str(t))
        expect(isinstance(t, ir.RankedTensorType), op, "a ranked tensor", str(t))
        for i in (1, 2):
            edges = op.operands[i]
            expect(isinstance(edges, ir.BlockArgument), op, f"an argument of the function as operand {i}", "a value")
            expect(element(edges.type) == element(t), op, f"edges of type {element(t)}", str(edges.type))
        bool_attr(op, "uniform")
        expect(0 <= int_attr(op, "steps") <= 31, op, "from 0 to 31 steps", int_attr(op, "steps"))
        check_result(op, ir.RankedTensorType.get(list(t.shape), ir.IntegerType.get_signless(32)))


class CountOp(Fold.Operation, name="count"):  # type: ignore[misc]
    """How many elements one result reduces: ``fold.count {[numbering]} : i64``.

    With ``numbering`` it is the count that the launch gives as that numbering.
    """

    result_: ext.Result[Any]

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        expect(str(op.results[0].type) == "i64", op, "a result of type i64", str(op.results[0].type))
        _check_numbering(op)


def _check_numbering(op: Any) -> None:
    """The attribute ``numbering`` of an op that has it."""
    if "numbering" in op.attributes:
        number = int_attr(op, "numbering")
        expect(number >= 0, op, "a numbering from 0 on", number)


def _dims(op: Any, rank: int) -> list[int]:
    """The attribute ``dims``: strictly rising and within ``rank``; WF314 otherwise."""
    try:
        dims = list(ir.DenseI64ArrayAttr(op.attributes["dims"]))
    except (KeyError, ValueError):
        raise error("WF311", op=op.name, attribute="dims", expected="an array<i64>") from None
    if dims != sorted(set(dims)) or any(not 0 <= d < rank for d in dims):
        raise error("WF314", op=op.name, rank=rank, dims=dims)
    return dims
