"""How one input can be read along an axis: by aligned accesses, by accesses that begin anywhere, or one by one."""

from __future__ import annotations

from ..plan.fields import Access
from ..space.geometry import Dim, Geometry
from . import sittings
from .table import threshold

WIDEST = 16
"""Bytes of the widest access. Of an address the planner knows only its offset from such a boundary."""
LINE = 128
"""Bytes of a line of the L2 cache."""
HALF = WIDEST // 2
"""Bytes of half an access."""
UNALIGNED_BYTES = threshold(
    {1: 4, 2: 8, 4: 8, 8: 8}, "bytes of an access, by bytes of an element", sittings.FIFTEEN_THOUSAND
)
"""Along columns, an access that begins anywhere pays from this width on: it costs two aligned accesses."""


def access(
    g: Geometry, operand: int, item: int, axis: str, vector: int, start: int, *, shifts: bool, funnels: bool
) -> Access:
    """How ``vector`` elements of an input along ``axis`` can be read.

    Args:
        g: the iteration space.
        operand: the number of the input.
        item: bytes of its elements.
        axis: the axis along which the elements of an access lie, ``reduced`` or ``kept``.
        vector: elements of an access.
        start: the address of the walk's first element.
        shifts: whether a row may be read from the boundary before it. The combining tree then depends on the address.
        funnels: whether columns may be taken out of the two aligned accesses that hold them.
    """
    dims, others = (g.reduced, g.kept) if axis == "reduced" else (g.kept, g.reduced)
    if vector > 1 and dims and not any(d.strides[operand] for d in dims):
        return "uniform"
    if not dims or dims[-1].strides[operand] != 1 or vector == 1 or vector * item > WIDEST:
        return "strided"
    outer = [d.strides[operand] for d in (*dims[:-1], *others)]
    shifted = shifts and axis == "reduced" and start % item == 0
    whole = dims[-1].size % vector == 0 or (axis == "reduced" and len(dims) == 1 and not (shifted and others))
    if whole and start % (vector * item) == 0 and all(s % vector == 0 for s in outer):
        return "aligned"
    if axis == "kept":
        return "unaligned" if funnels and _is_unaligned(g, operand, item, vector, start) else "strided"
    return "shifted" if shifted else "strided"


def access_of_bits(g: Geometry, operand: int, axis: str, vector: int, *, others_cut: bool) -> Access:
    """How ``vector`` bits of an input along ``axis`` can be read.

    They are in one byte or two if they begin at a multiple of ``vector``, and else in two words.
    """
    dims, others = (g.reduced, g.kept) if axis == "reduced" else (g.kept, g.reduced)
    if vector == 1 or not dims or dims[-1].strides[operand] != 1:
        return "bits_strided"
    starts = [g.offsets[operand], *(d.strides[operand] for d in (*dims[:-1], *others))]
    whole = dims[-1].size % vector == 0 or (axis == "reduced" and len(dims) == 1)
    return "bits" if whole and not others_cut and not any(s % vector for s in starts) else "bits_across"


def least_stride(dims: tuple[Dim, ...]) -> float:
    """The least stride of the first input along ``dims``, in elements; infinite where it moves along none of them."""
    return min((abs(d.strides[0]) for d in dims if d.strides[0]), default=float("inf"))


def _is_unaligned(g: Geometry, operand: int, item: int, vector: int, start: int) -> bool:
    """Whether accesses along columns may begin anywhere.

    Elements of 8 bytes are read one by one: those of a warp fill whole sectors, and nothing is gained. Accesses stay in
    the array's memory, but for some of the first and the last row, as long as rows lie one access apart.
    """
    apart = all(d.strides[operand] * item >= WIDEST for d in g.reduced if d.size > 1)
    forward = all(d.strides[operand] >= 0 for d in g.kept)
    wide = vector * item >= UNALIGNED_BYTES[item] > item
    return apart and forward and wide and start % item == 0
