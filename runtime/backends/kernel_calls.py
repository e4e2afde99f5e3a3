"""The launch recipe: an artifact, a geometry and addresses become the kernel calls to make. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ...compiler.driver.artifact import Artifact, CompiledKernel
from ...compiler.dtypes import DType
from ...compiler.plan.abi import POINTERS, Role, partial_geometry, value
from ...compiler.plan.launch import Launch, cells_of, launch
from ...compiler.space.geometry import Dim, Geometry


class Call(NamedTuple):
    """One kernel launch: entry name, grid and block in x, y, z, and the arguments (pointers and integers) in order."""

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    args: tuple[int, ...]


class Workspace(NamedTuple):
    """Scratch memory on a device: ``partials`` of the bytes asked for, and ``counters``, zero between launches."""

    partials: int
    counters: int


ALIGN = 256
"""Bytes on whose multiples a GPU's allocations begin, and the partials of different values."""


class Start(int):
    """Where an array begins, or a number of bytes ``added`` after that: what changes when a launch is repeated.

    ``array`` is the number of the array among those of the call: the inputs, then the results.
    """

    array: int
    added: int

    @classmethod
    def of(cls, address: int, array: int, added: int) -> Start:
        """An address with what it is made of."""
        made = cls(address)
        made.array, made.added = array, added
        return made

    def __add__(self, nbytes: int) -> Start:
        return Start.of(int(self) + nbytes, self.array, self.added + nbytes)


class Scratch(NamedTuple):
    """What a launch needs besides its arrays.

    Attributes:
        nbytes: bytes of partials, and of what the threads of CTAs exchange in global memory.
        offsets: where in them each value's partials begin.
        counters: tickets.
        exchange: where in them begins what is exchanged of each value; one kernel after another uses it.
    """

    nbytes: int
    offsets: tuple[int, ...]
    counters: int
    exchange: tuple[int, ...] = ()


def scratch(artifact: Artifact, geometry: Geometry, run: Launch) -> Scratch:
    """The scratch memory of one launch."""
    finish = artifact.plan.finish
    whole = cells_of(artifact.plan, geometry.n_kept, artifact.main.facts.row(geometry))
    cells = {"cta": 0, "atomic": geometry.n_kept}.get(finish, whole * artifact.plan.parts(run.split))
    offsets, nbytes = placed(cells, artifact.state)
    exchange, nbytes = placed(_exchanged(artifact, geometry, run), artifact.state, nbytes)
    return Scratch(nbytes, offsets, run.tiles if finish == "last_block" else 0, exchange)


def placed(cells: int, types: Sequence[DType], start: int = 0) -> tuple[tuple[int, ...], int]:
    """Where arrays of ``cells`` elements of each type lie from ``start`` on, and where they end; none for no cells."""
    offsets = []
    for t in types if cells else ():
        offsets.append(start)
        start += -(-cells * t.itemsize // ALIGN) * ALIGN
    return tuple(offsets), start


def _exchanged(artifact: Artifact, geometry: Geometry, run: Launch) -> int:
    """States in global memory that the CTAs of the largest kernel exchange: each has its own."""
    n_kept = (geometry.after or geometry).n_kept
    runs = [run if k.role == "main" else launch(k.plan, n_kept, 1) for k in artifact.kernels]
    pairs = zip(artifact.kernels, runs, strict=True)
    return max(k.plan.global_states * r.tiles * r.split for k, r in pairs)


def calls(
    artifact: Artifact,
    geometry: Geometry,
    run: Launch,
    pointers: Sequence[int],
    space: Workspace,
    layout: Scratch,
    rows: Mapping[Role, int] | None = None,
) -> list[Call]:
    """The kernel calls of one reduction, in order.

    Args:
        artifact: what was compiled.
        geometry: the collapsed geometry of this call.
        run: its grid and chunk.
        pointers: address of each input's, then each output's first element.
        space: scratch memory.
        layout: where in it what lies, from ``scratch``.
        rows: the addresses of what a kernel over ragged rows asks of each.
    """
    if geometry.n_kept == 0:
        return []
    partials = [space.partials + o for o in layout.offsets]
    exchange = [space.partials + o for o in layout.exchange]
    inputs, states = len(artifact.inputs), len(artifact.state)
    starts = [
        p + o * t.itemsize
        for p, o, t in zip(pointers, geometry.offsets, (*artifact.inputs, *artifact.outputs), strict=True)
    ]
    found = []
    own: dict[Role, list[int]]
    for kernel in artifact.kernels:
        if kernel.role == "main":
            own = {"input": starts[:inputs], "output": starts[inputs:]}
            own |= {"partial": partials, "counter": [space.counters], "exchange": exchange}
            own |= {role: [address] for role, address in (rows or {}).items()}
            found.append(_call(kernel, geometry, run, own, geometry.count))
        else:
            parts = artifact.plan.parts(run.split) if artifact.plan.finish == "two_kernels" else 1
            g = _second(artifact, geometry, 0 if kernel.role == "init" else parts)
            outputs = partials if kernel.role == "init" else starts[inputs:]
            if kernel.role == "init":
                g = _cells(g, states)
            second = launch(kernel.plan, g.n_kept, g.n_reduced)
            own = {"input": partials, "output": outputs, "exchange": exchange}
            found.append(_call(kernel, g, second, own, geometry.count))
    return found


def _second(artifact: Artifact, geometry: Geometry, parts: int) -> Geometry:
    """The geometry of the kernel that reads partials; the offsets of the first kernel are in its pointers already."""
    inputs, states = len(artifact.inputs), len(artifact.state)

    def outputs(d: Dim) -> Dim:
        return Dim(d.size, d.strides[inputs:])

    left = geometry.after or replace(geometry, reduced=())
    kept, reduced = (tuple(map(outputs, dims)) for dims in (left.kept, left.reduced))
    zeros = (0,) * (len(geometry.offsets) - inputs)
    copies = geometry.copies and outputs(geometry.copies)
    outputs_only = Geometry(kept, reduced, zeros, times=geometry.times, copies=copies)
    width, by_row = artifact.plan.second.vector_kept, artifact.main.facts.by_row
    return partial_geometry(outputs_only, states, parts, width, by_row=by_row)


def _cells(g: Geometry, states: int) -> Geometry:
    """The same with the partials themselves as outputs, for the kernel that sets them to the identity."""
    kept = tuple(Dim(d.size, d.strides[:states] * 2) for d in g.kept)
    return Geometry(kept, (Dim(0, (0,) * 2 * states),), (0,) * 2 * states)


def _call(kernel: CompiledKernel, g: Geometry, run: Launch, pointers: dict[Role, list[int]], count: int) -> Call:
    g = g.padded(kernel.facts.kept_rank, kernel.facts.reduced_rank)
    args = tuple(pointers[p.role][p.operand] if p.role in POINTERS else value(p, g, run, count) for p in kernel.params)
    return Call(kernel.name, (run.tiles, run.split, 1), (kernel.plan.threads, 1, 1), args)
