"""Laws of a monoid that its graph shows without trying values.

The proofs need a combine that joins value k of the left state with value k of the right one, by an operation of known
laws. For commutativity it is enough that the combine is unchanged when its two states are exchanged.

Signs that follow from what was folded: no element is above the maximum of all.
"""

from __future__ import annotations

from typing import Literal

from ..graph import Expr, MonoidGraph, walk

Proof = Literal["exact", "rounding"]
"""Whether a law holds as it stands or, for floats, apart from rounding."""

_ASSOCIATIVE = ("add", "mul", "and", "or", "xor", "min", "max")
_IDEMPOTENT = ("and", "or", "min", "max")
_COMMUTATIVE = (*_ASSOCIATIVE, "eq", "ne")
_MIRRORED = {"gt": "lt", "ge": "le"}


def proof(graph: MonoidGraph, law: str) -> Proof | None:
    """Whether the graph proves a law, exactly or apart from rounding; None where it proves nothing."""
    if law == "commutativity":
        return "exact" if _mirrored(graph) else None
    ops = [operation_of(graph, i) for i in range(len(graph.state))]
    if law == "associativity":
        if any(op not in _ASSOCIATIVE for op in ops):
            return None
        rounds = any(t.is_float and op in ("add", "mul") for op, t in zip(ops, graph.state, strict=True))
        return "rounding" if rounds else "exact"
    if law == "idempotence":
        return "exact" if all(op in _IDEMPOTENT for op in ops) else None
    return "exact" if all(_neutral(graph, i, op) for i, op in enumerate(ops)) else None


def operation_of(graph: MonoidGraph, position: int) -> str:
    """The operation that combines value ``position`` of both states; empty if the formula has more than one."""
    e = graph.combine[position]
    params = sorted(a.value for a in e.args if a.op == "param")  # type: ignore[type-var]
    return e.op if params == [position, position + len(graph.state)] and len(e.args) == 2 else ""


def _neutral(graph: MonoidGraph, position: int, op: str) -> bool:
    t, value = graph.state[position], graph.identity[position]
    ones = -1 if t.kind == "int" else t.highest
    neutral = {"add": 0, "or": 0, "xor": 0, "mul": 1, "and": ones, "min": t.highest, "max": t.lowest}
    return op in neutral and value == neutral[op]


def _mirrored(graph: MonoidGraph) -> bool:
    """Whether exchanging the sides gives the same expressions, operands of commutative operations in any order."""
    numbers: dict[tuple[object, ...], int] = {}
    n = len(graph.state)
    return _numbered(graph.combine, 0, n, numbers) == _numbered(graph.combine, n, n, numbers)


def _numbered(roots: tuple[Expr, ...], shift: int, n: int, numbers: dict[tuple[object, ...], int]) -> list[int]:
    """A number for each root, the same for the same expression; parameters are moved by ``shift``."""
    memo: dict[str, int] = {}
    for e in walk(roots):
        args = [memo[a.digest] for a in e.args]
        op = _MIRRORED.get(e.op, e.op)
        if e.op in _MIRRORED:
            args.reverse()
        elif e.op in _COMMUTATIVE:
            args.sort()
        elif e.op == "fma":
            args[:2] = sorted(args[:2])
        value = (e.value + shift) % (2 * n) if e.op == "param" else repr(e.value)  # type: ignore[operator]
        memo[e.digest] = numbers.setdefault((op, e.dtype.name, value, *args), len(numbers))
    return [memo[r.digest] for r in roots]


def is_at_most_zero(e: Expr) -> bool:
    """Whether ``e`` is an element less the maximum of these elements, which is at most 0, or NaN."""
    if e.op != "sub" or e.args[1].op != "result":
        return False
    (reduce,), position = e.args[1].args, e.args[1].value
    monoid = reduce.value
    if not isinstance(monoid, MonoidGraph) or not isinstance(position, int):
        return False
    return reduce.args[position] == e.args[0] and operation_of(monoid, position) == "max"
