"""``warpfold spread`` of programs: schedules, plans, and rows in other places."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from warpfold.cli import cli
from warpfold.commands.programs import run, spread

FEW = "lanes=32,warps=1,vector=1,cluster=1"
"""Fields that stay, so that few plans are left to compile."""


def call(*words: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, ["spread", *words], prog_name="warpfold", catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def facts(*words: str, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(call(*words, "--json", code=code).stdout)
    return found


def test_a_fixed_order_has_no_spread_between_schedules_and_other_plans_have() -> None:
    words = ("softmax", "--shape", "4x300", "--seeds", "2", "--plan", "cluster=1,resident=registers")
    text = call(*words).stdout
    assert "schedule  0 ulps over 2 seed(s): the schedule cannot change it" in text
    assert re.search(r"^plans +\d+ plans, \d+ distinct answers; the farthest from exact with cluster=1,", text, re.M)
    found = facts(*words)
    assert (found["kept"], found["promised"]) == (True, False)
    (result,) = found["results"]
    assert result["schedule"]["answers"] == 1
    assert 1 < result["plans"]["answers"] <= len(found["tried"])
    assert {"cluster=1,resident=registers,vector=1", "cluster=1,resident=registers,lanes=4"} <= set(found["tried"])


def test_portable_rows_have_the_same_bits_wherever_they_are() -> None:
    found = facts("softmax", "--shape", "6x150", "--seeds", "1", "--determinism", "portable", "--plan", FEW)
    assert (found["kept"], found["promised"]) == (True, True)
    rows = found["results"][0]["rows"]
    assert list(rows) == ["rows in another order", "3 row(s) of 6", "one row", "arrays off their alignment"]
    assert all(own["answers"] == 1 for own in rows.values())
    assert [own["size"] for own in rows.values()] == [900, 450, 150, 900]


def test_rows_that_depend_on_their_place_break_the_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    launched = run.launched

    def shifted(operands: Any, prepared: Any) -> Any:
        return [r + np.float32(1e-3) * (r.shape[0] < 6) for r in launched(operands, prepared)]

    monkeypatch.setattr(run, "launched", shifted)
    words = ("softmax", "--shape", "6x150", "--seeds", "1", "--plan", f"{FEW},resident=registers")
    text = call(*words, "--determinism", "portable", code=1).stdout
    assert "rows      FAILED: other bits with 3 row(s) of 6, one row, although the plan is portable" in text
    text = call(*words).stdout
    assert "other bits with 3 row(s) of 6, one row; --determinism portable promises the same" in text


def test_a_race_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    launched, seen = run.launched, list[int]()

    def racing(operands: Any, prepared: Any) -> Any:
        seen.append(1)
        return [r + np.float32(len(seen) == 2) for r in launched(operands, prepared)]

    monkeypatch.setattr(run, "launched", racing)
    words = ("softmax", "--shape", "2x40", "--seeds", "3", "--plan", f"{FEW},resident=registers")
    assert "FAILED: the schedule changes it over 3 seed(s): there is a race" in call(*words, code=1).stdout


def test_arrays_that_vary_along_rows_keep_their_place() -> None:
    shapes = ("--shape", "4x60", "--shape", "60", "--shape", "60")
    found = facts("layer_norm", *shapes, "--seeds", "1", "--determinism", "portable", "--plan", FEW)
    assert found["kept"]


def test_a_program_of_several_steps_and_results(tmp_path: Any) -> None:
    (tmp_path / "own.py").write_text(
        "import warpfold as wf\n\n@wf.program\ndef f(x):\n    return wf.sum(x, axis=1), x - wf.max(x)\n"
    )
    text = call(f"{tmp_path}/own.py:f", "--shape", "4x60", "--seeds", "1", "--plan", FEW).stdout
    assert "rows      none: a fold goes over every dim that all results have" in text
    assert "plan 2" in text


def test_moved_arrays_hold_the_same_elements_off_their_alignment() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    moved = spread._moved(x)
    np.testing.assert_array_equal(moved, x)
    assert moved.ctypes.data % 16 == 4
    assert moved.strides != x.strides


def test_an_empty_array_is_refused() -> None:
    assert "WF816: an array of shape 0x8 has no elements" in call("softmax", "--shape", "0x8", code=2).stderr
