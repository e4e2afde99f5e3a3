"""Counts on the command line: run, explain, profile and sanitize ``histogram`` and ``bincount``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import call, fails

X = np.random.default_rng(7).integers(0, 5, (4, 50)).astype(np.int32)


def test_a_run_is_checked_and_written(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "w.npy", X + 1)
    files = ["--input", str(tmp_path / "x.npy"), "--input", str(tmp_path / "w.npy")]
    output = tmp_path / "counts.npy"
    found = call("run", "bincount", *files, "--device", "emulator", "--output", str(output), "--json")
    facts = json.loads(found.stdout)
    wanted = np.bincount(X.ravel(), (X + 1).ravel())
    assert facts["passed"]
    assert facts["results"][0]["value"] == wanted.tolist()
    np.testing.assert_array_equal(np.load(output), wanted)


def test_bins_are_parameters() -> None:
    how = ["--shape", "300", "--param", "bins=6", "--param", "range=(-2,2)", "--device", "emulator"]
    found = call("run", "histogram", *how).stdout
    assert "histogram of f32 300 in 6 results" in found
    assert "passed: equal to NumPy's" in found


def test_other_commands_take_counts() -> None:
    explained = call("explain", "histogram", "--shape", "4096").stdout
    assert "sums are scattered" in explained
    assert "fold.tally" in explained
    assert "bincount of i32 500 in 10 results" in call("profile", "bincount", "--shape", "500").stdout
    assert "no findings" in call("sanitize", "bincount", "--shape", "500").stdout
    assert ".entry bincount" in call("compile", "bincount", "--shape", "500").stdout


REFUSED = {
    "an axis": (
        ["run", "bincount", "--axis", "0"],
        "WF859: bincount counts the elements of one array: it has no --axis",
    ),
    "kept axes": (["run", "histogram", "--keepdims"], "it has no --keepdims"),
    "a shape more": (["run", "histogram", "--shape", "3", "--shape", "4"], "it has no second --shape"),
    "an artifact": (["compile", "bincount", "--emit", "artifact", "-o", "x.warpfold"], "it has no --emit artifact"),
    "a parameter": (["run", "histogram", "--param", "bin=3"], "WF127: histogram takes no parameter 'bin'"),
    "bins": (["run", "histogram", "--shape", "9", "--param", "bins=0"], "WF155"),
    "a command": (
        ["spread", "bincount"],
        "WF858: bincount counts elements: this command is for reductions and programs",
    ),
    "chunks": (["run", "bincount", "--chunk", "1MiB"], "it has no --chunk"),
    "a gradient": (["explain", "histogram", "--gradient"], "it has no --gradient"),
    "files": (["run", "bincount", *["--input", "x.npy"] * 3], "WF819: bincount takes 1 or 2"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    arguments, text = REFUSED[name]
    assert text in fails(*arguments)
