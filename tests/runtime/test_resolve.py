"""Names of reductions, and the parameters of a call."""

# ruff: noqa: N802 - monoids are values, though functions make them

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.dtypes import F32, F64, I32
from warpfold.compiler.program.library import reductions
from warpfold.compiler.program.tracing import trace
from warpfold.runtime.programs.reductions import Kind, program_of
from warpfold.runtime.resolve import function_of, given, label, params_of


def scaled(x: Any, *, factor: float = 1.0) -> Any:
    return x * factor


@wf.monoid(identity=0, lift=scaled, finish=lambda s, *, shift=0, name: {name: s + shift})
def SHIFTED(a: Any, b: Any) -> Any:
    return a + b


def call(what: Any, *types: Any, **params: Any) -> Any:
    function = function_of(what)
    return trace(function, types, given(function, params_of(what, params), len(types)))


# --- what ---
def test_names_and_warpfolds_own_monoids_are_library_functions() -> None:
    assert function_of("var") is reductions.var
    for m, function in reductions.OF_MONOID.items():
        assert function_of(m) is function
    assert [label(w) for w in ("sum", wf.SUM, scaled, ("sum", wf.MAX))] == ["sum", "SUM", "scaled", "sum_MAX"]


def test_a_monoid_without_lift_is_a_function_of_its_state() -> None:
    found = call(SHIFTED, F32, name="total", shift=2)
    assert found.structure == ("SHIFTED", ("total",), (0,))
    pair = wf.monoid(identity=(1, 0))(lambda a, b: (a[0] * b[0], a[1] + b[1]))
    assert call(pair, wf.dtype("int8"), wf.dtype("float16")).results == (wf.dtype("i64"), F32)
    with pytest.raises(wf.WarpfoldError, match="WF210"):
        call(pair, F32)


def test_a_missing_parameter_is_located_where_a_user_wrote_it() -> None:
    place = re.escape(__file__)
    with pytest.raises(wf.WarpfoldError, match=rf"WF151: SHIFTED needs the parameter 'name'\n  at {place}:\d+: "):
        call(SHIFTED, F32)
    with pytest.raises(wf.WarpfoldError, match=r"WF151: SHIFTED_SUM needs the parameter 'name'\n  help: "):
        call((SHIFTED, wf.SUM), F32)


def test_the_signature_of_a_monoid_shows_its_parameters() -> None:
    found = inspect.signature(function_of(SHIFTED))
    assert str(found) == "(x: 'Any', /, *, factor=1.0, shift=0, name, initial=None)"
    assert str(inspect.signature(function_of(("sum", "var")))).startswith("(x: 'Any', /, *, dtype=None, initial=None")


def test_each_of_several_takes_its_own_parameters() -> None:
    found = call(("sum", ("var", wf.ARGMAX), "minmax"), F32, correction=1, dtype="f64")
    assert found.results[:3] == (F64, F64, wf.dtype("i64"))
    assert found.structure == (
        "sum_var_ARGMAX_minmax",
        (),
        (0, found.structure[2][1], ("minmax", ("min", "max"), (3, 4))),
    )  # type: ignore[index]
    assert len(found.program.reduces) == 1
    alone = call("var", F32, correction=1, dtype="f64")
    assert alone.program.outputs[0].dtype == found.program.outputs[1].dtype


@pytest.mark.parametrize(
    ("what", "types", "text"),
    [
        ("sums", 1, "WF120: no reduction is called 'sums'"),
        (("sum", "sums"), 1, "WF120: no reduction is called 'sums'"),
        ((), 1, "WF130: cannot reduce with an empty tuple"), (("sum", 3), 1, "WF130: cannot reduce with a int"),
        (int, 1, "WF130: cannot reduce with a type"), (None, 1, "WF130: cannot reduce with a NoneType"),
        ("sum", 2, r"WF124: sum takes 1 input array\(s\), got 2"),
        ("dot", 1, r"WF124: dot takes 2 input array\(s\), got 1"),
        (("sum", "dot"), 1, r"WF124: dot takes 2 input array\(s\), got 1"),
        (("dot", "sum"), 2, r"WF124: sum takes 1 input array\(s\), got 2"),
        (SHIFTED, 2, r"WF124: SHIFTED takes 1 input array\(s\), got 2"),
    ],
)  # fmt: skip
def test_objects_that_cannot_reduce_are_refused(what: Any, types: int, text: str) -> None:
    with pytest.raises(wf.WarpfoldError, match=text):
        call(what, *[F32] * types, **({"name": "x"} if what is SHIFTED else {}))


@pytest.mark.parametrize("what", [["sum"], ("sum", ["max"]), (("sum", {"a": 1}),)])
def test_unhashable_parameters_are_refused(what: Any) -> None:
    with pytest.raises(wf.WarpfoldError, match=f"WF130: cannot reduce with a {type(what).__name__}"):
        program_of(what, 0, {}, [Kind(F32, (3,))])


# --- parameters ---
def test_defaults_are_those_of_the_functions() -> None:
    function = function_of(SHIFTED)
    assert given(function, params_of(SHIFTED, {"name": "a"}), 1) == {"name": "a"}
    assert call(SHIFTED, F32, name="a").program.digest == call(SHIFTED, F32, name="a", shift=0).program.digest
    assert call(SHIFTED, F32, name="a").program.digest != call(SHIFTED, F32, name="a", shift=1).program.digest


@pytest.mark.parametrize(
    ("parameter", "value", "expected"),
    [("correction", 1, 1.0), ("correction", np.int64(1), 1.0), ("correction", 0.5, 0.5),
     ("correction", np.float32(0.5), 0.5), ("dtype", "float32", F32), ("dtype", np.dtype("f4"), F32),
     ("dtype", np.float32, F32), ("accumulate", float, F64)],
)  # fmt: skip
def test_values_take_the_type_of_their_default(parameter: str, value: Any, expected: Any) -> None:
    found = given(reductions.var, params_of("var", {parameter: value}), 1)[parameter]
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("what", "params", "text"),
    [
        ("sum", {"correction": 1}, "WF127: sum takes no parameter 'correction': it takes dtype, initial"),
        ("any", {"initial": 1}, "WF127: any takes no parameter 'initial': it takes none"),
        ("var", {"correction": "1"}, "WF148: parameter 'correction' of var is '1': expected a float, as its"),
        ("var", {"correction": True}, "WF148: parameter 'correction' of var is True: expected a float"),
        ("var", {"correction": None}, "WF148: parameter 'correction' of var is None: expected a float"),
        ("var", {"correction": 10**400}, "WF148: parameter 'correction' of var is 1000"),
        ("norm", {"ord": "fro"}, "WF148: parameter 'ord' of norm is 'fro'"),
        (SHIFTED, {"name": "a", "shift": 1.0}, "WF148: parameter 'shift' of SHIFTED is 1.0: expected a int"),
        (SHIFTED, {"name": "a", "shift": True}, "WF148: parameter 'shift' of SHIFTED is True: expected a int"),
        (SHIFTED, {}, "WF151: SHIFTED needs the parameter 'name'"),
        (SHIFTED, {"name": "a", "by": 1}, "WF127: SHIFTED takes no parameter 'by': it takes factor, shift"),
        ("var", {"correction": [1]}, "WF128: parameter 'correction' of var is a list"),
        ("sum", {"initial": (1, [2])}, "WF128: parameter 'initial' of sum is a tuple"),
        ("sum", {"initial": np.zeros(2)}, "WF128: parameter 'initial' of sum is a ndarray"),
        ("sum", {"dtype": "compensated"}, "WF105: no rule for elements of type compensated"),
        ("sum", {"accumulate": "wide"}, "WF153: accumulate='wide' is no type to add up in: .* or 'compensated'"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_refused(what: Any, params: dict[str, Any], text: str) -> None:
    with pytest.raises(wf.WarpfoldError, match=text) as caught:
        call(what, F32, **params)
    assert "help: " in str(caught.value)


def test_equal_numbers_of_different_types_are_traced_separately() -> None:
    """1, 1.0, True and NumPy's ones are equal and hash alike; so are 0.0 and -0.0."""

    def plus(x: Any, *, by: Any) -> Any:
        return wf.fold(wf.MAX, x + by)

    def results(value: Any, t: Any) -> Any:
        return program_of(plus, 0, {"by": value}, [Kind(t, (3,))])

    types = [results(v, I32).results[0][1].name for v in (1, 1.0, True, np.int64(1), np.float32(1), 1)]
    assert types == ["i32", "f64", "i32", "i64", "f64", "i32"]
    assert results(0.0, F32).digest != results(-0.0, F32).digest
