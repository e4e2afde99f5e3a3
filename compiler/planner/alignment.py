"""How the operands of a task can be read and written: by vectors, where the layout has them, or one by one."""

from __future__ import annotations

from ..errors import error
from ..plan.plan import OWN_WALKS, Access, Plan
from ..space.geometry import Dim, Geometry
from .task import Task

MANY = 1 << 22
"""Elements of large arrays: what a launch costs is little beside reading them."""
WIDEST = 16
"""Bytes of the widest access; of an address only the place in such a run is known."""
HALF, ANYWHERE = 8, {1: 4}
"""Bytes of an access along the kept axis that begins anywhere, at least; by those of an element."""


def ranks(geometry: Geometry) -> tuple[int, int]:
    """Kept and reduced dims that a kernel for ``geometry`` has: of few numbers, since each is a kernel of its own.

    One dim of each kind costs nothing; beyond, every dim costs a division a thread (kept) or an access (reduced). Large
    arrays get kernels of just their dims.
    """
    kept, reduced = len(geometry.kept), len(geometry.reduced)
    if kept <= 1 and reduced <= 1:
        return 1, 1
    if kept <= 3 and reduced <= 3:
        return (max(1, kept), max(1, reduced)) if large(geometry) else (3, 3)
    both = max(8, ceil2(max(kept, reduced)))
    return both, both


def large(geometry: Geometry) -> bool:
    """Whether an array is so large that kernels of its own pay for its layout."""
    return geometry.n_kept * geometry.n_reduced >= MANY


def access(task: Task, operand: int, axis: str, vector: int, *, rows: bool = False) -> Access:
    """How ``vector`` elements of an input along ``axis`` can be read; ``rows`` of one reduced dim in any kernel."""
    item = task.operand_type(operand).itemsize
    start = task.addresses[operand] + task.geometry.offsets[operand] * item
    return _access(task, operand, axis, vector, start, rows=rows)


def planned(task: Task, axis: str, vector: int, *, rows: bool = False) -> set[Access]:
    """How the inputs could be read, as far as a plan may know it: a portable one does not know their addresses.

    Where these then allow no vectors, a thread reads the same elements one by one, and the tree is the same.
    """
    inputs = range(len(task.program.inputs))
    if task.determinism == "portable":
        return {_access(task, i, axis, vector, 0, rows=rows) for i in inputs}
    return {access(task, i, axis, vector, rows=rows) for i in inputs}


def goes_by_row(task: Task, plan: Plan) -> bool:
    """Whether the results of a CTA lie within one row, that is along the innermost of several kept dims.

    Then no vector goes on in the next row, which begins anywhere: all is as if the row were alone.
    """
    if len(task.geometry.kept) < 2 or plan.fast == "reduced":
        return False
    return plan.walk in ("staggered", "padded") or (plan.walk not in OWN_WALKS and is_cut(task, plan.vector))


def is_cut(task: Task, vector: int) -> bool:
    """Whether vectors along several kept dims are cut where the innermost one ends, and read all the same."""
    g = task.geometry
    several = len(g.kept) > 1 and g.columns % vector != 0
    return several and "strided" not in planned(task, "kept", vector)


def row_of(task: Task, plan: Plan) -> int:
    """The results of a row, beyond which the tile of a CTA does not go; all of them where tiles go on in the next."""
    by_row = plan.walk == "period" or goes_by_row(task, plan)
    return task.geometry.columns if by_row else task.geometry.n_kept


def _access(task: Task, operand: int, axis: str, vector: int, start: int, *, rows: bool) -> Access:
    """The same for a walk that starts at the address ``start``."""
    g = task.geometry
    dims, others = (g.reduced, g.kept) if axis == "reduced" else (g.kept, g.reduced)
    item = task.operand_type(operand).itemsize
    if not dims or dims[-1].strides[operand] != 1 or vector == 1 or vector * item > WIDEST:
        return "strided"
    outer = [d.strides[operand] for d in (*dims[:-1], *others)]
    # The tree of shifted rows depends on the address.
    alone = len(task.program.inputs) == 1 and (rows or ranks(g)[1] == 1) and axis == "reduced"
    served = alone and start % item == 0 and task.determinism != "portable"
    cut = dims[-1].size % vector != 0
    whole = not cut or (axis == "reduced" and len(dims) == 1 and not (served and others))
    if whole and start % (vector * item) == 0 and all(s % vector == 0 for s in outer):
        return "aligned"
    if axis == "kept":
        return "unaligned" if _unaligned(task, operand, vector, start) else "strided"
    return "shifted" if served else "strided"


def _unaligned(task: Task, operand: int, vector: int, start: int) -> bool:
    """Whether vectors along the kept axis that begin anywhere serve an input: two aligned accesses hold such a one.

    A word of bytes is worth taking out of two. Elements of 8 bytes are read one by one: a warp's then fill whole
    sectors, and nothing is gained. Vectors stay in the array's memory but for some of the first and the last element of
    the reduced axis, as long as others lie one access apart.
    """
    g, item = task.geometry, task.operand_type(operand).itemsize
    if task.determinism == "portable":  # the first and the last element stand alone in the tree
        return False
    apart = all(d.strides[operand] * item >= WIDEST for d in g.reduced if d.size > 1)
    forward = all(d.strides[operand] >= 0 for d in g.kept)
    wide = vector * item >= ANYWHERE.get(item, HALF) > item
    return apart and forward and wide and start % item == 0 and max(ranks(g)) <= 3


def check_width(task: Task, vector: int, widest: int) -> None:
    """Refuses (WF421) ``vector`` elements that are more than ``widest`` bytes."""
    nbytes = vector * task.itemsize
    if nbytes > widest:
        raise error("WF421", vector=vector, item=task.itemsize, bytes=nbytes, widest=widest)


def stores_vector(task: Task, operand: int, plan: Plan, *, bounded: bool) -> bool:
    """Whether a thread's results along the kept axis can be written at once, or WIDEST bytes at a time.

    Several such stores are for threads that have results of their own: else results are few. Where the last vector may
    be cut (``bounded``), the kernel looks at each.
    """
    vector = plan.met.vector_kept
    item = task.operand_type(operand).itemsize
    dims = task.geometry.kept
    start = task.addresses[operand] + task.geometry.offsets[operand] * item
    if not dims:  # one result of a kernel that was compiled for many
        return False
    if dims[-1].size % vector and not bounded:
        return False
    nbytes = vector * item
    if plan.walk == "padded":
        return dims[-1].strides[operand] == 1
    if plan.walk == "whole":
        return dims[-1].strides[operand] == 1 and start % min(WIDEST, nbytes) == 0
    copies = task.geometry.copies
    outer = [d.strides[operand] * item for d in (*dims[:-1], *([copies] if copies else []))]
    side_by_side = all(s % min(WIDEST, nbytes) == 0 for s in (start, *outer)) and dims[-1].strides[operand] == 1
    return side_by_side and (nbytes <= WIDEST or plan.positions == 1)


def nearest(dims: tuple[Dim, ...]) -> float:
    """The smallest stride of the first input along ``dims``."""
    return min((abs(d.strides[0]) for d in dims if d.strides[0]), default=float("inf"))


def ceil2(n: int) -> int:
    """The least power of two not below ``n``."""
    return 1 << max(0, n - 1).bit_length()
