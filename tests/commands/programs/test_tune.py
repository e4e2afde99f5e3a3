"""``warpfold tune`` of programs on the emulator as a GPU; the tests set the time of each plan."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from stand_in_gpu import stand_in  # noqa: F401 - a fixture

from warpfold.cli import cli
from warpfold.commands import timing
from warpfold.commands.programs import tune
from warpfold.compiler.errors import error
from warpfold.runtime.tuning.measure import Timing

ROWS = ("softmax", "--shape", "96x64")
TWO_STEPS = """
import warpfold as wf

@wf.program
def twice(x):
    return wf.softmax(wf.softmax(x, axis=0), axis=1)
"""


def call(*words: object, code: int = 0) -> Result:
    found = CliRunner().invoke(cli, ["tune", *map(str, words)], catch_exceptions=False)
    assert found.exit_code == code, found.output
    return found


@pytest.fixture
def costing(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Any], float]], None]:
    """Makes each plan take as many microseconds as a function says; runs the kernels once."""
    gpu(lambda _: 1.0)

    def cost(of: Callable[[Any], float]) -> None:
        time = tune.Search._time

        def timed(self: Any, number: int, choice: Any, runs: int) -> Any:
            monkeypatch.setattr(
                timing, "timed", lambda _b, calls, **_: (calls[0](), Timing(*[of(choice.plan)] * 3, runs))[1]
            )
            return time(self, number, choice, runs)

        monkeypatch.setattr(tune.Search, "_time", timed)

    return cost


def test_a_search_is_shown(costing: Any) -> None:
    costing(lambda p: 1000.0 / p.warps_kept)
    text = call(*ROWS).stdout
    assert text.startswith("softmax of x f32 96x64, on Stand-in GPU\n\none step: softmax, rows along x.1")
    assert re.search(r"^\S+ us +\S+ to \S+ us +faster +warps_kept=32$", text, re.MULTILINE)
    assert re.search(r"^\S+ us +\S+ to \S+ us +planner's own$", text, re.MULTILINE)
    assert re.search(r"^\d+\.00 times faster: --plan warps_kept=32$", text, re.MULTILINE)
    assert text.endswith("nothing is kept: give the plan to a call as plan=, or to a command as --plan\n")


def test_residencies_are_tried(costing: Any) -> None:
    costing(lambda p: 10.0 if p.resident == "shared" else 20.0)
    found = json.loads(call(*ROWS, "--json").stdout)
    (step,) = found["steps"]
    assert (found["device"], found["complete"]) == ("Stand-in GPU", True)
    assert "resident=shared" in step["best"]["plan"]
    assert {p for t in step["tried"] for p in re.findall(r"resident=(\w+)", t["plan"])} == {
        "registers", "shared", "grid", "l2", "memory",
    }  # fmt: skip


def test_each_step_is_searched(costing: Any, tmp_path: Path) -> None:
    costing(lambda _: 10.0)
    file = tmp_path / "own.py"
    file.write_text(TWO_STEPS, encoding="utf-8")
    text = call(f"{file}:twice", "--shape", "8x64", "--seconds", 0.01).stdout
    assert re.findall(r"^step \d of 2", text, re.MULTILINE) == ["step 1 of 2", "step 2 of 2"]
    assert text.count("none is faster than the planner's own") == 2


def test_plans_that_are_refused_or_wrong_do_not_win(costing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def of(plan: Any) -> float:
        if plan.vector == 2:
            raise error("WF404", threads=2048, limit=1024, arch="here")
        return 1000.0 / plan.warps_kept

    launched = tune.run.launched

    def wrong(operands: Any, prepared: Any) -> Any:
        plan = prepared.steps[0].prepared.choice.plan
        return [r + (plan.warps_kept > 8) for r in launched(operands, prepared)]

    costing(of)
    monkeypatch.setattr(tune.run, "launched", wrong)
    (step,) = json.loads(call(*ROWS, "--json").stdout)["steps"]
    verdicts = {t["verdict"] for t in step["tried"]}
    assert {"own", "refused", "wrong"} <= verdicts
    assert "warps_kept=8" in step["best"]["plan"]


def test_errors(costing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    costing(lambda _: 10.0)
    assert "WF835: a search cannot last 0.0 seconds" in call(*ROWS, "--seconds", 0, code=2).stderr
    assert "WF836: an array of shape (0, 3)" in call("softmax", "--shape", "0x3", code=2).stderr
    monkeypatch.setattr("warpfold.runtime.backends.cuda_backend.find", list)
    assert "WF834: plans are timed on a GPU, and there is none" in call(*ROWS, code=2).stderr
    assert "WF127" in call(*ROWS, "--param", "axs=1", code=2).stderr
