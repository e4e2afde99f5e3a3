"""How a program that reads rows again accesses each of its arrays, for a plan's axis and vector.

Inputs and outputs are accessed in the same ways. An array that varies along the kept dims alone has one value a row.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...dtypes import BIT
from ...plan.plan import Access
from ...program.graph import ELEMENT, KEPT, REDUCED, Space
from ...space.geometry import Dim
from .. import sittings
from ..alignment import WIDEST
from ..powers_of_two import halvings
from ..table import threshold
from ..task import Task

SHIFTED = threshold(32, "accesses of a row", sittings.RESIDENT_ROWS)
"""Rows that begin anywhere are read by the widest accesses of which they have this many: three of them are cut."""


def spaces(task: Task) -> tuple[Space, ...]:
    """The space of each input, then of each output."""
    outputs = (ELEMENT if o.space & REDUCED else KEPT for o in task.program.outputs)
    return (*task.program.input_spaces, *outputs)


def elements_of(task: Task) -> list[int]:
    """The operands with a value for each element of each row; those along the reduced dims alone if there are none."""
    own = [(i, space) for i, space in enumerate(spaces(task)) if i not in task.program.gathered]
    found = [i for i, space in own if space == ELEMENT and _moves(task, i)] or [
        i for i, space in own if space & REDUCED
    ]
    return found or [i for i, space in enumerate(spaces(task)) if space & REDUCED]


def _moves(task: Task, operand: int) -> bool:
    """Whether an operand has an element of its own for each of a row, and its rows are not all one."""
    g = task.geometry
    own = all(d.strides[operand] for d in g.reduced)
    return own and (any(d.strides[operand] for d in g.kept) or not g.kept)


def accesses(task: Task, axis: str, vector: int, *, shifts: bool = True) -> tuple[Access, ...]:
    """How each operand is accessed by ``vector`` elements along ``axis``: inputs first, then outputs.

    ``shifts`` says whether accesses may begin at the boundary before a row.
    """
    shift = _shift(task, axis, vector) if shifts else frozenset()
    return tuple(_access(task, i, space, axis, vector, shift) for i, space in enumerate(spaces(task)))


def _access(task: Task, operand: int, space: Space, axis: str, vector: int, shift: frozenset[int]) -> Access:
    if operand in task.program.gathered:
        return "gathered"
    if task.operand_type(operand) == BIT:
        return _bits(task, operand, space, axis, vector, shifted=bool(shift))
    if space & REDUCED == 0:
        return "kept"
    if operand in shift:
        return "shifted"
    inner, others = _dims(task, axis)
    if not inner or vector == 1:
        return "strided"
    stride = inner[-1].strides[operand]
    whole = inner[-1].size % vector == 0 and not shift
    if stride == 0 and whole:
        return "uniform"
    fits = stride == 1 and whole and _is_aligned(task, operand, vector, [*inner[:-1], *others])
    return "aligned" if fits else "strided"


def _bits(task: Task, operand: int, space: Space, axis: str, vector: int, *, shifted: bool) -> Access:
    """How bits are accessed: at once those of an access that begins at a multiple of its elements in the words."""
    inner, others = _dims(task, axis) if space & REDUCED else (task.geometry.kept, ())
    if space & REDUCED == 0 and axis == "reduced":
        vector = 1  # one element a row
    if shifted or not inner or inner[-1].strides[operand] != 1 or inner[-1].size % vector:
        return "bits_strided"
    outer = all(d.strides[operand] % vector == 0 for d in (*inner[:-1], *others))
    return "bits" if outer else "bits_strided"


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


def _is_aligned(task: Task, operand: int, vector: int, outer: Sequence[Dim]) -> bool:
    """Whether every access of an operand is aligned, if those along the innermost dim follow each other."""
    item = task.operand_type(operand).itemsize
    unit = min(WIDEST, vector * item)
    return all(n % unit == 0 for n in (task.start(operand), *(d.strides[operand] * item for d in outer)))


def _shift(task: Task, axis: str, vector: int) -> frozenset[int]:
    """The operands whose rows all begin equally far after a boundary, so that their accesses begin there.

    They are those with the elements of rows, if not every row begins at a boundary. Rows are of one dim. Others are
    accessed element by element, since an access at a boundary of these is none of theirs. The tree of a portable plan
    does not depend on addresses, so there all are.
    """
    g = task.geometry
    if axis != "reduced" or len(g.reduced) != 1 or vector == 1 or writes_bits(task):
        return frozenset()
    rows = [
        i
        for i in elements_of(task)
        if g.reduced[0].strides[i] == 1 and task.operand_type(i).itemsize * vector <= 32 and task.operand_type(i) != BIT
    ]
    if not rows or (all(_is_aligned(task, i, vector, g.kept) for i in rows) and g.reduced[0].size % vector == 0):
        return frozenset()
    lead = _leads(task, rows[0], vector)
    return frozenset(i for i in rows if lead is not None and _leads(task, i, vector) == lead)


def _leads(task: Task, operand: int, vector: int) -> tuple[int, ...] | None:
    """How far each row begins after a boundary: what of start and strides is no whole access; None if unknown."""
    item = task.operand_type(operand).itemsize
    start = task.start(operand)
    if task.is_portable or start % item:
        return None
    return (start // item % vector, *(d.strides[operand] % vector for d in task.geometry.kept))


def vector_of(task: Task, axis: str) -> int:
    """Elements of an access, WIDEST bytes of an input or less: the most for which all arrays are accessed at once.

    A portable plan has the widest, so that the tree does not depend on strides; other arrays are accessed
    element by element.
    """
    rows, inputs = elements_of(task), len(task.program.inputs)
    if task.is_portable:  # where there is one row, its elements and weights are alike
        rows = [i for i, space in enumerate(spaces(task)) if space & REDUCED]
    read = [i for i in rows if i < inputs] or rows
    widest = WIDEST // max(task.operand_type(i).itemsize for i in read)
    if task.is_portable:
        return widest
    for vector in halvings(widest):
        found = accesses(task, axis, vector)
        kinds = {found[i] for i in rows} - {"bits"} or {"aligned"}
        if kinds == {"aligned"} or (kinds <= {"aligned", "shifted"} and task.geometry.n_reduced >= SHIFTED * vector):
            return vector
    return 1
