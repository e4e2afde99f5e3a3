"""Lowers a thread's walk that writes elements: to a loop over groups of whole accesses, and groups that a row cuts.

All loads of a group come before its stores, so that they are in flight together: no load may pass a store that might
write to its address.

- The loop takes groups of ``unroll`` accesses while all of these lie in the row as a whole. Its loads and stores ask
  for no bounds.
- The accesses that are left, and the one that the end of the row cuts, are one more group. Its loads are
  ``fold.element_load``, and its stores write what lies in the row. In place of an access beyond the end the thread
  reads its first one of the group again, which no other thread writes.
- If accesses begin at the boundary before the row (``first``), another such group comes before the loop, in threads
  whose first access does.
- If loads then have ``leads``, there is a loop for each distance from a boundary, and branches choose one
  (``access/unaligned.py``). It ends so early that the aligned access behind its last one lies in the row, too, which
  ends at ``last``: a CTA may have a part of it.

``lower-global-access`` then lowers each access.

Two accesses in flight, each of four elements:

```mlir before
func.func @negate(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %row: i32, %on: i1, %begin: i32, %end: i32, %n: i32, %one: i32) {
  %zero = arith.constant 0 : i32
  "fold.thread_map"(%begin, %end) ({
  ^bb0(%r: i32):
    %four = "fold.load"(%x, %row, %r, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned"}
      : (!llvm.ptr<1>, i32, i32, i32, i32) -> vector<4xf32>
    %less = arith.negf %four : vector<4xf32>
    "fold.element_store"(%less, %y, %row, %r, %zero, %end, %on, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", whole = false}
      : (vector<4xf32>, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32, i32) -> ()
    "fold.yield"() : () -> ()
  }) {step = 128, unroll = 2} : (i32, i32) -> ()
  func.return
}
```

```mlir after
func.func @negate(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %row: i32, %on: i1, %begin: i32, %end: i32, %n: i32, %one: i32) {
  %zero = arith.constant 0 : i32
  %c131 = arith.constant 131 : i32
  %limit = arith.subi %end, %c131 : i32
  %group = arith.constant 256 : i32
  scf.for %r = %begin to %limit step %group : i32 {
    %c128 = arith.constant 128 : i32
    %next = arith.addi %r, %c128 : i32
    %four_0 = "fold.load"(%x, %row, %r, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned"}
      : (!llvm.ptr<1>, i32, i32, i32, i32) -> vector<4xf32>
    %less_0 = arith.negf %four_0 : vector<4xf32>
    %four_1 = "fold.load"(%x, %row, %next, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned"}
      : (!llvm.ptr<1>, i32, i32, i32, i32) -> vector<4xf32>
    %less_1 = arith.negf %four_1 : vector<4xf32>
    "fold.element_store"(%less_0, %y, %row, %r, %zero, %end, %on, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", whole = true}
      : (vector<4xf32>, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32, i32) -> ()
    "fold.element_store"(%less_1, %y, %row, %next, %zero, %end, %on, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", whole = true}
      : (vector<4xf32>, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32, i32) -> ()
  }
  %length = arith.subi %limit, %begin : i32
  %none = arith.constant 0 : i32
  %rest = arith.maxsi %length, %none : i32
  %c255 = arith.constant 255 : i32
  %up = arith.addi %rest, %c255 : i32
  %whole_groups = arith.constant -256 : i32
  %done = arith.andi %up, %whole_groups : i32
  %first = arith.addi %begin, %done : i32
  %some = arith.cmpi slt, %first, %end : i32
  scf.if %some {
    %c128 = arith.constant 128 : i32
    %second = arith.addi %first, %c128 : i32
    %four_0 = "fold.element_load"(%x, %row, %first, %begin, %end, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned"}
      : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32) -> vector<4xf32>
    %less_0 = arith.negf %four_0 : vector<4xf32>
    %exists = arith.cmpi slt, %second, %end : i32
    %existing = arith.select %exists, %second, %first : i32
    %four_1 = "fold.element_load"(%x, %row, %existing, %begin, %end, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned"}
      : (!llvm.ptr<1>, i32, i32, i32, i32, i32, i32) -> vector<4xf32>
    %less_1 = arith.negf %four_1 : vector<4xf32>
    "fold.element_store"(%less_0, %y, %row, %first, %zero, %end, %on, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", whole = false}
      : (vector<4xf32>, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32, i32) -> ()
    "fold.element_store"(%less_1, %y, %row, %second, %zero, %end, %on, %n, %one)
      {kept_rank = 1, reduced_rank = 1, axis = "reduced", access = "aligned", whole = false}
      : (vector<4xf32>, !llvm.ptr<1>, i32, i32, i32, i32, i1, i32, i32) -> ()
  }
  func.return
}
```
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..compiler.driver.pipeline import Pass
from ..compiler.ir.build import before, find, i32, integer, repeat, replace, when
from ..compiler.ir.combine import width
from ..compiler.ir.dialect.access import ACCESS, AXES
from ..compiler.ir.dialect.base import int_attr, str_attr
from ..compiler.ir.mlir import arith, ir, scf
from ..compiler.ir.unrolled_loops import rolled
from .access.peeling import after
from .access.unaligned import LEADS, load_before


def _run(module: Any) -> None:
    for op in find(module, "fold.thread_map"):
        with before(op):
            _Walk(op).lower()
            replace(op, [])


class _Walk:
    """The parts of a walk.

    Attributes:
        begin, end, first: of the walk; ``first`` is None where no access begins before the row.
        last: where the row ends.
        step, unroll: elements between a thread's accesses, and accesses in flight.
        lanes: elements of an access along the reduced axis.
    """

    def __init__(self, op: Any) -> None:
        (self.block,) = op.regions[0].blocks
        self.ops = [o.operation for o in self.block.operations][:-1]
        self.begin, self.end, *ends = op.operands
        self.first, self.last = ends[0] if ends else None, ends[1] if len(ends) > 1 else self.end
        self.step, self.unroll = int_attr(op, "step"), int_attr(op, "unroll")
        self.rolled = "rolled" in op.attributes and self.unroll > 1
        if self.rolled:
            self.ops = self.moved_before(op)
        self.stores = [o for o in self.ops if o.name == "fold.element_store"]
        self.lanes = max(_along_reduced(o) for o in self.ops if o.name == "fold.element_store")
        self.leads = self.first is not None and any(LEADS in o.attributes for o in self.ops)

    def number(self, value: int) -> Any:
        return integer(self.begin.type, value)

    def lower(self) -> None:
        """Writes the loop and the groups around it."""
        begin, group = self.begin, self.unroll * self.step
        if self.rolled and self.first is not None:
            self.lower_ends()
            return
        if self.first is not None:
            some = arith.cmpi(arith.CmpIPredicate.slt, self.first, self.end)
            cut = arith.cmpi(arith.CmpIPredicate.slt, begin, self.first)
            self.edge(begin, arith.andi(some, cut))
            begin = arith.select(cut, arith.addi(begin, self.number(group)), begin)
        reach = group - self.step + self.lanes - 1
        limit = arith.subi(self.end, self.number(reach))
        if self.leads:  # the aligned access behind the last one lies in the row, too
            limit = arith.minsi(limit, arith.subi(self.last, self.number(reach + self.lanes - 1)))
            self.by_lead(begin, limit)
        else:
            self.loop(begin, limit)
        if self.unroll > 1 or self.lanes > 1:
            self.edge(after(begin, limit, group))

    def loop(self, begin: Any, limit: Any) -> None:
        """Writes the loop over the groups that begin before ``limit``."""
        with repeat(begin, limit, self.number(self.unroll * self.step)) as i:
            self.group(i, whole=True)

    def by_lead(self, begin: Any, limit: Any, lead: int = 0) -> None:
        """Writes a loop for each distance from the first access to the row, and the branches that choose one."""
        if lead == self.lanes - 1:
            self.lead = lead
            self.loop(begin, limit)
            return
        own = arith.andi(arith.subi(self.number(0), self.begin), self.number(self.lanes - 1))
        branch = scf.IfOp(arith.cmpi(arith.CmpIPredicate.eq, own, self.number(lead)), has_else=True)
        with ir.InsertionPoint(branch.then_block):
            self.lead = lead
            self.loop(begin, limit)
            scf.YieldOp([])
        with ir.InsertionPoint(branch.else_block):
            self.by_lead(begin, limit, lead + 1)
            scf.YieldOp([])

    def moved_before(self, op: Any) -> list[Any]:
        """The ops of the body without those that are the same for all accesses, which go before the walk."""
        varying, left = {*self.block.arguments}, []
        for o in self.ops:
            if o.name.startswith("fold.") or not varying.isdisjoint(o.operands):
                varying |= {*o.results}
                left.append(o)
            else:
                o.move_before(op)
        return left

    def lower_ends(self) -> None:
        """Writes a loop of two turns, one for the group at each end of the row; in the first also those between."""
        group = self.number(self.unroll * self.step)
        zero, one, two = map(self.number, range(3))
        limit = arith.subi(self.end, self.number((self.unroll - 1) * self.step + self.lanes - 1))
        some = arith.cmpi(arith.CmpIPredicate.slt, self.first, self.end)
        turns = scf.ForOp(zero, two, one, [self.begin])
        with ir.InsertionPoint(turns.body):
            (begin,) = turns.inner_iter_args
            self.edge(begin, some)
            following = arith.addi(begin, group)
            is_first = arith.cmpi(arith.CmpIPredicate.eq, turns.induction_variable, zero)
            with repeat(following, arith.select(is_first, limit, begin), group) as i:
                self.group(i, whole=True)
            scf.YieldOp([after(following, limit, self.unroll * self.step)])

    def edge(self, begin: Any, some: Any = None) -> None:
        """Writes the group that begins at ``begin``, of which some accesses may not exist, if the first one does.

        ``some`` says whether the row has elements, if an access that begins before its end may have none.
        """
        exists = arith.cmpi(arith.CmpIPredicate.slt, begin, self.end)
        with when(exists if some is None else arith.andi(some, exists)):
            self.one_by_one(begin) if self.rolled else self.group(begin, whole=False)

    def one_by_one(self, begin: Any) -> None:
        """Writes a group in a loop over its accesses: they are read before the first one is written."""
        (argument,) = self.block.arguments
        loads = [o for o in self.ops if o.name == "fold.load"]
        others = [o for o in self.ops if o not in loads and o not in self.stores]
        accesses = []
        for u, r in enumerate(self.starts(begin)):
            mapping = {argument: self.existing(r, begin) if u else begin}
            self.copy(loads, mapping, whole=False, at_once=True)
            accesses.append([r, mapping[argument], *(mapping[o.results[0]] for o in loads)])

        def turn(_: Any, own: Sequence[Any], so_far: Sequence[Any]) -> tuple[list[Any], Sequence[Any]]:
            r, there, *found = own
            mapping = {argument: there, **dict(zip((o.results[0] for o in loads), found, strict=True))}
            for o in filter(_is_cut, loads):
                mapping[o.results[0]] = self.completed(o, mapping, there)
            self.copy(others, mapping, whole=False)
            self.copy(self.stores, mapping | {argument: r}, whole=False)
            return [], so_far

        rolled(accesses, [], turn, [i32(0), i32(self.unroll), i32(1)])

    def completed(self, load: Any, mapping: Mapping[Any, Any], r: Any) -> Any:
        """The fragment of a load at ``r``, of which ``mapping`` has what was read at once."""
        base, kept, _, *layout = load.operands
        found = mapping[load.results[0]]
        operands = [found, base, kept, r, self.first, self.end, *layout]
        attributes = dict(load.attributes.items())
        return ir.Operation.create("fold.element_rest", [found.type], operands, attributes, loc=load.location).result

    def group(self, begin: Any, *, whole: bool) -> None:
        """Writes ``unroll`` copies of the body: first all but the stores, then the stores."""
        (argument,), stores, starts = self.block.arguments, self.stores, self.starts(begin)
        copies: list[dict[Any, Any]] = []
        for u, r in enumerate(starts):
            copies.append({argument: r if whole or not u else self.existing(r, begin)})
            self.copy([o for o in self.ops if o not in stores], copies[-1], whole=whole)
        for r, mapping in zip(starts, copies, strict=True):
            self.copy(stores, mapping | {argument: r}, whole=whole)

    def starts(self, begin: Any) -> list[Any]:
        """Where the accesses of the group at ``begin`` begin."""
        return [arith.addi(begin, self.number(u * self.step)) if u else begin for u in range(self.unroll)]

    def existing(self, r: Any, first: Any) -> Any:
        """The access at ``r``, or the thread's own access at ``first`` in place of one that does not exist."""
        return arith.select(arith.cmpi(arith.CmpIPredicate.slt, r, self.end), r, first)

    def copy(self, ops: Sequence[Any], mapping: dict[Any, Any], *, whole: bool, at_once: bool = False) -> None:
        """Copies ops of the body, and adds their results to ``mapping``.

        With ``at_once`` loads that may be cut are to be completed.
        """
        for op in ops:
            operands = [mapping.get(v, v) for v in op.operands]
            name, attributes = op.name, dict(op.attributes.items())
            if LEADS in attributes:
                del attributes[LEADS]
                if whole:
                    mapping[op.results[0]] = load_before(op, operands[2], self.lead)
                    continue
            if name == "fold.load" and not whole and int_attr(op, "reduced_rank"):
                name = "fold.element_load"
                operands[3:3] = [self.begin if self.first is None else self.first, self.end]
                attributes |= {"at_once": ir.BoolAttr.get(True)} if at_once and _is_cut(op) else {}
            elif name in ("fold.element_store", "fold.held"):
                attributes["whole"] = ir.BoolAttr.get(whole)
            types = [r.type for r in op.results]
            new = ir.Operation.create(name, types, operands, attributes, loc=op.location)
            mapping.update(zip(op.results, new.results, strict=True))


def _is_cut(load: Any) -> bool:
    """Whether an end of the row may cut the accesses of a load."""
    return str_attr(load, "access", ACCESS) == "shifted"


def _along_reduced(store: Any) -> int:
    """Elements of a store along the reduced axis."""
    return width(store.operands[0].type) if str_attr(store, "axis", AXES) == "reduced" else 1


PASS = Pass("lower-thread-map", _run, ("fold.thread_map",), "write each thread's own elements, in groups of accesses")
