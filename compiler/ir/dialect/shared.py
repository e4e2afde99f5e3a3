"""Level 1: elements in shared memory: a thread's slots, tiles of an array, and blocks of matrices.

A *slot* holds one access of one thread. Slot k of thread t lies at (k * threads + t) times the bytes of an access, so
that the threads of a warp use different banks. A thread reads only the slots that it wrote, so there is no barrier; or
slots of others, after ``fold.arrived``.

A *tile* is a run of memory that lies in shared memory as it does in an array, on the way in and out.

A *block* of a matrix is 8 rows of 16 bytes that a warp reads, writes and sums together: 8x8 elements of 16 bits, or
8x16 of 8 bits. Of each block every lane holds four bytes: lane l has the elements of row l // 4 from byte 4 * (l % 4)
on. A transposed block of 16-bit elements is held the other way: lane l has the elements of column l // 4 in the rows
2 * (l % 4) and the next one.
"""

from collections.abc import Sequence
from typing import Any

from ...plan.plan import QUAD
from ..mlir import ir
from .access import AXIS, RANKS, after_element, base, layout
from .base import GLOBAL, SHARED, bool_attr, expect, int_attr
from .fields import (
    Exact,
    Op,
    Optional,
    Several,
    fields,
    fragment,
    index,
    like,
    number,
    one_of,
    pointer,
    power,
    sixteens,
    truth,
    typed,
    up_to,
    whole,
)

HELD_ACCESS = ("aligned", "shifted", "unaligned", "strided")
SLOTS = fields(slots=number(lambda n: n > 0, "one slot at least"), threads=power(1024), vector=power(16), item=power(8))
"""The attributes of an op that makes slots."""
PITCH = Optional(sixteens("a pitch of a multiple of 16 bytes"))
"""The distance between the slots of a thread."""
TILE_BYTES, DYNAMIC = (
    sixteens("bytes that are a multiple of 16"),
    Optional(sixteens("a tile behind a multiple of 16 dynamic bytes", 0)),
)
"""The bytes of a tile, and those of dynamic shared memory before it, if it lies there."""
BLOCKS = 4
"""The most blocks of an access."""
HALVES, BYTES = ("f16", "bf16", "i16"), ("i8",)
"""The types of elements of 16 and of 8 bits."""
SUMS = {"f16": "f32", "bf16": "f32", "i8": "i32"}
"""The type of the sums of elements that a matrix unit adds."""


def _place(op: Any, types: Sequence[Any], position: int) -> None:
    """The kind of the last operand of a tile, which has one place at most, in dynamic shared memory."""
    expect(len(types) <= 1, op, "one place at most", len(types))
    for t in types:
        index(op, t, position)
        expect("dynamic" in op.attributes, op, "dynamic shared memory for a place", "none")


def _blocks(op: Any, t: Any, position: int) -> None:
    """The kind of a lane's elements of the blocks of an access."""
    where = "as a result" if position < 0 else f"as operand {position}"
    (scalar, count), wanted = _vector(t), int_attr(op, "blocks")
    known = HALVES if bool_attr(op, "transposed") else (*HALVES, *BYTES)
    expect(scalar in known, op, f"a vector of {' '.join(known)} {where}", t)
    wanted *= _each(scalar)
    expect(count == wanted, op, f"a vector of {wanted} elements {where}", count)


def _summed(op: Any, t: Any, _: int) -> None:
    """The kind of a matrix whose rows are summed."""
    scalar, count = _vector(t)
    holds = scalar in SUMS and count in (2 * _each(scalar), 4 * _each(scalar))
    expect(holds, op, "two or four blocks of f16, bf16 or i8", t)


def _sums(op: Any) -> Any:
    """The type of the sums of rows of a matrix."""
    return ir.VectorType.get([2], ir.Type.parse(SUMS[_vector(op.operands[0].type)[0]]))


def _each(scalar: str) -> int:
    """The elements of a block that a lane holds."""
    return 4 if scalar in BYTES else 2


def _vector(t: Any) -> tuple[str, int]:
    """The element type and the length of a vector; of anything else its own name, and none."""
    if isinstance(t, ir.VectorType) and len(t.shape) == 1 and not any(t.scalable_dims):
        return str(t.element_type), int(t.shape[0])
    return str(t), 0


class HoldOp(Op, name="hold"):
    """Copies a thread's accesses of an input into its slots of shared memory.

    ``slots = fold.hold base, kept, begin, first, end, thread, layout... {kept_rank, reduced_rank, axis, access, step,
    slots, threads, vector, item, whole}``: slot k gets the access of ``vector`` elements, of ``item`` bytes each, that
    begins at the reduced index ``begin + k * step``. Elements whose reduced index is not in [first, end) are undefined,
    and nothing is read for them that other threads write; with ``whole`` there are none. Only the first access may
    begin before ``first``. With ``walked`` there are only slots of accesses that begin before ``end``, and ``slots`` is
    the most. ``thread`` is the thread's number in its CTA of ``threads`` threads. The slots of all holds of a kernel,
    one behind another, are its dynamic shared memory. With ``start`` the slots begin at that byte of it, so that a
    later hold fills those of an earlier one. With ``pitch`` a thread's next slot lies so many bytes behind one, so that
    the slots of several holds alternate. With ``later`` they are read in the next turn of the loop that it is in. With
    ``once`` a loop over the slots stays one, since the kernel comes here once.
    """

    ins = fields(
        base=base,
        kept=index,
        begin=index,
        first=index,
        end=index,
        thread=index,
        layout=layout(after_element),
    )
    outs = fields(place=typed(SHARED))
    attrs = fields(
        **RANKS,
        axis=AXIS,
        access=one_of(*HELD_ACCESS),
        step=power(1 << 30),
        **SLOTS,
        whole=truth,
        start=Optional(sixteens("a start at a multiple of 16 bytes", 0)),
        pitch=PITCH,
    )


class HeldOp(Op, name="held"):
    """Reads one of a thread's slots: ``fragment = fold.held slots, number {threads}``.

    ``slots`` is what ``fold.hold`` gave, and the fragment is an access of it. The thread waits until its copies have
    arrived.
    """

    ins = fields(slots=pointer(SHARED), number=index)
    outs = fields(fragment=fragment)
    attrs = fields(threads=power(1024), pitch=PITCH)


class SlotsOp(Op, name="slots"):
    """A thread's slots that nothing is copied into: ``place = fold.slots thread {slots, threads, vector, item}``.

    They are as those of ``fold.hold``, behind those of the holds before, in the same shared memory.
    """

    ins = fields(thread=index)
    outs = fields(place=typed(SHARED))
    attrs = SLOTS


class ArrivedOp(Op, name="arrived"):
    """Waits until the slots that all threads of the CTA fill by the holds before are full: ``fold.arrived``.

    So threads may read slots of each other.
    """


class TileCopyOp(Op, name="tile_copy"):
    """Copies a run of an array into shared memory.

    ``copy, origin = fold.tile_copy base, begin, length, extent, thread, [place] {item, bytes, threads, [beyond], [own],
    [dynamic]}``: the elements, of ``item`` bytes each, from ``begin`` on, ``length`` of them or as many as there are
    before ``extent``, the end of the array. All ``threads`` threads of the CTA take part. Element i of the array then
    is element i - ``origin`` of ``copy``, which has ``bytes`` bytes, and lies on a boundary of 16 bytes where it does
    so in the array. Of what lies behind the last one ``beyond`` bytes can be read; without, none. It is there for all
    threads after a barrier. With ``own`` nothing beside the run is read, since other CTAs may write there. With
    ``dynamic`` the copy lies in dynamic shared memory, behind so many bytes, and with a ``place`` behind so many copies
    as well. It is then there after the ``fold.tile_arrived`` that waits for it, and a barrier.
    """

    ins = fields(
        base=pointer(GLOBAL),
        begin=index,
        length=index,
        extent=index,
        thread=index,
        place=Several(_place),
    )
    outs = fields(copy=typed(SHARED), origin=like(1))
    attrs = fields(item=power(16), bytes=TILE_BYTES, threads=up_to(1024), dynamic=DYNAMIC, own=Optional(truth))

    def check(self) -> None:
        if "beyond" in self.attributes:
            beyond = int_attr(self, "beyond")
            most = min(int_attr(self, "bytes") - 16, 16 * int_attr(self, "threads"))
            expect(0 < beyond <= most and beyond % 16 == 0, self, f"a multiple of 16 up to {most} beyond", beyond)


class TileArrivedOp(Op, name="tile_arrived"):
    """Waits until the copies to places are there that the thread has begun: ``fold.tile_arrived {later}``.

    It does not wait for the ``later`` copies that it began last.
    """

    attrs = fields(later=number(lambda n: n >= 0, "no number below 0"))


class TileRowsOp(Op, name="tile_rows"):
    """Copies a part of each of some rows of an array into shared memory, from boundaries of their own on.

    ``copy = fold.tile_rows base, first, count, begin, end, stride, extent, thread {item, parts, length, skew, threads,
    [dynamic]}``: ``parts`` rows from number ``first`` on, of those in [0, ``count``), and of each the elements of
    ``item`` bytes from ``begin`` on, ``length`` of them or as many as there are before ``end``. Element i of row n lies
    n * ``stride`` + i elements behind ``base``; elements beside the rows may be read as well, if they are among the
    first ``extent`` from there on. All ``threads`` threads of the CTA take part, and what they copy is there after a
    ``fold.arrived``.

    The part of row ``first`` + p begins in ``copy`` behind the bytes that ``plan/tiles.py`` says, and its element
    ``begin`` as far behind that as its address is behind a boundary of 16 bytes. So the rows of the tile lie as they do
    in the array, and accesses of 16 bytes copy them. With ``dynamic`` the copy lies in dynamic shared memory, behind so
    many bytes.
    """

    ins = fields(
        base=pointer(GLOBAL),
        first=index,
        count=index,
        begin=index,
        end=index,
        stride=index,
        extent=index,
        thread=index,
    )
    outs = fields(copy=typed(SHARED))
    attrs = fields(
        item=power(16),
        parts=number(lambda n: n > 0, "parts of some rows"),
        length=whole,
        skew=power(16),
        threads=power(1024),
        dynamic=DYNAMIC,
    )

    def check(self) -> None:
        nbytes = int_attr(self, "length") * int_attr(self, "item")
        expect(nbytes > 0 and nbytes % 16 == 0, self, "parts of a multiple of 16 bytes", nbytes)


class TileReserveOp(Op, name="tile_reserve"):
    """Shared memory for a run of an array that the CTA is going to write.

    ``tile, origin = fold.tile_reserve base, begin, [place] {item, bytes, [dynamic]}``: element i of the array, of
    ``item`` bytes, is going to be element i - ``origin`` of ``tile``, which has ``bytes`` bytes. It lies on a boundary
    of 16 bytes where it does so in the array. The run begins with element ``begin``. With ``dynamic`` the tile lies in
    dynamic shared memory, behind so many bytes, and with a ``place`` behind so many tiles, in which a
    ``fold.tile_copy`` may have left the run.
    """

    ins = fields(base=pointer(GLOBAL), begin=index, place=Several(_place))
    outs = fields(tile=typed(SHARED), origin=like(1))
    attrs = fields(item=power(16), bytes=TILE_BYTES, dynamic=DYNAMIC)


class TileWriteOp(Op, name="tile_write"):
    """Writes a run of an array from shared memory.

    ``fold.tile_write tile, origin, base, begin, length, thread {item, threads}``: ``tile`` and ``origin`` are what
    ``fold.tile_reserve`` gave. All ``threads`` threads of the CTA write the ``length`` elements from ``begin`` on, and
    nothing beside them. A barrier comes before.
    """

    ins = fields(
        tile=pointer(SHARED),
        origin=index,
        base=pointer(GLOBAL),
        begin=index,
        length=index,
        thread=index,
    )
    attrs = fields(item=power(16), threads=up_to(1024))


class MatrixLoadOp(Op, name="matrix_load"):
    """Reads blocks from shared memory into the registers of a warp.

    ``x = fold.matrix_load base, row {blocks, transposed}``: lane 8 * b + r names row r of block b by the index ``row``
    of its first element; ``blocks`` is 1, 2 or 4, and the rows that other lanes name are not read. A row is 16 bytes on
    a boundary of 16 bytes. The vector ``x`` has the lane's elements of the first block, then those of the second, and
    so on. All lanes of the warp take part.
    """

    ins = fields(base=pointer(SHARED), row=index)
    outs = fields(x=_blocks)
    attrs = fields(blocks=power(BLOCKS), transposed=truth)


class MatrixStoreOp(Op, name="matrix_store"):
    """Writes blocks from the registers of a warp into shared memory.

    ``fold.matrix_store x, base, row {blocks, transposed}``: as ``fold.matrix_load``, the other way.
    """

    ins = fields(x=_blocks, base=pointer(SHARED), row=index)
    attrs = MatrixLoadOp.attrs


class MatrixReduceOp(Op, name="matrix_reduce"):
    """Adds the elements of each row of a matrix to a sum: the product of the matrix and one of ones.

    ``sums = fold.matrix_reduce x, start {[lanes], [unsigned]}``: ``x`` is a matrix of 16 rows, in two blocks or in
    four. The first block has its upper rows, the second one its lower rows, the third and the fourth one more columns
    of these.
    Lane l gets the sums of rows l // 4 and l // 4 + 8, each added to ``start``: f32 of halves, i32 of bytes, which are
    signed without ``unsigned``. With ``lanes``, 1 or 2, the sums are of the elements that so many neighbouring lanes
    hold, and not of whole rows: of bytes alone, since the unit multiplies the other elements of the row by zero, and
    an infinity times zero is no zero. All lanes of the warp take part.
    """

    ins = fields(x=_summed, start=Exact(_sums))
    outs = fields(sums=Exact(_sums))
    attrs = fields(lanes=Optional(power(QUAD)), unsigned=Optional(truth))

    def check(self) -> None:
        t = self.operands[0].type
        for_bytes = _vector(t)[0] in BYTES
        lanes = int_attr(self, "lanes") if "lanes" in self.attributes else QUAD
        expect(for_bytes or lanes == QUAD, self, f"{QUAD} lanes for {t}", lanes)
        expect(for_bytes or "unsigned" not in self.attributes, self, "unsigned for i8 alone", t)
