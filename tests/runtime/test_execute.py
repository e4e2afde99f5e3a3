"""Where a reduction runs: the choice of the backend, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warpfold as wf
from warpfold.compiler.dtypes import F32
from warpfold.compiler.errors import ArgumentError, WarpfoldError
from warpfold.runtime.backend import Device, View
from warpfold.runtime.execute import backend_for

HOST = View(4096, (8,), (1,), F32, Device("cpu"))
ON_GPU = View(4096, (8,), (1,), F32, Device("cuda", 1))


def test_the_emulator_takes_host_arrays() -> None:
    assert backend_for([HOST], "emulator").name == "emulator"


def test_the_emulator_cannot_reach_the_memory_of_a_gpu() -> None:
    with pytest.raises(WarpfoldError, match="WF122: the array lies on cuda:1, which the emulator backend cannot reach"):
        backend_for([ON_GPU], "emulator")


def test_results_do_not_share_memory() -> None:
    @wf.monoid(identity=lambda a, b: (a.highest, b.lowest), has_identity=False)
    def extremes(a: Any, b: Any) -> Any:
        return wf.minimum(a[0], b[0]), wf.maximum(a[1], b[1])

    x, out = np.arange(12.0).reshape(3, 4), np.zeros(6)
    with pytest.raises(ArgumentError, match=r"^WF132: out 1 shares memory with out 0"):
        wf.reduce(x, x, what=extremes, axis=1, out=(out[:3], out[2:5]), device="emulator")
    wf.reduce(x, x, what=extremes, axis=1, out=(out[:3], out[3:]), device="emulator")
    assert out.tolist() == [0, 4, 8, 3, 7, 11]
