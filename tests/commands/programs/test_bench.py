"""``warpfold bench`` of a program of one's own, on the emulator as a GPU."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from warpfold.cli import cli
from warpfold.commands import timing
from warpfold.commands.programs import bench, run
from warpfold.runtime.backends.emulator_backend import EmulatorBackend
from warpfold.runtime.programs.run import operands_of
from warpfold.runtime.tuning.measure import Timing

ROWS = ("softmax", "--shape", "64x100")


class Gpu:
    """Memory to copy."""

    device_name = "Stand-in GPU"

    def __init__(self) -> None:
        self.copied: list[int] = []

    @contextmanager
    def memory(self, nbytes: int) -> Iterator[int]:
        yield nbytes

    def put(self, view: Any, a: Any, _stream: int) -> None:
        assert view.shape == a.shape
        assert len(np.unique(a)) > 100

    def copy(self, _target: int, _source: int, nbytes: int) -> None:
        self.copied.append(nbytes)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    """A GPU that copies, beside the emulator, which runs the kernels; each launch takes longer than the one before."""
    made, times = Gpu(), iter([10.0, 30.0, 20.0])

    def timed(_: Any, calls: Any, **__: Any) -> Timing:
        calls[0]()
        median = next(times)
        return Timing(median, median - 1, median + 1, 20)

    for module in (timing, bench):
        monkeypatch.setattr(module, "timed", timed)
    monkeypatch.setattr(bench, "gpu", lambda *_: made)
    monkeypatch.setattr(bench, "operands_of", lambda xs, _: operands_of(xs, "emulator"))
    monkeypatch.setattr(bench, "StepTimer", lambda _, runs: timing.StepTimer(EmulatorBackend(), runs))
    return made


def call(*words: object, code: int = 0) -> Result:
    found = CliRunner().invoke(cli, ["bench", *map(str, words)], catch_exceptions=False)
    assert found.exit_code == code, found.output
    return found


def test_a_program_is_timed_beside_a_copy(gpu: Gpu) -> None:
    text = call(*ROWS).stdout
    assert text.startswith("softmax of x f32 64x100, on Stand-in GPU\n\nstep ")
    assert re.search(r"^softmax +10 us +9.00 to 11.00 us +fast=reduced", text, re.MULTILINE)
    assert "check   passed" in text
    assert "time    10 us, 5.12 GB/s of the bytes that must move" in text
    assert "a copy  of 50 KiB in all: 30 us, 300.0% of its speed" in text
    assert gpu.copied == [64 * 100 * 4]


@pytest.mark.usefixtures("gpu")
def test_the_numbers_are_written(tmp_path: Path) -> None:
    call(*ROWS, "--plan", "resident=none", "--out", tmp_path / "out.json")
    found = json.loads((tmp_path / "out.json").read_text())
    assert [s["microseconds"] for s in found["steps"]] == [10.0, 30.0]
    assert (found["microseconds"], found["copy_microseconds"], found["of_copy"]) == (40.0, 20.0, 0.5)
    assert (found["bytes"], found["passed"]) == (2 * 64 * 100 * 4, True)


@pytest.mark.usefixtures("gpu")
def test_a_wrong_result_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    launched = run.launched
    monkeypatch.setattr(run, "launched", lambda *a: [r + np.float32(1) for r in launched(*a)])
    assert "check   FAILED: see warpfold run" in call(*ROWS, code=1).stdout


def test_errors() -> None:
    assert "WF848: sum is a reduction: the cases of the benchmark name reductions" in call("sum", code=2).stderr
    assert "WF849: --cases chooses among the cases of the benchmark" in call(*ROWS, "--cases", "row", code=2).stderr
    assert "WF849: --only chooses" in call(*ROWS, "--only", "*", code=2).stderr
    for option in (("--plan", "few"), ("--shape", "4x8"), ("--determinism", "run"), ("--seed", "0")):
        assert f"WF864: {option[0]} is for a program of your own" in call("--cases", "row", *option, code=2).stderr
    assert "WF836: an array of shape (0, 8)" in call("softmax", "--shape", "0x8", code=2).stderr
    assert "WF742: warpfold bench times a GPU, and there is none" in call(*ROWS, code=2).stderr
    assert "WF127: softmax takes no parameter 'axs'" in call(*ROWS, "--param", "axs=1", code=2).stderr
