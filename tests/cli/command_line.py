"""Calls of the command line."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from warpfold.cli import cli

EXAMPLES = Path(__file__).parents[2] / "examples"
MONOIDS = EXAMPLES / "monoids.py"
SMALL = ("--shape", "8x40", "--device", "emulator")


def call(*words: str | Path, code: int = 0) -> Result:
    """Runs the command in this process; an internal error propagates."""
    result = CliRunner().invoke(cli, [str(w) for w in words], prog_name="warpfold", catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def fails(*words: str | Path) -> str:
    """The message of a request that is refused: on standard error, without a traceback or anything else."""
    result = call(*words, code=2)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr
