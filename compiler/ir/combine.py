"""The one way a combine region becomes code: cloned at the insertion point, on scalars or elementwise on vectors.

Reads a combine of the IR as the nodes of ``program/analysis/formulas.py``.

Each stage of a kernel has a copy of the same combine. Nodes are numbers, so that equal copies have equal formulas, and
what is found of one holds for all: analyses keep their answers by formula.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ..program.analysis.formulas import Node
from .mlir import arith, ir, vector

Join = Callable[[list[Any], list[Any]], list[Any]]
"""One list of values of two."""


def with_shape(t: Any, width: int) -> Any:
    """``t`` as a fragment of ``width`` elements: the scalar itself for 1, else a vector."""
    return t if width == 1 else ir.VectorType.get([width], t)


def width(t: Any) -> int:
    """Elements of a fragment of type ``t``."""
    return int(ir.VectorType(t).shape[0]) if isinstance(t, ir.VectorType) else 1


def pack(state: Sequence[Any]) -> Any:
    """A state as one SSA value: the value itself, or a tuple of several."""
    if len(state) == 1:
        return state[0]
    t = ir.TupleType.get_tuple([v.type for v in state])
    return ir.Operation.create("builtin.unrealized_conversion_cast", [t], list(state)).results[0]


def unpack(state: Any) -> list[Any]:
    """The values of a state."""
    if not isinstance(state.type, ir.TupleType):
        return [state]
    if not isinstance(state, ir.BlockArgument) and state.owner.name == "builtin.unrealized_conversion_cast":
        return list(state.owner.operands)
    types = [state.type.get_type(i) for i in range(state.type.num_types)]
    return list(ir.Operation.create("builtin.unrealized_conversion_cast", types, [state]).results)


def clone_block(block: Any, arguments: Sequence[Any], lanes: int) -> list[Any]:
    """Clones the scalar ops of ``block`` at the insertion point, each on ``lanes`` elements at once.

    Among vectors a scalar argument stands for equal elements, and what follows from such alone stays a scalar.

    Args:
        block: straight-line code on scalars that ends in ``fold.yield``.
        arguments: what its block arguments become, fragments of ``lanes`` elements, or scalars.
        lanes: 1 for scalars, else the vector length.

    Returns:
        What the yield's operands became.
    """
    mapping = dict(zip(block.arguments, arguments, strict=True))
    *ops, last = [o.operation for o in block.operations]
    clone(ops, mapping, lanes)
    values = [mapping.get(x, x) for v in last.operands for x in unpack(v)]
    mixed = any(width(a.type) < lanes for a in arguments)
    return values if lanes == 1 or mixed else [splat(v, lanes) for v in values]


def clone(ops: Sequence[Any], mapping: dict[Any, Any], lanes: int = 0) -> None:
    """Clones scalar ops at the insertion point, in order, and records their new results in ``mapping``.

    ``lanes`` is as for ``clone_block``; 0 stands for the length of the longest fragment in ``mapping``.
    """
    # what packs the yielded state is left out: the yield sees through it
    kept = [o for o in ops if o.name != "builtin.unrealized_conversion_cast" or len(o.operands) == 1]
    given = [] if lanes == 1 else [width(v.type) for v in mapping.values()]
    lanes = lanes or max(given)
    if lanes == 1:
        _clone_scalars(kept, mapping)
    else:
        _clone_fragments(kept, mapping, lanes, mixed=min(given, default=lanes) == 1)


def _clone_fragments(ops: Sequence[Any], mapping: dict[Any, Any], lanes: int, *, mixed: bool) -> None:
    """Clones ops on fragments; ``mixed`` says that scalars stand for some fragments of equal elements."""
    constants: dict[Any, Any] = {}
    for op in ops:
        if op.name == "arith.constant":
            constants[op.results[0]] = op.attributes["value"]
            mapping[op.results[0]] = constant(op.attributes["value"], lanes)
            continue
        varying = [v for v in op.operands if v not in constants]
        even = mixed and bool(varying) and all(width(mapping.get(v, v).type) == 1 for v in varying)
        own = 1 if even else lanes
        operands = [
            constant(constants[v], 1) if even and v in constants else splat(mapping.get(v, v), own) for v in op.operands
        ]
        types = [with_shape(r.type, own) for r in op.results]
        new = ir.Operation.create(op.name, types, operands, dict(op.attributes.items()), loc=op.location)
        mapping.update(zip(op.results, new.results, strict=True))


def _clone_scalars(ops: Sequence[Any], mapping: dict[Any, Any]) -> None:
    """Clones ops on single elements: only the operands change."""
    for op in ops:
        new = op.clone().operation
        operands = new.operands
        for i, v in enumerate(operands):
            if (found := mapping.get(v)) is not None:
                operands[i] = found
        mapping.update(zip(op.results, new.results, strict=True))


def splat(v: Any, lanes: int) -> Any:
    """``v`` as a fragment of ``lanes`` elements: a scalar on all of them."""
    return v if width(v.type) == lanes else vector.broadcast(with_shape(v.type, lanes), v)


def constant(attribute: Any, lanes: int) -> Any:
    """The scalar constant ``attribute``, on ``lanes`` elements."""
    if lanes == 1:
        return arith.constant(attribute.type, attribute)
    t = with_shape(attribute.type, lanes)
    return arith.constant(t, ir.DenseElementsAttr.get_splat(t, attribute))


def combine(region: Any, left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """The combined state of two; of fragments of one length, or scalars that stand for equal elements."""
    return clone_block(region.blocks[0], [*left, *right], max(width(v.type) for v in (*left, *right)))


def tree(region: Any, states: Sequence[Callable[[], Sequence[Any]]]) -> list[Any]:
    """A power of two of states combined, neighbours first: order is kept, and rounding grows with the logarithm.

    Each state is made when the tree reaches it, so that few of them are alive at a time.
    """
    if len(states) == 1:
        return list(states[0]())
    half = len(states) // 2
    left = tree(region, states[:half])
    return combine(region, left, tree(region, states[half:]))


def horizontal(region: Any, state: Sequence[Any], lanes: int) -> list[Any]:
    """The ``lanes`` elements of a state combined into scalars, neighbours first."""
    return halved(partial(combine, region), state, lanes)


def halved(join: Join, values: Sequence[Any], lanes: int) -> list[Any]:
    """The ``lanes`` elements of fragments joined into scalars: even ones with odd ones, until one is left."""
    found = list(values)
    while lanes > 1:
        even, odd = ([_pick(v, range(k, lanes, 2)) for v in found] for k in (0, 1))
        found, lanes = join(even, odd), lanes // 2
    return found


def _pick(v: Any, positions: range) -> Any:
    """The elements of ``v`` at ``positions``, as a shorter fragment; of equal elements again the scalar."""
    if width(v.type) == 1:
        return v
    if len(positions) == 1:
        return vector.extract(v, [], [positions[0]])
    return vector.shuffle(v, v, list(positions))


def elements(v: Any) -> list[Any]:
    """A fragment's elements as scalars."""
    lanes = width(v.type)
    return [v] if lanes == 1 else [vector.extract(v, [], [i]) for i in range(lanes)]


def fragment(scalars: Sequence[Any]) -> Any:
    """The fragment of these scalars."""
    if len(scalars) == 1:
        return scalars[0]
    return vector.from_elements(with_shape(scalars[0].type, len(scalars)), list(scalars))


def interleaved(even: Any, odd: Any) -> Any:
    """The fragment of the elements of two fragments in turns: one op, which LLVM reads faster than one an element."""
    lanes = width(even.type)
    if lanes == 1:
        return fragment([even, odd])
    return vector.shuffle(even, odd, [k + side for k in range(lanes) for side in (0, lanes)])


def backwards(v: Any) -> Any:
    """The fragment of a fragment's elements in the reverse order."""
    return fragment(elements(v)[::-1])


def single_op(region: Any) -> str | None:
    """The name of the op when the combine is just one op on its two arguments: hardware may know a short cut."""
    block = region.blocks[0]
    ops = list(block.operations)
    if len(ops) != 2 or set(ops[0].operation.operands) != set(block.arguments):
        return None
    return str(ops[0].operation.name)


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
