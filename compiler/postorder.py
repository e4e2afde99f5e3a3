"""Postorder over values and their operands: each value once, operands before users.

A program may use a value several times on each of hundreds of lines, or chain thousands of additions. So no walk over
operands, in the graph or in the IR, visits a value twice or recurses.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def postorder(ends: Sequence[T], operands: Callable[[T], Sequence[T]], known: Container[T] = ()) -> Iterator[T]:
    """The ``ends`` and every value that they depend on, once; ``known`` values are not entered.

    ``known`` may grow during the walk: a value is looked up when the walk reaches it.
    """
    seen: set[T] = set()
    stack = [(v, False) for v in reversed(ends)]
    while stack:
        v, ready = stack.pop()
        if ready:
            yield v
        elif v not in seen and v not in known:
            seen.add(v)
            stack.append((v, True))
            stack.extend((x, False) for x in reversed(operands(v)))
