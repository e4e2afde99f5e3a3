"""The tasks of a reduction of Dask's arrays, which workers run: each may be run again, and gives the same bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from math import prod
from typing import Any

import numpy as np

from ...compiler.program.states import Cut
from ..arrays.dask_arrays import leaves
from .calls import finish, merge
from .carried import packed, unpacked
from .folds import merged
from .parts import partial_of
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
