"""The order in which values that are made of others are looked at: each once, and operands before users.

A program may use a value several times on each of hundreds of lines, or add numbers thousands of times in a row. So
nothing that looks at what a value is made of, in the graph or in the IR, asks for an operand twice or calls itself.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def postorder(ends: Sequence[T], operands: Callable[[T], Sequence[T]], known: Container[T] = ()) -> Iterator[T]:
    """Every value that ``ends`` are made of, and these, once; those that are ``known`` are not looked into.

    ``known`` may grow while the walk goes on: a value is asked for when the walk reaches it.
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
