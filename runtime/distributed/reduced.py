"""A call of ``reduce`` on shards, without its arrays: what is found out once, and repeated for calls that are alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import torch

from ...compiler.errors import error
from ...compiler.program.frames import caller
from ...compiler.program.states import Cut
from ...compiler.space.geometry import normalize_axes
from ..api import reduce as reduce_array
from ..states.folds import starts
from ..states.numbers import numbers_beside
from ..states.parts import programs_of
from .group import Ranks
from .packing import Memory, Packing, check_told
from .shard import Shard


class Reduced:
    """A kind of call of ``reduce`` on the ranks of a group, whose shards have certain extents.

    Each rank reduces its shard to a state, one gather brings all states, and each rank folds these in their order.
    """

    def __init__(
        self, shard: Shard, cut: Cut, extents: Sequence[int], ranks: Ranks, options: Mapping[str, Any],
        scatter: int | None, *, keepdims: bool,
    ) -> None:  # fmt: skip
        self._ranks, self._cut, self._axes, self._options = ranks, cut, shard.axes, options
        others = prod(shard.shape[a] for a in shard.axes if a != shard.axis)
        counts = [n * others for n in extents]
        some = [r for r, n in enumerate(counts) if n] or [*range(ranks.count)]
        self._some = None if len(some) == ranks.count else some
        self._leaves = ranks.own in some  # else no rank reads its state
        self._before, self._count = sum(counts[: ranks.own]), sum(counts)
        self._befores = [sum(counts[:r]) for r in some]
        self._scatter = scatter
        self._memory = Memory([Packing.of(cut, _results(shard))], ranks.count)
        self._part, _, self._finish = programs_of(cut)
        self._rank = len(shard.shape) if keepdims else 0
        self._lifted = cut.lifted
        self._numbers: dict[torch.device, tuple[Any, ...]] = {}

    def __call__(self, xs: Sequence[torch.Tensor], where: Any, nan: str, *, check: bool) -> Any:
        """The results for the shard of this rank; with ``check`` a rank that fails is an error on all."""
        (memory,) = self._memory.of(xs[0])
        failed = self._reduce(memory.states, xs, where, nan) if self._leaves else None
        told = check or nan == "raise" or not xs[0].is_cuda
        if self._scatter is None:
            memory.bring(self._ranks, failed, told=told)
            values = memory.rows
        else:
            values = self._exchanged(memory.states, self._scatter, failed, told=told)
        if failed is not None:
            raise failed
        if self._some is not None:
            values = [v[self._some] for v in values]
        if self._rank:
            values = [v.reshape(self._with_ones(v.shape)) for v in values]
        return reduce_array(*values, *self._numbers_of(values[0]), what=self._finish, axis=0, **self._options)

    def _reduce(
        self, states: Sequence[torch.Tensor], xs: Sequence[torch.Tensor], where: Any, nan: str
    ) -> Exception | None:
        """Leaves the state of the shard, or what it raises, which the others are told first."""
        before = (numbers_beside(xs[0], (self._before,), ()),) if self._lifted else ()
        options = self._options
        try:
            reduce_array(*xs, *before, what=self._part, axis=self._axes, where=where, nan=nan, out=states, **options)
        except Exception as e:
            return e
        return None

    def _exchanged(
        self, states: Sequence[torch.Tensor], axis: int, failed: Exception | None, *, told: bool
    ) -> list[torch.Tensor]:
        """The values of all ranks' states, of the part of the results that is this rank's."""
        ranks = self._ranks
        parts = [v.chunk(ranks.count, axis) for v in states]
        packing = Packing.of(self._cut, tuple(parts[0][0].shape))
        rows = packing.row(parts[0][0], ranks.count)
        for r in range(ranks.count):
            for place, p in zip(packing.unpacked(rows[r]), parts, strict=True):
                place.copy_(p[r])
        rows[:, -1] = failed is not None
        found = ranks.exchanged(rows)
        if told:
            check_told(found[:, -1], failed)
        return packing.unpacked(found)

    def _with_ones(self, shape: Sequence[int]) -> list[int]:
        """The shape of the states of all ranks, with the reduced axes."""
        rest = iter(shape[1:])
        return [shape[0], *(1 if a in self._axes else next(rest) for a in range(self._rank))]

    def _numbers_of(self, like: torch.Tensor) -> tuple[Any, ...]:
        """How many elements come before each state, where that is asked for, and how many there are."""
        found = self._numbers.get(like.device)
        if found is None:
            count = numbers_beside(like, (self._count,), ())
            found = self._numbers[like.device] = *starts(self._cut, like, self._befores), count
        return found


def axis_of_parts(scatter: int, shard: Shard, count: int) -> int:
    """The axis of the result of which each rank gets a part; WF172 where ranks cannot share it."""
    shape = _results(shard)
    (axis,) = normalize_axes((scatter,), len(shape))
    if shape[axis] % count:
        raise error("WF172", axis=scatter, extent=shape[axis], count=count, where=caller())
    return axis


def _results(shard: Shard) -> tuple[int, ...]:
    """The shape of the results."""
    return tuple(n for a, n in enumerate(shard.shape) if a not in shard.axes)
