"""The provenance of measured numbers, and what makes them doubtful."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bench_fakes import Device, entry, row

sys.path.insert(0, str(Path(__file__).parents[2] / "runtime"))
from fake_driver import FakeDriver

from warpfold.commands.bench import provenance
from warpfold.runtime.backends.cuda_backend import CudaBackend


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


def test_the_commit_and_whether_files_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WARPFOLD_COMMIT", raising=False)
    assert provenance.revision(tmp_path) == ("", False)
    git(tmp_path, "init")
    (tmp_path / "a").write_text("1")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-m", "first")
    commit, dirty = provenance.revision(tmp_path)
    assert (len(commit), dirty) == (40, False)
    (tmp_path / "untracked").write_text("1")
    assert provenance.revision(tmp_path) == (commit, False)
    (tmp_path / "a").write_text("2")
    assert provenance.revision(tmp_path) == (commit, True)


@pytest.mark.parametrize(("said", "found"), [("abc", ("abc", False)), ("abc+", ("abc", True))])
def test_a_copied_tree_takes_its_commit_from_the_environment(
    said: str, found: tuple[str, bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARPFOLD_COMMIT", said)
    assert provenance.revision(tmp_path) == found


def test_the_driver_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "version"
    monkeypatch.setattr(provenance, "DRIVER", place)
    monkeypatch.setattr(provenance, "_output", lambda *_: "")
    assert provenance.driver() == ""
    monkeypatch.setattr(provenance, "_output", lambda *command: "570.1.2" if command[0] == "nvidia-smi" else "")
    assert provenance.driver() == "570.1.2"
    place.write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\nGCC version: 12"
    )
    assert provenance.driver() == "580.159.04"


def test_the_machine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPFOLD_COMMIT", "abc+")
    found = provenance.machine(CudaBackend(driver=FakeDriver()))
    assert (found["gpu"], found["arch"], found["cuda"], found["commit"], found["dirty"]) == (
        "Fake GPU", "sm_90a", "13.0", "abc", True,
    )  # fmt: skip
    assert found["date"].endswith("UTC")


def test_a_backend_reports_driver_and_memory() -> None:
    backend = CudaBackend(driver=FakeDriver())
    assert backend.cuda_version == "13.0"
    assert backend.memory_free() == (60 << 30, 80 << 30)


def test_a_quiet_gpu_and_a_busy_one(monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device()
    assert provenance.busy(device) == []  # type: ignore[arg-type]
    monkeypatch.setattr(device, "free", 40 << 30)
    (warning,) = provenance.busy(device)  # type: ignore[arg-type]
    assert warning.startswith("40 GiB of 80 GiB of the GPU's memory are in use")


def test_the_gpus_of_the_committed_numbers(tmp_path: Path) -> None:
    assert provenance.committed(tmp_path) == []
    (tmp_path / "a.json").write_text('{"machine": {"gpu": "NVIDIA H200"}}')
    (tmp_path / "b.json").write_text("[]")
    (tmp_path / "c.json").write_text("{")
    assert provenance.committed(tmp_path) == ["NVIDIA H200"]


def test_times_far_apart() -> None:
    rows = [row("full.a", 1, entry(100, 0.2)), row("full.b", 1, entry(100, 0.05)), row("full.c", 1, entry(4, 0.2))]
    assert provenance.unsteady(rows) == ["full.a: the quartiles lie 20% apart"]
