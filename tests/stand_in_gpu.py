"""The emulator as a GPU; tests set the time of each plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from warpfold.compiler.plan.plan import Plan
from warpfold.runtime import tuned_plans
from warpfold.runtime.backends.emulator_backend import EmulatorBackend
from warpfold.runtime.programs.plans import forget
from warpfold.runtime.tuning.measure import Timing
from warpfold.runtime.tuning.trials import Trials
from warpfold.runtime.view import Device, View

Cost = Callable[[Plan], float]
"""Microseconds under a plan."""


class StandIn(EmulatorBackend):
    """The part of a CUDA backend that the autotuner uses, without its clock."""

    name, device_name, device = "cuda", "Stand-in GPU", Device("cpu")

    def get(self, view: View, _stream: int) -> np.ndarray[Any, Any]:
        """The elements of a contiguous view."""
        count = int(np.prod(view.shape, dtype=int))
        held = self.memory.view(view.address, count * view.dtype.itemsize)
        return np.frombuffer(bytes(held), view.dtype.numpy).reshape(view.shape)

    def put(self, view: View, a: np.ndarray[Any, Any], _stream: int) -> None:
        """Fills a contiguous view."""
        self.memory.view(view.address, a.nbytes)[:] = np.frombuffer(a.tobytes(), np.uint8)


@pytest.fixture(name="gpu")
def stand_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[Callable[[Cost], StandIn]]:
    """Puts a GPU in place whose plans take as long as the function says, and a cache of its own."""
    made = StandIn()
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("warpfold.runtime.backends.cuda_backend.find", lambda: [Device("cuda")])
    monkeypatch.setattr("warpfold.runtime.backends.cuda_backend.backend", lambda _=0: made)
    tuned_plans.machine.cache_clear()
    forget()

    def costing(cost: Cost) -> StandIn:
        monkeypatch.setattr(Trials, "time", lambda _, choice, runs: Timing(*[cost(choice.plan)] * 3, runs))
        return made

    yield costing
    tuned_plans.machine.cache_clear()
    forget()
