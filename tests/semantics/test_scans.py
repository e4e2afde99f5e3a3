"""docs/semantics.md: scans."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from meanings import F16, F32, INF, NAN, f32, f64, normal, on_emulator, refused

import warpfold as wf
from warpfold.runtime.backends.emulator_backend import emulator


def test_scans_of_reductions() -> None:
    scan, x = on_emulator("scan"), np.array([3, 1, 2])
    assert scan(x, wf.SUM).tolist() == [3, 4, 6]
    assert scan(x, "sum", exclusive=True).tolist() == [0, 3, 4]
    assert scan(x, "min", reverse=True).tolist() == [1, 1, 2]
    with pytest.raises(wf.WarpfoldError, match=r"WF294: .*as mean and var do: each of its results has another number"):
        scan(x, "mean")


def test_scans_keep_the_order() -> None:
    @wf.monoid(has_identity=False, commutative=False)
    def later(a: Any, b: Any) -> Any:  # noqa: ARG001 - the right one
        return b

    x = np.arange(300)
    assert np.array_equal(on_emulator("scan")(x, later, plan="warps=2,held=1"), x)


def test_exclusive_scans() -> None:
    assert on_emulator("scan")(np.array([5, 2]), wf.PROD, exclusive=True).tolist() == [1, 5]
    refused("WF293", "scan", f32(1, 2), wf.MAX, exclusive=True)


def test_types_of_cumulative_sums() -> None:
    total = on_emulator("cumulative_sum")
    for t, wide in ((np.int8, np.int64), (np.uint16, np.uint64), (bool, np.int64), (F16, F16), (F32, F32)):
        assert total(np.ones(3, t)).dtype == wide
    assert total(np.array([127, 1], np.int8), dtype="i8").tolist() == [127, -128]


def test_shapes_of_scans() -> None:
    refused("WF292", "cumulative_sum", normal(2, 3))
    assert on_emulator("cumulative_sum")(normal(2, 3, 4), axis=1).shape == (2, 3, 4)


def test_scans_that_begin_with_the_identity() -> None:
    found = on_emulator("cumulative_sum")(np.array([5, 2]), include_initial=True)
    assert found.tolist() == [0, 5, 7]
    assert on_emulator("scan")(np.array([5, 2]), wf.PROD, include_initial=True, reverse=True).tolist() == [10, 2, 1]
    refused("WF291", "scan", f32(1, 2), wf.SUM, include_initial=True, exclusive=True)


def test_extremes_so_far() -> None:
    x = f32(1, NAN, 3, -INF)
    for name, own in (("cummax", np.maximum), ("cummin", np.minimum)):
        np.testing.assert_array_equal(on_emulator(name)(x), own.accumulate(x))
    assert on_emulator("scan")(f32(1, 5, 2, 5), "argmax").tolist() == [0, 1, 1, 1]


def test_logarithms_of_sums_so_far() -> None:
    found = on_emulator("logcumsumexp")(f64(-INF, 1000, 1000))
    np.testing.assert_allclose(found, [-INF, 1000, 1000 + math.log(2)])


def test_empty_scans() -> None:
    assert on_emulator("cumulative_sum")(np.zeros((0, 4), F32), axis=0).shape == (0, 4)


def test_complex_scans() -> None:
    for name in ("cumulative_sum", "cumulative_prod"):
        refused("WF268", name, np.ones(3, np.complex64))


def test_scans_of_chunks() -> None:
    da = pytest.importorskip("dask.array", reason="Dask is not installed")
    x = f32(1e8, 1, 1, 1, 1, 1)
    for chunks, wanted in (((2, 4), f32(*[1e8] * 6)), ((1, 5), f32(*[1e8] * 5, 1e8 + 8))):
        cut = da.from_array(x, chunks=(chunks,))
        for scheduler in ("synchronous", "threads"):
            found = wf.cumulative_sum(cut, device="emulator").compute(scheduler=scheduler)
            assert found.tobytes() == wanted.tobytes()


def test_scans_under_any_schedule() -> None:
    x, found = normal(2, 900), []
    try:
        for seed in range(4):
            emulator().seed = seed
            found.append(on_emulator("cumulative_sum")(x, axis=1, plan="warps=1,held=1,vector=1"))
    finally:
        emulator().seed = None
    assert all(np.array_equal(f.view(np.uint32), found[0].view(np.uint32)) for f in found)
