"""``python benchmarks/accuracy_programs.py``: errors in ulps, against NumPy's spacing, and what is printed and kept."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[4] / "benchmarks"))

import accuracy_programs as accuracy

from warpfold.commands.bench.peers import torch_programs
from warpfold.commands.bench.programs import ours
from warpfold.compiler.dtypes import F32, dtype

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.mark.parametrize("name", ["f32", "f16", "f64"])
def test_ulps_are_numpys_spacing(name: str) -> None:
    t = dtype(name)
    values = np.array([1, 1.5, 2, 3.999, 1e-3, 6e4, 0, 2.0**-30, -7.25], t.numpy)
    least = np.finfo(t.numpy).smallest_normal
    wanted = np.spacing(np.maximum(np.abs(values), least)).astype(np.float64)
    assert np.array_equal(accuracy.ulp(torch.from_numpy(values).double(), t).numpy(), wanted)


def test_errors_of_a_matrix_and_of_a_value_a_row() -> None:
    exact = torch.tensor([[1.0, 1000.0], [4.0, 4.0]], dtype=torch.float64)
    found = (exact + torch.tensor([[3 * 2.0**-23, 0], [0, 2.0**-21]], dtype=torch.float64)).float()
    assert accuracy.errors(found, exact, F32) == accuracy.Errors(3.0, 1.0, 1.0, 0.25 + 3 * 2.0**-9 / 4)
    assert accuracy.errors(found[:, 0], exact[:, 0], F32) == accuracy.Errors(3.0, 1.5, 3.0, 1.5)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's functions in place of warpfold's; its softmax is off by one f32 ulp."""

    def function(case: Any) -> Any:
        call = partial(torch_programs.function, torch)(case)
        return (lambda x: call(x) * (1 + 2.0**-21)) if case.what == "softmax" else call

    monkeypatch.setattr(ours, "function", function)


@pytest.mark.usefixtures("library")
def test_what_is_printed_and_kept(tmp_path: Path) -> None:
    out = tmp_path / "accuracy.json"
    done = CliRunner().invoke(
        accuracy.main, ["--device", "cpu", "--shapes", "4x50,3x7", "--out", str(out)], catch_exceptions=False
    )
    assert done.exit_code == 0
    kept = json.loads(out.read_text())
    assert (kept["format"], kept["version"]) == ("warpfold accuracy", 1)
    assert len(kept["rows"]) == len(accuracy.PROGRAMS) * len(accuracy.DTYPES) * 2 * len(accuracy.DISTRIBUTIONS)
    lines = {tuple(line.split()[:2]): line for line in done.stdout.splitlines() if line.startswith(accuracy.PROGRAMS)}
    assert len(lines) == len(kept["rows"])
    assert lines["softmax.f32.4x50", "normal"].endswith("*")
    assert not lines["layernorm.f32.4x50", "normal"].endswith("*")
    behind = sum(line.endswith("*") for line in lines.values())
    assert f"mean error of rows greater than PyTorch's in {behind} of {len(lines)} rows" in done.stdout
    for row in kept["rows"]:
        assert 0 <= row["torch"]["mean"] <= row["torch"]["worst"], row
        if "16" in row["case"] and row["case"].startswith(("softmax", "rmsnorm")):
            assert row["torch"]["mean"] <= 0.5, row


def test_functions_that_warpfold_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ours.FUNCTIONS, "softmax", lambda _, wf: wf.soft_max)
    monkeypatch.setattr(accuracy, "PROGRAMS", ("softmax",))
    done = CliRunner().invoke(accuracy.main, ["--device", "cpu", "--shapes", "4x50"], catch_exceptions=False)
    assert "warpfold has no soft_max" in done.stdout


def test_shapes_that_are_none() -> None:
    done = CliRunner().invoke(accuracy.main, ["--device", "cpu", "--shapes", "4x"])
    assert done.exit_code == 2
    assert "'4x' holds no shapes such as 16384x1000" in done.output
