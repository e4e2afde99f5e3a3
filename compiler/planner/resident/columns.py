"""Rows whose elements lie apart: neighbouring lanes read neighbouring rows, the columns of a tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from ...plan.fields import MOST_HELD
from ...plan.plan import Plan
from ...plan.tiles import SECTOR
from ...program.graph import ELEMENT, REDUCED, MonoidGraph, Program, walk
from ...target import PORTABLE_CLUSTER, WARP
from .. import sittings
from ..alignment import LINE, WIDEST
from ..few import widths
from ..layouts.tiled import WORD
from ..powers_of_two import ceil2
from ..table import Table, threshold
from ..task import Notes, Task
from .accesses import accesses, elements_of

WIDTHS = Table("bytes of a row of the tile", "CTAs of a cluster, at most", sittings.RESIDENT_COLUMNS, (
    (32, 8), (64, 8), (128, 4), (256, 1),
))  # fmt: skip
"""A tile is as wide as it may be if its columns, in clusters of at most these CTAs, leave each thread KEPT elements."""
NARROW_WIDTH = threshold(64, "bytes of a row of the tile", sittings.RESIDENT_COLUMNS)
"""The most in a cluster, where accesses have several elements of fewer than 16 bytes."""
WIDTH_IN_LINES = threshold(64, "bytes of a row of the tile", sittings.RESIDENT_COLUMNS)
"""The most for columns that a CTA of THREADS does not keep in twice the width, where rows are whole lines of the L2
cache and each SM has a tile: the cache reads a line for two tiles, and half as many states cross a cluster."""
KEPT = threshold(64, "elements that a thread keeps", sittings.RESIDENT_ROWS)
"""The most, so that an SM holds two CTAs of THREADS."""
THREADS = threshold(256, "threads of a CTA", sittings.RESIDENT_ROWS)
"""The most threads of a CTA; two CTAs of a cluster become one of twice as many. So does a CTA of which a thread would
keep more than KEPT_OF_SEVERAL elements."""
KEPT_OF_SEVERAL = threshold(96, "elements of several arrays that a thread keeps", sittings.GRADIENTS)
"""Beyond, a CTA has twice THREADS."""
OF_SEVERAL = threshold(1.75, "accesses of a thread for each element of an access", sittings.SHORT_COLUMNS)
"""Lanes share a short column only if fewer of them would make more, where phases have SEVERAL values in their states:
what is computed for a column then takes as long as reading some of its elements."""
OF_FEW = threshold(0.875, "accesses of a thread for each element of an access", sittings.SHORT_COLUMNS)
"""The same where they have fewer."""
SEVERAL = threshold(3, "values of all states", sittings.SHORT_COLUMNS)
"""From here on they are several."""
FILLING = threshold(64, "threads per SM", sittings.SHORT_COLUMNS)
"""More lanes share a column where there are not so many."""
LEAST = threshold(8, "accesses of a thread", sittings.RESIDENT_ROWS)
"""More warps share a column only if each makes this many accesses."""
NARROW = threshold(2, "bytes of an element", sittings.RESIDENT_COLUMNS)
"""Such elements wait in shared memory: in registers they take as much room as what is computed of them."""
LINES = Table("bytes of a row of the tile in shared memory", "CTAs of a cluster, at most", sittings.RESIDENT_COLUMNS, (
    (64, 8), (128, 1),
))  # fmt: skip
"""As WIDTHS, where the columns leave each CTA TILE bytes."""
TILE = threshold(64 * 1024, "bytes of a tile in shared memory", sittings.RESIDENT_COLUMNS)
"""So an SM holds three CTAs."""
SHORT_LINES = threshold(256, "bytes of a row of the tile in shared memory", sittings.OVERLAPS)
"""The same for columns of fewer than SHARED_LEAST accesses of a thread to LINES."""
OVERLAPPING = threshold(
    ((512, 1), (256, 1), (128, 1), (256, 8)), "bytes of a row of the tile, CTAs of a cluster at most", sittings.OVERLAPS
)
"""As LINES, for columns of narrow elements that overlap, in the order of choice. Clusters serve programs without
weights along the columns: in shared memory each phase reads these again."""
MOST_ACROSS = threshold(64, "threads across a tile", sittings.OVERLAPS)
"""A tile of columns that overlap is no wider than the accesses of so many threads."""
OVERLAPPED = threshold(4, "times the columns that CTAs share", sittings.OVERLAPS)
"""A tile has so many at least, or CTAs do not overlap: they would fold too many columns twice."""
OVERLAP_LEAST = threshold(1 << 22, "elements of an array", sittings.OVERLAPS)
"""In smaller ones CTAs do not overlap."""
OVERLAP_LENGTH = threshold(50, "elements of a column", sittings.OVERLAPS)
"""Nor do they where columns are shorter: a neighbour then writes the rest of a sector at about the same time."""
KEPT_SINGLE = threshold(40, "elements that a thread keeps", sittings.OVERLAPS)
"""The most of a CTA of THREADS, where columns of single words overlap; then a CTA has twice as many threads, and then
two CTAs of a cluster share a column."""
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
SHARED_LEAST = threshold(5, "accesses of a thread", sittings.RESIDENT_COLUMNS)
"""Shorter columns wait in registers."""


def plan(task: Task, notes: Notes) -> Plan | None:
    """The plan of columns that wait on chip; None where they are too long for that."""
    if max(task.operand_type(i).itemsize for i in elements_of(task)) <= NARROW:
        found = _overlapping(task, notes) or _halves_in_lines(task, notes) or _shared(task, notes)
    else:
        found = _of_words(task, notes)
    return found or _kept(task, notes)


def meet_once(task: Task, plan: Plan) -> bool:
    """Whether the CTAs of a cluster that hold columns in shared memory meet once.

    Columns of one array of words do, where one monoid holds a maximum and exponentials relative to it, or would; and
    those of one array of which all threads fold as many elements, where it holds a mean and squares, or would.
    """
    program = task.program
    bare = _are_words(program) and REDUCED not in program.input_spaces
    return counts_alike(task, plan) or (bare and folds_exponentials(program))


def counts_alike(task: Task, plan: Plan) -> bool:
    """Whether all threads fold as many elements of one array, to states of SEVERAL values.

    A count among these is a constant of the kernel then, and means are combined without a division. Otherwise two
    meetings take less time than these divisions, and narrow columns less in the L2 cache than in large clusters.
    """
    return (
        len(_items(task.program)) == 1
        and len(task.program.states) >= SEVERAL
        and task.geometry.n_reduced % (plan.positions * plan.cluster) == 0
    )


def _items(program: Program) -> list[int]:
    """The bytes of an element of each array; none where a program does more than fold and use its rows."""
    if program.gathered or program.side or program.section:
        return []
    return [t.itemsize for t, space in zip(program.inputs, program.input_spaces, strict=True) if space == ELEMENT]


def _are_words(program: Program) -> bool:
    """Whether columns are those of one array of words."""
    return _items(program) == [WORD]


def folds_exponentials(program: Program) -> bool:
    """Whether phases fold exponentials."""
    combined = [e for r in program.reduces if isinstance(r.value, MonoidGraph) for e in r.value.combine]
    folded = [e for r in program.reduces for e in r.args]
    return any(e.op in ("exp", "exp2") for e in walk((*folded, *combined)))


def _of_words(task: Task, notes: Notes) -> Plan | None:
    """The plan of columns of words that wait in shared memory; None where few CTAs share a column, or fold little."""
    program, heavy = task.program, folds_exponentials(task.program)
    if task.is_portable or not _are_words(program):
        return None
    choices: list[tuple[Sequence[tuple[float, int]], int]] = []
    choices += [(WHOLE_LINES, PORTABLE_CLUSTER)] if not heavy and _are_lines(task) else []
    bare = heavy and REDUCED not in program.input_spaces
    choices += [(LINES.rows, MEETING)] if bare or len(program.states) >= SEVERAL else []
    for lines, least in choices:
        own = Notes()
        found = _shared(task, own, lines)
        if found and found.cluster >= least:
            notes.reasons += own.reasons
            return found
    return None


def _halves_in_lines(task: Task, notes: Notes) -> Plan | None:
    """The plan of columns of halves in strips of whole lines; None where narrower tiles are faster."""
    program, n, (width, cluster) = task.program, task.geometry.n_reduced, HALVES_IN_LINES
    vector = WIDEST // NARROW // 2
    if _items(program) != [NARROW] or task.target.largest_cluster < cluster:
        return None
    if not _are_lines(task, width * CTAS_IN_LINES // cluster):
        return None
    light = not (folds_exponentials(program) or REDUCED in program.input_spaces)
    each = n * width // cluster
    plan = Plan(
        "kept", "interleaved", vector, 1, WARP * vector * NARROW // width, THREADS // WARP, 1, cluster=cluster,
        resident="shared", held=_held(n, width // NARROW // vector, THREADS, cluster),
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


def _overlapping(task: Task, notes: Notes) -> Plan | None:
    """The plan of columns of narrow elements that overlap in shared memory; None where they are too short or long."""
    n, item = task.geometry.n_reduced, max(task.operand_type(i).itemsize for i in elements_of(task))
    inputs = sum(i < len(task.program.inputs) for i in elements_of(task))
    vector, overlap = vector_of(task), _sector(task)
    if not overlap or not inputs or vector * item < WORD:
        return None
    for width, ctas in OVERLAPPING:
        cluster, across = ceil2(ceil(n * width * inputs / TILE)), width // item // vector
        if cluster <= min(ctas, most_ctas(task)) and across <= MOST_ACROSS:
            break
    else:
        return None
    if cluster > 1 and REDUCED in task.program.input_spaces:
        return None
    lanes, beside = max(1, WARP // across), max(1, across // WARP)
    warps = THREADS // WARP // beside
    plan = Plan("kept", "interleaved", vector, 1, lanes, warps, beside, cluster=cluster, resident="shared")
    held = _held(n, 1, plan.positions, cluster)
    if not SHARED_LEAST <= held <= MOST_HELD or task.geometry.columns <= plan.slots // 2:
        return None
    _explain(notes, overlap)
    ctas_of = f" of {cluster} CTAs" if cluster > 1 else ""
    notes.because(f"columns wait in shared memory{ctas_of}: {held} access(es) of each thread", "held", "resident")
    return replace(plan, held=held, overlap=overlap)


def _explain(notes: Notes, overlap: int) -> None:
    """Notes why CTAs overlap."""
    notes.because(
        f"rows begin between sectors of memory: CTAs overlap by {overlap} columns, and write whole ones", "overlap"
    )


def _sector(task: Task) -> int:
    """The elements of a sector of the results, if CTAs of columns are to overlap by it; else 0.

    They are where rows of results begin between sectors, in arrays that the L2 cache does not hold.
    """
    g = task.geometry
    results = [i for i in elements_of(task) if i >= len(task.program.inputs)]
    items = {i: task.operand_type(i).itemsize for i in results}
    outer = (*g.kept[:-1], *g.reduced)
    between = any(
        task.start(i) % WIDEST or any(d.strides[i] * item % SECTOR for d in outer if d.size > 1)
        for i, item in items.items()
    )
    large = g.n_kept * g.n_reduced >= OVERLAP_LEAST and g.n_reduced >= OVERLAP_LENGTH
    once = not (task.is_portable or task.program.side)  # a side fold takes each element once
    return SECTOR // min(items.values()) if between and large and once else 0


def _shared(task: Task, notes: Notes, lines: Sequence[tuple[float, int]] = LINES.rows) -> Plan | None:
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
    lanes_kept = _lanes_kept(task, int(width) // item, vector)
    if cluster == 1 and _held(n, lanes_kept, THREADS, 1) < SHARED_LEAST:
        lanes_kept = _lanes_kept(task, SHORT_LINES // item, vector)
    held = _held(n, lanes_kept, THREADS, cluster)
    if not SHARED_LEAST <= held <= MOST_HELD:
        return None
    warps = THREADS // WARP * (2 if _are_weighted(task, cluster, held * THREADS * vector * item * inputs) else 1)
    held = _held(n, lanes_kept, warps * WARP, cluster)
    ctas_of = f" of {cluster} CTAs" if cluster > 1 else ""
    notes.because(f"columns wait in shared memory{ctas_of}: {held} access(es) of each thread", "held", "resident")
    return Plan(
        "kept", "interleaved", vector, 1, WARP // lanes_kept, warps, 1, cluster=cluster, resident="shared", held=held
    )


def _are_weighted(task: Task, cluster: int, nbytes: int) -> bool:
    """Whether columns of halves with weights, in clusters whose CTAs hold ``nbytes``, have twice the threads."""
    ctas = task.geometry.n_kept * NARROW // WIDTH_IN_LINES * cluster
    halves = _items(task.program) == [NARROW] and REDUCED in task.program.input_spaces
    enough = cluster == PORTABLE_CLUSTER and nbytes > FOUR_TILES and ctas >= WEIGHTED_CTAS * task.machine
    return halves and enough and not task.is_portable


def _kept(task: Task, notes: Notes) -> Plan | None:
    """The plan of columns that threads keep in registers; None where they are too long for that."""
    vector, n = vector_of(task), task.geometry.n_reduced
    item = max(task.operand_type(i).itemsize for i in elements_of(task))
    for width, ctas in reversed(WIDTHS.rows):
        lanes_kept = _lanes_kept(task, int(width) // item, vector)
        cluster = ceil2(ceil(_held(n, lanes_kept, THREADS, 1) * vector / KEPT))
        narrow = 1 < vector < WIDEST // item and width > NARROW_WIDTH
        wide = width > WIDTH_IN_LINES and vector * item >= WIDEST and _are_lines(task)
        if cluster <= min(1 if narrow or wide else ctas, most_ctas(task)):
            break
    else:
        notes.rejected.append(
            ("resident=registers", f"{n} elements a column are too many for {most_ctas(task)} CTA(s)")
        )
        return None
    warps, overlap = THREADS // WARP, _sector(task) if item == WORD else 0
    single = vector == 1 and overlap > 0
    if (cluster == 1 and _held(n, lanes_kept, THREADS, 1) > KEPT_SINGLE) if single else cluster == 2:
        warps, cluster = 2 * warps, 1
    inputs = sum(i < len(task.program.inputs) for i in elements_of(task))
    if warps * WARP == THREADS and _held(n, lanes_kept, THREADS, cluster) * vector * inputs > KEPT_OF_SEVERAL:
        warps *= 2
    while warps > 1 and _held(n, lanes_kept, warps * WARP // 2, cluster) <= LEAST:
        warps //= 2
    if warps == cluster == 1 and not (task.program.side or task.program.section):
        lanes_kept = _beside(task, lanes_kept, vector)
    held = _held(n, lanes_kept, warps * WARP, cluster)
    notes.because(f"{warps} warp(s) of a CTA keep {held} access(es) of a row each", "held", "warps")
    if lanes_kept * vector > task.geometry.columns:
        notes.because(f"{WARP // lanes_kept} lane(s) share a short column, and others have further ones", "lanes")
    found = Plan(
        "kept", "interleaved", vector, 1, WARP // lanes_kept, warps, max(1, 4 // warps), cluster=cluster,
        resident="registers", held=held,
    )  # fmt: skip
    if 0 < overlap <= found.slots // OVERLAPPED and task.geometry.columns > found.slots:
        _explain(notes, overlap)
        found = replace(found, overlap=overlap)
    return found


def overlaps(task: Task, plan: Plan) -> list[int]:
    """The results that neighbouring CTAs of ``plan`` may share: as many as a sector has of each array of results."""
    waits = plan.resident in ("registers", "shared") and not plan.tile_bytes
    results = [i for i in elements_of(task) if i >= len(task.program.inputs)]
    if not task.program.reduces or task.program.side or plan.fast != "kept" or not waits or not results:
        return []
    item = min(task.operand_type(i).itemsize for i in results)
    return [n for n in (SECTOR // item, 2 * SECTOR // item) if plan.vector <= n <= plan.slots // 2]


def most_ctas(task: Task) -> int:
    """The most CTAs that share a column."""
    return PORTABLE_CLUSTER if task.target.has_clusters and not task.is_portable else 1


def _are_lines(task: Task, each: int = WIDTH_IN_LINES) -> bool:
    """Whether what lies between the rows of tiles is whole lines of the L2 cache, and each SM has ``each`` bytes."""
    g, rows = task.geometry, elements_of(task)
    items, outer = {i: task.operand_type(i).itemsize for i in rows}, (*g.kept[:-1], *g.reduced)
    fills = g.n_kept * max(items.values()) >= each * task.machine
    return fills and all(d.strides[i] * items[i] % LINE == 0 for i in rows for d in outer)


def _lanes_kept(task: Task, columns: int, vector: int) -> int:
    """The lanes beside each other that read the columns of a tile, or all columns if they are fewer."""
    return max(1, min(WARP, columns // vector, ceil2(ceil(task.geometry.columns / vector))))


def _beside(task: Task, lanes_kept: int, vector: int) -> int:
    """The lanes beside each other of a warp that keeps short columns: ``lanes_kept``, or more that have further ones.

    Lanes that share a column each compute what is computed for it, and combine their states of all columns of an
    access. So they are few, but read whole sectors, and fill the machine.
    """
    g, rows, inputs = task.geometry, elements_of(task), len(task.program.inputs)
    item, arrays = max(task.operand_type(i).itemsize for i in rows), sum(i < inputs for i in rows)
    most = vector * (OF_SEVERAL if len(task.program.states) >= SEVERAL else OF_FEW)
    while lanes_kept < WARP:
        lanes = WARP // lanes_kept // 2
        each = ceil(g.n_reduced / lanes)
        kept = each <= most and (arrays == 1 or each * vector * arrays <= KEPT_OF_SEVERAL)
        whole = lanes * g.columns * item >= SECTOR
        if not kept or not whole or g.n_kept // vector * lanes < FILLING * task.machine:
            break
        lanes_kept *= 2
    return lanes_kept


def _held(n: int, lanes_kept: int, threads: int, cluster: int) -> int:
    """The accesses of a thread to a column of ``n`` elements."""
    return max(1, ceil(n / (threads // lanes_kept * cluster)))


def vector_of(task: Task) -> int:
    """Neighbouring columns of a thread: as many as an access holds, where every array has them side by side."""
    rows = elements_of(task)
    widest = max(1, WIDEST // max(task.operand_type(i).itemsize for i in rows))

    def is_whole(vector: int) -> bool:
        found = accesses(task, "kept", vector)
        return all(found[i] in ("aligned", "bits") for i in rows)

    return next(filter(is_whole, widths(task, widest)), 1)
