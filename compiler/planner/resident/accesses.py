"""How a program that reads rows again accesses each of its arrays, for a plan's axis and vector.

Inputs and outputs are accessed in the same ways. An array that varies along the kept dims alone has one value a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from ...dtypes import BIT, NUMBER
from ...plan.fields import Access
from ...postorder import postorder
from ...program.graph import ELEMENT, KEPT, REDUCED, SECTION, SIDE, Expr, Space
from ...space.geometry import Dim
from .. import few, sittings
from ..alignment import WIDEST
from ..few import widths
from ..layouts.tiled import WORD
from ..table import threshold
from ..task import Task

SHIFTED = threshold(32, "accesses of a row", sittings.RESIDENT_ROWS)
"""Rows that begin anywhere are read by the widest accesses of which they have this many: three of them are cut."""
NARROW = threshold(2, "bytes of an element", sittings.RESIDENT_ROWS)
"""Up to here an access that begins anywhere is taken out of the aligned ones around it; wider elements are read one by
one."""
PACKED = threshold(24, "accesses of a row", sittings.SHORT_ROWS_OF_BITS)
"""Rows that become bits alone, and begin at boundaries, are read at once from here on, and where one access has all."""
ROWS_OF_WORDS = threshold(100, "accesses of a row", sittings.WORDS_ANYWHERE)
"""Rows of so many accesses of narrow elements, which begin anywhere, are read and written at once beside their bits."""
ROW_THREADS = threshold(256, "threads of a row in a CTA", sittings.RESIDENT_ROWS)
"""Rows that so many threads keep in MOST accesses each wait in registers. So many threads of each CTA share a row of a
cluster."""
MOST = threshold(9, "accesses of a row that a thread keeps", sittings.RESIDENT_ROWS)
"""Beyond, SMs hold too few threads to hide the latency of memory: longer rows wait in shared memory."""


def spaces(task: Task) -> tuple[Space, ...]:
    """The space of each input, then of each output."""
    outputs = (ELEMENT if o.space & REDUCED else o.space or KEPT for o in task.program.outputs)
    return (*task.program.input_spaces, *outputs)


def inputs_of(roots: Sequence[Expr]) -> set[int]:
    """The inputs of which values are made, where the results of folds are known."""
    nodes = postorder(roots, lambda e: () if e.op == "result" else e.args)
    return {e.value for e in nodes if e.op == "input"}  # type: ignore[misc]


def elements_of(task: Task) -> list[int]:
    """The operands with a value for each element of each row; those along the reduced dims alone if there are none."""
    own = [(i, space) for i, space in enumerate(spaces(task)) if i not in task.program.gathered]
    found = [i for i, space in own if space == ELEMENT and _moves(task, i)] or [
        i for i, space in own if space & REDUCED
    ]
    return found or [i for i, space in enumerate(spaces(task)) if space & REDUCED]


def across_rows(task: Task) -> list[int]:
    """The operands whose elements lie side by side along the kept axis, where those of others do along rows."""
    g, rows = task.geometry, elements_of(task)
    side_by_side = [i for i in rows if g.reduced and g.reduced[-1].strides[i] == 1]
    return [i for i in rows if side_by_side and i not in side_by_side and g.kept and g.kept[-1].strides[i] == 1]


def _moves(task: Task, operand: int) -> bool:
    """Whether an operand has an element of its own for each of a row, and its rows are not all one."""
    g = task.geometry
    own = all(d.strides[operand] for d in g.reduced)
    return own and (any(d.strides[operand] for d in g.kept) or not g.kept)


def accesses(task: Task, axis: str, vector: int, *, waits: bool = True) -> tuple[Access, ...]:
    """How each operand is accessed by ``vector`` elements along ``axis``: inputs first, then outputs.

    ``waits`` says whether rows wait on chip or in the L2 cache. Then accesses may begin at the boundary before a row,
    or between two.
    """
    shift = _shift(task, axis, vector) if waits else frozenset()
    found = (_access(task, i, space, axis, vector, shift) for i, space in enumerate(spaces(task)))
    anywhere = axis == "reduced" and vector > 1 and waits
    return tuple(
        _anywhere(task, i, vector, shift) if anywhere and access == "strided" else access
        for i, access in enumerate(found)
    )


def _anywhere(task: Task, operand: int, vector: int, shift: frozenset[int]) -> Access:
    """How an operand is accessed along rows whose accesses to it begin anywhere."""
    if _is_unaligned(task, operand, vector, shift):
        return "unaligned"
    return "split" if _is_split(task, operand, vector) else "strided"


def _access(task: Task, operand: int, space: Space, axis: str, vector: int, shift: frozenset[int]) -> Access:
    if operand in task.program.gathered:
        return "gathered"
    if task.operand_type(operand) == NUMBER:
        return "number"
    if task.operand_type(operand) == BIT:
        return _bits(task, operand, space, axis, vector, shift)
    if space & REDUCED == 0:
        return "side" if space == SIDE else "section" if space == SECTION else "kept"
    if operand in shift:
        return "shifted"
    inner, others = _dims(task, axis)
    if not inner or vector == 1:
        return "strided"
    if is_one_run(task, operand, axis):
        whole = task.geometry.n_reduced % vector == 0
        return ("aligned" if whole else "shifted") if _is_aligned(task, operand, vector, others) else "strided"
    stride = inner[-1].strides[operand]
    whole = inner[-1].size % vector == 0 and not shift
    if stride == 0 and whole:
        return "uniform"
    outer, ahead = [*inner[:-1], *others], (1 - vector) * task.operand_type(operand).itemsize
    if stride == -1 and whole and axis == "reduced" and not task.program.reduces:
        return "reversed" if _is_aligned(task, operand, vector, outer, ahead) else "strided"
    fits = stride == 1 and whole and _is_aligned(task, operand, vector, outer)
    return "aligned" if fits else "strided"


def _is_unaligned(task: Task, operand: int, vector: int, shift: frozenset[int]) -> bool:
    """Whether accesses along rows, which begin anywhere, are taken out of aligned ones, or put together to such.

    This is for narrow elements: single ones of 4 bytes take fewer instructions. Of elements of rows it pays where no
    end of a row cuts an access. In portable plans, where accesses begin with the row, it pays where ends cut them,
    since single elements then ask for bounds each.
    """
    item, inputs = task.operand_type(operand).itemsize, len(task.program.inputs)
    if task.few or item > NARROW or vector * item < WORD or not _is_side_by_side(task, operand, vector):
        return False
    if task.is_portable:
        return task.geometry.reduced[-1].size % vector > 0
    long = len(task.geometry.reduced) == 1 and task.geometry.n_reduced >= ROWS_OF_WORDS * vector
    if writes_bits(task) and not task.program.reduces and long:
        return True  # accesses begin with the row, as its words do
    one_row = has_bits(task) and not task.program.reduces and not task.geometry.kept
    return operand < inputs and (one_row or not (shift and operand in elements_of(task)))


def _is_split(task: Task, operand: int, vector: int) -> bool:
    """Whether accesses to an input go on from one row of the inner dim into the next, as those to the bits do.

    They do where such rows lie one behind another, with gaps, and have at least the elements of a word. Elements of 4
    bytes take fewer instructions one by one.
    """
    item, rows = task.operand_type(operand).itemsize, task.geometry.reduced
    if task.few or task.is_portable or item > 1 or operand >= len(task.program.inputs):
        return False
    if not has_runs(task, "reduced") or part_of(task, vector) * item < WORD or rows[-1].strides[operand] != 1:
        return False
    behind = all(a.strides[operand] >= b.size * b.strides[operand] for a, b in pairwise(rows))
    return behind and task.start(operand) % item == 0


def part_of(task: Task, vector: int) -> int:
    """The elements of the parts in which a split access is read: at most one end of a row is inside of a part."""
    return min(vector, 1 << task.geometry.reduced[-1].size.bit_length() - 1)


def _is_side_by_side(task: Task, operand: int, vector: int) -> bool:
    """Whether the elements of an access along a row lie side by side."""
    row = task.geometry.reduced
    joined = len(row) == 1 or (bool(row) and row[-1].size % vector == 0) or is_one_run(task, operand, "reduced")
    return joined and row[-1].strides[operand] == 1 and task.start(operand) % task.operand_type(operand).itemsize == 0


def _bits(task: Task, operand: int, space: Space, axis: str, vector: int, shift: frozenset[int]) -> Access:
    """How bits are accessed: at once those of an access that begins at a multiple of its elements in the words.

    The last access of a row may be cut in a step without a fold: a word is there as a whole.
    """
    inner, others = _dims(task, axis) if space & REDUCED else (task.geometry.kept, ())
    if space & REDUCED == 0 and axis == "reduced":
        vector = 1  # one element a row
    early = any(_leads(task, i, vector) != _no_lead(task) for i in shift)
    one = axis == "reduced" and len(inner) == 1 and not task.program.reduces
    if is_one_run(task, operand, axis):
        return "bits"
    if early or not inner or inner[-1].strides[operand] != 1 or not (one or inner[-1].size % vector == 0):
        return "bits_strided"
    outer = all(d.strides[operand] % vector == 0 for d in (*inner[:-1], *others))
    return "bits" if outer else "bits_strided"


def is_one_run(task: Task, operand: int, axis: str) -> bool:
    """Whether the elements of an operand follow each other through all dims of one row, whose bits are numbered so.

    Accesses then go on from one row of the inner dims into the next. Arrays with gaps between these rows are read by
    single elements.
    """
    g = task.geometry
    if axis != "reduced" or g.kept or len(g.reduced) < 2 or task.program.reduces or not has_bits(task):
        return False
    follow = all(a.strides[operand] == b.size * b.strides[operand] for a, b in pairwise(g.reduced))
    return follow and g.reduced[-1].strides[operand] == 1


def runs(task: Task, axis: str) -> tuple[int, ...]:
    """The operands that are one run."""
    return tuple(i for i in range(len(task.geometry.offsets)) if is_one_run(task, i, axis))


def has_runs(task: Task, axis: str) -> bool:
    """Whether an operand is one run, beside which the accesses to others go on from row to row."""
    return bool(runs(task, axis))


def has_bits(task: Task) -> bool:
    """Whether an array is one of bits."""
    return BIT in task.program.inputs or writes_bits(task)


def writes_bits(task: Task) -> bool:
    """Whether a result is one of bits, which the lanes of a word put together."""
    return any(o.dtype == BIT for o in task.program.outputs)


def _dims(task: Task, axis: str) -> tuple[Sequence[Dim], Sequence[Dim]]:
    """The dims of an axis, and those of the other one."""
    g = task.geometry
    return (g.reduced, g.kept) if axis == "reduced" else (g.kept, g.reduced)


def _is_aligned(task: Task, operand: int, vector: int, outer: Sequence[Dim], ahead: int = 0) -> bool:
    """Whether every access of an operand is aligned, if those along the innermost dim follow each other.

    ``ahead`` is the distance from the first element of an access to its lowest address, in bytes.
    """
    item = task.operand_type(operand).itemsize
    unit = min(WIDEST, vector * item)
    return all(n % unit == 0 for n in (task.start(operand) + ahead, *(d.strides[operand] * item for d in outer)))


def _shift(task: Task, axis: str, vector: int) -> frozenset[int]:
    """The operands whose rows all begin equally far after a boundary, so that their accesses begin there.

    They are those with the elements of rows, if not every row begins at a boundary; if rows of several begin
    differently, those like the first result, since single elements are faster to read than to write. Rows are of one
    dim. The tree of a portable plan does not depend on addresses, so there is none.
    """
    g = task.geometry
    if axis != "reduced" or len(g.reduced) != 1 or vector == 1:
        return frozenset()
    rows = [
        i
        for i in elements_of(task)
        if g.reduced[0].strides[i] == 1 and task.operand_type(i).itemsize * vector <= 32 and task.operand_type(i) != BIT
    ]
    first = next((i for i in rows if i >= len(task.program.inputs)), rows[0] if rows else 0)
    if not rows or (_is_aligned(task, first, vector, g.kept) and g.reduced[0].size % vector == 0):
        return frozenset()
    lead = _leads(task, first, vector)
    if writes_bits(task) and lead != _no_lead(task):
        return frozenset()  # lanes make words of accesses that begin with the row
    return frozenset(i for i in rows if lead is not None and _leads(task, i, vector) == lead)


def _leads(task: Task, operand: int, vector: int) -> tuple[int, ...] | None:
    """How far each row begins after a boundary: what of start and strides is no whole access; None if unknown."""
    item = task.operand_type(operand).itemsize
    start = task.start(operand)
    if task.is_portable or start % item:
        return None
    return (start // item % vector, *(d.strides[operand] % vector for d in task.geometry.kept))


def _no_lead(task: Task) -> tuple[int, ...]:
    """How far rows that all begin at a boundary do so after one."""
    return (0,) * (1 + len(task.geometry.kept))


def is_by_columns(task: Task) -> bool:
    """Whether neighbouring lanes read neighbouring rows: the elements of a row lie apart.

    Without a fold the first result decides about rows of one dim: single elements are faster to read than to write.
    """
    g, own, inputs = task.geometry, elements_of(task), len(task.program.inputs)
    first = next((i for i in own if i >= inputs), own[0])
    if task.program.reduces or len(g.reduced) != 1:
        first = own[0]

    def least(dims: Sequence[Dim]) -> float:
        return min((abs(d.strides[first]) for d in dims if d.strides[first]), default=float("inf"))

    return bool(g.kept) and least(g.kept) < least(g.reduced)


def vector_of(task: Task, axis: str, among: Sequence[int] = ()) -> int:
    """Elements of an access, WIDEST bytes of an input or less: the most for which all arrays are accessed at once.

    Those are the arrays with the elements of rows, or the operands ``among``.

    A portable plan has the widest, so that the tree does not depend on strides; other arrays are accessed
    element by element.
    """
    rows, inputs = among or elements_of(task), len(task.program.inputs)
    if task.is_portable:  # where there is one row, its elements and weights are alike
        rows = [i for i, space in enumerate(spaces(task)) if space & REDUCED]
    read = [i for i in rows if i < inputs and task.program.reduces] or rows
    widest = WIDEST // max(task.operand_type(i).itemsize for i in read)
    if task.is_portable:
        return widest
    fitting = (v for v in widths(task, widest) if _is_whole(task, axis, rows, v, shifts=v == widest or not task.few))
    whole = next(fitting, 1)
    if axis != "reduced" or not few.mixes(task, widest) or not _mixes(task, rows, widest):
        return whole
    found = accesses(task, axis, widest)
    cut = "shifted" in found or any(found[i] == "unaligned" for i in rows if i >= inputs)
    narrow_and_cut = cut and max(map(_item(task), read)) <= NARROW
    best = WIDEST // 2 // max(map(_item(task), read)) if has_runs(task, axis) else 1
    return whole if whole > 1 and whole >= best and narrow_and_cut else widest


def _is_whole(task: Task, axis: str, rows: Sequence[int], vector: int, *, shifts: bool) -> bool:
    """Whether all elements of rows are accessed at once; with ``shifts`` the accesses may begin before rows."""
    found = accesses(task, axis, vector)
    kinds = {found[i] for i in rows} - {"bits", "reversed"} or {"aligned"}
    long = task.geometry.n_reduced >= SHIFTED * vector or _packs_alone(task, vector)
    shifted = shifts and kinds <= {"aligned", "shifted"} and long
    return kinds == {"aligned"} or shifted


def _packs_alone(task: Task, vector: int) -> bool:
    """Whether a step without a fold makes bits alone, of rows that begin at boundaries and are not too short.

    The end of a row cuts a word of bits, and no access: elements behind it are read, and shifted out.
    """
    n = task.geometry.n_reduced
    if task.program.reduces or any(o.dtype != BIT for o in task.program.outputs) or vector < n < PACKED * vector:
        return False
    read = [i for i in elements_of(task) if task.operand_type(i) != BIT]
    widest = max((vector * task.operand_type(i).itemsize for i in read), default=0) == WIDEST
    return widest and all(_leads(task, i, vector) == _no_lead(task) for i in read)


def _mixes(task: Task, rows: Sequence[int], vector: int) -> bool:
    """Whether results are accessed at once, and inputs that begin elsewhere are read otherwise.

    Rows wait in registers. Elements of 8 bytes have no more to an access than a thread reads at a time anyway.
    """
    found, inputs, n = accesses(task, "reduced", vector), len(task.program.inputs), task.geometry.n_reduced
    results = {found[i] for i in rows if i >= inputs}
    folds = bool(task.program.reduces)
    one_by_one = "bits_strided" in found or (folds and has_bits(task))
    held = SHIFTED * vector <= n and (not folds or n <= ROW_THREADS * MOST * vector)
    light = all(_item(task)(i) <= WORD for i in rows) and not one_by_one
    one_run = any(is_one_run(task, i, "reduced") for i in rows)
    side_by_side = all(_is_side_by_side(task, i, vector) for i in rows if not one_run or i >= inputs)
    return held and light and side_by_side and bool(results) and results <= {"aligned", "shifted", "bits", "unaligned"}


def _item(task: Task) -> Callable[[int], int]:
    """The bytes of an element of each operand."""
    return lambda operand: task.operand_type(operand).itemsize
