"""Vectors that begin anywhere: of 4 to 16 bytes from the two aligned ones that hold them, of a copy from its words.

The bytes are taken out of these words by their place in the first: two words at a time, then one, then by a funnel
shift (``shf``) where elements are narrower than a word. Of a copy one word more is read than the bytes fill, and the
funnel shift alone takes them out.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ...compiler.ir.build import address, bytes_of, from_memory, i32, integer, load, memory_type, word_type
from ...compiler.ir.combine import width, with_shape
from ...compiler.ir.dialect.base import element
from ...compiler.ir.mlir import arith, ir, llvm, vector

ALIGNED = 16
"""Bytes of an access, and what its address is a multiple of."""
WORDS = ALIGNED // 4


def unaligned(first: Any, last: Any, t: Any) -> Any:
    """The fragment of type ``t``, of 4 to 16 bytes, whose first element lies at ``first``.

    ``last`` is the address of the last element that is wanted: elements after it may be anything.
    """
    scalar = memory_type(element(t))
    i64 = ir.IntegerType.get_signless(64)
    start = llvm.ptrtoint(i64, first)
    wanted = width(t) * bytes_of(scalar) // 4
    words = [w for at in (start, llvm.ptrtoint(i64, last)) for w in _words(at, first.type, wanted)]
    place = arith.trunci(word_type(), start)
    if wanted > 2:
        words = _from(words, place, 8, 2, wanted + 2)
    if wanted > 1 and bytes_of(scalar) < 8:
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


def _words(at: Any, pointer: Any, count: int) -> list[Any]:
    """The ``count`` words around the address ``at``, which begin at a multiple of their bytes."""
    boundary = llvm.inttoptr(pointer, arith.andi(at, integer(at.type, -4 * count)))
    words = llvm.load(with_shape(word_type(), count), boundary, alignment=4 * count, invariant=True)
    return [vector.extract(words, [], [k]) for k in range(count)] if count > 1 else [words]


def _from(words: list[Any], place: Any, bit: int, distance: int, count: int) -> list[Any]:
    """The first ``count`` words, or those ``distance`` further on, where ``bit`` of the place is set."""
    moved = arith.cmpi(arith.CmpIPredicate.ne, arith.andi(place, i32(bit)), i32(0))
    pairs = [(words[k], words[min(k + distance, len(words) - 1)]) for k in range(count)]
    return [arith.select(moved, there, here) for here, there in pairs]
