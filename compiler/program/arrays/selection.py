"""Functions of the Array API standard that choose elements by their positions.

Functions of the Array API standard that make arrays: constants of a shape, and the numbers of positions.
"""

from __future__ import annotations

from typing import Any

from ...dtypes import F64, I64
from ...errors import error
from ..dtype_names import dtype as as_dtype
from ..fold import current_scope
from ..frames import caller
from ..functions import where
from ..graph import Expr
from ..library import reductions
from ..symbols import constant, sym
from ..values import cast
from .dims import Dims, bits
from .folding import AxisArgument, positions, reduced
from .indexing import indexed
from .shaping import axes_of, expand_dims
from .sym_array import SymArray


def asarray(value: Any, *, dtype: object = None, copy: object = None, device: object = None) -> SymArray:  # noqa: ARG001 - values have no memory
    """``value``, an array or a number, as an array: a number has NumPy's default type."""
    if isinstance(value, SymArray):
        found = value if dtype is None else value.astype(dtype)
        return SymArray(found.expr, found.axes, found.dims, found.dtype) if copy else found
    number = sym(value) if dtype is None else cast(value, as_dtype(dtype))
    return SymArray(number.expr, (), _dims())


def astype(x: SymArray, dtype: object, *, copy: object = True, device: object = None) -> SymArray:  # noqa: ARG001 - values have no memory
    """``x`` in another type, rounded to it."""
    return x.astype(dtype)


def full(shape: Any, value: Any, *, dtype: object = None, device: object = None) -> SymArray:  # noqa: ARG001 - values have no memory
    """An array of one value; its shape has sizes of arrays, such as ``x.shape``."""
    number = asarray(value, dtype=dtype)
    return SymArray(number.expr, axes_of(shape, number.dims), number.dims, number.dtype)


def zeros(shape: Any, *, dtype: object = None, device: object = None) -> SymArray:
    """An array of zeros, f64 by default."""
    return full(shape, 0, dtype=dtype or F64, device=device)


def ones(shape: Any, *, dtype: object = None, device: object = None) -> SymArray:
    """An array of ones, f64 by default."""
    return full(shape, 1, dtype=dtype or F64, device=device)


def full_like(x: SymArray, value: Any, *, dtype: object = None, device: object = None) -> SymArray:  # noqa: ARG001 - values have no memory
    """An array of one value, with the shape of ``x``, and its type by default."""
    t = x.dtype if dtype is None else as_dtype(dtype)
    number = asarray(value, dtype=t)
    return SymArray(number.expr, x.axes, x.dims, t)


def zeros_like(x: SymArray, *, dtype: object = None, device: object = None) -> SymArray:
    """An array of zeros like ``x``."""
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: SymArray, *, dtype: object = None, device: object = None) -> SymArray:
    """An array of ones like ``x``."""
    return full_like(x, 1, dtype=dtype, device=device)


def arange(
    start: Any,
    stop: Any = None,
    step: Any = 1,
    *,
    dtype: object = None,
    device: object = None,  # noqa: ARG001 - values have no memory
) -> SymArray:
    """The positions along an axis, ``arange(x.shape[-1])``.

    Raises:
        TraceError: WF266 for a length that is not the size of an axis.
    """
    length = start if stop is None else stop if type(start) is int and start == 0 else stop - start
    dims, t = _dims(), I64 if dtype is None else as_dtype(dtype)
    (dim,) = axes_of(length, dims)
    own = dims.parts(dim)
    place = Expr("iota", (), I64, bits(own), own) if own else constant(0, I64).expr
    numbers: Any = SymArray(place, (dim,), dims)
    if step != 1:
        numbers = numbers * step
    return (numbers if stop is None else numbers + start).astype(t)  # type: ignore[no-any-return]


def _dims() -> Dims:
    """The dims of the running tracing."""
    over: Any = current_scope().over
    return over.dims  # type: ignore[no-any-return]


def take_along_axis(x: SymArray, indices: SymArray, /, *, axis: int = -1) -> SymArray:
    """The elements of ``x`` at positions along ``axis``.

    Args:
        x: the array.
        indices: integers with as many axes as ``x``; along ``axis`` there may be any number of them, and along the
            others they broadcast with ``x``. Negative ones count from the end. A position that does not exist gives 0.
        axis: the axis along which elements are chosen.

    Returns:
        An array with the size of ``indices`` along ``axis``.

    Raises:
        TraceError: WF244 for indices of another rank, or that are no integers.
    """
    (place,) = positions(axis, x.axes, x)
    if indices.ndim != x.ndim or not indices.dtype.is_integer:
        found = f"rank {indices.ndim} and type {indices.dtype}"
        raise error("WF244", found=found, rank=x.ndim, where=caller())
    return taken(x, expand_dims(indices, axis=place), place)


def take(x: SymArray, indices: SymArray, /, *, axis: int = -1) -> SymArray:
    """The elements of ``x`` at ``indices``, an array of one axis, along ``axis``; see ``take_along_axis``.

    Raises:
        TraceError: WF244 for indices of another rank, or that are no integers.
    """
    (place,) = positions(axis, x.axes, x)
    if indices.ndim != 1 or not indices.dtype.is_integer:
        found = f"rank {indices.ndim} and type {indices.dtype}"
        raise error("WF244", found=found, rank=1, where=caller())
    return taken(x, indices.relabeled((*indices.axes, *(None,) * (x.ndim - 1 - place))), place)


def taken(x: SymArray, indices: SymArray, place: int) -> SymArray:
    """The elements of ``x`` at ``indices``, which have one more axis behind the one at ``place``.

    Each is the sum of the products of a row with ones and zeros, which ``rewrites/one_hot.py`` reads as one element.
    """
    n: Any = x.shape[place]
    numbers = arange(n)[(slice(None), *(None,) * (x.ndim - place))]
    chosen: Any = where(numbers == where(indices < 0, indices + n, indices), expand_dims(x, axis=place + 1), 0)
    found: Any = reduced("take", reductions.sum, (chosen,), place, params={"dtype": x.dtype})
    return found  # type: ignore[no-any-return]


def flip(x: SymArray, /, *, axis: AxisArgument = None) -> SymArray:
    """``x`` with its elements in reverse order along these axes; along all by default."""
    places = range(x.ndim) if axis is None else positions(axis, x.axes, x)
    return indexed(x, tuple(slice(None, None, -1) if i in places else slice(None) for i in range(x.ndim)))


def unstack(x: SymArray, /, *, axis: int = 0) -> tuple[SymArray, ...]:
    """The arrays of which ``x`` consists along an axis; the program serves its size alone."""
    (place,) = positions(axis, x.axes, x)
    return tuple(indexed(x, (*(slice(None),) * place, i)) for i in range(int(x.shape[place])))


def diff(x: SymArray, /, *, axis: int = -1, n: int = 1) -> SymArray:
    """The differences of neighbours along an axis, ``n`` times; ArgumentError WF138 for no number of times."""
    if type(n) is not int or n < 0:
        raise error("WF138", option="n", value=n, expected="a whole number from 0 on", default=1, where=caller())
    (place,) = positions(axis, x.axes, x)
    before = (slice(None),) * place
    for _ in range(n):
        found: Any = indexed(x, (*before, slice(1, None)))
        x = found - indexed(x, (*before, slice(None, -1)))
    return x


def tril(x: SymArray, /, *, k: int = 0) -> SymArray:
    """``x`` on and below the diagonal ``k``, 0 above it."""
    return where(_below_diagonal(x) <= k, x, 0)  # type: ignore[return-value]


def triu(x: SymArray, /, *, k: int = 0) -> SymArray:
    """``x`` on and above the diagonal ``k``, 0 below it."""
    return where(_below_diagonal(x) >= k, x, 0)  # type: ignore[return-value]


def _below_diagonal(x: SymArray) -> Any:
    """The number of the diagonal on which each element of the last two axes lies."""
    if x.ndim < 2:
        raise error("WF257", what="tril or triu", rank=x.ndim, expected="at least 2", where=caller())
    rows, columns = arange(x.shape[-2]), arange(x.shape[-1])
    return columns - rows[:, None]
