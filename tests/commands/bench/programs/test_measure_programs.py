"""``python benchmarks/measure_programs.py``: what it runs, what it keeps, and what it refuses."""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[4] / "benchmarks"))

import measure_programs as script

from warpfold.commands.bench.grid.cells import ProgramCell
from warpfold.commands.bench.grid.run import chosen


def test_parts_are_the_commands_of_a_user(tmp_path: Path) -> None:
    made = script.commands(tmp_path, script.PARTS, "softmax*", "torch,quack", "500")
    assert list(made) == ["programs", "accuracy", "grid"]
    bench = " ".join(made["programs"])
    assert "bench --cases fused --only softmax* --peers torch,quack --seconds 500" in bench
    assert f"--out {tmp_path}/programs.json" in bench
    assert Path(made["accuracy"][0]).is_file()


def test_the_grid_has_all_cells_of_programs_and_no_others() -> None:
    arguments = script.commands(Path(), ["grid"], "*", "", "1")["grid"]
    only, dtypes = (arguments[arguments.index(option) + 1] for option in ("--only", "--dtypes"))
    found = chosen(only, dtypes)
    assert all(isinstance(c, ProgramCell) for c in found)
    assert len(found) == sum(isinstance(c, ProgramCell) for c in chosen("*", dtypes))
    assert all(any(fnmatchcase(c.name, pattern) for pattern in only.split(",")) for c in found)


def test_output_is_kept_and_a_failure_does_not_stop_other_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: dict[str, Any] = {"a": ["-c", "print('one'); raise SystemExit(3)"], "b": ["-c", "print('two')"]}
    monkeypatch.setattr(script, "commands", lambda *_: commands)
    folder = tmp_path / "made" / "here"
    done = CliRunner().invoke(script.main, ["--out", str(folder)])
    assert done.exit_code == 1
    assert ((folder / "a.txt").read_text(), (folder / "b.txt").read_text()) == ("one\n", "two\n")
    assert "== a" in done.output
    assert "two" in done.output


def test_unknown_parts(tmp_path: Path) -> None:
    done = CliRunner().invoke(script.main, ["--out", str(tmp_path), "--parts", "bench,grids"])
    assert done.exit_code == 2
    assert "there is no part 'grids': expected some of bench accuracy grid" in done.output
