"""docs/types.md says what is so: the page is what tracing gives, and every cell of it runs and is NumPy's."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import types_page
from covering import some
from numpys import COMPLETE, answer

import warpfold as wf
from warpfold.compiler.dtypes import DType
from warpfold.compiler.errors import WarpfoldError

DIGITS = {"f16": 2e-3, "bf16": 2e-2, "f32": 1e-6, "f64": 1e-14, "c64": 1e-6, "c128": 1e-14}
CELLS = [(name, t) for name in COMPLETE for t in types_page.TYPES]
NOT_NUMPYS = {"dot", "vecdot", "logsumexp", "minmax", "mean_var", "describe", "norm"}
"""Functions that NumPy has not under this name."""


def test_the_page_is_what_the_compiler_says() -> None:
    assert types_page.PAGE.read_text(encoding="utf-8") == types_page.page(), "run python tests/types_page.py"


def elements(t: DType) -> np.ndarray[Any, Any]:
    """A few numbers that every type holds, one of them zero, the greatest twice."""
    return np.array([1, 0, 3, 2, 3]).astype(bool if t.kind == "bool" else np.int64).astype(t.numpy)


def wide(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """``x`` in a type that NumPy computes with exactly."""
    return x.astype(np.float64) if x.dtype.kind not in "biuc" else x


def reference(name: str, x: np.ndarray[Any, Any]) -> Any:
    """NumPy's answer: a value, or one for each field."""
    found = answer(name)(*[x] * types_page.arrays_of(name))
    return tuple(found.values()) if isinstance(found, dict) else found


@pytest.mark.parametrize(("name", "t"), some(CELLS, 68), ids=str)
def test_every_cell_runs_and_is_numpys(name: str, t: DType) -> None:
    """The types are those of the page; a cell without types is refused with its code."""
    arrays, said = [elements(t)] * types_page.arrays_of(name), types_page.traced(name, t)
    if isinstance(said, WarpfoldError):
        with pytest.raises(WarpfoldError, match=said.code):
            getattr(wf, name)(*arrays, device="emulator")
        return
    found = getattr(wf, name)(*arrays, device="emulator")
    found = found if isinstance(found, tuple) else (found,)
    expected = reference(name, wide(arrays[0]))
    for got, want, result in zip(found, expected if len(found) > 1 else (expected,), said.results, strict=True):
        assert got.dtype == result.numpy
        digits = DIGITS.get(result.name, 0)
        np.testing.assert_allclose(wide(got), np.asarray(want).astype(wide(got).dtype), rtol=digits)


@pytest.mark.parametrize("name", sorted(set(COMPLETE) - NOT_NUMPYS))
def test_result_types_are_numpys(name: str) -> None:
    """Where both have one; bf16 and the 8-bit floats are not NumPy's own."""
    for t in types_page.TYPES:
        said = types_page.traced(name, t)
        if isinstance(said, WarpfoldError) or t.name.startswith(("bf", "f8")):
            continue
        expected = np.asarray(reference(name, elements(t))).dtype
        assert said.results[0].numpy == expected, t


def test_pairs_have_numpys_type() -> None:
    types = [t for t in types_page.TYPES if not t.name.startswith(("bf", "f8"))]
    for a in types:
        for b in types:
            assert types_page.promoted(a, b).numpy == np.result_type(a.numpy, b.numpy), (a, b)


def test_an_8_bit_float_is_read_as_f32() -> None:
    for kind in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
        t = wf.dtype(np.dtype(kind))
        assert types_page.promoted(t, t) == wf.dtype("f32")
