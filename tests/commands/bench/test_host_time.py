"""The host time of a call: how it is measured."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from bench_fakes import Device

from warpfold.commands.bench import host_time


def test_batches_take_turns_and_the_device_is_synchronized_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    now = iter(range(10_000))
    monkeypatch.setattr(host_time.time, "perf_counter", lambda: next(now))
    device = SimpleNamespace(wait=lambda: log.append("wait"))
    calls = {"ours": lambda: log.append("ours"), "theirs": lambda: log.append("theirs")}
    found = host_time.microseconds(device, calls)  # type: ignore[arg-type]
    batch = host_time.BATCH
    assert log.count("ours") == log.count("theirs") == host_time.CALLS + batch
    turns = ["wait", *["ours"] * batch, "wait", *["theirs"] * batch]
    assert log[2 * batch :] == turns * (host_time.CALLS // batch) + ["wait"]
    assert found == dict.fromkeys(calls, pytest.approx(1e6 / batch))


def test_allocations_are_counted_by_pytorch() -> None:
    made = [0]
    torch = SimpleNamespace(cuda=SimpleNamespace(memory_stats=lambda: {"allocation.all.allocated": made[0]}))

    def call() -> None:
        made[0] += 2

    assert host_time.allocations(torch, call) == 2.0


def test_a_call_behind_a_busy_device(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []
    now = iter(range(10_000))
    monkeypatch.setattr(host_time.time, "perf_counter", lambda: (log.append("clock"), next(now))[1])
    device = SimpleNamespace(wait=lambda: log.append("wait"), flush=lambda: log.append("flush"))
    assert host_time.while_busy(device, {"ours": lambda: log.append("call")}) == {"ours": 1e6}  # type: ignore[arg-type]
    assert log[:6] == ["wait", "flush", "clock", "call", "clock", "wait"]


class Profile:
    """Stands in for PyTorch's profiler and remembers which one is active."""

    now: Profile

    def __init__(self, **_: Any) -> None:
        self.seen: list[Any] = []

    def __enter__(self) -> Profile:
        Profile.now = self
        return self

    def __exit__(self, *_: object) -> None: ...

    def events(self) -> list[Any]:
        return self.seen


def test_device_activity_is_counted_by_pytorch() -> None:
    kinds = SimpleNamespace(CUDA="cuda")
    profiler = SimpleNamespace(profile=Profile, ProfilerActivity=kinds)
    torch = SimpleNamespace(profiler=profiler, autograd=SimpleNamespace(DeviceType=kinds))

    def call() -> None:
        for name, where in (("sum", "cuda"), ("Memcpy DtoH", "cuda"), ("cuLaunchKernel", "cpu")):
            Profile.now.seen.append(SimpleNamespace(name=name, device_type=where))

    assert host_time.activities(torch, SimpleNamespace(wait=lambda: None), call) == (1.0, 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("torch", [None, SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))])
def test_nothing_is_counted_without_pytorch(monkeypatch: pytest.MonkeyPatch, torch: Any) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert host_time.host(Device()) == {}  # type: ignore[arg-type]


def test_counting_runs_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_time, "counted", _found)
    assert host_time.apart(3, programs=False) == {host_time.KERNELS: {"on device": 3.0}}
    monkeypatch.setattr(host_time, "counted", _ended)
    assert host_time.apart(3, programs=False) == {}


def _found(number: int, _: bool) -> host_time.Costs:
    return {host_time.KERNELS: {"on device": float(number)}}


def _ended(_: int, __: bool) -> host_time.Costs:
    os._exit(139)
