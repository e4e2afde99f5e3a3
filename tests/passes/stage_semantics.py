"""The meaning of each stage op in NumPy, over the threads of a CTA, and the meaning of a whole plan made of them.

A state is a tuple of arrays [threads, width], one for each value of the monoid; ``width`` is the number of results of a
thread. A combine takes two states and gives one. Every fold goes strictly from left to right: the passes may build
trees, but an associative combine on integers must not show the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from warpfold.compiler.plan.arithmetic import INTEGERS
from warpfold.compiler.plan.launch import Launch
from warpfold.compiler.plan.layout import layout_of
from warpfold.compiler.plan.plan import Plan
from warpfold.compiler.target import WARP

State = tuple[Any, ...]
Combine = Callable[[State, State], State]


def pick(mask: Any, yes: State, no: State) -> State:
    """The state ``yes`` where ``mask`` holds, elsewhere ``no``."""
    return tuple(np.where(mask, y, n) for y, n in zip(yes, no, strict=True))


def thread_reduce(
    state: State, body: Callable[[Any], State], begin: Any, end: Any, step: int, width: int, combine: Combine
) -> State:
    """fold.thread_reduce: each thread's own elements, ``width`` of them at begin, begin + step, ... below ``end``."""
    start = begin.copy()
    while (start < end).any():
        for element in range(width):
            at = start + element
            state = pick(((start < end) & (at < end))[:, None], combine(state, body(at)), state)
        start = start + step
    return state


def joined_reduce(
    state: State, body: Callable[[Any], State], begin: Any, end: Any, step: int, width: int, combine: Combine,
    lanes: int,
) -> State:  # fmt: skip
    """fold.thread_reduce of ``lanes`` that join what they have in each step; ``state`` is the identity."""
    nothing, start = state, begin.copy()
    while (start < end).any():
        own = thread_reduce(nothing, body, start, np.minimum(end, start + width), step, width, combine)
        state = combine(state, warp_reduce(own, lanes, 1, combine))
        start = start + step
    return state


def warp_reduce(state: State, lanes: int, stride: int, combine: Combine) -> State:
    """fold.warp_reduce: each lane gets the states of the ``lanes`` lanes of its group, lower lanes on the left."""
    threads = np.arange(len(state[0]))
    base = threads - threads // stride % lanes * stride
    return reduce(combine, (tuple(v[base + i * stride] for v in state) for i in range(lanes)))


def shared_store(state: State, row: Any, slot: Any, on: Any, rows: int, slots: int) -> State:
    """fold.shared_store: buffers [rows, slots]; a thread of several results writes neighbouring slots."""
    buffers = tuple(np.zeros((rows, slots), v.dtype) for v in state)
    for buffer, v in zip(buffers, state, strict=True):
        for j in range(v.shape[1]):
            buffer[row[on], slot[on] + j] = v[on, j]
    return buffers


def interwarp_accumulate(buffers: State, slot: Any, width: int, combine: Combine) -> State:
    """fold.interwarp_accumulate: each thread gets the states of all rows of its slots, lower rows on the left."""
    columns = slot[:, None] + np.arange(width)
    return reduce(combine, (tuple(b[row][columns] for b in buffers) for row in range(len(buffers[0]))))


def cta_reduce(state: State, position: Any, slot: Any, combine: Combine) -> State:
    """fold.cta_reduce: each thread gets the states of all positions of its slot, lower positions on the left."""
    rows, width = position.max() + 1, state[0].shape[1]
    everywhere = np.ones(len(position), bool)
    buffers = shared_store(state, position, slot, everywhere, rows, slot.max() + width)
    return interwarp_accumulate(buffers, slot, width, combine)


def cluster_reduce(state: State, number: Any, lane: Any, slot: Any, ctas: int, rows: int, combine: Combine) -> State:
    """fold.cluster_reduce: each thread gets the states of all warps of its slot, by their ``number`` in the cluster."""
    width = state[0].shape[1]
    buffers = shared_store(state, number, slot, lane == 0, ctas * rows, slot.max() + width)
    return interwarp_accumulate(buffers, slot, width, combine)


def grid_finish(partials: State, combine: Combine) -> State:
    """fold.grid_finish: the states [parts, kept] of all CTAs, lower ones on the left."""
    return reduce(combine, (tuple(p[part] for p in partials) for part in range(len(partials[0]))))


def whole_plan(plan: Plan, run: Launch, elements: Sequence[Any], identity: Sequence[int], combine: Combine) -> State:
    """The final states [kept] of a plan over ``elements`` [kept, reduced], one array per value of the state."""
    n_kept = elements[0].shape[0]
    partials = tuple(np.zeros((run.split, n_kept), e.dtype) for e in elements)
    for tile in range(run.tiles):
        for part in range(run.split):
            _cta(plan, run, (tile, part), elements, identity, combine, partials)
    return grid_finish(partials, combine)


def _cta(
    plan: Plan, run: Launch, cta: tuple[int, int], elements: Sequence[Any], identity: Sequence[int], combine: Combine,
    partials: State,
) -> None:  # fmt: skip
    """One CTA's states, written into its row of ``partials``."""
    n_kept, n_reduced = elements[0].shape
    layout, threads, (tile, part) = layout_of(plan), np.arange(plan.threads), cta
    digits = layout.digits({"lane": threads % WARP, "warp": threads // WARP}, INTEGERS)
    slot, row = layout.offset("kept", digits, INTEGERS), layout.position(digits, INTEGERS)
    kept = (tile * plan.slots + slot)[:, None] + np.arange(plan.vector_kept)
    piece = layout.piece(run.chunk, INTEGERS) if layout.ordered else 0
    begin = part * run.chunk + layout.offset("reduced", digits, INTEGERS, {"piece": piece})
    end = np.full(plan.threads, min((part + 1) * run.chunk, n_reduced))
    first = begin - digits["lane", "reduced"] * plan.vector if plan.meets_in_steps else begin
    end = np.minimum(end, first + piece) if layout.ordered else end
    inside = kept.clip(0, n_kept - 1)

    def body(at: Any) -> State:
        return tuple(e[inside, at.clip(0, n_reduced - 1)[:, None]] for e in elements)

    pairs = zip(elements, identity, strict=True)
    state: State = tuple(np.full(kept.shape, value, e.dtype) for e, value in pairs)
    walk = state, body, begin, end, layout.step, plan.vector_reduced, combine
    state = joined_reduce(*walk, plan.lanes) if plan.meets_in_steps else thread_reduce(*walk)
    if plan.cta != "shuffle":
        state = cta_reduce(state, row, slot, combine)
    elif plan.lanes > 1 and not plan.meets_in_steps:
        state = warp_reduce(state, plan.lanes, layout_of(plan).distance("lane", "reduced"), combine)
    if plan.cta == "shuffle" and plan.warps > 1:
        buffers = shared_store(state, row // plan.lanes, slot, row % plan.lanes == 0, plan.warps, plan.slots)
        state = interwarp_accumulate(buffers, slot, plan.vector_kept, combine)
    assert plan.threads % WARP == 0
    owner = (row == 0)[:, None] & (kept < n_kept)
    for partial, v in zip(partials, state, strict=True):
        partial[part, kept[owner]] = v[owner]
