"""Reductions of Dask's arrays: a task for the state of each chunk, a tree of merges, and one for each part of a result.

The tasks are Dask's own, so its schedulers run them, in threads, processes or on other machines; a worker with a GPU
uses it. A task that is run again gives the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial as bind
from itertools import product
from math import isnan, prod
from operator import itemgetter
from typing import Any

import numpy as np

from ...compiler.dtypes import dtype
from ...compiler.errors import error
from ...compiler.program.frames import caller
from ...compiler.program.tracing import nest
from ...compiler.space.geometry import normalize_axes
from ..options import DEFAULTS, check_options
from .calls import finish, merge
from .parts import cut_of, how_of, partial_of
from .state import State

TOGETHER = 16
"""States that one task merges."""


def reduced_in_dask(xs: Sequence[Any], what: Any, axis: Any, out: Any, where: Any, how: Mapping[str, Any]) -> Any:
    """``reduce`` of arrays of Dask: arrays of Dask, nested as results are.

    Raises:
        ArgumentError: WF190 for ``out=`` and for chunks of unknown sizes; WF191 for chunks that do not keep the order
            of the elements.
    """
    import dask.array as da

    if out is not None:
        raise error("WF190", problem="out= cannot be given, since results are not there yet", where=caller())
    given = DEFAULTS | {name: value for name, value in how.items() if name in DEFAULTS}
    params = {name: value for name, value in how.items() if name not in DEFAULTS}
    check_options(nan=given["nan"], determinism=given["determinism"])
    masked = where is not None and where is not True
    arrays = _alike([*xs, *([where] if masked else [])])
    first = arrays[0]
    if any(isnan(n) for n in first.shape):
        raise error("WF190", problem="the sizes of its chunks are unknown", where=caller())
    axes = normalize_axes(axis, first.ndim)
    types = [dtype(x.dtype) for x in arrays[: len(xs)]]
    cut = cut_of(what, types, params, masked=masked, nan=given["nan"])
    cut_along = [a for a in axes if first.numblocks[a] > 1]
    if cut_along not in ([], [axes[0]]) and (cut.numbers or not cut.monoid.commutative):
        raise error("WF191", name=cut.name, axes=tuple(cut_along), first=axes[0], where=caller())
    options = how_of(given["determinism"], given["device"], given["plan"])
    make = bind(_state, cut=cut, axes=axes, masked=masked, nan=given["nan"], how=options)
    states = _merged(_states(arrays, axes, make), axes, first.numblocks)
    found = cut.traced()
    blocks = [_results(states, first, axes, k, t, keepdims=given["keepdims"]) for k, t in enumerate(found.results)]
    return nest(found.structure, [da.block(b) if isinstance(b, list) else b for b in blocks])


def _alike(arrays: Sequence[Any]) -> list[Any]:
    """Arrays as Dask's, of one shape and with the same chunks."""
    import dask.array as da

    shaped = da.broadcast_arrays(*(da.asarray(x) for x in arrays)) if len(arrays) > 1 else [da.asarray(arrays[0])]
    names = tuple(range(shaped[0].ndim))
    _, found = da.core.unify_chunks(*(item for x in shaped for item in (x, names)))
    return list(found)


def _state(*blocks: Any, start: int, cut: Any, axes: tuple[int, ...], masked: bool, nan: str, how: Any) -> State:
    """The state of one chunk, whose first element of a result has so many before it."""
    xs, where = (blocks[:-1], blocks[-1]) if masked else (blocks, None)
    return partial_of(
        [np.asarray(x) if np.isscalar(x) else x for x in xs], cut, np.shape(xs[0]), axes, where, nan, start, how
    )


def _states(arrays: Sequence[Any], axes: tuple[int, ...], make: Any) -> dict[tuple[int, ...], Any]:
    """A task for each chunk, by its place."""
    import dask

    first = arrays[0]
    blocks = [x.to_delayed(optimize_graph=False) for x in arrays]
    others = prod(first.shape[a] for a in axes[1:])
    begins = np.cumsum([0, *first.chunks[axes[0]]]) if axes else [0]
    task = dask.delayed(make, pure=True)
    return {
        place: task(*(b[place] for b in blocks), start=int(begins[place[axes[0]]]) * others if axes else 0)
        for place in product(*map(range, first.numblocks))
    }


def _merged(
    states: Mapping[tuple[int, ...], Any], axes: tuple[int, ...], numblocks: tuple[int, ...]
) -> dict[tuple[int, ...], Any]:
    """One task for each place among the kept chunks: the state of all chunks along the reduced axes, in order."""
    import dask

    groups: dict[tuple[int, ...], list[Any]] = {}
    for place in product(*map(range, numblocks)):
        groups.setdefault(tuple(0 if a in axes else i for a, i in enumerate(place)), []).append(states[place])
    task, found = dask.delayed(_merge, pure=True), {}
    for place, own in groups.items():
        level = own
        while len(level) > 1:
            level = [task(level[i : i + TOGETHER]) for i in range(0, len(level), TOGETHER)]
        found[place] = level[0]
    return found


def _merge(states: Sequence[State]) -> State:
    return merge(*states)


def _results(
    states: Mapping[tuple[int, ...], Any], first: Any, axes: tuple[int, ...], number: int, t: Any, *, keepdims: bool
) -> Any:
    """A result as nested lists of its chunks."""
    import dask
    import dask.array as da

    task = dask.delayed(bind(_finished, keepdims=keepdims), pure=True)
    kept = [a for a in range(first.ndim) if keepdims or a not in axes]

    def block(place: tuple[int, ...]) -> Any:
        shape = tuple(1 if a in axes else first.chunks[a][place[a]] for a in kept)
        leaf = dask.delayed(itemgetter(number), pure=True)(task(states[place]))
        return da.from_delayed(leaf, shape, dtype=t.numpy)

    def nested(left: Sequence[int], place: dict[int, int]) -> Any:
        if not left:
            return block(tuple(place.get(a, 0) for a in range(first.ndim)))
        count = 1 if left[0] in axes else first.numblocks[left[0]]
        return [nested(left[1:], {**place, left[0]: i}) for i in range(count)]

    return nested(kept, {})


def _finished(state: State, *, keepdims: bool) -> tuple[Any, ...]:
    """The results of a state, in a flat sequence."""
    return tuple(_leaves(finish(state, keepdims=keepdims)))


def _leaves(results: Any) -> list[Any]:
    return [leaf for member in results for leaf in _leaves(member)] if isinstance(results, tuple) else [results]
