"""The kernel interface: which parameters a kernel takes, in order, and what each is at run time.

``passes/distribution/walk.py`` gives the kernel these parameters; the runtime fills them in from a ``Geometry``
and a ``Launch``. Both read the one list made here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..program.graph import Expr, MonoidGraph, Program, rewrite
from ..space.geometry import Dim, Geometry
from . import tiles
from .launch import Launch
from .layout import layout_of
from .plan import IN_TILE, Access, Plan

Role = Literal[
    "input", "output", "partial", "counter", "exchange", "n_kept", "n_reduced", "chunk", "count", "kept_size",
    "reduced_size", "kept_stride", "reduced_stride", "index_stride", "index_base", "row_begin", "row_end", "row_origin",
    "row_count", "row_stride", "tile_results", "tile_pitch", "tile_length", "tile_extent", "period_rows",
    "times", "copies", "copy_stride", "gap",
]  # fmt: skip
ROWS: tuple[Role, ...] = ("row_begin", "row_end", "row_origin", "row_count")
"""What is said of each ragged row: its first element, the one after its last, the one that has number 0, and how many
elements the caller reduces. A row may be a piece of the caller's: the first two are the piece's, the others not."""
POINTERS = ("input", "output", "partial", "counter", "exchange", *ROWS)
SCALARS: tuple[Role, ...] = ("n_kept", "n_reduced", "chunk", "count")
TILE: tuple[Role, ...] = ("tile_pitch", "tile_length", "tile_extent")
"""What is said of the elements of an input that a CTA copies: from one CTA's first to the next one's, from its first to
its last, and how many the input has from first to last."""
NUMBER_BITS = 24
"""Bits of an element's number that fit a word beside a byte."""


RARE = ("repeats", "flat", "by_row", "gapped", "pieces", "block", "places", "numbers", "once")
"""The facts that the IR names only where they are something else: few kernels are so."""


@dataclass(frozen=True)
class Facts:
    """What a kernel is compiled for besides its plan.

    Attributes:
        kept_rank, reduced_rank: dims that the kernel has, no fewer than the collapsed geometry.
        index_bits: 32 where every offset fits, else 64.
        access: for each input, how its elements are read: ``aligned`` vectors, ``shifted`` ones (rows that start
            anywhere; accesses begin at the boundary before), ``unaligned`` ones along the kept axis, ``period``
            ones along rows that follow each other, ``staggered`` ones of warps that begin rows at the boundary before,
            ``strided`` single elements, or in the CTA's tile in shared memory: ``tile`` vectors, that begin anywhere,
            ``tile_strided`` single elements, or ``whole``, with all others of a thread's results at once.
        store_vector: whether each thread's results lie side by side and aligned in every output.
        ragged: whether rows begin and end where arrays say, and not with the reduced axis.
        repeats: whether the launch says how often elements and results are repeated.
        flat: whether the results of several kept dims follow each other at one stride, as those of a new array do.
        by_row: whether the results of a CTA lie within one row, along the innermost of several kept dims.
        gapped: whether the columns at the end of each row are read and not written.
        pieces: whether runs are cut into pieces.
        block: elements of a result, and results that lie side by side in a block of them, where a kernel is for these
            alone; else nothing.
        places: whether elements have 8 or 16 bits, and their numbers leave room for them in a word.
        numbers: ``up`` where the numbers of a result's elements go up along the walk, ``down`` where they go down;
            nothing where neither is so, or nobody asks.
        once: whether no thread makes more accesses in a walk than it has in flight.
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

    def row(self, geometry: Geometry) -> int:
        """The results of a row, beyond which the tile of a CTA does not go."""
        return geometry.columns if self.by_row or "period" in self.access else geometry.n_kept

    @property
    def cut(self) -> str:
        """``shifted`` or ``unaligned``, where an input is read so, else nothing; staggered warps cut rows alike."""
        if "staggered" in self.access:
            return "unaligned"
        return next((kind for kind in ("shifted", "unaligned") if kind in self.access), "")

    @property
    def bounded(self) -> bool:
        """Whether the last vector along the kept axis may reach beyond its end."""
        return self.cut == "unaligned" or bool(self.block)


@dataclass(frozen=True)
class Param:
    """One kernel parameter: its ``role``, the operand it belongs to, and the dim, where those matter."""

    role: Role
    operand: int = 0
    dim: int = 0

    @property
    def name(self) -> str:
        """The parameter's name in IR and messages."""
        several = ("input", "output", "partial", "exchange", "kept_stride", "reduced_stride", "copy_stride", *TILE)
        letter = f"{self.operand}" if self.role in several else ""
        dim = f"_{self.dim}" if self.role.endswith(("size", "stride")) else ""
        return f"{self.role}{letter}{dim}"


class Kernel(NamedTuple):
    """What one kernel computes and how: the unit that is compiled.

    Attributes:
        name: its entry name.
        program: what it computes.
        facts, plan: for what geometry, and in which way.
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
            len(p.inputs), len(p.outputs), len(self.monoid.state), self.facts, self.plan,
            indexed=p.uses_index, counted=p.uses_count,
        )  # fmt: skip


def params(
    inputs: int, outputs: int, states: int, facts: Facts, plan: Plan, *, indexed: bool, counted: bool
) -> tuple[Param, ...]:
    """The parameters of a kernel with so many inputs, outputs and values of state.

    ``indexed`` and ``counted`` say that it numbers its elements, and asks for their number.
    """
    kept_rank, reduced_rank, finish = facts.kept_rank, facts.reduced_rank, plan.finish
    finishes = finish in ("cta", "last_block")
    found = [Param("input", i) for i in range(inputs)]
    found += [Param("output", i) for i in range(outputs) if finishes]
    found += [Param("partial", i) for i in range(states) if finish != "cta"]
    found += [Param("counter")] if finish == "last_block" else []
    found += [Param("exchange", i) for i in range(states) if plan.global_states]
    asked = {"row_origin": indexed, "row_count": counted}
    found += [Param(role) for role in ROWS if facts.ragged and asked.get(role, True)]
    found += [Param(role) for role in SCALARS]
    found += [Param("kept_size", 0, d) for d in range(1, kept_rank)]
    found += [Param("reduced_size", 0, d) for d in range(1, reduced_rank)]
    for i in range(inputs):
        found += [Param("kept_stride", i, d) for d in range(kept_rank)]
        found += [Param("reduced_stride", i, d) for d in range(reduced_rank)]
    found += [Param("kept_stride", inputs + i, d) for i in range(outputs) for d in range(kept_rank) if finishes]
    if indexed:
        found += [Param("index_stride", 0, d) for d in range(reduced_rank)] + [Param("index_base")]
    if layout_of(plan).chunked == "flat":
        found += [Param("period_rows")]
    if facts.gapped:
        found += [Param("gap")]
    if facts.ragged:
        found += [Param("row_stride", 0, d) for d in range(kept_rank)]
    found += [Param("tile_results")] if plan.tile_bytes else []
    found += [Param(role, i) for i, access in enumerate(facts.access) if access in IN_TILE for role in TILE]
    if facts.repeats and finishes:
        found += [Param("times"), Param("copies"), *(Param("copy_stride", inputs + i) for i in range(outputs))]
    return tuple(found)


def value(param: Param, geometry: Geometry, run: Launch, count: int) -> int:
    """The run-time value of a parameter that is not a pointer. Sizes and strides are in elements."""
    if param.role in ("n_kept", "n_reduced", "index_base", "times", "gap"):
        return getattr(geometry, param.role)  # type: ignore[no-any-return]
    if param.role in ("chunk", "count"):
        return run.chunk if param.role == "chunk" else count
    if param.role.startswith("tile"):
        return _of_tile(param, geometry, run)
    if param.role == "period_rows":
        return run.rows
    if param.role.startswith("cop"):
        copies = geometry.copies or Dim(1, (0,) * len(geometry.offsets))
        return copies.size if param.role == "copies" else copies.strides[param.operand]
    axis = geometry.kept if param.role.startswith(("kept", "row")) else geometry.reduced
    dim = axis[param.dim]
    if param.role == "index_stride":
        return dim.index_stride
    if param.role == "row_stride":
        return dim.row_stride
    return dim.size if param.role.endswith("size") else dim.strides[param.operand]


def _of_tile(param: Param, geometry: Geometry, run: Launch) -> int:
    """The same for what is said of the tiles of ``run``."""
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
    """The geometry of the second kernel: ``split`` partial states per result, laid out as [split][kept][reduced].

    ``geometry`` is that of the first kernel's outputs alone, with what of each is left to reduce; each part begins a
    whole number of ``vector`` states after the one before, and so does each row of results ``by_row``. The dim of the
    parts is there even for one, since a kernel compiled for partials has a parameter for its stride.
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
    """The program whose results are the values of the state itself: it leaves what ``second_program`` reads."""
    (reduce,) = program.reduces
    values = tuple(Expr("result", (reduce,), t, "kept", i) for i, t in enumerate(program.monoid.state))
    return Program(program.name, program.inputs, values, program.where)


def second_program(program: Program) -> Program:
    """The program of the second kernel: the same results, reduced from partial states instead of elements."""
    reduce = program.reduces[0]
    graph = program.monoid
    inputs = tuple(Expr("input", (), t, "element", i) for i, t in enumerate(graph.state))
    states = Expr("reduce", inputs, reduce.dtype, "kept", graph, reduce.where)
    return Program(program.name, graph.state, rewrite(program.outputs, {reduce.digest: states}), program.where)
