"""The built-in reductions: the laws of their monoids, and their values against NumPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from covering import covering
from graph_numpy import call, combine, identity, results
from hypothesis import given, settings
from hypothesis import strategies as st
from numpys import COMPLETE, answer

import warpfold as wf
from warpfold.compiler.dtypes import ALL, BF16, BOOL, C64, C128, F32, F64, I8, I32, I64, U8, DType, dtype
from warpfold.compiler.errors import ArgumentError, TraceError
from warpfold.compiler.program.graph import MonoidGraph
from warpfold.compiler.program.library import monoids, reductions
from warpfold.compiler.program.tracing import program, trace

SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, math.inf, -math.inf, math.nan]
INDEXED = ("argmin", "argmax")
EXACT = [
    (m, (t,)) for m in (monoids.MIN, monoids.MAX) for t in (F32, F64, I32, U8, I8, BOOL)
] + [(m, (t,)) for m in (monoids.SUM, monoids.PROD) for t in (I32, I64, U8, BOOL)] + [
    (m, (BOOL,)) for m in (monoids.ANY, monoids.ALL)
] + [(m, (t, I64)) for m in (monoids.ARGMIN, monoids.ARGMAX) for t in (F32, F64, I32, U8)]  # fmt: skip
CLOSE = [(monoids.SUM, (F64,)), (monoids.PROD, (F64,)), (monoids.WELFORD, (F64,) * 3), (monoids.LOGSUMEXP, (F64,) * 2)]


def values(t: DType) -> st.SearchStrategy[Any]:
    if t.is_float:
        return st.one_of(st.sampled_from(SPECIAL), st.floats(-100, 100, width=32))
    return st.integers(int(t.lowest), int(t.highest))


def state(m: Any, types: tuple[DType, ...]) -> st.SearchStrategy[tuple[Any, ...]]:
    if m is monoids.WELFORD:
        return st.tuples(st.integers(0, 9), st.floats(-9, 9), st.floats(0, 9)).map(
            lambda s: s if s[0] else (0, 0.0, 0.0)
        )
    if m is monoids.LOGSUMEXP:
        return st.one_of(st.just((-math.inf, 0.0)), st.tuples(st.floats(-30, 30), st.floats(1, 9)))
    if m in (monoids.SUM, monoids.PROD) and types[0].is_float:
        return st.tuples(st.floats(-3, 3))
    if len(types) == 2:
        return st.tuples(values(types[0]), st.integers(0, 6))
    return st.tuples(*(values(t) for t in types))


def same(a: tuple[Any, ...], b: tuple[Any, ...], *, close: bool) -> bool:
    if close:
        return all(np.allclose(x, y, rtol=1e-9, atol=1e-9, equal_nan=True) for x, y in zip(a, b, strict=True))
    return all(np.array_equal(x, y, equal_nan=True) for x, y in zip(a, b, strict=True))


def typed(types: tuple[DType, ...], s: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(np.asarray(v).astype(t.numpy) for v, t in zip(s, types, strict=True))


@pytest.mark.parametrize(("m", "types"), EXACT + CLOSE, ids=lambda v: getattr(v, "name", None) or ",".join(map(str, v)))
@settings(max_examples=16)
@given(data=st.data())
def test_the_laws_of_a_monoid(m: Any, types: tuple[DType, ...], data: st.DataObject) -> None:
    graph = m.typed(*types)
    close = (m, types) in CLOSE
    a, b, c = (typed(types, data.draw(state(m, types))) for _ in range(3))
    neutral = identity(graph)
    assert same(combine(graph, neutral, a), a, close=close)
    assert same(combine(graph, a, neutral), a, close=close)
    assert same(combine(graph, combine(graph, a, b), c), combine(graph, a, combine(graph, b, c)), close=close)
    if graph.commutative:
        assert same(combine(graph, a, b), combine(graph, b, a), close=close)


# --- values ---


def wide(x: np.ndarray) -> np.ndarray:
    """``x`` in the precision in which references compute."""
    t = dtype(x.dtype)
    return x.astype(np.float64) if t.is_float else x.astype(np.complex128) if t.kind == "complex" else x


TWO = ("dot", "vecdot", "allclose", "array_equal")
UNORDERED = (
    "min", "max", "minmax", "ptp", "argmin", "argmax", "nanmin", "nanmax", "nanargmin", "nanargmax", "logsumexp", "var",
    "std", "mean_var", "describe",
)  # fmt: skip


def fields(name: str, found: Any) -> dict[str, Any]:
    """The results by name; a single one under the name of the function."""
    if hasattr(found, "_asdict"):
        found = found._asdict()
    return found if isinstance(found, dict) else {name: found}


def elements(t: DType, n: int, source: np.random.Generator, *, nan: bool) -> np.ndarray:
    """Elements small enough for products, with some NaN on request."""
    if t.is_integer or t == BOOL:
        return source.integers(0, 2 if t == BOOL else 5, n).astype(t.numpy)
    x = source.normal(size=n) + (1j * source.normal(size=n) if t.kind == "complex" else 0)
    if nan and n > 1:
        x[:: max(n // 3, 1)] = np.nan
        x[1] = 2
    return x.astype(t.numpy)


def check(name: str, t: DType, found: Any, expected: Any) -> None:
    """Equal where nothing rounds, else close for the type. Types are NumPy's, except that floats keep theirs."""
    found, expected = np.asarray(found), np.asarray(expected)
    if expected.dtype.kind in "fc" and not t.is_integer and t != BOOL:
        tolerance = {"bf16": 2e-2, "f16": 2e-3, "f32": 2e-5, "c64": 2e-5}.get(t.name, 1e-12)
        kind = np.complex128 if found.dtype.kind == "c" else np.float64
        assert np.allclose(found.astype(kind), expected, rtol=tolerance, atol=tolerance, equal_nan=True), name
        assert found.dtype == (t if found.dtype.kind == "c" or t.is_float else t.part).numpy, name
    else:
        assert np.allclose(found, expected, rtol=1e-12, atol=1e-12), name
        assert found.dtype == expected.dtype, name


def compare(name: str, t: DType) -> None:
    source = np.random.default_rng(len(name))
    for n in (1, 2, 33):
        arrays = [elements(t, n, source, nan=name.startswith("nan")) for _ in range(2 if name in TWO else 1)]
        if name in ("allclose", "array_equal") and n == 2:
            arrays[1] = arrays[0]
        with np.errstate(all="ignore"):
            expected = fields(name, answer(name)(*(wide(a) for a in arrays)))
        found = fields(name, call(reductions.FUNCTIONS[name], *arrays))
        assert list(found) == list(expected)
        for key, value in found.items():
            check(key, t, value, expected[key])


def result(name: str, x: Any, **params: Any) -> np.ndarray:
    return np.asarray(call(reductions.FUNCTIONS[name], x, **params))


@covering(("name", sorted(COMPLETE)), ("t", ALL, str))
def test_every_reduction_of_every_type_is_numpys(name: str, t: DType) -> None:
    if name == "ptp" and t == BOOL:
        with pytest.raises(TraceError, match="WF206: operator - is not defined for bool"):
            program(reductions.ptp, (t,))
        return
    compare(name, t)


@pytest.mark.parametrize("name", sorted(COMPLETE))
@pytest.mark.parametrize("t", [C64, C128], ids=str)
def test_every_reduction_of_complex_numbers_is_numpys_or_refused(name: str, t: DType) -> None:
    if name in UNORDERED:
        with pytest.raises(TraceError, match=rf"WF225: {t.name} has no (order|{name})\n"):
            program(reductions.FUNCTIONS[name], (t,))
        return
    compare(name, t)


@pytest.mark.parametrize("name", ["min", "max", "argmin", "argmax", "any", "all", "sum", "logsumexp"])
@settings(max_examples=40)
@given(xs=st.lists(st.sampled_from(SPECIAL), min_size=1, max_size=12))
def test_nan_infinities_and_ties_are_numpys(name: str, xs: list[float]) -> None:
    x = np.array(xs)
    with np.errstate(all="ignore"):
        expected = answer(name)(x)
    found = result(name, x)
    assert same((found,), (expected,), close=name == "logsumexp")


@pytest.mark.parametrize("t", [I8, U8, BOOL, I64], ids=str)
@pytest.mark.parametrize("name", INDEXED)
def test_an_element_equal_to_the_padding_is_still_found(name: str, t: DType) -> None:
    """All elements have the worst value: the first of them wins over the identity."""
    worst = t.highest if name == "argmin" else t.lowest
    assert result(name, np.full(5, worst, t.numpy)) == 0


@pytest.mark.parametrize("name", INDEXED)
def test_the_first_of_all_infinities_wins(name: str) -> None:
    worst = math.inf if name == "argmin" else -math.inf
    assert result(name, np.full(7, worst)) == 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [("sum", 0), ("prod", 1), ("any", False), ("all", True), ("mean", math.nan), ("var", math.nan), ("norm", 0.0),
     ("logsumexp", -math.inf)],
)  # fmt: skip
def test_no_elements_reduce_to_the_identity(name: str, expected: float) -> None:
    assert np.array_equal(result(name, np.empty(0)), expected, equal_nan=True)
    graph = program(reductions.FUNCTIONS[name], (F64,)).reduces[0].value
    assert isinstance(graph, MonoidGraph)
    assert graph.has_identity


@pytest.mark.parametrize("name", ["min", "max", "argmin", "argmax"])
def test_an_extremum_of_no_elements_is_padding(name: str) -> None:
    graph = program(reductions.FUNCTIONS[name], (F64,)).reduces[0].value
    assert isinstance(graph, MonoidGraph)
    assert not graph.has_identity


@settings(max_examples=100)
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=50), st.sampled_from([0, 1, 0.5, 2]))
def test_the_variance_with_a_correction(xs: list[float], correction: float) -> None:
    x = np.array(xs)
    found = result("var", x, correction=correction)
    if len(x) - correction > 0:
        assert np.allclose(found, np.var(x, ddof=correction), rtol=1e-9, atol=1e-6)  # type: ignore[call-overload]
    else:
        assert np.isnan(found)


@pytest.mark.parametrize("t", [F32, F64, BF16], ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_the_variance_of_great_equal_values_is_zero(t: DType, n: int) -> None:
    """The square of the mean would overflow where Welford's combine meets an empty state."""
    great = 1e30 if t != F64 else 1e300
    assert result("var", np.full(n, great).astype(t.numpy)) == 0


def test_the_sum_of_exponentials_does_not_overflow() -> None:
    assert np.isclose(result("logsumexp", np.array([1000.0, 1000.0])), 1000 + math.log(2))
    assert result("logsumexp", np.array([-math.inf, -math.inf])) == -math.inf
    assert result("logsumexp", np.array([-math.inf, 3.0])) == 3.0


@pytest.mark.parametrize("asked", ["f32", "f64", "i64", "u8", "bool", "f16"])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var"])
def test_a_result_has_the_requested_dtype(name: str, asked: str) -> None:
    x = np.array([1, 2, 3, 3], np.int32)
    found = result(name, x, dtype=asked)
    assert found.dtype == dtype(asked).numpy
    exact = {"sum": 9, "prod": 18, "mean": 2.25, "var": 0.6875}[name]
    if asked == "bool":
        assert found == True  # noqa: E712 (a NumPy bool)
    else:
        assert np.isclose(float(found), exact if asked.startswith("f") else math.trunc(exact), rtol=1e-3)


def test_sums_widen() -> None:
    assert result("sum", np.full(300, 100, np.int8)) == 30_000
    assert result("sum", np.full(300, True)) == 300
    ones = np.ones(4096, np.float16)
    assert result("sum", ones) == 4096
    assert result("mean", np.full(100, 60_000, np.float16)) == 60_000


# --- options of the functions ---
ILL = np.array([1e8, 1.0, -1e8, 1.0] * 500, np.float32)
"""A sum of 1000 that f32 loses wholly: 1e8 + 1 is 1e8."""


def test_a_compensated_sum_is_nearly_one_in_float64() -> None:
    source = np.random.default_rng(5)
    x = np.concatenate([source.normal(size=4000) * 1e7, source.normal(size=4000)]).astype(np.float32)
    x = source.permutation(np.concatenate([x, -x[:4000]]))
    exact = math.fsum(float(v) for v in x)
    plain, better = (abs(float(result("sum", x, accumulate=a)) - exact) for a in (None, "compensated"))
    assert better <= 1e-6 * abs(exact)
    assert plain > 100 * better
    assert result("sum", ILL, accumulate="compensated") == 1000
    assert result("sum", ILL, accumulate="f64") == 1000
    assert result("sum", ILL, accumulate="compensated", initial=3.5) == 1003.5
    assert result("mean", ILL, accumulate="compensated") == 0.5
    assert result("norm", ILL - 1e8, ord=1, accumulate="compensated") == np.float32(np.abs(np.float64(ILL - 1e8)).sum())


def test_a_compensated_product_keeps_the_errors_of_its_factors() -> None:
    x, y = np.array([4097, 1, 4097], np.float32), np.array([4097, 1, -4096], np.float32)
    assert result("norm", np.full(3, 1 + 2**-12, np.float32), accumulate="compensated") == np.float32(
        math.sqrt(3) * (1 + 2**-12)
    )
    assert call(reductions.dot, x, y) == 4096, "the square of 4097 has 25 bits, and so has what it is added to"
    assert call(reductions.dot, x, y, accumulate="compensated") == 4098
    z = (x + 1j * y).astype(np.complex64)
    assert call(reductions.vecdot, z[:2], z[:2], accumulate="f64").dtype == np.complex64


def test_a_compensated_sum_of_complex_numbers_has_two_sums_and_one_beginning() -> None:
    z = (ILL + 1j * ILL[::-1]).astype(np.complex64)
    assert result("sum", z, accumulate="compensated") == 1000 + 1000j
    assert result("sum", z, accumulate="compensated", initial=1 - 2j) == 1001 + 998j
    assert result("mean", z, accumulate="f64") == 0.5 + 0.5j


@pytest.mark.parametrize("special", [[math.inf], [-math.inf], [math.inf, -math.inf], [math.nan], [3e38, 3e38, -3e38]])
def test_infinite_and_nan_sums_stay_right_with_compensation(special: list[float]) -> None:
    x = np.array([1.0, *special, 2.0], np.float32)
    with np.errstate(all="ignore"):
        plain = result("sum", x)
    assert np.array_equal(result("sum", x, accumulate="compensated"), plain, equal_nan=True)


@pytest.mark.parametrize("name", ["prod", "var", "std", "mean_var"])
def test_only_sums_have_compensation(name: str) -> None:
    with pytest.raises(ArgumentError, match=f"WF137: {name} has no compensated form"):
        program(reductions.FUNCTIONS[name], (F32,), accumulate="compensated")


@pytest.mark.parametrize("ord", [0, 1, 2, 3, 0.5, 1.5, -1, -2.5, math.inf, -math.inf])
@pytest.mark.parametrize("t", ["f32", "f64", "i32", "c64", "c128"])
def test_norms_of_every_order_are_numpys(ord: float, t: str) -> None:
    x = np.array([3, -4, 1, 2, 7], dtype(t).numpy)
    if t.startswith("c"):
        x = x * (1 + 2j)
    found = result("norm", x.astype(dtype(t).numpy), ord=float(ord))
    expected = np.linalg.norm(x.astype(np.complex128 if t.startswith("c") else np.float64), ord)
    assert np.isclose(found, expected, rtol=1e-5 if t in ("f32", "c64") else 1e-12)
    assert found.dtype == np.dtype({"f32": "f4", "c64": "f4"}.get(t, "f8"))
    assert result("norm", x.astype(dtype(t).numpy), ord=float(ord), accumulate="f64").dtype == found.dtype


def test_a_norm_of_zeros_and_of_no_elements() -> None:
    assert result("norm", np.zeros(3), ord=0.0) == 0
    assert result("norm", np.array([0.0, math.nan, 2.0]), ord=0.0) == 2
    assert result("norm", np.zeros(0), ord=3.0) == 0


@pytest.mark.parametrize(("equal_nan", "expected"), [(False, False), (True, True)])
def test_nan_equals_nan_when_asked(equal_nan: bool, expected: bool) -> None:
    x = np.array([1.0, math.nan, math.inf])
    for name in ("allclose", "array_equal"):
        assert call(reductions.FUNCTIONS[name], x, x, equal_nan=equal_nan) == expected
        assert call(reductions.FUNCTIONS[name], x * (1 + 1j), x * (1 + 1j), equal_nan=True)


@settings(max_examples=200)
@given(st.tuples(st.sampled_from([*SPECIAL, 1.000001, 1.1]), st.sampled_from([*SPECIAL, 1.000001, 1.1])), st.booleans())
def test_allclose_is_numpys(pair: tuple[float, float], equal_nan: bool) -> None:
    x, y = ([p] for p in pair)
    for options in ({}, {"rtol": 0.2}, {"atol": 0.2, "rtol": 0.0}, {"rtol": 0.0, "atol": 0.0}):
        with np.errstate(all="ignore"):
            expected = np.allclose(x, y, **options, equal_nan=equal_nan)
        assert call(reductions.allclose, x, y, **options, equal_nan=equal_nan) == expected


def test_numbers_of_two_types_promote_as_in_numpy() -> None:
    x, y = np.array([1, 2, 3], np.int8), np.array([0.5, 2, 3], np.float32)
    assert call(reductions.dot, x, y).dtype == np.float32
    assert call(reductions.dot, x, x.astype(np.uint8)).dtype == np.int16
    assert call(reductions.vecdot, y + 1j * y, x).dtype == np.complex64
    assert call(reductions.vecdot, y + 1j * y, x) == np.vdot(y + 1j * y, x)
    assert call(reductions.dot, np.full(3, 100, np.int8), np.full(3, 2, np.int8)) == np.int8(600 - 512)


# --- NaN ---
@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "mean", "argmin", "argmax"])
def test_the_nan_functions_are_the_others_with_nan_ignored(name: str) -> None:
    x = np.array([math.nan, 3, 1, math.nan, 2])
    own, told = reductions.FUNCTIONS[f"nan{name}"], reductions.FUNCTIONS[name]
    assert own.__name__ == f"nan{name}"
    assert call(own, x) == call(told, x, nan="ignore") == getattr(np, f"nan{name}")(x)
    assert trace(own, (I32,), {}).program.digest == program(told, (I32,)).digest, "integers hold no NaN"


def test_sums_of_only_nan_are_empty_and_extrema_are_nan() -> None:
    x = np.full(4, math.nan, np.float32)
    assert result("nansum", x) == 0
    assert result("nanprod", x) == 1
    for name in ("nanmin", "nanmax", "nanmean"):
        assert np.isnan(result(name, x))
    assert result("nanmin", x, initial=7.0) == 7
    assert result("nanmax", np.array([math.nan, -math.inf])) == -math.inf


def test_the_place_of_an_extreme_of_only_nan_is_an_error() -> None:
    found = trace(reductions.nanargmax, (F32,), {})
    assert found.checks == ("WF134",)
    assert found.program.outputs[1].dtype == BOOL
    for x, failed in (([math.nan, math.nan], True), ([math.nan, 1.0], False)):
        assert results(found, np.array(x, np.float32))[1] == (failed,)


# --- initial values ---
@pytest.mark.parametrize(
    ("name", "initial", "expected"),
    [("sum", 10, 16), ("prod", 10, 60), ("min", 0, 0), ("min", 5, 1), ("max", 2, 3), ("max", 9, 9)],
)
@pytest.mark.parametrize("t", [I8, F32, F64, BF16], ids=str)
def test_a_reduction_begins_at_its_initial_value(name: str, initial: int, expected: int, t: DType) -> None:
    x = np.array([1, 2, 3], t.numpy)
    assert result(name, x, initial=initial) == expected
    assert result(name, x[:0], initial=initial) == initial, "and of nothing is that"
    assert result(name, x, initial=initial).dtype == result(name, x).dtype


@pytest.mark.parametrize(
    ("t", "initial", "expected"),
    [(I8, 300, "a value of type i8"), (I8, 1.5, "a value of type i8"), (U8, -1, "a value of type u8"),
     (F32, 1j, "a value of type f32"), (F32, "1", "a value of type f32"), (F32, (1, 2), r"1 value\(s\)"),
     (I64, 10**400, "a value of type i64"), (I64, math.nan, "a value of type i64")],
)  # fmt: skip
def test_an_initial_value_has_the_type_of_the_state(t: DType, initial: Any, expected: str) -> None:
    with pytest.raises(ArgumentError, match=rf"WF136: initial=.* does not fit MAX: expected {expected}"):
        program(reductions.max, (t,), initial=initial)


@covering(
    ("name", ["f16", "f32", "f64", "i8", "u8", "i32", "u32", "i64", "bool"]),
    (("shape", "axis"), [((5003,), 0), ((33, 277), 1), ((277, 33), 0), ((5, 30, 7), 1)]),
)
def test_the_places_of_the_extremes(name: str, shape: tuple[int, ...], axis: int) -> None:
    """Ties, zeros of both signs, infinities and NaN of both signs included: the first of equals, NaN before any."""
    rng = np.random.default_rng(5)
    t = dtype(name).numpy
    few = rng.integers(0, 2, shape).astype(t)  # ties
    arrays = [few]
    if t.kind == "f":
        zeros = np.where(rng.random(shape) < 0.5, t.type(0.0), t.type(-0.0))
        infinite = np.where(rng.random(shape) < 0.5, t.type(np.inf), t.type(-np.inf))
        nan = rng.standard_normal(shape).astype(t)
        nan.flat[rng.integers(0, nan.size, 5)] = np.nan
        nan.flat[rng.integers(0, nan.size, 5)] = -t.type(np.nan)
        arrays += [zeros, infinite, np.full(shape, -np.inf, t), nan]
    elif t.kind in "iu":
        arrays += [np.full(shape, np.iinfo(t).min, t), np.full(shape, np.iinfo(t).max, t)]
        arrays.append(rng.integers(np.iinfo(t).min, np.iinfo(t).max, shape, t, endpoint=True))
    for x in arrays:
        np.testing.assert_array_equal(wf.argmax(x, axis=axis), np.argmax(x, axis=axis))
        np.testing.assert_array_equal(wf.argmin(x, axis=axis), np.argmin(x, axis=axis))
