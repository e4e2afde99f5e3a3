"""How lanes look at the words that other chunks leave: each looks until it has seen what it waits for.

What comes before some elements of a scan: a state, and whether there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...compiler.ir.build import i32, integer, word_type
from ...compiler.ir.combine import combine, pack, splat, unpack, width
from ...compiler.ir.dialect.base import state_type
from ...compiler.ir.lane_exchange import lane_id
from ...compiler.ir.mlir import arith, ir, nvvm, scf
from ...compiler.plan.launch import group_of
from ...compiler.target import WARP
from .kernel import Kernel


class Before(NamedTuple):
    """What comes before some elements.

    Attributes:
        state: the state; None where nothing comes before.
        exists: whether something does; None where it is known to.
    """

    state: Sequence[Any] | None = None
    exists: Any = None

    def then(self, kernel: Kernel, other: Before) -> Before:
        """What comes before, and after that ``other``."""
        if self.state is None or other.state is None:
            return self if other.state is None else other
        both = combine(kernel.combine, self.state, other.state)
        if other.exists is not None:
            both = chosen(other.exists, both, self.state)
        if self.exists is not None:
            both = chosen(self.exists, both, other.state)
        exists = None
        if self.exists is not None and other.exists is not None:
            exists = arith.ori(self.exists, other.exists)
        return Before(both, exists)

    def up_to(self, kernel: Kernel, own: Sequence[Any]) -> Sequence[Any]:
        """The states of elements, if ``own`` are those of them alone."""
        if self.state is None:
            return own
        return self.then(kernel, Before(own)).state or own


def chosen(on: Any, xs: Sequence[Any], ys: Sequence[Any]) -> list[Any]:
    """The values ``xs`` where ``on``, else ``ys``; a scalar stands for equal elements."""
    wide = [max(width(x.type), width(y.type)) for x, y in zip(xs, ys, strict=True)]
    return [arith.select(on, splat(x, n), splat(y, n)) for x, y, n in zip(xs, ys, wide, strict=True)]


PAUSE = 20
"""Nanoseconds that a thread sleeps at most between two looks."""


@dataclass(frozen=True, eq=False)
class Looks:
    """The words at which a thread looks.

    Attributes:
        kernel: the kernel, as its scan sees it.
        here, groups: the first words of the CTA's chunk and of the first group, for the first of its rows.
        pitch, rows: the words from one chunk or group of a row to the next, and from one row to the next.
        lanes: the lanes of a row; each takes as many chunks of a group as the others.
        row, lane: the number of the row that the thread's lanes look for, and that of the lane among them.
        group, member: the number of the group of the CTA's chunk, and that of the chunk in its group.
        glance: what a first look has seen, which is made before elements are read: with many rows nothing waits then.
    """

    kernel: Kernel
    here: Any
    groups: Any
    pitch: Any
    rows: Any
    lanes: int
    row: Any
    lane: Any
    group: Any
    member: Any
    glance: Sequence[Any] = ()

    @property
    def size(self) -> int:
        """The chunks of a group."""
        return group_of(self.kernel.plan)

    @property
    def each(self) -> int:
        """The chunks of a group that a lane takes."""
        return self.size // self.lanes

    def combine(self, left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
        return combine(self.kernel.combine, left, right)

    def leave_in(self, here: Any, kind: int, on: Any, state: Sequence[Any]) -> None:
        """Leaves a state in the words that are those of the thread's row from ``here`` on."""
        operands = [self.kernel.arg("counter"), self.at(here), on, pack(state)]
        self.kernel.make_op("fold.leave", [], operands, {"kind": kind})

    def at(self, here: Any) -> Any:
        """The first word of the thread's row."""
        row = self.row if self.row.type == here.type else arith.extui(here.type, self.row)
        return here if self.kernel.plan.slots == 1 else arith.addi(here, arith.muli(row, self.rows))

    def look(self, here: Any) -> list[Any]:
        """What was left in the words from ``here`` on: its kind, and the state."""
        operands = [self.kernel.arg("counter"), self.at(here)]
        kind, state = self.kernel.make_op(
            "fold.seen", [word_type(), state_type(self.kernel.states)], operands, {}
        ).results
        return [kind, *unpack(state)]

    def of_row(self, votes: Any) -> Any:
        """The bits of the lanes of the thread's row."""
        if self.lanes == WARP:
            return votes
        return arith.andi(arith.shrui(votes, self.first_lane()), i32((1 << self.lanes) - 1))

    def first_lane(self) -> Any:
        return arith.subi(lane_id(), self.lane)

    def wide(self, word: Any) -> Any:
        """A word as an index."""
        return word if word.type == self.pitch.type else arith.extui(self.pitch.type, word)

    def again(self, lacks: Callable[[Sequence[Any]], Any]) -> Callable[[Sequence[Any]], Any] | None:
        """Which lanes look again, of those that wait together; None for all, where these look for one row.

        With many columns the looks of all would take time at the L2 cache that others need.
        """
        return lacks if self.kernel.plan.slots > 1 else None


def spin(
    look: Callable[[], list[Any]],
    waits: Callable[[Sequence[Any]], Any],
    lacks: Callable[[Sequence[Any]], Any] | None,
    seen: Sequence[Any] = (),
) -> list[Any]:
    """What a look finds for which no lane of the warp ``waits``; ``seen`` was found by one before.

    Lanes for which ``lacks`` holds look again, or all.
    """
    begun = list(seen) or look()
    types = [v.type for v in begun]
    loop = scf.WhileOp(types, begun)
    first, body = (part.blocks.append(*types) for part in (loop.before, loop.after))
    with ir.InsertionPoint(first):
        found = list(first.arguments)
        scf.ConditionOp(compared("ne", ballot(waits(found)), i32(0)), found)
    with ir.InsertionPoint(body):
        nvvm.nanosleep(i32(PAUSE))
        known = list(body.arguments)
        if lacks is None:
            scf.YieldOp(look())
            return list(loop.results)
        again = scf.IfOp(lacks(known), types, has_else=True)
        with ir.InsertionPoint(again.then_block):
            scf.YieldOp(look())
        with ir.InsertionPoint(again.else_block):
            scf.YieldOp(known)
        scf.YieldOp(list(again.results))
    return list(loop.results)


def is_empty(found: Sequence[Any]) -> Any:
    """Whether nothing was left where a look was made."""
    return compared("eq", found[0], i32(0))


def compared(predicate: str, x: Any, y: Any) -> Any:
    return arith.cmpi(getattr(arith.CmpIPredicate, predicate), x, y)


def ballot(x: Any) -> Any:
    return nvvm.vote_sync(i32(-1), x, nvvm.VoteSyncKind.ballot)


def bit(value: int) -> Any:
    return integer(ir.IntegerType.get_signless(1), value)


def inverted(x: Any) -> Any:
    return arith.xori(x, bit(1))
