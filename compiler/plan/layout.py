"""The layout of a plan: which element each thread owns, as a value.

A *layout* is a list of *modes*. A mode is one digit of a level's number: it says how many values the digit has, along
which axis it counts, and how far apart two neighbouring values are there. Take a sum over the rows of ``x[4][96]`` by
``Plan(fast="reduced", vector=4, lanes=8)``: eight lanes share a row, and each access reads four elements. ::

                 elements 0..3   4..7    8..11   ...  28..31 | 32..35 ...  60..63 | 64..67 ...
        row 0         lane 0    lane 1   lane 2  ...  lane 7 | lane 0 ...  lane 7 | lane 0 ...
        row 1         lane 8    lane 9   lane 10 ...  lane 15| lane 8 ...
        row 2         lane 16   lane 17  lane 18 ...  lane 23| lane 16 ...
        row 3         lane 24   lane 25  lane 26 ...  lane 31| lane 24 ...
                      `------------- step 0 -----------------' `--- step 1 ----'  `-- step 2

    vector: 4 along reduced, 1 apart      lane: 8 along reduced, 4 apart, then 4 along kept, 1 apart
    step:   along reduced, 32 apart       (warps and CTAs follow in the same way)

Lane 13 has the digits 13 % 8 = 5 and 13 // 8 = 1: in step 2 it reads row 1 from element 5 * 4 + 2 * 32 = 84 on. The
eight lanes share a result, so the stages of the kernel include a warp reduction over 8 lanes at distance 1.

With ``walk="blocked"`` the modes are the same in another order: the step comes before the lane, so a thread's elements
follow each other, and neighbouring lanes are one *piece* apart, which the launch knows. A program without a fold has
pieces of ``held`` elements. Where lanes ``meet`` in ``steps``, the step comes between the lane and the warp: a piece is
a warp's.

``modes.py`` has the layout as a value, and the formula that finds an element.
"""

from __future__ import annotations

from functools import lru_cache

from ..target import WARP
from .modes import Axis, Layout, Mode, Rows, Unit
from .plan import Plan
from .rounds import second_plan


@lru_cache(maxsize=4096)
def layout_of(plan: Plan) -> Layout:
    """The layout of a plan.

    It does not say where an axis ends, nor by how much accesses begin early that must begin at a boundary: offsets
    count from where a CTA's accesses begin.
    """
    rows = Rows(plan.vector, plan.vector - 1) if plan.walk == "padded" else Rows(plan.slots)
    along = _along_rows if plan.walk == "period" else _in_steps if plan.meets_in_steps else _along_two_axes
    return Layout(along(plan), rows)


def rows_of_states(plan: Plan) -> Rows:
    """The rows of partial states, which CTAs leave for each other: whole vectors of the round over them."""
    return Rows(second_plan(plan).vector_kept)


def _along_two_axes(plan: Plan) -> tuple[Mode, ...]:
    """The modes of threads along the elements and along the results; where rows are runs, warps are along their pieces.

    Columns of staggered warps begin where the launch says, and so do the results of a CTA that copies their elements.
    """
    blocked = plan.walk == "blocked" and not plan.exchanges
    taken: Axis = "piece" if plan.walk == "runs" else "reduced"
    unit: Unit = "piece" if blocked and not plan.held else ""
    slots = plan.warps_kept * plan.lanes_kept * plan.vector_kept
    along = plan.vector_reduced * plan.lanes * (plan.warps if taken == "reduced" else 1)
    apart = plan.held or 1 if blocked else plan.vector_reduced
    each = 1
    vector = Mode("vector", plan.vector, "reduced" if plan.fast == "reduced" else "kept", 1)
    step = Mode("vector" if plan.walk == "whole" else "step", None, "reduced", 1 if blocked else along)
    if plan.is_chain and plan.fast == "reduced":  # each warp has a segment: one access of its lanes after another
        step, each = Mode("step", plan.held, "reduced", plan.vector_reduced * plan.lanes), plan.held
    elif plan.is_chain:  # each lane has elements of its own, and the next lane those behind them
        step, apart = Mode("step", plan.held, "reduced", 1), plan.held
    lanes = [
        Mode("lane", plan.lanes, "reduced", apart, unit),
        Mode("lane", plan.lanes_kept, "kept", plan.vector_kept),
    ]
    warps = [
        Mode("warp", plan.warps, taken, plan.lanes * apart * each if taken == "reduced" else 1, unit),
        Mode("warp", plan.warps_kept, "kept", plan.lanes_kept * plan.vector_kept),
    ]
    threads = [*(lanes if plan.fast == "reduced" else reversed(lanes)), *warps]
    if plan.tile_bytes and plan.resident and plan.fast == "reduced":  # so the rows of a warp begin at different banks
        apart_kept = Mode("lane", plan.lanes_kept, "kept", plan.warps_kept)
        threads = [lanes[0], warps[0], Mode("warp", plan.warps_kept, "kept", 1), apart_kept]
    turns = [Mode("turn", None, "piece", plan.warps)] if taken == "piece" else []
    grid = [Mode("cluster", plan.cluster, taken, 1, "chunk"), Mode("grid_y", None, taken, plan.cluster, "chunk")]
    if plan.tile_bytes:
        grid += [Mode("turn", None, "kept", slots), Mode("grid_x", None, "kept", 1, "results")]
    elif plan.walk == "staggered":
        grid += [Mode("grid_x", None, "kept", 1, "pitch")]
    else:
        grid += [Mode("grid_x", None, "kept", slots)]
    if plan.is_chain and plan.fast == "reduced":
        return (vector, *threads[:2], step, *threads[2:], *grid)
    return (vector, *([step, *threads] if blocked or plan.is_chain else [*threads, step]), *turns, *grid)


def _in_steps(plan: Plan) -> tuple[Mode, ...]:
    """The modes of lanes that meet in each step: the steps of a warp follow each other, and those of the next warp.

    So do the pieces of runs that a warp takes.
    """
    taken: Axis = "piece" if plan.walk == "runs" else "reduced"
    turns = [Mode("turn", None, "piece", 1)] if taken == "piece" else []
    return (
        Mode("vector", plan.vector, "reduced", 1),
        Mode("lane", plan.lanes, "reduced", plan.vector),
        Mode("lane", plan.lanes_kept, "kept", 1),
        Mode("step", None, "reduced", plan.lanes * plan.vector),
        *turns,
        Mode("warp", plan.warps, taken, 1, "piece"),
        Mode("warp", plan.warps_kept, "kept", plan.lanes_kept),
        Mode("cluster", plan.cluster, taken, 1, "chunk"),
        Mode("grid_y", None, taken, plan.cluster, "chunk"),
        Mode("grid_x", None, "kept", plan.slots),
    )


def _along_rows(plan: Plan) -> tuple[Mode, ...]:
    """The modes of threads along the rows of a period, which are read as one: a chunk counts the elements of these."""
    return (
        Mode("vector", plan.vector, "flat", 1),
        Mode("lane", WARP, "flat", plan.vector),
        Mode("warp", plan.threads // WARP, "flat", WARP * plan.vector),
        Mode("step", None, "flat", 1, "period"),
        Mode("grid_y", None, "flat", 1, "chunk"),
        Mode("grid_x", None, "kept", 1, "columns"),
    )
