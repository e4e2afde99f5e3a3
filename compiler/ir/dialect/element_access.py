"""Level 1: access to elements of a row, some of which may lie beside it, for programs that read their rows again.

What a *fragment* is, and which accesses there are, ``access`` says.
"""

from collections.abc import Sequence
from typing import Any

from ...plan.fields import IN_TILE, WORDS
from ...program.bit_arrays import BYTE, WORD
from ...target import WARP
from ..combine import width
from ..mlir import ext
from .access import AFTER_LAYOUT, AXES, check_layout, check_read
from .base import (
    GLOBAL,
    SHARED,
    Fold,
    bool_attr,
    check_flag,
    check_fragment,
    check_index,
    check_pointer,
    check_results,
    coded,
    element,
    expect,
    int_attr,
    power_of_two,
    str_attr,
)

ELEMENT_AFTER_LAYOUT = {**AFTER_LAYOUT, "unaligned": 1}
"""Operands of a ``fold.element_load`` and a ``fold.hold`` that follow those of its layout."""
ELEMENT_ACCESS = (
    "aligned", "shifted", "unaligned", "strided", "uniform", *IN_TILE, "bits", "bits_strided", "reversed", "split",
)  # fmt: skip
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
    known to be readable. With ``{uncut = true}`` no end of the row cuts a ``strided`` access.

    A ``split`` access is along rows of the innermost reduced dim that lie one behind another, with gaps, and have
    ``part`` elements at least, which are a power of two and whole words. The operand behind the layout is the size of
    the reduced axis.

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
        if str_attr(op, "access", ELEMENT_ACCESS) == "split":
            power_of_two(op, "part", width(op.results[0].type))


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
    """Puts the truth values of neighbouring lanes together: ``word = fold.ballot mask {word, lanes}``, in a whole warp.

    A lane has V truth values, a power of two up to 16, and 32 / V lanes beside each other have those of a word, or as
    many as the attribute ``lanes`` says, a lower power of two, where words have fewer elements. Bit
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
        if "lanes" in op.attributes:
            fewer = [1 << k for k in range(5) if lanes << k < WORD]
            expect(int_attr(op, "lanes") in fewer, op, f"lanes = one of {fewer}", int_attr(op, "lanes"))
        check_results(op, ["i32"])


class BitTransposeOp(Fold.Operation, name="bit_transpose"):  # type: ignore[misc]
    """Turns the square of bits that the words of a warp are: ``turned = fold.bit_transpose word``, both i32.

    Bit j of lane i becomes bit i of lane j. All lanes take part.
    """

    word: ext.Operand[Any]
    turned: ext.Result[Any]

    @coded
    def verify_invariants(op: Any) -> None:  # noqa: N805
        expect(str(op.operands[0].type) == "i32", op, "a word of type i32", str(op.operands[0].type))
        check_results(op, ["i32"])
