"""The kernel interface: the parameters of a kernel, in order, and the value of each at run time.

``passes/distribution`` gives the kernel these parameters, and the runtime computes their values from a ``Geometry`` and
a ``Launch``. Both read the list that ``params`` makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..dtypes import DType
from ..program.graph import ELEMENT, KEPT, REDUCED, SCALAR, Expr, MonoidGraph, Program, rewrite
from ..space.geometry import Dim, Geometry
from . import tiles
from .fields import IN_BULK, IN_TILE, Access
from .fields import RARE as RARE_IN_PLANS
from .launch import Launch
from .layout import layout_of
from .plan import Plan
from .shared_memory import global_states

Role = Literal[
    "input", "output", "partial", "counter", "exchange", "n_kept", "n_reduced", "chunk", "count", "lag", "kept_size",
    "reduced_size", "kept_stride", "reduced_stride", "index_stride", "index_base", "number_base", "row_begin",
    "row_end", "row_origin", "row_count", "row_stride", "tile_results", "tile_rows", "tile_pitch", "tile_length",
    "tile_extent", "period_rows", "times", "copies", "copy_stride", "gap", "period", "run", "gather_size",
    "gather_stride",
]  # fmt: skip
ROWS: tuple[Role, ...] = ("row_begin", "row_end", "row_origin", "row_count")
"""The arrays that describe ragged rows: each row's first element, the one after its last, the one with number 0, and
the count of elements. Where a row is a part of a segment, the first two are the part's, the others the segment's."""
POINTERS = ("input", "output", "partial", "counter", "exchange", *ROWS)
SCALARS: tuple[Role, ...] = ("n_kept", "n_reduced", "chunk", "count")
TILE: tuple[Role, ...] = ("tile_pitch", "tile_length", "tile_extent")
"""The numbers that describe an input that CTAs copy, in elements: the distance from one CTA's first element to the next
CTA's, the length of a CTA's copy, and the length of the whole input."""
GATHERED: tuple[Role, ...] = ("gather_size", "gather_stride")
"""The size and the stride of the axis along which indices choose elements of an input."""
HALF = 2
"""Bytes of an element of a block that a warp turns."""
NUMBER_BITS = 24
"""Bits of a word that an 8-bit element leaves to its number."""
INDEX_LIMIT = 2**31 - 2**24
"""Offsets below this fit 32-bit arithmetic with room for one step past the end."""


RARE = (
    "repeats", "flat", "by_row", "gapped", "pieces", "block", "places", "numbers", "once", "stores", "full",
    "waiting", "lasting", "walked", "leading", "spare", "rows_first", "numberings", "section", "follows",
    "streams", *RARE_IN_PLANS,
)  # fmt: skip
"""The facts, and the fields of a plan, that the IR leaves out where they have their default."""


@dataclass(frozen=True)
class Facts:
    """What a kernel is compiled for besides its plan.

    Attributes:
        kept_rank, reduced_rank: dims that the kernel has, at least as many as the collapsed geometry.
        index_bits: 32 where every offset fits, else 64.
        access: for each input, how its elements are read. ``aligned``: vectors. ``shifted``: vectors along rows that
            start anywhere, from the boundary before each row on. ``unaligned``: vectors along the kept axis that start
            anywhere. ``period``: vectors along narrow rows that follow each other. ``staggered``: vectors of warps that
            begin their rows at the boundary before. ``strided``: single elements. ``tile``: vectors that start anywhere
            in the CTA's copy in shared memory. ``tile_strided``: single elements of that copy. ``whole``: all elements
            of a thread's results, in aligned vectors. ``uniform``: one element that is the same along the access.
            ``kept``: one element for each result, of an input without reduced dims. ``gathered``: single elements, at
            indices along one more axis of the array. ``transposed``: vectors along the reduced axis, where a thread
            has a block of elements and its other accesses are along the kept axis. ``bits_transposed``: a byte of
            bits along the reduced axis, in such blocks. ``exchanged``: single elements along the reduced axis, which
            the CTA puts into shared memory, where a thread reads its block of them. ``matrix``: vectors along the
            reduced axis, of a tile whose rows lie along the kept axis. ``reversed``: vectors of rows that are walked
            backwards. ``side``: of an output, one element for each of a row, which a side fold leaves; ``section``: one
            for each section of ``section`` elements of a row, one behind another.
        store_vector: whether each thread's results are neighbours and aligned in every output.
        ragged: whether arrays say where each row begins and ends.
        repeats: whether the launch says how often elements and results are repeated.
        flat: whether the results of several kept dims follow each other at one stride, as those of a new array do.
        by_row: whether the results of a CTA are in one row, along the innermost of several kept dims.
        gapped: whether the columns at the end of each row are read and not written.
        pieces: whether runs are cut into pieces.
        block: the elements of a result, and the columns of a block, where a kernel is for blocks of that shape alone;
            else nothing.
        places: whether elements have 8 or 16 bits, and their numbers leave room for them in a word.
        numbers: ``up`` where the numbers of a result's elements rise along the walk, ``down`` where they fall; nothing
            where they do neither, or the program does not number elements.
        once: whether no thread makes more accesses in a walk than it has in flight; of a scan, whether a CTA has whole
            rows.
        stores: for each output how it is written: ``kept``, one element a result; or one for each element, as an
            access of that name reads it. Empty where all outputs are ``kept``.
        full: whether every thread makes all accesses that it keeps, and each lies in the row.
        waiting: the numbers of the inputs whose elements wait for a later phase, since each row has its own.
        lasting: the numbers of the inputs whose elements are those of all rows, and wait for all rows of a CTA.
        walked: whether phases walk the accesses that wait in shared memory in a loop, for rows of any length.
        leading: the numbers of the inputs that lie along all rows, from a boundary on, where rows that begin anywhere
            are walked: accesses to them are as far before a boundary as the row begins behind one.
        spare: whether threads may keep more accesses than their row has, so that a kernel serves shorter rows as well.
        rows_first: whether CTAs of a map that follow each other have other rows, and not other parts of one.
        numberings: along which dims the numbers of each numbering of the program rise: ``kept``, ``reduced``,
            ``both`` or ``none``, for a count of elements.
        section: the elements of a section of a row of which the kernel leaves a state; 0 where it leaves none.
        follows: whether the launch before it, of the same call, may still run when the kernel begins: it waits for the
            end of that launch before it reads or writes memory.
        streams: whether the L2 cache is told not to keep the elements that it reads and writes.
    """

    kept_rank: int
    reduced_rank: int
    index_bits: int
    access: tuple[Access, ...]
    store_vector: bool
    ragged: bool = False
    repeats: bool = False
    flat: bool = False
    by_row: bool = False
    gapped: bool = False
    pieces: bool = False
    block: tuple[int, ...] = ()
    places: bool = False
    numbers: str = ""
    once: bool = False
    stores: tuple[str, ...] = ()
    full: bool = False
    waiting: tuple[int, ...] = ()
    lasting: tuple[int, ...] = ()
    walked: bool = False
    leading: tuple[int, ...] = ()
    spare: bool = False
    rows_first: bool = False
    numberings: tuple[str, ...] = ()
    section: int = 0
    follows: bool = False
    streams: bool = False

    def row(self, geometry: Geometry) -> int:
        """The results of a row: those of a CTA are in one row."""
        return geometry.columns if self.by_row or "period" in self.access else geometry.n_kept

    @property
    def cut(self) -> str:
        """``shifted`` or ``unaligned`` where an input is read so, else nothing; staggered counts as unaligned."""
        if "staggered" in self.access:
            return "unaligned"
        return next((kind for kind in ("shifted", "unaligned") if kind in self.access), "")

    @property
    def bounded(self) -> bool:
        """Whether the last vector along the kept axis may reach beyond its end."""
        return self.cut == "unaligned" or bool(self.block)


SEVERAL = (
    "input", "output", "partial", "exchange", "kept_stride", "reduced_stride", "number_base", "copy_stride", *GATHERED,
    *TILE,
)  # fmt: skip
"""Roles of which a kernel has a parameter for each of several operands."""


@dataclass(frozen=True)
class Param:
    """One kernel parameter: its role, and the operand and the dim that it belongs to, where it belongs to one."""

    role: Role
    operand: int = 0
    dim: int = 0

    @property
    def name(self) -> str:
        """The parameter's name in IR and messages."""
        letter = f"{self.operand}" if self.role in SEVERAL else ""
        dim = f"_{self.dim}" if self.role.endswith(("size", "stride")) else ""
        return f"{self.role}{letter}{dim}"


class Kernel(NamedTuple):
    """The unit of compilation: one kernel.

    Attributes:
        name: its entry name.
        program: what it computes.
        facts: what it assumes about geometry and launch.
        plan: how it computes it.
    """

    name: str
    program: Program
    facts: Facts
    plan: Plan

    @property
    def monoid(self) -> MonoidGraph:
        """The monoid of the program's one reduction."""
        return self.program.monoid

    @property
    def params(self) -> tuple[Param, ...]:
        """The kernel's parameters, in order."""
        p = self.program
        return params(
            len(p.inputs), len(p.outputs), len(p.side_states or p.states), self.facts, self.plan,
            indexed=p.uses_index, counted=p.uses_count,
        )  # fmt: skip


def waiting_bytes(plan: Plan, facts: Facts, inputs: Sequence[DType], run: Launch | None = None) -> int:
    """Bytes of dynamic shared memory of a CTA: a large tile, or a slot for each access that a thread keeps of an input.

    Persistent CTAs have the next row there, that which they work on unless it waits in registers, and what lasts.

    Where rows of any length share a kernel, a launch needs slots for its own rows; without ``run`` they are the most.
    """
    if plan.is_large_tile:
        return plan.tile_bytes
    if plan.resident not in ("shared", "grid") and (plan.tile_bytes or not plan.persistent):
        return 0
    if plan.has_roles:
        staged = (t.itemsize for t, kind in zip(inputs, facts.access, strict=True) if kind in IN_BULK)
        return plan.places * sum(staged) * plan.held * plan.threads * plan.vector
    if plan.exchanges:
        return tiles.exchange_starts(plan, facts.access, facts.stores, [t.itemsize for t in inputs])[1]
    last = plan.held
    if run and (facts.walked or plan.resident == "grid"):
        last = min(last, -(-run.chunk // layout_of(plan).span("reduced")))
    items = [inputs[i].itemsize for i in facts.waiting]  # the slots of an input begin where those of the one before end
    own = facts.stores.count("matrix") - facts.access.count("matrix")  # the others lie where an input did
    items += [HALF] * max(0, own)
    accesses = plan.held * sum(items[:-1]) + last * sum(items[-1:])
    lasting = plan.held * sum(inputs[i].itemsize for i in facts.lasting)
    return (plan.sets * accesses + lasting) * plan.threads * plan.vector


def numberings(program: Program) -> tuple[str, ...]:
    """The fact of this name for a program."""
    names = {SCALAR: "none", KEPT: "kept", REDUCED: "reduced", ELEMENT: "both"}
    return tuple(names[space] for space in program.numberings)


def params(
    inputs: int, outputs: int, states: int, facts: Facts, plan: Plan, *, indexed: bool, counted: bool
) -> tuple[Param, ...]:
    """The parameters of a kernel, in order.

    Args:
        inputs: how many inputs it has.
        outputs: how many outputs.
        states: how many values its state has; that of its side folds, where there are any.
        facts: what it assumes about geometry and launch.
        plan: its plan.
        indexed: whether its program numbers the elements.
        counted: whether its program uses the count of elements.
    """
    finishes = plan.finish in ("cta", "last_block")
    found = _pointers(inputs, outputs if finishes else 0, states, facts, plan)
    asked = {"row_origin": indexed, "row_count": counted}
    found += [Param(role) for role in ROWS if facts.ragged and asked.get(role, True)]
    found += [Param(role) for role in SCALARS]
    found += [Param("lag")] if plan.resident == "l2" else []
    found += _sizes_and_strides(inputs, outputs, facts, finishes=finishes)
    if indexed:
        found += [Param("index_stride", 0, d) for d in range(facts.reduced_rank)] + [Param("index_base")]
    found += _of_layout(facts, plan)
    if facts.repeats and finishes:
        found += [Param("times"), Param("copies"), *(Param("copy_stride", inputs + i) for i in range(outputs))]
    return tuple(found)


def _pointers(inputs: int, outputs: int, states: int, facts: Facts, plan: Plan) -> list[Param]:
    """The arrays: those of the call, partial states, counters, and states that threads exchange."""
    found = [Param("input", i) for i in range(inputs)]
    found += [Param("output", i) for i in range(outputs)]
    shares, looks_back = plan.is_far or plan.takes_side, plan.is_chain and not facts.once
    found += [Param("partial", i) for i in range(states) if plan.finish != "cta" or shares]
    found += [Param("counter")] if plan.finish == "last_block" or shares or looks_back else []
    return found + [Param("exchange", i) for i in range(states) if global_states(plan)]


def _sizes_and_strides(inputs: int, outputs: int, facts: Facts, *, finishes: bool) -> list[Param]:
    """The sizes of inner dims, and the strides of inputs, of outputs if it ``finishes`` these, and of numberings."""
    kept_rank, reduced_rank = facts.kept_rank, facts.reduced_rank
    found = [Param("kept_size", 0, d) for d in range(1, kept_rank)]
    found += [Param("reduced_size", 0, d) for d in range(1, reduced_rank)]
    for i in range(inputs):
        found += [Param("kept_stride", i, d) for d in range(kept_rank)]
        found += [Param("reduced_stride", i, d) for d in range(reduced_rank)]
    found += [Param("kept_stride", inputs + i, d) for i in range(outputs) for d in range(kept_rank) if finishes]
    written = [i for i, kind in enumerate(facts.stores) if kind != "kept"]
    found += [Param("reduced_stride", inputs + i, d) for i in written for d in range(reduced_rank)]
    for operand, along in enumerate(facts.numberings, inputs + outputs):
        found += [Param("number_base", operand)]
        found += [Param("kept_stride", operand, d) for d in range(kept_rank) if along in ("kept", "both")]
        found += [Param("reduced_stride", operand, d) for d in range(reduced_rank) if along in ("reduced", "both")]
    return found


def _of_layout(facts: Facts, plan: Plan) -> list[Param]:
    """What a walk or a tile asks for."""
    found = [Param("period_rows")] if layout_of(plan).chunked == "flat" else []
    if facts.gapped or plan.abreast:
        found += [Param("gap")]
    if plan.in_periods:
        found += [Param("period"), Param("run")]
    if facts.ragged:
        found += [Param("row_stride", 0, d) for d in range(facts.kept_rank)]
    if plan.tile_bytes:
        found += [Param("tile_rows" if plan.resident else "tile_results")]
    if not plan.resident:
        found += [Param(role, i) for i, access in enumerate(facts.access) if access in IN_TILE for role in TILE]
    return found + [Param(role, i) for i, kind in enumerate(facts.access) if kind == "gathered" for role in GATHERED]


def value(param: Param, geometry: Geometry, run: Launch, count: int) -> int:
    """The run-time value of a parameter that is not a pointer. Sizes and strides are in elements."""
    if param.role in ("n_kept", "n_reduced", "index_base", "times", "gap", "period", "run"):
        return getattr(geometry, param.role)  # type: ignore[no-any-return]
    if param.role == "number_base":
        return geometry.offsets[param.operand]
    if param.role in ("chunk", "count", "lag"):
        return {"chunk": run.chunk, "count": count, "lag": run.lag}[param.role]
    if param.role == "tile_rows":
        return run.units
    if param.role.startswith("tile"):
        return _of_tile(param, geometry, run)
    if param.role == "period_rows":
        return run.rows
    if param.role.startswith("cop"):
        copies = geometry.copies or Dim(1, (0,) * len(geometry.offsets))
        return copies.size if param.role == "copies" else copies.strides[param.operand]
    if param.role in GATHERED:
        own = next(g for g in geometry.gathered if g.operand == param.operand)
        return own.size if param.role == "gather_size" else own.stride
    axis = geometry.kept if param.role.startswith(("kept", "row")) else geometry.reduced
    dim = axis[param.dim]
    if param.role == "index_stride":
        return dim.index_stride
    if param.role == "row_stride":
        return dim.row_stride
    return dim.size if param.role.endswith("size") else dim.strides[param.operand]


def _of_tile(param: Param, geometry: Geometry, run: Launch) -> int:
    """The value of a parameter that describes the tiles of ``run``."""
    if param.role == "tile_results":
        return run.units * tiles.results(geometry)
    own = tiles.unit(geometry, param.operand)
    assert own is not None  # or the input would not be read in a tile
    if not own.span:  # of an empty array nothing is copied
        return 0
    if param.role == "tile_pitch":
        return run.units * own.stride
    count = run.units if param.role == "tile_length" else geometry.n_kept // tiles.results(geometry)
    return (count - 1) * own.stride + own.span


def partial_geometry(geometry: Geometry, states: int, split: int, vector: int = 1, *, by_row: bool = False) -> Geometry:
    """The geometry of the second kernel, which reduces an array of partial states, [split][kept][reduced].

    The dim of the parts exists even for one part, since the kernel has a parameter for its stride.

    Args:
        geometry: the first kernel's outputs alone, with the reduced dims that the first kernel has left.
        states: values of a state; each has an array.
        split: partial states of each result.
        vector: each part begins a multiple of so many states after the one before.
        by_row: whether each row of results begins so, too.
    """
    n_outputs = len(geometry.offsets)
    stride = 1
    laid: list[Dim] = []
    for d in reversed((*geometry.kept, *geometry.reduced)):
        laid.insert(0, Dim(d.size, (stride,) * states + d.strides))
        stride *= d.size
        stride = -(-stride // vector) * vector if by_row else stride
    kept, left = laid[: len(geometry.kept)], laid[len(geometry.kept) :]
    parts = Dim(split, (-(-stride // vector) * vector,) * states + (0,) * n_outputs)
    again = geometry.copies
    copies = again and Dim(again.size, (0,) * states + again.strides)
    return Geometry(tuple(kept), (parts, *left), (0,) * states + geometry.offsets, times=geometry.times, copies=copies)


def partial_program(program: Program) -> Program:
    """The program whose results are the values of the state; ``second_program`` reduces them."""
    (reduce,) = program.reduces
    values = tuple(Expr("result", (reduce,), t, KEPT, i) for i, t in enumerate(program.monoid.state))
    return Program(program.name, program.inputs, values, program.where)


def second_program(program: Program) -> Program:
    """The program of the second kernel: the same results, reduced from partial states instead of elements."""
    reduce = program.reduces[0]
    graph = program.monoid
    inputs = tuple(Expr("input", (), t, ELEMENT, i) for i, t in enumerate(graph.state))
    states = Expr("reduce", inputs, reduce.dtype, KEPT, graph, reduce.where)
    return Program(program.name, graph.state, rewrite(program.outputs, {reduce.digest: states}), program.where)
