"""Level 0, the tensor program: elementwise ``arith``/``math`` on tensors, and these ops.

Tensors have the dims of the collapsed geometry: kept dims first, then reduced ones. All extents are dynamic.
"""

from typing import Any

from ...errors import error
from ..mlir import ir
from .base import (
    bool_attr,
    check_isolated,
    check_yield,
    element,
    expect,
    int_attr,
    power_of_two,
    scalars,
    state_type,
    values,
)
from .fields import (
    STEPS,
    Exact,
    Op,
    Optional,
    anything,
    combines,
    elements,
    fields,
    like,
    number,
    one_of,
    power,
    ranked,
    several,
    truth,
    typed,
)

MOST_ROUNDS = 16
"""Rounds of Philox, each of which is code of its own: as many as its authors' library has at most."""
BYTE_FLOATS = ("f8e4m3fn", "f8e5m2")
"""The formats of floats of 8 bits."""
NUMBERING = Optional(number(lambda n: n >= 0, "a numbering from 0 on"))
"""Which of the launch's numberings an op reads."""


def tensors(op: Any, t: Any, _: int) -> None:
    """The kind of a ranked tensor, or a tuple of such of one rank."""
    types = values(t)
    expect(all(isinstance(v, ir.RankedTensorType) for v in types), op, "a ranked tensor or a tuple of them", t)
    expect(len({v.rank for v in types}) == 1, op, f"inputs of rank {types[0].rank}", t)


def numbers(op: Any, name: str) -> list[int]:
    """The kind of an array of numbers."""
    try:
        return list(ir.DenseI64ArrayAttr(op.attributes[name]))
    except (KeyError, ValueError):
        raise error("WF311", op=op.name, attribute=name, expected="an array<i64>") from None


def _dims(op: Any, rank: int) -> list[int]:
    """The attribute ``dims``: strictly rising and within ``rank``; WF314 otherwise."""
    dims = numbers(op, "dims")
    if dims != sorted(set(dims)) or any(not 0 <= d < rank for d in dims):
        raise error("WF314", op=op.name, rank=rank, dims=dims)
    return dims


def _kept(op: Any, t: Any) -> Any:
    """The tensor of the dims of ``t`` that are not reduced."""
    reduced = _dims(op, t.rank)
    return ir.RankedTensorType.get([t.shape[d] for d in range(t.rank) if d not in reduced], t.element_type)


def _in_shape_of(t: Any, scalar: Any) -> Any:
    """A scalar, or the tensor or the fragment of elements ``scalar`` in the shape of ``t``."""
    return type(t).get(list(t.shape), scalar) if isinstance(t, ir.ShapedType) else scalar


def _integer(bits: int) -> Any:
    return ir.IntegerType.get_signless(bits)


def _numbers_beside(op: Any, t: Any, _: int) -> None:
    """The kind of the numbers of the elements that are operand 0."""
    wanted = _in_shape_of(op.operands[0].type, _integer(32))
    expect(t == wanted, op, f"a number of type {wanted}", t)


def _word(op: Any) -> Any:
    """The type of words: all bits of a rank leave no room for a number in 32."""
    return _in_shape_of(op.operands[0].type, _integer(64 if int_attr(op, "bits") == 32 else 32))


def _yields_scalars(op: Any, region: Any) -> None:
    """The kind of a region that yields a state of scalars, and that passes copy."""
    check_yield(op, region, [str(scalars(op.operands[0].type))])
    check_isolated(op, region)


def _indices(op: Any, t: Any, position: int) -> None:
    """The kind of a tensor of indices."""
    expect(isinstance(t, ir.RankedTensorType), op, f"a tensor of indices as operand {position}", t)
    elements("indices", "i64")(op, t, position)


def _floats(op: Any, t: Any, position: int) -> None:
    """The kind of a tensor that is sorted into bins."""
    elements("elements", "f32", "f64")(op, t, position)
    ranked(op, t, position)


def _edges(op: Any, t: Any, position: int) -> None:
    """The kind of the edges of bins."""
    found, wanted = op.operands[position], element(op.operands[0].type)
    expect(isinstance(found, ir.BlockArgument), op, f"an argument of the function as operand {position}", "a value")
    expect(element(t) == wanted, op, f"edges of type {wanted}", t)


def _none_or_power(op: Any, name: str) -> None:
    """The kind of a number of counters, which may be 0."""
    if int_attr(op, name):
        power_of_two(op, name, 1 << 16)


class YieldOp(Op, name="yield", traits=[ir.IsTerminatorTrait]):
    """Ends a region of a fold op, with the region's state if it has one: ``fold.yield state``."""

    ins = fields(state=several(anything))


class ReduceOp(Op, name="reduce"):
    """Reduces tensors over ``dims`` with a monoid: ``fold.reduce input {dims, commutative} ({identity}, {combine})``.

    With ``section`` it reduces each section of so many elements that follow each other along the innermost dims:
    ``dims`` is empty, and the result has, for each element, the state of its section.

    A state of several values comes and goes as one tuple of tensors, all of one shape. The identity region yields a
    state of scalars; the combine region takes the values of two such states (left, then right) and yields one.
    """

    ins = fields(input=tensors)
    outs = fields(output=Exact(lambda op: state_type([_kept(op, t) for t in values(op.operands[0].type)])))
    attrs = fields(dims=numbers, commutative=truth, section=Optional(power(1 << 10)))
    bodies = fields(identity=_yields_scalars, combine=combines(lambda op: op.operands[0].type))

    def check(self) -> None:
        dims = numbers(self, "dims")
        expect("section" not in self.attributes or not dims, self, "no dims with a section", dims)


class ScanOp(Op, name="scan"):
    """Reduces along ``dims`` so that every element gets the state of those up to it.

    ``fold.scan input {dims, exclusive} ({identity}, {combine})``: elements are combined in row-major order of the dims.
    With ``exclusive`` an element gets the state of those before it, and the first one the identity. States and regions
    are those of ``fold.reduce``; the result has the type of the input.
    """

    ins = fields(input=tensors)
    outs = fields(output=like(0))
    attrs = fields(dims=numbers, exclusive=truth)
    bodies = ReduceOp.bodies

    def check(self) -> None:
        expect(bool(_dims(self, values(self.operands[0].type)[0].rank)), self, "at least one dim", [])


class BroadcastOp(Op, name="broadcast"):
    """A scalar, or a tensor of the kept dims, repeated along ``dims`` of the result: ``fold.broadcast x {dims}``."""

    ins = fields(source=anything)
    outs = fields(result_=ranked)
    attrs = fields(dims=numbers)

    def check(self) -> None:
        source, result = self.operands[0].type, self.results[0].type
        own = source.rank if isinstance(source, ir.RankedTensorType) else 0
        wanted = result.rank - len(_dims(self, result.rank))
        expect(own == wanted, self, f"a source of rank {wanted}", f"rank {own}")
        expect(element(source) == element(result), self, f"elements of type {element(result)}", element(source))


class IotaOp(Op, name="iota"):
    """The number of each element in the caller's row-major order: ``fold.iota {dims, [numbering]}``.

    It is the element's position among the reduced ones, and ``dims`` are these. With ``numbering`` it is the number in
    that one of the numberings that the launch gives, and ``dims`` are those along which it rises.
    """

    outs = fields(result_=ranked)
    attrs = fields(dims=numbers, numbering=NUMBERING)

    def check(self) -> None:
        t = self.results[0].type
        expect(isinstance(element(t), ir.IntegerType), self, "integer elements", element(t))
        _dims(self, t.rank)


class GatherOp(Op, name="gather"):
    """Elements of an array at indices along an axis of it that is no dim of its tensor: ``fold.gather x, i``.

    Only gathers read the array ``x``, an argument of the function. An element whose index is not from 0 to the size of
    the axis - 1 is 0.
    """

    ins = fields(source=anything, index=_indices)
    outs = fields(result_=Exact(lambda op: _in_shape_of(op.operands[1].type, element(op.operands[0].type))))

    def check(self) -> None:
        source, index = self.operands[0], self.operands[1].type
        expect(isinstance(source, ir.BlockArgument), self, "an argument of the function as operand 0", "another value")
        users = {use.owner.name for use in source.uses}
        expect(users == {"fold.gather"}, self, "an array that only gathers read", ", ".join(sorted(users)))
        rank = source.type.rank
        expect(rank <= index.rank, self, f"indices of rank {rank} or more", f"rank {index.rank}")


class PhiloxOp(Op, name="philox"):
    """Random bits of elements: ``fold.philox number, seed, offset {rounds}``, on tensors or on fragments.

    A word of the generator Philox 4x32 for each element, as ``passes/lower_philox.py`` says. All elements of a fragment
    have the same seed, and the same offset.
    """

    ins = fields(number=elements("operands", "i64"), seed=anything, offset=anything)
    outs = fields(result_=Exact(lambda op: _in_shape_of(op.operands[0].type, _integer(32))))
    attrs = fields(rounds=number(lambda n: 0 < n <= MOST_ROUNDS, f"1 to {MOST_ROUNDS} rounds"))

    def check(self) -> None:
        types = [str(v.type) for v in self.operands]
        expect(len({*types}) == 1, self, "operands of one type", ", ".join(types))


class WordOp(Op, name="word"):
    """Words of elements: ``fold.word element, number {bits, falls, unsigned}``, on tensors or on fragments.

    The rank of an element above its number, as one integer: ``bits`` of the rank in 32 bits, or all 32 in 64. The rank
    grows with the element, or ``falls``. See ``compiler/program/words.py``.
    """

    ins = fields(element=elements("elements", "i8", "i32", "f32"), number=_numbers_beside)
    outs = fields(result_=Exact(_word))
    attrs = fields(bits=number(lambda n: n in (8, 16, 32), "bits of 8, 16 or 32"), falls=truth, unsigned=truth)

    def check(self) -> None:
        found = str(element(self.operands[0].type))
        expect(found != "f32" or not bool_attr(self, "unsigned"), self, "integers if unsigned", found)


class EncodeOp(Op, name="encode"):
    """The bytes of the nearest floats of 8 bits: ``fold.encode x {format = "f8e4m3fn"}``, on tensors or on fragments.

    Of two the even one; of what is beyond the range the last finite one. NaN is 0x7f.
    """

    ins = fields(x=elements("values", "f32"))
    outs = fields(result_=Exact(lambda op: _in_shape_of(op.operands[0].type, _integer(8))))
    attrs = fields(format=one_of(*BYTE_FLOATS))


class ScatterOp(Op, name="scatter"):
    """Elements of results that they choose: ``fold.scatter value, index {counters}``, on tensors or on fragments.

    An element counts as its value in the result whose number along the kept dim is its index, and as zero in all
    others. A CTA has so many ``counters`` for them in shared memory, or none. Only a sum reduces it.
    """

    ins = fields(value=elements("values", "i32", "i64"), index=elements("indices", "i32"))
    outs = fields(result_=Exact(lambda op: _in_shape_of(op.operands[0].type, _integer(64))))
    attrs = fields(counters=_none_or_power)


class BinOp(Op, name="bin"):
    """The bin of each element: ``fold.bin x, lower, upper {uniform, steps}``, of bins whose edges rise.

    ``lower`` and ``upper`` are arguments of the function, which vary along the kept dim alone: the edges of each bin.
    An element belongs to the bin whose lower edge is not above it and whose upper edge is, and to the last one also
    where it equals its upper edge; the bin of others, and of NaN, is -1. With ``uniform`` all bins are about as wide;
    else there are at most 2^``steps``.
    """

    ins = fields(x=_floats, lower=_edges, upper=_edges)
    outs = fields(result_=Exact(lambda op: _in_shape_of(op.operands[0].type, _integer(32))))
    attrs = fields(uniform=truth, steps=STEPS)


class CountOp(Op, name="count"):
    """How many elements one result reduces: ``fold.count {[numbering]} : i64``.

    With ``numbering`` it is the count that the launch gives as that numbering.
    """

    outs = fields(result_=typed("i64"))
    attrs = fields(numbering=NUMBERING)
