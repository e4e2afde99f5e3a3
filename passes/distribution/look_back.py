"""The grid level of a scan: a CTA looks back at what the chunks before its own left (Merrill and Garland, 2016).

A chunk leaves its own state, its *aggregate*. Some chunks (``group_of``) are a *group*. Its last chunk leaves the
aggregate of the group, and once it knows what comes before, the state of all chunks up to the end of the group, a
*prefix*. States lie in tagged words (``fold.leave``, ``fold.seen``), which need no order of accesses.

What comes before a chunk is the prefix of the group before, and then the chunks before it in its group: each lane takes
the aggregate of one of these, or of several that follow each other, and the lanes scan them.

So a state has the same bits whatever was seen: the prefix of a group is always that of the one before, combined with
its aggregate. Where a CTA has several rows, each has lanes of its own; those of a warp look, and wait, at a time.

What comes before the group of a chunk: the prefix of the group before, or an earlier one and what follows it.

Each lane looks at one of the groups before, and waits until those from the nearest prefix on have left something. If
there is no prefix among them, they look further back. Then they combine that prefix with the aggregates behind it, one
after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from ...compiler.ir.build import as_word, i32, integer, word_type
from ...compiler.ir.combine import pack, unpack
from ...compiler.ir.dialect.base import state_type
from ...compiler.ir.dialect.grid import AGGREGATE, PREFIX
from ...compiler.ir.lane_exchange import of_lane
from ...compiler.ir.mlir import arith, ir, llvm, math, scf
from ...compiler.plan.launch import group_of, look_back_lanes
from ...compiler.target import WARP
from ..access.state_buffers import StateBuffers
from .kernel import Kernel
from .looks import Looks, ballot, bit, chosen, compared, inverted, is_empty, spin


@dataclass(frozen=True, eq=False)
class EarlierGroups(Looks):
    """How a thread finds what comes before a group."""

    def before_group(self, seen: Sequence[Any]) -> list[Any]:
        """The state of all groups before; ``seen`` is what was left at the least distance a short time ago."""
        return self._folded(*self._seen(seen))

    def look_at_group(self, distance: Any) -> list[Any]:
        """What the group that lies as far before, and as many more as the lane's number says, has left."""
        return self.look(self._of_group(distance))

    def _of_group(self, distance: Any) -> Any:
        """The first word of the group that lies as far before, and as many more as the lane's number says."""
        back = arith.minsi(arith.addi(distance, self.wide(self.lane)), self.group)
        return arith.addi(self.groups, arith.muli(arith.subi(self.group, back), self.pitch))

    def _prefixes(self, kind: Any) -> Any:
        """The lanes of the row that see a prefix, as bits from the first one on."""
        return self.of_row(ballot(compared("eq", kind, i32(PREFIX))))

    def _waited(self, distance: Any, done: Any, seen: Sequence[Any] = ()) -> list[Any]:
        """The lanes that see a prefix, and their states, once no group from the nearest of these on has left nothing.

        A row that is ``done`` does not wait. ``seen`` is what was left at that distance a short time ago.
        """

        def waits(found: Sequence[Any]) -> Any:
            prefixes = self._prefixes(found[0])
            empty = self.of_row(ballot(compared("eq", found[0], i32(0))))
            needed = arith.xori(prefixes, arith.subi(prefixes, i32(1)))
            return arith.andi(compared("ne", arith.andi(empty, needed), i32(0)), inverted(done))

        kind, *states = spin(lambda: self.look_at_group(distance), waits, self.again(is_empty), seen)
        return [self._prefixes(kind), *states]

    def _seen(self, seen: Sequence[Any]) -> tuple[Any, Any, list[Any]]:
        """The distance at which the row sees a prefix, the lanes that see one, and the states of all lanes.

        ``seen`` is what was left at the least distance.
        """
        t = self.pitch.type
        one = integer(t, 1)
        begun = self._waited(one, bit(0), seen)
        types = [t, t, *[v.type for v in begun]]
        loop = scf.WhileOp(types, [one, one, *begun])
        first, body = (part.blocks.append(*types) for part in (loop.before, loop.after))
        with ir.InsertionPoint(first):
            further = compared("ne", ballot(compared("eq", first.arguments[2], i32(0))), i32(0))
            scf.ConditionOp(further, list(first.arguments))
        with ir.InsertionPoint(body):
            distance, kept, *known = body.arguments
            done = compared("ne", known[0], i32(0))
            distance = arith.addi(distance, integer(t, self.lanes))
            found = chosen(done, known, self._waited(distance, done))
            scf.YieldOp([distance, arith.select(done, kept, distance), *found])
        _, kept, prefixes, *states = list(loop.results)
        return kept, prefixes, states

    def _folded(self, distance: Any, prefixes: Any, own: list[Any]) -> list[Any]:
        """The prefix that was seen at ``distance``, combined with the aggregates behind it."""
        t, n = distance.type, len(own)
        kept = [t, *self.kernel.states]
        begun = [distance, prefixes, *own, *(llvm.mlir_undef(v) for v in self.kernel.states)]
        loop = scf.WhileOp(kept, begun)
        first, body = loop.before.blocks.append(*[v.type for v in begun]), loop.after.blocks.append(*kept)
        with ir.InsertionPoint(first):
            distance, prefixes, *rest = first.arguments
            folded = self._behind(prefixes, rest[:n], rest[n:])
            state = chosen(compared("sge", distance, integer(t, 1)), folded, rest[n:])
            nearer = arith.subi(distance, integer(t, self.lanes))
            more = compared("ne", ballot(compared("sge", nearer, integer(t, 1))), i32(0))
            scf.ConditionOp(more, [nearer, *state])
        with ir.InsertionPoint(body):
            distance, *state = body.arguments
            done = compared("slt", distance, integer(t, 1))
            found = self._waited(arith.maxsi(distance, integer(t, 1)), done)
            scf.YieldOp([distance, *found, *state])
        return list(loop.results)[1:]

    def _behind(self, prefixes: Any, own: list[Any], state: list[Any]) -> list[Any]:
        """``state`` combined with the aggregates of the lanes, from the last; or the nearest prefix with those behind.

        So far back as there are prefixes, each lane's own state takes the place of what there was.
        """
        begun, first = i32(self.lanes), self.first_lane()
        if self.lanes == WARP:  # all lanes look for one row, so that nothing before the prefix is needed
            begun = math.ctpop(arith.xori(prefixes, arith.subi(prefixes, i32(1))))
        loop = scf.ForOp(i32(0), begun, i32(1), state)
        with ir.InsertionPoint(loop.body):
            i = arith.subi(arith.subi(begun, i32(1)), loop.induction_variable)
            mask = arith.subi(arith.shli(arith.shli(i32(1), i), i32(1)), i32(1))
            given = [of_lane(v, arith.addi(first, i)) for v in own]
            nearer = compared("eq", arith.andi(prefixes, mask), i32(0))
            state = chosen(nearer, self.combine(list(loop.inner_iter_args), given), given)
            scf.YieldOp(state)
        return list(loop.results)


@dataclass(frozen=True, eq=False)
class LookBack(EarlierGroups):
    """How a thread looks back."""

    @classmethod
    def of(
        cls, kernel: Kernel, chunk: Any, here: Any, groups: Any, pitch: Any, rows: Any, thread: Any
    ) -> LookBack:  # fmt: skip
        """How a thread of the CTA of chunk number ``chunk`` does, which has the number ``thread`` among those."""
        lanes = look_back_lanes(kernel.plan)
        row, lane = arith.shrui(thread, i32(lanes.bit_length() - 1)), arith.andi(thread, i32(lanes - 1))
        size = group_of(kernel.plan)
        member = as_word(kernel.modulo(chunk, size))
        return cls(kernel, here, groups, pitch, rows, lanes, row, lane, kernel.divide(chunk, size), member)

    def glanced(self) -> LookBack:
        """The same, with a first look now; elements are read meanwhile."""
        types = [word_type(), *self.kernel.states] * (self.each + 1)
        looks = scf.IfOp(compared("slt", self.row, i32(self.kernel.plan.slots)), types, has_else=True)
        with ir.InsertionPoint(looks.then_block):
            scf.YieldOp(self._look_before())
        with ir.InsertionPoint(looks.else_block):
            scf.YieldOp([llvm.mlir_undef(t) for t in types])
        return replace(self, glance=list(looks.results))

    def before(self, slot: Any, state: Any) -> list[Any]:
        """What comes before the chunk of one row, number ``slot``, of which all threads have the ``state``."""
        mine = unpack(state)
        looks = scf.IfOp(compared("slt", self.row, i32(1)), self.kernel.states, has_else=True)
        with ir.InsertionPoint(looks.then_block):
            self.leave(mine)
            scf.YieldOp(self.known(mine))
        with ir.InsertionPoint(looks.else_block):
            scf.YieldOp(mine)
        return self._given(slot, list(looks.results), state.type)

    def of_warps(self, slot: Any, buffers: Sequence[Any], t: Any) -> list[Any]:
        """The same for the rows of a thread from ``slot`` on, a state of type ``t``; ``buffers`` have those of warps.

        What comes before each warp in the chunk takes the place of its state there.
        """
        looks = scf.IfOp(compared("slt", self.row, i32(self.kernel.plan.slots)), self.kernel.states, has_else=True)
        with ir.InsertionPoint(looks.then_block):
            mine = self._warps(buffers)
            self.leave(mine)
            scf.YieldOp(self.known(mine))
        with ir.InsertionPoint(looks.else_block):
            scf.YieldOp([llvm.mlir_undef(v) for v in self.kernel.states])
        return self._given(slot, list(looks.results), t)

    def _warps(self, buffers: Sequence[Any]) -> list[Any]:
        """The state of the chunk of a row: its first lane scans those of warps, and the others get it."""
        kernel, states = self.kernel, self.kernel.states
        own = StateBuffers(buffers, states, kernel.plan.slots, self.row)
        first = scf.IfOp(compared("eq", self.lane, i32(0)), states, has_else=True)
        with ir.InsertionPoint(first.then_block):
            read = [own.load(i32(i)) for i in range(kernel.plan.warps)]
            total = read[0]
            for i, state in enumerate(read[1:], 1):
                own.store(i32(i), total)
                total = self.combine(total, state)
            scf.YieldOp(total)
        with ir.InsertionPoint(first.else_block):
            scf.YieldOp([llvm.mlir_undef(v) for v in states])
        return [of_lane(v, self.first_lane()) for v in first.results]

    def _given(self, slot: Any, found: list[Any], t: Any) -> list[Any]:
        """What the first lane of each row has ``found``, for the rows of a thread from ``slot`` on."""
        row = self.row if self.row.type == self.kernel.index else arith.extui(self.kernel.index, self.row)
        first = arith.andi(compared("slt", self.row, i32(self.kernel.plan.slots)), compared("eq", self.lane, i32(0)))
        return unpack(self._read(slot, self._left(row, first, pack(found)), t))

    def _left(self, slot: Any, on: Any, state: Any) -> list[Any]:
        """The buffers of shared memory in which threads leave states of rows for the others."""
        buffers = [ir.Type.parse("!llvm.ptr<3>")] * len(self.kernel.states)
        how = {"rows": 1, "slots": self.kernel.plan.slots}
        operands = [self.kernel.number(0), slot, on, state]
        return list(self.kernel.make_op("fold.shared_store", buffers, operands, how).results)

    def _read(self, slot: Any, buffers: list[Any], t: Any) -> Any:
        """The state of the rows from ``slot`` on."""
        how = {"rows": 1, "slots": self.kernel.plan.slots}
        return self.kernel.stage("fold.interwarp_scan", [t, t], [self.kernel.number(0), slot, *buffers], how).results[0]

    def leave(self, mine: Sequence[Any]) -> None:
        """Leaves the state of the chunk of a row for others."""
        self.leave_in(self.here, AGGREGATE, compared("eq", self.lane, i32(0)), mine)

    def known(self, mine: Sequence[Any]) -> list[Any]:
        """What comes before the chunk of a row, and leaves what others need of the group, once the state is left.

        Nothing comes before the first one.
        """
        here = arith.addi(self.groups, arith.muli(self.group, self.pitch))
        first = compared("eq", self.lane, i32(0))
        last = arith.andi(first, compared("eq", self.member, i32(self.size - 1)))
        members, seen = self._members()
        some = compared("ne", self.member, i32(0))
        total = chosen(some, self.combine(members, mine), mine)
        later = scf.IfOp(compared("ne", self.group, self.kernel.number(0)), self.kernel.states, has_else=True)
        with ir.InsertionPoint(later.then_block):
            self.leave_in(here, AGGREGATE, last, total)
            earlier = self.before_group(seen)
            self.leave_in(here, PREFIX, last, self.combine(earlier, total))
            scf.YieldOp(chosen(some, self.combine(earlier, members), earlier))
        with ir.InsertionPoint(later.else_block):
            self.leave_in(here, PREFIX, last, total)
            scf.YieldOp(members)
        return list(later.results)

    # --- the chunks of the group ---
    def _members(self) -> tuple[list[Any], list[Any]]:
        """The state of the chunks before in the group, and what the groups before have left by then."""
        earlier = [compared("slt", number, self.member) for number in self._numbers()]
        size = 1 + len(self.kernel.states)

        def waits(found: Sequence[Any]) -> Any:
            empty = [arith.andi(e, compared("eq", found[i * size], i32(0))) for i, e in enumerate(earlier)]
            return reduce(arith.ori, empty)

        found = spin(self._look_before, waits, self.again(waits), self.glance)
        own, groups = found[1:size], found[self.each * size :]
        for i in range(1, self.each):
            both = self.combine(own, found[i * size + 1 : (i + 1) * size])
            own = chosen(earlier[i], both, own)
        if self.lanes == 1:
            return list(own), groups
        t, how = state_type(self.kernel.states), {"lanes": self.lanes, "stride": 1}
        before, total = self.kernel.stage("fold.warp_scan", [t, t], [self.lane, pack(list(own))], how).results
        if self.each == 1:
            at = arith.addi(self.first_lane(), self.member)
            return [of_lane(v, at) for v in unpack(before)], groups
        lanes = arith.shrui(arith.addi(self.member, i32(self.each - 1)), i32(self.each.bit_length() - 1))
        at = arith.addi(self.first_lane(), arith.minsi(lanes, i32(self.lanes - 1)))
        inside = [of_lane(v, at) for v in unpack(before)]
        return chosen(compared("slt", lanes, i32(self.lanes)), inside, unpack(total)), groups

    def _numbers(self) -> list[Any]:
        """The numbers of the chunks of a group that a lane takes."""
        if self.each == 1:
            return [self.lane]
        return [arith.addi(arith.muli(self.lane, i32(self.each)), i32(i)) for i in range(self.each)]

    def _look_before(self) -> list[Any]:
        """What some of the chunks before in the group have left, and one of the groups before."""
        found = []
        for number in self._numbers():
            back = arith.maxsi(arith.subi(self.member, number), i32(0))
            found += self.look(arith.subi(self.here, arith.muli(self.wide(back), self.pitch)))
        return [*found, *self.look_at_group(self.kernel.number(1))]
