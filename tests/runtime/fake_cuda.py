"""A CUDA backend on the stand-in for the driver, and an artifact with one kernel for it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fake_driver import FakeDriver

from warpfold.compiler.driver.artifact import Artifact, CompiledKernel
from warpfold.compiler.dtypes import F32
from warpfold.compiler.plan.abi import Param
from warpfold.compiler.plan.facts import Facts
from warpfold.compiler.plan.plan import Plan
from warpfold.runtime.backends.cuda_backend import CudaBackend
from warpfold.runtime.backends.kernel_calls import Call

PARAMS = tuple(Param(role) for role in ("input", "output", "n_kept", "n_reduced", "partial", "reduced_stride"))
NARROW, WIDE = (8, 8, 4, 4, 8, 4), (8, 8, 8, 8, 8, 8)


def artifact(bits: int = 32, key: str = "key", cubins: dict[str, bytes] | None = None, ptx: str = "ptx") -> Artifact:
    kernel = CompiledKernel("k", "main", Plan(), Facts(1, 1, bits, ("strided",), False), PARAMS)
    facts: dict[str, Any] = {
        "name": "sum", "inputs": (F32,), "outputs": (F32,), "state": (F32,), "kernels": (kernel,), "arch": "sm_90a",
        "ptx": ptx, "source": "", "key": key, "provenance": {}, "cubins": cubins or {},
    }  # fmt: skip
    return Artifact(**facts)


def call(*args: int) -> Call:
    return Call("k", (3, 2, 1), (256, 1, 1), args)


@pytest.fixture
def driver() -> FakeDriver:
    return FakeDriver()


@pytest.fixture
def backend(driver: FakeDriver) -> CudaBackend:
    made = CudaBackend(driver=driver)
    driver.names()
    return made
