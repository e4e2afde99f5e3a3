"""Which values of a state are sums, seen from an anchor that its other values are: found in a combine's formulas.

The combine of such a monoid makes one anchor of two, sees both states' sums from there, and adds them:

    combine(a, b) = (k, F(a, k) + F(b, k))    with k made of the anchors of a and b alone

So log-sum-exp is written (anchor: the greatest exponent; sum: of exponentials relative to it), online softmax, and a
variance (anchor: count and mean; sum: of squared deviations). The states of any number of elements can come together
at once then: first all anchors, which is cheap, then each state's sums are seen from the last one, and added:

    combine(a, b, c, ...) = (k, F(a, k) + F(b, k) + F(c, k) + ...)    with k made of all anchors

Why that is the same: since the combine is associative, F(combine(a, b), k) = F(a, k) + F(b, k) - F(e, k) for the
identity e; and F(e, k) is zero, as each of its terms is a product with a value of the state's own.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import reduce
from typing import Any

from .formulas import Node, Read, needs

Term = tuple[Any, ...]
"""The nodes of a value, or of the two factors of a product."""
LEFT, RIGHT = 1, 2


def sums_of(made: Sequence[Hashable], read: Read) -> dict[int, list[Term]]:
    """The left state's terms of each sum, by its number among the values ``made`` by a combine: as many as there are.

    None are found where the combine is not of that kind. What only adds plainly counts as part of the anchor.
    """
    if len(made) < 2 or any(read(v).op == "param" for v in made):
        return {}
    made_of, found = needs(made, read), dict[int, list[Term]]()
    waiting = list(range(len(made)))
    while waiting:
        k = waiting.pop()
        if any(k in made_of[i] for i in range(len(made)) if i != k and i not in found):
            continue
        terms = _Formulas(made, {*found, k}, read).terms_of([*found, k])
        if terms is not None:
            found, waiting = terms, [i for i in range(len(made)) if i not in terms]
    return found


class _Formulas:
    """What the values ``made`` by a combine are made of, where all but the ``sums`` among them are a known anchor."""

    def __init__(self, made: Sequence[Any], sums: set[int], read: Read) -> None:
        self.made, self.count, self.read_node = made, len(made), read
        self.anchor = {v: k for k, v in enumerate(made) if k not in sums}
        self.memo: dict[Any, tuple[int, str]] = {}

    def terms_of(self, sums: Sequence[int]) -> dict[int, list[Term]] | None:
        """The left state's terms of each sum; None where one is no sum of what both states are from the anchor."""
        found = {}
        for k in sums:
            sides: dict[int, list[tuple[str, Term]]] = {LEFT: [], RIGHT: []}
            for term in self.terms(self.made[k]):
                side, text = self.of_term(term)
                if side not in sides or not any(map(self.is_own, term)):
                    return None
                sides[side].append((text, term))
            left, right = (sorted(text for text, _ in terms) for terms in sides.values())
            if left != right or not any("anchor" in text for text in left):
                return None
            found[k] = [term for _, term in sides[LEFT]]
        return found

    def read(self, v: Any) -> Node:
        return Node("anchor", (), self.anchor[v]) if v in self.anchor else self.read_node(v)

    def terms(self, v: Any) -> list[Term]:
        """What is added up to ``v``."""
        node = self.read(v)
        if node.op == "add":
            return [t for x in node.args for t in self.terms(x)]
        if node.op in ("mul", "fma"):
            a, b, *rest = node.args
            return [(a, b), *(t for x in rest for t in self.terms(x))]
        return [(v,)]

    def of_term(self, term: Term) -> tuple[int, str]:
        read = [self.of(v) for v in term]
        return reduce(int.__or__, (side for side, _ in read)), "*".join(sorted(text for _, text in read))

    def of(self, v: Any) -> tuple[int, str]:
        """Which states have a part in ``v``, and its formula, in which both are called alike."""
        if v not in self.memo:
            self.memo[v] = self._of(v)
        return self.memo[v]

    def _of(self, v: Any) -> tuple[int, str]:
        node = self.read(v)
        if node.op == "param":
            return (LEFT if node.number < self.count else RIGHT), f"own{node.number % self.count}"
        if node.op == "anchor":
            return 0, f"anchor{node.number}"
        read = [self.of(x) for x in node.args]
        return reduce(int.__or__, (side for side, _ in read), 0), f"{node.op}({', '.join(text for _, text in read)})"

    def is_own(self, v: Any) -> bool:
        """Whether ``v`` is a value of one of the states, or a product with one."""
        node = self.read(v)
        return node.op == "param" or (node.op == "mul" and any(map(self.is_own, node.args)))
