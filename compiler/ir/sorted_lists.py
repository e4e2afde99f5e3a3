"""Combines that merge two sorted lists, the least first: networks of minima and the maxima beside them.

Such a network moves numbers, and compares them alone. So it is right for all numbers if it is for zeros and ones: D. E.
Knuth, "The Art of Computer Programming", volume 3, 5.3.4. A maximum is written as what the minimum left: x ^ y ^ min.
"""

from __future__ import annotations

from functools import lru_cache

from .combine import KEPT, Combine, Formula
from .mlir import ir

_MIN, _MAX, _XOR = "arith.minsi", "arith.maxsi", "arith.xori"


def inserts(region: ir.Region) -> bool:
    """Whether a combine puts an element into a sorted list: the element is the first of a list of highest numbers."""
    return _inserts(Combine.of(region).formula)


@lru_cache(KEPT)
def _inserts(formula: Formula) -> bool:
    """Of a list of k zeros and ones, and a zero or a one, the k least are left, sorted: a bit of a word is a case."""
    k = len(formula.made)
    if k < 2 or any(formula.read(n).op == "param" for n in formula.made):
        return False
    cases = [(zeros, new) for zeros in range(k + 1) for new in range(2)]
    ones = (1 << len(cases)) - 1

    def word(bits: list[bool]) -> int:
        return sum(1 << i for i, bit in enumerate(bits) if bit)

    own = [word([n >= zeros for zeros, _ in cases]) for n in range(k)]
    given = [*own, word([new == 1 for _, new in cases]), *[ones] * (k - 1)]
    wanted = [word([n >= zeros + (new == 0) for zeros, new in cases]) for n in range(k)]
    found: dict[int, int] = {}
    for number, node in enumerate(formula.nodes):
        value = given[node.number] if node.op == "param" else _value(formula, number, found)
        if value is not None:
            found[number] = value
    return [found.get(n) for n in formula.made] == wanted


def _value(formula: Formula, number: int, found: dict[int, int]) -> int | None:
    """A node's minimum or maximum of words of cases; None for another node."""
    node = formula.read(number)
    name = node.op.split(" ")[0]
    pair = _pair_left(formula, number) if name == _XOR else tuple(node.args)
    if name not in (_MIN, _MAX, _XOR) or pair is None or not all(n in found for n in pair):
        return None
    x, y = (found[n] for n in pair)
    return x & y if name == _MIN else x | y


def _pair_left(formula: Formula, number: int) -> tuple[int, ...] | None:
    """The pair of which a node is what their minimum left; None for another node."""
    for both, least in (pair := tuple(formula.read(number).args)), pair[::-1]:
        names = [formula.read(n).op.split(" ")[0] for n in (both, least)]
        args = [tuple(formula.read(n).args) for n in (both, least)]
        if names == [_XOR, _MIN] and sorted(args[0]) == sorted(args[1]):
            return args[0]
    return None
