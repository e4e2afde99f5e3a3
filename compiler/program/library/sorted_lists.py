"""The best k elements as sorted lists: monoids that merge two lists of k, and what an element's place in them is.

An element is a *key*: its rank above its number in an integer of 32 or 64 bits, or both in two integers, of which the
second decides between equals; the least comes first. All keys of a reduction differ, so lists may meet in any order.

Source: two sorted lists meet as in K. E. Batcher, "Sorting networks and their applications" (1968): the lesser of each
element of one and the opposite element of the other are the k least of all, first rising, then falling; a bitonic merge
sorts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...dtypes import BF16, F16, F32, F64, I16, I32, I64, U16, U32, U64, DType, compute
from ..fold import fold, index
from ..functions import bitcast, isnan, minimum, where
from ..monoid import monoid
from ..symbols import Sym, constant
from ..values import cast
from .monoids import expect_real

Key = tuple[Any, ...]
"""What orders an element."""
HALF = 16
"""Bits of a rank, and of a number, that share a word of 32."""
MANY = 1 << 63
"""More elements than there are."""


@monoid(identity=lambda *ts: tuple(t.highest for t in ts))
def SORTED(a: Any, b: Any) -> Any:
    """Two lists of integers, the least first: the least of both."""
    own, other = (list(s) if isinstance(s, tuple) else [s] for s in (a, b))
    found = tuple(v for (v,) in _merged([(v,) for v in own], [(v,) for v in other]))
    return found if isinstance(a, tuple) else found[0]


@monoid(identity=lambda *ts: tuple(t.highest for t in ts))
def SORTED_PAIRS(a: Any, b: Any) -> Any:
    """Two lists of pairs, given as all first and then all second numbers: the least of both."""
    k = len(a) // 2
    found = _merged(*(list(zip(s[:k], s[k:], strict=True)) for s in (a, b)))
    return tuple(first for first, _ in found) + tuple(second for _, second in found)


def _merged(a: Sequence[Key], b: Sequence[Key]) -> list[Key]:
    """The k least of two sorted lists of k, sorted."""
    found = [_lesser(x, y) for x, y in zip(a, reversed(b), strict=True)]
    k = len(found)
    distance = (1 << (k - 1).bit_length()) // 2
    before = 2 * distance - k  # a list of a power of two would begin with so many keys that stay where they are
    while distance:
        for i in range(k - distance):
            if not (before + i) & distance:
                x, y = found[i], found[i + distance]
                found[i] = _lesser(x, y)
                found[i + distance] = _other(x, y, found[i])
        distance //= 2
    return found


def _lesser(x: Key, y: Key) -> Key:
    """The one of two keys that is before the other."""
    if len(x) == 1:
        return (minimum(x[0], y[0]),)
    first = (x[0] < y[0]) | ((x[0] == y[0]) & (x[1] < y[1]))
    return tuple(where(first, v, w) for v, w in zip(x, y, strict=True))


def _other(x: Key, y: Key, taken: Key) -> Key:
    """The one of two keys that was not taken: without a second comparison."""
    return tuple(v ^ w ^ t for v, w, t in zip(x, y, taken, strict=True))


def best(x: Any, k: int, *, largest: bool, most: int = MANY) -> list[Key]:
    """The keys of the ``k`` greatest or least elements, of at most so many, in their order: a tensor program's fold."""
    rank, number = _rank(expect_real(x), falls=largest), index()
    if max(rank.dtype.bits, number.dtype.bits) == 64:
        first, second = ([v, *[constant(v.dtype.highest, v.dtype)] * (k - 1)] for v in (rank, number))
        found = fold(SORTED_PAIRS, *first, *second)
        return list(zip(found[:k], found[k:], strict=True))
    if x.dtype.bits <= HALF and most <= 1 << HALF:
        word = rank << HALF | number
    else:
        word = cast(rank, I64) << 32 | cast(bitcast(number, U32), I64)
    found = fold(SORTED, word, *[constant(word.dtype.highest, word.dtype)] * (k - 1))
    return [(w,) for w in (found if isinstance(found, tuple) else (found,))]


def element(key: Key, t: DType, *, largest: bool) -> Any:
    """The element of type ``t`` with this key."""
    rank = key[0]
    if len(key) == 1:
        rank = rank >> HALF if rank.dtype == I32 else cast(rank >> 32, I32)
    up = ~rank if largest else rank
    if t.is_float:
        bits = _bits(t)
        return cast(bitcast(cast(_turned(up, bits), _WORDS[bits]), t if bits == t.bits else F32), t)
    if t in _SIGNED:
        return bitcast(up ^ _SIGNED[t].lowest, t)
    return cast(up + (_HALF_OF_U16 if t == U16 else 0), t)


def number(key: Key) -> Any:
    """The number of the element with this key."""
    if len(key) > 1:
        return cast(key[1], I64)
    return cast(key[0] & 0xFFFF if key[0].dtype == I32 else cast(key[0], U32), I64)


def _rank(x: Any, *, falls: bool) -> Sym:
    """A signed integer in the order of ``x``, or against it; both zeros have one, and NaN that of the greatest.

    It has 16 bits, of an I32, for elements of so many or fewer, but for 8-bit floats.
    """
    t = x.dtype
    wide = I64 if t.bits == 64 else I32
    if not t.is_float:
        up = bitcast(x, wide) ^ wide.lowest if t in _SIGNED else cast(x, wide) - (_HALF_OF_U16 if t == U16 else 0)
        return ~up if falls else up
    bits = _bits(t)
    normal = cast(x, compute(t)) + 0.0  # of a sum: never -0, and for f32 0x7fffffff for any NaN
    own = bitcast(normal, wide)
    if bits == HALF:
        own = own >> HALF if t == BF16 else cast(bitcast(cast(normal, F16), I16), I32)
    up = _turned(own, bits)
    up = where(isnan(x), wide.highest, up) if bits == 64 else up
    return ~up if falls else up


def _bits(t: DType) -> int:
    """Bits of a float as it is ranked."""
    return t.bits if t in (F16, BF16, F64) else 32


def _turned(own: Any, bits: int) -> Any:
    """A sign and a magnitude of so many bits as a complement, or the reverse."""
    return own ^ (own >> (bits - 1) & ((1 << (bits - 1)) - 1))


_WORDS = {16: U16, 32: U32, 64: U64}
"""The integers of a float's bits."""
_SIGNED = {U32: I32, U64: I64}
"""The signed integers that have the ranks of unsigned ones."""
_HALF_OF_U16 = 1 << 15
"""What is taken from an element of U16, whose rank then has a sign and 16 bits."""
