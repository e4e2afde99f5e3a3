"""Vectors at any address: 4 to 32 bytes taken out of the aligned words that hold them.

In global memory the aligned vectors around them are loaded, one more than the vector fills. The address selects the
words: two at a time, then one, then, where elements are narrower than a word, a funnel shift (``shf``) selects the
bytes. From a copy in shared memory one word
more is loaded than the vector fills, and the funnel shift alone selects the bytes.

Fragments of an array that begins at a boundary, taken at a known distance before one.

Rows that begin anywhere are read and written from the boundary before each of them on. Weights, which lie along all
rows, begin at a boundary themselves. So if a row begins three elements after a boundary, each access to its weights
begins three elements before one. That number is the same for all threads of a CTA, and there is a loop for each value
of it: an access is two aligned ones, and at most a shift a word. Single elements would take a load each, and words that
are chosen by their address a dozen instructions.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ...compiler.ir.build import (
    address,
    as_word,
    bytes_of,
    from_memory,
    i32,
    integer,
    load,
    memory_type,
    to_memory,
    word_type,
)
from ...compiler.ir.combine import width, with_shape
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, ir, llvm, vector

ALIGNED = 16
"""The size and the alignment of an aligned access, in bytes."""
WORD = 4
"""Bytes of a word."""
WORDS = ALIGNED // WORD


def unaligned(first: Any, last: Any, t: Any) -> Any:
    """The fragment of type ``t``, 4 to 16 bytes long, whose first element is at the address ``first``.

    ``last`` is the address of the last element that counts: elements after it may have any value.
    """
    i64 = ir.IntegerType.get_signless(64)
    start = llvm.ptrtoint(i64, first)
    words = words_around(start, llvm.ptrtoint(i64, last), first.type, t)
    return taken_out(words, arith.trunci(word_type(), start), t)


def words_around(start: Any, last: Any, pointer: Any, t: Any) -> list[Any]:
    """The words of the aligned vectors that hold a fragment of type ``t``.

    ``start`` and ``last`` are the addresses of its first and its last element, as an i64, ``pointer`` is their type.
    """
    wanted = width(t) * bytes_of(memory_type(element(t))) // 4
    count = min(wanted, WORDS)
    places = [arith.addi(start, integer(start.type, ALIGNED * k)) if k else start for k in range(wanted // count)]
    return [w for at in (*places, last) for w in _words(at, pointer, count)]


def words_of(x: Any) -> list[Any]:
    """The words of a fragment of 4 bytes or more, as memory holds them."""
    x = to_memory(x)
    count = width(x.type) * bytes_of(element(x.type)) // 4
    x = x if isinstance(x.type, ir.VectorType) else vector.from_elements(ir.VectorType.get([1], x.type), [x])
    found = vector.bitcast(ir.VectorType.get([count], word_type()), x)
    return [vector.extract(found, [], [k]) for k in range(count)]


def taken_out(words: list[Any], place: Any, t: Any) -> Any:
    """The fragment of type ``t`` that begins at byte ``place``, modulo the size of an access, of ``words``."""
    scalar = memory_type(element(t))
    wanted = width(t) * bytes_of(scalar) // 4
    if wanted > 2:
        words = _from(words, place, 8, 2, wanted + 2)
    if wanted > 1 and bytes_of(scalar) < 8:
        words = _from(words, place, 4, 1, wanted + 1)
    words = shifted(words, place) if bytes_of(scalar) < 4 else words[:wanted]
    return fragment_of(words, scalar, t)


def copied(base: Any, place: Any, t: Any) -> Any:
    """The fragment of type ``t``, 4 to 16 bytes long, that begins with element ``place`` of a copy in shared memory.

    The copy begins at a boundary, and one word beyond its last element can be read.
    """
    scalar, wanted = memory_type(element(t)), width(t) * bytes_of(memory_type(element(t))) // 4
    first = arith.muli(as_word(place), i32(bytes_of(scalar)))
    word = address(base, arith.andi(first, i32(-4)), ir.IntegerType.get_signless(8))
    words = [load(word, i32(k), word_type()) for k in range(wanted + 1)]
    return fragment_of(shifted(words, first), scalar, t)


def shifted(words: list[Any], place: Any) -> list[Any]:
    """The words that begin at byte ``place`` of the first of ``words``; one fewer than these."""
    bits = arith.shli(place, i32(3))  # the funnel shift takes it modulo 32
    return [llvm.intr_fshr(high, low, bits) for low, high in pairwise(words)]


def fragment_of(words: list[Any], scalar: Any, t: Any) -> Any:
    """The fragment of type ``t`` that ``words`` hold as elements of the memory type ``scalar``."""
    whole = vector.from_elements(ir.VectorType.get([len(words)], word_type()), words)
    return from_memory(vector.bitcast(with_shape(scalar, width(t)), whole), t)


def _words(at: Any, pointer: Any, count: int) -> list[Any]:
    """The ``count`` words around the address ``at``, from a boundary of their total size on."""
    boundary = llvm.inttoptr(pointer, arith.andi(at, integer(at.type, -4 * count)))
    words = llvm.load(with_shape(word_type(), count), boundary, alignment=4 * count, invariant=True)
    return [vector.extract(words, [], [k]) for k in range(count)] if count > 1 else [words]


def _from(words: list[Any], place: Any, bit: int, distance: int, count: int) -> list[Any]:
    """The first ``count`` words, or, if ``bit`` of ``place`` is set, those ``distance`` words later."""
    moved = arith.cmpi(arith.CmpIPredicate.ne, arith.andi(place, i32(bit)), i32(0))
    pairs = [(words[k], words[min(k + distance, len(words) - 1)]) for k in range(count)]
    return [arith.select(moved, there, here) for here, there in pairs]


LEADS = "leads"
"""The attribute of a load from such an array: its elements lie side by side, and the first one at a boundary."""


def load_before(load: Any, r: Any, lead: int) -> Any:
    """The fragment of a load at the reduced index ``r``, which lies ``lead`` elements before a boundary."""
    base, t = load.operands[0], load.results[0].type
    scalar = memory_type(element(t))
    nbytes, item = width(t) * bytes_of(scalar), bytes_of(scalar)
    first = nbytes - lead * item  # bytes from the boundary before
    low = arith.addi(r, integer(r.type, lead - width(t)))
    last = first + nbytes - 1
    words: dict[int, Any] = {}
    for k in range(first // ALIGNED, last // ALIGNED + 1):
        at = arith.addi(low, integer(r.type, k * ALIGNED // item)) if k else low
        read = llvm.load(with_shape(word_type(), WORDS), address(base, at, scalar), alignment=ALIGNED, invariant=True)
        words |= {k * WORDS + j: vector.extract(read, [], [j]) for j in range(WORDS)}
    begin, bits = first // WORD, first % WORD * 8
    own = [words[begin + j] for j in range(nbytes // WORD)]
    if bits:
        following = [*own[1:], words[begin + len(own)]]
        own = [llvm.intr_fshr(high, low, i32(bits)) for low, high in zip(own, following, strict=True)]
    return fragment_of(own, scalar, t)
