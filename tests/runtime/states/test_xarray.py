"""Reductions inside of xarray's own."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import warpfold as wf

xarray = pytest.importorskip("xarray", reason="xarray is not installed")

HOW = {"device": "emulator"}
X = np.random.default_rng(0).standard_normal((6, 8, 10)).astype(np.float32)
NAMED = xarray.DataArray(X, dims=["day", "lat", "lon"])


@pytest.mark.parametrize(("dim", "axis"), [(None, None), ("lat", 1), (["day", "lon"], (0, 2))])
def test_dims_of_arrays_in_memory_and_in_chunks(dim: Any, axis: Any) -> None:
    found = NAMED.reduce(wf.var, dim, correction=1, **HOW)
    np.testing.assert_allclose(found, X.var(axis, ddof=1), rtol=1e-5)
    assert found.dims == NAMED.var(dim).dims
    da = pytest.importorskip("dask.array", reason="Dask is not installed")
    lazy = NAMED.chunk(day=2, lat=4).reduce(wf.var, dim, correction=1, **HOW)
    assert isinstance(lazy.data, da.Array)
    np.testing.assert_allclose(lazy.compute(scheduler="synchronous"), found, rtol=1e-5)


def test_dims_that_are_kept_groups_and_datasets() -> None:
    assert NAMED.reduce(wf.sum, "lat", keepdims=True, **HOW).shape == (6, 1, 10)
    groups = NAMED.assign_coords(week=("day", [0, 0, 0, 1, 1, 1])).groupby("week").reduce(wf.max, "day", **HOW)
    np.testing.assert_array_equal(groups, X.reshape(2, 3, 8, 10).max(1))
    norm = partial(wf.reduce, what="norm", **HOW)
    both = xarray.Dataset({"u": NAMED, "v": 2 * NAMED}).reduce(norm, "lon")
    np.testing.assert_allclose(both["v"], 2 * np.linalg.norm(X, axis=2), rtol=1e-5)
