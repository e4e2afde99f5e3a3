"""``reduce`` over the ranks of a process group: each reduces its shard to a state, and states are combined in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...compiler.errors import error
from ...compiler.program.frames import caller, outermost
from ...compiler.program.states import Cut
from ...compiler.space.geometry import normalize_axes
from ..api import Axis
from ..api import reduce as reduce_array
from ..arrays.pytorch import are_tracked
from ..arrays.torch_compile import opaque
from ..programs.reductions import kinds_of
from ..states.parts import cut_of
from .group import MOST_DIMS, Ranks, check_tensors
from .known_calls import KnownCall, KnownCalls, key_of
from .reduced import Reduced, axis_of_parts
from .shard import Shard
from .together import together

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
