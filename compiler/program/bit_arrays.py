"""Arrays of bits: truth values that an array of u32 or i32 holds, 32 in each word.

Bit k of word w is element 32 w + k, along the last axis of the truth values, or of all of them in row-major order
(``flat``). The last word is filled with zeros. So the words are what NumPy's ``packbits(mask, axis=-1,
bitorder="little")`` gives, read as ``<u4``.

In a kernel such an array is one of elements of the type ``BIT``, whose strides count bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

WORD, BYTE = 32, 8
"""Bits of a word, and of a byte of it."""


def words_shape(shape: Sequence[int], *, flat: bool) -> tuple[int, ...]:
    """The shape of the words that hold the bits of an array of truth values of this shape."""
    if flat:
        return (-(-prod(shape) // WORD),)
    return (*shape[:-1], -(-shape[-1] // WORD))


def bit_strides(shape: Sequence[int], strides: Sequence[int], *, flat: bool) -> tuple[int, ...]:
    """The distance of neighbouring bits along each axis of truth values of this shape, in bits.

    Args:
        shape: the shape of the truth values.
        strides: the strides of the words, whose last axis has no gaps.
        flat: whether the words hold all truth values in row-major order.
    """
    if not flat:
        return (*(WORD * s for s in strides[:-1]), 1)
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))


def has_gaps(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether words of this shape and these strides have others between them along their last axis."""
    return shape[-1] > 1 and strides[-1] != 1
