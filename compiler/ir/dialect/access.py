"""Level 1: access to memory by fragments: addresses, the elements that count, and their numbers.

A *fragment* is what one thread holds of a tensor in one access: a scalar ``T``, or a ``vector<VxT>``. Pointers are
``!llvm.ptr<1>`` (global) and ``!llvm.ptr<3>`` (shared); indices are i32 or i64 and count elements.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...plan.fields import IN_TILE
from ..build import bytes_of, memory_type
from ..combine import width
from ..mlir import ext, ir
from .base import (
    GLOBAL,
    SHARED,
    Fold,
    bool_attr,
    check_flag,
    check_fragment,
    check_index,
    check_pointer,
    check_result,
    check_results,
    coded,
    element,
    expect,
    int_attr,
    power_of_two,
    str_attr,
)

ACCESS = (
    "aligned",
    "shifted",
    "unaligned",
    "period",
    "staggered",
    "strided",
    "coherent",
    "tile",
    "tile_strided",
    "uniform",
    "bits",
    "bits_across",
    "bits_strided",
    "reversed",
    "split",
)
AFTER_LAYOUT = {
    "shifted": 1,
    "split": 1,
    "unaligned": 4,
    "staggered": 2,
    "bits_across": 2,
    "tile": 1,
    "tile_strided": 1,
}
"""Operands of a load that follow those of its layout."""
ACCESS_BYTES = 16
"""Bytes of the accesses of a block."""
AXES = ("kept", "reduced")
POLICIES = ("evict_first", "evict_last", "whole_lines")
"""Which lines the L2 cache gives up first, which last, and which it reads whole where parts are asked for."""


def check_layout(op: Any, fixed: int, strides: int) -> None:
    """Checks the count of the trailing layout operands: sizes of all but the outermost dims, then strides."""
    kept, reduced = int_attr(op, "kept_rank"), int_attr(op, "reduced_rank")
    wanted = max(0, kept - 1) + max(0, reduced - 1) + strides * (kept + reduced)
    found = len(op.operands) - fixed
    expect(found == wanted, op, f"{wanted} layout operands for ranks {kept} and {reduced}", found)


def check_read(op: Any, accesses: Sequence[str], indices: int, after: Mapping[str, int] = AFTER_LAYOUT) -> None:
    """Checks a read of elements: a pointer, so many indices, the layout, and the operands ``after`` that by access."""
    access = str_attr(op, "access", accesses)
    check_pointer(op, 0, SHARED if access in IN_TILE else GLOBAL)
    check_index(op, *range(1, 1 + indices))
    check_layout(op, 1 + indices + after.get(access, 0), 1)
    str_attr(op, "axis", AXES)


class LoadOp(Fold.Operation, name="load"):  # type: ignore[misc]
    """Reads a fragment: ``fold.load base, kept, reduced, layout... {kept_rank, reduced_rank, axis, access}``.

    The elements begin at the flat kept and reduced index and follow each other along ``axis``. The layout operands are
    kept sizes and reduced sizes (without the outermost), kept strides, reduced strides. ``access`` says what is known,
    and which operands follow the layout:

    - ``aligned``: aligned vectors.
    - ``shifted``: aligned vectors that may begin before the row and end after it. Operand: how many elements from
      ``base`` on are the array's.
    - ``unaligned``: vectors along the kept axis that begin anywhere. Operands: how many elements of the array are
      before and behind those that the layout is of, and the sizes of the kept and the reduced axis.
    - ``period``: aligned vectors of rows that are read as one; those that its ends cut are read one by one.
    - ``staggered``: aligned vectors along the kept axis that may begin before it and end after it. Operands: the sizes
      of both axes.
    - ``strided``: single elements.
    - ``uniform``: one element, which is the same along the access.
    - ``tile``: vectors that lie side by side in what ``fold.tile_copy`` gave, and begin anywhere. Operand: the origin
      of the copy.
    - ``tile_strided``: single elements there.
    - ``bits``: truth values that are bits of memory, where indices and strides count bits; those of an access are side
      by side, and begin at a multiple of their number.
    - ``bits_across``: the bits of an access that begins anywhere, out of the two words around them. Operands: the sizes
      of both axes.
    - ``bits_strided``: single bits.
    - ``reversed``: aligned vectors of elements along the reduced axis, each of which lies before the one before it.
    - ``split``: vectors that go on from one row of the innermost reduced dim into the next, which lies behind a gap.
      Operand: the size of the reduced axis.
    - ``coherent``: aligned vectors, along the kept axis or as of a period, of data that other CTAs have written during
      this kernel.

    With ``in_order`` the compiler keeps the order of the load and of others that have it. With ``leads``, in a
    ``fold.thread_map``, the array begins at a boundary and its elements lie side by side along the reduced axis.
    """

    base: ext.Operand[Any]
    kept: ext.Operand[Any]
    reduced: ext.Operand[Any]
    layout: Sequence[ext.Operand[Any]]
    fragment: ext.Result[Any]
    kept_rank: Any
    reduced_rank: Any
    axis: Any
    access: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_read(op, ACCESS, 2)
        check_fragment(op, op.results[0].type)


class BlockLoadOp(Fold.Operation, name="block_load"):  # type: ignore[misc]
    """Reads elements that follow each other, as several accesses: ``accesses... = fold.block_load base, first, total``.

    Each access is a fragment of 16 bytes. Element ``first`` begins at a boundary of 16 bytes. Elements from ``total``
    on are undefined; ``total`` is at least the number of elements of one access.
    """

    base: ext.Operand[Any]
    first: ext.Operand[Any]
    total: ext.Operand[Any]
    accesses: Sequence[ext.Result[Any]]

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_pointer(op, 0, GLOBAL)
        check_index(op, 1, 2)
        index = [str(v.type) for v in list(op.operands)[1:]]
        expect(index[0] == index[1], op, f"{index[0]} as operand 2", index[1])
        kinds = {str(r.type) for r in op.results}
        expect(len(kinds) == 1, op, "accesses of one type", ", ".join(sorted(kinds)) or "none")
        t = op.results[0].type
        check_fragment(op, t)
        nbytes = width(t) * bytes_of(memory_type(element(t)))
        expect(nbytes == ACCESS_BYTES, op, f"accesses of {ACCESS_BYTES} bytes", str(t))


class PositionOp(Fold.Operation, name="position"):  # type: ignore[misc]
    """The caller's number of each element of a fragment.

    ``fold.position kept, reduced, base, layout... {kept_rank, reduced_rank, axis}``: the operands are those of a
    ``fold.load`` from an array whose offsets are the numbers; ``base`` is the number of its first element.
    """

    kept: ext.Operand[Any]
    reduced: ext.Operand[Any]
    base: ext.Operand[Any]
    layout: Sequence[ext.Operand[Any]]
    fragment: ext.Result[Any]
    kept_rank: Any
    reduced_rank: Any
    axis: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_index(op, 0, 1, 2)
        check_layout(op, 3, 1)
        str_attr(op, "axis", AXES)
        found = op.results[0].type
        expect(isinstance(element(found), ir.IntegerType), op, "an integer fragment", str(found))


class LiveOp(Fold.Operation, name="live"):  # type: ignore[misc]
    """Which elements of a fragment at ``reduced`` are in [first, end): ``fold.live reduced, first, end``."""

    reduced: ext.Operand[Any]
    first: ext.Operand[Any]
    end: ext.Operand[Any]
    mask: ext.Result[Any]

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_index(op, 0, 1, 2)
        found = op.results[0].type
        expect(str(element(found)) == "i1", op, "a mask of i1", str(found))


class CachedOp(Fold.Operation, name="cached"):  # type: ignore[misc]
    """A pointer whose accesses say what the L2 cache should do with their lines.

    ``hinted = fold.cached pointer {policy}``: ``evict_first`` for what is not accessed again, ``evict_last`` for what
    is; ``whole_lines`` for loads of parts of lines, of which other CTAs load the rest. Targets without such policies
    ignore it.
    """

    pointer: ext.Operand[Any]
    hinted: ext.Result[Any]
    policy: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_pointer(op, 0, GLOBAL)
        check_results(op, [GLOBAL])
        str_attr(op, "policy", POLICIES)


class LeadOp(Fold.Operation, name="lead"):  # type: ignore[misc]
    """The distance from a boundary of ``lanes`` elements to the first element of a result, in elements.

    ``fold.lead base, kept, layout... {kept_rank, reduced_rank = 0, lanes, bytes}``: an element has ``bytes`` bytes, and
    the layout operands are kept sizes (without the outermost) and kept strides.
    """

    base: ext.Operand[Any]
    kept: ext.Operand[Any]
    layout: Sequence[ext.Operand[Any]]
    lead: ext.Result[Any]
    kept_rank: Any
    reduced_rank: Any
    lanes: Any
    bytes: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_pointer(op, 0, GLOBAL)
        check_index(op, 1)
        check_layout(op, 2, 1)
        power_of_two(op, "lanes", 32)
        power_of_two(op, "bytes", 8)
        check_result(op, op.operands[1].type)


class StoreOp(Fold.Operation, name="store"):  # type: ignore[misc]
    """Writes a thread's results: ``fold.store value, base, kept, on, layout... {kept_rank, reduced_rank = 0, vector}``.

    Only threads whose ``on`` is true write. ``vector`` says that the elements are adjacent and aligned. With
    ``{bounded = true}`` the size of the kept axis is one more operand, and elements beyond it are not written. With
    ``{early = true}`` a fragment may begin before the axis, and those elements are not written either. With
    ``{paired = true}`` all lanes execute the op, and the results of a lane follow those of the lane before it.
    """

    value: ext.Operand[Any]
    base: ext.Operand[Any]
    kept: ext.Operand[Any]
    on: ext.Operand[Any]
    layout: Sequence[ext.Operand[Any]]
    kept_rank: Any
    reduced_rank: Any
    vector: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_pointer(op, 1, GLOBAL)
        check_index(op, 2)
        check_flag(op, 3)
        check_layout(op, 4 + ("bounded" in op.attributes), 1)
        bool_attr(op, "vector")
        check_fragment(op, op.operands[0].type)
