"""The distinct elements of an array of small integers: a set of bits, reduced by ``or``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiler.dtypes import BOOL, U8, U16, U32, DType
from ..compiler.errors import error
from ..compiler.program.fold import fold
from ..compiler.program.frames import outermost
from ..compiler.program.functions import bitcast, where
from ..compiler.program.library import monoids
from ..compiler.program.symbols import Sym
from ..compiler.program.values import cast
from .api import reduce
from .arrays.conversion import from_numpy, to_numpy, view
from .arrays.dask_arrays import in_dask, together
from .arrays.torch_compile import opaque

WORDS = 8
"""32-bit words of a state, which is a set of 256 codes."""


@opaque
@outermost
def unique(x: Any, *, device: str = "auto") -> Any:
    """The distinct elements, in ascending order; waits for the device, since their number depends on the data.

    8-bit elements are read once; 16-bit elements are reduced to 256 sets, one for each upper byte.

    Args:
        x: an array of bool or of 8- or 16-bit integers, of any shape.
        device: as in ``reduce``.

    Returns:
        An array of rank 1 in the library and on the device of ``x``; of Dask, of unknown length.

    Raises:
        DTypeError: WF149 for wider elements, whose set does not fit in registers.
    """
    if in_dask((x,)):
        unique(np.empty(0, x.dtype))  # refuses other types at once
        return together(lambda block: unique(np.asarray(block), device=device), _all, (x,), x.dtype.newbyteorder("="))
    v = view(x)
    if not (v.dtype == BOOL or (v.dtype.is_integer and v.dtype.bits <= 16)):
        remedy = "sort the elements first" if v.dtype.is_integer else "round the elements to small integers first"
        raise error("WF149", dtype=v.dtype, remedy=remedy)
    if v.dtype.bits <= 8:
        words = reduce(x, what=_codes, device=device)
    else:
        upper = np.arange(256, dtype=np.uint32).reshape(256, *(1 for _ in v.shape))
        axes = tuple(range(1, 1 + len(v.shape)))
        words = reduce(x, from_numpy(x, upper), what=_codes_under, axis=axes, device=device)
    sets = np.stack([np.atleast_1d(to_numpy(w)) for w in words], axis=-1)
    return from_numpy(x, _members(sets, v.dtype))


def _all(parts: Any) -> Any:
    return np.unique(np.concatenate(parts))


def _codes(x: Sym) -> tuple[Sym, ...]:
    """The set of the codes of all elements; a code is an element read as an unsigned number."""
    return _set(_code(x), True)


def _codes_under(x: Sym, upper: Sym) -> tuple[Sym, ...]:
    """The set of the lower bytes of the elements whose upper byte is ``upper``."""
    code = _code(x)
    return _set(code & 0xFF, code >> 8 == upper)


def _code(x: Sym) -> Sym:
    unsigned = {8: U8, 16: U16}.get(x.dtype.bits)
    return cast(x if unsigned is None else bitcast(x, unsigned), U32)


def _set(code: Sym, member: Any) -> tuple[Sym, ...]:
    """The words of the set with only ``code``, or of the empty set unless ``member`` holds."""
    bit = cast(1, U32) << (code & 31)
    return tuple(fold(monoids.UNION, where(member & (code >> 5 == k), bit, cast(0, U32))) for k in range(WORDS))


def _members(sets: np.ndarray[Any, Any], t: DType) -> np.ndarray[Any, Any]:
    """The elements of sets of codes, [upper byte][word], in ascending order."""
    little = np.ascontiguousarray(sets).astype("<u4").view(np.uint8)
    codes = np.flatnonzero(np.unpackbits(little, bitorder="little"))
    unsigned = np.dtype(f"u{t.itemsize}")
    return np.sort(codes.astype(unsigned).view(t.numpy))
