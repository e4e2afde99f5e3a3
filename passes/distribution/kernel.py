"""The kernel that a function on tensors becomes: what the function says, the kernel's arguments, and makers of ops.

It never changes once it is made, and every other part of a distributed kernel refers to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ...compiler.errors import WarpfoldError, error
from ...compiler.ir import attributes
from ...compiler.ir.combine import clone_block, pack, splat, unpack, with_shape
from ...compiler.ir.dialect.base import element, is_constant, values
from ...compiler.ir.locations import named, place_of
from ...compiler.ir.mlir import arith, gpu, ir, llvm
from ...compiler.plan.abi import POINTERS, Param, params
from ...compiler.plan.arithmetic import Arithmetic
from ...compiler.plan.facts import Facts
from ...compiler.plan.plan import Plan
from ..math.unbranched import UNBRANCHED


class Phase(NamedTuple):
    """One reduction of a function on tensors.

    Attributes:
        reduce: its ``fold.reduce``.
        sources: the tensors that it reduces, one for each value of the state.
        reduced: what that gives.
    """

    reduce: Any
    sources: list[Any]
    reduced: list[Any]


@dataclass(frozen=True, eq=False)
class Kernel(Arithmetic):
    """A function on tensors that holds one reduction or several, and the kernel that it becomes.

    Ops are made where the insertion point is.

    Attributes:
        function, entry: the ``func.func``, and the ``gpu.func``.
        plan, facts: its plan, and what else the kernel is compiled for.
        inputs, results: the tensors that the function takes, and those that it returns.
        phases: its reductions over the reduced dims, in the order in which each needs the results of those before it.
        side: its reduction over the kept dims; None without side folds.
        sections: its reduction over sections of rows; None without one.
        scan: its scan; None without one.
        phase: the one of them that the stages are made for.
        indexed, counted: whether it uses the numbers of the elements of each result, and their count.
        index: the type of an index.
        args: the kernel's arguments.
    """

    function: Any
    entry: Any
    plan: Plan
    facts: Facts
    inputs: list[Any]
    results: list[Any]
    phases: tuple[Phase, ...]
    side: Phase | None
    sections: Phase | None
    scan: Phase | None
    phase: int
    indexed: bool
    counted: bool
    index: Any
    args: Mapping[Param, Any]

    @classmethod
    def declare(cls, function: Any, name: str) -> Kernel:
        """The kernel of a function on tensors, with an empty body.

        Raises:
            CompileError: WF320 where the function is no program, or has several reductions and a plan for one.
        """
        plan, facts = attributes.read(function)
        block = function.regions[0].blocks[0]
        ops = [o.operation for o in block.operations]
        phases, side, sections = _phases(function, ops, plan, facts)
        scan = _scan(function, ops, plan, facts)
        _check_ragged(function, plan, facts)
        _check_numberings(function, ops, plan, facts)
        aside = [phase for phase in (side, sections, scan) if phase]
        for region in (r for phase in (*phases, *aside) for r in phase.reduce.regions):
            own_constants(region)
        own = {o.name for o in ops if "numbering" not in o.attributes}
        indexed, counted = (name in own for name in ("fold.iota", "fold.count"))
        inputs, results = list(block.arguments), list(ops[-1].operands)
        states = sum(len(phase.sources) for phase in ([side] if side else phases))
        extents = (len(inputs), len(results), states)
        entry, args = _entry(name, plan, facts, params(*extents, facts, plan, indexed=indexed, counted=counted))
        index = ir.IntegerType.get_signless(facts.index_bits)
        return cls(
            function,
            entry,
            plan,
            facts,
            inputs,
            results,
            phases,
            side,
            sections,
            scan,
            0,
            indexed,
            counted,
            index,
            args,
        )

    @property
    def side_results(self) -> list[int]:
        """The numbers of the results that side folds leave."""
        return [n for n, kind in enumerate(self.facts.stores) if kind == "side"]

    @property
    def section_results(self) -> list[int]:
        """The numbers of the results that are states of sections."""
        return [n for n, kind in enumerate(self.facts.stores) if kind == "section"]

    @property
    def maps(self) -> bool:
        """Whether nothing is folded."""
        return not self.phases

    def of(self, phase: int) -> Kernel:
        """The kernel as one of its phases sees it."""
        return replace(self, phase=phase)

    def of_side(self, plan: Plan) -> Kernel:
        """The kernel as its side folds see it when threads are arranged by ``plan``."""
        assert self.side is not None
        return replace(self, phases=(self.side,), side=None, phase=0, plan=plan)

    @property
    def of_sections(self) -> Kernel:
        """The kernel as the fold of sections sees it."""
        assert self.sections is not None
        return replace(self, phases=(self.sections,), sections=None, phase=0)

    @property
    def of_scan(self) -> Kernel:
        """The kernel as its scan sees it."""
        assert self.scan is not None
        return replace(self, phases=(self.scan,), scan=None, phase=0)

    @property
    def reduce(self) -> Any:
        """The ``fold.reduce`` of the phase, or the ``fold.scan``."""
        return self.phases[self.phase].reduce

    @property
    def sources(self) -> list[Any]:
        """The tensors that the phase reduces."""
        return self.phases[self.phase].sources

    @property
    def reduced(self) -> list[Any]:
        """What the phase reduces them to."""
        return self.phases[self.phase].reduced

    @property
    def states(self) -> list[Any]:
        """The types of the values of the state."""
        return [element(v.type) for v in self.sources]

    @property
    def combine(self) -> Any:
        """The region that combines two states."""
        return self.reduce.regions[1]

    def arg(self, role: str, operand: int = 0, dim: int = 0) -> Any:
        return self.args[Param(role, operand, dim)]  # type: ignore[arg-type]

    def dims(self, role: str, operand: int, dims: Iterable[int]) -> list[Any]:
        """The arguments of a role for each of some dims."""
        return [self.arg(role, operand, d) for d in dims]

    def passed(self, operand: int, lanes: int) -> Any:
        """A fragment of an input whose value the launch has in place of its address."""
        word = ir.IntegerType.get_signless(64)
        return splat(llvm.ptrtoint(word, self.arg("input", operand)), lanes)

    def is_replaced(self, operand: int) -> Any:
        """Whether a result takes the place of an input."""
        i64, taken = ir.IntegerType.get_signless(64), None
        for number in range(len(self.results)):
            places = [llvm.ptrtoint(i64, self.arg(*arg)) for arg in (("input", operand), ("output", number))]
            same = arith.cmpi(arith.CmpIPredicate.eq, *places)
            taken = same if taken is None else arith.ori(taken, same)
        return taken

    # --- numbers ------------------------------------------------------------------------------------------------------
    def number(self, value: int) -> Any:
        return arith.constant(self.index, ir.IntegerAttr.get(self.index, value))

    def yes(self) -> Any:
        one = ir.IntegerType.get_signless(1)
        return arith.constant(one, ir.IntegerAttr.get(one, 1))

    def id(self, op: Any) -> Any:
        """A ``gpu`` id or dim as an index."""
        return arith.index_cast(self.index, op)

    def is_first(self, x: Any) -> Any:
        return arith.cmpi(arith.CmpIPredicate.eq, x, self.number(0))

    def less(self, x: Any, y: Any) -> Any:
        return arith.cmpi(arith.CmpIPredicate.slt, x, y)

    def add(self, x: Any, y: Any) -> Any:
        return arith.addi(x, y)

    def multiply(self, x: Any, y: Any) -> Any:
        return arith.muli(x, y)

    def modulo(self, x: Any, extent: int) -> Any:
        return arith.andi(x, self.number(extent - 1)) if extent > 1 else self.number(0)

    def divide(self, x: Any, extent: int) -> Any:
        return arith.shrui(x, self.number(extent.bit_length() - 1)) if extent > 1 else x

    def scaled(self, x: Any, factor: int, plus: Any = None) -> Any:
        product = arith.muli(x, self.number(factor)) if factor > 1 else x
        return product if plus is None else arith.addi(product, plus)

    def divided(self, x: Any, by: Any) -> tuple[Any, Any]:
        """Quotient and remainder of two numbers that are not negative."""
        quotient = arith.divui(x, by)
        return quotient, arith.subi(x, arith.muli(quotient, by))

    def ceil(self, x: Any, by: Any) -> Any:
        by = self.number(by) if isinstance(by, int) else by
        return arith.divui(arith.addi(x, arith.subi(by, self.number(1))), by)

    def at_least(self, x: Any, least: int) -> Any:
        return arith.maxsi(x, self.number(least))

    def rounded(self, x: Any, extent: int) -> Any:
        return arith.andi(arith.addi(x, self.number(extent - 1)), self.number(-extent))

    # --- ops ----------------------------------------------------------------------------------------------------------
    def make(self, name: str, scalar: Any, operands: list[Any], attributes: dict[str, Any], width: int) -> Any:
        """The result of an op: a fragment of ``width`` elements of the type ``scalar``."""
        return self.make_op(name, [with_shape(scalar, width)], operands, attributes).results[0]

    def make_op(
        self, name: str, types: list[Any], operands: list[Any], attributes: dict[str, Any], regions: int = 0
    ) -> Any:
        """An op whose attributes are integers, truth values and strings."""
        i64 = ir.IntegerType.get_signless(64)
        made: dict[str, Any] = {}
        for key, v in attributes.items():
            plain = ir.IntegerAttr.get(i64, v) if not isinstance(v, bool | str) else None
            made[key] = plain or (ir.BoolAttr.get(v) if isinstance(v, bool) else ir.StringAttr.get(v))
        return ir.Operation.create(name, types, operands, made, regions=regions)

    def stage(
        self,
        name: str,
        types: list[Any],
        operands: list[Any],
        attributes: dict[str, Any],
        regions: int = 1,
        combine: int = -1,
    ) -> Any:
        """A stage op whose region number ``combine`` is a copy of the reduction's combine region."""
        op = self.make_op(name, types, operands, attributes, regions)
        source = self.combine.blocks[0]
        block = op.regions[combine % regions].blocks.append(*[a.type for a in source.arguments])
        with ir.InsertionPoint(block):
            ir.Operation.create("fold.yield", [], [pack(clone_block(source, list(block.arguments), 1))])
        return op

    def neutral(self, width: int) -> list[Any]:
        """The identity state, as fragments."""
        return clone_block(self.reduce.regions[0].blocks[0], [], width)


def load_attributes(kept_rank: int, reduced_rank: int, axis: str, access: str) -> dict[str, Any]:
    """The attributes of a ``fold.load``."""
    return {"kept_rank": kept_rank, "reduced_rank": reduced_rank, "axis": axis, "access": access}


def _entry(name: str, plan: Plan, facts: Facts, taken: Sequence[Param]) -> tuple[Any, dict[Param, Any]]:
    """A ``gpu.func`` that takes these parameters, and its arguments."""
    pointer, index = ir.Type.parse("!llvm.ptr<1>"), ir.IntegerType.get_signless(facts.index_bits)
    types = ir.FunctionType.get([pointer if p.role in POINTERS else index for p in taken], [])
    entry = gpu.GPUFuncOp(types, name, kernel=True, known_block_size=[plan.threads, 1, 1])
    if plan.resident == "registers" and not plan.tile_bytes:
        entry.operation.attributes[UNBRANCHED] = ir.UnitAttr.get()
    if plan.cluster > 1:
        entry.operation.attributes["nvvm.cluster_dim"] = ir.DenseI32ArrayAttr.get([1, plan.cluster, 1])
    args = dict(zip(taken, entry.add_entry_block().arguments, strict=True))
    for param, value in args.items():
        named(value, param.name)
    return entry.operation, args


def _phases(
    function: Any, ops: list[Any], plan: Plan, facts: Facts
) -> tuple[tuple[Phase, ...], Phase | None, Phase | None]:
    """The reductions among ops, that over the kept dims, if CTAs are persistent, and that over sections of rows.

    There is one, unless the plan says where rows wait for more.
    """
    ranks = facts.kept_rank + facts.reduced_rank
    reduces = [o for o in ops if o.name == "fold.reduce"]
    if len(reduces) != 1 and not plan.resident:
        raise _refused(function, "exactly one fold.reduce", len(reduces))
    for t in (reduce.operands[0].type for reduce in reduces):
        if any(part.rank != ranks for part in values(t)):
            raise _refused(function, f"tensors of kept_rank + reduced_rank = {ranks} dims", t)
    found = [Phase(o, unpack(o.operands[0]), _unpacked(function, o)) for o in reduces]
    sides = [p for p in found if any(d < facts.kept_rank for d in ir.DenseI64ArrayAttr(p.reduce.attributes["dims"]))]
    if len(sides) != plan.takes_side:
        raise _refused(function, f"{int(plan.takes_side)} fold.reduce over the kept dims", len(sides))
    sections = [p for p in found if "section" in p.reduce.attributes]
    phases = tuple(p for p in found if p not in sides and p not in sections)
    return phases, next(iter(sides), None), next(iter(sections), None)


def _scan(function: Any, ops: list[Any], plan: Plan, facts: Facts) -> Phase | None:
    """The scan among ops: there is one if the plan is for scans, and nothing else is reduced then."""
    scans = [o for o in ops if o.name == "fold.scan"]
    if len(scans) != plan.is_chain:
        raise _refused(function, f"{int(plan.is_chain)} fold.scan for resident = {plan.resident!r}", len(scans))
    if not scans:
        return None
    if folds := [o for o in ops if o.name == "fold.reduce"]:
        raise _refused(function, "no fold.reduce beside a fold.scan", len(folds))
    dims, found = [*range(facts.kept_rank, facts.kept_rank + facts.reduced_rank)], scans[0].attributes["dims"]
    if list(ir.DenseI64ArrayAttr(found)) != dims:
        raise _refused(function, f"a fold.scan along the reduced dims {dims}", list(ir.DenseI64ArrayAttr(found)))
    return Phase(scans[0], unpack(scans[0].operands[0]), _unpacked(function, scans[0]))


def _refused(function: Any, expected: str, found: object) -> WarpfoldError:
    """The error of a function that is no program."""
    return error("WF320", expected=expected, found=found, where=place_of(function))


def _unpacked(function: Any, reduce: Any) -> list[Any]:
    """The result of a ``fold.reduce``, or what its tuple is unpacked into."""
    (result,) = reduce.results
    if not isinstance(result.type, ir.TupleType):
        return [result]
    for use in result.uses:
        return list(use.owner.results)
    raise _refused(function, "a use of the fold.reduce", "none")


def _check_ragged(function: Any, plan: Plan, facts: Facts) -> None:
    """Ragged rows begin anywhere, and one CTA reduces each."""
    names = ("vector", "tile_bytes", "cluster", "finish")
    wanted, found = (", ".join(f"{n} = {getattr(p, n)}" for n in names) for p in (Plan(), plan))
    if facts.ragged and wanted != found:
        raise _refused(function, f"{wanted} for ragged rows", found)


def _check_numberings(function: Any, ops: list[Any], plan: Plan, facts: Facts) -> None:
    """The numbers of a program that reads its rows again are of numberings that the facts have."""
    for op in ops if plan.resident else ():
        if op.name == "fold.iota" or "numbering" in op.attributes:
            found = ir.IntegerAttr(op.attributes["numbering"]).value if "numbering" in op.attributes else "none"
            if found not in range(len(facts.numberings)):
                raise _refused(function, f"a numbering below {len(facts.numberings)} of each {op.name}", found)


def own_constants(region: Any) -> None:
    """Gives a region copies of the constants outside it that it uses: its code is copied into the kernel."""
    (block,) = region.blocks
    inside = {r for o in block.operations for r in o.operation.results}
    copies: dict[Any, Any] = {}
    for op in [o.operation for o in block.operations]:
        for i, v in enumerate(op.operands):
            if v not in inside and is_constant(v):
                if v not in copies:
                    with ir.InsertionPoint.at_block_begin(block):
                        copies[v] = v.owner.operation.clone().operation.results[0]
                op.operands[i] = copies[v]
