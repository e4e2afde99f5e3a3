"""``warpfold check``: its output and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from warpfold.cli import cli
from warpfold.compiler.laws import check as laws

SOURCE = """
import warpfold as wf

@wf.monoid(identity=0)
def total(a, b):
    return a + b

@wf.monoid(identity=float("-inf"))
def careless(a, b):
    return wf.where(a > b, a, b)

@wf.monoid(identity=(1, 0), commutative=False)
def affine(a, b):
    return a[0] * b[0], a[1] * b[0] + b[1]

@wf.monoid(identity=0, lift=lambda x: 1 / 0)
def broken(a, b):
    return a + b

def rms(x):
    return wf.sqrt(wf.fold(total, x * x))

@wf.monoid(identity=0, lift=lambda x: wf.cast(x * 0, "i64"))
def nothing(a, b):
    return a - b

@wf.monoid(identity=0)
def clamped(a, b):
    return wf.where(a + b == 100_003, 7, a + b)

@wf.monoid(identity=0, lift=lambda x, *, by: x * by)
def scaled(a, b):
    return a + b
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "mine.py"
    path.write_text(SOURCE)
    return str(path)


def call(*words: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, ["check", *words], prog_name="warpfold", catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def test_claims_that_hold_exit_with_0(file: str) -> None:
    assert call(f"{file}:total").stdout.splitlines() == [
        "total of f32",
        "",
        "law            claimed  verdict",
        "identity       yes      proved",
        "associativity  yes      proved, apart from rounding",
        "commutativity  yes      proved",
        "idempotence    no       does not hold",
        "",
        "idempotence does not hold:",
        "  combine(1.0, 1.0) = 2.0, not 1.0",
    ]


def test_a_refuted_claim_exits_with_1_and_shows_the_values(file: str) -> None:
    text = call(f"{file}:careless", code=1).stdout
    assert "commutativity  yes      refuted\n" in text
    assert "commutativity refuted:\n  combine(0.0, float('nan')) = float('nan')\n" in text
    assert "  combine(float('nan'), 0.0) = 0.0\n" in text


def test_a_run_warns_without_python_lines(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path))
    words = ["run", f"{file}:careless", "--shape", "8", "--device", "emulator"]
    text = CliRunner().invoke(cli, words, prog_name="warpfold", catch_exceptions=False).stderr
    assert text.startswith("warning: WF221: careless breaks laws that it claims:\n  identity: combine(")
    assert "prepare.py" not in text
    assert "WarpfoldWarning" not in text


def test_a_law_without_evidence_does_not_pass(file: str) -> None:
    shown = call(f"{file}:nothing", "--dtype", "i32", code=1).stdout
    assert "associativity  yes      no evidence\n" in shown
    assert shown.endswith(
        "\nno evidence: all elements that were tried lead to one state, and laws of that tell nothing\n"
    )
    found = json.loads(call(f"{file}:nothing", "--dtype", "i32", "--json", code=1).stdout)
    assert found["holds"] is False
    assert found["notes"] == [
        "no evidence: all elements that were tried lead to one state, and laws of that tell nothing"
    ]


def test_run_warns_of_claims_that_check_refutes(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path))
    call(f"{file}:clamped", "--dtype", "i32", code=1)
    words = ["run", f"{file}:clamped", "--shape", "8", "--dtype", "i32", "--device", "emulator"]
    text = CliRunner().invoke(cli, words, prog_name="warpfold", catch_exceptions=False).stderr
    assert "WF221: clamped breaks laws that it claims:" in text
    assert "associativity: combine(" in text


def test_run_searches_as_long_as_check(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPFOLD_CACHE_DIR", str(tmp_path))
    short = laws.refuted
    monkeypatch.setattr(laws, "refuted", lambda m, types, *effort: short(m, types, *effort) if effort else [])
    words = ["run", f"{file}:careless", "--shape", "8", "--device", "emulator"]
    text = CliRunner().invoke(cli, words, prog_name="warpfold", catch_exceptions=False).stderr
    assert text.count("WF221: careless breaks laws that it claims:") == 1
    unchecked = CliRunner().invoke(cli, [*words, "--no-check"], prog_name="warpfold", catch_exceptions=False)
    assert "WF221" not in unchecked.stderr


def test_integers_are_checked_without_nan(file: str) -> None:
    mine = Path(file)
    mine.write_text(SOURCE.replace('float("-inf")', "-2147483648"))
    call(f"{file}:careless", "--dtype", "i32")


def test_states_that_are_made_up_for_lack_of_a_lift_are_reported(file: str) -> None:
    text = call(f"{file}:affine", "--dtype", "i32,f32", code=2).stderr
    assert "WF209" in text
    assert call(f"{file}:affine").stdout.endswith(
        "\nthe states were made up: with lift= only states are tried that elements lead to\n"
    )


def test_json_is_one_object(file: str) -> None:
    found = json.loads(call(f"{file}:careless", "--json", code=1).stdout)
    assert (found["name"], found["dtypes"], found["holds"]) == ("careless", ["f32"], False)
    law = next(law for law in found["laws"] if law["law"] == "commutativity")
    assert law["counterexample"] == {"values": [0.0, "nan"], "left": "nan", "right": 0.0}
    assert (law["claimed"], law["verdict"], law["up_to_rounding"]) == (True, "refuted", False)


def test_wrong_requests_exit_with_2(file: str) -> None:
    found = call(f"{file}:rms", code=2).stderr
    assert "WF222: rms is no monoid" in found
    assert "mine.py:20: def rms(x):\n  help: write FILE.py:NAME of a wf.monoid" in found
    assert "WF222: sum is no monoid, and only a monoid has laws\n  help: " in call("sum", code=2).stderr
    assert "mine.py:31: @wf.monoid(" in call(f"{file}:scaled", code=2).stderr
    assert "WF808" in call(f"{file}:total", "--dtype", "f32,f32", code=2).stderr
    assert "WF105" in call(f"{file}:total", "--dtype", "f33", code=2).stderr
    assert "ZeroDivisionError" in call(f"{file}:broken", code=2).stderr


@pytest.mark.parametrize("words", ["total", "extremes", "degree_hours", "affine", "larger --dtype f32,i64"])
def test_the_monoids_of_the_examples_keep_their_laws(words: str) -> None:
    name, *options = words.split()
    call(f"{Path(__file__).parents[2] / 'examples' / 'monoids.py'}:{name}", *options)
