"""Expression graphs and monoids as JSON: lists of nodes, in which each operand is a number of an earlier node.

Floats are hexadecimal texts, which are exact and may be infinite or NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..program.array_program import Fold, Scan
from ..program.graph import Expr, MonoidGraph, ScanGraph, walk
from ..program.structure import First, Key
from . import json_fields as read
from .artifact_checks import UnsoundError

FIELDS = 5
"""Of a node: operation, operands, type, space, value."""


def to_json(roots: Sequence[Expr]) -> dict[str, Any]:
    """The nodes below ``roots``, and the numbers of these."""
    nodes = list(walk(tuple(roots)))
    number = {e.digest: i for i, e in enumerate(nodes)}
    rows = [[e.op, [number[a.digest] for a in e.args], e.dtype.name, e.space, _value(e.value)] for e in nodes]
    return {"nodes": rows, "roots": [number[r.digest] for r in roots]}


def from_json(name: str, j: Any) -> tuple[Expr, ...]:
    """The graph's roots."""
    nodes: list[Expr] = []
    for i, row in enumerate(read.of(f"{name}.nodes", j["nodes"], list)):
        own = f"{name}.nodes[{i}]"
        if len(read.of(own, row, list)) != FIELDS:
            raise UnsoundError(f"{own} has {len(row)} parts: expected {FIELDS}")
        op, args, t, space, value = row
        operands = tuple(_of_number(f"{own}.args", a, nodes) for a in read.of(f"{own}.args", args, list))
        nodes.append(
            Expr(read.text(own, op), operands, read.dtype(own, t), read.number(own, space), _from_value(own, value))
        )
    return tuple(_of_number(f"{name}.roots", r, nodes) for r in read.of(f"{name}.roots", j["roots"], list))


def _of_number(name: str, number: Any, nodes: Sequence[Expr]) -> Expr:
    found = read.number(name, number)
    if found >= len(nodes):
        raise UnsoundError(f"{name} names node {found} of {len(nodes)}")
    return nodes[found]


# --- values ----------------------------------------------------------------------------------------------------------
def _value(value: object) -> Any:
    """The value of a node, with its kind."""
    if isinstance(value, float):
        return ["float", value.hex()]
    if isinstance(value, MonoidGraph):
        return ["monoid", _monoid(value)]
    if isinstance(value, Fold):
        return ["fold", [_monoid(value.monoid), value.over, list(value.order)]]
    if isinstance(value, Scan):
        return ["scan", [_monoid(value.monoid), list(value.along), value.exclusive, value.reverse]]
    if isinstance(value, ScanGraph):
        return ["scanned", [_monoid(value.monoid), value.exclusive]]
    if isinstance(value, tuple):
        return ["dims", list(value)]
    return [type(value).__name__, value]


def _from_value(name: str, j: Any) -> Any:
    kind, value = read.of(name, j, list)
    if kind == "float":
        return float.fromhex(read.text(name, value))
    if kind == "monoid":
        return _from_monoid(name, value)
    if kind == "fold":
        graph, over, order = read.of(name, value, list)
        return Fold(_from_monoid(name, graph), read.number(name, over), read.many(name, order, read.number))
    if kind == "scan":
        graph, along, exclusive, reverse = read.of(name, value, list)
        flags = read.truth(name, exclusive), read.truth(name, reverse)
        return Scan(_from_monoid(name, graph), read.many(name, along, read.number), *flags)
    if kind == "scanned":
        graph, exclusive = read.of(name, value, list)
        return ScanGraph(_from_monoid(name, graph), read.truth(name, exclusive))
    if kind == "dims":
        return read.many(name, value, read.number)
    if kind == "NoneType" and value is None:
        return None
    kinds = {"int": int, "bool": bool, "str": str}
    if kind not in kinds:
        raise UnsoundError(f"{name} has a value of the kind {read.shown(kind)}")
    return read.of(name, value, kinds[kind])


def _monoid(m: MonoidGraph) -> dict[str, Any]:
    return {
        "name": m.name,
        "state": [t.name for t in m.state],
        "identity": [_value(v) for v in m.identity],
        "combine": to_json(m.combine),
        "commutative": m.commutative,
        "has_identity": m.has_identity,
        "structure": [[place, first.key] for place, first in m.structure],
    }


def _from_monoid(name: str, j: Any) -> MonoidGraph:
    read.of(name, j, dict)
    return MonoidGraph(
        read.text(name, j["name"]),
        read.many(name, j["state"], read.dtype),
        read.many(name, j["identity"], _from_value),
        from_json(f"{name}.combine", j["combine"]),
        read.truth(name, j["commutative"]),
        read.truth(name, j["has_identity"]),
        read.many(f"{name}.structure", j.get("structure", []), _from_first),
    )


def _from_first(name: str, j: Any) -> tuple[int, First]:
    place, key = read.of(name, j, list)
    return read.number(name, place), First(read.choice(name, key, Key))
