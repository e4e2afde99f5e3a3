"""The kernel interface: the parameters of a kernel, in order, and the value of each at run time.

``passes/distribution`` gives the kernel these parameters, and the runtime computes their values from a ``Geometry`` and
a ``Launch``. Both read the list that ``params`` makes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..program.graph import ELEMENT, KEPT, Expr, MonoidGraph, Program, rewrite
from ..space.geometry import Dim, Geometry
from . import tiles
from .facts import Facts
from .fields import IN_TILE
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
    finishes = plan.finish in ("cta", "last_block") or facts.cleared
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
    found += [Param("partial", i) for i in range(states) if (plan.finish != "cta" and not facts.cleared) or shares]
    found += [Param("counter")] if plan.finish == "last_block" or facts.cleared or shares or looks_back else []
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
