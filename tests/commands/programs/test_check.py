"""``warpfold check`` of programs: errors beside bounds, for arrays of several kinds."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from warpfold.cli import cli
from warpfold.commands.programs import run

FILE = """
import warpfold as wf

@wf.program
def naive(x):
    e = wf.exp(x)
    return e / wf.sum(e, axis=-1, keepdims=True)

@wf.monoid(identity=0)
def wrong(a, b):
    return a + b + 1

@wf.program
def relative(x):
    return x - wf.fold(wrong, x, axis=-1, keepdims=True)

@wf.monoid(identity=0)
def total(a, b):
    return a + b
"""
KINDS = ["as given", "far from zero", "large", "equal"]


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "own.py"
    file.write_text(FILE)
    return str(file)


def call(*words: str, code: int = 0) -> Result:
    words = ("check", *words, "--device", "emulator")
    result = CliRunner().invoke(cli, words, prog_name="warpfold", catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def test_each_result_has_a_line_for_each_kind_of_input() -> None:
    text = call("softmax", "--shape", "6x100", "--dtype", "bf16").stdout
    assert "check  softmax of x bf16 6x100 (random, seed 0)" in text
    lines = re.findall(rf"^({'|'.join(KINDS)}) +result +bf16 +(\S+) +(\S+) +(\S+) +(\S+) +passed", text, re.MULTILINE)
    assert [line[0] for line in lines] == KINDS
    assert all(float(ulps) <= 0.51 for *_, ulps, _ in lines)
    assert "the reference is the program in f64" in text


def test_json_has_bounds_and_ulps() -> None:
    found = json.loads(call("layer_norm", "--shape", "6x100", "--shape", "100", "--json").stdout)
    assert (found["name"], found["passed"]) == ("layer_norm", True)
    first = found["results"][0]
    assert first["inputs"] == "as given"
    assert 0 < first["error"] <= first["allowed"] <= first["greatest_bound"]
    assert 0 < first["mean_ulps"] < first["ulps"]


def test_a_program_that_overflows_is_seen(path: str) -> None:
    """exp of large numbers is infinite in f32, and the quotient of two infinities NaN, as on a device."""
    found = json.loads(call(f"{path}:naive", "--shape", "4x50", "--json").stdout)
    worst = {r["inputs"]: r["ulps"] for r in found["results"]}
    assert worst["as given"] < 20
    text = call(f"{path}:naive", "--shape", "4x50").stdout
    assert re.search(r"^large .*passed", text, re.MULTILINE)


def test_a_result_beyond_its_bound_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    launched = run.launched
    monkeypatch.setattr(run, "launched", lambda *a: [r * np.float32(1.0001) for r in launched(*a)])
    text = call("softmax", "--shape", "4x50", code=1).stdout
    assert re.search(r"^as given .*FAILED", text, re.MULTILINE)


def test_files_are_checked_with_the_bounds_of_the_worst_case(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((4, 50)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    worst, likely = (
        json.loads(call("softmax", *words, "--json").stdout)["results"][0]["greatest_bound"]
        for words in (("--input", str(tmp_path / "x.npy")), ("--shape", "4x50"))
    )
    assert worst != likely


def test_integers_are_checked_once_and_must_be_equal(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("import warpfold as wf\n\n@wf.program\ndef f(x):\n    return x + wf.max(x)\n")
    found = json.loads(call(f"{tmp_path}/own.py:f", "--shape", "4x50", "--dtype", "i32", "--json").stdout)
    assert [(r["inputs"], r["exact"], r["ulps"]) for r in found["results"]] == [("as given", True, None)]


def test_a_monoid_of_a_program_that_breaks_a_law_warns(path: str) -> None:
    shown = call(f"{path}:relative", "--shape", "4x50", code=1).stderr
    assert "warning: WF221: wrong breaks laws that it claims" in shown


def test_options_that_say_nothing_of_a_monoid_are_refused(path: str) -> None:
    shown: Any = call(f"{path}:total", "--shape", "4", code=2).stderr
    assert "WF846: total is a monoid, whose laws need no --shape\n  help: write --dtype alone" in shown
