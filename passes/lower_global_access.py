"""Lowers accesses to global memory: vector width, peeled loops, masked ends, and rows at any alignment.

A thread's walk along the reduced axis is peeled into loops (``access/peeling.py``) that each know more about their
accesses than the whole walk does:

- full groups of ``unroll`` accesses;
- the accesses that are left, as one more group. All its accesses are in flight together: those beyond the end read the
  last access again, and ``fold.live`` masks them. Where no thread makes more accesses than a group has (``once``), this
  is the only loop. Where a combine is long, the accesses that are left follow one by one instead.
- the access that the end of the row cuts, if it covers several reduced elements: these are read one by one, at clamped
  indices.

A loop of one step at most is marked ``once``: it needs no loop.

Which memory an access may touch depends on its method. Nothing outside the array is ever touched:

- ``shifted``: the row begins between two boundaries of an access, and its accesses are aligned all the same. The first
  and the last one hold elements beside the row, which ``fold.live`` masks. Where such an access would leave the array's
  memory, its elements are read one by one. Elements of other arrays that lie apart are read one by one in these
  accesses, at indices in the row. Rows that wait in slots (``fold.held``) need only the masks.
- ``unaligned``: vectors along the kept axis at any address, each taken out of two aligned accesses. They might leave
  the array's memory at the first and the last index of the reduced axis, where a thread reads the elements one by one
  unless its accesses stay inside.
- ``staggered``: aligned vectors along the kept axis that may reach beyond the columns. The elements at the
  first and the last index of the reduced axis are read one by one.
- ``period``: rows that are read as one. At most one access of a thread begins before the rows, and one ends after them;
  their elements are read one by one.
- ``tile``: vectors out of a copy in shared memory, at any address. The access that the end of the row cuts is read
  whole too, since the copy can be read beyond its elements.

``access/loads.py`` and ``access/stores.py`` lower single accesses, ``access/blocks.py`` those of ``fold.block_load``.

A thread reduces four neighbouring results with two accesses in flight: groups of two, then the accesses that are left.

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
    %along_reduced = arith.muli %r, %stride : i32
    %offset = arith.addi %kept, %along_reduced : i32
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
    %along_reduced = arith.muli %r, %stride : i32
    %offset = arith.addi %kept, %along_reduced : i32
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

from collections.abc import Callable
from typing import Any

from ..compiler.driver.pipeline import Pass
from ..compiler.ir.build import find, find_each
from .access.blocks import lower_load as lower_block_load
from .access.element_loads import lower_element_load, lower_element_rest
from .access.loads import lower_lead, lower_live, lower_load, lower_position
from .access.peeling import peel
from .access.stores import lower_element_store, lower_store

LOWERED: dict[str, Callable[[Any], None]] = {
    "fold.load": lambda op: lower_load(op, None),
    "fold.element_rest": lower_element_rest,
    "fold.element_load": lower_element_load,
    "fold.element_store": lower_element_store,
    "fold.block_load": lower_block_load,
    "fold.lead": lower_lead,
    "fold.position": lower_position,
    "fold.live": lambda op: lower_live(op, None),
    "fold.store": lower_store,
}
"""What lowers each op, in order; none of them leaves ops of these names."""


def _run(module: Any) -> None:
    for op in find(module, "fold.thread_reduce"):
        peel(op)
    found = find_each(module, LOWERED)
    for name, lower in LOWERED.items():
        for op in found[name]:
            lower(op)


PASS = Pass(
    "lower-global-access",
    _run,
    tuple(LOWERED),
    "choose vector loads, peeled steps and masked tails; compute addresses",
)
