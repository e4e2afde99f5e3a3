"""A plan by which rows are read again with options in it, and which options no such plan has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...dtypes import BIT
from ...errors import error
from ...plan.fields import MOST_HELD, expected_of, fits
from ...plan.ladder import expand
from ...plan.plan import Plan
from ...program.bit_arrays import BYTE, WORD
from ...program.graph import REDUCED
from .. import sittings
from ..layouts import rows_abreast
from ..options import named
from ..powers_of_two import floor2
from ..table import threshold
from ..task import Notes, Task
from . import (
    ahead,
    columns,
    grid,
    grid_teams,
    held,
    l2,
    matrix_tiles,
    overlapping_columns,
    rows,
    sides,
    tile_sizes,
    tiled,
    transposed,
    waiting_groups,
)
from .accesses import elements_of, spaces, writes_bits
from .facts import facts_of

UNROLL = threshold(4, "accesses in flight", sittings.RESIDENT_ROWS)
"""Of a thread that walks a row in memory again."""
ALIKE = ("walk", "coarsening", "finish")
"""Fields in which plans of rows that are read again have the default: a CTA or a cluster owns a row."""


def overridden(task: Task, plan: Plan, wanted: str, notes: Notes) -> Plan:
    """``plan`` with options in it: threads keep as many accesses as their row then has.

    Raises:
        PlanError: WF407 for accesses across more rows than there are, WF424 where ``wanted`` asks for another number of
            accesses, WF425 for a field that all such plans have alike, WF426 for more accesses than a thread keeps,
            WF427 where no row waits, WF432 for the words of a program that writes none, WF442 for several rows of a
            persistent CTA at a time that begin anywhere.
    """
    chosen = _within_rows(task, plan.with_options(wanted), wanted)
    _check_served(task, chosen)
    sides.check(task, chosen)
    _check_words(task, chosen)
    matrix_tiles.check(task, chosen)
    if chosen.tile_bytes:
        _check_tile(task, chosen)
    if not task.program.reduces:
        _check_mapped(task, chosen)
        if not chosen.tile_bytes:
            return chosen
    if chosen.fast == "reduced":
        accesses_of_row = rows.count_of(task, chosen.vector)
    else:
        accesses_of_row = max(1, task.geometry.n_reduced)
    if chosen.is_far:
        return _far_overridden(task, chosen, wanted)
    if chosen.waits_in_tile:
        return replace(chosen, held=0, unroll=chosen.unroll if "unroll" in named(wanted) else waiting_groups.UNROLL)
    if chosen.resident == "memory":
        each = floor2(accesses_of_row // (chosen.positions * chosen.cluster))
        return replace(chosen, held=0, unroll=chosen.unroll if "unroll" in named(wanted) else min(UNROLL, each))
    while chosen.cluster > 1 and accesses_of_row <= chosen.positions * (chosen.cluster - 1):
        chosen = replace(chosen, cluster=chosen.cluster // 2)  # or a CTA would own nothing
    plan, asked = replace(chosen, held=held.needed(task, chosen)), chosen.held
    if plan.held > MOST_HELD:
        nbytes = task.geometry.n_reduced * sum(_item(task, i) for i in elements_of(task))
        raise error("WF426", resident=plan.resident, nbytes=nbytes, held=plan.held, most=MOST_HELD)
    if "held" in named(wanted):
        whole, _ = held.for_any_length(task, plan, facts_of(task, plan))
        if asked not in (plan.held, whole.held):
            raise error("WF424", held=asked, needed=plan.held)
    notes.because(f"asked for: {wanted}")
    return plan


def _within_rows(task: Task, plan: Plan, wanted: str) -> Plan:
    """``plan`` with accesses across no more rows than there are: those of the last rows begin before their end.

    Where CTAs leave states of rows in memory, an access has rows of its own. Where values of rows are read or written,
    it is within the innermost dim, along which those have one stride. Single elements along a row are no more than it
    has.

    Raises:
        PlanError: WF407 where ``wanted`` asks for wider ones.
    """
    g = task.geometry
    if plan.fast == "reduced":
        single = plan.accesses == "single" and bool(task.program.reduces)
        most, what = (g.n_reduced if single else plan.vector), "elements of a row"
        widest = floor2(max(1, most))
    else:
        most, what = g.n_kept, "rows"
        widest = columns.vector_of(task) if plan.is_far else floor2(max(1, most))
        if plan.in_periods and rows_abreast.serves(task, plan):  # whose accesses go on from one row in the next
            widest = columns.vector_of(rows_abreast.as_read(task, plan) or task)
        if any(not space & REDUCED for space in spaces(task)):
            inner = g.kept[-1].size if g.kept else 1
            widest = min(widest, max(1, inner) & -max(1, inner))
    if plan.vector <= widest:
        return plan
    if "vector" in named(wanted):
        needed = f"{plan.vector} {what}, and there are {most}"
        if plan.vector <= most:
            needed = "unit stride, whole vectors and aligned rows"
        other = ", or choose the other axis with fast="
        raise error("WF407", vector=plan.vector, axis=plan.fast, wanted=needed, other=other)
    return replace(plan, vector=widest)


def _far_overridden(task: Task, chosen: Plan, wanted: str) -> Plan:
    """The plan ``chosen`` of rows that CTAs share, of which ``wanted`` are options."""
    if chosen.in_teams:
        return grid_teams.overridden(task, chosen, expand(wanted))
    overridden = l2.overridden if chosen.resident == "l2" else grid.overridden
    return overridden(task, chosen, expand(wanted))


def _item(task: Task, operand: int) -> int:
    """Bytes of an element of an input, 0 for a result."""
    types = task.program.inputs
    return types[operand].itemsize if operand < len(types) else 0


def _check_served(task: Task, plan: Plan) -> None:
    """Refuses (WF425) fields that no plan of rows that are read again has."""
    served: dict[str, Sequence[object]] = {key: (getattr(Plan(), key),) for key in ALIKE}
    served |= {
        "fast": ("reduced", "kept"),
        "meet": ("", "shuffle"),
        "resident": ("registers", "shared", "grid", "l2", "memory"),
    }
    blocks = transposed.fits(task, plan)
    served["walk"] = ("interleaved", "blocked") if blocks else ("interleaved",)
    served["reads"] = ("", "ahead") if ahead.serves(task, plan) else ("",)
    served["abreast"] = (0, plan.abreast) if rows_abreast.serves(task, plan) else (0,)
    served["overlap"] = (0, *overlapping_columns.overlaps(task, plan), *([plan.overlap] if blocks else []))
    for key, values in served.items():
        value = getattr(plan, key)
        if not fits(key, value):
            raise error("WF403", key=key, value=repr(value), expected=expected_of(key))
        if value not in values:
            raise error(
                "WF425", name=task.program.name, key=key, value=value, only=" or ".join(filter(None, map(str, values)))
            )


def _check_mapped(task: Task, plan: Plan) -> None:
    """Refuses (WF427) fields that no plan of a program without a fold has: nothing waits, and nothing meets."""
    waits = "shared" if plan.fragments == "matrix" or plan.exchanges else "registers"
    for key, only in (("resident", waits), ("cluster", Plan().cluster)):
        if getattr(plan, key) != only:
            raise error("WF427", name=task.program.name, key=key, value=getattr(plan, key))


def check_rows_of_words(task: Task) -> None:
    """Refuses (WF431) rows of which two have bits in one word, or that have gaps inside of words.

    The cut makes no such step. A compiled program refuses arrays of other sizes so.
    """
    g, inputs = task.geometry, len(task.program.inputs)
    for i in (inputs + i for i, o in enumerate(task.program.outputs) if o.dtype == BIT):
        inner, apart = 1, [d.strides[i] for d in g.kept if d.size > 1]
        for d in reversed([d for d in g.reduced if d.size > 1]):
            apart += [] if d.strides[i] == inner else [d.strides[i], inner]
            inner *= d.size
        if any(stride % WORD for stride in apart):
            raise error("WF431", name=task.program.name, strides=apart)


def _check_words(task: Task, plan: Plan) -> None:
    """Refuses a plan in which no lanes of a warp make the words of a result (WF430), or no result has words (WF432)."""
    if not writes_bits(task):
        if plan.word:
            raise error("WF432", name=task.program.name, word=plan.word)
        return
    if plan.walk == "blocked":  # each thread has bytes of its own
        if plan.word not in ("", "byte"):
            raise error("WF430", name=task.program.name, key="word", value=plan.word, expected="byte")
        return
    least = rows.lanes_of_word(task, plan.vector)
    for key, fits_words, expected in (
        ("fast", plan.fast == "reduced", "reduced"),
        ("resident", plan.resident not in ("grid", "memory"), "another residency"),
        ("tile_bytes", not plan.tile_bytes, "0"),
        ("lanes", plan.lanes >= least, f"at least {least}, which have the elements of a word"),
        ("vector", plan.word != "byte" or plan.vector >= BYTE, f"at least {BYTE}, the bits of a byte"),
        ("word", plan.word != "redux" or task.target.has_redux, f"shuffle or ballot on {task.target.arch}"),
    ):
        if not fits_words:
            raise error("WF430", name=task.program.name, key=key, value=getattr(plan, key), expected=expected)


def _check_tile(task: Task, plan: Plan) -> None:
    """Refuses (WF418) a tile that cannot hold rows, or no rows of ``task``."""
    if tiled.plan(task, Notes()) is None or not tile_sizes.rows_of_a_cta(task, plan):
        raise error("WF418", tile_bytes=plan.tile_bytes, remedy="0")
