"""One anchor for all elements of a thread's accesses, where they belong to one result and the monoid is anchored.

The anchor of the state is then a scalar in the loop, and its sums are vectors: element j of a sum is the sum over the
elements j of all accesses, relative to that anchor. A step first joins the anchors of all its elements with the
state's, then moves all of them to the joint anchor. After the loop the elements of the sums are added. That requires
linear sums: a term that the state's anchor alone adds to a sum, as a count adds to squares, would be added once an
element.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...compiler.ir.anchored import Anchored, plus
from ...compiler.ir.combine import halved, splat, unpack, width
from ...compiler.ir.uniform_fragments import uniform


class SharedAnchor:
    """The state of a ``fold.thread_reduce`` with one anchor for all elements of a fragment."""

    def __init__(self, op: Any, found: Anchored) -> None:
        self.found, self.init = found, unpack(op.operands[2])
        self.lanes = width(self.init[0].type)
        self.ends = op.results[0].type != op.operands[2].type

    def first(self) -> list[Any]:
        """The state before the loop."""
        anchor = [make() if (make := uniform(v)) else v for v in self.found.anchor_of(self.init)]
        if all(width(v.type) == 1 for v in anchor):
            return self.found.state(anchor, self.found.sums_of(self.init))
        return self.join(None, [self.init])

    def join(self, state: list[Any] | None, fragments: Sequence[list[Any]]) -> list[Any]:
        """The state, if there is one, combined with the elements of the fragments."""
        found, states = self.found, [state, *fragments] if state else list(fragments)
        anchor = halved(found.join, found.join_all([found.anchor_of(f) for f in fragments]), self.lanes)
        anchor = found.join(found.anchor_of(state), anchor) if state else anchor
        sums = found.add(states, anchor)
        return found.state(anchor, [splat(v, self.lanes) for v in sums])

    def last(self, state: list[Any]) -> list[Any]:
        """The state after the loop: of scalars, or of fragments with the same anchor in all elements."""
        anchor, sums = self.found.anchor_of(state), self.found.sums_of(state)
        if self.ends:
            return self.found.state(anchor, halved(plus, sums, self.lanes))
        return self.found.state([splat(v, self.lanes) for v in anchor], sums)
