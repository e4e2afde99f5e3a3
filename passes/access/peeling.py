"""Peels a thread's walk into a chain of loops, each of which knows more about its accesses than the whole walk does.

The loops of lanes that meet in each step (``joined``): all lanes of a warp make the same steps.

So the loops count the steps of the first lane, and a lane that has no element in a step joins the identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...compiler.ir.anchored import anchored
from ...compiler.ir.build import before, integer, replace
from ...compiler.ir.combine import Combine, horizontal, pack, unpack, width
from ...compiler.ir.dialect.access import ACCESS
from ...compiler.ir.dialect.base import int_attr, str_attr
from ...compiler.ir.lane_exchange import everywhere
from ...compiler.ir.mlir import arith, ir, scf
from ...compiler.target import WARP
from .loads import RowEnds, Window, accesses_inside, lower_body
from .thread_loop import apart, last_access, short


def peel(op: Any) -> None:
    """Replaces a ``fold.thread_reduce`` by a chain of simpler ones whose accesses are lowered."""
    body = [o.operation for o in op.regions[0].blocks[0].operations]
    live = next((o for o in body if o.name == "fold.live"), None)
    loads: dict[str, list[Any]] = {}
    for o in (o for o in body if o.name == "fold.load"):
        loads.setdefault(str_attr(o, "access", ACCESS), []).append(o)
    begin, end, state = list(op.operands)[:3]
    with before(op):
        chain = LoopChain(op, state, live)
        if live and "early" in op.attributes:  # the first access of an empty row begins before its end, too
            some = arith.cmpi(arith.CmpIPredicate.slt, live.operands[1], end)
            end = arith.select(some, end, begin)
        if live and len(op.operands) > 3:
            chain.period(begin, end)
        elif live and "joined" in op.attributes and "shifted" not in loads:
            walk_alike(chain, begin, end)
        elif live and "shifted" in loads:
            chain.shifted(begin, end, loads["shifted"])
        elif live and "early" in op.attributes:
            chain.held(begin, end)
        elif live and (columns := loads.get("unaligned", loads.get("staggered"))):
            chain.columns(begin, end, columns)
        else:
            chain.walk(begin, end)
        replace(op, chain.close(op.results[0].type))


ROOMY = 256
"""Threads of a row up to which each has registers to spare: larger CTAs are fit to a full SM (``occupancy.py``)."""


class LoopChain:
    """A growing chain of ``fold.thread_reduce`` ops, each of which starts from the state that the one before left.

    Attributes:
        op: the walk that is peeled; the loops are copies of it.
        state: the state after the last loop.
        live: the ``fold.live`` of the body, or None.
        lanes: elements of an access along the reduced axis.
        reach: elements of the accesses that are made together: of those of all lanes that join what they read, which
            make the same steps; else of one.
        step, unroll: elements between a thread's accesses, and accesses in flight.
        alike: lanes of a warp whose accesses of several elements of a row follow each other; 0 where those have one, or
            more than ROOMY threads share the row.
        together: whether the accesses that are left after the full groups are one more: of a short combine, or of an
            anchored one, whose states move to one anchor together, where all elements can be read again.
        single_group: whether no thread makes more than ``unroll`` accesses.
    """

    def __init__(self, op: Any, state: Any, live: Any) -> None:
        self.op, self.state, self.live = op, state, live
        self.last: Any = None
        self.lanes = width(live.results[0].type) if live else 1
        self.step, self.unroll = int_attr(op, "step"), int_attr(op, "unroll")
        self.reach = self.step if "joined" in op.attributes else self.lanes
        known = "together" in op.attributes and anchored(Combine.of(op.regions[1])) is not None
        self.together = short(op.regions[1]) or known
        self.rolled = "rolled" in op.attributes and anchored(Combine.of(op.regions[1])) is None
        threads = self.step // self.lanes
        self.alike = min(WARP, threads) if self.lanes > 1 and (threads <= ROOMY or known) else 0
        self.single_group = "once" in op.attributes and self.together and live is not None

    def add(self, begin: Any, end: Any, unroll: int, window: Window | None = None, *, once: bool = False) -> None:
        """Appends the loop from ``begin`` to ``end``; ``once`` says that it makes one step at most.

        Accesses that a window may cut are combined one after another: a tree would keep all their masks in registers.
        """
        loop = self.op.clone()
        loop.operands[0], loop.operands[1], loop.operands[2] = begin, end, self.state
        loop.attributes["unroll"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), unroll)
        cut = window is not None and not window.whole and unroll > 1
        for name, is_so in {"chain": cut, "rolled": cut and self.rolled}.items():
            if is_so:
                loop.attributes[name] = ir.BoolAttr.get(True)
            elif name in loop.attributes:
                del loop.attributes[name]
        if once:
            loop.attributes["once"] = ir.BoolAttr.get(True)
        elif "once" in loop.attributes:
            del loop.attributes["once"]
        loop.results[0].set_type(self.state.type)
        lower_body(loop.regions[0].blocks[0], window)
        self.last, self.state = loop, loop.results[0]

    def groups(self, begin: Any, end: Any, alike: int = 0) -> Any:
        """Appends the full groups of ``unroll`` accesses before ``end``; returns the index after the last one.

        Where the rest is one more group, each of ``alike`` lanes, which follow each other, makes a full one only if all
        do: else their warp would go both ways, and wait for memory twice.
        """
        t, (step, unroll) = begin.type, (self.step, self.unroll)
        limit = arith.subi(end, integer(t, (unroll - 1) * step + self.reach - 1))
        if alike:
            last = arith.ori(begin, integer(t, (alike - 1) * self.lanes))
            limit = arith.subi(limit, arith.subi(last, begin))
        self.add(begin, limit, unroll)
        return after(begin, limit, unroll * step)

    def walk(self, begin: Any, end: Any, *, staggered: bool = False) -> None:
        """Appends the full groups, the whole accesses that are left, and the access that the end cuts.

        The accesses that are left form one more group. Those of them beyond the end read the last access of the row
        again, so that all lanes of a warp ask for one address, which another lane reads anyway. The rows of
        ``staggered`` warps begin at different addresses: there a thread reads its own last access again.
        """
        t, lanes = begin.type, self.lanes
        rest = self.unroll > 1 and self.live and self.together
        if self.unroll > 1 and not self.single_group:
            begin = self.groups(begin, end, self.alike if rest else 0)
        limit = arith.subi(end, integer(t, lanes - 1)) if lanes > 1 else end
        if rest:
            last = self.final(begin, limit) if staggered else last_access(limit, lanes)
            self.add(begin, limit, self.unroll, Window(None, limit, last, whole=True), once=True)
        else:
            self.add(begin, limit, 1)
        if lanes > 1 and "uncut" not in self.op.attributes:
            self.add(after(begin, limit, self.step), end, 1, Window(None, end), once=True)

    def final(self, begin: Any, limit: Any) -> Any:
        """The index of the last access of a walk from ``begin`` that starts before ``limit``."""
        t = begin.type
        rest = arith.subi(arith.subi(limit, integer(t, 1)), begin)
        return arith.addi(begin, arith.andi(rest, integer(t, -self.step)))

    def held(self, begin: Any, end: Any) -> None:
        """Appends the loops of a row that begins and ends anywhere, and waits in slots that can be read as a whole."""
        window, t = Window(self.live.operands[1], end), begin.type
        if self.rolled:
            self.ends(begin, end, partial(self.one_by_one, window=window))
            return
        following = arith.addi(begin, integer(t, self.unroll * self.step))
        if self.unroll == 1:  # the row begins in an access of one thread, and others have a whole one there
            cut = arith.cmpi(arith.CmpIPredicate.slt, begin, window.first)
            self.add(begin, arith.select(cut, end, begin), 1, window, once=True)
            following = arith.select(cut, following, begin)
        else:
            self.add(begin, end, self.unroll, window, once=True)
        begin = self.groups(following, end)
        self.add(begin, end, self.unroll, window, once=True)

    def shifted(self, begin: Any, end: Any, loads: Sequence[Any]) -> None:
        """Appends the loops of a row that begins and ends anywhere: the first and last accesses may be cut."""
        early = "early" in self.op.attributes
        ends = RowEnds(loads, self.live.operands[1], end, self.lanes, early=early)
        if self.rolled:
            self.ends(begin, end, partial(self.edge, ends=ends))
            return
        if self.lanes < self.reach < WARP * self.lanes:
            walk_shifted_alike(self, begin, end, ends)
            return
        begin = self.edge(begin if early else arith.subi(begin, ends.lead), ends)
        self.edge(self.groups(begin, end), ends)

    def ends(self, begin: Any, end: Any, append: Callable[[Any], Any]) -> None:
        """Appends the accesses at both ends of a row, by ``append``, and the groups between.

        Both ends are turns of a loop, so that their code is written once; groups follow in the first.
        """
        t = begin.type
        zero, one, two = (integer(t, k) for k in range(3))
        limit = arith.subi(end, integer(t, (self.unroll - 1) * self.step + self.lanes - 1))
        loop = scf.ForOp(zero, two, one, [begin, *unpack(self.state)])
        with ir.InsertionPoint(loop.body):
            at, *state = loop.inner_iter_args
            self.state = pack(state)
            following = append(at)
            first = arith.cmpi(arith.CmpIPredicate.eq, loop.induction_variable, zero)
            self.add(following, arith.select(first, limit, at), self.unroll)
            scf.YieldOp([after(following, limit, self.unroll * self.step), *unpack(self.state)])
        self.state, self.last = pack(list(loop.results)[1:]), None

    def one_by_one(self, begin: Any, window: Window) -> Any:
        """Appends up to ``unroll`` accesses that a window may cut, one after another; the index after them."""
        after = arith.addi(begin, integer(begin.type, self.unroll * self.step))
        self.add(begin, arith.minsi(after, window.end), 1, window)
        return after

    def edge(self, begin: Any, ends: RowEnds) -> Any:
        """Appends up to ``unroll`` accesses in which a row may begin or end; returns the index after them.

        They are whole accesses where these lie in the array's memory; else their elements are read one by one.
        """
        window = ends.window
        after = arith.addi(begin, integer(begin.type, self.unroll * self.step))
        self.add(begin, arith.select(ends.inside, window.end, begin), self.unroll, window, once=True)
        apart = arith.select(ends.inside, begin, arith.minsi(after, window.end))
        self.add(begin, apart, 1, Window(window.first, window.end))
        return after

    def columns(self, begin: Any, end: Any, loads: Sequence[Any]) -> None:
        """Appends the loops of vectors along the kept axis that begin anywhere.

        The first and the last element of the reduced axis have loops of their own: only there may an access leave the
        array's memory.
        """
        t = begin.type
        zero, one = integer(t, 0), integer(t, 1)
        final = arith.subi(_n_reduced(loads[0]), one)
        staggered = str_attr(loads[0], "access", ACCESS) == "staggered"
        low, high = (None if staggered else accesses_inside(loads, r) for r in (zero, final))
        first = arith.cmpi(arith.CmpIPredicate.eq, begin, zero)
        self.alone(begin, arith.minsi(arith.select(first, one, begin), end), low)
        begin = arith.select(first, arith.addi(begin, integer(t, self.step)), begin)
        bound = arith.minsi(end, final)
        self.walk(begin, bound, staggered=staggered)
        self.alone(after(begin, bound, self.step), end, high)

    def alone(self, begin: Any, end: Any, inside: Any) -> None:
        """Appends the access at ``begin``, if it is before ``end``: whole where ``inside`` holds, else by elements."""
        window = Window(self.live.operands[1], end)
        if inside is not None:
            self.add(begin, arith.select(inside, end, begin), 1, once=True)
            end = arith.select(inside, begin, end)
        self.add(begin, end, 1, window, once=True)

    def period(self, begin: Any, end: Any) -> None:
        """Appends the loops of rows that are read as one, by accesses a period apart; either end may cut an access."""
        t, first, lanes = begin.type, self.live.operands[1], self.lanes
        zero, one, step = integer(t, 0), integer(t, 1), apart(self.op, 1)
        window = Window(first, end)
        self.add(begin, arith.minsi(first, end), 1, window, once=True)
        cut = arith.cmpi(arith.CmpIPredicate.slt, begin, first)
        begin = arith.select(cut, arith.addi(begin, step), begin)
        rest = arith.subi(arith.subi(end, integer(t, lanes - 1)), begin)
        whole = arith.divui(arith.addi(arith.maxsi(rest, zero), arith.subi(step, one)), step)
        grouped = arith.andi(whole, integer(t, -self.unroll))
        middle, after = (arith.addi(begin, arith.muli(count, step)) for count in (grouped, whole))
        self.add(begin, middle, self.unroll)
        if self.together:
            last = arith.subi(after, step)
            self.add(middle, after, self.unroll, Window(None, after, last, whole=True), once=True)
        else:
            self.add(middle, after, 1)
        self.add(after, end, 1, window, once=True)

    def close(self, t: Any) -> list[Any]:
        """The result of the chain, as type ``t``."""
        if self.last is None:
            state = unpack(self.state)
            return [pack(state if t == self.state.type else horizontal(self.op.regions[1], state, self.lanes))]
        self.last.results[0].set_type(t)
        return list(self.last.results)


def after(begin: Any, limit: Any, step: int) -> Any:
    """The index at which a walk from ``begin`` by ``step`` (a power of two) reaches ``limit``."""
    t = begin.type
    rest = arith.maxsi(arith.subi(limit, begin), integer(t, 0))
    whole = arith.andi(arith.addi(rest, integer(t, step - 1)), integer(t, -step))
    return arith.addi(begin, whole)


def _n_reduced(load: Any) -> Any:
    """The size of the reduced axis, which is the last operand of loads along the kept axis that begin anywhere."""
    return load.operands[len(load.operands) - 1]


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
