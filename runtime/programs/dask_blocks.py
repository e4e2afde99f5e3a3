"""Programs of Dask's arrays: a task for each block, where blocks do not need each other.

Chunks may lie along any axis that a program neither folds nor scans, and whose positions and size it does not use. That
is asked of the traced program as it is for shards of several GPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod
from operator import itemgetter
from typing import Any

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from ...compiler.dtypes import dtype
from ...compiler.errors import WarpfoldError, error
from ...compiler.program.array_program import ArrayProgram
from ...compiler.program.arrays.trace import ArrayArg
from ...compiler.program.frames import caller
from ...compiler.program.shards.stages import Stages, stages_of
from ...compiler.program.tracing import nest
from ..arrays.dask_arrays import from_code, leaves, native, to_code
from .arguments import Arguments, arguments_of
from .dask_scans import in_parts, is_scan
from .traces import Traces

Chunks = tuple[int, ...]


@dataclass(frozen=True)
class Blocks:
    """A call of a program on blocks of its arrays.

    Attributes:
        function: the function of arrays.
        arguments: the arguments without the arrays.
        options: the arguments of every call.
    """

    function: Callable[..., Any]
    arguments: Arguments
    options: Mapping[str, Any]

    def __reduce__(self) -> Any:
        return _from_code, (to_code((self.function, self.arguments, dict(self.options))),)

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """The results for some blocks, in a flat sequence."""
        own = [np.asarray(x) if np.isscalar(x) else x for x in arrays]
        xs, how = self.arguments.call(lambda *xs, **how: (xs, how), own)
        return tuple(leaves(_program(self.function)(*xs, **how, **self.options)))


def _from_code(data: bytes) -> Blocks:
    return Blocks(*from_code(data))


@lru_cache(maxsize=256)
def _program(function: Callable[..., Any]) -> Callable[..., Any]:
    """The program of a function, always the same one, so that its calls are seen to be alike."""
    from .function import program

    return program(function)


def on_blocks(
    function: Callable[..., Any], traces: Traces, xs: Sequence[Any], how: Mapping[str, Any], options: Mapping[str, Any],
    out: Any,
) -> Any:  # fmt: skip
    """The results of a program as arrays of Dask, of which nothing is computed yet.

    Args:
        function: the function of arrays.
        traces: its traces.
        xs: the arguments by position.
        how: those by keyword.
        options: the arguments of every call.
        out: arrays for results, which there cannot be.

    Raises:
        ArgumentError: WF190 for ``out=``, for chunks of unknown sizes, and for chunks along an axis that the program
            does not leave alone.
    """
    if out is not None:
        raise unfit("out= cannot be given, since results are not there yet", "leave out= out")
    arguments, given = arguments_of(function, xs, how)
    arrays = [native(da.asarray(x)) for x in given]
    if any(n != n for x in arrays for n in x.shape):
        raise unfit("the sizes of its chunks are unknown", "compute them first: x.compute_chunk_sizes()")
    if is_scan(function) and arguments.in_order:
        found = in_parts(function, arguments, options, arrays)
        if found is not None:
            return found
    program = traces.get(arguments, [ArrayArg(dtype(x.dtype), x.shape, not x.ndim) for x in arrays], apart=True)
    cuts = _Cuts(program, arrays)
    arrays = [x.rechunk(dict(enumerate(cuts.of(i, x)))) for i, x in enumerate(arrays)]
    return _results(program, cuts, arrays, Blocks(function, arguments, options))


def unfit(problem: str, remedy: str) -> Exception:
    """The error for what cannot be done with arrays of Dask."""
    return error("WF190", problem=problem, remedy=remedy, where=caller())


class _Cuts:
    """The dims of a program along which arrays are cut into chunks.

    Attributes:
        chunks: for each such dim the extents of the chunks.
        lying: for each, where it lies in each result.
    """

    def __init__(self, program: ArrayProgram, arrays: Sequence[Any]) -> None:
        self.chunks: dict[int, Chunks] = {}
        self.lying: dict[int, Stages] = {}
        self._dims = {pair: d for d, members in enumerate(program.dims) for pair in members}
        cut = [(i, a) for i, x in enumerate(arrays) for a, n in enumerate(x.numblocks) if n > 1]
        cut = [own for own in cut if self._leads(program, own, arrays)]
        for i, a in cut:
            if any(s.array == i for s in program.splits) or (i, a) not in self._dims:
                raise _needs_all(program, i, a, f"it reads axis {a} in another way than element by element")
            if any(own[:2] == (i, a) for own in program.sizes):
                raise _needs_all(program, i, a, f"it uses the size of axis {a}")
        for d in dict.fromkeys(self._dims[pair] for pair in cut):
            members = [m for m in program.dims[d] if 0 <= m[0] < len(arrays)]
            self.chunks[d] = tuple(da.core.common_blockdim([arrays[i].chunks[a] for i, a in members]))
            self.lying[d] = _alone(program, members, next(pair for pair in cut if self._dims[pair] == d), len(arrays))

    def _leads(self, program: ArrayProgram, cut: tuple[int, int], arrays: Sequence[Any]) -> bool:
        """Whether the largest array along the dim of an axis is cut, too; else the others are joined along it."""
        members = program.dims[self._dims[cut]] if cut in self._dims else (cut,)
        largest = max((m for m in members if 0 <= m[0] < len(arrays)), key=lambda m: arrays[m[0]].size)
        return bool(arrays[largest[0]].numblocks[largest[1]] > 1)

    def of(self, array: int, x: Any) -> list[Chunks]:
        """The chunks of an array."""
        found = [self.chunks.get(self._dims.get((array, a), -1)) for a in range(x.ndim)]
        return [own or (n,) for own, n in zip(found, x.shape, strict=True)]

    def places(self, array: int, x: Any, at: Mapping[int, int]) -> tuple[int, ...]:
        """The number of a block of an array along each axis, given that of each dim."""
        return tuple(at.get(self._dims.get((array, a), -1), 0) for a in range(x.ndim))


def _alone(program: ArrayProgram, members: Sequence[tuple[int, int]], cut: tuple[int, int], count: int) -> Stages:
    """How a program runs on shards along a dim, where these need nothing of each other."""
    axes: list[int | None] = [None] * count
    for i, a in members:
        if axes[i] is not None:
            raise _needs_all(program, *cut, f"axes {axes[i]} and {a} of array {i} are one")
        axes[i] = a
    try:
        found = stages_of(program, tuple(axes))
    except WarpfoldError as e:
        if e.code != "WF173":
            raise
        raise _needs_all(program, *cut, e.message.partition(" lie so: ")[2]) from e
    if len(found.stages) > 1:
        raise _needs_all(program, *cut, "it folds over it")
    if found.numbers:
        raise _needs_all(program, *cut, "it uses positions along it, or its size")
    return found


def _needs_all(program: ArrayProgram, array: int, axis: int, reason: str) -> Exception:
    problem = f"{program.name} needs all of axis {axis} of array {array} at once, which is cut into chunks: {reason}"
    return unfit(problem, f"let one chunk have it, x.rechunk({{{axis}: -1}}), or compute it first: x.compute()")


def _results(program: ArrayProgram, cuts: _Cuts, arrays: Sequence[Any], call: Blocks) -> Any:
    """The results: a task for each block of all cut dims, and one for each block of a result."""
    token = tokenize([x.name for x in arrays], program.digest, call.arguments, dict(call.options))
    name, tasks = f"{program.name}-blocks-{token}", {}
    dims = [*cuts.chunks]
    for place in product(*(range(len(own)) for own in cuts.chunks.values())):
        at = dict(zip(dims, place, strict=True))
        keys = [(x.name, *cuts.places(i, x, at)) for i, x in enumerate(arrays)]
        tasks[name, *place] = (call, *keys)
    graph = HighLevelGraph.from_collections(name, tasks, arrays)
    sizes, found = program.sizes_of([x.shape for x in arrays]), []
    for k, output in enumerate(program.outputs[: len(program.outputs) - len(program.checks)]):
        own = {lying.axis: (d, lying.dims[1:]) for d, s in cuts.lying.items() if (lying := s.results[k])}
        shape, layer, label = output.shape(sizes), {}, f"{program.name}-{k}-{token}"
        chunks = tuple(
            tuple(n * prod(sizes[e] for e in own[a][1]) for n in cuts.chunks[own[a][0]]) if a in own else (size,)
            for a, size in enumerate(shape)
        )
        for place in product(*(range(len(c)) for c in chunks)):
            at = {own[a][0]: place[a] for a in own}
            layer[label, *place] = (itemgetter(k), (name, *(at.get(d, 0) for d in dims)))
        layers = HighLevelGraph({**graph.layers, label: layer}, {**graph.dependencies, label: {name}})
        found.append(da.Array(layers, label, chunks, dtype=output.stored.numpy))
    return nest(program.structure, found)
