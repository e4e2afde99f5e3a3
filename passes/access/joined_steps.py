"""The loops of lanes that meet in each step (``joined``): all lanes of a warp make the same steps.

So the loops count the steps of the first lane, and a lane that has no element in a step joins the identity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...compiler.ir.build import integer
from ...compiler.ir.lane_exchange import everywhere
from ...compiler.ir.mlir import arith
from .loads import Window
from .row_ends import RowEnds
from .thread_loop import last_access

if TYPE_CHECKING:
    from .peeling import LoopChain


def walk_alike(chain: LoopChain, begin: Any, end: Any) -> None:
    """Appends the loops of rows that begin at a boundary: whole groups, what is left, and the access that is cut.

    Of an access that the end cuts the first lane has what is left of it, in a step of its own.
    """
    t, lanes = begin.type, chain.lanes
    if chain.unroll > 1 and not chain.single_group:
        begin = chain.groups(begin, end)
    limit = arith.subi(end, integer(t, lanes - 1))
    window = Window(None, limit, last_access(limit, lanes), whole=True)
    together = chain.unroll if chain.together else 1
    chain.add(begin, limit, together, window, once=together > 1)
    if lanes > 1:
        cut = last_access(end, lanes)
        some = arith.cmpi(arith.CmpIPredicate.sge, cut, limit)
        chain.add(arith.select(some, cut, end), end, 1, Window(None, end), once=True)


def walk_shifted_alike(chain: LoopChain, begin: Any, end: Any, ends: RowEnds) -> None:
    """Appends the loops of the rows of a warp that begin at different places between two boundaries.

    There are as many steps as the row needs that begins last, and as many full groups as the row has that begins first.
    What is left after the groups is one step, or more of them at once.
    """
    t, width = begin.type, chain.unroll * chain.step
    inside, window = everywhere(ends.inside), ends.window
    start, most = arith.subi(begin, ends.lead), arith.addi(arith.subi(end, begin), integer(t, chain.lanes - 1))
    bound = arith.addi(start, most)
    _cut_alike(chain, start, bound, chain.unroll, window, inside)
    begin = chain.groups(arith.addi(start, integer(t, width)), arith.subi(end, ends.lead))
    rest = Window(None, window.end, window.last)
    many = arith.cmpi(arith.CmpIPredicate.sgt, arith.subi(bound, begin), integer(t, chain.step))
    _cut_alike(chain, begin, arith.select(many, bound, begin), chain.unroll, rest, inside)
    begin = arith.select(many, arith.addi(begin, integer(t, width)), begin)
    _cut_alike(chain, begin, bound, 1, rest, inside)


def _cut_alike(chain: LoopChain, begin: Any, bound: Any, unroll: int, window: Window, inside: Any) -> None:
    """Appends up to ``unroll`` steps before ``bound`` in which the rows of a warp may begin or end."""
    limit = arith.minsi(bound, arith.addi(begin, integer(begin.type, unroll * chain.step)))
    chain.add(begin, arith.select(inside, limit, begin), unroll, window, once=True)
    chain.add(begin, arith.select(inside, begin, limit), 1, Window(window.first, window.end), once=unroll == 1)
