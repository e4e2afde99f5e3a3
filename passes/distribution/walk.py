"""The distributor: a kernel in which each thread knows its place, what it owns, and the stages it goes through.

The formulas are those of ``compiler/plan/launch.py``. Walks with a way of their own are subclasses.
"""

from __future__ import annotations

from typing import Any

from ...compiler.ir import attributes
from ...compiler.ir.attributes import target_of
from ...compiler.ir.build import bytes_of, memory_type, word_type
from ...compiler.ir.combine import unpack
from ...compiler.ir.dialect.base import element
from ...compiler.ir.locations import named
from ...compiler.ir.mlir import arith, gpu, ir, scf
from ...compiler.plan import tiles
from ...compiler.plan.abi import POINTERS, params
from ...compiler.plan.plan import IN_TILE
from ..access.pairs import are_sectors
from .finish import Repeats
from .occupancy import resident


class Distributor(Repeats):
    """Distributes one function.

    Attributes:
        first_kept: the first result of the CTA in its row.
        first, limit, length: the elements that the CTA owns, from ``first`` to ``limit``, cut into such pieces.
    """

    # --- the function -----------------------------------------------------------------------------------------------
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
        for param, value in self.args.items():
            named(value, param.name)
        with ir.InsertionPoint(block):
            self.place()
            if plan.tile_bytes:
                self.results_of_tile()
            else:
                self.reduce_one()
            gpu.ReturnOp([])
        if least := self.resident():
            f.operation.attributes["nvvm.minctasm"] = ir.IntegerAttr.get(word_type(), least)

    def resident(self) -> int:
        """CTAs that an SM must be able to hold; 0 leaves it to the assembler."""
        threads = target_of(self.function).threads_per_sm
        item = min((bytes_of(memory_type(element(v.type))) for v in self.block.arguments), default=4)
        return resident(self.plan, self.facts, threads, self.states, self.combine, indexed=self.indexed, item=item)

    def reduce_one(self) -> None:
        """What a thread does for its place in the grid."""
        self.locate()
        with self.reduce.location:
            state = self.first_round()
        self.finish(state)

    def results_of_tile(self) -> None:
        """The same for all results whose elements the CTA copies into shared memory, ``slots`` of them at a time.

        A thread that shares none stops after its last one; lanes that meet take part until all of them are done.
        """
        self.copy_tile()
        count, slots, alone = self.arg("tile_results"), self.number(self.plan.slots), self.plan.lanes == 1
        begin = arith.muli(self.id(gpu.block_id(gpu.Dimension.x)), count)
        end = arith.minsi(arith.addi(begin, count), self.arg("n_kept"))
        loop = scf.ForOp(arith.addi(begin, self.slot) if alone else begin, end, slots)
        with ir.InsertionPoint(loop.body):
            if alone:
                self.kept, self.in_range = loop.induction_variable, self.yes()
                self.owner = self.in_range
            else:
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
            if beyond := tiles.beyond(self.plan):
                attributes["beyond"] = beyond
            operands = [self.arg("input", i), begin, self.arg("tile_length", i), self.arg("tile_extent", i), thread]
            types = [ir.Type.parse("!llvm.ptr<3>"), self.index]
            self.copies[i] = list(self.make_op("fold.tile_copy", types, operands, attributes).results)
        gpu.barrier()

    # --- ownership ---------------------------------------------------------------------------------------------------
    def place(self) -> None:
        """Computes the thread's place along both axes."""
        self.stand()
        self.find_row()
        self.first_kept = self.scaled(self.tile, self.plan.slots)
        self.name_values("tile", "first_kept")
        self.own(arith.addi(self.first_kept, self.slot), self.columns)
        if self.plan.cluster > 1:
            self.rank = self.modulo(self.id(gpu.block_id(gpu.Dimension.y)), self.plan.cluster)
            self.owner: Any = arith.andi(self.owner, self.is_first(self.rank))

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
            self.name_values("first", "limit")

    def row_entry(self, role: str) -> Any:
        """What the array ``role`` says of this thread's row; of the last row, where there is none."""
        rank = self.facts.kept_rank
        kept = arith.minsi(self.kept, arith.subi(self.arg("n_kept"), self.number(1)))
        layout = [self.arg("kept_size", 0, d) for d in range(1, rank)]
        layout += [self.arg("row_stride", 0, d) for d in range(rank)]
        attributes = self.load_attributes(rank, 0, "kept", "strided")
        return self.make("fold.load", self.index, [self.arg(role), kept, self.number(0), *layout], attributes, 1)

    def span(self, first: Any, end: Any, length: Any, vector_reduced: int) -> tuple[Any, Any]:
        """(begin, end) of this thread's accesses in [first, end); none when its results are out of range."""
        if self.lay.walk != "blocked":
            begin = arith.addi(first, self.scaled(self.position, vector_reduced))
        else:
            slots = self.lay.positions
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
        self.beside = {i: self.beside_row(i) for i, access in enumerate(self.facts.access) if access == "unaligned"}

        def body(r: Any) -> list[Any]:
            memo: dict[Any, Any] = {}
            values = [self.value(v, plan.vector, memo, r) for v in self.sources]
            return self.counted_in(values, r, self.first, end, plan.vector)

        own = self.walked(begin, end, plan.step, plan.unroll, plan.vector, body)
        return self.meet(own) if plan.cluster == 1 else self.meet_in_cluster(own)

    def second_round(self, parts: Any) -> Any:
        """Reduces the partial states of all CTAs, in the CTA that came last."""
        lay = self.plan.second
        if self.lay != self.plan:
            self.lie(lay)
        begin, end = self.span(self.number(0), parts, parts, 1)
        step = lay.positions if lay.walk != "blocked" else 1
        place, pitch = self.left_at(parts)

        def body(r: Any) -> list[Any]:
            attributes = self.load_attributes(1, 1, "kept", "coherent")
            values = [
                self.make("fold.load", t, [self.arg("partial", i), place, r, self.number(1), pitch], attributes,
                          lay.vector_kept)
                for i, t in enumerate(self.states)
            ]  # fmt: skip
            return self.counted_in(values, r, self.number(0), end, lay.vector_kept)

        return self.meet(self.walked(begin, end, step, lay.unroll, lay.vector_kept, body))

    # --- the ends --------------------------------------------------------------------------------------------------
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
        operands = [part, parts, *self.left_at(parts), self.leaves(), state]
        operands += [self.arg("partial", i) for i in range(len(self.states))]
        operands += [self.arg("counter")] if plan.finish == "last_block" else []
        attributes = {"finish": plan.finish}
        with self.reduce.location:
            op = self.stage("fold.grid_finish", [], operands, attributes, regions=2, combine=0)
        with ir.InsertionPoint(op.regions[1].blocks.append()):
            if plan.finish == "last_block":
                with self.reduce.location:
                    state = self.second_round(parts)
                self.results_from(state)
            ir.Operation.create("fold.yield", [], [])

    def leaves(self) -> Any:
        """Whether the thread leaves a partial state: also of results beyond the kept axis, as whole vectors have."""
        if self.lay == self.plan or not self.facts.bounded:
            return self.owner
        inside = arith.cmpi(arith.CmpIPredicate.slt, self.kept, self.pitch_of_row())
        return arith.andi(inside, self.is_first(self.position))

    def left_at(self, _parts: Any) -> tuple[Any, Any]:
        """Where this thread's partial state lies in those of a part, and how many there are."""
        pitch = self.pitch_of_row()
        if not self.facts.by_row:
            return self.kept, pitch
        return arith.addi(arith.muli(self.kept_row, pitch), self.kept), arith.muli(self.count_of_rows(), pitch)

    def pitch_of_row(self) -> Any:
        """The partial states of a row in a part: whole vectors, also where the last one reaches beyond its end."""
        width = self.plan.second.vector_kept
        if not self.facts.bounded:
            return self.columns
        return arith.andi(arith.addi(self.columns, self.number(width - 1)), self.number(-width))

    def results_from(self, state: Any) -> None:
        """Applies the elementwise code after the reduction and stores the results."""
        whole = self.power(unpack(state)) if self.facts.repeats else unpack(state)
        memo = dict(zip(self.reduced, whole, strict=True))
        inputs, dims = len(self.block.arguments), self.kept_dims
        dims = dims[-1:] if self.facts.flat else dims
        for i, result in enumerate(self.results):
            value = self.value(result, self.lay.vector_kept, memo, None)
            layout = [self.arg("kept_size", 0, d) for d in dims[1:]]
            layout += [self.arg("kept_stride", inputs + i, d) for d in dims]
            attributes: dict[str, Any] = {"kept_rank": len(dims), "reduced_rank": 0, "vector": self.facts.store_vector}
            if self.facts.bounded:
                layout, attributes = [*layout, self.columns], attributes | {"bounded": True}
            elif self.facts.store_vector and self.plan.walks_alone and are_sectors(value):
                attributes["paired"] = True
            if self.plan.walk == "padded":
                attributes["early"] = True
            with self.places(value, i) as (own, base, on):
                self.make_op("fold.store", [], [own, base, self.kept, on, *layout], attributes)
