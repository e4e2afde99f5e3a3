"""Which inputs the values of a combine depend on, read from their formulas.

Formulas come from a graph or from the IR; this file sees nodes, through a function that reads them (``node`` of
``program/graph.py``, ``ir/combine.py`` for the IR).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from ...postorder import postorder


class Node(NamedTuple):
    """One operation of a formula.

    Attributes:
        op: ``param``, ``add``, ``mul``, ``fma``, or another text that distinguishes operations.
        args: the nodes of its operands.
        number: the index of a ``param``; the left state's values come first.
    """

    op: str
    args: Sequence[Any] = ()
    number: int = 0


Read = Callable[[Any], Node]


def needed(ends: Sequence[Hashable], known: set[Any], read: Read) -> set[Any]:
    """The nodes that ``ends`` depend on, without ``known`` nodes, nodes that only these depend on, and parameters."""
    return {v for v in _below(ends, known, read) if read(v).op != "param"}


def needs(made: Sequence[Hashable], read: Read) -> list[set[int]]:
    """For each value ``made`` by a combine, the indices of the state values that it depends on."""
    below = [map(read, _below([v], set(), read)) for v in made]
    return [{node.number % len(made) for node in nodes if node.op == "param"} for nodes in below]


def independent(made: Sequence[Hashable], values: set[int], read: Read) -> set[int]:
    """The largest subset of ``values``, indices of values ``made`` by a combine, that depends on itself alone."""
    kept, made_of = set(values), needs(made, read)
    while left_out := {k for k in kept if not made_of[k] <= kept}:
        kept -= left_out
    return kept


def _below(ends: Sequence[Hashable], known: set[Any], read: Read) -> set[Any]:
    return set(postorder(ends, lambda v: read(v).args, known))
