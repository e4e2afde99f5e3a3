"""Lowers a thread's walk that writes elements: to a loop over groups of whole accesses, and groups that a row cuts.

All loads of a group come before its stores, so that they are in flight together: no load may pass a store that might
write to its address.

- The loop takes groups of ``unroll`` accesses while all of these lie in the row as a whole. Its loads and stores ask
  for no bounds.
- The accesses that are left, and the one that the end of the row cuts, are one more group. Its loads are
  ``fold.element_load``, and its stores write what lies in the row. In place of an access beyond the end the thread
  reads its first one of the group again, which no other thread writes.
- If accesses begin at the boundary before the row (``first``), another such group comes before the loop.

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

from collections.abc import Sequence
from typing import Any

from ..compiler.driver.pipeline import Pass
from ..compiler.ir.build import before, find, integer, replace
from ..compiler.ir.combine import width
from ..compiler.ir.dialect.access import AXES
from ..compiler.ir.dialect.base import int_attr, str_attr
from ..compiler.ir.mlir import arith, ir, scf
from .access.peeling import after


def _run(module: Any) -> None:
    for op in find(module, "fold.thread_map"):
        with before(op):
            _Walk(op).lower()
            replace(op, [])


class _Walk:
    """The parts of a walk.

    Attributes:
        begin, end, first: of the walk; ``first`` is None where no access begins before the row.
        step, unroll: elements between a thread's accesses, and accesses in flight.
        lanes: elements of an access along the reduced axis.
    """

    def __init__(self, op: Any) -> None:
        (self.block,) = op.regions[0].blocks
        self.ops = [o.operation for o in self.block.operations][:-1]
        self.begin, self.end, *first = op.operands
        self.first = first[0] if first else None
        self.step, self.unroll = int_attr(op, "step"), int_attr(op, "unroll")
        self.lanes = max(_along_reduced(o) for o in self.ops if o.name == "fold.element_store")

    def number(self, value: int) -> Any:
        return integer(self.begin.type, value)

    def lower(self) -> None:
        """Writes the loop and the groups around it."""
        begin, group = self.begin, self.unroll * self.step
        if self.first is not None:
            some = arith.cmpi(arith.CmpIPredicate.slt, self.first, self.end)
            self.edge(begin, some)
            begin = arith.addi(begin, self.number(group))
        limit = arith.subi(self.end, self.number(group - self.step + self.lanes - 1))
        loop = scf.ForOp(begin, limit, self.number(group))
        with ir.InsertionPoint(loop.body):
            self.group(loop.induction_variable, whole=True)
            scf.YieldOp([])
        if self.unroll > 1 or self.lanes > 1:
            self.edge(after(begin, limit, group))

    def edge(self, begin: Any, some: Any = None) -> None:
        """Writes the group that begins at ``begin``, of which some accesses may not exist, if the first one does.

        ``some`` says whether the row has elements, if an access that begins before its end may have none.
        """
        exists = arith.cmpi(arith.CmpIPredicate.slt, begin, self.end)
        branch = scf.IfOp(exists if some is None else arith.andi(some, exists))
        with ir.InsertionPoint(branch.then_block):
            self.group(begin, whole=False)
            scf.YieldOp([])

    def group(self, begin: Any, *, whole: bool) -> None:
        """Writes ``unroll`` copies of the body: first all but the stores, then the stores."""
        (argument,), stores = self.block.arguments, [o for o in self.ops if o.name == "fold.element_store"]
        starts = [arith.addi(begin, self.number(u * self.step)) if u else begin for u in range(self.unroll)]
        copies: list[dict[Any, Any]] = []
        for u, r in enumerate(starts):
            copies.append({argument: r if whole or not u else self.existing(r, begin)})
            self.copy([o for o in self.ops if o not in stores], copies[-1], whole=whole)
        for r, mapping in zip(starts, copies, strict=True):
            self.copy(stores, mapping | {argument: r}, whole=whole)

    def existing(self, r: Any, first: Any) -> Any:
        """The access at ``r``, or the thread's own access at ``first`` in place of one that does not exist."""
        return arith.select(arith.cmpi(arith.CmpIPredicate.slt, r, self.end), r, first)

    def copy(self, ops: Sequence[Any], mapping: dict[Any, Any], *, whole: bool) -> None:
        """Copies ops of the body, and adds their results to ``mapping``."""
        for op in ops:
            operands = [mapping.get(v, v) for v in op.operands]
            name, attributes = op.name, dict(op.attributes.items())
            if name == "fold.load" and not whole and int_attr(op, "reduced_rank"):
                name = "fold.element_load"
                operands[3:3] = [self.begin if self.first is None else self.first, self.end]
            elif name in ("fold.element_store", "fold.held"):
                attributes["whole"] = ir.BoolAttr.get(whole)
            types = [r.type for r in op.results]
            new = ir.Operation.create(name, types, operands, attributes, loc=op.location)
            mapping.update(zip(op.results, new.results, strict=True))


def _along_reduced(store: Any) -> int:
    """Elements of a store along the reduced axis."""
    return width(store.operands[0].type) if str_attr(store, "axis", AXES) == "reduced" else 1


PASS = Pass("lower-thread-map", _run, ("fold.thread_map",), "write each thread's own elements, in groups of accesses")
