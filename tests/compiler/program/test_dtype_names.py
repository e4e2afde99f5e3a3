"""Element types as arguments: NumPy's names and objects are accepted, and ambiguous names are refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.dtypes import ALL, STORED
from warpfold.compiler.dtypes import dtype as of_ir
from warpfold.compiler.program.dtype_names import dtype

SIZES = {"i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8, 16), "c": (8, 16)}
SHORT = [f"{kind}{n}" for kind, sizes in SIZES.items() for n in sizes]
X = np.full(3, 100, np.int16)


@pytest.mark.parametrize("name", SHORT)
def test_an_ambiguous_name_is_refused_with_both_readings(name: str) -> None:
    numpys = np.dtype(name)
    with pytest.raises(TypeError, match="WF160") as caught:
        dtype(name)
    text = str(caught.value)
    assert f"'{name}' has two readings: {name[1:]} bits" in text
    assert f"in NumPy {numpys.itemsize} bytes" in text
    help_ = text.rpartition("help: ")[2]
    written = re.findall(r"'(\w+)'", help_)
    assert written
    assert {dtype(w) for w in written} <= {*ALL, *STORED}
    assert numpys.name in written or name == "f16"


@pytest.mark.parametrize("t", [*ALL, *STORED], ids=str)
def test_full_names_and_objects_are_taken(t: Any) -> None:
    assert dtype(t) == dtype(t.numpy_name) == dtype(t.numpy) == dtype(t.numpy.type) == t
    if t.name not in SHORT:
        assert dtype(t.name) == t
    assert of_ir(t.name) == t


@pytest.mark.parametrize(
    "name",
    [
        "float",
        "double",
        "single",
        "half",
        "int",
        "intc",
        "uint",
        "short",
        "ubyte",
        "?",
        "d",
        "b1",
        "<f4",
        "=i8",
        "|u1",
        "<c8",
        "complex",
        "longlong",
        "bool_",
    ],
)
def test_numpys_other_names_have_numpys_meaning(name: str) -> None:
    assert dtype(name) == dtype(np.dtype(name))
    assert dtype(name).numpy == np.dtype(name)


def test_types_of_python_and_ml_dtypes() -> None:
    assert [dtype(t).name for t in (bool, int, float, complex)] == ["bool", "i64", "f64", "c128"]
    assert dtype(ml_dtypes.bfloat16).name == dtype("bfloat16").name == "bf16"


@pytest.mark.parametrize("name", ["i3", "f31", "float31", "i128", ">f4", "S4", "i4,i4", "object", "datetime64", ""])
def test_types_that_no_element_has_are_refused(name: str) -> None:
    with pytest.raises(TypeError, match="WF105"):
        dtype(name)


@pytest.mark.parametrize("use", [
    lambda t: wf.sum(X, dtype=t), lambda t: wf.sum(X, accumulate=t), lambda t: wf.compile("sum", (3,), t),
    lambda t: wf.compile("sum", (3,), dtype=t, axis=0), lambda t: wf.compile("dot", (3,), (np.int8, t)),
    lambda t: wf.check_monoid(wf.SUM, t), lambda t: wf.reduce(X, lambda x: wf.fold(wf.SUM, wf.cast(x, t))),
    lambda t: wf.reduce(X, lambda x: wf.fold(wf.SUM, x) / wf.count(t)), lambda t: wf.dtype(t),
    lambda t: wf.reduce(X, lambda x: wf.fold(wf.SUM, x + wf.index(t))),
    lambda t: wf.reduce(X, lambda x: wf.fold(wf.SUM, wf.bitcast(x, t))), lambda t: wf.nanmean(X, dtype=t),
    lambda t: wf.segment_reduce(X, [0, 3], "sum", dtype=t), lambda t: wf.reduce(X, (wf.SUM, "mean"), dtype=t),
])  # fmt: skip
@pytest.mark.parametrize("name", ["i8", "f8", "u4"])
def test_every_public_function_refuses_them_at_the_users_line(use: Callable[[str], Any], name: str) -> None:
    with pytest.raises(wf.WarpfoldError, match="WF160") as caught:
        use(name)
    assert caught.value.location is None or caught.value.location.file == __file__
    assert "lambda t" in str(caught.value)


def test_the_advice_of_the_message_works() -> None:
    assert wf.sum(X, dtype="int64", device="emulator") == 300
    assert wf.sum(X, dtype="int8", device="emulator") == np.int8(44)
