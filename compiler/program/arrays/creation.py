"""Functions of the Array API standard that make arrays: constants of a shape, and the numbers of positions."""

from __future__ import annotations

from typing import Any

from ...dtypes import F64, I64
from ..dtype_names import dtype as as_dtype
from ..fold import current_scope
from ..graph import Expr
from ..symbols import constant, sym
from ..values import cast
from .dims import Dims, bits
from .shaping import axes_of
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
