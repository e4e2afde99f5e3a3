"""What comes before the group of a chunk: the prefix of the group before, or an earlier one and what follows it.

Each lane looks at one of the groups before, and waits until those from the nearest prefix on have left something. If
there is no prefix among them, they look further back. Then they combine that prefix with the aggregates behind it, one
after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...compiler.ir.build import i32, integer
from ...compiler.ir.dialect.grid import PREFIX
from ...compiler.ir.lane_exchange import of_lane
from ...compiler.ir.mlir import arith, ir, llvm, math, scf
from ...compiler.target import WARP
from .looks import Looks, ballot, bit, compared, inverted, is_empty, spin
from .scan_before import chosen


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
