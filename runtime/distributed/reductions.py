"""``reduce`` over the ranks of a process group: each reduces its shard to a state, and states are combined in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import torch

from ...compiler.errors import WarpfoldError, error
from ...compiler.program.frames import caller, outermost
from ...compiler.program.states import Cut
from ...compiler.space.geometry import normalize_axes
from ..api import Axis
from ..api import reduce as reduce_array
from ..arrays.torch_compile import opaque
from ..calls.operands import Operands
from ..states.folds import finished
from ..states.parts import cut_of, how_of, partial_of
from ..states.state import State
from .group import MOST_DIMS, Ranks, Shard
from .packing import Packing

OPTIONS = {"determinism": "run", "device": "auto", "plan": ""}
"""The options of ``wf.reduce`` that this one has, too, with their defaults; other keywords are parameters."""


@opaque
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
            and shards must have one extent.
        how: other keywords of ``wf.reduce``, but for ``out``.

    Raises:
        ArgumentError: on every rank, WF170 without a process group, WF171 for shards that do not fit together, WF169
            where another rank refuses its arguments, WF172 for a ``scatter`` that the ranks cannot share, WF174 for an
            order of elements that shards do not keep.
        BackendError: WF611 where another rank does not answer.
    """
    if what is None and len(xs) > 1:
        *xs, what = xs  # type: ignore[assignment]
    ranks = Ranks.of(group)
    try:
        shard, cut = _shard_of(xs, what, axis, shards, where, nan, how)
    except Exception:
        given = axis if isinstance(axis, tuple | list) else (axis,)
        if check and (axis is None or shards in given):  # else the others do not wait
            with suppress(WarpfoldError):  # what it would say is what the others say of this rank
                ranks.extents(Shard(), ranks.device(xs))
        raise
    rank, axes, cut_axis = len(shard.shape), shard.axes, shard.axis
    if cut is None:
        return reduce_array(*xs, what=what, axis=axes, keepdims=keepdims, where=where, nan=nan, **how)
    extents = ranks.extents(shard, xs[0].device) if check else [shard.shape[cut_axis]] * ranks.count
    others = int(np.prod([shard.shape[a] for a in axes if a != cut_axis], dtype=object))
    counts = [n * others for n in extents]
    some = [r for r, n in enumerate(counts) if n] or list(range(ranks.count))
    packing = Packing.of(cut, tuple(n for a, n in enumerate(shard.shape) if a not in axes))
    row = packing.row(xs[0])
    options = how_of(**{name: how.get(name, default) for name, default in OPTIONS.items()})
    state = State(tuple(packing.unpacked(row)), 0, 0, rank, axes, cut, options)
    if ranks.own in some:  # else no rank reads what is there
        before = sum(counts[: ranks.own])
        state = partial_of(xs, cut, shard.shape, axes, where, nan, before, options, out=state.values)
    travelled = packing.unpacked(ranks.gathered(row)) if scatter is None else _scattered(ranks, state, scatter)
    values = [v if len(some) == ranks.count else v[some] for v in travelled]
    if keepdims:
        rest = iter(values[0].shape[1:])
        kept = [1 if a in axes else next(rest) for a in range(rank)]
        values = [v.reshape((v.shape[0], *kept)) for v in values]
    return finished(state, values, [sum(counts[:r]) for r in some], sum(counts))


def _shard_of(
    xs: Sequence[Any], what: Any, axis: Axis, shards: int, where: Any, nan: str, how: Mapping[str, Any]
) -> tuple[Shard, Cut | None]:
    """The shard of this rank, and the reduction as one that is cut; None where the cut axis is kept."""
    arrays = Operands.of(xs, how.get("device", "auto"), None)
    rank = len(arrays.shape)
    axes, (cut_axis,) = normalize_axes(axis, rank), normalize_axes(shards, rank)
    if cut_axis not in axes:
        return Shard("", arrays.shape, axes, cut_axis), None
    if rank > MOST_DIMS:
        raise error("WF174", problem=f"shards have {rank} axes: expected at most {MOST_DIMS}", where=caller())
    params = {name: value for name, value in how.items() if name not in OPTIONS}
    cut = cut_of(what, arrays.types, params, masked=where is not None and where is not True, nan=nan)
    if cut_axis != axes[0] and (cut.numbers or not cut.monoid.commutative):
        problem = f"shards lie along axis {cut_axis}, and {cut.name} takes elements in the order of axis {axes[0]}"
        raise error("WF174", problem=problem, where=caller())
    return Shard(cut.digest, arrays.shape, axes, cut_axis), cut


def _scattered(ranks: Ranks, state: State, axis: int) -> list[torch.Tensor]:
    """The same, of the part of the results that is this rank's."""
    (at,) = normalize_axes(axis, len(state.shape))
    if state.shape[at] % ranks.count:
        raise error("WF172", axis=axis, extent=state.shape[at], count=ranks.count, where=caller())
    parts = [v.chunk(ranks.count, at) for v in state.values]
    packing = Packing.of(state.cut, tuple(parts[0][0].shape))
    rows = packing.row(parts[0][0], ranks.count)
    for r in range(ranks.count):
        for place, p in zip(packing.unpacked(rows[r]), parts, strict=True):
            place.copy_(p[r])
    return packing.unpacked(ranks.exchanged(rows))
