"""Random bits of the elements of an array, by a generator that counts: they depend on nothing but place and seed."""

from __future__ import annotations

from typing import Any

from ...dtypes import I64, U32, U64
from ...errors import error
from ..frames import caller
from ..graph import Expr
from ..spelling import no_array
from ..symbols import constant, is_array, node, sym
from ..values import cast
from .dims import bits
from .sym_array import SymArray

MOST = 2**64 - 1
"""The greatest seed, and the greatest offset."""


def random_bits(x: Any, seed: Any, offset: Any = 0) -> Any:
    """32 random bits for each element of an array like ``x``, whose elements are not read.

    Philox 4x32-10 with the key ``seed`` makes four words of the counter ``number / 4 + offset * 2^64``, where
    ``number`` is that of the element in row-major order. The element has the word ``number % 4``. So the bits depend on
    seed, offset and place alone, however arrays lie in memory, and calls of different offsets share none.

    Args:
        x: an array.
        seed: a whole number from 0 to 2^64 - 1, or an array of rank 0 of integers, which are taken modulo 2^64.
        offset: another one.

    Returns:
        An array of uint32 in the shape of ``x``.

    Raises:
        ArgumentError: WF195 for a number outside of this range.
        TraceError: WF285 for an ``x`` that is no array, WF295 for a seed or an offset that is no number.
    """
    if not is_array(x):
        raise no_array("x", x)
    own = tuple(p for d in x.axes for p in x.dims.parts(d))
    places = Expr("iota", (), I64, bits(own), own) if own else constant(0, I64).expr
    numbers: Any = SymArray(places, x.axes, x.dims)
    return node("philox", U32, cast(numbers, U64), _word("seed", seed), _word("offset", offset))


def _word(name: str, value: Any) -> Any:
    """A seed or an offset in 64 bits."""
    found = sym(checked(name, value), U64)
    if getattr(found, "axes", ()) or not found.dtype.is_integer:
        kind = found.dtype.numpy_name
        raise error("WF295", name=name, kind=kind, rank=len(getattr(found, "axes", ())), where=caller())
    return cast(found, U64)


def checked(name: str, value: Any) -> Any:
    """``value``, in range if it is a number of Python; ArgumentError WF195 for a bool, a string and None, too."""
    if type(value) in (bool, str, type(None)) or (type(value) is int and not 0 <= value <= MOST):
        raise error("WF195", name=name, value=value)
    return value
