"""``warpfold tune`` on the emulator as a GPU; the tests set the time of each plan."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from click.testing import CliRunner, Result
from stand_in_gpu import stand_in  # noqa: F401 - a fixture

from warpfold.cli import cli
from warpfold.commands.tune import changes
from warpfold.runtime.tuning.trials import Trials

OF_ROWS = ("sum", "--shape", "96x64", "--axis", "1")


def call(*args: object, code: int = 0) -> Result:
    found = CliRunner().invoke(cli, ["tune", *map(str, args)])
    assert found.exit_code == code, found.output
    return found


def test_a_search_is_shown(gpu: Any) -> None:
    gpu(lambda p: 1000.0 / p.warps_kept)
    text = call(*OF_ROWS).stdout
    assert text.startswith("sum of f32 96x64 over axis 1, on Stand-in GPU\n\ntime ")
    assert re.search(r"^\S+ us +\S+ to \S+ us +faster +\S*warps_kept=32\S*$", text, re.MULTILINE)
    assert re.search(r"^\S+ us +\S+ to \S+ us +planner's own$", text, re.MULTILINE)
    assert re.search(r"^\d+ plan\(s\) tried", text, re.MULTILINE)
    assert re.search(r"^chosen: fast=reduced,.*warps_kept=32,", text, re.MULTILINE)
    assert re.search(r"^\d+\.00 times faster: \d+ us before, 31.2 us now$", text, re.MULTILINE)
    assert "\nkept in " in text
    listed = call().stdout
    assert re.search(r"^sum of f32 96x64 +Stand-in GPU +\S+x +\S*warps_kept=32", listed, re.MULTILINE)
    assert json.loads(call("--json").stdout)[0]["provenance"]["reduction"] == "sum"
    assert call("--forget").stdout.startswith("forgot 1 find(s) in ")
    assert call().stdout.startswith("no finds in ")
    assert json.loads(call("--forget", "--json").stdout) == {"forgotten": 0}


def test_nothing_faster(gpu: Any) -> None:
    gpu(lambda _: 10.0)
    text = call(*OF_ROWS, "--seconds", 1).stdout
    assert text.endswith("none is faster than the planner's own: nothing is kept\n")


def test_json(gpu: Any) -> None:
    gpu(lambda p: 1000.0 / p.warps_kept)
    found = json.loads(call(*OF_ROWS, "--json").stdout)
    assert (found["title"], found["device"]) == ("sum of f32 96x64 over axis 1", "Stand-in GPU")
    assert found["complete"]
    assert found["faster"] == found["own"]["timing"]["median"] / found["best"]["timing"]["median"] > 1
    assert found["tried"][0] == found["own"]


def test_an_interrupted_search_reports_what_it_kept(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu(lambda p: 1000.0 / p.warps_kept)
    first, seen = Trials.time, []

    def time(*args: Any) -> Any:
        seen.append(1)
        if len(seen) == 12:
            raise KeyboardInterrupt
        return first(*args)

    monkeypatch.setattr(Trials, "time", time)
    text = call(*OF_ROWS, code=130).stdout
    assert "\ninterrupted: what was found until then counts\n" in text
    assert "\nkept in " in text
    seen[:] = [1] * 11
    assert "interrupted: no result was written" in call(*OF_ROWS, code=130).stderr


def test_determinism_and_parameters_reach_the_search(gpu: Any) -> None:
    gpu(lambda p: 1000.0 / p.unroll)
    found = json.loads(call("var", "--shape", "2x16384", "--axis", 1, "--param", "correction=1", "--determinism",
                            "none", "--seconds", 8, "--json").stdout)  # fmt: skip
    assert found["title"].startswith("var of f32")
    assert len(found["tried"]) > 1


def test_errors(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu(lambda _: 10.0)
    assert "WF837: --forget deletes all finds, but sum names one reduction" in call("sum", "--forget", code=2).stderr
    said = call(*OF_ROWS, "--seconds", 0, code=2).stderr
    assert "WF835: a search cannot last 0.0 seconds\n  help: give a time above 0: seconds=30 (--seconds 30)\n" in said
    assert "WF836" in call("sum", "--shape", "0x3", code=2).stderr
    assert "WF801" in call("summ", code=2).stderr
    monkeypatch.setattr("warpfold.runtime.backends.cuda_backend.find", list)
    monkeypatch.setattr("warpfold.commands.checking.random_inputs.from_seed", None)  # no array is made for nothing
    assert "WF834: plans are timed on a GPU, and there is none" in call("sum", code=2).stderr


def test_changes() -> None:
    assert changes("a=1,b=2", "a=1,b=4") == "b=4"
