"""Every mistake of a call, for every function, ends in its code before anything is computed or written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpys import COMPLETE

import warpfold as wf
from warpfold.compiler.errors import WarpfoldError

TWO = ("dot", "vecdot", "allclose", "array_equal")
SINGLE = [n for n in COMPLETE if n not in ("minmax", "mean_var", "describe")]
WITHOUT_IDENTITY = ("min", "max", "minmax", "ptp", "argmin", "argmax", "nanmin", "nanmax", "nanargmin", "nanargmax",
                    "describe")  # fmt: skip
UNORDERED = ("min", "max", "minmax", "ptp", "argmin", "argmax", "var", "std", "mean_var", "logsumexp", "nanmin",
             "nanmax", "nanargmin", "nanargmax", "describe")  # fmt: skip
INITIAL = ("sum", "prod", "min", "max", "nansum", "nanprod", "nanmin", "nanmax")
ACCUMULATE = ("sum", "prod", "mean", "var", "std", "mean_var", "norm", "nansum", "nanprod", "nanmean", "dot", "vecdot")


def call(name: str, x: Any, **how: Any) -> Any:
    """The public function on one array, or on it and itself."""
    function: Callable[..., Any] = getattr(wf, name)
    return function(x, x, **how) if name in TWO else function(x, **how)


def array(name: str, kind: Any = np.float32) -> np.ndarray:
    return np.ones(4 if name == "dot" else (3, 4), kind)


def fails(code: str, name: str, x: Any, **how: Any) -> None:
    with pytest.raises(WarpfoldError, match=f"^{code}: ") as caught:
        call(name, x, **how)
    assert "help: " in str(caught.value)


@pytest.mark.parametrize("name", COMPLETE)
def test_axes(name: str) -> None:
    x = array(name)
    fails("WF101", name, x, axis=2)
    fails("WF101", name, x, axis=-3)
    fails("WF102", name, x, axis=(0, -x.ndim))
    fails("WF103", name, x, axis="0")
    fails("WF103", name, x, axis=1.0)
    fails("WF103", name, x, axis=True)


@pytest.mark.parametrize("name", COMPLETE)
def test_elements_without_a_rule(name: str) -> None:
    for kind in (object, "S3", "U3", "M8[s]", np.longdouble):
        fails("WF105", name, np.zeros(array(name).shape, kind))
    fails("WF114", name, np.ma.masked_equal(array(name), 1))


@pytest.mark.parametrize("name", UNORDERED)
def test_complex_numbers_have_no_order(name: str) -> None:
    fails("WF225", name, array(name, np.complex64))


@pytest.mark.parametrize("name", WITHOUT_IDENTITY)
def test_extremes_of_no_elements(name: str) -> None:
    fails("WF104", name, np.empty((3, 0), np.float32), axis=1)
    assert call(name, np.empty((0, 3), np.float32), axis=1) is not None  # no result, no error


@pytest.mark.parametrize("name", SINGLE)
def test_out(name: str) -> None:
    x = array(name)
    made = np.asarray(call(name, x, axis=0))
    kept = made.copy()
    other = np.int8 if made.dtype != np.int8 else np.int16
    fails("WF108", name, x, axis=0, out=np.empty((7, 7), made.dtype))
    fails("WF109", name, x, axis=0, out=np.empty(made.shape, other))
    fails("WF125", name, x, axis=0, out=[made, made])
    made.flags.writeable = False
    fails("WF113", name, x, axis=0, out=made)
    np.testing.assert_array_equal(made, kept)


@pytest.mark.parametrize("name", COMPLETE)
def test_invalid_option_values(name: str) -> None:
    x = array(name)
    fails("WF121", name, x, device="tpu")
    fails("WF127", name, x, axes=0)
    fails("WF131", name, x, plan=3)
    fails("WF138", name, x, nan="skip")
    fails("WF138", name, x, determinism="always")
    fails("WF402", name, x, plan="wraps=2")
    fails("WF403", name, x, plan="unroll=3")
    fails("WF404", name, x, plan="warps=32,warps_kept=2")


@pytest.mark.parametrize("name", COMPLETE)
def test_masks(name: str) -> None:
    x = array(name)
    fails("WF139", name, x, where=np.ones(x.shape))
    fails("WF139", name, x, where=np.ones((2, *x.shape), bool))
    fails("WF139", name, x, where=np.ones(5, bool))
    if name in WITHOUT_IDENTITY:
        fails("WF133", name, x, where=np.ones(x.shape, bool))


@pytest.mark.parametrize("name", COMPLETE)
def test_parameters(name: str) -> None:
    x = array(name)
    if name not in INITIAL:
        fails("WF127", name, x, initial=1)
    else:
        for bad in ("1", 1j, (1, 2)):
            fails("WF136", name, x, initial=bad)
        fails("WF136", name, array(name, np.int8), initial=1e30)
        fails("WF128", name, x, initial=[1])
    if name not in ACCUMULATE:
        fails("WF127", name, x, accumulate="f64")
    else:
        fails("WF153", name, x, accumulate="f31")
        fails("WF152", name, x, accumulate="i64")
        fails("WF152", name, x, accumulate="bool")
        fails("WF152", name, x, accumulate="c64")


@pytest.mark.parametrize("name", ["prod", "var", "std", "mean_var", "nanprod"])
def test_functions_without_compensation(name: str) -> None:
    fails("WF137", name, array(name), accumulate="compensated")


@pytest.mark.parametrize(("name", "parameter", "bad"), [
    ("var", "correction", "1"), ("std", "correction", "1"), ("norm", "ord", "2"), ("norm", "ord", True),
    ("allclose", "rtol", "0"), ("array_equal", "equal_nan", 1),
])  # fmt: skip
def test_a_parameter_has_the_type_of_its_default(name: str, parameter: str, bad: Any) -> None:
    fails("WF148", name, array(name), **{parameter: bad})


@pytest.mark.parametrize("name", TWO)
def test_two_arrays_that_do_not_broadcast(name: str) -> None:
    x, y = np.ones((3, 4)), np.ones((3, 5))
    if name == "array_equal":
        assert not wf.array_equal(x, y)
        return
    with pytest.raises(WarpfoldError, match="^WF150: " if name == "dot" else "^WF126: the inputs do not broadcast"):
        getattr(wf, name)(x, y)


@pytest.mark.parametrize("name", COMPLETE)
def test_nan_is_reported_where_asked(name: str) -> None:
    x = array(name)
    x.reshape(-1)[-1] = np.nan
    with pytest.raises(WarpfoldError, match=r"^WF135: the input of \w+ holds NaN"):
        call(name, x, nan="raise")


def test_a_finish_takes_the_values_of_the_state() -> None:
    @wf.monoid(identity=(0.0, 0.0), lift=lambda x: (x, x * x), finish=lambda total: total)
    def sums(a: Any, b: Any) -> Any:
        return a[0] + b[0], a[1] + b[1]

    with pytest.raises(WarpfoldError, match=r"WF226: the finish of sums takes 1 value\(s\): expected 2") as caught:
        wf.reduce(np.ones(3), sums)
    assert "test_mistakes.py" in str(caught.value)
    with pytest.raises(WarpfoldError, match="WF152: elements of type f32 cannot be added up in i64"):
        wf.sum(np.ones(3, np.float32), accumulate="i64")


@pytest.mark.parametrize(("finish", "code"), [(lambda s: [s, 3.0], "WF212"), (lambda s: {"class": s}, "WF224")])
def test_the_values_of_a_finish_are_refused_at_its_line(finish: Any, code: str) -> None:
    m = wf.monoid(identity=0.0, finish=finish)(lambda a, b: a + b)
    with pytest.raises(WarpfoldError, match=code) as caught:
        wf.reduce(np.ones(3), m)
    assert caught.value.location is not None
    assert caught.value.location.file == __file__
