"""``warpfold doctor``, help and version."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import call

import warpfold as wf
from warpfold.cli import cli


def test_doctor_says_what_is_there_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPFOLD_PTXAS", "/no/such/ptxas")
    text = call("doctor").stdout
    for name in ("Python", "MLIR bindings", "CUDA device", "ptxas", "cache"):
        assert name in text
    assert "numba-cuda-mlir" in text or "mlir" in text
    assert "python -m pip install nvidia-cuda-nvcc" in text


def test_explain_names_no_line_of_the_cli_as_the_users(tmp_path: Path) -> None:
    """The code that widens halves around a user's monoid is in no file of the user."""
    file = tmp_path / "own.py"
    file.write_text("import warpfold as wf\n\n@wf.monoid(identity=0)\ndef total(a, b):\n    return a + b\n")
    text = call("explain", f"{file}:total", "--shape", "64x64", "--dtype", "f16").stdout
    assert "own.py:5  return a + b" in text
    assert "cli/" not in text


def test_help_says_of_each_command_in_one_line_what_it_does() -> None:
    lines = call("--help").stdout.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in lines] == sorted(cli.commands)
    assert all(line.endswith(".") and not line.endswith("...") for line in lines), lines


@pytest.mark.parametrize("command", ["run", "compile", "explain"])
def test_help_shows_examples(command: str) -> None:
    text = call(command, "--help").stdout
    assert f"Examples:\n    warpfold {command} " in text
    assert "\\b" not in text


def test_version() -> None:
    assert call("--version").stdout == f"warpfold {wf.__version__}\n"
