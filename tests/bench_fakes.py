"""What the benchmark's tests measure with, in place of a GPU: NumPy arrays, the emulator, times out of a hat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from warpfold.commands.bench.cases import Case
from warpfold.commands.bench.inputs import drawn
from warpfold.commands.bench.peers import UnservedError
from warpfold.commands.bench.results import Entry, Results, Row
from warpfold.compiler.dtypes import DType
from warpfold.compiler.target import DEFAULT
from warpfold.runtime.tuning.measure import Ceilings, Timing

TOP = Ceilings(4000.0, 3900.0, 2.8, ((4096, 2.9), (1 << 20, 4.0), (1 << 30, (1 << 30) / 4000 / 1e3)))
MACHINE = {
    "gpu": "Fake GPU", "sms": 132, "arch": "sm_90a", "driver": "580.1", "cuda": "13.0", "python": "3.12",
    "warpfold": "1.0", "cuda-python": "13.0", "commit": "0123456789abcdef", "dirty": False,
    "date": "2026-01-02 03:04 UTC",
}  # fmt: skip


class Device:
    """A device by name only."""

    device_name, sms, target, cuda_version = "Fake GPU", 132, DEFAULT, "13.0"
    free, total = 79 << 30, 80 << 30

    def memory_free(self) -> tuple[int, int]:
        return self.free, self.total

    def wait(self) -> None:
        """Nothing is ever under way."""


class HostArrays:
    """Arrays in the host's memory, which the emulator reduces."""

    def random(self, case: Case, index: int) -> Any:
        return drawn(case, index)

    def empty(self, shape: tuple[int, ...], dtype: DType) -> Any:
        return np.empty(shape, dtype.numpy)


class Numpy:
    """A peer that is right; ``change`` makes of its answers what it likes."""

    version = "1.0"

    def __init__(self, change: Callable[[Any], Any] = lambda x: x) -> None:
        self.change = change

    def call(self, case: Case, x: Any) -> Callable[[], Any]:
        if case.what == "norm":
            raise UnservedError("no such function")
        axis: Any = case.axis if case.what != "argmax" else None if case.group == "full" else case.axis[0]
        return lambda: np.asarray(self.change(getattr(np, case.what)(x, axis)))


def timer(*medians: float) -> Callable[..., Timing]:
    """In place of ``measure.timed``: makes each call once, and says one median after another."""
    left = iter(medians)

    def timed(_: Any, calls: Sequence[Callable[[], Any]], **__: Any) -> Timing:
        for call in calls:
            call()
        median = next(left)
        return Timing(median, median * 0.99, median * 1.01, 20)

    return timed


def entry(us: float, spread: float = 0.01) -> Entry:
    return Entry(Timing(us, us * (1 - spread / 2), us * (1 + spread / 2), 20), 0.0)


def row(name: str, nbytes: int, ours: Entry, plain: bool = True, **peers: Entry) -> Row:
    return Row(name, name.split(".")[0], nbytes, plain, ours, peers, {"vector": 4}, ["it fits"])


def results(*rows: Row) -> Results:
    names = {name for r in rows for name in r.peers}
    return Results(dict(MACHINE), TOP, dict.fromkeys(sorted(names), "1.0"), list(rows))
