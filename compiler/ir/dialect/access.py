"""Level 1: access to memory by fragments: addresses, the elements that count, and their numbers.

A *fragment* is what one thread holds of a tensor in one access: a scalar ``T``, or a ``vector<VxT>``. Pointers are
``!llvm.ptr<1>`` (global) and ``!llvm.ptr<3>`` (shared); indices are i32 or i64 and count elements.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ...plan.fields import IN_TILE, WORDS
from ...program.bit_arrays import BYTE
from ...target import WARP
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
)
AFTER_LAYOUT = {"shifted": 1, "unaligned": 4, "staggered": 2, "bits_across": 2, "tile": 1, "tile_strided": 1}
"""Operands of a load that follow those of its layout."""
ELEMENT_AFTER_LAYOUT = {**AFTER_LAYOUT, "unaligned": 1}
"""Those of a ``fold.element_load`` and a ``fold.hold``."""
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
    - ``coherent``: aligned vectors, along the kept axis or as of a period, of data that other CTAs have written during
      this kernel.
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


ELEMENT_ACCESS = ("aligned", "shifted", "unaligned", "strided", "uniform", *IN_TILE, "bits", "bits_strided", "reversed")
WRITTEN_ACCESS = ("aligned", "shifted", "unaligned", "strided", *IN_TILE, "bits", "reversed")


class ElementLoadOp(Fold.Operation, name="element_load"):  # type: ignore[misc]
    """Reads a fragment of which some elements may lie beside the row.

    ``fold.element_load base, kept, reduced, first, end, layout... {kept_rank, reduced_rank, axis, access}`` is a
    ``fold.load`` whose elements count where their reduced index is in [first, end). The others are undefined, and
    nothing is read for them that other threads write. An ``aligned`` or ``reversed`` access lies in the row as a whole
    or begins at ``end`` or later; so does a single element, and those of tiles are single. A ``shifted`` access may be
    cut by either end. Its operand behind the layout says how many elements from ``base`` on can be read beside the row:
    those of the array, or none where other threads write there. An ``unaligned`` access along the reduced axis begins
    anywhere, may be cut as well, and has the same operand. With ``{inside = true}`` the aligned accesses around it are
    known to be readable.

    With ``{at_once = true}`` a ``shifted`` access is undefined if it cannot be read at once; see ``fold.element_rest``.
    """

    base: ext.Operand[Any]
    kept: ext.Operand[Any]
    reduced: ext.Operand[Any]
    first: ext.Operand[Any]
    end: ext.Operand[Any]
    layout: Sequence[ext.Operand[Any]]
    fragment: ext.Result[Any]
    kept_rank: Any
    reduced_rank: Any
    axis: Any
    access: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_read(op, ("shifted",) if "at_once" in op.attributes else ELEMENT_ACCESS, 4, ELEMENT_AFTER_LAYOUT)
        check_fragment(op, op.results[0].type)


class ElementRestOp(Fold.Operation, name="element_rest"):  # type: ignore[misc]
    """Completes the fragment of a ``shifted`` ``fold.element_load`` that reads it at once or not at all.

    ``fold.element_rest found, base, kept, reduced, first, end, layout... {kept_rank, reduced_rank, axis, access}`` is
    ``found``, what that op found at the same place, or else the elements that count, which are read one by one. So
    many accesses are on the way before one that is cut is waited for.
    """

    found: ext.Operand[Any]
    base: ext.Operand[Any]
    kept: ext.Operand[Any]
    reduced: ext.Operand[Any]
    first: ext.Operand[Any]
    end: ext.Operand[Any]
    layout: Sequence[ext.Operand[Any]]
    fragment: ext.Result[Any]
    kept_rank: Any
    reduced_rank: Any
    axis: Any
    access: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        str_attr(op, "access", ("shifted",))
        str_attr(op, "axis", AXES)
        check_pointer(op, 1, GLOBAL)
        check_index(op, 2, 3, 4, 5)
        check_layout(op, 6 + ELEMENT_AFTER_LAYOUT["shifted"], 1)
        found, t = op.operands[0].type, op.results[0].type
        check_fragment(op, t)
        expect(found == t, op, f"a fragment of type {t}", str(found))


class GatherLoadOp(Fold.Operation, name="gather_load"):  # type: ignore[misc]
    """Reads elements at indices along one more axis of the array.

    ``fold.gather_load base, kept, reduced, first, end, indices, size, stride, layout... {kept_rank, reduced_rank,
    axis}``: element j of the fragment is that of a ``fold.element_load`` with strided access, moved by ``stride`` for
    each of ``indices[j]``. It is 0, and nothing is read for it, where ``indices[j]`` is not in [0, size).
    """

    base: ext.Operand[Any]
    kept: ext.Operand[Any]
    reduced: ext.Operand[Any]
    first: ext.Operand[Any]
    end: ext.Operand[Any]
    indices: ext.Operand[Any]
    size: ext.Operand[Any]
    stride: ext.Operand[Any]
    layout: Sequence[ext.Operand[Any]]
    fragment: ext.Result[Any]
    kept_rank: Any
    reduced_rank: Any
    axis: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        check_pointer(op, 0, GLOBAL)
        check_index(op, 1, 2, 3, 4, 6, 7)
        check_layout(op, 8, 1)
        str_attr(op, "axis", AXES)
        indices, found = op.operands[5].type, op.results[0].type
        check_fragment(op, found)
        expect(str(element(indices)) == "i64", op, "indices of type i64", str(element(indices)))
        expect(width(indices) == width(found), op, f"{width(found)} indices", width(indices))


class ElementStoreOp(Fold.Operation, name="element_store"):  # type: ignore[misc]
    """Writes a fragment of elements.

    ``fold.element_store value, base, kept, reduced, first, end, on, layout... {kept_rank, reduced_rank, axis, access,
    whole}``: the twin of ``fold.element_load``. Threads whose ``on`` is true write the elements whose reduced index is
    in [first, end); with ``whole`` these are all. A ``shifted`` access has no operand behind its layout, one in a
    tile, which is what ``fold.tile_reserve`` gave, has the origin of that. The value of ``bits`` is the i32 that
    ``fold.ballot`` gave: the lane whose elements are the first of the word writes it; where ``own`` says how many bits
    a lane has, each writes its own, which fill bytes. An ``unaligned`` access is
    executed by all lanes of a warp. The fragments of ``neighbours`` lanes follow each other, and these lanes write
    elements of each other; ``on`` is the same for them.
    """

    value: ext.Operand[Any]
    base: ext.Operand[Any]
    kept: ext.Operand[Any]
    reduced: ext.Operand[Any]
    first: ext.Operand[Any]
    end: ext.Operand[Any]
    on: ext.Operand[Any]
    layout: Sequence[ext.Operand[Any]]
    kept_rank: Any
    reduced_rank: Any
    axis: Any
    access: Any
    whole: Any

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        access = str_attr(op, "access", WRITTEN_ACCESS)
        tiled = access in IN_TILE
        check_pointer(op, 1, SHARED if tiled else GLOBAL)
        check_index(op, 2, 3, 4, 5)
        check_flag(op, 6)
        check_layout(op, 7 + tiled, 1)
        if access == "unaligned":
            power_of_two(op, "neighbours", WARP)
        str_attr(op, "axis", AXES)
        bool_attr(op, "whole")
        check_fragment(op, op.operands[0].type)
        if str_attr(op, "access", WRITTEN_ACCESS) == "bits":
            expect(str(op.operands[0].type) == "i32", op, "a word of bits of type i32", str(op.operands[0].type))
            own = int_attr(op, "own") if "own" in op.attributes else BYTE
            expect(own in (BYTE, 2 * BYTE), op, f"own = {BYTE} or {2 * BYTE}", own)


class BallotOp(Fold.Operation, name="ballot"):  # type: ignore[misc]
    """Puts the truth values of neighbouring lanes together: ``word = fold.ballot mask {word}``, in all lanes of a warp.

    A lane has V truth values, a power of two up to 16, and 32 / V lanes beside each other have those of a word. Bit
    V l + k of it is element k of the lane number l of these. The first of these lanes has the word; in the others it is
    undefined. The attribute ``word``, which may be missing, is that of a plan: how lanes join. With ``byte`` they do
    not, and each lane has its own bits as the lowest ones.
    """

    mask: ext.Operand[Any]
    word: ext.Result[Any]

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        mask = op.operands[0].type
        expect(str(element(mask)) == "i1", op, "a mask of i1", str(mask))
        lanes = width(mask)
        expect(lanes in (1, 2, 4, 8, 16), op, "1, 2, 4, 8 or 16 elements", lanes)
        if "word" in op.attributes:
            str_attr(op, "word", WORDS)
        check_results(op, ["i32"])


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
