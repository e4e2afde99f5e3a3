"""``warpfold bench --cases fused`` from end to end, with a fake device and PyTorch's functions in place of ours."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from bench_fakes import TOP, Device, HostArrays, timer
from click.testing import CliRunner

from warpfold.cli import cli
from warpfold.commands.bench import bench as command
from warpfold.commands.bench import comparison, host_time
from warpfold.commands.bench.peers import torch_programs
from warpfold.commands.bench.peers.torch import Torch
from warpfold.commands.bench.programs import ours
from warpfold.commands.bench.programs.trial import trial
from warpfold.commands.bench.results import load

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


class OnTheCpu(Torch):
    """PyTorch as a peer, without CUDA."""

    def __init__(self) -> None:
        self.torch, self.version = torch, "1.0"


def test_programs_are_measured_printed_kept_and_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[Any] = []
    made = command.Contest
    monkeypatch.setattr(command, "gpu", lambda *_: Device())
    monkeypatch.setattr(command, "ceilings", lambda _: TOP)
    monkeypatch.setattr(command.inputs, "arrays", lambda _: HostArrays())
    monkeypatch.setattr(
        command.peers, "open_peers", lambda names, _: asked.append(list(names)) or {"torch": OnTheCpu()}
    )
    monkeypatch.setattr(command, "host", lambda _, programs: {"us of the host": {"softmax": float(programs)}})
    monkeypatch.setattr(command, "Contest", lambda *a: made(*a, timer(*[3.0, 4.0, 6.0] * 9)))
    monkeypatch.setattr(comparison.program_trial, "trial", lambda case: trial(case, "cpu"))
    monkeypatch.setattr(ours, "function", partial(torch_programs.function, torch))
    out, plot = tmp_path / "r.json", tmp_path / "r.svg"
    names = "softmax.f32.8x64,softmax0.f32.8x64,layernorm.f32.8x64,row.sum.f32.4x8"
    how = ["--only", "*8x64", "--out", str(out), "--plot", str(plot)]
    done = CliRunner().invoke(cli, ["bench", "--cases", names, *how])
    assert (done.exit_code, done.exception) == (0, None)
    assert asked == [["torch", "compile", "quack", "liger"]]
    assert "1.500 times as fast as the best peer of each case, geometric mean of 3 programs in all" in done.stdout
    assert "geometric mean of 2 cases of contiguous rows; a copy of as many bytes 2.000; 75.0% of the" in done.stdout
    found = load(out)
    assert [r.name for r in found.rows] == ["softmax.f32.8x64", "softmax0.f32.8x64", "layernorm.f32.8x64"]
    assert {(r.ours.us, r.copy and r.copy.median, r.of_copy) for r in found.rows} == {(4.0, 3.0, 0.75)}
    assert found.host == {"us of the host": {"softmax": 1.0}}
    assert plot.read_bytes().startswith(b"<?xml")


def test_the_hosts_costs_are_those_of_softmax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "ones", lambda shape, device: torch.zeros(shape) + (device == "cuda"))
    monkeypatch.setattr(ours.Library, "softmax", lambda _, x, axis: torch.softmax(x, axis), raising=False)
    calls = host_time.program_calls(torch)
    assert list(calls) == ["wf.softmax(t, axis=-1)", "torch.softmax(t, -1)"]
    first, second = (call() for call in calls.values())
    assert first.shape == (64, 1024)
    assert torch.equal(first, second)
