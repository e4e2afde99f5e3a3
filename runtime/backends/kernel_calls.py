"""From an artifact, a geometry and addresses to kernel calls and the scratch memory that they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ...compiler.driver.artifact import Artifact, CompiledKernel
from ...compiler.dtypes import DType
from ...compiler.plan.abi import POINTERS, Role, partial_geometry, value
from ...compiler.plan.launch import Launch, cells_of, launch, look_back_cells, look_back_counters
from ...compiler.plan.rounds import second_plan
from ...compiler.plan.shared_memory import global_states, waiting_bytes
from ...compiler.space.geometry import Dim, Geometry


class Call(NamedTuple):
    """One kernel launch.

    Attributes:
        name: the kernel's entry.
        grid, block: CTAs of the grid and threads of a CTA, in x, y, z.
        args: the arguments, pointers and integers, in order.
        shared: bytes of dynamic shared memory of a CTA.
        cooperative: whether CTAs wait for each other, so that all of them must run at a time.
        follows: whether it may begin before the launch before it has ended, for which its kernel waits.
    """

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: tuple[int, ...]
    shared: int = 0
    cooperative: bool = False
    follows: bool = False


class Workspace(NamedTuple):
    """Addresses of scratch memory: ``partials``, and ``counters``, which are zero between launches."""

    partials: int
    counters: int


CELL_WORDS = 2
"""Words of a cell to which CTAs add counters, and before the first cell."""
ALIGN = 256
"""Alignment in bytes of a GPU's allocations, and of the partials of each value."""


class Start(int):
    """An address ``added`` bytes after the start of an array; a repeated launch replaces it.

    ``array`` is the index of the array among the operands of the call: inputs, then results.
    """

    array: int
    added: int

    @classmethod
    def of(cls, address: int, array: int, added: int) -> Start:
        """An address with its array and the bytes added."""
        made = cls(address)
        made.array, made.added = array, added
        return made

    def __add__(self, nbytes: int) -> Start:
        return Start.of(int(self) + nbytes, self.array, self.added + nbytes)


class Scratch(NamedTuple):
    """The scratch memory that a launch needs.

    Attributes:
        nbytes: bytes of partials, and of states that threads of a CTA exchange in global memory.
        offsets: offset of the partials of each state value.
        counters: number of counters.
        exchange: offset of the exchanged values of each state value; all kernels use it in turn.
    """

    nbytes: int
    offsets: tuple[int, ...]
    counters: int
    exchange: tuple[int, ...] = ()


def scratch(artifact: Artifact, geometry: Geometry, run: Launch) -> Scratch:
    """The scratch memory of one launch."""
    finish, waits = artifact.plan.finish, artifact.plan.is_far
    whole = cells_of(artifact.plan, geometry.n_kept, artifact.main.facts.row(geometry))
    cleared = artifact.main.facts.cleared
    added = 0 if cleared else geometry.n_kept
    cells = {"cta": 0, "atomic": added}.get(finish, whole * artifact.plan.parts(run.split))
    cells = whole * run.split if waits else run.chunk * run.ctas if artifact.plan.takes_side else cells
    if artifact.plan.in_periods:  # each CTA leaves a state of each column, or of those that it has
        cells = geometry.period // geometry.run * run.tiles * run.split
        cells = geometry.n_kept * run.split if artifact.main.facts.narrow else cells
    offsets, nbytes = placed(cells, artifact.state)
    exchange, nbytes = placed(_exchanged(artifact, geometry, run), artifact.state, nbytes)
    counters = run.tiles if finish == "last_block" else 0
    counters = CELL_WORDS * (1 + geometry.n_kept) if cleared else counters  # behind the ticket there is a cell a result
    if waits:  # there are no more phases than values
        counters = (1 + run.tiles * len(artifact.state)) * artifact.plan.counter_words
    counters = 2 if artifact.plan.takes_side else counters  # tickets, and CTAs that are done
    if artifact.plan.is_chain:  # tickets, a counter a tile, and two words for each 32 bits of each state
        words = sum(-(-t.itemsize // 4) for t in artifact.state)
        words *= look_back_cells(artifact.plan, run)
        counters = 0 if artifact.main.facts.once else 2 * (look_back_counters(run.tiles) + words)
    return Scratch(nbytes, offsets, counters, exchange)


def placed(cells: int, types: Sequence[DType], start: int = 0) -> tuple[tuple[int, ...], int]:
    """Offsets of arrays of ``cells`` elements of each type from ``start`` on, and their end; none without cells."""
    offsets = []
    for t in types if cells else ():
        offsets.append(start)
        start += -(-cells * t.itemsize // ALIGN) * ALIGN
    return tuple(offsets), start


def _exchanged(artifact: Artifact, geometry: Geometry, run: Launch) -> int:
    """The number of states that the CTAs of the largest kernel exchange in global memory."""
    n_kept = (geometry.after or geometry).n_kept
    runs = [run if k.role == "main" else launch(k.plan, n_kept, 1) for k in artifact.kernels]
    pairs = zip(artifact.kernels, runs, strict=True)
    return max(global_states(k.plan) * r.tiles * r.split for k, r in pairs)


def calls(
    artifact: Artifact,
    geometry: Geometry,
    run: Launch,
    pointers: Sequence[int],
    space: Workspace,
    layout: Scratch,
    rows: Mapping[Role, int] | None = None,
    count: int | None = None,
) -> list[Call]:
    """The kernel calls of one reduction, in order.

    Args:
        artifact: the compiled kernels.
        geometry: the collapsed geometry of this call.
        run: its grid and chunk.
        pointers: addresses of the first element of each input, then of each output.
        space: scratch memory.
        layout: the layout of the scratch memory, from ``scratch``.
        rows: for kernels over ragged rows, the addresses of the row bounds and so on.
        count: the count of elements that a program may use; by default those that are reduced into each result.
    """
    if geometry.n_kept == 0:
        return []
    count = geometry.count if count is None else count
    partials = [space.partials + o for o in layout.offsets]
    exchange = [space.partials + o for o in layout.exchange]
    inputs, states = len(artifact.inputs), len(artifact.state)
    types = (*artifact.inputs, *artifact.outputs)
    offsets = geometry.offsets[: len(types)]  # those of numberings are no addresses
    starts = [p + t.nbytes(o) for p, o, t in zip(pointers, offsets, types, strict=True)]
    found = []
    own: dict[Role, list[int]]
    for kernel in artifact.kernels:
        if kernel.role == "main":
            own = {"input": starts[:inputs], "output": starts[inputs:]}
            own |= {"partial": partials, "counter": [space.counters], "exchange": exchange}
            own |= {role: [address] for role, address in (rows or {}).items()}
            shared = waiting_bytes(kernel.plan, kernel.facts, artifact.inputs, run)
            together = kernel.plan.resident == "grid"
            found.append(_call(kernel, geometry, run, own, count)._replace(shared=shared, cooperative=together))
        else:
            parts = artifact.plan.parts(run.split) if artifact.plan.finish == "two_kernels" else 1
            g = _second(artifact, geometry, 0 if kernel.role == "init" else parts)
            outputs = partials if kernel.role == "init" else starts[inputs:]
            if kernel.role == "init":
                g = _cells(g, states)
            second = launch(kernel.plan, g.n_kept, g.n_reduced)
            own = {"input": partials, "output": outputs, "exchange": exchange}
            found.append(_call(kernel, g, second, own, count))
    return found


def _second(artifact: Artifact, geometry: Geometry, parts: int) -> Geometry:
    """The geometry of the kernel that reads partials; the pointers already include the offsets."""
    inputs, states = len(artifact.inputs), len(artifact.state)

    def outputs(d: Dim) -> Dim:
        return Dim(d.size, d.strides[inputs:])

    left = geometry.after or replace(geometry, reduced=())
    kept, reduced = (tuple(map(outputs, dims)) for dims in (left.kept, left.reduced))
    zeros = (0,) * (len(geometry.offsets) - inputs)
    copies = geometry.copies and outputs(geometry.copies)
    outputs_only = Geometry(kept, reduced, zeros, times=geometry.times, copies=copies)
    width, by_row = second_plan(artifact.plan).vector_kept, artifact.main.facts.by_row
    return partial_geometry(outputs_only, states, parts, width, by_row=by_row)


def _cells(g: Geometry, states: int) -> Geometry:
    """``g`` with the partials as outputs, for the kernel that sets them to the identity."""
    kept = tuple(Dim(d.size, d.strides[:states] * 2) for d in g.kept)
    return Geometry(kept, (Dim(0, (0,) * 2 * states),), (0,) * 2 * states)


def _call(kernel: CompiledKernel, g: Geometry, run: Launch, pointers: dict[Role, list[int]], count: int) -> Call:
    g = g.padded(kernel.facts.kept_rank, kernel.facts.reduced_rank)
    args = tuple(pointers[p.role][p.operand] if p.role in POINTERS else value(p, g, run, count) for p in kernel.params)
    return Call(kernel.name, run.grid, (kernel.plan.threads, 1, 1), args, follows=kernel.facts.follows)
