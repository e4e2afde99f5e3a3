"""Vectors that begin anywhere: of 8 or 16 bytes from the two aligned ones that hold them, of a copy from its words.

The bytes are taken out of the eight words by their place in the first: two words at a time, then one, then by a funnel
shift (``shf``) where elements are narrower than a word. Of a copy one word more is read than the bytes fill, and the
funnel shift alone takes them out.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ..compiler.build import address, bytes_of, from_memory, i32, integer, load, memory_type, word_type
from ..compiler.combine import width, with_shape
from ..compiler.dialect.base import element
from ..compiler.mlir import arith, ir, llvm, vector

ALIGNED = 16
"""Bytes of an access, and what its address is a multiple of."""
WORDS = ALIGNED // 4


def unaligned(first: Any, last: Any, t: Any) -> Any:
    """The fragment of type ``t``, of 8 or 16 bytes, whose first element lies at ``first``.

    ``last`` is the address of the last element that is wanted: elements after it may be anything.
    """
    scalar = memory_type(element(t))
    i64 = ir.IntegerType.get_signless(64)
    start = llvm.ptrtoint(i64, first)
    words = _words(start, first.type) + _words(llvm.ptrtoint(i64, last), first.type)
    place = arith.trunci(word_type(), start)
    wanted = width(t) * bytes_of(scalar) // 4
    words = _from(words, place, 8, 2, wanted + 2)
    if bytes_of(scalar) < 8:
        words = _from(words, place, 4, 1, wanted + 1)
    words = _shifted(words, place) if bytes_of(scalar) < 4 else words[:wanted]
    return _fragment(words, scalar, t)


def copied(base: Any, place: Any, t: Any) -> Any:
    """The fragment of type ``t``, of 4 to 16 bytes, from element ``place`` on of a copy in shared memory.

    A copy begins at a boundary, and can be read a word beyond the last element that is wanted.
    """
    scalar, wanted = memory_type(element(t)), width(t) * bytes_of(memory_type(element(t))) // 4
    place = place if place.type.width == 32 else arith.trunci(word_type(), place)
    first = arith.muli(place, i32(bytes_of(scalar)))
    word = address(base, arith.andi(first, i32(-4)), ir.IntegerType.get_signless(8))
    words = [load(word, i32(k), word_type()) for k in range(wanted + 1)]
    return _fragment(_shifted(words, first), scalar, t)


def _shifted(words: list[Any], place: Any) -> list[Any]:
    """The words from the byte ``place`` of the first one on, of which one fewer are whole."""
    bits = arith.shli(place, i32(3))  # the funnel shift takes it modulo 32
    return [llvm.intr_fshr(high, low, bits) for low, high in pairwise(words)]


def _fragment(words: list[Any], scalar: Any, t: Any) -> Any:
    """The fragment of type ``t`` whose elements, in memory of type ``scalar``, fill these words."""
    whole = vector.from_elements(ir.VectorType.get([len(words)], word_type()), words)
    return from_memory(vector.bitcast(with_shape(scalar, width(t)), whole), t)


def _words(at: Any, pointer: Any) -> list[Any]:
    """The four words around the address ``at``."""
    boundary = llvm.inttoptr(pointer, arith.andi(at, integer(at.type, -ALIGNED)))
    four = llvm.load(with_shape(word_type(), WORDS), boundary, alignment=ALIGNED, invariant=True)
    return [vector.extract(four, [], [k]) for k in range(WORDS)]


def _from(words: list[Any], place: Any, bit: int, distance: int, count: int) -> list[Any]:
    """The first ``count`` words, or those ``distance`` further on, where ``bit`` of the place is set."""
    moved = arith.cmpi(arith.CmpIPredicate.ne, arith.andi(place, i32(bit)), i32(0))
    pairs = [(words[k], words[min(k + distance, len(words) - 1)]) for k in range(count)]
    return [arith.select(moved, there, here) for here, there in pairs]
