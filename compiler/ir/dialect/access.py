"""Level 1: access to memory by fragments: addresses, the elements that count, and their numbers.

A *fragment* is what one thread holds of a tensor in one access: a scalar ``T``, or a ``vector<VxT>``. Pointers are
``!llvm.ptr<1>`` (global) and ``!llvm.ptr<3>`` (shared); indices are i32 or i64 and count elements.

Accesses to *elements* are for programs that read their rows again: some elements of a fragment may lie beside the row.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ...plan.fields import IN_TILE, WORDS
from ...program.bit_arrays import BYTE, WORD
from ...target import WARP
from ..build import bytes_of, memory_type
from ..combine import width
from ..mlir import ir
from .base import GLOBAL, SHARED, element, expect, int_attr, power_of_two, str_attr
from .fields import (
    Op,
    Optional,
    Several,
    elements,
    fields,
    flag,
    fragment,
    index,
    like,
    one_of,
    pointer,
    power,
    several,
    truth,
    typed,
    whole,
)

ACCESS = (
    "aligned", "shifted", "unaligned", "period", "staggered", "strided", "coherent", "tile", "tile_strided", "uniform",
    "bits", "bits_across", "bits_strided", "reversed", "split",
)  # fmt: skip
AFTER_LAYOUT = {
    "shifted": 1, "split": 1, "unaligned": 4, "staggered": 2, "bits_across": 2, "tile": 1, "tile_strided": 1,
}  # fmt: skip
"""Operands of a load that follow those of its layout."""
ELEMENT_ACCESS = (
    "aligned", "shifted", "unaligned", "strided", "uniform", *IN_TILE, "bits", "bits_strided", "reversed", "split",
)  # fmt: skip
WRITTEN_ACCESS = ("aligned", "shifted", "unaligned", "strided", *IN_TILE, "bits", "reversed")
ACCESS_BYTES = 16
"""Bytes of the accesses of a block."""
AXES = ("kept", "reduced")
POLICIES = ("evict_first", "evict_last", "whole_lines")
"""Which lines the L2 cache gives up first, which last, and which it reads whole where parts are asked for."""
RANKS, AXIS = fields(kept_rank=whole, reduced_rank=whole), one_of(*AXES)
"""The attributes of every op that has a layout, and the axis along which the elements of a fragment follow each other.
"""


def _access(op: Any) -> str:
    """The access of an op that has passed the check of it; empty for an op that has none."""
    return str(ir.StringAttr(op.attributes["access"]).value) if "access" in op.attributes else ""


def base(op: Any, t: Any, position: int) -> None:
    """The kind of the pointer of an access, which may be one in a tile."""
    pointer(SHARED if _access(op) in IN_TILE else GLOBAL)(op, t, position)


def layout(extra: Callable[[Any], int] = lambda op: AFTER_LAYOUT.get(_access(op), 0)) -> Several:
    """The kind of the last operands of an access: sizes of all but the outermost dims, strides, and ``extra`` ones."""

    def check(op: Any, types: Sequence[Any], _: int) -> None:
        kept, reduced = int_attr(op, "kept_rank"), int_attr(op, "reduced_rank")
        wanted = max(0, kept - 1) + max(0, reduced - 1) + kept + reduced
        found = len(types) - extra(op)
        expect(found == wanted, op, f"{wanted} layout operands for ranks {kept} and {reduced}", found)

    return Several(check)


def after_element(op: Any) -> int:
    """Operands of a ``fold.element_load`` and a ``fold.hold`` that follow those of its layout."""
    return 1 if _access(op) == "unaligned" else AFTER_LAYOUT.get(_access(op), 0)


def slot_bytes(t: Any) -> int:
    """Bytes of a fragment of type ``t`` in memory."""
    return width(t) * bytes_of(memory_type(element(t)))


def _integers(op: Any, t: Any, _: int) -> None:
    """The kind of a fragment of integers."""
    expect(isinstance(element(t), ir.IntegerType), op, "an integer fragment", t)


def _element_access(op: Any, name: str) -> None:
    """The kind of the access of a ``fold.element_load``."""
    str_attr(op, name, ("shifted",) if "at_once" in op.attributes else ELEMENT_ACCESS)


class LoadOp(Op, name="load"):
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

    ins = fields(base=base, kept=index, reduced=index, layout=layout())
    outs = fields(fragment=fragment)
    attrs = fields(**RANKS, axis=AXIS, access=one_of(*ACCESS))


class BlockLoadOp(Op, name="block_load"):
    """Reads elements that follow each other, as several accesses: ``accesses... = fold.block_load base, first, total``.

    Each access is a fragment of 16 bytes. Element ``first`` begins at a boundary of 16 bytes. Elements from ``total``
    on are undefined; ``total`` is at least the number of elements of one access.
    """

    ins = fields(base=pointer(GLOBAL), first=index, total=like(1))
    outs = fields(accesses=several(fragment))

    def check(self) -> None:
        kinds = {str(r.type) for r in self.results}
        expect(len(kinds) == 1, self, "accesses of one type", ", ".join(sorted(kinds)) or "none")
        t = self.results[0].type
        expect(slot_bytes(t) == ACCESS_BYTES, self, f"accesses of {ACCESS_BYTES} bytes", t)


class PositionOp(Op, name="position"):
    """The caller's number of each element of a fragment.

    ``fold.position kept, reduced, base, layout... {kept_rank, reduced_rank, axis}``: the operands are those of a
    ``fold.load`` from an array whose offsets are the numbers; ``base`` is the number of its first element.
    """

    ins = fields(kept=index, reduced=index, base=index, layout=layout())
    outs = fields(fragment=_integers)
    attrs = fields(**RANKS, axis=AXIS)


class LiveOp(Op, name="live"):
    """Which elements of a fragment at ``reduced`` are in [first, end): ``fold.live reduced, first, end``."""

    ins = fields(reduced=index, first=index, end=index)
    outs = fields(mask=elements("a mask", "i1"))


class CachedOp(Op, name="cached"):
    """A pointer whose accesses say what the L2 cache should do with their lines.

    ``hinted = fold.cached pointer {policy}``: ``evict_first`` for what is not accessed again, ``evict_last`` for what
    is; ``whole_lines`` for loads of parts of lines, of which other CTAs load the rest. Targets without such policies
    ignore it.
    """

    ins = fields(pointer=pointer(GLOBAL))
    outs = fields(hinted=typed(GLOBAL))
    attrs = fields(policy=one_of(*POLICIES))


class LeadOp(Op, name="lead"):
    """The distance from a boundary of ``lanes`` elements to the first element of a result, in elements.

    ``fold.lead base, kept, layout... {kept_rank, reduced_rank = 0, lanes, bytes}``: an element has ``bytes`` bytes, and
    the layout operands are kept sizes (without the outermost) and kept strides.
    """

    ins = fields(base=pointer(GLOBAL), kept=index, layout=layout())
    outs = fields(lead=like(1))
    attrs = fields(**RANKS, lanes=power(32), bytes=power(8))


class StoreOp(Op, name="store"):
    """Writes a thread's results: ``fold.store value, base, kept, on, layout... {kept_rank, reduced_rank = 0, vector}``.

    Only threads whose ``on`` is true write. ``vector`` says that the elements are adjacent and aligned. With
    ``{bounded = true}`` the size of the kept axis is one more operand, and elements beyond it are not written. With
    ``{early = true}`` a fragment may begin before the axis, and those elements are not written either. With
    ``{paired = true}`` all lanes execute the op, and the results of a lane follow those of the lane before it.
    """

    ins = fields(
        value=fragment,
        base=pointer(GLOBAL),
        kept=index,
        on=flag,
        layout=layout(lambda op: "bounded" in op.attributes),
    )
    attrs = fields(**RANKS, vector=truth)


class ElementLoadOp(Op, name="element_load"):
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

    ins = fields(base=base, kept=index, reduced=index, first=index, end=index, layout=layout(after_element))
    outs = fields(fragment=fragment)
    attrs = fields(**RANKS, axis=AXIS, access=_element_access)

    def check(self) -> None:
        if str_attr(self, "access", ELEMENT_ACCESS) == "split":
            power_of_two(self, "part", width(self.results[0].type))


class ElementRestOp(Op, name="element_rest"):
    """Completes the fragment of a ``shifted`` ``fold.element_load`` that reads it at once or not at all.

    ``fold.element_rest found, base, kept, reduced, first, end, layout... {kept_rank, reduced_rank, axis, access}`` is
    ``found``, what that op found at the same place, or else the elements that count, which are read one by one. So
    many accesses are on the way before one that is cut is waited for.
    """

    ins = fields(
        found=fragment,
        base=pointer(GLOBAL),
        kept=index,
        reduced=index,
        first=index,
        end=index,
        layout=layout(after_element),
    )
    outs = fields(fragment=fragment)
    attrs = fields(**RANKS, axis=AXIS, access=one_of("shifted"))

    def check(self) -> None:
        found, t = self.operands[0].type, self.results[0].type
        expect(found == t, self, f"a fragment of type {t}", found)


class GatherLoadOp(Op, name="gather_load"):
    """Reads elements at indices along one more axis of the array.

    ``fold.gather_load base, kept, reduced, first, end, indices, size, stride, layout... {kept_rank, reduced_rank,
    axis}``: element j of the fragment is that of a ``fold.element_load`` with strided access, moved by ``stride`` for
    each of ``indices[j]``. It is 0, and nothing is read for it, where ``indices[j]`` is not in [0, size).
    """

    ins = fields(
        base=pointer(GLOBAL),
        kept=index,
        reduced=index,
        first=index,
        end=index,
        indices=elements("indices", "i64"),
        size=index,
        stride=index,
        layout=layout(),
    )
    outs = fields(fragment=fragment)
    attrs = fields(**RANKS, axis=AXIS)

    def check(self) -> None:
        lanes, found = width(self.results[0].type), width(self.operands[5].type)
        expect(found == lanes, self, f"{lanes} indices", found)


class ElementStoreOp(Op, name="element_store"):
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

    ins = fields(
        value=fragment,
        base=base,
        kept=index,
        reduced=index,
        first=index,
        end=index,
        on=flag,
        layout=layout(lambda op: _access(op) in IN_TILE),
    )
    attrs = fields(**RANKS, axis=AXIS, access=one_of(*WRITTEN_ACCESS), whole=truth)

    def check(self) -> None:
        access, value = _access(self), self.operands[0].type
        if access == "unaligned":
            power_of_two(self, "neighbours", WARP)
        if access == "bits":
            expect(str(value) == "i32", self, "a word of bits of type i32", value)
            own = int_attr(self, "own") if "own" in self.attributes else BYTE
            expect(own in (BYTE, 2 * BYTE), self, f"own = {BYTE} or {2 * BYTE}", own)


class BallotOp(Op, name="ballot"):
    """Puts the truth values of neighbouring lanes together: ``word = fold.ballot mask {word, lanes}``, in a whole warp.

    A lane has V truth values, a power of two up to 16, and 32 / V lanes beside each other have those of a word, or as
    many as the attribute ``lanes`` says, a lower power of two, where words have fewer elements. Bit
    V l + k of it is element k of the lane number l of these. The first of these lanes has the word; in the others it is
    undefined. The attribute ``word``, which may be missing, is that of a plan: how lanes join. With ``byte`` they do
    not, and each lane has its own bits as the lowest ones.
    """

    ins = fields(mask=elements("a mask", "i1"))
    outs = fields(word=typed("i32"))
    attrs = fields(word=Optional(one_of(*WORDS)))

    def check(self) -> None:
        lanes = width(self.operands[0].type)
        expect(lanes in (1, 2, 4, 8, 16), self, "1, 2, 4, 8 or 16 elements", lanes)
        if "lanes" in self.attributes:
            fewer = [1 << k for k in range(5) if lanes << k < WORD]
            expect(int_attr(self, "lanes") in fewer, self, f"lanes = one of {fewer}", int_attr(self, "lanes"))


class BitTransposeOp(Op, name="bit_transpose"):
    """Turns the square of bits that the words of a warp are: ``turned = fold.bit_transpose word``, both i32.

    Bit j of lane i becomes bit i of lane j. All lanes take part.
    """

    ins = fields(word=elements("a word", "i32"))
    outs = fields(turned=typed("i32"))
