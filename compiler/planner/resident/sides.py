"""Side folds: persistent CTAs take row after row, and each thread keeps the states of its own columns in registers."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, isqrt

from ...errors import error
from ...plan.fields import COUNTS, MOST_HELD, OF_BITS
from ...plan.ladder import expand
from ...plan.launch import Launch
from ...plan.plan import Plan
from ...program.graph import REDUCED
from ...target import WARP
from .. import sittings
from ..layouts.tiled import WORD
from ..powers_of_two import ceil2
from ..table import Table, threshold
from ..task import Notes, Task
from . import rows, uneven
from .accesses import accesses, elements_of, inputs_of, is_by_columns, vector_of

ONE_STATE = Table(
    "accesses of a row", "threads of a row", sittings.SIDE_FOLDS,
    ((96, 32), (256, 64), (1024, 256), (2048, 512)),
)  # fmt: skip
"""Where the states of a column take one register; longer rows are cut from the folds over them."""
MORE_STATES = Table(
    "accesses of a row", "threads of a row", sittings.SIDE_FOLDS,
    ((96, 32), (256, 64), (512, 128), (768, 256), (2048, 512)),
)  # fmt: skip
"""Where they take more."""
SHORT = threshold(4, "accesses of a thread", sittings.SIDE_FOLDS)
"""Shorter rows have as few lanes as keep them in so many."""
VERY_SHORT = threshold(16, "accesses of a row", sittings.GRADIENTS)
"""Up to here they have as few as keep them in half as many, if no lane then has fewer than others."""
WIDE = threshold(512, "threads of a row", sittings.GRADIENTS)
"""Half as many have such a row with states of one register, where an SM then holds two CTAs."""
BESIDE = threshold(28, "registers", sittings.GRADIENTS)
"""Of a thread, beside those of its columns."""
PER_INPUT = threshold(2, "registers of a column", sittings.SIDE_FOLDS)
"""For each array that is folded, of elements of 4 bytes or less, beside those of the column's states."""
WAITING = threshold(1.5, "registers of a column", sittings.UNEVEN_ROWS)
"""The same of rows that begin anywhere: the code of a phase leaves none of its values to the next one."""
BESIDE_STATES = threshold(44, "registers", sittings.PERSISTENT_ROWS)
"""Of a thread whose row waits in shared memory, beside the states of its columns, and one for each access."""
STATIC = threshold(8192, "bytes of shared memory", sittings.PERSISTENT_ROWS)
"""Of a CTA, beside those in which rows and weights wait."""
MOST_REGISTERS = threshold(248, "registers", sittings.SIDE_FOLDS)
"""A thread that needs more shares its columns with another one: where it spills, rows are cut."""
LEAST_ROWS = threshold(2, "rows of an SM", sittings.FEW_SIDE_FOLDS)
"""Where an SM has fewer, the states of CTAs cost more than what a second kernel reads."""
STATES_OF_ROWS = threshold(2048, "states of a row, in registers", sittings.FEW_SIDE_FOLDS)
"""An SM needs so many rows for each further so many states."""
MOST_COLUMNS = threshold(4096, "columns", sittings.FEW_SIDE_FOLDS)
"""Further ones need no more rows."""
TURNS = threshold(0.5, "rows in turn, for each register of a column's states", sittings.FEW_SIDE_FOLDS)
"""Which the threads that work on a row need."""
FROM_MEMORY = threshold(48 << 20, "bytes of arrays", sittings.FEW_SIDE_FOLDS)
"""From here on a second kernel finds few of them in the L2 cache: any SM with rows in turn has enough."""
ROWS_OF_CTAS = threshold(2, "rows of an SM, for the square of its CTAs", sittings.FEW_SIDE_FOLDS)
"""Times the rows of a CTA at a time, or the registers of a state: the states of more CTAs cost more than they save."""
ROWS_ANYWHERE = threshold(4, "rows of a CTA", sittings.SIDE_FOLDS)
"""Rows that begin anywhere are for as many CTAs as fit, if each has so many in turn."""
NARROW = threshold(2, "bytes of an element", sittings.SIDE_FOLDS)
"""Rows of such elements that begin anywhere have masks, so that two kernels may be faster."""
LEAST_MASKED = threshold(66, "accesses of a row", sittings.UNEVEN_ROWS)
"""They are taken to be for shorter rows, with states of one register."""
LEAST_OF_STATES = threshold(90, "accesses of a row", sittings.UNEVEN_ROWS)
"""They are for shorter rows, with states of more."""
REGISTERS = threshold(65536, "registers", sittings.SIDE_FOLDS)
"""Of an SM."""
SHARED = threshold(36864, "bytes of shared memory", sittings.SIDE_FOLDS)
"""In which the rows of a CTA meet at the end, at most: else it works on one row at a time."""


def taking(task: Task, plan: Plan, notes: Notes, wanted: str = "") -> Plan | None:
    """``plan`` with persistent CTAs that keep states of columns; None, with the reason in ``notes``, where none can.

    Where ``wanted`` asks for persistent CTAs, they need not pay.
    """
    asked = "persistent" in expand(wanted)
    if is_by_columns(task):  # whose folds over the rows are side folds of the rows, not the other way
        return None
    found = "asked for" if are_cut(wanted) else _persistent(task, plan)
    if not isinstance(found, str) and not asked:
        found = replace(found, persistent=_ctas(task, found))
        found = _slow(task, found) or found
    if isinstance(found, str):
        notes.rejected.append(("persistent", found))
        return None
    each, threads = found.held * found.vector, found.positions
    notes.forget({"held", "resident", "lanes", "warps"})
    place = "registers" if found.resident == "registers" else "shared memory, since registers lack room"
    notes.because(f"a row waits in {place}: {found.held} access(es) in each of {threads} thread(s)", "held", "resident")
    notes.because(
        f"each thread keeps the states of {each} column(s) through all rows of its CTA", "persistent", "warps"
    )
    return found


def are_cut(wanted: str) -> bool:
    """Whether options say that side folds are kernels of their own: CTAs that share rows have none."""
    asked = expand(wanted)
    shared = asked.get("resident") == "grid" or asked.get("cluster", "1") != "1"
    return shared or asked.get("persistent") == "0"


def _persistent(task: Task, plan: Plan) -> Plan | str:
    """The plan of persistent CTAs, or why there is none."""
    vector = vector_of(task, "reduced")
    kinds, count, states = accesses(task, "reduced", vector), rows.count_of(task, vector), _registers_of_state(task)
    if not {*kinds}.isdisjoint(OF_BITS):
        return "bits are put together by threads of one row"
    if "shifted" in kinds and len(task.geometry.kept) > 1:
        return "rows along several dims begin anywhere"
    if (plan.tile_bytes or plan.fast != "reduced") and "shifted" not in kinds:
        return "rows go through a tile by single elements"
    threads, sets = _threads(task, count, vector, states), 0
    is_uneven = not threads or threads * ceil(count / threads) > uneven.UNUSED * count
    if is_uneven and "shifted" in kinds and _is_narrow(task):
        shares = uneven.shared(count, vector, lambda columns: _registers(task, columns, states, WAITING))
        if shares:
            return Plan(
                "reduced", "interleaved", vector, 1, WARP, shares.warps, 1,
                resident="registers", held=shares.held, persistent=shares.ctas,
            )  # fmt: skip
    if not threads:
        threads, sets = _threads_of_slots(task, count, vector, states, is_shifted="shifted" in kinds)
    if not threads:
        return f"{task.geometry.n_reduced} columns have too many states for registers, or elements for shared memory"
    lanes = WARP if "shifted" in kinds else min(WARP, threads)
    warps = max(1, threads // lanes)
    held = ceil(count / (warps * lanes))
    kept = max(1, rows.CTA_THREADS // (WARP * warps)) if "shifted" not in kinds else 1
    if kept * WARP * warps * held * vector * 4 * states > SHARED:
        kept = 1
    if sets:
        return Plan(
            "reduced", "interleaved", vector, sets, lanes, warps, kept, resident="shared", held=held, persistent=1
        )
    found = Plan("reduced", "interleaved", vector, 1, lanes, warps, kept, resident="registers", held=held)
    if "shifted" in kinds and _is_narrow(task):
        each = _registers(task, held * vector, states, WAITING) + uneven.SPARE
        return replace(found, persistent=max(1, uneven.ctas_of(warps, each)))
    each = _registers(task, held * vector, states)
    ctas = min(REGISTERS // each, task.target.threads_per_sm) // found.threads
    return replace(found, persistent=max(1, min(COUNTS["persistent"], ctas)))


def _threads(task: Task, count: int, vector: int, states: int) -> int:
    """The threads that share a row of ``count`` accesses; 0 where they have not enough registers."""
    table = ONE_STATE if states == 1 else MORE_STATES
    threads = table.at(count) or 0
    if threads == WARP:
        each = SHORT // 2 if count <= VERY_SHORT and count == ceil2(count) else SHORT
        threads = min(threads, ceil2(ceil(count / each)))
    if (
        threads == WIDE
        and states == 1
        and _registers(task, ceil(count * 2 / WIDE) * vector, states) * WIDE <= REGISTERS
    ):
        threads = WIDE // 2  # in each of two CTAs
    while threads and (
        count > MOST_HELD * threads or _registers(task, ceil(count / threads) * vector, states) > MOST_REGISTERS
    ):
        threads = 2 * threads if threads < 1024 else 0
    fits = threads and _registers(task, ceil(count / threads) * vector, states) * threads <= REGISTERS
    return threads if fits else 0


def _threads_of_slots(task: Task, count: int, vector: int, states: int, *, is_shifted: bool) -> tuple[int, int]:
    """The threads that share a row of ``count`` accesses in shared memory, and for how many rows there is room.

    Such threads have registers for the states of their columns alone. No threads if there is no room. Weights beside
    rows that begin anywhere, which are single elements, wait there in any case.
    """
    spaces = task.program.input_spaces
    weights = [i for i, space in enumerate(spaces) if space == REDUCED and is_shifted]
    beside = vector * sum(task.operand_type(i).itemsize for i in weights)
    row = vector * sum(task.operand_type(i).itemsize for i in elements_of(task) if i < len(task.program.inputs))
    for threads in (256, 512):
        held = ceil(count / threads)
        room = (task.target.shared_per_cta - STATIC) // (held * threads) - beside
        sets = min(2, room // row)
        if (
            sets
            and held <= MOST_HELD
            and BESIDE_STATES + held * (vector * states + 1) <= min(REGISTERS // threads, MOST_REGISTERS)
        ):
            return threads, sets
    return 0, 0


def _registers(task: Task, columns: int, states: int, per_input: float = PER_INPUT) -> int:
    """The registers of a thread with so many columns, of ``states`` registers each."""
    folded = inputs_of([a for r in task.program.reduces for a in r.args])
    each: float = states
    for i in (i for i in elements_of(task) if i < len(task.program.inputs)):
        item = task.operand_type(i).itemsize
        each += per_input * ceil(item / WORD) if i in folded else item / WORD  # such words wait as they were read
    return ceil((BESIDE + columns * each) / 8) * 8


def _ctas(task: Task, plan: Plan) -> int:
    """The CTAs of an SM: as many as fit, or fewer of few rows, whose time is that of the CTAs' states."""
    if _is_shifted(task, plan):
        return plan.persistent
    rows = task.geometry.n_kept / task.machine
    each = ROWS_OF_CTAS * max(plan.slots, _registers_of_state(task))
    return max(1, min(plan.persistent, isqrt(int(rows / each))))


def _slow(task: Task, plan: Plan) -> str:
    """Why a kernel of the rows and one of the columns are faster; empty if they are not."""
    if _has_few_rows(task, plan):
        return f"{task.geometry.n_kept} rows are too few for persistent CTAs"
    if not any(o.space & REDUCED for o in task.program.outputs) and _bytes_read(task) < FROM_MEMORY:
        return "no elements are written, and reductions of columns find those that they read in the L2 cache"
    least = LEAST_MASKED if _registers_of_state(task) == 1 else LEAST_OF_STATES
    is_slow = _is_narrow(task) and _is_shifted(task, plan) and rows.count_of(task, plan.vector) < least
    return "rows of narrow elements begin anywhere" if is_slow else ""


def _is_narrow(task: Task) -> bool:
    """Whether rows have elements of two bytes or one."""
    return min(task.operand_type(i).itemsize for i in elements_of(task)) <= NARROW


def _has_few_rows(task: Task, plan: Plan) -> bool:
    """Whether the states of CTAs cost more than a second kernel, which finds the rows in the L2 cache."""
    g, states = task.geometry, _registers_of_state(task)
    if _is_shifted(task, plan):
        return g.n_kept < ROWS_ANYWHERE * plan.slots * plan.persistent * task.machine
    if _bytes_read(task) >= FROM_MEMORY:
        return g.n_kept < LEAST_ROWS * plan.slots * task.machine
    rows = LEAST_ROWS * ceil(min(g.n_reduced, MOST_COLUMNS) * states / STATES_OF_ROWS)
    return g.n_kept < max(rows, TURNS * plan.slots * states) * task.machine


def _bytes_read(task: Task) -> int:
    """The bytes of the elements that the rows read."""
    read = [i for i in elements_of(task) if i < len(task.program.inputs)]
    return task.geometry.n_kept * task.geometry.n_reduced * sum(task.operand_type(i).itemsize for i in read)


def check(task: Task, plan: Plan) -> None:
    """Refuses (WF442) several rows of a persistent CTA at a time where each begins elsewhere."""
    if not plan.persistent or not _is_shifted(task, plan):
        return
    for key, only in (("warps_kept", 1), ("lanes", WARP)):
        if getattr(plan, key) != only:
            raise error("WF442", name=task.program.name, key=key, value=getattr(plan, key), expected=only)


def _is_shifted(task: Task, plan: Plan) -> bool:
    """Whether accesses begin before rows."""
    return "shifted" in accesses(task, "reduced", plan.vector)


def _registers_of_state(task: Task) -> int:
    """Registers of the states of one column."""
    return sum(ceil(t.itemsize / 4) for t in task.program.side_states)


def launch(task: Task, plan: Plan, own: int) -> Launch:
    """The grid: as many CTAs as the machine holds at once, if there are rows for each. ``own`` are the columns of one.

    Where rows begin anywhere, so many that all rows of a CTA begin equally far after a boundary.
    """
    tiles = -(-task.geometry.n_kept // plan.slots)
    ctas = max(1, min(tiles, plan.persistent * task.machine))
    if _is_shifted(task, plan):
        ctas = max(plan.vector, ctas // plan.vector * plan.vector)
    return Launch(tiles, 1, own, ctas=ctas)
