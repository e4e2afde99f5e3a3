"""warpfold's own reductions: the laws of their monoids, and their values against NumPy's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from graph_numpy import combine, identity, run
from hypothesis import given, settings
from hypothesis import strategies as st

from warpfold.compiler import library
from warpfold.compiler.dtypes import ALL, BF16, BOOL, F16, F32, F64, I8, I32, I64, U8, DType, dtype
from warpfold.compiler.graph import MonoidGraph
from warpfold.compiler.programs import program

SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, math.inf, -math.inf, math.nan]
INDEXED = ("argmin", "argmax")
EXACT = [
    (m, (t,)) for m in (library.MIN, library.MAX) for t in (F32, F64, I32, U8, I8, BOOL)
] + [(m, (t,)) for m in (library.SUM, library.PROD) for t in (I32, I64, U8, BOOL)] + [
    (m, (BOOL,)) for m in (library.ANY, library.ALL)
] + [(m, (t, I64)) for m in (library.ARGMIN, library.ARGMAX) for t in (F32, F64, I32, U8)]  # fmt: skip
CLOSE = [(library.SUM, (F64,)), (library.PROD, (F64,)), (library.WELFORD, (F64,) * 3), (library.LOGSUMEXP, (F64,) * 2)]


def values(t: DType) -> st.SearchStrategy[Any]:
    if t.is_float:
        return st.one_of(st.sampled_from(SPECIAL), st.floats(-100, 100, width=32))
    return st.integers(int(t.lowest), int(t.highest))


def state(m: Any, types: tuple[DType, ...]) -> st.SearchStrategy[tuple[Any, ...]]:
    if m is library.WELFORD:
        return st.tuples(st.integers(0, 9), st.floats(-9, 9), st.floats(0, 9)).map(
            lambda s: s if s[0] else (0, 0.0, 0.0)
        )
    if m is library.LOGSUMEXP:
        return st.one_of(st.just((-math.inf, 0.0)), st.tuples(st.floats(-30, 30), st.floats(1, 9)))
    if m in (library.SUM, library.PROD) and types[0].is_float:
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
@settings(max_examples=40)
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
def numpy_result(name: str, x: np.ndarray) -> Any:
    if name == "norm":
        return np.linalg.norm(x.astype(np.float64) if x.dtype.kind != "f" else x)
    if name == "logsumexp":
        wide = x.astype(np.float64)
        m = wide.max()
        return m + np.log(np.exp(wide - m).sum()) if np.isfinite(m) else m
    return getattr(np, name)(x)


def result(name: str, x: np.ndarray, t: DType, **options: Any) -> np.ndarray:
    (value,) = run(program(library.FUNCTIONS[name], (t,), name, **options), x)
    return np.asarray(value)


@pytest.mark.parametrize("name", sorted(library.FUNCTIONS))
@pytest.mark.parametrize("t", ALL, ids=str)
def test_every_reduction_of_every_type_is_numpys(name: str, t: DType) -> None:
    source = np.random.default_rng(len(name))
    for n in (1, 2, 3, 31, 33, 100):
        x = (source.integers(0, 5, n) if not t.is_float else source.normal(size=n)).astype(t.numpy)
        found = result(name, x, t)
        wide = x.astype(np.float64) if t.is_float else x
        with np.errstate(all="ignore"):
            expected = numpy_result(name, wide)
        if name in INDEXED or not np.issubdtype(np.asarray(expected).dtype, np.floating):
            assert found == expected
            assert found.dtype == np.asarray(expected).dtype
        else:
            tolerance = {"bf16": 2e-2, "f16": 2e-3, "f32": 2e-5}.get(t.name, 1e-12)
            assert np.allclose(found.astype(np.float64), expected, rtol=tolerance, atol=tolerance)
            assert found.dtype == (t.numpy if t.is_float else np.float64)


@pytest.mark.parametrize("name", ["min", "max", "argmin", "argmax", "any", "all", "sum", "logsumexp"])
@settings(max_examples=100)
@given(xs=st.lists(st.sampled_from(SPECIAL), min_size=1, max_size=12))
def test_nan_infinities_and_ties_are_numpys(name: str, xs: list[float]) -> None:
    x = np.array(xs)
    with np.errstate(all="ignore"):
        expected = numpy_result(name, x)
    found = result(name, x, F64)
    assert same((found,), (expected,), close=name == "logsumexp")


@pytest.mark.parametrize("t", [I8, U8, BOOL, I64], ids=str)
@pytest.mark.parametrize("name", INDEXED)
def test_an_element_equal_to_the_padding_is_still_found(name: str, t: DType) -> None:
    """All elements are the worst value there is: the first of them wins over the identity."""
    worst = t.highest if name == "argmin" else t.lowest
    assert result(name, np.full(5, worst, t.numpy), t) == 0
    assert result(name, np.full(5, worst, t.numpy), t, index_dtype=I32) == 0


@pytest.mark.parametrize("name", INDEXED)
def test_the_first_of_all_infinities_wins(name: str) -> None:
    worst = math.inf if name == "argmin" else -math.inf
    assert result(name, np.full(7, worst), F64) == 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [("sum", 0), ("prod", 1), ("any", False), ("all", True), ("mean", math.nan), ("var", math.nan), ("norm", 0.0),
     ("logsumexp", -math.inf)],
)  # fmt: skip
def test_nothing_reduces_to_the_identity(name: str, expected: float) -> None:
    assert np.array_equal(result(name, np.empty(0), F64), expected, equal_nan=True)
    graph = program(library.FUNCTIONS[name], (F64,)).reduces[0].value
    assert isinstance(graph, MonoidGraph)
    assert graph.has_identity


@pytest.mark.parametrize("name", ["min", "max", "argmin", "argmax"])
def test_an_extremum_of_nothing_has_only_padding(name: str) -> None:
    graph = program(library.FUNCTIONS[name], (F64,)).reduces[0].value
    assert isinstance(graph, MonoidGraph)
    assert not graph.has_identity


@settings(max_examples=100)
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=50), st.sampled_from([0, 1, 0.5, 2]))
def test_the_variance_with_a_correction(xs: list[float], correction: float) -> None:
    x = np.array(xs)
    found = result("var", x, F64, correction=correction)
    if len(x) - correction > 0:
        assert np.allclose(found, np.var(x, ddof=correction), rtol=1e-9, atol=1e-6)  # type: ignore[call-overload]
    else:
        assert np.isnan(found)


@pytest.mark.parametrize("t", [F32, F64, BF16], ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_the_variance_of_great_equal_values_is_zero(t: DType, n: int) -> None:
    """Welford's square of the mean itself would overflow where a state meets an empty one."""
    great = 1e30 if t != F64 else 1e300
    assert result("var", np.full(n, great).astype(t.numpy), t) == 0


def test_the_sum_of_exponentials_does_not_overflow() -> None:
    assert np.isclose(result("logsumexp", np.array([1000.0, 1000.0]), F64), 1000 + math.log(2))
    assert result("logsumexp", np.array([-math.inf, -math.inf]), F64) == -math.inf
    assert result("logsumexp", np.array([-math.inf, 3.0]), F64) == 3.0


@pytest.mark.parametrize("asked", ["f32", "f64", "i64", "u8", "bool", "f16"])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var"])
def test_a_result_has_the_dtype_that_was_asked_for(name: str, asked: str) -> None:
    x = np.array([1, 2, 3, 3], np.int32)
    found = result(name, x, I32, dtype=asked)
    assert found.dtype == dtype(asked).numpy
    exact = {"sum": 9, "prod": 18, "mean": 2.25, "var": 0.6875}[name]
    if asked == "bool":
        assert found == True  # noqa: E712 (a NumPy bool)
    else:
        assert np.isclose(float(found), exact if asked.startswith("f") else math.trunc(exact), rtol=1e-3)


def test_sums_widen() -> None:
    assert result("sum", np.full(300, 100, np.int8), I8) == 30_000
    assert result("sum", np.full(300, True), BOOL) == 300
    ones = np.ones(4096, np.float16)
    assert result("sum", ones, F16) == 4096
    assert result("mean", np.full(100, 60_000, np.float16), F16) == 60_000
