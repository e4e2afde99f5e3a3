"""Reductions of Dask's arrays by threads, processes and workers of a cluster, from files, and where a worker dies."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpfold as wf

da = pytest.importorskip("dask.array", reason="Dask is not installed")
distributed = pytest.importorskip("distributed", "2024", reason="Dask's distributed is not installed")

HOW = {"device": "emulator"}
X = np.random.default_rng(0).standard_normal((40, 30)).astype(np.float32)


def lethal(block: Any, mark: str) -> Any:
    """The block; the first worker that is asked for it dies."""
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return block
    os.kill(os.getpid(), signal.SIGKILL)
    return None


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_schedulers_give_the_same_bits(scheduler: str) -> None:
    found = wf.sum(da.from_array(X, chunks=(10, 30)), **HOW)
    wanted = found.compute(scheduler="synchronous")
    assert found.compute(scheduler=scheduler, num_workers=2 if scheduler == "threads" else 1) == wanted


def test_a_worker_that_dies_changes_no_bits(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    mark = tmp_path / "died"
    x = da.from_array(np.load(tmp_path / "x.npy", mmap_mode="r"), chunks=(10, 30))
    mortal = x.map_blocks(lethal, str(mark), dtype=X.dtype, meta=X[:0])
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = wf.sum(mortal, **HOW).compute(scheduler=client)
    assert mark.exists()
    assert found == wf.sum(x, **HOW).compute(scheduler="synchronous")
