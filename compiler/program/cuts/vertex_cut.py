"""The cheapest nodes of a graph that separate its sources from its sinks.

By the theorem of Ford and Fulkerson the weight of these nodes is the maximum flow through the graph in which each node
is an edge of its weight. Augmenting paths are the shortest ones (Edmonds and Karp, 1972).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")
_Edge = tuple[int, int]


def vertex_cut(
    nodes: Sequence[T], edges: Iterable[tuple[T, T]], weights: Mapping[T, int], sources: Sequence[T], sinks: Sequence[T]
) -> list[T]:
    """The nodes of least weight such that every path from a source to a sink contains one.

    Of several such sets it is the one nearest to the sinks.

    Args:
        nodes: all nodes, operands before users.
        edges: (operand, user) pairs.
        weights: the weight of each node that may be chosen. Sources must be among them, so that there is a cut.
        sources: where paths begin.
        sinks: where paths end; a sink may be chosen if it has a weight.
    """
    number = {n: i for i, n in enumerate(nodes)}
    unlimited = sum(weights.values()) + 1
    first, last = 2 * len(number), 2 * len(number) + 1
    room: dict[_Edge, int] = {(2 * i, 2 * i + 1): weights.get(n, unlimited) for n, i in number.items()}
    room |= {(2 * number[a] + 1, 2 * number[b]): unlimited for a, b in edges}
    room |= {(first, 2 * number[s]): unlimited for s in sources} | {(2 * number[s] + 1, last): unlimited for s in sinks}
    neighbours: dict[int, list[int]] = {}
    for a, b in list(room):
        room.setdefault((b, a), 0)
        neighbours.setdefault(a, []).append(b)
        neighbours.setdefault(b, []).append(a)
    while last in (before := _reached(first, neighbours, room)):
        path = [last]
        while path[-1] != first:
            path.append(before[path[-1]])
        steps = list(zip(path[1:], path, strict=False))
        flow = min(room[step] for step in steps)
        for a, b in steps:
            room[a, b] -= flow
            room[b, a] += flow
    backwards = {(b, a): left for (a, b), left in room.items()}
    behind = _reached(last, neighbours, backwards)
    return [n for n, i in number.items() if 2 * i + 1 in behind and 2 * i not in behind]


def _reached(start: int, neighbours: Mapping[int, Sequence[int]], room: Mapping[_Edge, int]) -> dict[int, int]:
    """The nodes to which edges with room lead from ``start``, each with the node before it."""
    before = {start: start}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        for other in neighbours.get(node, ()):
            if other not in before and room[node, other]:
                before[other] = node
                waiting.append(other)
    return before
