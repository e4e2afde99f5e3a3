"""The expansions of functions by the passes, run in the emulator and compared with NumPy in a wider format, in ulps.

An ulp is the distance between neighbouring numbers of the format at the exact result, rounded to the format; for
subnormal results it is the least subnormal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from covering import some
from kernel_harness import Memory, compile_text, get, launch, put, run_text

from warpfold.compiler.program.function_table import TABLE

THREADS = 256
WIDER = {"f32": np.float64, "f64": np.longdouble}
DTYPE = {"f32": np.float32, "f64": np.float64}
BITS = {"f32": (np.uint32, np.int32), "f64": (np.uint64, np.int64)}

LIMIT = {row.name: row.ulps for row in TABLE if row.ulps and len(row.operands) == 1}
"""Ulps by which each may be off, as the table of functions promises."""
CASES = [(name, t) for name in LIMIT for t in DTYPE]


def _erf(x: Any) -> Any:
    """In f64 only, which is half an ulp off."""
    return np.array([math.erf(v) for v in x], x.dtype)


REFERENCE: dict[str, Callable[..., Any]] = {"erf": _erf, "rsqrt": lambda x: 1 / np.sqrt(x), "asin": np.arcsin,
                                            "acos": np.arccos, "atan": np.arctan}  # fmt: skip


@cache
def compiled(name: str, t: str) -> Any:
    """A kernel with out[i] = f(in[i], at[i]) and two elements a thread, so that vectors are covered."""
    operands = "%x, %y" if name in ("math.powf", "math.atan2", "arith.remf", "arith.divf") else "%x"
    operands += " fastmath<arcp>" if name == "arith.divf" else ""
    loads = "".join(
        f"""
          %from_{x} = llvm.getelementptr %{array}[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<2x{t}>
          %{x} = llvm.load %from_{x} : !llvm.ptr<1> -> vector<2x{t}>"""
        for x, array in (("x", "first"), ("y", "second"))
    )
    return compile_text(f"""
      gpu.module @device {{
        gpu.func @kernel(%first: !llvm.ptr<1>, %second: !llvm.ptr<1>, %out: !llvm.ptr<1>)
            kernel attributes {{known_block_size = array<i32: {THREADS}, 1, 1>}} {{
          %tid = gpu.thread_id x
          %bid = gpu.block_id x
          %dim = gpu.block_dim x
          %before = arith.muli %bid, %dim : index
          %i = arith.addi %before, %tid : index
          %at = arith.index_cast %i : index to i32 {loads}
          %z = {name} {operands} : vector<2x{t}>
          %to = llvm.getelementptr %out[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<2x{t}>
          llvm.store %z, %to : vector<2x{t}>, !llvm.ptr<1>
          gpu.return
        }}
      }}""")


def evaluate(name: str, t: str, x: Any, y: Any = ()) -> Any:
    x = np.asarray(x, DTYPE[t])
    padding = (0, -len(x) % (2 * THREADS))
    first = np.pad(x, padding, constant_values=1)
    second = np.pad(np.asarray(y, DTYPE[t]), (0, len(first) - len(y)), constant_values=1)
    grid = (len(first) // (2 * THREADS), 1, 1)
    (z,) = run_text(compiled(name, t), "kernel", [first, second], [np.zeros_like(first)], grid, THREADS)
    return z[: len(x)]


def error_in_ulps(name: str, t: str, x: Any) -> Any:
    """The distance of results from the exact ones; infinite where only one of them is finite."""
    x = np.asarray(x, DTYPE[t])
    with np.errstate(all="ignore"):
        exact = REFERENCE.get(name, getattr(np, name, None))(x.astype(WIDER[t]))
    return distance(evaluate("math." + name, t, x), exact, t)


def distance(found: Any, exact: Any, t: str) -> Any:
    """The distance of results from exact ones in a wider type."""
    with np.errstate(all="ignore"):
        nearest = exact.astype(DTYPE[t])
        finite = np.isfinite(nearest)
        np.testing.assert_array_equal(found[~finite], nearest[~finite])
        assert np.isfinite(found[finite]).all()
        zero = exact == 0
        np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(nearest[zero]))
        ulp = np.spacing(np.abs(nearest[finite]))
        return np.abs(found[finite].astype(WIDER[t]) - exact[finite]) / ulp


def needs_longdouble(t: str) -> None:
    if t == "f64" and np.finfo(np.longdouble).nmant <= np.finfo(np.float64).nmant:
        pytest.skip("this machine's longdouble is no wider than f64")


RANGES = {
    ("exp", "f32"): [(-104.5, 89.5), (-104, -87), (-1, 1), (-1e-3, 1e-3), (88, 89), (-1e30, 1e30)],
    ("exp", "f64"): [(-746, 710), (-745.5, -708), (-1, 1), (-1e-9, 1e-9), (709, 710), (-1e300, 1e300)],
    ("exp2", "f32"): [(-151, 129), (-150, -125), (-1, 1), (127, 128.5)],
    ("exp2", "f64"): [(-1076, 1025), (-1075, -1021), (-1, 1), (1023, 1024.5)],
    ("expm1", "f32"): [(-20, 89.5), (-1, 1), (-1e-3, 1e-3), (88, 89), (0.3, 0.4)],
    ("expm1", "f64"): [(-50, 710), (-1, 1), (-1e-9, 1e-9), (709, 710), (0.3, 0.4)],
    ("log", "f32"): [(0, 10), (0.5, 2), (0.999, 1.001), (1e-30, 1e-20), (1e30, 3e38)],
    ("log", "f64"): [(0, 10), (0.5, 2), (0.999999, 1.000001), (1e-300, 1e-200), (1e300, 1.7e308)],
    ("log1p", "f32"): [(-1, 10), (-0.5, 1), (-0.001, 0.001), (-1, -0.999), (1e30, 3e38)],
    ("log1p", "f64"): [(-1, 10), (-0.5, 1), (-1e-6, 1e-6), (-1, -0.999999), (1e300, 1.7e308)],
    ("sin", "f32"): [(-4, 4), (-1e-3, 1e-3), (-1e5, 1e5), (5e5, 5.5e5), (-1e10, 1e10), (1e38, 3e38)],
    ("sin", "f64"): [(-4, 4), (-1e-9, 1e-9), (-(2.0**30), 2.0**30), (2.7e14, 2.9e14), (-1e20, 1e20), (1e307, 1.7e308)],
    ("tanh", "f32"): [(-10, 10), (-1, 1), (0.5, 0.6), (-1e-3, 1e-3)],
    ("erf", "f32"): [(-4.1, 4.1), (-1, 1), (0.85, 0.95), (-1e-3, 1e-3)],
    ("rsqrt", "f32"): [(0, 10), (1e-30, 1e-20)],
}
for copy, name in (("log2", "log"), ("log10", "log"), ("cos", "sin"), ("tan", "sin")):
    RANGES |= {(copy, t): RANGES[name, t] for t in DTYPE}
RANGES |= {(name, "f64"): [*RANGES[name, "f32"], (-22, 22)] for name in ("tanh", "erf")}
RANGES["rsqrt", "f64"] = RANGES["rsqrt", "f32"]
for t, tiny, top in (("f32", 1e-3, 90.0), ("f64", 1e-9, 711.0)):
    RANGES |= {(name, t): [(-1, 1), (0.99, 1), (-1, -0.99), (0.45, 0.55), (-tiny, tiny)] for name in ("asin", "acos")}
    RANGES |= {(name, t): [(-top, top), (-1.5, 1.5), (0.9, 1.1), (-tiny, tiny)] for name in ("sinh", "cosh")}
    RANGES["atan", t] = [(-5, 5), (0.4, 0.42), (2.4, 2.43), (0.99, 1.01), (-tiny, tiny), (-1e6, 1e6)]


@pytest.mark.parametrize(("name", "t"), CASES)
def test_random_values_are_within_the_limit(name: str, t: str) -> None:
    needs_longdouble(t)
    rng = np.random.default_rng(7)
    x = np.concatenate([rng.uniform(low, high, 4000) for low, high in RANGES[name, t]])
    assert error_in_ulps(name, t, x).max() <= LIMIT[name]


@pytest.mark.parametrize(("name", "t"), some(CASES, 13))
def test_every_magnitude_is_within_the_limit(name: str, t: str) -> None:
    """All exponents with both signs, including subnormals, and random fractions."""
    needs_longdouble(t)
    unsigned, _ = BITS[t]
    rng = np.random.default_rng(8)
    count = 1 << (16 if t == "f32" else 14)
    top = np.arange(count, dtype=unsigned) << unsigned(DTYPE[t]().itemsize * 8 - (16 if t == "f32" else 14))
    x = (top | rng.integers(0, 1 << (16 if t == "f32" else 40), count, unsigned)).view(DTYPE[t])
    assert error_in_ulps(name, t, x[~np.isnan(x)]).max() <= LIMIT[name]


@pytest.mark.parametrize("t", DTYPE)
def test_the_neighbours_of_every_turning_point(t: str) -> None:
    """Where results overflow or become subnormal, zero or one, and where one formula takes over from another."""
    needs_longdouble(t)
    info, wide = np.finfo(DTYPE[t]), WIDER[t]
    turns = [np.log(wide(v)) for v in (info.max, info.tiny, info.smallest_subnormal, 0.5)]
    turns += [np.log2(wide(v)) for v in (info.max, info.tiny, info.smallest_subnormal, 0.5)]
    turns += [info.smallest_subnormal, info.tiny, info.max, 1.0, np.sqrt(2), np.sqrt(0.5), 2.0, 0.5, 4.0, -1.0, 0.41421]
    turns += [np.pi / 4, np.pi / 2, np.pi, 2.0 ** (info.nmant - 4), 0.55, 0.9, 4.0, 6.0, 10.0, 20.0]
    _, signed = BITS[t]
    around = [np.array(v, DTYPE[t]).view(signed) + np.arange(-40, 41, dtype=signed) for v in turns]
    x = np.concatenate(around).view(DTYPE[t])
    x = np.concatenate([x, -x])[~np.isnan(np.concatenate([x, -x]))]
    for name, limit in LIMIT.items():
        assert error_in_ulps(name, t, x).max() <= limit, name


@pytest.mark.parametrize("t", DTYPE)
def test_the_angles_nearest_to_multiples_of_half_pi(t: str) -> None:
    """The angles whose reduction cancels most: J.-M. Muller, Elementary Functions, 3rd edition, section 11.3.2."""
    needs_longdouble(t)
    worst = {"f32": [16367173 * 2.0**72, 16367173 * 2.0**71], "f64": [6381956970095103 * 2.0**797]}[t]
    for name in ("sin", "cos", "tan"):
        assert error_in_ulps(name, t, [*worst, *(-v for v in worst)]).max() <= 1.0


INF, NAN = np.inf, np.nan
SPECIAL = {
    "exp": ([0.0, -0.0, INF, -INF, NAN, 1e5, -1e5], [1, 1, INF, 0, NAN, INF, 0]),
    "exp2": ([0.0, -0.0, INF, -INF, NAN, 10.0, -20.0], [1, 1, INF, 0, NAN, 1024, 2.0**-20]),
    "expm1": ([0.0, -0.0, INF, -INF, NAN, 1e5, -1e5], [0, -0.0, INF, -1, NAN, INF, -1]),
    "log": ([1.0, 0.0, -0.0, INF, -INF, NAN, -1.0, -1e-45], [0, -INF, -INF, INF, NAN, NAN, NAN, NAN]),
    "log2": ([1.0, 0.0, -0.0, INF, -INF, NAN, 8.0, 2.0**-120], [0, -INF, -INF, INF, NAN, NAN, 3, -120]),
    "log1p": ([0.0, -0.0, -1.0, INF, -INF, NAN, -2.0], [0, -0.0, -INF, INF, NAN, NAN, NAN]),
    "sin": ([0.0, -0.0, INF, -INF, NAN], [0, -0.0, NAN, NAN, NAN]),
    "cos": ([0.0, -0.0, INF, -INF, NAN], [1, 1, NAN, NAN, NAN]),
    "tanh": ([0.0, -0.0, INF, -INF, NAN, 50.0, -50.0], [0, -0.0, 1, -1, NAN, 1, -1]),
    "erf": ([0.0, -0.0, INF, -INF, NAN, 50.0, -50.0], [0, -0.0, 1, -1, NAN, 1, -1]),
    "log10": (
        [1.0, 0.0, -0.0, INF, -INF, NAN, -1.0, *(10.0**k for k in range(9))],
        [0, -INF, -INF, INF, NAN, NAN, NAN, *range(9)],
    ),
    "tan": ([0.0, -0.0, INF, -INF, NAN], [0, -0.0, NAN, NAN, NAN]),
    "asin": ([0.0, -0.0, 1.0, -1.0, 1.5, -INF, NAN], [0, -0.0, np.pi / 2, -np.pi / 2, NAN, NAN, NAN]),
    "acos": ([1.0, -1.0, 0.0, -0.0, 1.5, -INF, NAN], [0, np.pi, np.pi / 2, np.pi / 2, NAN, NAN, NAN]),
    "atan": ([0.0, -0.0, INF, -INF, NAN, 1.0, -1.0], [0, -0.0, np.pi / 2, -np.pi / 2, NAN, np.pi / 4, -np.pi / 4]),
    "sinh": ([0.0, -0.0, INF, -INF, NAN, 1e4, -1e4], [0, -0.0, INF, -INF, NAN, INF, -INF]),
    "cosh": ([0.0, -0.0, INF, -INF, NAN, 1e4, -1e4], [1, 1, INF, INF, NAN, INF, INF]),
    "roundeven": (
        [0.5, -0.5, 1.5, 2.5, -2.5, 0.0, -0.0, INF, -INF, NAN, -0.3, 8388609.0, 0.49999997],
        [0, -0.0, 2, 2, -2, 0, -0.0, INF, -INF, NAN, -0.0, 8388609.0, 0],
    ),
    "rsqrt": ([4.0, 0.0, -0.0, INF, -INF, NAN, -1.0], [0.5, INF, -INF, 0, NAN, NAN, NAN]),
}


@pytest.mark.parametrize("t", DTYPE)
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name: str, t: str) -> None:
    x, expected = (np.array(v, DTYPE[t]) for v in SPECIAL[name])
    if name == "log" and t == "f64":
        x[-1] = -np.finfo(np.float64).smallest_subnormal
    found = evaluate("math." + name, t, x)
    np.testing.assert_array_equal(found, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("t", DTYPE)
def test_arctan2(t: str) -> None:
    """Of every quadrant and of all magnitudes, of zeros and infinities with their signs."""
    needs_longdouble(t)
    unsigned, _ = BITS[t]
    rng = np.random.default_rng(11)
    any_bits = [rng.integers(0, np.iinfo(unsigned).max, 20000, unsigned, endpoint=True).view(DTYPE[t]) for _ in "yx"]
    near_one = [rng.uniform(-2, 2, 10000).astype(DTYPE[t]) for _ in "yx"]
    awkward = np.meshgrid([*AWKWARD, *(-v for v in AWKWARD), NAN], [*AWKWARD, *(-v for v in AWKWARD), NAN])
    y, x = (
        np.concatenate([a, b, c.reshape(-1).astype(DTYPE[t])])
        for a, b, c in zip(any_bits, near_one, awkward, strict=True)
    )
    with np.errstate(all="ignore"):
        exact = np.arctan2(y.astype(WIDER[t]), x.astype(WIDER[t]))
    assert distance(evaluate("math.atan2", t, y, x), exact, t).max() <= 1.0


# --- powers ---
AWKWARD = [0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 1e30, 1e-30, 2.0**24 + 2, 1e-45, 3e38, INF]


@pytest.mark.parametrize("t", DTYPE)
def test_powers_of_special_values(t: str) -> None:
    values = np.array([*AWKWARD, *(-v for v in AWKWARD), NAN], DTYPE[t])
    x, y = (a.reshape(-1) for a in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(WIDER[t]), y.astype(WIDER[t]))
    assert distance(evaluate("math.powf", t, x, y), exact, t).max() <= 1.0


@pytest.mark.parametrize("t", DTYPE)
@pytest.mark.parametrize("spread", [0.01, 0.5, 40.0])
def test_powers_are_within_one_ulp(spread: float, t: str) -> None:
    """Bases near one with large exponents, and any other."""
    needs_longdouble(t)
    rng = np.random.default_rng(9)
    low, high = {"f32": (-105, 90), "f64": (-746, 710)}[t]
    x = np.exp(rng.uniform(-spread, spread, 10000)).astype(DTYPE[t])
    with np.errstate(all="ignore"):
        y = (rng.uniform(low, high, 10000) / np.log(x.astype(np.float64))).astype(DTYPE[t])
        exact = np.power(x.astype(WIDER[t]), y.astype(WIDER[t]))
    assert distance(evaluate("math.powf", t, x, y), exact, t).max() <= 1.0


def test_powers_in_f64_are_exact_where_they_fit() -> None:
    """Whole powers of small numbers, and roots of squares, whose logarithm is not exact."""
    x, y = (a.reshape(-1).astype(np.float64) for a in np.meshgrid(np.arange(2, 40), np.arange(1, 10)))
    np.testing.assert_array_equal(evaluate("math.powf", "f64", x, y), x**y)
    roots = np.random.default_rng(2).integers(1, 1 << 26, 2000).astype(np.float64)
    np.testing.assert_array_equal(evaluate("math.powf", "f64", roots**2, np.full(2000, 0.5)), roots)
    np.testing.assert_allclose(evaluate("math.powf", "f64", np.full(9, 1 + 2.0**-52), 10.0 ** np.arange(9, 18)),
                               np.exp(np.log1p(2.0**-52) * 10.0 ** np.arange(9, 18)), rtol=1e-14)  # fmt: skip


# --- remainders ---
@pytest.mark.parametrize("t", DTYPE)
def test_remainders_are_exact(t: str) -> None:
    unsigned, _ = BITS[t]
    rng = np.random.default_rng(10)
    x, y = (rng.integers(0, np.iinfo(unsigned).max, 8000, unsigned, endpoint=True).view(DTYPE[t]) for _ in range(2))
    values = np.array([*AWKWARD, *(-v for v in AWKWARD), NAN], DTYPE[t])
    a, b = (v.reshape(-1) for v in np.meshgrid(values, values))
    x, y = np.concatenate([x, a]), np.concatenate([y, b])
    with np.errstate(all="ignore"):
        expected = np.fmod(x, y)
    found = evaluate("arith.remf", t, x, y)
    np.testing.assert_array_equal(found, expected)
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))


MEANS = f"""
      gpu.module @device {{
        gpu.func @kernel(%from: !llvm.ptr<1>, %to: !llvm.ptr<1>, %n: i32)
            kernel attributes {{known_block_size = array<i32: {THREADS}, 1, 1>}} {{
          %tid = gpu.thread_id x
          %at = arith.index_cast %tid : index to i32
          %where = llvm.getelementptr %from[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<2xf32>
          %x = llvm.load %where : !llvm.ptr<1> -> vector<2xf32>
          %count = arith.sitofp %n : i32 to f32
          %both = vector.broadcast %count : f32 to vector<2xf32>
          %mean = arith.divf %x, %both : vector<2xf32>
          %y = arith.mulf %x, %x : vector<2xf32>
          %second = arith.divf %y, %both : vector<2xf32>
          llvm.store %mean, %where : vector<2xf32>, !llvm.ptr<1>
          %there = llvm.getelementptr %to[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<2xf32>
          llvm.store %second, %there : vector<2xf32>, !llvm.ptr<1>
          gpu.return
        }}
      }}"""


def test_quotients_by_a_count_are_rounded_as_a_division_rounds_them() -> None:
    rng, module = np.random.default_rng(3), compile_text(MEANS)
    ends = [0.0, -0.0, np.inf, -np.inf, np.nan, 3e38, -3e38, 2e-38, 1e-30]
    for n in (1, 3, 7, 10, 1000, 4097, 1234567, (1 << 21) - 1, *rng.integers(1, 1 << 21, 24)):
        x = np.ldexp(rng.standard_normal(2 * THREADS).astype(np.float32), rng.integers(-60, 60, dtype=np.int32))
        x[: len(ends)] = ends
        memory = Memory()
        at = [put(memory, a) for a in (x, x)]
        launch(module, "kernel", (1, 1, 1), (THREADS, 1, 1), [*at, int(n)], memory)
        with np.errstate(all="ignore"):
            for where, dividend in zip(at, (x, x * x), strict=True):
                exact, found = dividend / np.float32(n), get(memory, where, x.shape, x.dtype)
                normal = ~(np.abs(exact) < 2.0**-126) | (dividend == 0)
                np.testing.assert_array_equal(found[normal], exact[normal])
                np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(dividend[found == 0]))


def test_quotients_of_no_elements_are_those_of_zero() -> None:
    memory, module = Memory(), compile_text(MEANS)
    at = [put(memory, np.tile(np.array([0.0, 1.0], np.float32), THREADS)) for _ in range(2)]
    launch(module, "kernel", (1, 1, 1), (THREADS, 1, 1), [*at, 0], memory)
    np.testing.assert_array_equal(get(memory, at[0], (2,), np.float32), [np.nan, np.inf])


@pytest.mark.parametrize("t", DTYPE)
def test_quotients_of_counts_are_rounded_as_a_division(t: str) -> None:
    rng, digits = np.random.default_rng(6), {"f32": 24, "f64": 53}[t]
    small = np.arange(1, 65)
    whole = np.exp2(rng.uniform(0, digits, 20_000)).astype(np.int64)
    part = (rng.random(whole.size) * whole).astype(np.int64)
    near = whole - rng.integers(0, 2, whole.size)
    part = np.concatenate([np.tile(small, small.size), part, near, np.ones_like(whole)]).astype(DTYPE[t])
    whole = np.concatenate([np.repeat(small, small.size), whole, whole, whole]).astype(DTYPE[t])
    for scale in (1.0, 2.0 ** (64 - digits)):
        np.testing.assert_array_equal(evaluate("arith.divf", t, part, whole * scale), part / (whole * scale))
