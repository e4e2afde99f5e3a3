"""exp and log as the passes expand them: run in the emulator, compared with NumPy in a wider format, in ulps.

An ulp is the distance between neighbouring numbers of the format at the exact result, as rounded to the format; for
subnormal results it is the least subnormal.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from kernel_harness import compile_text, run_text

THREADS = 256
WIDER = {"f32": np.float64, "f64": np.longdouble}
DTYPE = {"f32": np.float32, "f64": np.float64}
BITS = {"f32": (np.uint32, np.int32), "f64": (np.uint64, np.int64)}


@cache
def compiled() -> Any:
    """One kernel for every function and type: out[i] = f(in[i]), two elements a thread, so that vectors are covered."""
    kernels = [
        f"""
        gpu.func @{name}_{t}(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>)
            kernel attributes {{known_block_size = array<i32: {THREADS}, 1, 1>}} {{
          %tid = gpu.thread_id x
          %bid = gpu.block_id x
          %dim = gpu.block_dim x
          %before = arith.muli %bid, %dim : index
          %i = arith.addi %before, %tid : index
          %at = arith.index_cast %i : index to i32
          %from = llvm.getelementptr %in[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<2x{t}>
          %x = llvm.load %from : !llvm.ptr<1> -> vector<2x{t}>
          %y = math.{name} %x : vector<2x{t}>
          %to = llvm.getelementptr %out[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<2x{t}>
          llvm.store %y, %to : vector<2x{t}>, !llvm.ptr<1>
          gpu.return
        }}"""
        for name in ("exp", "log")
        for t in ("f32", "f64")
    ]
    return compile_text("gpu.module @device {" + "".join(kernels) + "}")


def evaluate(name: str, t: str, x: Any) -> Any:
    x = np.asarray(x, DTYPE[t])
    padded = np.pad(x, (0, -len(x) % (2 * THREADS)), constant_values=1)
    grid = (len(padded) // (2 * THREADS), 1, 1)
    (y,) = run_text(compiled(), f"{name}_{t}", [padded], [np.zeros_like(padded)], grid, THREADS)
    return y[: len(x)]


def error_in_ulps(name: str, t: str, x: Any) -> Any:
    """How far the results are from the exact ones; infinite where one is finite and the other is not."""
    x = np.asarray(x, DTYPE[t])
    found = evaluate(name, t, x)
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(x.astype(WIDER[t]))
        nearest = exact.astype(DTYPE[t])
        finite = np.isfinite(nearest)
        np.testing.assert_array_equal(found[~finite], nearest[~finite])
        assert np.isfinite(found[finite]).all()
        ulp = np.spacing(np.abs(nearest[finite]))
        return np.abs(found[finite].astype(WIDER[t]) - exact[finite]) / ulp


def needs_longdouble(t: str) -> None:
    if t == "f64" and np.finfo(np.longdouble).nmant <= np.finfo(np.float64).nmant:
        pytest.skip("this machine's longdouble is no wider than f64")


RANGES = {
    ("exp", "f32"): [(-104.5, 89.5), (-104, -87), (-1, 1), (-1e-3, 1e-3), (88, 89), (-1e30, 1e30)],
    ("exp", "f64"): [(-746, 710), (-745.5, -708), (-1, 1), (-1e-9, 1e-9), (709, 710), (-1e300, 1e300)],
    ("log", "f32"): [(0, 10), (0.5, 2), (0.999, 1.001), (1e-30, 1e-20), (1e30, 3e38)],
    ("log", "f64"): [(0, 10), (0.5, 2), (0.999999, 1.000001), (1e-300, 1e-200), (1e300, 1.7e308)],
}


@pytest.mark.parametrize(("name", "t"), RANGES)
def test_random_values_are_within_one_ulp(name: str, t: str) -> None:
    needs_longdouble(t)
    rng = np.random.default_rng(7)
    x = np.concatenate([rng.uniform(low, high, 4000) for low, high in RANGES[name, t]])
    assert error_in_ulps(name, t, x).max() <= 1.0


@pytest.mark.parametrize(("name", "t"), RANGES)
def test_every_magnitude_is_within_one_ulp(name: str, t: str) -> None:
    """Random bits: all exponents, subnormals and both signs."""
    needs_longdouble(t)
    unsigned, _ = BITS[t]
    rng = np.random.default_rng(8)
    x = rng.integers(0, np.iinfo(unsigned).max, 20000, unsigned, endpoint=True).view(DTYPE[t])
    assert error_in_ulps(name, t, x[~np.isnan(x)]).max() <= 1.0


@pytest.mark.parametrize("t", ["f32", "f64"])
def test_the_neighbours_of_every_turning_point(t: str) -> None:
    """Where exp overflows, becomes subnormal and becomes zero; where log changes its exponent; around one and zero."""
    needs_longdouble(t)
    info = np.finfo(DTYPE[t])
    turns = [np.log(WIDER[t](v)) for v in (info.max, info.tiny, info.smallest_subnormal, 0.5)]
    turns += [info.smallest_subnormal, info.tiny, info.max, 1.0, np.sqrt(2), np.sqrt(0.5), 2.0, 0.5, 4.0]
    _, signed = BITS[t]
    around = [np.array(v, DTYPE[t]).view(signed) + np.arange(-40, 41, dtype=signed) for v in turns]
    x = np.concatenate(around).view(DTYPE[t])
    x = x[~np.isnan(x)]
    for name in ("exp", "log"):
        assert error_in_ulps(name, t, x).max() <= 1.0, name


@pytest.mark.parametrize("t", ["f32", "f64"])
def test_special_values(t: str) -> None:
    inf, nan = np.inf, np.nan
    np.testing.assert_array_equal(
        evaluate("exp", t, [0.0, -0.0, inf, -inf, nan, 1e5, -1e5]), [1, 1, inf, 0, nan, inf, 0]
    )
    logs = evaluate("log", t, [1.0, 0.0, -0.0, inf, -inf, nan, -1.0, -np.finfo(DTYPE[t]).smallest_subnormal])
    np.testing.assert_array_equal(logs, [0, -inf, -inf, inf, nan, nan, nan, nan])
    assert not np.signbit(evaluate("exp", t, [-inf, -1e5])).any()
    assert not np.signbit(logs[0])
