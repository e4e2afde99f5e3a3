"""``reduce`` over the ranks of a process group: each reduces its shard to a state, and states are combined in order.

A call of ``reduce`` on shards, without its arrays: what is found out once, and repeated for calls that are alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import torch

from ...compiler.errors import error
from ...compiler.program.frames import caller, outermost
from ...compiler.program.states import Cut
from ...compiler.space.geometry import normalize_axes
from ..api import Axis
from ..api import reduce as reduce_array
from ..arrays.pytorch import are_tracked
from ..arrays.torch_compile import opaque
from ..programs.reductions import kinds_of
from ..states.folds import starts
from ..states.numbers import numbers_beside
from ..states.parts import cut_of, programs_of
from .group import MOST_DIMS, Ranks, check_tensors
from .known_calls import KnownCall, KnownCalls, key_of
from .packing import Memory, Packing, check_told
from .shard import Shard
from .together import together


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


OPTIONS = {"determinism": "run", "device": "auto", "plan": ""}
"""The options of ``wf.reduce`` that this one has, too, with their defaults; other keywords are parameters."""


@opaque
@together
@outermost
def reduce(
    *xs: Any, what: Any = None, axis: Axis = None, group: Any = None, shards: int = 0, scatter: int | None = None,
    keepdims: bool = False, where: Any = None, nan: str = "propagate", check: bool = True, **how: Any,
) -> Any:  # fmt: skip
    """Reduces tensors that are cut into shards along one axis, of which each rank has one.

    Where the axis is kept, nothing travels. Where it is reduced, each rank reduces its shard to a state, the states are
    gathered by one collective call on the caller's stream, and every rank combines them in the order of the ranks. So
    monoids that do not commute work, and the bits do not depend on timing.

    Args:
        xs: the shards of this rank, tensors of PyTorch; ``what`` may follow them as the last positional argument.
        what: as in ``wf.reduce``.
        axis: as in ``wf.reduce``.
        group: the process group, None for the default one.
        shards: the axis that is cut. Shards may have different extents along it.
        scatter: an axis of the result. Each rank then gets its part of it, as many indices as any other rank, and
            sends each state to the rank that needs it.
        keepdims: as in ``wf.reduce``.
        where: as in ``wf.reduce``, for the shard.
        nan: as in ``wf.reduce``.
        check: compare the shards of all ranks first, which waits for the device. Without it ranks that disagree hang,
            and shards must have one extent, or numbers of elements and positions are wrong.
        how: other keywords of ``wf.reduce``, but for ``out``.

    Raises:
        ArgumentError: on every rank, WF170 without a process group, WF171 for shards that do not fit together, WF169
            where another rank cannot make its call, WF172 for a ``scatter`` that the ranks cannot share, WF174 for an
            order of elements that shards do not keep.
        BackendError: WF611 where another rank does not answer.
    """
    if what is None and len(xs) > 1:
        *xs, what = xs  # type: ignore[assignment]
    ranks = Ranks.of(group)
    call = _known(xs, what, axis, shards, where, nan, how)
    shard = call.shard
    if shard.axis not in shard.axes:
        found = reduce_array(*xs, what=what, axis=shard.axes, keepdims=keepdims, where=where, nan=nan, **how)
        if check:  # behind the work, so that what it raises is told
            shard.extents(ranks, xs)
        return found
    part = None if scatter is None else axis_of_parts(scatter, shard, ranks.count)
    if check:
        extents = (shard if part is None else replace(shard, scatter=part)).extents(ranks, xs)
    else:
        extents = (shard.shape[shard.axis],) * ranks.count
    return call.reduced(extents, ranks, part, keepdims=bool(keepdims))(xs, where, nan, check=check)


class _Known(KnownCall):
    """A kind of call of ``reduce`` on this rank, and what was found out about it.

    Attributes:
        shard: the shard of this rank.
    """

    def __init__(self, what: Any, shard: Shard, cut: Cut, how: Mapping[str, Any]) -> None:
        super().__init__(what)
        self.shard, self._cut = shard, cut
        self._options = {name: how.get(name, default) for name, default in OPTIONS.items()}

    def reduced(self, extents: tuple[int, ...], ranks: Ranks, scatter: int | None, *, keepdims: bool) -> Reduced:
        """What runs it where all ranks have these extents."""
        return self.once(
            (extents, ranks, scatter, keepdims),
            lambda: Reduced(self.shard, self._cut, extents, ranks, self._options, scatter, keepdims=keepdims),
        )


_calls: KnownCalls[_Known] = KnownCalls()


def _known(
    xs: Sequence[Any], what: Any, axis: Axis, shards: int, where: Any, nan: str, how: Mapping[str, Any]
) -> _Known:
    """What is known of a call; raises as ``_shard_of``."""
    key = None if are_tracked(xs) else key_of(what, (*xs, where, axis, shards, nan), how, "reduce")
    return _calls.of(key, lambda: _Known(what, *_shard_of(xs, what, axis, shards, where, nan, how), how))


def _shard_of(
    xs: Sequence[Any], what: Any, axis: Axis, shards: Any, where: Any, nan: str, how: Mapping[str, Any]
) -> tuple[Shard, Cut]:
    """The shard of this rank, and the reduction as one that is cut."""
    device = how.get("device", "auto")
    check_tensors("warpfold.distributed.reduce", xs, device)
    if shards is None or isinstance(shards, tuple | list):
        raise error("WF174", problem=f"shards= is {shards!r}: expected the one axis that is cut", where=caller())
    types, shape = kinds_of(xs, device)
    rank = len(shape)
    axes, (cut_axis,) = normalize_axes(axis, rank), normalize_axes(shards, rank)
    params = {name: value for name, value in how.items() if name not in OPTIONS}
    cut = cut_of(what, types, params, masked=where is not None and where is not True, nan=nan)
    if cut_axis in axes and rank > MOST_DIMS:
        raise error("WF174", problem=f"shards have {rank} axes: expected at most {MOST_DIMS}", where=caller())
    if cut_axis in axes[1:] and (cut.numbers or not cut.monoid.commutative):
        problem = f"shards lie along axis {cut_axis}, and {cut.name} takes elements in the order of axis {axes[0]}"
        raise error("WF174", problem=problem, where=caller())
    return Shard(cut.digest, shape, axes, cut_axis), cut
