"""Anchored monoids: which values of a state are sums relative to an anchor that the other values form.

The combine of such a monoid makes one anchor of two, sees both states' sums from there, and adds them:

    combine(a, b) = (k, F(a, k) + F(b, k))    with k made of the anchors of a and b alone

Log-sum-exp has this form (anchor: the greatest exponent; sum: of exponentials relative to it), and so have online
softmax and a variance (anchor: count and mean; sum: of squared deviations). The states of any number of elements can
then be combined at once: first all anchors, which is cheap, then each state's sums relative to the last anchor:

    combine(a, b, c, ...) = (k, F(a, k) + F(b, k) + F(c, k) + ...)    with k made of all anchors

This gives the same result: since the combine is associative, F(combine(a, b), k) = F(a, k) + F(b, k) - F(e, k) for the
identity e; and F(e, k) is zero, as each of its terms is a product with a value of the state's own.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import reduce
from typing import Any, NamedTuple

from ...postorder import postorder
from .formulas import Node, Read, needs

Term = tuple[Any, ...]
"""The nodes of a value, or of the two factors of a product."""
LEFT, RIGHT = 1, 2
MOST_TERMS = 64
"""Terms of a sum at most: one that is doubled on each of n lines has 2^n."""


class _Formula(NamedTuple):
    """What a node computes from a state; the same formula over the left and the right state has one number.

    Attributes:
        sides: which states it depends on.
        number: the same for the same formula.
        anchored: whether it depends on the anchor.
        own: whether it is a value of a state, or a product with one.
    """

    sides: int
    number: int
    anchored: bool
    own: bool


def sums_of(made: Sequence[Hashable], read: Read) -> dict[int, list[Term]]:
    """The left state's terms of each sum, by its number among the values ``made`` by a combine: as many as there are.

    The result is empty if the combine has another form. A plain sum counts as part of the anchor.
    """
    if len(made) < 2 or any(read(v).op == "param" for v in made):
        return {}
    made_of, found = needs(made, read), dict[int, list[Term]]()
    for group in _groups(made_of):
        found |= _sums_among(group, made, made_of, read)
    return found


def _groups(made_of: Sequence[set[int]]) -> list[set[int]]:
    """The values of a state in groups that depend on each other: the monoids of a product."""
    groups: list[set[int]] = []
    for k, own in enumerate(made_of):
        joined = {k, *own}.union(*(g for g in groups if not g.isdisjoint({k, *own})))
        groups = [g for g in groups if g.isdisjoint(joined)] + [joined]
    return groups


def _sums_among(
    group: set[int], made: Sequence[Hashable], made_of: Sequence[set[int]], read: Read
) -> dict[int, list[Term]]:
    """The terms of the sums among the values of a group."""
    found = dict[int, list[Term]]()
    waiting = sorted(group)
    while waiting:
        k = waiting.pop()
        if any(k in made_of[i] for i in group if i != k and i not in found):
            continue
        terms = _Formulas(made, {*found, k}, read).terms_of([*found, k])
        if terms is not None:
            found, waiting = terms, sorted(group - terms.keys())
    return found


class _Formulas:
    """The formulas of the values ``made`` by a combine; all values but ``sums`` are the known anchor."""

    def __init__(self, made: Sequence[Any], sums: set[int], read: Read) -> None:
        self.made, self.count, self.read_node = made, len(made), read
        self.anchor = {v: k for k, v in enumerate(made) if k not in sums}
        self.memo: dict[Any, _Formula] = {}
        self.numbers: dict[tuple[Hashable, ...], int] = {}

    def terms_of(self, sums: Sequence[int]) -> dict[int, list[Term]] | None:
        """The left state's terms of each sum; None where one is no sum of what both states are from the anchor."""
        found = {}
        for k in sums:
            sides: dict[int, list[Term]] = {LEFT: [], RIGHT: []}
            for term in self.terms(self.made[k]):
                factors = [self.of(v) for v in term]
                side = reduce(int.__or__, (f.sides for f in factors))
                if side not in sides or not any(f.own for f in factors):
                    return None
                sides[side].append(term)
            left, right = (sorted(sorted(self.of(v).number for v in t) for t in terms) for terms in sides.values())
            if left != right or not any(self.of(v).anchored for term in sides[LEFT] for v in term):
                return None
            found[k] = sides[LEFT]
        return found

    def read(self, v: Any) -> Node:
        return Node("anchor", (), self.anchor[v]) if v in self.anchor else self.read_node(v)

    def terms(self, v: Any) -> list[Term]:
        """The terms of the sum ``v``; ``v`` alone, which then counts as no sum, where there are too many."""
        found, left = list[Term](), [v]
        while left:
            x = left.pop()
            node = self.read(x)
            if node.op == "add":
                left += reversed(node.args)
            elif node.op in ("mul", "fma"):
                a, b, *rest = node.args
                found.append((a, b))
                left += rest
            else:
                found.append((x,))
            if len(found) + len(left) > MOST_TERMS:
                return [(v,)]
        return found

    def of(self, v: Any) -> _Formula:
        """The formula of ``v``."""
        for x in postorder([v], lambda x: self.read(x).args, self.memo):
            self.memo[x] = self._of(self.read(x))
        return self.memo[v]

    def _of(self, node: Node) -> _Formula:
        """The formula of one node, from the formulas of its operands."""
        read = [self.memo[x] for x in node.args]
        sides = reduce(int.__or__, (f.sides for f in read), 0)
        if node.op == "param":
            sides = LEFT if node.number < self.count else RIGHT
        number = node.number % self.count if node.op == "param" else node.number
        key = (node.op, number, *(f.number for f in read))
        anchored = node.op == "anchor" or any(f.anchored for f in read)
        own = node.op == "param" or (node.op == "mul" and any(f.own for f in read))
        return _Formula(sides, self.numbers.setdefault(key, len(self.numbers)), anchored, own)
