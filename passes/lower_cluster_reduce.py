"""Lowers the cluster stage: all warps of a cluster leave their states in its first CTA, whose lanes combine them.

A CTA of a cluster can write to the shared memory of another. So the warps do not first combine within their own CTA:
each leaves its state in a buffer of the CTA of rank 0 (one buffer for each value of the state), and one round there
combines them all, as in ``lower-interwarp-accumulate``: lane l takes n = ctas * rows / lanes states from l * n on, and
a butterfly follows. State r lies in row r / n + lanes * (r mod n), so that lanes read neighbouring rows at a time.

If the state is wanted ``everywhere``, each warp leaves its state in every CTA: lane l writes to the CTAs of rank l,
l + lanes, and so on. Where the warps of a CTA have ``met`` before, the first of them does so alone. Then all warps
combine the states in their own CTA's memory. They do so in the same order, lower states on the left, so the bits of the
result are the same in all threads.

The kernel passes the cluster barrier once before the first stage. This says that all CTAs run, since their memory does
not exist before. All threads arrive at it when the kernel begins and wait only before they write, when it is long
complete. Each stage has buffers of its own: a warp may write the states of the next stage while another still reads.

How a CTA knows that the states have come:

- Stages pass the barrier again. After the last pass nobody accesses another CTA's memory, so a CTA may end before the
  others.
- With ``counted`` a stage has an mbarrier in each CTA. States are stored by ``st.async``, which tells the mbarrier of
  their CTA how many bytes have come, and a CTA waits for as many as come to it. It waits for no other thread, and a CTA
  to which nothing comes does not wait at all. Nobody accesses the memory of a CTA once all has come, so it may end. The
  first thread of a CTA makes the mbarriers and says what they await before it arrives at the first barrier.

Two CTAs of two warps each; two lanes take two states each:

```mlir before
gpu.module @device {
  func.func @meet(%rank: i32, %row: i32, %lane: i32, %slot: i32, %first: i1, %mine: f32) -> f32 {
    %ours = "fold.cluster_reduce"(%rank, %row, %lane, %slot, %first, %mine) ({
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      "fold.yield"(%c) : (f32) -> ()
    }) {ctas = 2, rows = 2, slots = 1, lanes = 2, stride = 1, ordered = false}
      : (i32, i32, i32, i32, i1, f32) -> f32
    return %ours : f32
  }
}
```

```mlir after
gpu.module @device {
  llvm.mlir.global internal @gathered_0() {addr_space = 3 : i32, alignment = 16} : !llvm.array<4 x f32>
  func.func @meet(%rank: i32, %row: i32, %lane: i32, %slot: i32, %first: i1, %mine: f32) -> f32 {
    nvvm.cluster.arrive.relaxed {aligned}
    %buffer = llvm.mlir.addressof @gathered_0 : !llvm.ptr<3>
    %rows = arith.constant 2 : i32
    %before = arith.muli %rank, %rows : i32
    %number = arith.addi %before, %row : i32
    nvvm.cluster.wait {aligned}
    scf.if %first {
      %c1 = arith.constant 1 : i32
      %step = arith.andi %number, %c1 : i32
      %by = arith.constant 1 : i32
      %group = arith.shrui %number, %by : i32
      %groups = arith.constant 2 : i32
      %below = arith.muli %step, %groups : i32
      %there = arith.addi %below, %group : i32
      %slots = arith.constant 1 : i32
      %start = arith.muli %there, %slots : i32
      %at = arith.addi %start, %slot : i32
      %rank_0 = arith.constant 0 : i32
      %remote = nvvm.mapa %buffer, %rank_0 : !llvm.ptr<3> -> !llvm.ptr<7>
      %where = llvm.getelementptr %remote[%at] : (!llvm.ptr<7>, i32) -> !llvm.ptr<7>, f32
      llvm.store %mine, %where {alignment = 4} : f32, !llvm.ptr<7>
    }
    nvvm.cluster.arrive {aligned}
    nvvm.cluster.wait {aligned}
    %zero = arith.constant 0 : i32
    %gathers = arith.cmpi eq, %number, %zero : i32
    %ours = scf.if %gathers -> (f32) {
      %mask = arith.constant 1 : i32
      %own = arith.andi %lane, %mask : i32
      %c0 = arith.constant 0 : i32
      %row_0 = arith.addi %own, %c0 : i32
      %slots_0 = arith.constant 1 : i32
      %start_0 = arith.muli %row_0, %slots_0 : i32
      %at_0 = arith.addi %start_0, %slot : i32
      %where_0 = llvm.getelementptr %buffer[%at_0] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %state_0 = llvm.load %where_0 {alignment = 4} : !llvm.ptr<3> -> f32
      %c2 = arith.constant 2 : i32
      %row_1 = arith.addi %own, %c2 : i32
      %slots_1 = arith.constant 1 : i32
      %start_1 = arith.muli %row_1, %slots_1 : i32
      %at_1 = arith.addi %start_1, %slot : i32
      %where_1 = llvm.getelementptr %buffer[%at_1] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
      %state_1 = llvm.load %where_1 {alignment = 4} : !llvm.ptr<3> -> f32
      %both = arith.addf %state_0, %state_1 : f32
      %distance = arith.constant 1 : i32
      %warp = arith.constant 32 : i32
      %other, %in = gpu.shuffle xor %both, %distance, %warp : f32
      %all = arith.addf %both, %other : f32
      scf.yield %all : f32
    } else {
      scf.yield %mine : f32
    }
    return %ours : f32
  }
}
```
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..compiler.driver.pipeline import Pass
from ..compiler.ir.anchored import joined
from ..compiler.ir.build import (
    address,
    before,
    bytes_of,
    enclosing,
    find,
    i32,
    integer,
    replace,
    shared_buffer,
    store,
    when,
    word_type,
)
from ..compiler.ir.combine import pack, unpack
from ..compiler.ir.dialect.base import bool_attr, element, int_attr
from ..compiler.ir.lane_exchange import butterfly
from ..compiler.ir.mlir import arith, ir, nvvm, scf
from ..compiler.ir.uniform_fragments import constant
from .access.state_buffers import Arrivals, StateBuffers, begin, store_counted

FUNCTIONS = ("gpu.func", "func.func")


def _run(module: Any) -> None:
    begun: dict[Any, list[_Cluster]] = {}
    for op in find(module, "fold.cluster_reduce"):
        stages = begun.setdefault(enclosing(op, *FUNCTIONS).regions[0].blocks[0], [])
        with before(op):
            stage = _Cluster(op)
            if not stages:
                nvvm.cluster_wait(aligned=True)
            replace(op, [pack(stage.run())])
        stages.append(stage)
    for kernel, stages in begun.items():
        with ir.InsertionPoint.at_block_begin(kernel), stages[0].location:
            begin([stage.arrivals for stage in stages if stage.arrivals])
            nvvm.cluster_arrive_relaxed(aligned=True)


class _Cluster:
    """The states of a cluster's warps in buffers of one CTA or of each, and the round that combines them."""

    def __init__(self, op: Any) -> None:
        self.region, self.location = op.regions[0], op.location
        rank, row, self.lane, slot, self.on, state = op.operands
        slots, self.stride = int_attr(op, "slots"), int_attr(op, "stride")
        self.index, self.own = row.type, unpack(state)
        self.ctas, self.lanes = int_attr(op, "ctas"), int_attr(op, "lanes")
        self.everywhere = "everywhere" in op.attributes and bool_attr(op, "everywhere")
        self.met = "met" in op.attributes and bool_attr(op, "met")
        self.ordered = bool_attr(op, "ordered") or self.everywhere
        warps = self.ctas * int_attr(op, "rows")
        self.groups = min(warps, self.lanes)
        self.each = warps // self.groups
        self.arrivals = self._arrivals(op, warps) if "counted" in op.attributes else None
        buffers = [shared_buffer(op, "gathered", warps * slots, element(v.type)) for v in self.own]
        self.states = StateBuffers(buffers, [v.type for v in self.own], slots, slot)
        self.number_of_warp = arith.addi(arith.muli(rank, self.number(int_attr(op, "rows"))), row)

    def _arrivals(self, op: Any, warps: int) -> Arrivals | None:
        """What counts the bytes of the states that come to a CTA; None where none come."""
        nbytes = sum(bytes_of(element(v.type)) for v in self.own if constant(v) is None)
        return Arrivals.of(op, warps * int_attr(op, "counted") * nbytes) if nbytes else None

    def run(self) -> list[Any]:
        """The combined state. All threads have it, or the first warps of the first CTA."""
        self.leave()
        if not self.arrivals:
            nvvm.cluster_arrive(aligned=True)
            nvvm.cluster_wait(aligned=True)
        if self.everywhere:
            return self.gather()
        gathers = arith.cmpi(arith.CmpIPredicate.eq, self.number_of_warp, self.number(0))
        branch = scf.IfOp(gathers, [v.type for v in self.own], has_else=True)
        with ir.InsertionPoint(branch.then_block):
            scf.YieldOp(self.gather())
        with ir.InsertionPoint(branch.else_block):
            scf.YieldOp(self.own)
        return list(branch.results)

    def leave(self) -> None:
        """Writes this warp's state to the first CTA, or to all CTAs."""
        writes = None if self.everywhere and not self.met else self.on
        if self.everywhere and self.lanes > self.ctas:
            some = arith.cmpi(arith.CmpIPredicate.slt, self.lane, self.number(self.ctas))
            writes = some if writes is None else arith.andi(writes, some)
        if writes is None:
            self.write()
            return
        with when(writes):
            self.write()

    def write(self) -> None:
        """Writes this warp's state to the first CTA; or with the other lanes of a state to all CTAs."""
        row, plus = self.number_of_warp, self.rank_of_lane() if self.everywhere else None
        ranks = range(0, self.ctas, self.lanes) if self.everywhere else [0]
        if self.each > 1:
            step = arith.andi(row, self.number(self.each - 1))
            group = arith.shrui(row, self.number(self.each.bit_length() - 1))
            row = arith.addi(arith.muli(step, self.number(self.groups)), group)
        start, remote = self.states.start(row), ir.Type.parse("!llvm.ptr<7>")
        for first in ranks:
            rank = i32(first) if plus is None else arith.addi(plus, i32(first)) if first else plus
            barrier = nvvm.mapa(remote, self.arrivals.barrier, rank) if self.arrivals else None
            for buffer, v in zip(self.states.buffers, self.own, strict=True):
                if constant(v) is not None:
                    continue
                there = nvvm.mapa(remote, buffer, rank)
                if barrier is not None:
                    store_counted(v, address(there, start, element(v.type)), barrier)
                else:
                    store(v, there, start)

    def rank_of_lane(self) -> Any:
        """The rank of the first CTA that this lane writes to, an i32."""
        return self.lane if self.index == word_type() else arith.trunci(word_type(), self.lane)

    def gather(self) -> list[Any]:
        """Combines all states, once they have come."""
        if self.arrivals:
            self.arrivals.wait()
        group = arith.andi(self.lane, self.number(self.groups - 1))

        def state(i: int) -> list[Any]:
            found = self.states.load(arith.addi(group, self.number(i * self.groups)))
            return [v if constant(v) is not None else other for v, other in zip(self.own, found, strict=True)]

        mine = joined(self.region, [partial(state, i) for i in range(self.each)])
        return butterfly(self.region, mine, self.groups, self.stride, ordered=self.ordered)

    def number(self, value: int) -> Any:
        return integer(self.index, value)


PASS = Pass(
    "lower-cluster-reduce", _run, ("fold.cluster_reduce",), "combine the states of a cluster's warps", stage=True
)
