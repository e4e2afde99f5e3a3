"""Input that NumPy would change while making an array is refused with advice; input that it keeps is read."""

from __future__ import annotations

import time
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.errors import DTypeError, TraceError

BIG = 2**53 + 1


def table(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed")


MISSING: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "Int64": ("pandas", lambda pd: pd.array([1, None, 3], dtype="Int64")),
    "a series of UInt8": ("pandas", lambda pd: pd.Series([1, None], dtype="UInt8")),
    "Float64": ("pandas", lambda pd: pd.Series([1.0, None], dtype="Float64")),
    "boolean": ("pandas", lambda pd: pd.Series([True, None], dtype="boolean")),
    "an index": ("pandas", lambda pd: pd.Index([1, None], dtype="Int64")),
    "a frame": ("pandas", lambda pd: pd.DataFrame({"a": [1.0, 2.0], "b": pd.array([1, None], dtype="Int64")})),
    "columns of one name": (
        "pandas", lambda pd: pd.concat([pd.Series([1.0]), pd.Series([None], name=0, dtype="Int64")], axis=1),
    ),
    "a list of arrays": ("pandas", lambda pd: [pd.array([1, None], dtype="Int64")] * 2),
    "arrow": ("pyarrow", lambda pa: pa.array([1, None])),
    "arrow's chunks": ("pyarrow", lambda pa: pa.chunked_array([[1.0, None], [2.0]])),
    "arrow's table": ("pyarrow", lambda pa: pa.table({"a": [1, 2], "b": [1, None]})),
    "polars": ("polars", lambda pl: pl.Series([1, None])),
    "polars' frame": ("polars", lambda pl: pl.DataFrame({"a": [1, 2], "b": [True, None]})),
}  # fmt: skip


@pytest.mark.parametrize("kind", MISSING)
def test_missing_values_are_refused(kind: str) -> None:
    library, make = MISSING[kind]
    x = make(table(library))
    for use in (lambda: wf.sum(x), lambda: wf.mean(x, where=True), lambda: wf.segment_reduce([1, 2], x, "sum")):
        with pytest.raises(DTypeError, match=r"^WF114: a .* some of its values are missing(.*\n)*  help: fill them or"):
            use()


CATEGORIES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "an array": ("pandas", lambda pd: pd.Categorical([10, 20, 20])),
    "a series": ("pandas", lambda pd: pd.Series([10, 20], dtype="category")),
    "an index": ("pandas", lambda pd: pd.CategoricalIndex([1, 2])),
    "a frame": ("pandas", lambda pd: pd.DataFrame({"a": [1], "b": pd.Categorical([5])})),
    "arrow": ("pyarrow", lambda pa: pa.array([5, 6, 5]).dictionary_encode()),
    "polars": ("polars", lambda pl: pl.Series(["a", "b"], dtype=pl.Categorical)),
}


@pytest.mark.parametrize("kind", CATEGORIES)
def test_categories_are_refused(kind: str) -> None:
    library, make = CATEGORIES[kind]
    with pytest.raises(DTypeError, match=r"^WF114: a .* categories, which are names(.*\n)*  help: reduce their codes"):
        wf.sum(make(table(library)))


WHOLE: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "Int64": ("pandas", lambda pd: pd.array([1, 2, BIG], dtype="Int64")),
    "a series": ("pandas", lambda pd: pd.Series([1, 2, BIG])),
    "a series of Int64": ("pandas", lambda pd: pd.Series([1, 2, BIG], dtype="Int64")),
    "an index": ("pandas", lambda pd: pd.Index([1, 2, BIG])),
    "arrow in pandas": ("pandas", lambda pd: table("pyarrow") and pd.Series([1, 2, BIG], dtype="int64[pyarrow]")),
    "a frame": ("pandas", lambda pd: pd.DataFrame({"a": [1, 2, BIG], "b": [0, 0, 0]})),
    "arrow": ("pyarrow", lambda pa: pa.array([1, 2, BIG])),
    "arrow's chunks": ("pyarrow", lambda pa: pa.chunked_array([[1], [2, BIG]])),
    "polars": ("polars", lambda pl: pl.Series([1, 2, BIG])),
    "polars' frame": ("polars", lambda pl: pl.DataFrame({"a": [1, 2, BIG]})),
}


@pytest.mark.parametrize("kind", WHOLE)
def test_tables_without_missing_values_are_read(kind: str) -> None:
    library, make = WHOLE[kind]
    found = wf.sum(make(table(library)))
    assert (found, found.dtype) == (BIG + 3, np.int64)


def test_nan_is_a_value() -> None:
    pd = table("pandas")
    assert np.isnan(wf.sum(pd.Series([1.0, np.nan])))
    assert wf.nansum(pd.Series([1.0, np.nan])) == 1
    assert wf.sum(pd.Series(pd.arrays.SparseArray([0.0, 1.5, 0.0]))) == 1.5


@pytest.mark.parametrize(
    ("x", "text"),
    [
        ([2**63, -1], "a list .* its integers fit no type: NumPy makes float64 of them"),
        ([2**63, 1], "its integers fit no type"),
        (((2**63,), (-1,)), "a tuple .* its integers fit no type"),
        ([np.uint64(2**63), np.int64(-1)], "its integers fit no type"),
        ([np.array([1], np.uint64), np.array([-1])], "its integers fit no type"),
        ([BIG, 0.5], "float64 does not hold the integers in it"),
        ([[BIG], [0.5]], "float64 does not hold the integers in it"),
        ([-BIG, 0.5], "float64 does not hold"),
        ([np.array([BIG]), [0.5]], "float64 does not hold"),
        ([np.int64(BIG), 1j], "complex128 does not hold"),
    ],
)
def test_lists_whose_integers_lose_digits_are_refused(x: Any, text: str) -> None:
    with pytest.raises(DTypeError, match=rf"^WF114: .*{text}(.*\n)*  help: give it one type first: numpy\.array"):
        wf.sum(x)


def test_tables_whose_integers_lose_digits_are_refused() -> None:
    pd = table("pandas")
    for x in (pd.DataFrame({"a": [BIG], "b": [0.5]}), pd.DataFrame({"a": np.uint64([1]), "b": [-1]})):
        with pytest.raises(DTypeError, match=r"WF114: .* (does not hold the integers|its integers fit no type)"):
            wf.sum(x)
    assert wf.sum(pd.DataFrame({"a": [2**53], "b": [0.5]})) == 2.0**53


def test_lists_that_keep_their_numbers_are_read() -> None:
    for x in (
        [1, 0.5],
        [2**53, 0.5],
        [2**60, 0.5],
        [[1, 2], [0.5, True]],
        [np.float32(1), 2],
        [1, 2j],
        [],
        [[]],
        [0.5],
    ):
        assert wf.sum(x) == np.asarray(x).sum()
    assert wf.sum([2**62, BIG]) == 2**62 + BIG
    assert wf.sum(np.array([2**63, 1], np.uint64)) == 2**63 + 1


@pytest.mark.parametrize("odd", [None, Decimal(1), Fraction(1, 2), "a", object()])
def test_members_that_are_not_numbers_are_named(odd: Any) -> None:
    kind = "str" if isinstance(odd, str) else type(odd).__name__
    with pytest.raises(DTypeError, match=rf"^WF105: no rule for elements of type {kind}"):
        wf.sum([1, odd])


def test_a_text_is_no_array() -> None:
    for call in (lambda: wf.sum("abc"), lambda: wf.reduce("abc", "sum")):
        with pytest.raises(DTypeError, match=r"^WF105: no rule for elements of type str \(as an array: <U3\)"):
            call()
    with pytest.raises(TraceError, match=r"^WF285: where is of type str: expected an array"):
        wf.sum([1.0], where="abc")


def test_masked_arrays_are_refused() -> None:
    class Masked:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.ma.array([1, 2], mask=[False, True])

    for x in (np.ma.array([1, 2]), [np.ma.array([1, 2], mask=[0, 1])], [[np.ma.masked], [1]], Masked()):
        with pytest.raises(DTypeError, match=r"^WF114: .* mask would be ignored"):
            wf.sum(x)


def test_long_lists_are_checked_quickly() -> None:
    from warpfold.runtime.arrays import lossless

    for x in ([0.5] * 10**6, [1] * 10**6):
        start = time.perf_counter()
        lossless.check(x)
        lossless.check_digits(x, np.zeros(1)) if x[0] == 0.5 else None
        assert time.perf_counter() - start < 0.5
