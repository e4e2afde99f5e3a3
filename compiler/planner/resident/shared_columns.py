"""Columns that wait in shared memory, of a CTA or of those of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from ...plan.fields import MOST_HELD
from ...plan.plan import Plan
from ...program.graph import REDUCED
from ...target import PORTABLE_CLUSTER, WARP
from .. import sittings
from ..alignment import WIDEST
from ..powers_of_two import ceil2
from ..table import Table, threshold
from ..task import Notes, Task
from .accesses import elements_of
from .columns import (
    NARROW,
    SEVERAL,
    THREADS,
    TILE,
    WIDTH_IN_LINES,
    are_lines,
    are_words,
    folds_exponentials,
    held_of,
    items_of,
    lanes_kept_of,
    most_ctas,
    vector_of,
)

LINES = Table("bytes of a row of the tile in shared memory", "CTAs of a cluster, at most", sittings.RESIDENT_COLUMNS, (
    (64, 8), (128, 1),
))  # fmt: skip
"""As WIDTHS, where the columns leave each CTA TILE bytes."""
SHORT_LINES = threshold(256, "bytes of a row of the tile in shared memory", sittings.OVERLAPS)
"""The same for columns of fewer than SHARED_LEAST accesses of a thread to LINES."""
SHARED_LEAST = threshold(5, "accesses of a thread", sittings.RESIDENT_COLUMNS)
"""Shorter columns wait in registers."""
MEETING = threshold(4, "CTAs of a cluster", sittings.COLUMNS_ONCE)
"""From here on columns of one array of words wait in shared memory, where phases fold exponentials or have SEVERAL
values in their states."""
WHOLE_LINES = threshold(((128, 8),), "bytes of a row of the tile, CTAs of a cluster at most", sittings.COLUMNS_ONCE)
"""As LINES, for columns of one array of words that fold no exponentials, in clusters of as many CTAs."""
HALVES_IN_LINES = threshold((128, 16), "bytes of a row of the tile, CTAs of a cluster", sittings.HALVES)
"""Columns of one array of halves lie in strips of whole lines, where all threads fold as many elements."""
SHORT_PART = threshold(28 * 1024, "bytes of such a tile", sittings.HALVES)
"""Shorter columns are faster in narrower tiles of clusters of four CTAs."""
LONG_PART = threshold(48 * 1024, "bytes of such a tile", sittings.HALVES)
"""The most for programs with exponentials or weights; the most for others is TILE."""
FOUR_TILES = threshold(56 * 1024, "bytes of a tile", sittings.HALVES)
"""Up to here an SM holds four tiles. For SEVERAL values of states narrower ones are faster then, from LONG_PART on."""
CTAS_IN_LINES = threshold(3, "CTAs per SM", sittings.HALVES)
"""Fewer leave SMs without work."""
WEIGHTED_CTAS = threshold(6, "CTAs per SM", sittings.HALVES)
"""From here on those of longer halves with weights have twice THREADS: each phase reads the weights of an element."""


def of_words(task: Task, notes: Notes) -> Plan | None:
    """The plan of columns of words that wait in shared memory; None where few CTAs share a column, or fold little."""
    program, heavy = task.program, folds_exponentials(task.program)
    if task.is_portable or not are_words(program):
        return None
    choices: list[tuple[Sequence[tuple[float, int]], int]] = []
    choices += [(WHOLE_LINES, PORTABLE_CLUSTER)] if not heavy and are_lines(task) else []
    bare = heavy and REDUCED not in program.input_spaces
    choices += [(LINES.rows, MEETING)] if bare or len(program.states) >= SEVERAL else []
    for lines, least in choices:
        own = Notes()
        found = plan(task, own, lines)
        if found and found.cluster >= least:
            notes.reasons += own.reasons
            return found
    return None


def halves_in_lines(task: Task, notes: Notes) -> Plan | None:
    """The plan of columns of halves in strips of whole lines; None where narrower tiles are faster."""
    program, n, (width, cluster) = task.program, task.geometry.n_reduced, HALVES_IN_LINES
    vector = WIDEST // NARROW // 2
    if items_of(program) != [NARROW] or task.target.largest_cluster < cluster:
        return None
    if not are_lines(task, width * CTAS_IN_LINES // cluster):
        return None
    light = not (folds_exponentials(program) or REDUCED in program.input_spaces)
    each = n * width // cluster
    plan = Plan(
        "kept", "interleaved", vector, 1, WARP * vector * NARROW // width, THREADS // WARP, 1, cluster=cluster,
        resident="shared", held=held_of(n, width // NARROW // vector, THREADS, cluster),
    )  # fmt: skip
    whole = n % (plan.positions * cluster) == 0 and vector_of(task) >= vector
    if task.is_portable or not whole or not SHORT_PART < each <= (TILE if light else LONG_PART):
        return None
    if LONG_PART < each <= FOUR_TILES and len(program.states) >= SEVERAL:
        return None
    notes.because(
        f"columns wait in shared memory of {cluster} CTAs, in whole lines: {plan.held} access(es) of each thread",
        "held", "resident",
    )  # fmt: skip
    return plan


def is_in_lines(plan: Plan) -> bool:
    """Whether ``plan`` has strips of whole lines, in clusters that not all devices have."""
    return plan.resident == "shared" and plan.cluster > PORTABLE_CLUSTER


def plan(task: Task, notes: Notes, lines: Sequence[tuple[float, int]] = LINES.rows) -> Plan | None:
    """The plan of columns that wait in shared memory; None where they are too short or too long.

    ``lines`` are the widths of a tile, and the CTAs of a cluster that each may take.
    """
    n, item = task.geometry.n_reduced, max(task.operand_type(i).itemsize for i in elements_of(task))
    inputs = sum(i < len(task.program.inputs) for i in elements_of(task))
    for width, ctas in reversed(lines):
        cluster = ceil2(ceil(n * width * inputs / TILE))
        if cluster <= min(ctas, most_ctas(task)):
            break
    else:
        notes.rejected.append(("resident=shared", f"{n} elements a column are too many for {most_ctas(task)} CTA(s)"))
        return None
    widest = WIDEST // item
    least = widest // 2 if cluster > 1 and item <= NARROW else widest  # fewer states cross a cluster
    vector = min(vector_of(task), least)
    if vector < least or not inputs:
        return None
    lanes_kept = lanes_kept_of(task, int(width) // item, vector)
    if cluster == 1 and held_of(n, lanes_kept, THREADS, 1) < SHARED_LEAST:
        lanes_kept = lanes_kept_of(task, SHORT_LINES // item, vector)
    held = held_of(n, lanes_kept, THREADS, cluster)
    if not SHARED_LEAST <= held <= MOST_HELD:
        return None
    warps = THREADS // WARP * (2 if _are_weighted(task, cluster, held * THREADS * vector * item * inputs) else 1)
    held = held_of(n, lanes_kept, warps * WARP, cluster)
    ctas_of = f" of {cluster} CTAs" if cluster > 1 else ""
    notes.because(f"columns wait in shared memory{ctas_of}: {held} access(es) of each thread", "held", "resident")
    return Plan(
        "kept", "interleaved", vector, 1, WARP // lanes_kept, warps, 1, cluster=cluster, resident="shared", held=held
    )


def _are_weighted(task: Task, cluster: int, nbytes: int) -> bool:
    """Whether columns of halves with weights, in clusters whose CTAs hold ``nbytes``, have twice the threads."""
    ctas = task.geometry.n_kept * NARROW // WIDTH_IN_LINES * cluster
    halves = items_of(task.program) == [NARROW] and REDUCED in task.program.input_spaces
    enough = cluster == PORTABLE_CLUSTER and nbytes > FOUR_TILES and ctas >= WEIGHTED_CTAS * task.machine
    return halves and enough and not task.is_portable
