"""Reductions of Dask's arrays: a task for the state of each chunk, a tree of merges, and one for each part of a result.

The tasks are Dask's own, so its schedulers run them, in threads, processes or on other machines; a worker with a GPU
uses it.

The tasks of a reduction of Dask's arrays, which workers run: each may be run again, and gives the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from math import isnan, prod
from operator import itemgetter
from typing import Any

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph

from ...compiler.dtypes import dtype
from ...compiler.errors import error
from ...compiler.program.frames import caller, outermost
from ...compiler.program.spelling import irreducible
from ...compiler.program.states import Cut
from ...compiler.program.tracing import nest
from ...compiler.space.geometry import normalize_axes
from ..arrays.dask_arrays import leaves, native
from ..options import DEFAULTS, check_options
from ..programs.dask_blocks import unfit
from .calls import finish, merge
from .carried import packed, unpacked
from .folds import merged
from .parts import cut_of, how_of, partial_of
from .state import State

TOGETHER = 16
"""States that one task merges."""
Tasks = dict[tuple[Any, ...], Any]
Part = tuple[tuple[Any, ...], int, int]
"""A state as it travels: its values, how many elements it has seen, and how many come before."""
Place = tuple[int, ...]


@dataclass(frozen=True)
class ChunkReduction:
    """How chunks are reduced to states, and states to results.

    Attributes:
        cut: the reduction.
        shape: the shape of the whole arrays.
        axes: the reduced axes.
        nan, how: the options of the calls.
        placed: whether states hold positions in the whole array, since chunks do not follow each other in its order.
        keepdims: keep the reduced axes in the results, with size 1.
    """

    cut: Cut
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    nan: str
    how: tuple[tuple[str, str], ...]
    placed: bool
    keepdims: bool

    def __reduce__(self) -> Any:
        rest = (self.shape, self.axes, self.nan, self.how, self.placed, self.keepdims)
        return _unpacked, (packed(self.cut), *rest)

    def __dask_tokenize__(self) -> Any:
        return self.cut.digest, self.shape, self.axes, self.nan, self.how, self.placed, self.keepdims

    def state(self, begins: list[int], *blocks: Any) -> Part:
        """The state of one chunk, which begins at these indices of the reduced axes."""
        xs, where = (blocks[:-1], blocks[-1]) if self.cut.masked else (blocks, None)
        own = [_aligned(np.asarray(x) if np.isscalar(x) else x) for x in xs]
        shape = np.shape(own[0])
        others = prod(self.shape[a] for a in self.axes[1:])
        start = 0 if self.placed or not begins else begins[0] * others
        found = partial_of(own, self.cut, shape, self.axes, where, self.nan, start, self.how)
        values = self._moved(found.values, begins, shape) if self.placed else found.values
        return values, found.count, found.start

    def _moved(self, values: Sequence[Any], begins: Sequence[int], shape: tuple[int, ...]) -> tuple[Any, ...]:
        """The values of a state, whose positions become those in the whole array."""
        moved = list(values)
        for k in self.cut.chosen:
            rest, at, step = values[k], 0, 1
            for a, begin in zip(reversed(self.axes), reversed(begins), strict=True):
                rest, own = rest // shape[a], rest % shape[a]
                at, step = at + (own + begin) * step, step * self.shape[a]
            none = self.cut.monoid.identity[k]
            moved[k] = np.where(values[k] == none, values[k], at)  # of no elements the identity remains
        return tuple(moved)

    def merge(self, parts: Sequence[Part]) -> Part:
        """The state of several, in their order."""
        states = [self._whole(part) for part in parts]
        found = merged(states, [0] * len(states)) if self.placed else merge(*states)
        return found.values, found.count, found.start

    def finish(self, part: Part) -> tuple[Any, ...]:
        """The results of a state, in a flat sequence."""
        return tuple(leaves(finish(self._whole(part), keepdims=self.keepdims)))

    def _whole(self, part: Part) -> State:
        return State(*part, len(self.shape), self.axes, self.cut, self.how)

    def tasks(self, names: Sequence[str], chunks: tuple[tuple[int, ...], ...], token: str) -> Tasks:
        """The tasks, up to those of the results: of arrays of these names, with the same chunks."""
        begins = [[0, *accumulate(own)] for own in chunks]
        made: Tasks = {}
        groups: dict[Place, list[tuple[Any, ...]]] = {}
        for place in product(*(range(len(own)) for own in chunks)):
            group = groups.setdefault(tuple(0 if a in self.axes else i for a, i in enumerate(place)), [])
            if prod(self.shape[a] for a in self.axes) and not prod(chunks[a][place[a]] for a in self.axes):
                continue  # an empty chunk has no state where the monoid has no identity
            key = (f"state-{token}", *place)
            made[key] = (self.state, [begins[a][place[a]] for a in self.axes], *((name, *place) for name in names))
            group.append(key)
        for place, level in groups.items():
            made |= self._ends(place, level, token)
        return made

    def _ends(self, place: Place, level: list[tuple[Any, ...]], token: str) -> Tasks:
        """The tasks from states to the results of one place among the kept chunks."""
        made: Tasks = {}
        depth = 0
        while len(level) > 1:
            parts = [level[i : i + TOGETHER] for i in range(0, len(level), TOGETHER)]
            level = [(f"merge-{token}", depth, *place, i) for i in range(len(parts))]
            made |= {key: (self.merge, part) for key, part in zip(level, parts, strict=True)}
            depth += 1
        made[f"finish-{token}", *place] = (self.finish, level[0])
        return made


def _unpacked(data: bytes, *rest: Any) -> ChunkReduction:
    return ChunkReduction(unpacked(data), *rest)


def _aligned(x: Any) -> Any:
    """``x``, or a copy: what comes from another process may lie at any byte."""
    return x.copy() if isinstance(x, np.ndarray) and not x.flags.aligned else x


@outermost
def reduce(*xs: Any, what: Any = None, axis: Any = None, where: Any = None, **how: Any) -> Any:
    """Reduces arrays of Dask, or what it makes such of, to arrays of Dask; ``wf.reduce`` and the rest take them, too.

    >>> import dask.array as da
    >>> import warpfold.dask
    >>> warpfold.dask.reduce(da.arange(10, chunks=4), "max").compute()
    np.int64(9)

    Args:
        xs: as in ``wf.reduce``; ``what`` may follow them as the last positional argument.
        what: as in ``wf.reduce``.
        axis: as in ``wf.reduce``.
        where: as in ``wf.reduce``, of bools.
        how: other keywords of ``wf.reduce``, but for ``out``.

    Raises:
        ArgumentError: WF190 for what a graph cannot hold; WF191 for chunks that do not keep the order of the elements.
    """
    if what is None:
        if len(xs) < 2:
            raise irreducible(None, "nothing", where=caller())
        *xs, what = xs  # type: ignore[assignment]
    return reduced_in_dask(xs, what, axis, how.pop("out", None), where, how)


def reduced_in_dask(xs: Sequence[Any], what: Any, axis: Any, out: Any, where: Any, how: Mapping[str, Any]) -> Any:
    """``reduce`` of arrays of Dask: arrays of Dask, nested as results are.

    Raises:
        ArgumentError: WF190 for ``out=``, for chunks of unknown sizes and for masks of bits; WF191 for chunks that do
            not keep the order of the elements.
    """
    given = DEFAULTS | {name: value for name, value in how.items() if name in DEFAULTS}
    params = {name: value for name, value in how.items() if name not in DEFAULTS}
    check_options(nan=given["nan"], determinism=given["determinism"])
    if out is not None:
        raise unfit("out= cannot be given, since results are not there yet", "leave out= out")
    masked = where is not None and where is not True
    arrays = alike([*xs, *([where] if masked else [])], masked=masked)
    first = arrays[0]
    axes = normalize_axes(axis, first.ndim)
    types = [dtype(x.dtype.newbyteorder("=")) for x in arrays[: len(xs)]]  # chunks are converted when they are reduced
    cut = cut_of(what, types, params, masked=masked, nan=given["nan"])
    options = how_of(given["determinism"], given["device"], given["plan"])
    placed = _placed(cut, axes, first.numblocks)
    reduction = ChunkReduction(cut, first.shape, axes, given["nan"], options, placed, given["keepdims"])
    names = [x.name for x in arrays]
    token = tokenize(names, reduction)
    tasks = reduction.tasks(names, first.chunks, token)
    return _results(HighLevelGraph.from_collections(f"states-{token}", tasks, arrays), reduction, first, token)


def alike(xs: Sequence[Any], *, masked: bool = False) -> list[Any]:
    """Arrays, the last of which may be a mask, as Dask's, of one shape and with the same chunks."""
    arrays = [native(da.asarray(x)) for x in xs]
    if masked and arrays[-1].dtype.kind != "b":
        problem = f"where= has elements of {arrays[-1].dtype}, and chunks have no words of a whole mask"
        raise unfit(problem, "pass the mask as an array of bool")
    if any(isnan(n) for x in arrays for n in x.shape):
        raise unfit("the sizes of its chunks are unknown", "compute them first: x.compute_chunk_sizes()")
    shaped = da.broadcast_arrays(*arrays) if len(arrays) > 1 else arrays
    names = tuple(range(shaped[0].ndim))
    _, found = da.core.unify_chunks(*(item for x in shaped for item in (x, names)))
    return list(found)


def _placed(cut: Cut, axes: tuple[int, ...], numblocks: tuple[int, ...]) -> bool:
    """Whether states must hold positions in the whole array: where chunks do not follow each other in its order.

    Raises:
        ArgumentError: WF191 where the order of elements counts in another way.
    """
    among = [a for a in axes if numblocks[a] > 1]
    in_order = among in ([], [*axes[:1]])
    if in_order or (cut.monoid.commutative and not cut.numbers):
        return False
    if not cut.monoid.commutative or cut.lifted:
        raise error("WF191", name=cut.name, axes=tuple(among), first=axes[0], where=caller())
    return True


def _results(graph: HighLevelGraph, reduction: ChunkReduction, first: Any, token: str) -> Any:
    """The results as arrays, nested as the reduction says."""
    axes, keepdims = reduction.axes, reduction.keepdims
    kept = [a for a in range(first.ndim) if keepdims or a not in axes]
    chunks = tuple((1,) if a in axes else first.chunks[a] for a in kept)
    found, traced = [], reduction.cut.traced()
    for k, t in enumerate(traced.results):
        name, layer = f"{reduction.cut.name}-{k}-{token}", {}
        for place in product(*(range(len(own)) for own in chunks)):
            at = dict(zip(kept, place, strict=True))
            whole = (at.get(a, 0) for a in range(first.ndim))
            layer[name, *place] = (itemgetter(k), (f"finish-{token}", *whole))
        layers = {**graph.layers, name: layer}
        depends = {**graph.dependencies, name: {f"states-{token}"}}
        found.append(da.Array(HighLevelGraph(layers, depends), name, chunks, dtype=t.numpy))
    return nest(traced.structure, found)
