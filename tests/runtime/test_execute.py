"""Where a reduction runs: the choice of the backend, and what it refuses."""

from __future__ import annotations

import pytest

from warpfold.compiler.dtypes import F32
from warpfold.compiler.errors import WarpfoldError
from warpfold.runtime.backend import Device, View
from warpfold.runtime.execute import backend_for

HOST = View(4096, (8,), (1,), F32, Device("cpu"))
ON_GPU = View(4096, (8,), (1,), F32, Device("cuda", 1))


def test_the_emulator_takes_host_arrays() -> None:
    assert backend_for([HOST], "emulator").name == "emulator"


def test_the_emulator_cannot_reach_the_memory_of_a_gpu() -> None:
    with pytest.raises(WarpfoldError, match="WF122: the array lies on cuda:1, which the emulator backend cannot reach"):
        backend_for([ON_GPU], "emulator")
