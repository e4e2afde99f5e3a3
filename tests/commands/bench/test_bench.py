"""``warpfold bench`` from end to end with a fake device: what it keeps, and what ends it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bench_fakes import TOP, Device, HostArrays, Numpy, timer
from click.testing import CliRunner, Result

from warpfold.cli import cli
from warpfold.commands.bench import bench as command
from warpfold.commands.bench import peers
from warpfold.commands.bench.results import load
from warpfold.compiler.errors import error
from warpfold.runtime.backends import cuda_backend

CASES = "full.sum.f32.64,row.max.f32.4x8"


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A device without a GPU behind it, and two peers: NumPy, and one that is missing."""
    opened: dict[str, Any] = {"torch": Numpy(), "cub": "no nvcc"}
    monkeypatch.setattr(command, "gpu", lambda *_: Device())
    monkeypatch.setattr(command, "ceilings", lambda _: TOP)
    monkeypatch.setattr(command.inputs, "arrays", lambda _: HostArrays())
    monkeypatch.setattr(command.peers, "open_peers", lambda *_: opened)
    monkeypatch.setattr(command, "host", lambda *_: {"us of the host": {"wf.sum(t)": 5.0}})
    made = command.Contest
    monkeypatch.setattr(command, "Contest", lambda *a: made(*a, timer(*[4.0, 6.0] * 9)))
    return opened


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["bench", *arguments])


def test_measured_printed_and_kept(tmp_path: Path) -> None:
    out, plot = tmp_path / "r.json", tmp_path / "r.svg"
    done = run("--cases", CASES, "--out", str(out), "--plot", str(plot))
    assert (done.exit_code, done.exception) == (0, None)
    assert "1.500 times as fast as the best peer of each case, geometric mean of 2 cases in all" in done.stdout
    assert "plain cases" not in done.stdout
    found = load(out)
    assert [(r.name, r.ours.us, r.peers["torch"].us, r.peers["cub"].word) for r in found.rows] == [
        ("full.sum.f32.64", 4.0, 6.0, "missing"), ("row.max.f32.4x8", 4.0, 6.0, "missing"),
    ]  # fmt: skip
    assert found.peers == {"torch": "1.0", "cub": "no nvcc"}
    assert found.machine["gpu"] == "Fake GPU"
    assert found.host == {"us of the host": {"wf.sum(t)": 5.0}}
    assert plot.read_bytes().startswith(b"<?xml")


def test_no_case_begins_after_the_time_is_over(tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    done = run("--cases", CASES, "--seconds", "0", "--out", str(out))
    assert done.exit_code == 0
    assert "warning: the time is over: 0 of 2 cases were measured" in done.stdout
    assert load(out).rows == []
    assert len(load(out).warnings) == 1


def test_patterns_choose_among_the_cases(tmp_path: Path) -> None:
    out = tmp_path / "r.json"
    assert run("--cases", CASES, "--only", "row.*", "--out", str(out)).exit_code == 0
    assert [r.name for r in load(out).rows] == ["row.max.f32.4x8"]


def test_only_peers_that_serve_a_case_are_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(command.peers, "open_peers", lambda names, _: asked.append(list(names)) or {})
    monkeypatch.setattr(command.Run, "_keep", lambda *_: None)
    monkeypatch.setattr(command, "Contest", lambda *_: SimpleNamespace(row=lambda _: None))
    for cases in ("full.sum.f32.64", "softmax.f32.4x8", "full.sum.f32.64,softmax.f32.4x8"):
        run("--cases", cases)
    reductions, programs = ["torch", "compile", "cupy", "cub", "triton"], ["torch", "compile", "quack", "liger"]
    assert asked == [reductions, programs, [*reductions, "quack", "liger"]]


def test_an_interrupt_keeps_what_was_measured(fake: dict[str, Any], tmp_path: Path) -> None:
    def on_the_second(x: Any) -> Any:
        if x.shape:
            raise KeyboardInterrupt
        return x

    fake["torch"] = Numpy(on_the_second)
    out = tmp_path / "r.json"
    done = run("--cases", CASES, "--out", str(out))
    assert done.exit_code == 130
    assert f"interrupted: 1 of 2 cases were measured, kept in {out}" in done.stderr
    assert "full.sum.f32.64" in done.stdout
    assert [r.name for r in load(out).rows] == ["full.sum.f32.64"]


def test_an_interrupt_before_the_first_case(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "ceilings", interrupted)
    done = run("--cases", CASES, "--out", str(tmp_path / "r.json"))
    assert done.exit_code == 130
    assert done.stderr == "interrupted: 0 of 2 cases were measured\n"
    assert not list(tmp_path.iterdir())


def test_a_failing_device_keeps_earlier_cases(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """After a peer's kernel writes out of bounds, all later calls of the device fail."""
    fine = iter([True])

    def wait(_: Device) -> None:
        if not next(fine, False):
            raise error("WF601", call="cuCtxSynchronize", name="X", text="illegal address", sticky="", remedy="restart")

    monkeypatch.setattr(Device, "wait", wait)
    out = tmp_path / "r.json"
    done = run("--cases", CASES, "--out", str(out))
    assert done.exit_code == 2
    assert f"the device failed: 1 of 2 cases were measured, kept in {out}" in done.stderr
    assert "WF601" in done.stderr
    assert "full.sum.f32.64" in done.stdout
    assert [r.name for r in load(out).rows] == ["full.sum.f32.64"]


def test_the_file_is_whole_after_every_case(fake: dict[str, Any], tmp_path: Path) -> None:
    seen = []

    def look(x: Any) -> Any:
        seen.append(len(json.loads(out.read_text())["rows"]) if out.exists() else None)
        return x

    fake["torch"] = Numpy(look)
    out = tmp_path / "r.json"
    run("--cases", CASES, "--out", str(out))
    assert seen[0] is None
    assert seen[-1] == 1


def test_a_busy_gpu_is_reported_and_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Device, "free", 60 << 30)
    out = tmp_path / "r.json"
    done = run("--cases", CASES, "--out", str(out))
    assert "20 GiB of 80 GiB of the GPU's memory are in use" in done.stderr
    assert "20 GiB" in load(out).warnings[0]


def test_a_case_without_host_time_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise RuntimeError("no streams")

    monkeypatch.setattr(command, "host", fails)
    done = run("--cases", CASES)
    assert done.exit_code == 0
    assert "warning: the host's costs were not measured: RuntimeError: no streams" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--cases", "rwo"), "WF740: the benchmark has no case 'rwo' (did you mean row?)"),
        (("--cases", "fused", "--only", "rows*"), "WF740: the benchmark has no case 'rows*'"),
        (("--peers", "trch"), "WF741: the benchmark has no peer 'trch' (did you mean torch?)"),
        (("--out", "/nowhere/r.json"), "WF505: cannot write /nowhere/r.json"),
        (("--plot", "r.txt"), "WF830: r.txt is no picture"),
    ],
)
def test_bad_requests_are_refused_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], text: str
) -> None:
    monkeypatch.setattr(command, "ceilings", lambda _: pytest.fail("measured"))
    done = run(*arguments)
    assert done.exit_code == 2
    assert text in done.stderr


def test_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: int) -> Any:
        raise error("WF605", number=0, found="none")

    monkeypatch.undo()
    monkeypatch.setattr(cuda_backend, "backend", none)
    done = run("--cases", "row")
    assert done.exit_code == 2
    assert "WF742: warpfold bench times a GPU, and there is none: there is no CUDA device 0" in done.stderr
    assert "what kernels do there, warpfold profile counts anywhere" in done.stderr
    assert peers.NAMES == ("torch", "compile", "cupy", "cub", "triton", "quack", "liger")
