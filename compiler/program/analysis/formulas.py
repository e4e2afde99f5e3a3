"""What the values that a combine makes are made of, seen in their formulas.

These may be those of a graph or of the IR: what is here sees nodes, through a function that reads them (``node`` of
``program/graph.py``, ``ir/reader.py`` for the IR).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

from ...postorder import postorder


class Node(NamedTuple):
    """What a node is.

    Attributes:
        op: ``param``, ``add``, ``mul``, ``fma``, or what else tells operations apart.
        args: the nodes of its operands.
        number: of a ``param``, which: those of the left state's values come first.
    """

    op: str
    args: Sequence[Any] = ()
    number: int = 0


Read = Callable[[Any], Node]


def needed(ends: Sequence[Hashable], known: set[Any], read: Read) -> set[Any]:
    """The nodes that ``ends`` are made of, without those that only the ``known`` ones are, and without parameters."""
    return {v for v in _below(ends, known, read) if read(v).op != "param"}


def needs(made: Sequence[Hashable], read: Read) -> list[set[int]]:
    """For each value ``made`` by a combine the numbers of those of both states that it is made of."""
    below = [map(read, _below([v], set(), read)) for v in made]
    return [{node.number % len(made) for node in nodes if node.op == "param"} for nodes in below]


def independent(made: Sequence[Hashable], values: set[int], read: Read) -> set[int]:
    """The greatest part of ``values``, numbers among those ``made`` by a combine, which it makes of nothing else."""
    kept, made_of = set(values), needs(made, read)
    while left_out := {k for k in kept if not made_of[k] <= kept}:
        kept -= left_out
    return kept


def _below(ends: Sequence[Hashable], known: set[Any], read: Read) -> set[Any]:
    return set(postorder(ends, lambda v: read(v).args, known))
