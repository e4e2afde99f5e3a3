"""Distributes the elements of a tensor program over threads, and adds the stages in which threads combine states.

Reads a ``func.func`` on tensors with its plan and facts; writes a ``gpu.func`` over fragments: a ``fold.thread_reduce``
with the elementwise code in its body, then one stage op for every level of the plan whose extent along the reduced
axis is more than one, then the results. ``compiler/plan/layout.py`` defines which thread owns which element.

A sum over rows, a warp a row:

```mlir before
func.func @row_sum(%x: tensor<?x?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 2, lanes = 32, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v7"},
    fold.facts = {kept_rank = 1, reduced_rank = 1, index_bits = 32, access = ["strided"], store_vector = false,
                  ragged = false}} {
  %sum = "fold.reduce"(%x) ({
    %zero = arith.constant 0.0 : f32
    "fold.yield"(%zero) : (f32) -> ()
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    "fold.yield"(%c) : (f32) -> ()
  }) {dims = array<i64: 1>, commutative = true} : (tensor<?x?xf32>) -> tensor<?xf32>
  return %sum : tensor<?xf32>
}
```

```mlir after
gpu.module @row_sum_module {
  gpu.func @row_sum(%x: !llvm.ptr<1>, %out: !llvm.ptr<1>, %n_kept: i32, %n_reduced: i32, %chunk: i32, %count: i32,
                    %stride_kept: i32, %stride_reduced: i32, %stride_out: i32)
      kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
    %tid = gpu.thread_id x
    %thread = arith.index_cast %tid : index to i32
    %c31 = arith.constant 31 : i32
    %in_warp = arith.andi %thread, %c31 : i32
    %c5 = arith.constant 5 : i32
    %warp = arith.shrui %thread, %c5 : i32
    %c31_0 = arith.constant 31 : i32
    %lane = arith.andi %in_warp, %c31_0 : i32
    %c5_0 = arith.constant 5 : i32
    %lane_kept = arith.shrui %in_warp, %c5_0 : i32
    %row = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    %before_row = arith.muli %row, %c32 : i32
    %position = arith.addi %before_row, %lane : i32
    %slot = arith.addi %warp, %lane_kept : i32
    %bid = gpu.block_id x
    %tile = arith.index_cast %bid : index to i32
    %kept = arith.addi %tile, %slot : i32
    %in_range = arith.cmpi slt, %kept, %n_kept : i32
    %c0 = arith.constant 0 : i32
    %leads = arith.cmpi eq, %position, %c0 : i32
    %owner = arith.andi %in_range, %leads : i1
    %first = arith.constant 0 : i32
    %begin = arith.addi %first, %position : i32
    %end = arith.select %in_range, %n_reduced, %first : i32
    %zero = arith.constant 0.0 : f32
    %mine = "fold.thread_reduce"(%begin, %end, %zero) ({
    ^bb0(%r: i32):
      %element = "fold.load"(%x, %kept, %r, %stride_kept, %stride_reduced)
        {access = "strided", axis = "reduced", kept_rank = 1, reduced_rank = 1}
        : (!llvm.ptr<1>, i32, i32, i32, i32) -> f32
      %live = "fold.live"(%r, %first, %end) : (i32, i32, i32) -> i1
      %neutral = arith.constant 0.0 : f32
      %counted = arith.select %live, %element, %neutral : f32
      "fold.yield"(%counted) : (f32) -> ()
    }, {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "fold.yield"(%c) : (f32) -> ()
    }) {step = 32, unroll = 2} : (i32, i32, f32) -> f32
    %ours = "fold.warp_reduce"(%mine) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "fold.yield"(%c) : (f32) -> ()
    }) {lanes = 32, ordered = false, stride = 1} : (f32) -> f32
    "fold.store"(%ours, %out, %kept, %owner, %stride_out) {kept_rank = 1, reduced_rank = 0, vector = false}
      : (f32, !llvm.ptr<1>, i32, i1, i32) -> ()
    gpu.return
  }
}
```
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..compiler.driver.pipeline import Pass, op_names
from ..compiler.errors import error
from ..compiler.ir import attributes
from ..compiler.ir.build import word_type
from ..compiler.ir.mlir import gpu, ir, nvvm
from .distribution.chain import distribute_with_roles
from .distribution.finish import finish
from .distribution.kernel import Kernel
from .distribution.occupancy import least_ctas
from .distribution.periods import PeriodWalk, period_place
from .distribution.place import first_place, padded_place, staggered_place
from .distribution.resident.phases import distribute_phases
from .distribution.resident.side_folds import distribute_persistent
from .distribution.scan import distribute_scan, distribute_scan_walk
from .distribution.tally import distribute_tally, scatters
from .distribution.tile_copies import tile_walk
from .distribution.walk import BlockWalk, ElementWalk, RunWalk, Walk

WALKS: dict[str, tuple[Any, Any]] = {
    "interleaved": (first_place, ElementWalk.of),
    "blocked": (first_place, ElementWalk.of),
    "padded": (padded_place, ElementWalk.of),
    "staggered": (staggered_place, ElementWalk.of),
    "runs": (first_place, RunWalk.of),
    "period": (period_place, PeriodWalk.of),
    "whole": (first_place, BlockWalk.of),
}
"""For each walk of a plan, what gives a thread its place, and what makes its walk from there."""
PROGRAM = ("fold.reduce", "fold.scatter", "fold.bin", "fold.scan", "fold.broadcast", "fold.iota", "fold.count")
"""The ops of a tensor program."""


def _run(module: Any) -> None:
    for op in [o.operation for o in module.regions[0].blocks[0].operations]:
        if op.name == "func.func" and (attributes.PLAN in op.attributes or _is_program(op)):
            name = ir.StringAttr(op.attributes["sym_name"]).value
            with ir.InsertionPoint(op), op.location, ir.InsertionPoint(_gpu_module(module, op, name)):
                _distribute(Kernel.declare(op, name))
            op.erase()


def _is_program(function: Any) -> bool:
    """Whether a function has what distribute is to remove: then its plan is missing."""
    return not op_names(function).keys().isdisjoint(PROGRAM)


def _gpu_module(module: Any, function: Any, name: str) -> Any:
    """The body of the module's ``gpu.module``, which is made for the first function, at the insertion point."""
    ops = (o.operation for o in module.regions[0].blocks[0].operations)
    found = next((op for op in ops if op.name == "gpu.module"), None)
    if found is None:
        found = gpu.GPUModuleOp(f"{name}_module").operation
        found.regions[0].blocks.append()
        if attributes.TARGET in function.attributes:
            found.attributes[attributes.TARGET] = function.attributes[attributes.TARGET]
    return found.regions[0].blocks[0]


def _distribute(kernel: Kernel) -> None:
    """Writes the body of a kernel."""
    with ir.InsertionPoint(kernel.entry.regions[0].blocks[0]):
        if kernel.facts.follows:  # what the call launches next need not wait to be launched: it waits as well
            nvvm.griddepcontrol(nvvm.GridDepActionKind.wait)
            nvvm.griddepcontrol(nvvm.GridDepActionKind.launch_dependents)
        if kernel.plan.takes_side:
            distribute_persistent(kernel)
        elif kernel.scan:
            _distribute_scan(kernel)
        elif kernel.plan.resident:
            distribute_phases(kernel)
        elif scatters(kernel):
            distribute_tally(kernel)
        else:
            _distribute_fold(kernel)
        gpu.ReturnOp([])
    _check_stores(kernel)
    if least := least_ctas(kernel):
        kernel.entry.attributes["nvvm.minctasm"] = ir.IntegerAttr.get(word_type(), least)


def _check_stores(kernel: Kernel) -> None:
    """Refuses (WF333) a kernel that writes nothing to one of its results, which a later step or the caller reads."""
    for parameter, value in kernel.args.items():
        if parameter.role == "output" and all(use.owner.name == "llvm.ptrtoint" for use in value.uses):
            name = ir.StringAttr(kernel.entry.attributes["sym_name"]).value
            raise error("WF333", name=name, reason=f"one of them writes nothing to its result {parameter.operand}")


def _distribute_scan(kernel: Kernel) -> None:
    """Writes the body of a kernel that scans."""
    if kernel.plan.has_roles:
        distribute_with_roles(kernel)
    elif kernel.plan.keeps_columns:
        distribute_scan_walk(kernel)
    else:
        distribute_scan(kernel)


def _distribute_fold(kernel: Kernel) -> None:
    """Writes the one reduction of a kernel, and its results."""
    with _walk_of(kernel) as walk:
        with kernel.reduce.location:
            state, place = walk.first_round()
        finish(walk, state, place)


def _walk_of(kernel: Kernel) -> AbstractContextManager[Walk]:
    """The walk of a thread; inside, ops come where it takes place."""
    if kernel.plan.tile_bytes:
        return tile_walk(kernel)
    place_of, walk_of = WALKS[kernel.plan.walk]
    return nullcontext(walk_of(*place_of(kernel)))


PASS = Pass("distribute", _run, PROGRAM, "hand elements out to threads")
