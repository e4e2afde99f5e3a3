"""The examples run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import EXAMPLES, MONOIDS, SMALL, call

from warpfold.cli import cli
from warpfold.commands import run as run_command
from warpfold.commands.checking import reference
from warpfold.commands.checking.evaluate import Evaluator
from warpfold.commands.requests.request import Request
from warpfold.compiler.dtypes import dtype
from warpfold.compiler.errors import WarpfoldError
from warpfold.compiler.program.library.reductions import FUNCTIONS
from warpfold.compiler.program.tracing import program


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "temperature.npy"
    done = subprocess.run([sys.executable, EXAMPLES / "make_data.py", path], capture_output=True, text=True, check=True)
    assert "float32 365x24x100" in done.stdout
    return path


@pytest.mark.parametrize(
    ("name", "files"),
    [("total", 1), ("extremes", 2), ("degree_hours", 1), ("rms", 1), ("span", 1), ("peak", 1), ("moving_level", 1),
     ("frost", 1)],
)  # fmt: skip
def test_the_examples_run(data: Path, name: str, files: int) -> None:
    result = call(
        "run", f"{MONOIDS}:{name}", *("--input", data) * files, "--axis", "0,1", "--device", "emulator", "--json"
    )
    assert json.loads(result.stdout)["passed"] is True


def test_data_that_cannot_be_written_is_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "no" / "x.npy"
    done = subprocess.run(
        [sys.executable, EXAMPLES / "make_data.py", path], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, f"cannot write {path}: No such file or directory\n")


def test_the_examples_over_several_inputs() -> None:
    for name, kinds in (("affine", "f64"), ("larger", "f32,i64")):
        request = (
            "run",
            f"{MONOIDS}:{name}",
            "--shape",
            "6x50",
            "--dtype",
            kinds,
            "--axis",
            "1",
            "--device",
            "emulator",
        )
        assert json.loads(call(*request, "--json").stdout)["passed"] is True


def test_the_examples_run_from_python() -> None:
    done = subprocess.run([sys.executable, MONOIDS], capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["highest", "15575.9"]


def test_every_example_is_shown_to_run() -> None:
    request = Request(f"{MONOIDS}:nothing")
    with pytest.raises(WarpfoldError) as caught:
        assert request.what
    known = caught.value.message.rpartition("it has ")[2].split()
    shown = {"total", "extremes", "degree_hours", "rms", "span", "peak", "moving_level", "frost"}
    assert {*known} == shown | {"affine", "larger"}


def test_the_first_run_script_names_commands_that_are_there() -> None:
    text = (EXAMPLES / "first_run.sh").read_text()
    used = {line.split()[2] for line in text.splitlines() if line.startswith("try warpfold ")}
    assert used <= set(cli.commands)
    assert os.access(EXAMPLES / "first_run.sh", os.X_OK)


@pytest.mark.parametrize(("wrong", "passes"), [(0.0, True), (1e-5, True), (0.5, False)])
def test_a_product_may_be_off_by_the_roundings_of_its_factors(wrong: float, passes: bool) -> None:
    """A lost factor of 2 fails the check; the rounding of ten thousand factors passes."""
    x = (1 + np.random.default_rng(1).standard_normal(10_000) * 1e-3).astype(np.float32)
    evaluator = Evaluator(program(FUNCTIONS["prod"], (dtype("f32"),)), [x], (0,))
    got = np.asarray(x.prod(dtype=np.float64) * (1 - wrong), np.float32)
    (check,) = reference.check("prod", evaluator, [x], (0,), [got], 24)
    assert check.passed is passes


def test_a_variance_is_judged_as_strictly_as_a_sum() -> None:
    x = np.random.default_rng(1).standard_normal(300_000).astype(np.float32)
    evaluator = Evaluator(program(FUNCTIONS["var"], (dtype("f32"),)), [x], (0,))
    got = np.asarray(x.var(dtype=np.float64), np.float32)
    (check,) = reference.check("var", evaluator, [x], (0,), [got], 24)
    assert check.allowed < 2e-5


def test_a_run_may_leave_out_its_check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(run_command, "checks", None)  # nothing is evaluated
    out = tmp_path / "out.npy"
    shown = call("run", "minmax", *SMALL, "--no-check", "--output", out).stdout
    assert len(re.findall(r"^check (min|max) +left out \(--no-check\)$", shown, re.MULTILINE)) == 2
    assert out.exists()
    found = json.loads(call("run", "sum", *SMALL, "--no-check", "--json").stdout)
    assert found["passed"] is None
    assert "error" not in found["results"][0]


@pytest.mark.parametrize(("results", "whole"), [(8, True), (9, False), (64, False)])
def test_results_of_more_than_eight_elements_are_shortened(results: int, whole: bool) -> None:
    shown = call("run", "sum", "--shape", f"{results}x5", "--axis", "1", "--device", "emulator").stdout
    (value,) = re.findall(r"^value +(.*)$", shown, re.MULTILINE)
    assert ("..." in value) is not whole
    assert len(value.split()) <= 10
