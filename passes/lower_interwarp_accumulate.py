"""The second half of the warp stage: lanes pick up the states that warps left, and combine them.

Lane l takes rows l*n to l*n + n - 1 (n = rows / lanes, at least 1), combines them as a tree, and a butterfly joins the
lanes. With more lanes than rows, every group of ``rows`` lanes does the same work, so all threads have the result.
"""

from __future__ import annotations

from typing import Any

from ..compiler.build import before, find, integer, load, replace
from ..compiler.combine import fragment, pack, tree, width
from ..compiler.dialect.base import boolean, element, values
from ..compiler.dialect.base import integer as attribute
from ..compiler.lanes import butterfly
from ..compiler.mlir import arith
from ..compiler.pipeline import Pass


def _run(module: Any) -> None:
    for op in find(module, "fold.interwarp_accumulate"):
        _lower(op)


def _lower(op: Any) -> None:
    lane, slot, *buffers = op.operands
    rows, lanes, t = attribute(op, "rows"), attribute(op, "lanes"), lane.type
    groups = min(rows, lanes)
    each = rows // groups
    types = values(op.results[0].type)
    with before(op):
        own = arith.muli(arith.andi(lane, integer(t, groups - 1)), integer(t, each))
        states = []
        for i in range(each):
            start = arith.addi(arith.muli(arith.addi(own, integer(t, i)), integer(t, attribute(op, "slots"))), slot)
            states.append([_fragment(b, start, v) for b, v in zip(buffers, types, strict=True)])
        state = tree(op.regions[0], states)
        stride = attribute(op, "stride")
        replace(op, [pack(butterfly(op.regions[0], state, groups, stride, ordered=boolean(op, "ordered")))])


def _fragment(buffer: Any, start: Any, t: Any) -> Any:
    """The fragment of type ``t`` at element ``start`` of a shared buffer."""
    index = start.type
    return fragment([load(buffer, arith.addi(start, integer(index, j)), element(t)) for j in range(width(t))])




PASS = Pass(
    "lower-interwarp-accumulate", _run, ("fold.interwarp_accumulate",), "combine the states of a CTA's warps"
)
