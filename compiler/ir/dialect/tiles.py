"""Level 1: tiles: runs of memory that lie in shared memory as they do in an array, on the way in and out."""

from collections.abc import Sequence
from typing import Any

from ..mlir import ext
from .base import (
    GLOBAL,
    SHARED,
    Fold,
    bool_attr,
    check_index,
    check_pointer,
    check_results,
    coded,
    count_up_to,
    expect,
    int_attr,
    power_of_two,
)


class TileCopyOp(Fold.Operation, name="tile_copy"):  # type: ignore[misc]
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

    base: ext.Operand[Any]
    begin: ext.Operand[Any]
    length: ext.Operand[Any]
    extent: ext.Operand[Any]
    thread: ext.Operand[Any]
    place: Sequence[ext.Operand[Any]]
    copy: ext.Result[Any]
    origin: ext.Result[Any]
    item: Any
    bytes: Any
    threads: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_pointer(op, 0, GLOBAL)
        check_index(op, *range(1, len(op.operands)))
        _check_place(op, 5)
        check_results(op, [SHARED, str(op.operands[1].type)])
        power_of_two(op, "item", 16)
        size = int_attr(op, "bytes")
        expect(size > 0 and size % 16 == 0, op, "bytes that are a multiple of 16", size)
        count_up_to(op, "threads", 1024)
        _check_dynamic(op)
        if "own" in op.attributes:
            bool_attr(op, "own")
        if "beyond" in op.attributes:
            beyond = int_attr(op, "beyond")
            most = min(size - 16, 16 * int_attr(op, "threads"))
            expect(0 < beyond <= most and beyond % 16 == 0, op, f"a multiple of 16 up to {most} beyond", beyond)


class TileArrivedOp(Fold.Operation, name="tile_arrived"):  # type: ignore[misc]
    """Waits until the copies to places are there that the thread has begun: ``fold.tile_arrived {later}``.

    It does not wait for the ``later`` copies that it began last.
    """

    later: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_results(op, [])
        expect(int_attr(op, "later") >= 0, op, "no number below 0", int_attr(op, "later"))


class TileRowsOp(Fold.Operation, name="tile_rows"):  # type: ignore[misc]
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

    base: ext.Operand[Any]
    first: ext.Operand[Any]
    count: ext.Operand[Any]
    begin: ext.Operand[Any]
    end: ext.Operand[Any]
    stride: ext.Operand[Any]
    extent: ext.Operand[Any]
    thread: ext.Operand[Any]
    copy: ext.Result[Any]
    item: Any
    parts: Any
    length: Any
    skew: Any
    threads: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_pointer(op, 0, GLOBAL)
        check_index(op, *range(1, 8))
        check_results(op, [SHARED])
        power_of_two(op, "item", 16)
        power_of_two(op, "skew", 16)
        power_of_two(op, "threads", 1024)
        expect(int_attr(op, "parts") > 0, op, "parts of some rows", int_attr(op, "parts"))
        nbytes = int_attr(op, "length") * int_attr(op, "item")
        expect(nbytes > 0 and nbytes % 16 == 0, op, "parts of a multiple of 16 bytes", nbytes)
        _check_dynamic(op)


class TileReserveOp(Fold.Operation, name="tile_reserve"):  # type: ignore[misc]
    """Shared memory for a run of an array that the CTA is going to write.

    ``tile, origin = fold.tile_reserve base, begin, [place] {item, bytes, [dynamic]}``: element i of the array, of
    ``item`` bytes, is going to be element i - ``origin`` of ``tile``, which has ``bytes`` bytes. It lies on a boundary
    of 16 bytes where it does so in the array. The run begins with element ``begin``. With ``dynamic`` the tile lies in
    dynamic shared memory, behind so many bytes, and with a ``place`` behind so many tiles, in which a
    ``fold.tile_copy`` may have left the run.
    """

    base: ext.Operand[Any]
    begin: ext.Operand[Any]
    place: Sequence[ext.Operand[Any]]
    tile: ext.Result[Any]
    origin: ext.Result[Any]
    item: Any
    bytes: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_pointer(op, 0, GLOBAL)
        check_index(op, *range(1, len(op.operands)))
        _check_place(op, 2)
        check_results(op, [SHARED, str(op.operands[1].type)])
        power_of_two(op, "item", 16)
        size = int_attr(op, "bytes")
        expect(size > 0 and size % 16 == 0, op, "bytes that are a multiple of 16", size)
        _check_dynamic(op)


class TileWriteOp(Fold.Operation, name="tile_write"):  # type: ignore[misc]
    """Writes a run of an array from shared memory.

    ``fold.tile_write tile, origin, base, begin, length, thread {item, threads}``: ``tile`` and ``origin`` are what
    ``fold.tile_reserve`` gave. All ``threads`` threads of the CTA write the ``length`` elements from ``begin`` on, and
    nothing beside them. A barrier comes before.
    """

    tile: ext.Operand[Any]
    origin: ext.Operand[Any]
    base: ext.Operand[Any]
    begin: ext.Operand[Any]
    length: ext.Operand[Any]
    thread: ext.Operand[Any]
    item: Any
    threads: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_pointer(op, 0, SHARED)
        check_pointer(op, 2, GLOBAL)
        check_index(op, 1, 3, 4, 5)
        power_of_two(op, "item", 16)
        count_up_to(op, "threads", 1024)


def _check_place(op: Any, others: int) -> None:
    """Checks that a tile has one place at most behind ``others`` operands, in dynamic shared memory."""
    places = len(op.operands) - others
    expect(places in (0, 1), op, "one place at most", places)
    expect(not places or "dynamic" in op.attributes, op, "dynamic shared memory for a place", "none")


def _check_dynamic(op: Any) -> None:
    """Checks the bytes of dynamic shared memory before a tile, if it lies there."""
    if "dynamic" in op.attributes:
        start = int_attr(op, "dynamic")
        expect(start >= 0 and start % 16 == 0, op, "a tile behind a multiple of 16 dynamic bytes", start)
