"""Refuses objects that NumPy would convert with other values: missing values, categories, large integers.

NumPy turns missing values into NaN, ignores masks, and makes floats of integers that fit none of its types. Each case
raises an error with a remedy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .dlpack import refusal

_PLAIN = {bool, int, float, complex}
_DIGITS = "give it one type first: numpy.array(x, numpy.uint64), or numpy.float64 if it may lose digits"
_FILLED = {
    "pandas": "x.fillna(0) or x.dropna()",
    "pyarrow": "x.fill_null(0) or x.drop_null()",
    "polars": "x.fill_null(0) or x.drop_nulls()",
    "cudf": "x.fillna(0) or x.dropna()",
}
"""Libraries of tables, and how to fill missing values with 0, as for a sum, or to drop them."""


def check(x: Any) -> None:
    """Refuses ``x`` if a value is missing or is no number.

    Raises:
        DTypeError: WF114.
    """
    library = type(x).__module__.partition(".")[0]
    if library in _FILLED:
        for column in _columns(x):
            _check_column(x, column, _FILLED[library])
    elif isinstance(x, list | tuple):
        for member in _strange(x):
            if isinstance(member, np.ma.MaskedArray):
                raise refusal(x, "it holds masked elements, and their mask would be ignored", "fill them first")
            if not isinstance(member, np.ndarray | np.generic):
                check(member)


def check_digits(x: Any, converted: np.ndarray[Any, Any]) -> None:
    """Refuses lists and tables of integers that NumPy ``converted`` to floats that do not equal them.

    Raises:
        DTypeError: WF114.
    """
    if converted.dtype.kind not in "fc":
        return
    whole, others = _whole(x if isinstance(x, list | tuple) else [np.asarray(c) for c in _columns(x)])
    if whole and not others:
        raise refusal(x, f"its integers fit no type: NumPy makes {converted.dtype} of them", _DIGITS)
    if not all(map(_is_kept, whole)):
        raise refusal(x, f"{converted.dtype} does not hold the integers in it", _DIGITS)


def odd(x: Any, made: np.dtype[Any]) -> str:
    """Names the part of ``x`` that makes NumPy build an array of objects or of text, of type ``made``."""
    if type(x) is int:
        return "int of more than 64 bits"
    found = next((type(m).__name__ for m in _strange(x)), None) if isinstance(x, list | tuple) else None
    if found is None and isinstance(x, list | tuple):
        found = "int of more than 64 bits"  # the only numbers of Python of which NumPy makes objects
    return f"{type(x).__name__} (as an array: {made})" if found is None else f"{found} (in a {type(x).__name__})"


def _strange(x: Sequence[Any]) -> Iterator[Any]:
    """The members of a nested list that are no Python numbers."""
    if not _PLAIN.issuperset(map(type, x)):
        for member in x:
            if isinstance(member, list | tuple):
                yield from _strange(member)
            elif type(member) not in _PLAIN:
                yield member


def _whole(x: Sequence[Any]) -> tuple[list[Any], bool]:
    """The integers and integer arrays in a nested list, and whether it contains anything else."""
    if {float, complex}.issuperset(map(type, x)):
        return [], len(x) > 0
    found: list[Any] = []
    others = False
    for member in x:
        if isinstance(member, list | tuple):
            inner, more = _whole(member)
            found, others = found + inner, others or more
        elif isinstance(member, int) or np.asarray(member).dtype.kind in "iub":
            found.append(member)
        else:
            others = True
    return found, others


def _is_kept(whole: Any) -> bool:
    """Whether f64 represents an integer, or all integers of an array."""
    values = [whole] if isinstance(whole, int) else np.asarray(whole).ravel().tolist()
    return all(-(2**53) <= v <= 2**53 or int(float(v)) == v for v in values)


def _columns(x: Any) -> Sequence[Any]:
    """The columns of a table; any other object is a single column."""
    if hasattr(x, "iloc") and hasattr(x, "columns"):
        return [x.iloc[:, i] for i in range(x.shape[1])]  # by index, since names may be repeated
    if hasattr(x, "get_columns"):
        return x.get_columns()  # type: ignore[no-any-return]
    columns = getattr(x, "columns", None)
    return columns if isinstance(columns, list) else [x]


def _check_column(x: Any, column: Any, remedy: str) -> None:
    kind = getattr(column, "type", getattr(column, "dtype", None))
    if isinstance(kind, np.dtype) or str(kind).startswith("Sparse"):
        return
    if str(kind).startswith(("category", "dictionary", "Categorical", "Enum")):
        raise refusal(x, "its elements are categories, which are names", "reduce their codes, or convert it to numbers")
    count = getattr(column, "null_count", None)
    if count is None:
        count = np.count_nonzero(column.isna()) if hasattr(column, "isna") else 0
    if count() if callable(count) else count:
        raise refusal(x, "some of its values are missing", f"fill them or leave them out first: {remedy}")
