"""The plan of a scan: which threads share a row, or a chunk of it, and in which order.

A CTA has whole rows if its threads hold them in registers, else a chunk of a row: CTAs look back at the chunks before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from ...errors import error
from ...plan.checks import check
from ...plan.facts import INDEX_LIMIT, Facts, numberings
from ...plan.fields import IN_BULK, OF_BITS, Access
from ...plan.launch import Launch, look_back_cells, look_back_counters
from ...plan.layout import layout_of
from ...plan.plan import Plan
from ...plan.shared_memory import waiting_bytes
from ...target import WARP
from .. import sittings
from ..alignment import WIDEST
from ..powers_of_two import ceil2, floor2
from ..table import threshold
from ..task import Choice, Notes, Task
from . import columns, scan_columns, scan_parts, scan_strips, scan_tiles, tile_groups, tile_sizes
from .accesses import SHIFTED, accesses, elements_of, is_by_columns

REGISTERS = threshold(32, "registers of a thread", sittings.SCANS)
"""The states of the elements that a thread has take so many."""
MOST = threshold(8, "accesses of a thread", sittings.SCANS)
"""Of whole accesses; of narrower ones a thread has more, up to FEW_BYTES."""
NARROWEST = threshold(16, "accesses of a thread", sittings.SCANS)
"""Of single elements."""
WHOLE_REGISTERS = threshold(64, "registers of a thread", sittings.SHORT_SCANS)
"""REGISTERS of a thread where a CTA has whole rows, and a state takes one."""
COLUMN_REGISTERS = threshold(64, "registers of a thread", sittings.SHORT_SCANS)
"""REGISTERS of a thread whose neighbours have neighbouring columns."""
MOST_OF_FEW = threshold(32, "accesses of a thread", sittings.SHORT_SCANS)
"""MOST of such a thread, if its accesses are single elements, or strips are few."""
FEW_TILES = threshold(64, "strips of columns", sittings.SHORT_SCANS)
"""With fewer strips CTAs have MOST_WARPS, since they wait for the chunks before."""
LOOKING = threshold(8, "lanes that look back for a column", sittings.SHORT_SCANS)
"""A CTA has MOST_WARPS as well if WARPS had fewer."""
IN_A_WARP = threshold(4, "accesses of a thread", sittings.SCANS)
"""A row that a warp has in so many accesses of each lane needs no other warp, and no barrier."""
WARPS = threshold(8, "warps of a CTA", sittings.SCANS)
"""The most that share a chunk of a row, or a row in IN_A_WARP accesses of each lane."""
MOST_WARPS = threshold(16, "warps of a CTA", sittings.SCANS)
"""The most that share a whole row: then no CTA looks back."""
CTA_WARPS = threshold(4, "warps of a CTA", sittings.SCANS)
"""If rows have fewer, a CTA has several of them."""
WIDTH = threshold(128, "bytes of a row of a strip", sittings.SCANS)
"""Neighbouring columns of a CTA whose columns have several chunks: whole lines of the cache."""
ROLES_WARPS = threshold(32, "warps of a CTA whose warps have roles", sittings.SCAN_ROLES)
"""Half of them write, and all but three of the others make states."""
ROLES_BYTES = threshold(1 << 16, "bytes of a chunk of a CTA whose warps have roles", sittings.SCAN_ROLES)
"""With three of them in shared memory an SM holds one CTA. Four of three quarters are faster: more are on the way."""
ROLES_REGISTERS = threshold(32, "registers of a thread", sittings.SCAN_ROLES)
"""The states of the elements that a writer has at a time, of 64 registers."""
ROLES_ROWS = threshold(128, "rows, or arrays of columns", sittings.SCAN_ROLES)
"""With more rows than these, the chunks before a CTA's own have long left their states."""
ROLES_PARTS = threshold(64, "chunks of a row", sittings.SCAN_ROLES)
"""Of so many, a CTA waits for some."""
ROLES_COLUMNS = threshold(8, "columns", sittings.SHORT_SCANS)
"""More words of columns are faster without roles, in chunks of as many bytes."""
ROLES_NARROW = threshold(64, "columns of narrow elements", sittings.SHORT_SCANS)
"""The same of elements that take more room as states. Of more, few lanes would look back for each."""
ROLES_QUARTERS = threshold(8, "columns", sittings.SHORT_SCANS)
"""Of more, chunks are not cut to three quarters: there are more states to look at."""
ROLES_CHUNKS = threshold(1.75, "chunks of an SM", sittings.SCAN_ROLES)
"""With fewer chunks than these, none is on its way while another one waits."""
LEAST_WARPS = 8
"""Of a CTA whose warps have roles: three that copy, leave and look, one that makes, and as many that write."""
LEAST_OF_COLUMNS = 16
"""The same of columns, at which a quarter of the warps look back."""
BULK = 16
"""Bytes of which a row has a multiple, and at a multiple of which it begins, where chunks are copied in bulk."""
SERVED = ("fast", "vector", "lanes", "warps", "warps_kept", "held", "tile_bytes", "unroll", "persistent")
"""The fields of a plan that options may set."""
ROWS_OF_ACCESSES = ("aligned", "shifted", "uniform", "reversed", "strided", "kept", "number", *OF_BITS)
"""The accesses that scans have."""


def choose(task: Task, wanted: str = "") -> Choice:
    """The plan of a program that scans.

    Raises:
        PlanError: WF443 where ``wanted`` sets a field that such plans have not, and the errors of ``check``.
    """
    notes = Notes()
    found = _planned(task, notes)
    if wanted:
        found = _overridden(task, found, wanted, notes)
    run, facts = _launch(task, found), _facts(task, found)
    if not facts.once:
        chunk, taken = found.held * layout_of(found).span("reduced"), "chunks"
        if found.keeps_columns:
            chunk, taken = chunk * ceil(ceil(task.geometry.n_reduced / chunk) / run.split), "parts"
        notes.because(f"CTAs take {taken} of {chunk} elements by tickets, and look back at those before", "resident")
    waiting = waiting_bytes(found, facts, task.program.inputs)
    check(found, task.target, sum(t.itemsize for t in task.program.scanned), waiting)
    return Choice(found, facts, run, [reason for reason, _ in notes.reasons], notes.rejected)


def _planned(task: Task, notes: Notes) -> Plan:
    """The planner's own plan."""
    by_columns = is_by_columns(task) and not task.is_portable
    short = scan_tiles.plan(task, _registers(task), notes, by_columns=by_columns)
    if short is None and by_columns:
        short = scan_columns.plan(task, notes) or scan_parts.plan(task, _registers(task), notes)
    return short or _with_roles(task, _of_columns(task, notes) if by_columns else _of_rows(task, notes), notes)


def _overridden(task: Task, plan: Plan, wanted: str, notes: Notes) -> Plan:
    """``plan`` with options in it.

    Raises:
        PlanError: WF443 for a field that such plans have not, or for a CTA with more rows than threads.
    """
    chosen, found = plan.with_options(wanted), {**Plan().to_dict(), **plan.to_dict()}
    served: dict[str, object] = {key: value for key, value in found.items() if key not in SERVED}
    served |= {key: "none" for key in chosen.to_dict() if key not in found and key not in SERVED}
    for key, only in served.items():
        _expect(task, chosen, key, only, holds=getattr(chosen, key) == only)
    _expect(task, chosen, "fast", "reduced or kept", holds=chosen.fast != "both")
    _expect(task, chosen, "held", "1 or more", holds=chosen.held > 0)
    if chosen.tile_bytes:
        serves = scan_columns.serves if chosen.keeps_columns else scan_tiles.serves
        _expect(task, chosen, "tile_bytes", "0", holds=serves(task, chosen))
    _expect(task, chosen, "unroll", "1", holds=chosen.unroll == 1 or chosen.keeps_columns)
    if chosen.persistent and not chosen.tile_bytes:
        _expect(task, chosen, "persistent", "0", holds=_serves_roles(task, chosen) and chosen.persistent == 1)
        least = LEAST_WARPS if chosen.slots == 1 else LEAST_OF_COLUMNS
        _expect(task, chosen, "warps", f"at least {least}", holds=chosen.warps >= least)
    most = chosen.threads * chosen.vector // chosen.slots  # each row of several chunks has a thread that looks back
    alone = _launch(task, chosen).split == 1
    _expect(task, chosen, "vector", f"at most {most}", holds=alone or chosen.slots <= chosen.threads)
    notes.because(f"asked for: {wanted}")
    return chosen


def _expect(task: Task, plan: Plan, key: str, only: object, *, holds: bool) -> None:
    """Refuses (WF443) a plan whose field ``key`` no plan of a scan has."""
    if not holds:
        raise error("WF443", name=task.program.name, key=key, value=getattr(plan, key), only=only)


def _registers(task: Task) -> int:
    """The registers of 32 bits that the state of an element takes."""
    return sum(-(-t.itemsize // 4) for t in task.program.scanned)


def _most_held(task: Task, vector: int) -> int:
    """The most accesses of ``vector`` elements that a thread has."""
    return max(1, min(NARROWEST if vector == 1 else MOST, floor2(max(1, REGISTERS // (vector * _registers(task))))))


def _vector(task: Task) -> int:
    """Elements of an access along a row: the most for which all arrays of elements are accessed at once.

    A portable plan has the widest, so that the tree does not depend on strides or addresses.
    """
    rows = elements_of(task)
    widest = max(1, WIDEST // max(task.operand_type(i).itemsize for i in rows))
    if task.is_portable:
        return widest
    for vector in (widest >> k for k in range(widest.bit_length() - 1)):
        kinds = {accesses(task, "reduced", vector)[i] for i in rows}
        if kinds <= {"aligned", "bits", "reversed"}:
            return vector
        if vector == widest and kinds <= {"aligned", "shifted"} and task.geometry.n_reduced >= SHIFTED * vector:
            return vector
    return 1


def _count(task: Task, vector: int) -> int:
    """The accesses that cover a row."""
    early = (vector - 1) * ("shifted" in accesses(task, "reduced", vector))
    return max(1, ceil((task.geometry.n_reduced + early) / vector))


def _of_rows(task: Task, notes: Notes) -> Plan:
    """The plan of rows along which lanes lie."""
    vector = _vector(task)
    count, most = _count(task, vector), _most_held(task, vector)
    whole = min(MOST, WHOLE_REGISTERS // vector) if _registers(task) == 1 < vector else 0
    if count <= WARP * MOST_WARPS * whole:
        most = max(most, whole)
    if count <= WARP * min(most, IN_A_WARP):
        lanes = min(WARP, ceil2(count))
        warps, held = 1, ceil(count / lanes)
    else:
        lanes, warps = WARP, min(WARPS, ceil2(ceil(count / (WARP * min(most, IN_A_WARP)))))
        while warps < MOST_WARPS and WARP * warps * most < count <= WARP * MOST_WARPS * most:
            warps *= 2
        held = min(most, ceil(count / (WARP * warps)))
    whole = count <= lanes * warps * held
    plan = Plan(
        "reduced", "interleaved", vector, 1, lanes, warps, max(1, CTA_WARPS // warps) if whole else 1,
        resident="chain", held=held,
    )  # fmt: skip
    notes.because(f"{vector} element(s) an access, {held} access(es) in each of {lanes * warps} thread(s)", "held")
    return plan


def _serves_roles(task: Task, plan: Plan) -> bool:
    """Whether the warps of a CTA may have roles: a row has several chunks, which are copied in bulk."""
    rows = [i for i in elements_of(task) if i < len(task.program.inputs)]
    kinds = accesses(task, plan.fast, plan.vector)[: len(task.program.inputs)]
    if not rows or len(task.geometry.reduced) != 1 or not set(kinds) <= {*IN_BULK, "kept", "number"}:
        return False
    return task.target.has_bulk_copies and _is_run(task, plan, rows, kinds) and _launch(task, plan).split > 1


def _is_run(task: Task, plan: Plan, rows: Sequence[int], kinds: Sequence[Access]) -> bool:
    """Whether the elements of a chunk are one run of memory of each of the inputs ``rows``, in units of BULK bytes."""
    items = [task.operand_type(i).itemsize for i in rows]
    if plan.fast == "kept":
        return plan.warps_kept == 1 < plan.slots <= ROLES_NARROW and all(
            _is_of_columns(task, plan, i, item) for i, item in zip(rows, items, strict=True)
        )
    units = [plan.vector if kinds[i] == "shifted" else max(1, BULK // t) for i, t in zip(rows, items, strict=True)]
    in_bulk = all(
        accesses(task, "reduced", unit)[i] in IN_BULK and unit * item % BULK == 0
        for i, item, unit in zip(rows, items, units, strict=True)
    )
    return in_bulk and plan.lanes == WARP and plan.slots == 1


def _is_of_columns(task: Task, plan: Plan, operand: int, item: int) -> bool:
    """Whether the columns of a CTA are those of an array without gaps, which begins at a boundary."""
    g = task.geometry
    dense = g.columns == plan.slots == g.reduced[0].strides[operand] and g.kept[-1].strides[operand] == 1
    begins = (task.start(operand), *(d.strides[operand] * item for d in (*g.kept[:-1], *g.reduced)))
    return dense and all(byte % BULK == 0 for byte in begins)


def _with_roles(task: Task, plan: Plan, notes: Notes) -> Plan:
    """The plan by which the warps of a CTA have roles, if rows are few and long; else ``plan``."""
    own = plan
    item = max(task.operand_type(i).itemsize for i in elements_of(task))
    few = ROLES_NARROW if item <= columns.NARROW else ROLES_COLUMNS
    if plan.fast == "kept" and plan.vector <= (across := task.geometry.columns) <= few:  # all are in a CTA
        own = replace(plan, lanes=max(1, floor2(WARP * plan.vector // across)), warps_kept=1)
    if task.is_portable or task.geometry.n_kept > ROLES_ROWS * own.slots or not _serves_roles(task, own):
        return plan
    item = sum(task.operand_type(i).itemsize for i in elements_of(task) if i < len(task.program.inputs))
    accesses_held = ROLES_BYTES // (ROLES_WARPS * WARP * plan.vector * item)
    held = floor2(max(1, min(NARROWEST, accesses_held, ROLES_REGISTERS // (plan.vector * _registers(task)))))
    held = 3 * held // 4 if held % 4 == 0 and own.slots <= ROLES_QUARTERS else held
    found = replace(own, warps=ROLES_WARPS, warps_kept=1, held=held, persistent=1)
    run = _launch(task, found)
    if run.split < ROLES_PARTS or run.tiles * run.split < ROLES_CHUNKS * task.sms:
        return plan
    notes.because("few long rows: CTAs stay, and warps copy, combine, look back and write at a time", "persistent")
    return found


def _of_columns(task: Task, notes: Notes) -> Plan:
    """The plan of rows whose elements lie apart: neighbouring lanes have neighbouring rows."""
    vector, n = columns.vector_of(task), task.geometry.n_reduced
    item = max(task.operand_type(i).itemsize for i in elements_of(task))
    states, most = COLUMN_REGISTERS // _registers(task), MOST if vector > 1 else MOST_OF_FEW
    across = min(WARP, ceil2(ceil(task.geometry.columns / vector)))
    if n > min(most, states // vector) * WARPS:  # a column has several lanes, and its strip is a line
        across = max(1, min(across, WIDTH // (vector * item)))
    lanes = WARP // across
    few = task.geometry.n_kept < FEW_TILES * across * vector
    most = max(1, floor2(min(MOST_OF_FEW if few else most, max(1, states // vector))))
    few = few or across * vector * LOOKING > WARP * WARPS
    most_warps = MOST_WARPS if few else WARPS
    warps = min(most_warps, ceil2(ceil(n / (most * lanes))))
    while across * vector > WARP * warps and n > most * lanes * warps:  # a CTA has as many threads as columns
        warps *= 2
    held = max(1, min(most, ceil(n / (lanes * warps))))
    whole = n <= lanes * warps * held
    if not whole and vector == 1 < _registers(task):  # addresses take as many registers as states
        held = max(1, min(held, REGISTERS // _registers(task)))
    plan = Plan(
        "kept", "interleaved", vector, 1, lanes, warps, max(1, CTA_WARPS // warps) if whole else 1,
        resident="chain", held=held,
    )  # fmt: skip
    if vector == 1:
        plan = scan_strips.of_elements(task, plan, _registers(task), narrow=item <= columns.NARROW)
    elif whole and vector < WIDEST // item:
        plan = scan_strips.widened(task, plan, states)
    notes.because(f"neighbouring lanes have neighbouring columns: {vector} of a thread, {plan.slots} of a CTA", "fast")
    return plan


def _length(task: Task, plan: Plan) -> int:
    """The elements of a row, with those by which it may begin early."""
    return _count(task, plan.vector) * plan.vector if plan.fast == "reduced" else task.geometry.n_reduced


def _launch(task: Task, plan: Plan) -> Launch:
    """The grid: a CTA for each tile of rows, or for each chunk of it."""
    if plan.tile_bytes:
        return scan_columns.launch(task, plan) if plan.keeps_columns else tile_sizes.launch(task, plan)
    chunk = plan.held * layout_of(plan).span("reduced")
    tiles, parts = -(-task.geometry.n_kept // plan.slots), max(1, -(-_length(task, plan) // chunk))
    ctas = tiles * parts
    return Launch(tiles, parts, chunk, ctas=min(ctas, task.sms * plan.persistent) if plan.persistent else ctas)


def _facts(task: Task, plan: Plan) -> Facts:
    """What the kernel must know of the arrays."""
    g, inputs = task.geometry, len(task.program.inputs)
    run = _launch(task, plan)
    found: tuple[Access, ...] = tuple(
        kind if kind in ROWS_OF_ACCESSES else "strided" for kind in accesses(task, plan.fast, plan.vector)
    )
    if plan.tile_bytes:
        found = tile_groups.tiled(task, plan, found)
    reach = max((abs(bound) for i in range(len(g.offsets)) for bound in g.span(i)), default=0)
    words = look_back_counters(run.tiles) + look_back_cells(plan, run) * _registers(task)
    numbers = max(reach, g.n_kept + plan.slots, run.split * run.chunk, words)
    kept_rank, reduced_rank = task.ranks
    return Facts(
        kept_rank,
        reduced_rank if len(g.reduced) > 1 else 1,
        32 if numbers < INDEX_LIMIT else 64,
        found[:inputs],
        store_vector=False,
        stores=found[inputs:],
        full=run.split * run.chunk == g.n_reduced and "shifted" not in found and not plan.keeps_columns,
        once=run.split == 1,
        numberings=numberings(task.program),
    )
