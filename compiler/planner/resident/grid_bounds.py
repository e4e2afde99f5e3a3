"""Which rows the grid shares: why another plan is faster for others."""

from __future__ import annotations

from ...plan.plan import Plan
from ...program.graph import REDUCED
from .. import sittings
from ..layouts.tiled import WORD
from ..table import threshold
from ..task import Task
from . import columns
from .accesses import accesses, elements_of
from .grid_facts import (
    LIGHT,
    are_whole,
    bytes_of,
    ctas,
    filled,
    has_few_states,
    instructions,
    is_long_and_light,
    is_narrow,
    launch,
    waiting_elements,
    weights_of,
)

MOST = threshold(128 << 20, "bytes of all rows", sittings.GRID_ROWS)
"""Of more the L2 cache and the shared memory hold too small a part."""
MOST_WEIGHTED = threshold(160 << 20, "bytes of all rows and of weights", sittings.GRID_ROWS)
"""The same where there are weights."""
MOST_LIGHT = threshold(384 << 20, "bytes of all rows", sittings.LIGHT_IN_GRID)
"""The same of light rows with weights, of which the L2 cache is told to keep a part."""
MOST_OF_CHUNKS = threshold(64 << 20, "bytes of all rows", sittings.GRID_ROWS)
"""Of columns; and where the L2 cache holds a row, and weights are few, more are faster in chunks, which overlap."""
FEW_WEIGHTS = threshold(1 / 16, "bytes for each byte of all rows", sittings.GRID_ROWS)
"""Weights of at most so many bytes are few: chunks read them again."""
LEAST = threshold(2 << 20, "bytes of all rows", sittings.GRID_ROWS)
"""Of rows whose states have up to FEW_STATES bytes: others take longer to combine."""
LEAST_WEIGHTED = threshold(8 << 20, "bytes of all rows", sittings.GRID_ROWS)
"""Of other rows with weights."""
LEAST_OTHERS = threshold(16 << 20, "bytes of all rows", sittings.GRID_ROWS)
"""Of other rows without weights, and of columns of narrow elements."""
LONG_ANYWHERE = threshold(15 << 20, "bytes of a row", sittings.LARGE_CLUSTERS)
"""Of rows that begin anywhere: shorter ones are faster in the L2 cache."""
LONG_COMPUTED = threshold(3 << 19, "bytes of a row", sittings.ROWS_IN_PAIRS)
"""The same where nothing else lies along them, and elements take more than LIGHT instructions; and of one array of
words with weights, with few states: no cluster holds longer rows, and kernels of their own read them twice."""
LONG_ALONE = threshold(12 << 20, "bytes of a row", sittings.FOLLOWING)
"""Replaces LONG_COMPUTED for rows of one array without weights, of which a CTA has one."""
LEAST_ANYWHERE = threshold(48 << 20, "bytes of all rows", sittings.LARGE_CLUSTERS)
"""Of rows that begin anywhere, but those of LONG_ANYWHERE with weights: groups of accesses at both ends of a walk have
masks."""
LEAST_COMPUTED = threshold(24 << 20, "bytes of all rows", sittings.GRID_ROWS)
"""Of other rows of narrow elements without weights, and of columns of wider elements."""
FILLED = threshold(0.9, "CTAs per SM", sittings.GRID_ROWS)
"""The least that have work, whole CTAs counted."""
FILLED_ANYWHERE = threshold(0.95, "CTAs per SM", sittings.GRID_FILLED)
"""The same of rows that begin anywhere: chunks in the L2 cache leave no CTA without work."""


def why_slower(task: Task, plan: Plan, *, by_columns: bool, cached: bool) -> str:
    """Why another plan is faster; empty if none is."""
    rows = elements_of(task)
    if max(task.operand_type(i).itemsize for i in rows) > WORD:
        return "wider elements were not measured"
    found = accesses(task, plan.fast, plan.vector)
    kinds, weighted = {found[i] for i in rows}, REDUCED in task.program.input_spaces
    computed = instructions(task.program) > LIGHT if not weighted else _is_light(task)
    long = bytes_of(task) >= LONG_ANYWHERE * task.geometry.n_kept
    alone = not weighted and plan.slots == len(waiting_elements(task)) == len(task.program.reduces) == 1
    shortest = LONG_ALONE if alone else LONG_COMPUTED
    enough = long or (computed and bytes_of(task) >= shortest * task.geometry.n_kept)
    anywhere = kinds == {"shifted"} and enough and are_whole(task, plan) and not (weighted and is_narrow(task))
    if not (kinds == {"aligned"} or anywhere) or (by_columns and columns.vector_of(task) < plan.vector):
        return "rows that begin anywhere are faster otherwise"
    if by_columns and is_narrow(task) and not has_few_states(task) and instructions(task.program) > LIGHT:
        return "narrow elements of columns compute for longer than a second read takes"
    used = _used(task, plan, weighted=weighted, by_columns=by_columns)
    if used < (FILLED_ANYWHERE if anywhere else FILLED):
        return f"{used:.0%} of {ctas(task)} CTAs would have work"
    nbytes = bytes_of(task)
    least = max(_least(task, by_columns=by_columns), LEAST_ANYWHERE if anywhere and not (weighted and long) else 0)
    most = _most(task, by_columns=by_columns, cached=cached)
    return "" if least <= nbytes <= most else f"{nbytes} bytes of all rows: {least} to {most} are faster so"


def _is_light(task: Task) -> bool:
    """Whether one array of words waits, with few states, such as an RMS norm's."""
    return len(waiting_elements(task)) == 1 and has_few_states(task) and not is_narrow(task)


def _used(task: Task, plan: Plan, *, weighted: bool, by_columns: bool) -> float:
    """The part of the CTAs that have work. Where rows share weights, one of which a row is lacking counts as well."""
    if not (weighted or by_columns):
        return filled(task, plan)
    run = launch(task, plan)
    whole = task.geometry.n_kept / (run.tiles * plan.slots) if by_columns else 1
    return run.tiles * run.split * whole / ctas(task)


def _least(task: Task, *, by_columns: bool) -> int:
    """The least bytes of all rows for which the states of parts are worth their time."""
    if by_columns:
        return LEAST_OTHERS if is_narrow(task) else LEAST_COMPUTED
    if has_few_states(task):
        return LEAST
    if weights_of(task):
        return LEAST_WEIGHTED
    return LEAST_COMPUTED if is_narrow(task) else LEAST_OTHERS


def _most(task: Task, *, by_columns: bool, cached: bool) -> int:
    """The most bytes of all rows."""
    weights = weights_of(task)
    if by_columns or (cached and weights <= FEW_WEIGHTS * bytes_of(task)):
        return MOST_OF_CHUNKS
    if is_long_and_light(task):
        return MOST_LIGHT
    return min(MOST, MOST_WEIGHTED - weights)
