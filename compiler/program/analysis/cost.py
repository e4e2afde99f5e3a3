"""The rough cost of a combine, in instructions."""

from __future__ import annotations

import math

from ..function_table import TABLE
from ..graph import ELEMENT, Expr, MonoidGraph, Program, node, walk
from ..words import expanded
from .anchors import sums_of
from .formulas import needed

COST = {"div": 8, "floordiv": 20, "mod": 20, "ipow": 10, **{row.name: row.cost for row in TABLE}}
"""Operations that stand for several instructions; those of long code for a call; exp2 as of a bounded product."""


def operations(monoid: MonoidGraph) -> int:
    """The instructions of one combine, at least 1.

    For an anchored monoid, those that an element needs: joining anchors, and moving its sums to the new anchor.
    """
    made = monoid.combine
    terms = sums_of(made, node)
    anchor = [e for k, e in enumerate(made) if k not in terms]
    moved = [e for own in terms.values() for term in own for e in term]
    nodes = needed(anchor, set(), node) | needed(moved, set(anchor), node)
    added = sum(map(len, terms.values()))
    return max(1, added + sum(COST.get(e.op, 1) for e in nodes if e.op != "const" and not _scales(e)))


def _scales(e: Expr) -> bool:
    """Whether ``e`` is a float times a power of two, which counts as no instruction.

    Most of these are weights, which an access computes once for all its elements, and halvings against overflow.
    """
    factors = [a.value for a in e.args if a.op == "const"] if e.op == "mul" and e.dtype.is_float else []
    return any(abs(math.frexp(f)[0]) == 0.5 for f in factors)  # type: ignore[arg-type]


def lifted(program: Program) -> int:
    """The instructions that compute from an element what is combined; widening counts as none."""
    made = walk(expanded(program.reduces[0].args))
    return sum(COST.get(e.op, 1) for e in made if e.op not in ("input", "const", "cast") and e.space == ELEMENT)
