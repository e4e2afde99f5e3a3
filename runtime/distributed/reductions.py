"""``reduce`` over the ranks of a process group: each reduces its shard to a state, and states are combined in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ...compiler.errors import error
from ...compiler.program.frames import caller, outermost
from ...compiler.space.geometry import normalize_axes
from ..api import Axis
from ..api import reduce as reduce_array
from ..arrays.torch_compile import opaque
from ..calls.operands import Operands
from ..states.calls import cut_of, number_beside, partial, programs_of
from ..states.state import State
from .group import MOST_DIMS, Ranks, Shard
from .packing import Packing


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
        ArgumentError: on every rank, WF170 without a process group, WF171 for shards that do not fit together, WF172
            for a ``scatter`` that the ranks cannot share, WF174 for an order of elements that shards do not keep.
        BackendError: WF611 where another rank does not answer.
    """
    if what is None and len(xs) > 1:
        *xs, what = xs  # type: ignore[assignment]
    ranks = Ranks.of(group)
    arrays = Operands.of(xs, how.get("device", "auto"), None)
    rank = len(arrays.shape)
    axes, (cut_axis,) = normalize_axes(axis, rank), normalize_axes(shards, rank)
    if cut_axis not in axes:
        return reduce_array(*xs, what=what, axis=axes, keepdims=keepdims, where=where, nan=nan, **how)
    if rank > MOST_DIMS:
        raise error("WF174", problem=f"shards have {rank} axes: expected at most {MOST_DIMS}", where=caller())
    params = {name: value for name, value in how.items() if name not in ("determinism", "device", "plan")}
    cut = cut_of(what, arrays.types, params, masked=where is not None and where is not True, nan=nan)
    if cut_axis != axes[0] and (cut.numbers or not cut.monoid.commutative):
        problem = f"shards lie along axis {cut_axis}, and {cut.name} takes elements in the order of axis {axes[0]}"
        raise error("WF174", problem=problem, where=caller())
    shard = Shard(cut.digest, arrays.shape, axes, cut_axis)
    extents = ranks.extents(shard, xs[0]) if check else [arrays.shape[cut_axis]] * ranks.count
    others = int(np.prod([arrays.shape[a] for a in axes if a != cut_axis], dtype=object))
    counts = [n * others for n in extents]
    start = sum(counts[: ranks.own])
    some = [r for r, n in enumerate(counts) if n] or [0]
    if ranks.own in some:
        state = partial(*xs, what=what, axis=axes, where=where, nan=nan, start=start, **how)
    else:
        state = _empty(cut, arrays, axes, xs[0])
    travelled = _gathered(ranks, state) if scatter is None else _scattered(ranks, state, scatter)
    values = [v if len(some) == ranks.count else v[some] for v in travelled]
    return _finished(state, values, sum(counts), keepdims=keepdims)


def _empty(cut: Any, arrays: Operands, axes: tuple[int, ...], like: torch.Tensor) -> State:
    """The state of a rank without elements, which no other rank reads."""
    from ..arrays.conversion import allocate

    shape = tuple(n for a, n in enumerate(arrays.shape) if a not in axes)
    values = tuple(allocate(like, shape, t)[1]() for t in cut.monoid.state)
    return State(values, 0, 0, len(arrays.shape), axes, cut)


def _gathered(ranks: Ranks, state: State) -> list[torch.Tensor]:
    """The values of the states of all ranks, along a new first axis."""
    packing = Packing.of(state.values)
    return packing.unpacked(ranks.gathered(packing.packed(state.values)))


def _scattered(ranks: Ranks, state: State, axis: int) -> list[torch.Tensor]:
    """The same, of the part of the results that is this rank's."""
    (at,) = normalize_axes(axis, len(state.shape))
    if state.shape[at] % ranks.count:
        raise error("WF172", axis=axis, extent=state.shape[at], count=ranks.count, where=caller())
    parts = [v.chunk(ranks.count, at) for v in state.values]
    packing = Packing.of([p[0] for p in parts])
    rows = torch.stack([packing.packed([p[r] for p in parts]) for r in range(ranks.count)])
    return packing.unpacked(ranks.exchanged(rows))


def _finished(state: State, values: list[torch.Tensor], count: int, *, keepdims: bool) -> Any:
    """The results of states along the first axis."""
    if keepdims:
        rest = iter(values[0].shape[1:])
        shape = [1 if a in state.axes else next(rest) for a in range(state.rank)]
        values = [v.reshape((v.shape[0], *shape)) for v in values]
    return reduce_array(
        *values, number_beside(values[0], count), what=programs_of(state.cut)[2], axis=0, **state.options
    )
