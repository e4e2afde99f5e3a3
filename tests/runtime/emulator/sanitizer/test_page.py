"""docs/sanitizer.md shows a kernel and the report that the command prints for it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from warpfold.cli import cli

PAGE = (Path(__file__).parents[4] / "docs" / "sanitizer.md").read_text(encoding="utf-8")


def block(kind: str) -> str:
    found = re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_report_on_the_page_is_the_printed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = re.search(r'`warpfold sanitize last.ptx --launch "(.*)"` prints', PAGE)
    assert command is not None
    monkeypatch.chdir(tmp_path)
    Path("last.ptx").write_text(block("ptx"))
    result = CliRunner().invoke(cli, ["sanitize", "last.ptx", "--launch", command[1]])
    assert (result.stdout, result.exit_code) == (block("text"), 1)


def test_with_the_fence_there_is_no_finding(tmp_path: Path) -> None:
    path = tmp_path / "last.ptx"
    path.write_text(block("ptx").replace("  atom.global", "  fence.acq_rel.gpu;\n  atom.global"))
    result = CliRunner().invoke(
        cli, ["sanitize", str(path), "--launch", "last<<<4, 1>>>(partials:u32[4]=uninit, count:u32[1]=0)"]
    )
    assert (result.exit_code, "no findings" in result.stdout) == (0, True)
