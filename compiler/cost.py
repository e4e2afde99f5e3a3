"""What a combine costs, roughly, in instructions."""

from __future__ import annotations

from .graph import MonoidGraph, walk
from .terms import Node, needed, sums_of

COST = {
    "exp": 18, "exp2": 12, "log": 28, "log2": 36, "rsqrt": 16, "div": 8, "sqrt": 8, "floordiv": 20, "mod": 20,
    "pow": 10, "ipow": 10, "expm1": 8, "log1p": 8, "sin": 8, "cos": 8, "tanh": 8, "erf": 8,
}  # fmt: skip
"""Operations that stand for several instructions; those of long code for a call; exp2 as of a bounded product."""


def operations(monoid: MonoidGraph) -> int:
    """Those of one combine; a combine that only picks a value counts as one.

    Of an anchored monoid those that an element goes through: what joins anchors, and what sees its sums from one.
    """
    known = {e.digest: e for e in walk(monoid.combine)}

    def read(digest: str) -> Node:
        e = known[digest]
        if e.op == "param":
            return Node("param", (), e.value)  # type: ignore[arg-type]
        text = e.op if e.op in ("add", "mul", "fma") else f"{e.op} {e.value!r} {e.dtype.name}"
        return Node(text, [a.digest for a in e.args])

    made = [e.digest for e in monoid.combine]
    terms = sums_of(made, read)
    anchor = [v for k, v in enumerate(made) if k not in terms]
    moved = [v for own in terms.values() for term in own for v in term]
    nodes = needed(anchor, set(), read) | needed(moved, set(anchor), read)
    added = sum(map(len, terms.values()))
    return max(1, added + sum(COST.get(known[v].op, 1) for v in nodes if known[v].op != "const"))
