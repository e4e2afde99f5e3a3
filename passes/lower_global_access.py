"""Decides how fragments meet global memory: vector width in use, peeled steps, masked tails, unaligned rows.

A thread's walk over the reduced axis is cut into pieces that each know more than the whole: whole groups of ``unroll``
accesses, and up to so many that are left, which are one more group: they are in flight together as well, those that are
not there read what the last one reads, and ``fold.live`` leaves it out. Where no thread makes more accesses than a
group has (``once``), there is no other piece. Where a combine is long those that are left follow one by one. An access
of several reduced elements that the end of the row cuts is read element by element, at clamped indices. A piece of one
step at most is marked ``once``, too: it needs no loop.

Rows that begin between two boundaries of an access (``shifted``) are read in aligned accesses all the same. Those that
a row begins or ends in hold elements beside the row, which ``fold.live`` leaves out; where such an access would leave
the array's memory, its elements are read one by one. Vectors along the kept axis that begin anywhere (``unaligned``)
are taken out of two aligned accesses, those of staggered warps (``staggered``) are aligned and reach beyond the
columns. Both might leave the array's memory in the first and the last element of the reduced axis, which are read one
by one; as vectors, all the same, by threads whose ``unaligned`` accesses do not leave it. So nothing outside the array
is ever touched. Of rows that are read as one (``period``) an access at most of a thread begins before them, and one
ends behind; their elements are read one by one. Vectors out of a copy in shared memory (``tile``) begin anywhere, too:
they are taken out of its words, and so is the one that the row's end cuts, since the copy can be read beyond its
elements.

The walk is cut here; what becomes of a single access stands in ``access/address.py``, and of those of blocks, which are
no walk, in ``access/blocks.py``.

Four neighbouring results a thread, two accesses in flight: the walk becomes groups of two, then what is left.

```mlir before
func.func @access(%x: !llvm.ptr<1>, %kept: i32, %begin: i32, %end: i32, %one: i32, %stride: i32) -> vector<4xf32> {
  %zeros = arith.constant dense<0.0> : vector<4xf32>
  %state = "fold.thread_reduce"(%begin, %end, %zeros) ({
  ^bb0(%r: i32):
    %four = "fold.load"(%x, %kept, %r, %one, %stride)
      {kept_rank = 1, reduced_rank = 1, axis = "kept", access = "aligned"}
      : (!llvm.ptr<1>, i32, i32, i32, i32) -> vector<4xf32>
    "fold.yield"(%four) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 8, unroll = 2} : (i32, i32, vector<4xf32>) -> vector<4xf32>
  return %state : vector<4xf32>
}
```

```mlir after
func.func @access(%x: !llvm.ptr<1>, %kept: i32, %begin: i32, %end: i32, %one: i32, %stride: i32) -> vector<4xf32> {
  %zeros = arith.constant dense<0.0> : vector<4xf32>
  %c8 = arith.constant 8 : i32
  %limit = arith.subi %end, %c8 : i32
  %pairs = "fold.thread_reduce"(%begin, %limit, %zeros) ({
  ^bb0(%r: i32):
    %c0 = arith.constant 0 : i32
    %start = arith.addi %c0, %kept : i32
    %along_reduced = arith.muli %r, %stride : i32
    %offset = arith.addi %start, %along_reduced : i32
    %where = llvm.getelementptr %x[%offset] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %four = llvm.load %where invariant {alignment = 16} : !llvm.ptr<1> -> vector<4xf32>
    "fold.yield"(%four) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 8, unroll = 2} : (i32, i32, vector<4xf32>) -> vector<4xf32>
  %length = arith.subi %limit, %begin : i32
  %none = arith.constant 0 : i32
  %rest = arith.maxsi %length, %none : i32
  %c15 = arith.constant 15 : i32
  %up = arith.addi %rest, %c15 : i32
  %whole_steps = arith.constant -16 : i32
  %done = arith.andi %up, %whole_steps : i32
  %next = arith.addi %begin, %done : i32
  %all = "fold.thread_reduce"(%next, %end, %pairs) ({
  ^bb0(%r: i32):
    %c0 = arith.constant 0 : i32
    %start = arith.addi %c0, %kept : i32
    %along_reduced = arith.muli %r, %stride : i32
    %offset = arith.addi %start, %along_reduced : i32
    %where = llvm.getelementptr %x[%offset] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %four = llvm.load %where invariant {alignment = 16} : !llvm.ptr<1> -> vector<4xf32>
    "fold.yield"(%four) : (vector<4xf32>) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {step = 8, unroll = 1} : (i32, i32, vector<4xf32>) -> vector<4xf32>
  return %all : vector<4xf32>
}
```
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from ..compiler.driver.pipeline import Pass
from ..compiler.ir.build import address, before, bytes_of, find, integer, memory_type, replace
from ..compiler.ir.combine import width
from ..compiler.ir.dialect.access import ACCESS
from ..compiler.ir.dialect.base import element, int_attr, str_attr
from ..compiler.ir.mlir import arith, ir, llvm
from .access.address import Window, clamped, lower_body, lower_live, lower_load, lower_position, lower_store, offset
from .access.blocks import lower_load as lower_block_load
from .access.thread_loop import apart, short


def _run(module: Any) -> None:
    for op in find(module, "fold.thread_reduce"):
        _peel(op)
    for op in find(module, "fold.load"):
        lower_load(op, None)
    for op in find(module, "fold.block_load"):
        lower_block_load(op)
    for op in find(module, "fold.lead"):
        _lower_lead(op)
    for op in find(module, "fold.position"):
        lower_position(op)
    for op in find(module, "fold.live"):
        lower_live(op, None)
    for op in find(module, "fold.store"):
        lower_store(op)


def _peel(op: Any) -> None:
    """Cuts one thread_reduce into a chain of simpler ones."""
    body = [o.operation for o in op.regions[0].blocks[0].operations]
    live = next((o for o in body if o.name == "fold.live"), None)
    loads: dict[str, list[Any]] = {}
    for o in (o for o in body if o.name == "fold.load"):
        loads.setdefault(str_attr(o, "access", ACCESS), []).append(o)
    begin, end, state = list(op.operands)[:3]
    with before(op):
        pieces = _Pieces(op, state, live)
        if live and len(op.operands) > 3:
            pieces.period(begin, end)
        elif live and "shifted" in loads:
            pieces.shifted(begin, end, *loads["shifted"])
        elif live and (columns := loads.get("unaligned", loads.get("staggered"))):
            pieces.columns(begin, end, columns)
        else:
            pieces.walk(begin, end)
        replace(op, pieces.close(op.results[0].type))


class _Edges:
    """Where the row of a shifted load begins and ends between boundaries of ``lanes`` elements.

    Attributes:
        lead: elements between the boundary before the row and its first one.
        window: the row's elements, read in whole accesses.
        inside: whether the accesses at both its ends lie in the array's memory as a whole.
    """

    def __init__(self, load: Any, first: Any, end: Any, lanes: int) -> None:
        t = first.type
        one, down = integer(t, 1), integer(t, -lanes)
        self.lead = _lead(load, lanes, t)
        boundary = arith.subi(first, self.lead)
        last = arith.addi(boundary, arith.andi(arith.subi(arith.subi(end, one), boundary), down))
        self.window = Window(first, end, last)
        zero = integer(t, 0)
        row = offset(load, load.operands[1], zero, 3)
        after = arith.addi(arith.addi(row, last), integer(t, lanes))
        low = arith.cmpi(arith.CmpIPredicate.sge, arith.addi(row, boundary), zero)
        high = arith.cmpi(arith.CmpIPredicate.sle, after, load.operands[len(load.operands) - 1])
        self.inside = arith.andi(low, high)


def _inside(loads: Sequence[Any], reduced: Any) -> Any:
    """Whether a thread's accesses to element ``reduced`` of the reduced axis lie in the memory of all arrays.

    That is whether all elements between the boundaries around them do.
    """
    found = []
    for load in loads:
        t, kept = load.operands[1].type, load.operands[1]
        before, behind, n_kept, n_reduced = list(load.operands)[-4:]
        one, vector = integer(t, 1), load.results[0].type
        around = integer(t, width(vector) - 1)
        last = offset(load, clamped(load, arith.addi(kept, integer(t, width(vector) - 1)), whole=True), reduced, 3)
        greatest = arith.addi(behind, offset(load, arith.subi(n_kept, one), arith.subi(n_reduced, one), 3))
        first = arith.addi(before, offset(load, kept, reduced, 3))
        found.append(arith.cmpi(arith.CmpIPredicate.sge, first, around))
        found.append(arith.cmpi(arith.CmpIPredicate.sle, arith.addi(last, around), greatest))
    return reduce(arith.andi, found)


def _n_reduced(load: Any) -> Any:
    """The size of the reduced axis, which such a load is told."""
    return load.operands[len(load.operands) - 1]


class _Pieces:
    """A growing chain of thread_reduce ops, each starting from the state that the one before left."""

    def __init__(self, op: Any, state: Any, live: Any) -> None:
        self.op, self.state, self.live = op, state, live
        self.last: Any = None
        self.lanes = width(live.results[0].type) if live else 1
        self.step, self.unroll = int_attr(op, "step"), int_attr(op, "unroll")
        self.together = short(op.regions[1])
        self.few = "once" in op.attributes and self.together and live is not None

    def add(self, begin: Any, end: Any, unroll: int, window: Window | None = None, *, once: bool = False) -> None:
        """Appends the piece from ``begin`` to ``end``; one of accesses that may be cut combines them one after another.

        What makes but ``once`` a step needs no loop.
        """
        piece = self.op.clone()
        piece.operands[0], piece.operands[1], piece.operands[2] = begin, end, self.state
        piece.attributes["unroll"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), unroll)
        if window and not window.whole and unroll > 1:
            piece.attributes["chain"] = ir.BoolAttr.get(True)
        if once:
            piece.attributes["once"] = ir.BoolAttr.get(True)
        elif "once" in piece.attributes:
            del piece.attributes["once"]
        piece.results[0].set_type(self.state.type)
        lower_body(piece.regions[0].blocks[0], window)
        self.last, self.state = piece, piece.results[0]

    def groups(self, begin: Any, end: Any) -> Any:
        """Appends the accesses that ``unroll`` at a time lie before ``end``; gives what is after them."""
        t, (step, unroll) = begin.type, (self.step, self.unroll)
        limit = arith.subi(end, integer(t, (unroll - 1) * step + self.lanes - 1))
        self.add(begin, limit, unroll)
        return _after(begin, limit, unroll * step)

    def walk(self, begin: Any, end: Any, *, staggered: bool = False) -> None:
        """Appends groups, what is left of whole accesses, and the one that the end cuts.

        Accesses that are not there read what the row's last one reads, so that a warp of them asks for one place, which
        another has already; those of ``staggered`` warps, whose rows begin at other places, what the thread's own last
        one reads.
        """
        t, lanes = begin.type, self.lanes
        if self.unroll > 1 and not self.few:
            begin = self.groups(begin, end)
        limit = arith.subi(end, integer(t, lanes - 1)) if lanes > 1 else end
        if self.unroll > 1 and self.live and self.together:
            last = self.final(begin, limit) if staggered else _final(limit, lanes)
            self.add(begin, limit, self.unroll, Window(None, limit, last, whole=True), once=True)
        else:
            self.add(begin, limit, 1)
        if lanes > 1:
            self.add(_after(begin, limit, self.step), end, 1, Window(None, end), once=True)

    def final(self, begin: Any, limit: Any) -> Any:
        """The last access of a walk from ``begin`` that starts before ``limit``."""
        t = begin.type
        rest = arith.subi(arith.subi(limit, integer(t, 1)), begin)
        return arith.addi(begin, arith.andi(rest, integer(t, -self.step)))

    def shifted(self, begin: Any, end: Any, load: Any) -> None:
        """The same for a row that begins and ends anywhere: so many accesses at both its ends may be cut."""
        edges = _Edges(load, self.live.operands[1], end, self.lanes)
        begin = self.edge(arith.subi(begin, edges.lead), edges)
        self.edge(self.groups(begin, end), edges)

    def edge(self, begin: Any, edges: _Edges) -> Any:
        """Appends up to ``unroll`` accesses from ``begin`` on that a row may begin or end in; gives what is after them.

        Whole ones where they lie in the array's memory; else their elements are read one by one.
        """
        window = edges.window
        after = arith.addi(begin, integer(begin.type, self.unroll * self.step))
        self.add(begin, arith.select(edges.inside, window.end, begin), self.unroll, window, once=True)
        apart = arith.select(edges.inside, begin, arith.minsi(after, window.end))
        self.add(begin, apart, 1, Window(window.first, window.end))
        return after

    def columns(self, begin: Any, end: Any, loads: Sequence[Any]) -> None:
        """The same for vectors along the kept axis that begin anywhere: the ends of the reduced axis stand alone."""
        t = begin.type
        zero, one = integer(t, 0), integer(t, 1)
        final = arith.subi(_n_reduced(loads[0]), one)
        staggered = str_attr(loads[0], "access", ACCESS) == "staggered"
        low, high = (None if staggered else _inside(loads, r) for r in (zero, final))
        first = arith.cmpi(arith.CmpIPredicate.eq, begin, zero)
        self.alone(begin, arith.minsi(arith.select(first, one, begin), end), low)
        begin = arith.select(first, arith.addi(begin, integer(t, self.step)), begin)
        bound = arith.minsi(end, final)
        self.walk(begin, bound, staggered=staggered)
        self.alone(_after(begin, bound, self.step), end, high)

    def alone(self, begin: Any, end: Any, inside: Any) -> None:
        """Appends the access at ``begin``, if that is before ``end``: a whole one ``inside``, else one an element."""
        window = Window(self.live.operands[1], end)
        if inside is not None:
            self.add(begin, arith.select(inside, end, begin), 1, once=True)
            end = arith.select(inside, begin, end)
        self.add(begin, end, 1, window, once=True)

    def period(self, begin: Any, end: Any) -> None:
        """The same for rows that are read as one, in accesses a period apart; both their ends may cut one."""
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
        """The chain's result, in type ``t``."""
        self.last.results[0].set_type(t)
        return list(self.last.results)


def _final(limit: Any, lanes: int) -> Any:
    """The row's last access of ``lanes`` elements that starts before ``limit``."""
    t = limit.type
    return arith.andi(arith.subi(limit, integer(t, 1)), integer(t, -lanes))


def _after(begin: Any, limit: Any, step: int) -> Any:
    """Where a walk from ``begin`` by ``step`` (a power of two) while below ``limit`` stops."""
    t = begin.type
    rest = arith.maxsi(arith.subi(limit, begin), integer(t, 0))
    whole = arith.andi(arith.addi(rest, integer(t, step - 1)), integer(t, -step))
    return arith.addi(begin, whole)


def _lower_lead(op: Any) -> None:
    with before(op):
        base, kept = op.operands[0], op.operands[1]
        scalar = ir.IntegerType.get_signless(8 * int_attr(op, "bytes"))
        start = address(base, offset(op, kept, kept, 2), scalar)
        replace(op, [_past(start, scalar, int_attr(op, "lanes"), kept.type)])


def _lead(op: Any, lanes: int, t: Any) -> Any:
    """How many elements the row of a shifted load begins after a boundary of ``lanes`` elements."""
    base, kept = op.operands[0], op.operands[1]
    scalar = element(op.results[0].type)
    return _past(address(base, offset(op, kept, integer(t, 0), 3), scalar), scalar, lanes, t)


def _past(start: Any, scalar: Any, lanes: int, t: Any) -> Any:
    """How many elements an address lies after a boundary of ``lanes`` elements."""
    i64 = ir.IntegerType.get_signless(64)
    bits = llvm.ptrtoint(i64, start)
    count = arith.shrui(bits, integer(i64, bytes_of(memory_type(scalar)).bit_length() - 1))
    lead = arith.andi(count, integer(i64, lanes - 1))
    return lead if t == i64 else arith.trunci(t, lead)


PASS = Pass(
    "lower-global-access",
    _run,
    ("fold.load", "fold.block_load", "fold.store", "fold.live", "fold.lead", "fold.position"),
    "choose vector loads, peeled steps and masked tails; compute addresses",
)
