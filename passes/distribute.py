"""Hands the elements of a tensor program out to threads: who owns what, and which stages that asks for.

Reads a ``func.func`` on tensors with its plan and facts; writes a ``gpu.func`` over fragments: a ``fold.thread_reduce``
with the elementwise code in its body, then one stage op for every level of the plan whose extent along the reduced
axis is more than one, then the results. The formulas are those of ``compiler/plan.py``.

A sum over rows, a warp a row:

```mlir before
func.func @row_sum(%x: tensor<?x?xf32>) -> tensor<?xf32> attributes {
    fold.plan = {fast = "reduced", walk = "interleaved", vector = 1, unroll = 2, lanes = 32, warps = 1,
                 warps_kept = 1, tile_bytes = 0, cluster = 1, cta = "shuffle", exchange = "shared", coarsening = 0,
                 finish = "cta", tree = "tree-v3"},
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

from typing import Any

from ..compiler import attributes, tiles
from ..compiler.abi import POINTERS, Param, params
from ..compiler.attributes import target_of
from ..compiler.build import bytes_of, memory_type
from ..compiler.combine import clone_block, constant, pack, unpack, with_shape
from ..compiler.dialect.base import element, state_type, values
from ..compiler.errors import error
from ..compiler.mlir import arith, gpu, ir, scf, vector
from ..compiler.pipeline import Pass
from ..compiler.plan import IN_TILE, Plan
from ..compiler.target import WARP
from ._period import Periods
from ._repeats import Repeats
from ._resident import resident
from ._staggered import Staggered


def _run(module: Any) -> None:
    for op in list(module.regions[0].blocks[0].operations):
        if op.operation.name == "func.func" and attributes.PLAN in op.operation.attributes:
            plan, _ = attributes.read(op.operation)
            kinds = {"period": _PeriodDistributor, "staggered": _StaggeredDistributor}
            kinds.get(plan.walk, _Distributor)(op.operation).run(module)
            op.operation.erase()


class _Distributor(Repeats):
    """Distributes one function. The attributes below ``run`` are the kernel's own values: place, ranges, parameters."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.plan, self.facts = attributes.read(function)
        self.block = function.regions[0].blocks[0]
        ops = [o.operation for o in self.block.operations]
        reduces = [o for o in ops if o.name == "fold.reduce"]
        if len(reduces) != 1:
            raise error("WF320", expected="exactly one fold.reduce", found=len(reduces))
        self.reduce, self.results = reduces[0], list(ops[-1].operands)
        ranks = self.facts.kept_rank + self.facts.reduced_rank
        if any(t.rank != ranks for t in values(self.reduce.operands[0].type)):
            raise error(
                "WF320",
                expected=f"tensors of kept_rank + reduced_rank = {ranks} dims",
                found=self.reduce.operands[0].type,
            )
        self.reduced = self._reduced()
        self._check_ragged()
        self.indexed, self.counted = (any(o.name == name for o in ops) for name in ("fold.iota", "fold.count"))
        self.index = ir.IntegerType.get_signless(self.facts.index_bits)
        self.sources = unpack(self.reduce.operands[0])
        self.states = [element(v.type) for v in self.sources]
        self.identity, self.combine = self.reduce.regions
        self.args: dict[Param, Any] = {}
        self.copies: dict[int, list[Any]] = {}

    def _check_ragged(self) -> None:
        """Ragged rows begin anywhere and are no longer than a CTA can take."""
        names = ("vector", "tile_bytes", "cluster", "finish")
        wanted, found = (", ".join(f"{n} = {getattr(p, n)}" for n in names) for p in (Plan(), self.plan))
        if self.facts.ragged and wanted != found:
            raise error("WF320", expected=f"{wanted} for ragged rows", found=found)

    def _reduced(self) -> list[Any]:
        """The tensors that carry the reduction's results: the result itself, or what its tuple is unpacked into."""
        (result,) = self.reduce.results
        if not isinstance(result.type, ir.TupleType):
            return [result]
        for use in result.uses:
            return list(use.owner.results)
        raise error("WF320", expected="a use of the fold.reduce", found="none")

    # --- the function -------------------------------------------------------------------------------------------
    def run(self, module: Any) -> None:
        """Adds the kernel to the module's gpu.module, which is made for the first one."""
        name = ir.StringAttr(self.function.attributes["sym_name"]).value
        with ir.InsertionPoint(self.function), self.function.location:
            holder = next(
                (o.operation for o in module.regions[0].blocks[0].operations if o.operation.name == "gpu.module"), None
            )
            if holder is None:
                holder = gpu.GPUModuleOp(f"{name}_module").operation
                holder.regions[0].blocks.append()
                if attributes.TARGET in self.function.attributes:
                    holder.attributes[attributes.TARGET] = self.function.attributes[attributes.TARGET]
            with ir.InsertionPoint(holder.regions[0].blocks[0]):
                self.kernel(name)

    def kernel(self, name: str) -> None:
        plan = self.plan
        inputs, states = len(self.block.arguments), len(self.states)
        found = params(inputs, len(self.results), states, self.facts, plan, indexed=self.indexed, counted=self.counted)
        pointer = ir.Type.parse("!llvm.ptr<1>")
        types = [pointer if p.role in POINTERS else self.index for p in found]
        f = gpu.GPUFuncOp(ir.FunctionType.get(types, []), name, kernel=True, known_block_size=[plan.threads, 1, 1])
        if plan.cluster > 1:
            f.operation.attributes["nvvm.cluster_dim"] = ir.DenseI32ArrayAttr.get([1, plan.cluster, 1])
        block = f.add_entry_block()
        self.args = dict(zip(found, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            self.place()
            if plan.tile_bytes:
                self.results_of_tile()
            else:
                self.reduce_one()
            gpu.ReturnOp([])
        if least := self.resident():
            f.operation.attributes["nvvm.minctasm"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), least)

    def resident(self) -> int:
        """CTAs that an SM must be able to hold; 0 leaves it to the assembler."""
        threads = target_of(self.function).threads_per_sm
        item = min((bytes_of(memory_type(element(v.type))) for v in self.block.arguments), default=4)
        return resident(self.plan, self.facts, threads, self.states, self.combine, indexed=self.indexed, item=item)

    def reduce_one(self) -> None:
        """What a thread does for its place in the grid."""
        self.locate()
        self.finish(self.first_round())

    def results_of_tile(self) -> None:
        """The same for all results whose elements the CTA copies into shared memory, ``slots`` of them at a time."""
        self.copy_tile()
        count, slots = self.arg("tile_results"), self.number(self.plan.slots)
        begin = arith.muli(self.id(gpu.block_id(gpu.Dimension.x)), count)
        end = arith.minsi(arith.addi(begin, count), self.arg("n_kept"))
        loop = scf.ForOp(begin, end, slots)
        with ir.InsertionPoint(loop.body):
            self.own(arith.addi(loop.induction_variable, self.slot), end)
            self.reduce_one()
            scf.YieldOp([])

    def copy_tile(self) -> None:
        """Copies what the CTA reads of each input, as far as it has inputs of its own."""
        tile, thread = self.id(gpu.block_id(gpu.Dimension.x)), self.id(gpu.thread_id(gpu.Dimension.x))
        kinds = [bytes_of(memory_type(element(v.type))) for v in self.block.arguments]
        mine = [access in IN_TILE for access in self.facts.access]
        for i in (i for i, copied in enumerate(mine) if copied):
            begin = arith.muli(tile, self.arg("tile_pitch", i))
            attributes = {
                "item": kinds[i],
                "bytes": tiles.share(self.plan, kinds, mine, i),
                "threads": self.plan.threads,
            }
            operands = [self.arg("input", i), begin, self.arg("tile_length", i), self.arg("tile_extent", i), thread]
            types = [ir.Type.parse("!llvm.ptr<3>"), self.index]
            self.copies[i] = list(self.make_op("fold.tile_copy", types, operands, attributes).results)
        gpu.barrier()

    def arg(self, role: str, operand: int = 0, dim: int = 0) -> Any:
        return self.args[Param(role, operand, dim)]  # type: ignore[arg-type]

    def number(self, value: int) -> Any:
        return arith.constant(self.index, ir.IntegerAttr.get(self.index, value))

    def id(self, op: Any) -> Any:
        """A ``gpu`` id or dim along x or y as an index."""
        return arith.index_cast(self.index, op)

    # --- ownership: compiler/plan.py, as code ---------------------------------------------------------------------
    def place(self) -> None:
        """Computes the thread's place along both axes."""
        plan = self.plan
        thread = self.id(gpu.thread_id(gpu.Dimension.x))
        lane, warp = self.modulo(thread, WARP), self.divide(thread, WARP)
        if plan.fast == "reduced":
            self.lane, lane_kept = self.modulo(lane, plan.lanes), self.divide(lane, plan.lanes)
        else:
            lane_kept, self.lane = self.modulo(lane, plan.lanes_kept), self.divide(lane, plan.lanes_kept)
        self.row, warp_kept = self.modulo(warp, plan.warps), self.divide(warp, plan.warps)
        self.position = self.scaled(self.row, plan.lanes, self.lane)
        self.slot = self.scaled(self.scaled(warp_kept, plan.lanes_kept, lane_kept), plan.vector_kept)
        tile = self.id(gpu.block_id(gpu.Dimension.x))
        self.own(self.scaled(tile, plan.slots, self.slot), self.arg("n_kept"))
        if plan.cluster > 1:
            self.rank = self.modulo(self.id(gpu.block_id(gpu.Dimension.y)), plan.cluster)
            self.owner: Any = arith.andi(self.owner, self.is_first(self.rank))

    def own(self, kept: Any, end: Any) -> None:
        """Makes the result ``kept`` this thread's, if it lies before ``end``."""
        self.kept = kept
        self.in_range = arith.cmpi(arith.CmpIPredicate.slt, kept, end)
        self.owner = arith.andi(self.in_range, self.is_first(self.position))

    def locate(self) -> None:
        """Computes where this thread's row lies, as far as the CTA owns it: the one place that asks how rows lie.

        Elements from ``first`` to ``limit``, cut into pieces of ``length``; the element at ``origin`` (none: at 0) has
        the number 0, and ``count`` elements are reduced in all.
        """
        self.origin: Any = None
        self.count: Any = None
        if self.facts.ragged:
            self.first, self.limit = self.row_entry("row_begin"), self.row_entry("row_end")
            self.length = arith.subi(self.limit, self.first)
            self.origin = self.row_entry("row_origin") if self.indexed else None
            self.count = self.row_entry("row_count") if self.counted else None
            return
        self.length, self.count = self.arg("chunk"), self.arg("count")
        if self.plan.finish == "cta" and self.plan.cluster == 1:
            self.first, self.limit = self.number(0), self.arg("n_reduced")
        else:
            self.first = arith.muli(self.id(gpu.block_id(gpu.Dimension.y)), self.length)
            self.limit = arith.minsi(arith.addi(self.first, self.length), self.arg("n_reduced"))

    def row_entry(self, role: str) -> Any:
        """What the array ``role`` says of this thread's row; of the last row, where there is none."""
        rank = self.facts.kept_rank
        kept = arith.minsi(self.kept, arith.subi(self.arg("n_kept"), self.number(1)))
        layout = [self.arg("kept_size", 0, d) for d in range(1, rank)]
        layout += [self.arg("row_stride", 0, d) for d in range(rank)]
        attributes = self.load_attributes(rank, 0, "kept", "strided")
        return self.make("fold.load", self.index, [self.arg(role), kept, self.number(0), *layout], attributes, 1)

    def is_first(self, x: Any) -> Any:
        return arith.cmpi(arith.CmpIPredicate.eq, x, self.number(0))

    def modulo(self, x: Any, extent: int) -> Any:
        return arith.andi(x, self.number(extent - 1)) if extent > 1 else self.number(0)

    def divide(self, x: Any, extent: int) -> Any:
        return arith.shrui(x, self.number(extent.bit_length() - 1)) if extent > 1 else x

    def scaled(self, x: Any, factor: int, plus: Any = None) -> Any:
        product = arith.muli(x, self.number(factor)) if factor > 1 else x
        return product if plus is None else arith.addi(product, plus)

    def span(self, first: Any, end: Any, length: Any, vector_reduced: int) -> tuple[Any, Any]:
        """(begin, end) of this thread's accesses in [first, end); none when its results are out of range."""
        if self.plan.walk != "blocked":
            begin = arith.addi(first, self.scaled(self.position, vector_reduced))
        else:
            slots = self.plan.positions
            piece = self.divide(arith.addi(length, self.number(slots - 1)), slots)
            begin = arith.addi(first, arith.muli(self.position, piece))
            end = arith.minsi(end, arith.addi(begin, piece))
        # an end that no access can begin before, not even one that starts a vector early
        nothing = arith.subi(first, self.number(vector_reduced)) if vector_reduced > 1 else first
        return begin, arith.select(self.in_range, end, nothing)

    # --- the rounds -------------------------------------------------------------------------------------------------
    def first_round(self) -> Any:
        """Reduces this CTA's chunk of the elements."""
        plan = self.plan
        begin, end = self.span(self.first, self.limit, self.length, plan.vector_reduced)
        self.extents = {i: self.extent(i) for i, access in enumerate(self.facts.access) if access == "shifted"}

        def body(r: Any) -> list[Any]:
            memo: dict[Any, Any] = {}
            values = [self.value(v, plan.vector, memo, r) for v in self.sources]
            return self.counted_in(values, r, self.first, end, plan.vector)

        own = self.walked(begin, end, plan.step, plan.unroll, plan.vector, body)
        return self.meet(own) if plan.cluster == 1 else self.meet_in_cluster(own)

    def second_round(self, parts: Any) -> Any:
        """Reduces the partial states of all CTAs, in the CTA that came last."""
        begin, end = self.span(self.number(0), parts, parts, 1)
        step = self.plan.positions if self.plan.walk != "blocked" else 1

        def body(r: Any) -> list[Any]:
            n_kept = self.pitch()
            attributes = self.load_attributes(1, 1, "kept", "coherent")
            values = [
                self.make("fold.load", t, [self.arg("partial", i), self.kept, r, self.number(1), n_kept], attributes,
                          self.plan.vector_kept)
                for i, t in enumerate(self.states)
            ]  # fmt: skip
            return self.counted_in(values, r, self.number(0), end, self.plan.vector_kept)

        return self.meet(self.walked(begin, end, step, self.plan.second_unroll, self.plan.vector_kept, body))

    def counted_in(self, values: list[Any], r: Any, first: Any, end: Any, width: int) -> list[Any]:
        """The fragments at ``r`` with the identity in place of what does not lie in [first, end)."""
        lanes = width if self.plan.vector_kept == 1 else 1
        mask = self.make("fold.live", ir.IntegerType.get_signless(1), [r, first, end], {}, lanes)
        return [arith.select(mask, v, i) for v, i in zip(values, self.neutral(width), strict=True)]

    # --- the stages: an op for each level whose extent along the reduced axis is more than one ------------------------
    def walked(self, begin: Any, end: Any, step: int, unroll: int, width: int, body: Any, *period: Any) -> Any:
        """What a thread's own elements combine to; with a period, in each place of its access."""
        state = state_type([with_shape(t, width if period else self.plan.vector_kept) for t in self.states])
        op = self.stage(
            "fold.thread_reduce",
            [state],
            [begin, end, pack(self.neutral(width)), *period],
            {"step": step, "unroll": unroll},
            regions=2,
        )
        block = op.regions[0].blocks.append(self.index)
        with ir.InsertionPoint(block):
            ir.Operation.create("fold.yield", [], [pack(body(block.arguments[0]))])
        return op.results[0]

    @property
    def lanes(self) -> dict[str, Any]:
        """How the lanes of a warp lie that share a result."""
        stride = 1 if self.plan.fast == "reduced" else self.plan.lanes_kept
        return {"lanes": self.plan.lanes, "stride": stride, "ordered": self.plan.walk == "blocked"}

    def meet(self, value: Any) -> Any:
        """The stages that join the positions of a CTA: all at once in memory, or lanes first, then warps."""
        plan = self.plan
        if plan.cta != "shuffle":
            return self.meet_in_memory(value)
        value = self.meet_in_warp(value)
        if plan.warps > 1:
            rows = {"rows": plan.warps, "slots": plan.slots}
            shared = [ir.Type.parse("!llvm.ptr<3>")] * len(self.states)
            operands = [self.row, self.slot, self.is_first(self.lane), value]
            buffers = list(self.make_op("fold.shared_store", shared, operands, rows).results)
            accumulate = [self.lane, self.slot, *buffers]
            value = self.stage("fold.interwarp_accumulate", [value.type], accumulate, rows | self.lanes).results[0]
        return value

    def meet_in_cluster(self, value: Any) -> Any:
        """The stages that join the positions of all CTAs of a cluster: lanes first, then the warps of all of them.

        Positions that meet in memory do so in their CTA: to the cluster it is one warp.
        """
        plan = self.plan
        if plan.cta == "shuffle":
            value, row, rows, first = self.meet_in_warp(value), self.row, plan.warps, self.is_first(self.lane)
        else:
            value, row, rows, first = self.meet_in_memory(value), self.number(0), 1, self.is_first(self.position)
        attributes = {"ctas": plan.cluster, "rows": rows, "slots": plan.slots} | self.lanes
        operands = [self.rank, row, self.lane, self.slot, first, value]
        return self.stage("fold.cluster_reduce", [value.type], operands, attributes).results[0]

    def meet_in_warp(self, value: Any) -> Any:
        if self.plan.lanes == 1:
            return value
        return self.stage("fold.warp_reduce", [value.type], [value], self.lanes).results[0]

    def meet_in_memory(self, value: Any) -> Any:
        plan = self.plan
        if plan.positions == 1:
            return value
        scratch = [self.arg("exchange", i) for i in range(len(self.states)) if plan.global_states]
        sizes = {"rows": plan.positions, "lanes": plan.lanes, "slots": plan.slots}
        attributes = {"method": plan.cta, **sizes, "ordered": plan.walk == "blocked"}
        operands = [self.position, self.slot, value, *scratch]
        return self.stage("fold.cta_reduce", [value.type], operands, attributes).results[0]

    def finish(self, state: Any) -> None:
        """The grid stage if there is one, then the results."""
        plan = self.plan
        if plan.finish == "cta":
            self.results_from(state)
        elif plan.cluster == 1:
            self.finish_grid(state)
        else:
            first = scf.IfOp(self.is_first(self.rank))
            with ir.InsertionPoint(first.then_block):
                self.finish_grid(state)
                scf.YieldOp([])

    def finish_grid(self, state: Any) -> None:
        """The grid stage, where CTA or cluster is one of several."""
        plan = self.plan
        part, parts = (self.divide(self.id(of(gpu.Dimension.y)), plan.cluster) for of in (gpu.block_id, gpu.grid_dim))
        operands = [part, parts, *self.left_at(parts), self.owner, state]
        operands += [self.arg("partial", i) for i in range(len(self.states))]
        operands += [self.arg("counter")] if plan.finish == "last_block" else []
        attributes = {"finish": plan.finish}
        op = self.stage("fold.grid_finish", [], operands, attributes, regions=2, combine=0)
        with ir.InsertionPoint(op.regions[1].blocks.append()):
            if plan.finish == "last_block":
                self.results_from(self.second_round(parts))
            ir.Operation.create("fold.yield", [], [])

    def left_at(self, _parts: Any) -> tuple[Any, Any]:
        """Where this thread's partial state lies in those of a part, and how many there are."""
        return self.kept, self.pitch()

    def pitch(self) -> Any:
        """The partial states of a part: whole vectors, also where the last one reaches beyond the kept axis."""
        n_kept, width = self.arg("n_kept"), self.plan.vector_kept
        if not self.facts.bounded:
            return n_kept
        return arith.andi(arith.addi(n_kept, self.number(width - 1)), self.number(-width))

    def results_from(self, state: Any) -> None:
        """Applies the elementwise code after the reduction and stores the results."""
        whole = self.power(unpack(state)) if self.facts.repeats else unpack(state)
        memo = dict(zip(self.reduced, whole, strict=True))
        inputs, rank = len(self.block.arguments), self.facts.kept_rank
        for i, result in enumerate(self.results):
            value = self.value(result, self.plan.vector_kept, memo, None)
            layout = [self.arg("kept_size", 0, d) for d in range(1, rank)]
            layout += [self.arg("kept_stride", inputs + i, d) for d in range(rank)]
            attributes: dict[str, Any] = {"kept_rank": rank, "reduced_rank": 0, "vector": self.facts.store_vector}
            if self.facts.bounded:
                layout, attributes = [*layout, self.arg("n_kept")], attributes | {"bounded": True}
            with self.places(value, i) as (own, base, on):
                self.make_op("fold.store", [], [own, base, self.kept, on, *layout], attributes)

    # --- elementwise code -------------------------------------------------------------------------------------------
    def value(self, v: Any, width: int, memo: dict[Any, Any], r: Any) -> Any:
        """The fragment of the tensor (or the scalar) ``v``, made at the insertion point if it is not in ``memo``."""
        if v not in memo:
            if isinstance(v, ir.BlockArgument):
                memo[v] = self.load(ir.BlockArgument(v).arg_number, element(v.type), r)
            else:
                memo[v] = self.node(v.owner, width if isinstance(v.type, ir.RankedTensorType) else 1, memo, r)
        return memo[v]

    def node(self, op: Any, width: int, memo: dict[Any, Any], r: Any) -> Any:
        op = op.operation
        if op.name == "arith.constant":
            return constant(op.attributes["value"], 1)
        if op.name == "fold.count":
            t = op.results[0].type
            return self.count if self.count.type == t else arith.extsi(t, self.count)
        if op.name == "fold.iota":
            return self.numbers(element(op.results[0].type), r, width)
        operands = [self.value(v, width, memo, r) for v in op.operands]
        if op.name == "fold.broadcast":
            same = width == 1 or isinstance(operands[0].type, ir.VectorType)
            return operands[0] if same else vector.broadcast(with_shape(operands[0].type, width), operands[0])
        if len(op.results) != 1 or len(op.regions):
            raise error("WF321", stage="distribute", op=op.name, dtype=", ".join(str(x.type) for x in op.results))
        attributes = dict(op.attributes.items())
        t = with_shape(element(op.results[0].type), width)
        return ir.Operation.create(op.name, [t], operands, attributes, loc=op.location).results[0]

    def numbers(self, t: Any, r: Any, width: int) -> Any:
        """The caller's numbers of the elements of the access at ``r``."""
        layout = [self.arg("reduced_size", 0, d) for d in range(1, self.facts.reduced_rank)]
        layout += [self.arg("index_stride", 0, d) for d in range(self.facts.reduced_rank)]
        attributes = {"reduced_rank": self.facts.reduced_rank, "axis": self.plan.fast}
        number = r if self.origin is None else arith.subi(r, self.origin)
        return self.make("fold.position", t, [number, self.arg("index_base"), *layout], attributes, width)

    def load(self, operand: int, t: Any, r: Any) -> Any:
        facts = self.facts
        kept, reduced = range(facts.kept_rank), range(facts.reduced_rank)
        layout = [self.arg("kept_size", 0, d) for d in kept[1:]] + [self.arg("reduced_size", 0, d) for d in reduced[1:]]
        layout += [self.arg("kept_stride", operand, d) for d in kept]
        layout += [self.arg("reduced_stride", operand, d) for d in reduced]
        layout += [self.extents[operand]] if operand in self.extents else []
        layout += [self.arg("n_kept"), self.arg("n_reduced")] if facts.access[operand] == "unaligned" else []
        base = self.arg("input", operand)
        if operand in self.copies:
            base, origin = self.copies[operand]
            layout += [origin]
        attributes = self.load_attributes(len(kept), len(reduced), self.plan.fast, facts.access[operand])
        return self.make("fold.load", t, [base, self.kept, r, *layout], attributes, self.plan.vector)

    def extent(self, operand: int) -> Any:
        """How many elements of an input with one reduced dim lie from its first to its last."""
        one, found, outer = self.number(1), self.number(1), self.arg("n_kept")
        spans = [(self.arg("n_reduced"), self.arg("reduced_stride", operand, 0))]
        for d in range(1, self.facts.kept_rank):
            size = self.arg("kept_size", 0, d)
            outer = arith.divui(outer, size)
            spans.append((size, self.arg("kept_stride", operand, d)))
        for size, stride in [*spans, (outer, self.arg("kept_stride", operand, 0))]:
            found = arith.addi(found, arith.muli(arith.subi(size, one), stride))
        return found

    def load_attributes(self, kept_rank: int, reduced_rank: int, axis: str, access: str) -> dict[str, Any]:
        return {"kept_rank": kept_rank, "reduced_rank": reduced_rank, "axis": axis, "access": access}

    def neutral(self, width: int) -> list[Any]:
        """The identity state, as fragments."""
        return clone_block(self.identity.blocks[0], [], width)

    # --- building ops -----------------------------------------------------------------------------------------------
    def make(self, name: str, scalar: Any, operands: list[Any], attributes: dict[str, Any], width: int) -> Any:
        return self.make_op(name, [with_shape(scalar, width)], operands, attributes).results[0]

    def stage(
        self,
        name: str,
        types: list[Any],
        operands: list[Any],
        attributes: dict[str, Any],
        regions: int = 1,
        combine: int = -1,
    ) -> Any:
        """A stage op whose region number ``combine`` is a copy of the reduce's combine region."""
        op = self.make_op(name, types, operands, attributes, regions)
        source = self.combine.blocks[0]
        block = op.regions[combine if combine >= 0 else regions - 1].blocks.append(*[a.type for a in source.arguments])
        with ir.InsertionPoint(block):
            ir.Operation.create("fold.yield", [], [pack(clone_block(source, list(block.arguments), 1))])
        return op

    def make_op(
        self, name: str, types: list[Any], operands: list[Any], attributes: dict[str, Any], regions: int = 0
    ) -> Any:
        i64 = ir.IntegerType.get_signless(64)
        made: dict[str, Any] = {}
        for key, v in attributes.items():
            plain = ir.IntegerAttr.get(i64, v) if not isinstance(v, bool | str) else None
            made[key] = plain or (ir.BoolAttr.get(v) if isinstance(v, bool) else ir.StringAttr.get(v))
        return ir.Operation.create(name, types, operands, made, regions=regions)


class _PeriodDistributor(Periods, _Distributor):
    """Distributes a function whose plan walks by periods."""


class _StaggeredDistributor(Staggered, _Distributor):
    """Distributes a function whose plan has staggered warps."""


PASS = Pass(
    "distribute", _run, ("fold.reduce", "fold.broadcast", "fold.iota", "fold.count"), "hand elements out to threads"
)
