"""The commands on the pages of docs/ exist with these options, and those that need no GPU and no file run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from warpfold.cli import cli

ROOT = Path(__file__).parents[1]
RUN = ("explain", "compile", "run", "check")
"""Commands that are run; the others are slow, or need a GPU, and are tested on their own."""


def commands() -> list[str]:
    """Every line of a page that begins with ``warpfold``, without what is said beside it."""
    found: dict[str, None] = {}
    for page in sorted((ROOT / "docs").rglob("*.md")):
        if page.parent.name not in ("log", "pages"):
            for line in re.findall(r"(?m)^    (warpfold [a-z].*)$", page.read_text(encoding="utf-8")):
                found[re.split(r" {3,}", line)[0]] = None
    return list(found)


COMMANDS = commands()


def test_there_are_such() -> None:
    assert len(COMMANDS) > 30


@pytest.mark.parametrize("line", COMMANDS)
def test_the_command_exists(line: str) -> None:
    _, name, *arguments = shlex.split(line)
    command = cli.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None
    command.make_context(name, arguments)


@pytest.mark.parametrize(
    "line", [c for c in COMMANDS if c.split()[1] in RUN and "--input" not in c and "FILE" not in c]
)
def test_the_command_runs(line: str) -> None:
    _, name, *arguments = shlex.split(line)
    device = ["--device", "emulator"] if name == "run" else []
    done = CliRunner().invoke(cli, [name, *arguments, *device], catch_exceptions=False)
    assert done.exit_code == 0, done.output
