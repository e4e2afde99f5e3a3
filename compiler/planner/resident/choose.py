"""The plan of a program that reads its rows again: the axis of its lanes, and the residency of its rows.

The residency of a row is where it waits for the next phase: in registers, in shared memory, or in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...dtypes import BIT
from ...errors import error
from ...plan.abi import Facts, numberings, waiting_bytes
from ...plan.checks import check
from ...plan.fields import MOST_HELD, OF_BITS, Access, expected_of, fits
from ...plan.ladder import expand
from ...plan.launch import Launch, layers
from ...plan.layout import layout_of
from ...plan.plan import Plan
from ...program.bit_arrays import BYTE, WORD
from ...program.graph import walk
from .. import sittings
from ..options import ask_for_blocks, named
from ..powers_of_two import floor2
from ..table import Sitting, threshold
from ..task import Choice, Notes, Task
from . import (
    ahead,
    columns,
    few,
    grid,
    grid_teams,
    held,
    l2,
    maps,
    matrix_tiles,
    once,
    rows,
    sections,
    sides,
    tiled,
    transposed,
)
from .accesses import accesses, elements_of, has_bits, is_by_columns, writes_bits

UNROLL = threshold(4, "accesses in flight", sittings.RESIDENT_ROWS)
"""Of a thread that walks a row in memory again."""
LITTLE_MORE = threshold(1.25, "times the elements that all steps read", Sitting("2026-11-25", "ececb7f"))
"""Rows whose results are values of rows alone are cut at the grid where reductions then read less than this: they need
no registers for a row."""
ALIKE = ("walk", "coarsening", "finish")
"""Fields in which plans of rows that are read again have the default: a CTA or a cluster owns a row."""
AT_ONCE = ("aligned", "shifted", "unaligned")
"""The accesses to several elements at once, in place of which a plan may ask for single ones."""
INDEX_LIMIT = 2**31 - 2**24
"""Offsets below this fit 32-bit arithmetic with room for one step past the end."""


def choose(task: Task, wanted: str = "") -> Choice:
    """The plan of a program that reads rows again.

    Raises:
        PlanError: WF423 where no plan holds its rows, WF425 where ``wanted`` sets a field that such plans have not, and
            the errors of ``check`` where it cannot be served.
    """
    notes = Notes()
    plan = owning(task, notes, wanted) if task.program.reduces else mapping(task, notes, wanted)
    if plan and task.program.side:
        plan = sides.taking(task, plan, notes, wanted)
    if plan is None:
        raise error("WF423", name=task.program.name, elements=task.geometry.n_reduced)
    if wanted:
        plan = _overridden(task, plan, wanted, notes)
    elif task.program.reduces:
        notes.rejected += _other_residencies(task, plan)
    if "reads" not in expand(wanted):
        plan = ahead.reading(task, plan, notes)
    if plan.walk != "blocked":
        _check_rows_of_words(task)
    facts = _facts(task, plan)
    if task.few:
        plan, facts = few.for_any_length(task, plan, facts)
    elif task.program.reduces:
        plan, facts = held.for_any_length(task, plan, facts)
    waiting = waiting_bytes(plan, facts, task.program.inputs)
    check(plan, task.target, sum(t.itemsize for t in task.program.states), waiting)
    return Choice(plan, facts, _launch(task, plan), [reason for reason, _ in notes.reasons], notes.rejected)


def _other_residencies(task: Task, plan: Plan) -> list[tuple[str, str]]:
    """Why a row waits nowhere farther from the threads."""
    if plan.resident == "memory":
        return []
    copied = [("resident=shared", "registers hold the row, without a copy")] * (plan.resident == "registers")
    return [*copied, ("resident=memory", f"each of {len(task.program.reduces)} phase(s) would read the row again")]


def _overridden(task: Task, plan: Plan, wanted: str, notes: Notes) -> Plan:
    """``plan`` with options in it: threads keep as many accesses as their row then has.

    Raises:
        PlanError: WF424 where ``wanted`` asks for another number of accesses, WF425 for a field that all such plans
            have alike, WF426 for more accesses than a thread keeps, WF427 where no row waits, WF432 for the words of
            a program that writes none.
    """
    chosen = plan.with_options(wanted)
    _check_served(task, chosen)
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
        return replace(chosen, held=0, unroll=chosen.unroll if "unroll" in named(wanted) else tiled.UNROLL)
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
        whole, _ = held.for_any_length(task, plan, _facts(task, plan))
        if asked not in (plan.held, whole.held):
            raise error("WF424", held=asked, needed=plan.held)
    notes.because(f"asked for: {wanted}")
    return plan


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


def _check_mapped(task: Task, plan: Plan) -> None:
    """Refuses (WF427) fields that no plan of a program without a fold has: nothing waits, and nothing meets."""
    waits = "shared" if plan.fragments == "matrix" or plan.exchanges else "registers"
    for key, only in (("resident", waits), ("cluster", Plan().cluster)):
        if getattr(plan, key) != only:
            raise error("WF427", name=task.program.name, key=key, value=getattr(plan, key))


def _check_served(task: Task, plan: Plan) -> None:
    """Refuses (WF425) fields that no plan of rows that are read again has."""
    served: dict[str, Sequence[object]] = {key: (getattr(Plan(), key),) for key in ALIKE}
    served |= {
        "fast": ("reduced", "kept"),
        "meet": ("", "shuffle"),
        "resident": ("registers", "shared", "grid", "l2", "memory"),
    }
    served["walk"] = ("interleaved", "blocked") if transposed.fits(task, plan) else ("interleaved",)
    served["reads"] = ("", "ahead") if ahead.serves(task, plan) else ("",)
    served["overlap"] = (0, *columns.overlaps(task, plan))
    for key, values in served.items():
        value = getattr(plan, key)
        if not fits(key, value):
            raise error("WF403", key=key, value=repr(value), expected=expected_of(key))
        if value not in values:
            raise error(
                "WF425", name=task.program.name, key=key, value=value, only=" or ".join(filter(None, map(str, values)))
            )


def _check_rows_of_words(task: Task) -> None:
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
    least = WORD // plan.vector
    for key, fits_words, expected in (
        ("fast", plan.fast == "reduced", "reduced"),
        ("resident", plan.resident not in ("grid", "memory"), "another residency"),
        ("tile_bytes", not plan.tile_bytes, "0"),
        ("lanes", plan.lanes >= least, f"at least {least}, which have the {WORD} elements of a word"),
        ("vector", plan.word != "byte" or plan.vector >= BYTE, f"at least {BYTE}, the bits of a byte"),
        ("word", plan.word != "redux" or task.target.has_redux, f"shuffle or ballot on {task.target.arch}"),
    ):
        if not fits_words:
            raise error("WF430", name=task.program.name, key=key, value=getattr(plan, key), expected=expected)


def _check_tile(task: Task, plan: Plan) -> None:
    """Refuses (WF418) a tile that cannot hold rows, or no rows of ``task``."""
    if tiled.plan(task, Notes()) is None or not tiled.rows_of_a_cta(task, plan):
        raise error("WF418", tile_bytes=plan.tile_bytes, remedy="0")


def owning(task: Task, notes: Notes, wanted: str = "") -> Plan | None:
    """The plan by which a CTA or a cluster owns its rows; None where they are too long for that.

    Where ``wanted`` names a residency, rows of any length have a plan to put it in.
    """
    if ask_for_blocks(wanted):
        return matrix_tiles.plan(task, notes)
    by_columns = is_by_columns(task) and not writes_bits(task)
    if task.few and not names_residency(wanted):
        return few.plan(task, notes, by_columns=by_columns)
    if len(task.program.reduces) == 1 and once.serves(task):
        return once.plan(task, notes)
    if task.is_portable:
        found = rows.portable_plan(task, notes, by_columns=by_columns)
    elif by_columns and not wanted and matrix_tiles.holds(task):
        found = matrix_tiles.plan(task, notes)
    else:
        found = _tiled(task, notes, wanted, by_columns=by_columns)
        if found:
            return found
        found = grid_teams.plan(task, notes, by_columns=True) if by_columns and not wanted else None
        if found:
            return found
        found = _of_columns(task, notes, wanted) if by_columns else rows.plan(task, notes)
        near = found is not None and found.resident == "registers"
        if not near and not by_columns and not names_residency(wanted) and rows.are_narrow_runs(task):
            notes.rejected.append(("resident=shared", "kernels of their own read runs of narrow elements faster"))
            return None
    if found is None or expand(wanted).get("resident") == "grid":
        found = _shared_by_ctas(task, notes, wanted, by_columns=by_columns) or found
    walked = found is None and names_residency(wanted) and not writes_bits(task)
    return rows.walked_plan(task) if walked else found


def _shared_by_ctas(task: Task, notes: Notes, wanted: str, *, by_columns: bool) -> Plan | None:
    """The plan of rows that CTAs of the grid share, all at once or in chunks; None where a cut is faster."""
    asked, chunked = expand(wanted).get("resident"), Notes()
    if grid_teams.are_asked(expand(wanted)):
        return grid_teams.plan(task, notes, by_columns=by_columns, asked=True)
    cached = l2.plan(task, chunked, by_columns=by_columns, asked=names_residency(wanted))
    if asked in (None, "grid"):
        found = grid.plan(task, notes, by_columns=by_columns, cached=cached is not None, asked=asked == "grid")
        if found:
            return found
    notes.reasons += chunked.reasons
    notes.rejected += chunked.rejected
    return cached


def mapping(task: Task, notes: Notes, wanted: str = "") -> Plan:
    """The plan of a program without a fold."""
    if task.few:
        return few.mapping(task, notes)
    if ask_for_blocks(wanted) or (not wanted and matrix_tiles.pays(task)):
        return matrix_tiles.plan(task, notes)
    blocks = transposed.plan(task)
    if blocks and transposed.fits(task, blocks.with_options(wanted)):
        size = f"{blocks.vector} x {blocks.held}"
        how = f"each thread transposes a block of {size}"
        if blocks.exchanges:
            how = f"a CTA exchanges {blocks.slots} x {blocks.positions * blocks.held} elements in shared memory"
        notes.because(f"arrays lie across each other: {how}", "held", "vector", "walk", "resident")
        return blocks
    found = None if is_by_columns(task) else _tiled(task, notes, wanted)
    return found or maps.plan(task, notes)


def _tiled(task: Task, notes: Notes, wanted: str, *, by_columns: bool = False) -> Plan | None:
    """The plan of rows that go through a tile, if that pays or ``wanted`` asks for it."""
    asked = expand(wanted).get("tile_bytes", "")
    wants = asked != "0" and not has_bits(task) and (asked or tiled.pays(task, by_columns=by_columns))
    return tiled.plan(task, notes) if wants else None


def _of_columns(task: Task, notes: Notes, wanted: str) -> Plan | None:
    """The plan of columns that a CTA or a cluster keeps; None where they are too long, or faster otherwise."""
    own = Notes()
    found = columns.plan(task, own)
    if found and (not wanted or is_far(None, wanted)) and l2.takes(task, found):
        notes.rejected.append(("resident=registers", f"columns in clusters of {found.cluster} CTAs are slower"))
        return None
    notes.reasons += own.reasons
    notes.rejected += own.rejected
    return found


def names_residency(wanted: str) -> bool:
    """Whether options say where rows wait."""
    named_fields = {"resident", "held"} | ({"fragments"} if ask_for_blocks(wanted) else set())
    return not named_fields.isdisjoint(expand(wanted)) and not cuts(wanted)


def is_far(plan: Plan | None, wanted: str = "") -> bool:
    """Whether rows wait so far from the threads, by their ``plan`` or by options, that they are read seldom."""
    asked = expand(wanted)
    if (plan and plan.in_teams) or grid_teams.are_asked(asked):
        return False
    resident = asked.get("resident", "" if names_residency(wanted) or plan is None else plan.resident)
    return resident in ("grid", "l2")


def meets_once(task: Task, plan: Plan | None, wanted: str = "") -> bool:
    """Whether the CTAs of a cluster, which share rows by their ``plan`` and by options, should meet once.

    Two folds that one monoid holds are one phase then: a meeting takes longer than the instructions that it saves. So
    it is with exponentials relative to a maximum, and with variances of one large array of aligned rows: of small
    ones, and where a loop walks a row or masks cut it, a variance in one pass takes longer. Others were not measured.
    """
    found, program = plan.with_options(wanted) if plan and wanted else plan, task.program
    if found is None or found.cluster == 1 or found.resident != "shared" or found.fast != "reduced":
        return False
    if program.gathered or program.side or program.section:
        return False
    if any(e.op in ("exp", "exp2") for r in program.reduces for e in walk(r.args)):
        return True
    own = [i for i in elements_of(task) if i < len(program.inputs)]
    if task.geometry.n_kept * task.geometry.n_reduced < held.LARGE:
        return False
    return len(own) == len(task.geometry.reduced) == 1 and accesses(task, "reduced", found.vector)[own[0]] == "aligned"


def cuts(wanted: str) -> bool:
    """Whether options say that no row waits: folds and uses of their results are kernels of their own."""
    return expand(wanted).get("resident") == "none"


def _facts(task: Task, plan: Plan) -> Facts:
    """What the kernel must know of the arrays."""
    g, inputs = task.geometry, len(task.program.inputs)
    turns = plan.fragments == "matrix"
    anywhere = plan.resident != "grid" or grid.are_whole(task, plan)
    found = accesses(task, plan.fast, plan.vector, waits=plan.held > 0 and anywhere and not turns)
    if plan.resident == "grid":  # what does not wait is read in loops, which have no branches
        found = tuple("strided" if kind == "unaligned" else kind for kind in found)
    if plan.accesses == "single":
        found = tuple("strided" if kind in AT_ONCE else kind for kind in found)
    if plan.tile_bytes:
        found = tiled.tiled(task, plan, found)
    if plan.walk == "blocked":
        found = transposed.transposed(task, plan, found)
    if turns:
        found = matrix_tiles.turned(task, found)
    reach = max((abs(bound) for i in range(len(g.offsets)) for bound in g.span(i)), default=0)
    run = _launch(task, plan)
    covered = run.split * (plan.held * layout_of(plan).span("reduced") or run.chunk)
    keeps = plan.held > 0 and plan.resident != "grid"
    if plan.resident == "grid":
        keeps = plan.in_teams and run.chunk == plan.held * layout_of(plan).span("reduced")
        covered = max(covered, run.split * run.chunk)
    numbers = max(reach, g.n_kept + plan.slots, g.n_reduced + covered, l2.tickets(task, run), run.ctas * run.chunk)
    kept_rank, reduced_rank = task.ranks
    return Facts(
        kept_rank,
        reduced_rank if len(g.reduced) > 1 else 1,  # accesses may begin before a row of one dim
        32 if numbers < INDEX_LIMIT else 64,
        found[:inputs],
        store_vector=False,
        stores=found[inputs:],
        full=keeps and covered == g.n_reduced and "shifted" not in found,
        waiting=_waiting(task, plan, found),
        rows_first=maps.shares_weights(task),
        numberings=numberings(task.program),
        section=sections.elements(task) if task.program.section else 0,
    )


def _waiting(task: Task, plan: Plan, found: Sequence[Access]) -> tuple[int, ...]:
    """The inputs with a value for each element of each row: those along the row alone are read again, from caches.

    In a program without a fold they are those that go through a tile.
    """
    if not plan.held or not task.program.reduces:
        return tuple(i for i in range(len(task.program.inputs)) if found[i] == "matrix")
    inputs, apart = len(task.program.inputs), ("uniform", "kept", "gathered", "number", *OF_BITS)
    own = grid.waiting_elements(task) if plan.resident == "grid" else elements_of(task)
    return tuple(i for i in own if i < inputs and found[i] not in apart)


def _launch(task: Task, plan: Plan) -> Launch:
    """The grid: as many CTAs as the rows need, and along a row those of a cluster; or of a map, as many as it needs."""
    if plan.tile_bytes:
        return tiled.launch(task, plan)
    g, span = task.geometry, layout_of(plan).span("reduced")
    if plan.resident == "l2":
        return l2.launch(task, plan)
    if plan.resident == "grid":
        return grid_teams.launch(task, plan) if plan.in_teams else grid.launch(task, plan)
    own = span * (held.needed(task, plan) if task.program.reduces else plan.held)
    length = rows.count_of(task, plan.vector) * plan.vector if plan.fast == "reduced" else g.n_reduced
    if plan.takes_side:
        return sides.launch(task, plan, own)
    if task.program.reduces:
        if plan.fast == "kept":
            own = max(1, -(-g.n_reduced // plan.cluster))  # equal parts: the last accesses alone may be outside
        return Launch(-(-g.n_kept // plan.own), plan.cluster, own)
    split = max(1, -(-length // own))
    z = layers(split)
    return Launch(-(-g.n_kept // plan.slots), -(-split // z) * z, own)
